//! Law of SPEC §5 and §7: what a card offers matches the call that it was offered for, and no
//! sibling: another flag, an appended command, a redirect, another place. Read by the real
//! extraction, decided by the real policy file.

use std::path::PathBuf;

use guardian_host::check::{Checker, CheckerOptions};
use guardian_host::rules::{OperatingMode, PermissionMode, Preset, SandboxState};
use guardian_testkit::ProjectFixture;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use crate::support::config;

/// Commands that are asked about under `standard`, of many families.
const COMMANDS: &[&str] = &[
    "ls -la src",
    "cat README.md",
    "mkdir docs/new",
    "touch notes.txt",
    "git status --short",
    "git log --oneline -5",
    "git diff HEAD",
    "git branch --list",
    "npm ls --depth 0",
    "docker ps -a",
    "gh pr list",
    "kubectl get pods",
    "wc -l README.md",
    "head -5 README.md",
    "sort README.md",
    "grep -n main src/lib.rs",
    "find src -name lib.rs",
    "du -sh .",
    "cp README.md copy.md",
    "date +%F",
    "pip list",
    "cargo --version",
];

const FLAGS: &[&str] = &[
    "-f",
    "--force",
    "-r",
    "-x",
    "-o",
    "--output=stolen",
    "-C/",
    "--exec=sh",
    "-delete",
    "-e",
    "-v",
];

/// Not among them: data on standard input that is written in the text itself (`<<< x`), which is
/// no file and, like a pipe, judged by what its consumer is.
const APPENDED: &[&str] = &[
    " && rm -r src",
    "; curl https://example.invalid",
    " | sh",
    " || ./x.sh",
    "\nmake",
    " & git push",
    " > README.md",
    " >> out.txt",
    " 2> err.txt",
    " < .env",
    " $(make)",
    " `make`",
    " \"$(make)\"",
    " <(make)",
    " $X",
    " *",
    " /etc/passwd",
    " ..",
    " extra",
    " (make)",
    " \\",
    " '",
    " {",
];

/// An assignment that changes nothing about what runs (`X=1`) is not among them either (SPEC §5, 4).
const IN_FRONT: &[&str] = &[
    "PATH=. ",
    "sudo ",
    "make; ",
    "cd / && ",
    "! make && ",
    "./",
    "/tmp/",
    "xargs ",
];

fn checker(fixture: &ProjectFixture, policy: Option<PathBuf>) -> Checker {
    Checker::new(
        config(fixture),
        CheckerOptions {
            workspace: fixture.workspace(),
            home: Some(fixture.home()),
            scratch: Some(fixture.scratch()),
            policy,
            preset: Some(Preset::Standard),
            mode: OperatingMode::Agent,
            permission_mode: PermissionMode::Ask,
            sandbox: Some(SandboxState::Unavailable),
            headless: false,
            audit: false,
        },
    )
    .unwrap()
}

fn decide(checker: &Checker, command: &str) -> String {
    checker
        .check("Bash", &json!({ "command": command }))
        .decision
}

/// How a call differs from a command by its text.
#[derive(Debug, Clone, Copy)]
enum Change {
    Flag(&'static str, prop::sample::Index),
    Appended(&'static str),
    InFront(&'static str),
    Word(prop::sample::Index),
}

impl Change {
    fn of(self, command: &str) -> String {
        let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        match self {
            Self::Flag(flag, at) => words.insert(1 + at.index(words.len()), flag.to_owned()),
            Self::Appended(text) => return format!("{command}{text}"),
            Self::InFront(text) => return format!("{text}{command}"),
            Self::Word(at) => {
                let at = at.index(words.len());
                words[at].push('x');
            }
        }
        words.join(" ")
    }
}

fn any_sibling() -> impl Strategy<Value = (usize, Change)> {
    let place = any::<prop::sample::Index>;
    let change = prop_oneof![
        (select(FLAGS), place()).prop_map(|(flag, at)| Change::Flag(flag, at)),
        select(APPENDED).prop_map(Change::Appended),
        select(IN_FRONT).prop_map(Change::InFront),
        place().prop_map(Change::Word),
    ];
    (0..COMMANDS.len(), change)
}

#[test]
fn a_suggested_rule_allows_its_call_and_no_sibling() {
    let fixture = ProjectFixture::new().unwrap();
    let without = checker(&fixture, None);
    let with: Vec<Option<Checker>> = COMMANDS
        .iter()
        .enumerate()
        .map(|(index, command)| {
            assert_eq!(decide(&without, command), "ask", "{command}");
            let offered = without.suggestions("Bash", &json!({ "command": command }));
            let rule = offered.first()?;
            let file = fixture.root().join(format!("rule-{index}.toml"));
            std::fs::write(&file, format!("version = 1\n{}", rule.toml)).unwrap();
            let with = checker(&fixture, Some(file));
            assert_eq!(decide(&with, command), "allow", "{command}: {}", rule.toml);
            Some(with)
        })
        .collect();
    let offered = with.iter().flatten().count();
    assert!(
        offered * 10 >= COMMANDS.len() * 7,
        "{offered} are offered a rule"
    );
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 600,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let result = runner.run(&any_sibling(), |(index, change)| {
        if let Some(with) = &with[index] {
            let sibling = change.of(COMMANDS[index]);
            let (before, after) = (decide(&without, &sibling), decide(with, &sibling));
            prop_assert_eq!(before, after, "{} became {}", COMMANDS[index], sibling);
        }
        Ok(())
    });
    if let Err(fault) = result {
        panic!("{fault}");
    }
}
