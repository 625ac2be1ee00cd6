//! The examples that floor rules give of themselves, read by the real extraction.

use guardian_rules::{Policy, Preset, evaluate, floor_rules};

use crate::build::asking;
use crate::world::facts_of;

#[test]
fn each_floor_rule_does_what_its_examples_say() {
    let policy = Policy::builtin(Preset::Standard);
    let mut wrong = Vec::new();
    for rule in floor_rules() {
        for example in rule.examples {
            let facts = facts_of(example.command);
            let verdict = evaluate(&facts, &asking(&facts), &policy);
            let said = verdict
                .trace
                .iter()
                .filter(|step| step.rule == rule.id)
                .filter_map(|step| step.decision)
                .max();
            if said != example.decision {
                wrong.push(format!(
                    "{}: `{}` gives {said:?}, not {:?}; {:?}",
                    rule.id, example.command, example.decision, verdict.trace
                ));
            }
            if example
                .decision
                .is_some_and(|expected| verdict.decision < expected)
            {
                wrong.push(format!(
                    "{}: `{}` ends {:?}",
                    rule.id, example.command, verdict.decision
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
