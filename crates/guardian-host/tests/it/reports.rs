//! `reports.jsonl`: what users of coding agents reported, decided by [`Checker`] under `balanced`
//! and `accept-edits`, with the case's own rules as a policy file. The score is a snapshot; cases
//! that a check cannot decide are listed with what they need instead.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use guardian_host::check::{Checker, CheckerOptions};
use guardian_host::rules::{OperatingMode, PermissionMode, SandboxState};
use guardian_testkit::cases::{self, ReportCase};
use guardian_testkit::{Expectation, ProjectFixture};
use serde_json::Value;

use crate::support::config;

/// One rule in the notation of the case files as a `[[rule]]`.
fn rule(number: usize, effect: &str, text: &str) -> String {
    let quoted = |word: &str| format!("{word:?}");
    let conditions = match text.split_once(' ') {
        _ if text == "*" && effect == "allow" => "tool = \"Bash\"".to_owned(),
        _ if text == "*" => "tool = \"*\"".to_owned(),
        // What a session grant covers: every fact of a Bash call.
        _ if text == "Bash (session)" => "tool = \"Bash\"".to_owned(),
        Some(("Read", glob)) => format!(
            "tool = [\"Read\", \"Glob\", \"Grep\"]\npaths = [{}]",
            quoted(glob)
        ),
        Some(("Write", glob)) => {
            format!("tool = [\"Write\", \"Edit\"]\npaths = [{}]", quoted(glob))
        }
        _ => {
            let words: Vec<String> = text
                .split_whitespace()
                .map(|word| quoted(if word == "*" { "**" } else { word }))
                .collect();
            format!("command = [{}]", words.join(", "))
        }
    };
    format!("[[rule]]\nid = \"{effect}-{number}\"\neffect = \"{effect}\"\n{conditions}\n")
}

/// The policy of a case.
fn policy(case: &ReportCase, fixture: &ProjectFixture) -> String {
    let mut text = "version = 1\npreset = \"balanced\"\n".to_owned();
    let Some(Value::Object(effects)) = &case.input.rules else {
        return text;
    };
    let mut number = 0;
    for (effect, rules) in effects {
        for one in rules.as_array().into_iter().flatten() {
            number += 1;
            let one = written(case, fixture, one.as_str().unwrap());
            text.push_str(&rule(number, effect, &one));
        }
    }
    text
}

/// A text of the case with the fixture's places. In c165 `/var` is a link, here one in the fixture.
fn written(case: &ReportCase, fixture: &ProjectFixture, text: &str) -> String {
    let text = fixture.substitute(text);
    if case.id != "c165" {
        return text;
    }
    let place = fixture.root().join("var/data");
    text.replace("/var/data", place.to_str().unwrap())
}

/// What the case needs that a check has not, if anything.
fn needs(case: &ReportCase) -> Option<&'static str> {
    let has = |key: &str| case.input.rest.contains_key(key);
    match case.id.as_str() {
        // Names of well-known files are compared without case everywhere, so c159 is decided here.
        "c322" => return Some("a volume without case"),
        "c161" | "c163" => return Some("Windows paths"),
        "c312" => return Some("a workspace that holds the host's own configuration"),
        _ => {}
    }
    if case.expectation() == Expectation::Result {
        Some("a run: the result is looked at")
    } else if has("actor") {
        Some("a delegate (delegates.rs decides it)")
    } else if has("then") {
        Some("an earlier answer")
    } else if has("reviewer") {
        Some("a reviewer")
    } else if case.area == "rollback" {
        Some("the review of changes")
    } else {
        None
    }
}

/// What `setup` says, for cases that a check decides.
fn prepare(case: &ReportCase, fixture: &ProjectFixture) {
    let link = |name: &str, to: &std::path::Path| {
        std::os::unix::fs::symlink(to, fixture.workspace().join(name)).unwrap();
    };
    let outside = fixture.root().join("srv");
    std::fs::create_dir_all(outside.join("out")).unwrap();
    match case.id.as_str() {
        "c148" => link("outbox", &outside.join("out")),
        "c149" => {
            std::fs::write(outside.join("victim.txt"), "v").unwrap();
            link("notes.md", &outside.join("victim.txt"));
        }
        "c152" => link("link.txt", std::path::Path::new("/etc/hostname")),
        "c165" => {
            let data = fixture.root().join("private/var/data");
            std::fs::create_dir_all(&data).unwrap();
            std::fs::write(data.join("a.txt"), "x").unwrap();
            let var = fixture.root().join("var");
            std::os::unix::fs::symlink(fixture.root().join("private/var"), var).unwrap();
        }
        "c166" => {
            fixture.write("pkg1/a.txt", "a").unwrap();
            fixture.write("pkg2/a.txt", "a").unwrap();
        }
        "c294" | "c295" => {
            fixture.write("sub/.env", "TOKEN=x").unwrap();
        }
        _ => {}
    }
}

