//! Law of SPEC §5 and §8 over arbitrary facts: a suggested rule allows the call that it was offered
//! for, and changes nothing about a call that does more, or something else than its sentence says.
//! (By text, with the real reading, the same law is in guardian-host, `suggestions.rs`.)

use std::cell::Cell;

use guardian_facts::{
    AccessDetail, AccessKind, AccessSource, Assignment, Facts, Reading, Scope, Span, Word,
};
use guardian_rules::{Decision, Layer, Policy, Preset, Situation, Suggestion, suggest};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::build::{access, file_tool, place, policy, text};
use crate::laws::{
    PATHS, RULES, any_call, any_command, any_preset, build, decision, mostly_asked, runner,
    tightening_rules, user_text,
};

/// What a sibling of a command does besides.
#[derive(Debug, Clone)]
enum More {
    Command(Box<guardian_facts::CommandFact>),
    /// By a redirect of the first command.
    Redirect(&'static str, AccessKind),
    /// That no command is known for.
    Endpoint(Option<&'static str>),
    /// In front of the first command.
    Assignment,
    /// Among the words of the first command.
    Word(&'static str, prop::sample::Index),
    UnreadText,
}

impl More {
    fn to(&self, facts: &Facts) -> Facts {
        let mut more = facts.clone();
        let span = Span { start: 0, end: 0 };
        match self {
            Self::Command(command) => more.commands.push((**command).clone()),
            Self::Redirect(path, kind) => {
                let mut redirect = access(*kind, AccessSource::Redirect(0), place(path));
                redirect.detail = AccessDetail::Truncate;
                more.accesses.push(redirect);
            }
            Self::Endpoint(host) => more.endpoints.push(guardian_facts::Endpoint {
                host: host.map(str::to_owned),
                port: None,
                command: None,
            }),
            Self::Assignment => more.commands[0].assignments.push(Assignment {
                name: "PATH".to_owned(),
                value: Word::literal("x", span),
                changes_execution: true,
                span,
            }),
            Self::Word(word, at) => {
                let argv = &mut more.commands[0].argv;
                let at = 1 + at.index(argv.len());
                argv.insert(at.min(argv.len()), Word::literal(*word, span));
            }
            Self::UnreadText => more.reading = Reading::Partial,
        }
        more
    }
}

/// Nothing among these is allowed by itself: no write to scratch, no mere wrapper.
fn any_more() -> impl Strategy<Value = More> {
    let paths: Vec<&str> = PATHS
        .iter()
        .copied()
        .filter(|path| !path.starts_with("$S") && *path != "/dev/null")
        .collect();
    let kinds = select(vec![
        AccessKind::Read,
        AccessKind::Write,
        AccessKind::Delete,
    ]);
    let words = select(vec![
        "-f",
        "--force",
        "--output=x",
        "x",
        "/etc/passwd",
        ".",
        "*",
    ]);
    prop_oneof![
        any_command().prop_map(|mut command| {
            command.wrapper = false;
            More::Command(Box::new(command))
        }),
        (select(paths), kinds).prop_map(|(path, kind)| More::Redirect(path, kind)),
        select(vec![Some("example.com"), Some("other.example"), None]).prop_map(More::Endpoint),
        Just(More::Assignment),
        (words, any::<prop::sample::Index>()).prop_map(|(word, at)| More::Word(word, at)),
        Just(More::UnreadText),
    ]
}

/// The user's rules, and the same with a suggestion taken into the file.
fn policies(rules: &[&str], preset: Preset, suggestion: &Suggestion) -> (Policy, Policy) {
    let own = user_text(rules);
    let taken = text(Layer::User, &suggestion.toml);
    (
        policy(std::slice::from_ref(&own), preset),
        policy(&[own, taken], preset),
    )
}

fn offered(
    facts: &Facts,
    situation: &Situation,
    rules: &[&str],
    preset: Preset,
) -> Vec<Suggestion> {
    suggest(facts, situation, &policy(&[user_text(rules)], preset))
}

#[test]
fn a_rule_for_a_command_allows_its_call_and_no_call_that_does_more() {
    let seen = Cell::new(0);
    // Neither other allow rules nor a preset that allows: they may cover what a sibling does more.
    let rules = subsequence(tightening_rules(), 0..4);
    let presets = prop_oneof![3 => Just(Preset::Standard), 1 => Just(Preset::Strict)];
    let strategy = (any_call(), mostly_asked(), rules, presets, any_more());
    let result = runner(2000).run(&strategy, |(facts, raw, rules, preset, more)| {
        let situation = build(&facts.tool, &raw);
        for suggestion in offered(&facts, &situation, &rules, preset) {
            let (without, with) = policies(&rules, preset, &suggestion);
            prop_assert_eq!(decision(&facts, &situation, &with), Decision::Allow);
            seen.set(seen.get() + 1);
            if let More::Command(command) = &more
                && suggestion
                    .sentence
                    .contains(&format!("`{}`", command.display()))
            {
                // The same words again are what the sentence says.
                continue;
            }
            let sibling = more.to(&facts);
            prop_assert_eq!(
                decision(&sibling, &situation, &with),
                decision(&sibling, &situation, &without),
                "{} and {:?}",
                suggestion.sentence,
                more
            );
        }
        Ok(())
    });
    if let Err(fault) = result {
        panic!("{fault}");
    }
    assert!(seen.get() >= 100, "{} suggestions were tried", seen.get());
}

/// The sentence of a rule for a file tool speaks of this path.
fn speaks_of(sentence: &str, path: &guardian_facts::PathFact) -> bool {
    let quoted = sentence.split('`').nth(1);
    match quoted {
        Some(directory) if sentence.contains("files in") => {
            path.path.parent() == Some(std::path::Path::new(directory))
        }
        Some(directory) => path.path.starts_with(directory),
        None => sentence.contains("inside the workspace") && path.scope == Scope::Workspace,
    }
}

#[test]
fn a_rule_for_a_file_tool_allows_its_call_and_nothing_that_its_sentence_does_not_speak_of() {
    let seen = Cell::new(0);
    let paths = vec![
        "a",
        "b",
        "src/a.rs",
        "src/b.rs",
        "src/deep/c.rs",
        "src/deep/d/e.rs",
        "/srv/a",
        "/srv/b",
        "/srv/deep/c",
        ".env",
        "src/.env",
        ".git/hooks/x",
        "$S/a",
        "~/.ssh/id_rsa",
        "~/a",
    ];
    let tools = vec!["Read", "Grep", "Glob", "Write", "Edit"];
    let strategy = (
        select(tools.clone()),
        select(paths.clone()),
        prop::option::weighted(0.3, select(tools)),
        select(paths),
        mostly_asked(),
        subsequence(RULES.to_vec(), 0..2),
        any_preset(),
    );
    let result = runner(3000).run(
        &strategy,
        |(tool, path, other_tool, other_path, raw, rules, preset)| {
            let other_tool = other_tool.unwrap_or(tool);
            let facts = file_tool(tool, place(path));
            let situation = build(tool, &raw);
            for suggestion in offered(&facts, &situation, &rules, preset) {
                let (without, with) = policies(&rules, preset, &suggestion);
                prop_assert_eq!(decision(&facts, &situation, &with), Decision::Allow);
                seen.set(seen.get() + 1);
                let sibling = file_tool(other_tool, place(other_path));
                let situation = build(other_tool, &raw);
                let (before, after) = (
                    decision(&sibling, &situation, &without),
                    decision(&sibling, &situation, &with),
                );
                let classes = place(other_path).sensitivity;
                let is_meant = other_tool == tool
                    && speaks_of(&suggestion.sentence, &place(other_path))
                    && classes.is_ordinary();
                prop_assert!(
                    before == after || is_meant,
                    "{}: {} {} was {:?} and is {:?}",
                    suggestion.sentence,
                    other_tool,
                    other_path,
                    before,
                    after
                );
            }
            Ok(())
        },
    );
    if let Err(fault) = result {
        panic!("{fault}");
    }
    assert!(seen.get() >= 100, "{} suggestions were tried", seen.get());
}
