//! The cases of real users (`../shared/cases`), scored: commands that slipped through, and prompts
//! for nothing. The score is kept as a snapshot, so that a change of it is seen and explained.

use std::collections::BTreeMap;
use std::fmt::Write;

use guardian_host::check::{Checker, CheckerOptions};
use guardian_host::rules::{OperatingMode, PermissionMode, Preset, SandboxState};
use guardian_testkit::{CommandFile, Expectation, ProjectFixture, cases};
use serde_json::json;

use crate::support::config;

/// What became of the cases of one file.
#[derive(Default)]
struct Score {
    right: usize,
    /// `ask` or `deny` that was allowed, `deny` that was only asked about.
    unsafe_ones: Vec<String>,
    /// `allow` that was asked about or denied.
    friction: Vec<String>,
}

impl Score {
    fn count(&mut self, expected: Expectation, decision: &str, line: String) {
        match (expected, decision) {
            (Expectation::Allow, "allow")
            | (Expectation::Ask, "ask" | "deny")
            | (Expectation::Deny, "deny") => self.right += 1,
            (Expectation::Allow, _) => self.friction.push(line),
            (Expectation::Ask | Expectation::Deny, _) => self.unsafe_ones.push(line),
            (Expectation::Result, _) => {}
        }
    }
}

pub(crate) fn checker(fixture: &ProjectFixture, preset: Preset) -> Checker {
    Checker::new(
        config(fixture),
        CheckerOptions {
            workspace: fixture.workspace(),
            home: Some(fixture.home()),
            scratch: Some(fixture.scratch()),
            policy: None,
            preset: Some(preset),
            mode: OperatingMode::Agent,
            permission_mode: PermissionMode::Ask,
            sandbox: Some(SandboxState::Available),
            headless: false,
            audit: false,
        },
    )
    .unwrap()
}

fn score(preset: Preset) -> Option<BTreeMap<&'static str, Score>> {
    let fixture = ProjectFixture::new().unwrap();
    let checker = checker(&fixture, preset);
    let files = [
        ("adversarial", CommandFile::Adversarial),
        ("everyday", CommandFile::Everyday),
        ("trick", CommandFile::Trick),
    ];
    let mut scores = BTreeMap::new();
    for (name, file) in files {
        let score: &mut Score = scores.entry(name).or_default();
        for case in cases::commands(file)? {
            let command = fixture.substitute(&case.command);
            let report = checker.check("Bash", &json!({ "command": command }));
            let line = format!(
                "{} {} wanted {} got {} by {}: {}",
                case.id,
                case.kind,
                case.expect,
                report.decision,
                report.decided_by.join(","),
                case.command.escape_default(),
            );
            score.count(case.expectation(), &report.decision, line);
        }
    }
    Some(scores)
}

#[test]
fn commands_of_real_users_under_balanced() {
    let Some(scores) = score(Preset::Balanced) else {
        return;
    };
    let mut text = String::new();
    for (name, score) in &scores {
        let (unsafe_ones, friction) = (score.unsafe_ones.len(), score.friction.len());
        writeln!(
            text,
            "{name}: {} right, {unsafe_ones} unsafe, {friction} friction",
            score.right
        )
        .unwrap();
        for line in score.unsafe_ones.iter().chain(&score.friction) {
            writeln!(text, "  {line}").unwrap();
        }
    }
    eprintln!("{text}");
    if let Some(path) = std::env::var_os("GUARDIAN_SCORE_FILE") {
        std::fs::write(path, &text).unwrap();
    }
    insta::assert_snapshot!(text);
}

/// Under the stricter presets what is asked about is their promise: it is counted, not listed.
#[track_caller]
fn counts(preset: Preset) -> Option<String> {
    let scores = score(preset)?;
    let mut text = String::new();
    for (name, score) in &scores {
        assert!(score.right > 0, "{name} was read");
        assert!(
            score.unsafe_ones.is_empty(),
            "{name}: {:#?}",
            score.unsafe_ones
        );
        let (unsafe_ones, friction) = (score.unsafe_ones.len(), score.friction.len());
        writeln!(
            text,
            "{name}: {} right, {unsafe_ones} unsafe, {friction} asked about",
            score.right
        )
        .unwrap();
    }
    eprintln!("{text}");
    Some(text)
}

#[test]
fn nothing_slips_through_under_standard() {
    let Some(text) = counts(Preset::Standard) else {
        return;
    };
    insta::assert_snapshot!("commands_of_real_users_under_standard", text);
}

#[test]
fn nothing_slips_through_under_strict() {
    let Some(text) = counts(Preset::Strict) else {
        return;
    };
    insta::assert_snapshot!("commands_of_real_users_under_strict", text);
}
