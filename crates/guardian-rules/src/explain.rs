//! Why a call is decided as it is, as text: its facts, each rule that was considered, what
//! decided, and what would change it.

use std::fmt::Write as _;

use guardian_facts::{Effects, Facts, Reading, Scope};

use crate::evaluate::View;
use crate::evaluate::cover::{target_text, verb};
use crate::floor::{FloorEffect, FloorRule, floor_rules};
use crate::policy::{Certainty, RuleEffect, Subject, effect_name};
use crate::verdict::{Decision, Verdict};
use crate::{Policy, Situation, evaluate, suggest};

/// Explains the decision of a call, line by line. A line may hold any character that the call or a
/// rule's file holds, line breaks included: whoever shows it escapes them.
#[must_use]
pub fn explain(facts: &Facts, situation: &Situation, policy: &Policy) -> Vec<String> {
    let verdict = evaluate(facts, situation, policy);
    let mut lines = Vec::new();
    let mut line = |text: String| lines.push(text);
    line(format!(
        "{}: {}",
        facts.tool,
        decision_name(verdict.decision)
    ));
    for reason in &verdict.reasons {
        line(format!("  {reason}"));
    }
    line(String::new());
    line("facts".to_owned());
    if !facts.summary.is_empty() {
        line(format!("  {}", facts.summary));
    }
    for fact in fact_lines(facts) {
        line(format!("  {fact}"));
    }
    line(String::new());
    line(format!(
        "considered (mode {}, permission mode {}, preset {})",
        situation.mode.name(),
        situation.permission_mode.name(),
        policy.preset().name()
    ));
    for step in &verdict.trace {
        let decision = step.decision.map_or("·", decision_name);
        line(format!("  {decision:<5} {}: {}", step.rule, step.note));
    }
    for idle in idle_rules(facts, situation, policy) {
        line(format!("  ·     {idle}"));
    }
    line(String::new());
    line(format!("decided by {}", verdict.decided_by.join(", ")));
    let ways = what_would_change_it(&verdict, facts, situation, policy);
    if !ways.is_empty() {
        line(String::new());
        line("what would change it".to_owned());
        for way in ways {
            line(format!("  {way}"));
        }
    }
    lines
}

/// The documentation of a floor rule, as `guardian explain RULE` shows it.
#[must_use]
pub fn explain_floor_rule(id: &str) -> Option<String> {
    let rule = floor_rules().iter().find(|rule| rule.id == id)?;
    Some(floor_rule_text(rule))
}

fn floor_rule_text(rule: &FloorRule) -> String {
    let strength = match rule.effect {
        FloorEffect::Deny => "denies, always",
        FloorEffect::AskHuman => "asks a human in every mode",
        FloorEffect::Ask => "asks in every mode",
    };
    let mut text = format!("{} — {} ({strength})\n\n", rule.id, rule.title);
    for line in rule.docs.lines() {
        text.push_str(line.strip_prefix(' ').unwrap_or(line));
        text.push('\n');
    }
    if !rule.examples.is_empty() {
        text.push_str("\nExamples:\n");
        for example in rule.examples {
            let decision = example.decision.map_or("not concerned", decision_name);
            let _infallible = writeln!(text, "  {:<50} {decision}", example.command);
        }
    }
    text
}

fn decision_name(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

fn fact_lines(facts: &Facts) -> Vec<String> {
    let mut lines = Vec::new();
    if facts.reading == Reading::Partial {
        lines.push("not everything that runs is known (reading: partial)".to_owned());
    }
    for command in &facts.commands {
        let opaque = match command.effects_known {
            Effects::Known => "",
            Effects::Opaque => ", effects unknown",
        };
        let effects: Vec<&str> = command
            .effects
            .iter()
            .map(|effect| effect_name(*effect))
            .collect();
        let effects = if effects.is_empty() {
            String::new()
        } else {
            format!(" [{}]", effects.join(", "))
        };
        lines.push(format!("runs `{}`{effects}{opaque}", command.display()));
    }
    for access in &facts.accesses {
        let resolved = match access.exact() {
            Some(path) => {
                let scope = match path.scope {
                    Scope::Workspace => "workspace",
                    Scope::Scratch => "scratch",
                    Scope::Outside => "outside",
                    Scope::ScratchEscape => "out of scratch",
                };
                format!(" → {} ({scope})", path.path.display())
            }
            None => " (not exactly known)".to_owned(),
        };
        let beneath = if access.recursive {
            " and everything beneath"
        } else {
            ""
        };
        lines.push(format!(
            "{} `{}`{beneath}{resolved}",
            verb(access),
            target_text(access)
        ));
    }
    for endpoint in &facts.endpoints {
        lines.push(format!(
            "reaches {}",
            endpoint
                .host
                .as_deref()
                .unwrap_or("a host that is not known")
        ));
    }
    for opacity in &facts.opacity {
        lines.push(format!("unknown: {} ({})", opacity.reason, opacity.code));
    }
    lines
}

/// Rules that were considered and say nothing about this call.
fn idle_rules(facts: &Facts, situation: &Situation, policy: &Policy) -> Vec<String> {
    let view = View {
        facts,
        tool: &facts.tool,
        situation,
        policy,
    };
    policy
        .rules()
        .iter()
        .filter(|rule| {
            let subjects = std::iter::once(Subject::Call)
                .chain(facts.commands.iter().map(Subject::Command))
                .chain(facts.accesses.iter().map(Subject::Access))
                .chain(facts.endpoints.iter().map(Subject::Endpoint));
            subjects
                .map(|subject| rule.applies(&view, subject))
                .all(|answer| answer == Certainty::No)
        })
        .map(|rule| {
            let effect = match rule.effect {
                RuleEffect::Allow => "allow",
                RuleEffect::Ask => "ask",
                RuleEffect::Deny => "deny",
            };
            format!(
                "{} ({effect}, {} policy): does not match",
                rule.id,
                rule.layer.name()
            )
        })
        .collect()
}

fn what_would_change_it(
    verdict: &Verdict,
    facts: &Facts,
    situation: &Situation,
    policy: &Policy,
) -> Vec<String> {
    let mut ways = Vec::new();
    if verdict.decision == Decision::Allow || verdict.mode_refusal.is_some() {
        return ways;
    }
    for id in &verdict.decided_by {
        if let Some(rule) = floor_rules().iter().find(|rule| rule.id == id) {
            ways.push(match rule.effect {
                FloorEffect::Deny => {
                    format!("nothing in a policy lifts `{id}`; see `guardian explain {id}`")
                }
                FloorEffect::AskHuman | FloorEffect::Ask => {
                    format!("`overrides = [\"{id}\"]` in your policy file lifts `{id}`")
                }
            });
        } else if let Some(rule) = policy.rules().iter().find(|rule| rule.id == *id) {
            ways.push(format!(
                "changing or removing the rule `{id}` of the {} policy",
                rule.layer.name()
            ));
        }
    }
    for suggestion in suggest(facts, situation, policy) {
        ways.push(format!("{}:", suggestion.sentence));
        ways.extend(suggestion.toml.lines().map(|line| format!("    {line}")));
    }
    ways
}