fn decide(case: &ReportCase) -> (String, Vec<String>) {
    let fixture = ProjectFixture::new().unwrap();
    prepare(case, &fixture);
    let file = fixture.root().join("case.toml");
    std::fs::write(&file, policy(case, &fixture)).unwrap();
    let mode = case.input.rest.get("mode").and_then(Value::as_str);
    let options = CheckerOptions {
        workspace: match case.id.as_str() {
            "c166" => fixture.workspace().join("pkg1"),
            _ => fixture.workspace(),
        },
        home: Some(fixture.home()),
        scratch: Some(fixture.scratch()),
        policy: Some(file),
        preset: None,
        mode: match mode {
            Some("plan") => OperatingMode::Plan,
            Some("goal") => OperatingMode::Goal,
            _ => OperatingMode::Agent,
        },
        permission_mode: match mode {
            Some("auto") => PermissionMode::Auto,
            Some("ask") => PermissionMode::Ask,
            _ => PermissionMode::AcceptEdits,
        },
        sandbox: Some(SandboxState::Available),
        headless: mode == Some("headless"),
        audit: false,
    };
    let checker = match Checker::new(config(&fixture), options) {
        Ok(checker) => checker,
        Err(error) => return (format!("error: {error}"), Vec::new()),
    };
    let args = case.input.args.clone().unwrap_or_default().to_string();
    let args: Value = serde_json::from_str(&written(case, &fixture, &args)).unwrap();
    let report = checker.check(case.input.tool.as_deref().unwrap(), &args);
    (report.decision, report.decided_by)
}

#[test]
fn every_notation_of_the_case_files_is_a_policy_rule() {
    for text in [
        "*",
        "git push",
        "gh api * -X DELETE*",
        "Read **/.env",
        "Write a.txt",
        "./task",
    ] {
        for effect in ["allow", "ask", "deny"] {
            let file = format!("version = 1\n{}", rule(1, effect, text));
            let layer = guardian_host::rules::Layer::User;
            let checked = guardian_host::policies::check_policy_text(
                layer,
                "case.toml".as_ref(),
                &file,
                Some("/w".as_ref()),
                "/h".as_ref(),
            );
            assert_eq!(
                checked.map_err(|errors| errors.to_string()),
                Ok(()),
                "{file}"
            );
        }
    }
}

#[test]
fn reports_of_real_users() {
    let Some(reports) = cases::reports() else {
        return;
    };
    let mut areas: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    let mut elsewhere: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for case in &reports {
        if let Some(needed) = needs(case) {
            elsewhere.entry(needed).or_default().push(case.id.clone());
            continue;
        }
        let (decision, by) = decide(case);
        let (right, wrong) = areas.entry(case.area.clone()).or_default();
        let kind = match (case.expectation(), decision.as_str()) {
            (Expectation::Allow, "allow")
            | (Expectation::Ask, "ask" | "deny")
            | (Expectation::Deny, "deny") => {
                *right += 1;
                continue;
            }
            (Expectation::Allow, _) => "friction",
            _ => "UNSAFE",
        };
        let args = case.input.args.clone().unwrap_or_default();
        wrong.push(format!(
            "{kind} {} wanted {} got {decision} by {}: {} {args}",
            case.id,
            case.expect,
            by.join(","),
            case.input.tool.as_deref().unwrap_or_default(),
        ));
    }
    let mut text = String::new();
    for (area, (right, wrong)) in &areas {
        writeln!(text, "{area}: {right} right, {} wrong", wrong.len()).unwrap();
        for line in wrong {
            writeln!(text, "  {line}").unwrap();
        }
    }
    writeln!(text, "\nnot decided here, by what they need:").unwrap();
    for (needed, ids) in &elsewhere {
        writeln!(text, "  {needed}: {}", ids.join(" ")).unwrap();
    }
    eprintln!("{text}");
    insta::assert_snapshot!(text);
}
