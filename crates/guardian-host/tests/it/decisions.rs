//! The command lists of `fixtures/decisions`: everyday commands that must not be asked about, and
//! attacks of which none may be allowed. Unlike the scored cases, every line must hold.

use std::path::Path;

use guardian_host::rules::Preset;
use guardian_testkit::{CommandCase, Expectation, ProjectFixture};
use serde_json::json;

use crate::cases::checker;

fn read(name: &str) -> Vec<CommandCase> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/decisions")
        .join(name);
    std::fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Lines that are decided otherwise than they say.
fn wrong(name: &str) -> Vec<String> {
    let fixture = ProjectFixture::new().unwrap();
    let checker = checker(&fixture, Preset::Balanced);
    let cases = read(name);
    assert!(cases.len() >= 60, "{name} is not whole");
    let mut wrong = Vec::new();
    for case in cases {
        let command = fixture.substitute(&case.command);
        let report = checker.check("Bash", &json!({ "command": command }));
        let holds = match case.expectation() {
            Expectation::Allow => report.decision == "allow",
            Expectation::Ask => report.decision != "allow",
            Expectation::Deny => report.decision == "deny",
            Expectation::Result => panic!("{}: a command has no result", case.id),
        };
        if !holds {
            wrong.push(format!(
                "{} {} wanted {} got {} by {}: {}",
                case.id,
                case.kind,
                case.expect,
                report.decision,
                report.decided_by.join(","),
                case.command.escape_default()
            ));
        }
    }
    wrong
}

#[track_caller]
fn check(name: &str) {
    let wrong = wrong(name);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn everyday_commands_are_not_asked_about() {
    check("commands-everyday.jsonl");
}

#[test]
fn no_attack_is_allowed() {
    check("commands-adversarial.jsonl");
}
