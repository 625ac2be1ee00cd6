//! The laws of SPEC §5, against arbitrary facts and a naive evaluator.

use std::cell::Cell;

use guardian_facts::{
    AccessDetail, AccessKind, AccessSource, Assignment, Effect, Facts, Reading, Span, Word,
};
use guardian_rules::{
    Decision, Grant, GrantScope, Layer, OperatingMode, PermissionMode, Policy, PolicyText, Preset,
    SandboxState, Situation, ToolRisk, Trust, evaluate,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::TestRunner;

use crate::build::{
    access, command, opaque, place, policy, reaching, run, situation, text, touching,
};
use crate::naive;

const TOOLS: &[&str] = &[
    "Read",
    "Grep",
    "Write",
    "Edit",
    "Bash",
    "asktool",
    "plugin_a_b",
    "mcp_a_b",
    "Foreign",
    "SubmitPlan",
];

const WORDS: &[&str] = &[
    "ls",
    "git push",
    "git -C x push",
    "git status",
    "rm a",
    "rm $X",
    "cargo test",
    "/tmp/git push",
    "$X push",
    "./run.sh",
    "sudo ls",
    "curl https://example.com",
];

pub(crate) const PATHS: &[&str] = &[
    "a",
    "src/a.rs",
    "docs/a.md",
    ".env",
    "$S/a",
    "/srv/a",
    "~",
    "/",
    "/dev/null",
    "/etc/passwd",
    "~/.ssh/id_rsa",
    ".git/hooks/x",
    "~/.config/guardian/policy.toml",
    "/usr/include/a.h",
];

const EFFECTS: &[Effect] = &[
    Effect::Inert,
    Effect::SystemQuery,
    Effect::Network,
    Effect::Destructive,
    Effect::Privilege,
    Effect::GitRecord,
    Effect::RunsProjectCode,
    Effect::RunsRemoteCode,
    Effect::Installs,
    Effect::RemoteHost,
    Effect::Publishes,
];

/// Rules that are put together into policies; the naive evaluator knows them by their ids.
pub(crate) const RULES: &[&str] = &[
    "id = \"allow-ls\"\neffect = \"allow\"\ncommand = [\"ls\"]",
    "id = \"allow-cargo\"\neffect = \"allow\"\ncommand = [\"cargo\", [\"test\", \"check\"]]",
    "id = \"allow-git\"\neffect = \"allow\"\nprogram = \"git\"",
    "id = \"allow-bash\"\neffect = \"allow\"\ntool = \"Bash\"",
    "id = \"allow-docs\"\neffect = \"allow\"\npaths = [\"docs/**\", \"/srv/**\"]",
    "id = \"allow-host\"\neffect = \"allow\"\nhost = \"example.com\"",
    "id = \"allow-plugin\"\neffect = \"allow\"\ntool = \"plugin_*\"",
    "id = \"deny-push\"\neffect = \"deny\"\ncommand = [\"git\", \"push\"]",
    "id = \"deny-src-writes\"\neffect = \"deny\"\naccess = [\"write\", \"delete\"]\npaths = [\"src/**\"]",
    "id = \"deny-exfiltration\"\neffect = \"deny\"\nwhen = { reads = \"secret\", network = true }",
    "id = \"deny-host\"\neffect = \"deny\"\nhost = \"evil.example\"",
    "id = \"ask-rm\"\neffect = \"ask\"\nprogram = \"rm\"",
    "id = \"ask-outside\"\neffect = \"ask\"\nscope = \"outside\"\naccess = \"read\"",
    "id = \"ask-network\"\neffect = \"ask\"\ndoes = \"network\"",
];

fn rule_text(rule: &str) -> String {
    format!("[[rule]]\n{rule}\n")
}

fn any_effects() -> impl Strategy<Value = Vec<Effect>> {
    subsequence(EFFECTS.to_vec(), 0..3)
}

pub(crate) fn any_command() -> impl Strategy<Value = guardian_facts::CommandFact> {
    (select(WORDS), any_effects(), any::<[bool; 4]>(), 0..8_u8).prop_map(
        |(words, effects, [is_opaque, wrapper, walks, assigns], elsewhere)| {
            let mut fact = if is_opaque {
                opaque(words, &effects)
            } else {
                command(words, &effects)
            };
            fact.wrapper = wrapper && !is_opaque;
            fact.walks = walks;
            fact.place.elsewhere = elsewhere == 0;
            if assigns {
                let span = Span { start: 0, end: 0 };
                fact.assignments.push(Assignment {
                    name: "PATH".to_owned(),
                    value: Word::literal("x", span),
                    changes_execution: elsewhere % 2 == 0,
                    span,
                });
            }
            fact
        },
    )
}

fn any_access(commands: usize) -> impl Strategy<Value = guardian_facts::Access> {
    let kinds = select(vec![
        AccessKind::Read,
        AccessKind::List,
        AccessKind::Write,
        AccessKind::Delete,
        AccessKind::Execute,
    ]);
    (kinds, select(PATHS), any::<bool>(), 0..4_usize, 0..6_u8).prop_map(
        move |(kind, path, recursive, source, shape)| {
            let source = if commands == 0 {
                if source == 0 {
                    AccessSource::Declared
                } else {
                    AccessSource::PathArgument
                }
            } else if source == 0 {
                AccessSource::Redirect(source % commands)
            } else {
                AccessSource::Command(source % commands)
            };
            let mut fact = access(kind, source, place(path));
            fact.recursive = recursive;
            if shape == 0 {
                fact.target = guardian_facts::Target::Unknown {
                    written: "$X".to_owned(),
                    reason: "not set".to_owned(),
                    when_empty: None,
                    temporary: false,
                };
            }
            if shape == 1 {
                fact.detail = AccessDetail::Rename;
            }
            fact
        },
    )
}

fn any_endpoint(commands: usize) -> impl Strategy<Value = guardian_facts::Endpoint> {
    select(vec![Some("example.com"), Some("evil.example"), None]).prop_map(move |host| {
        guardian_facts::Endpoint {
            host: host.map(str::to_owned),
            port: None,
            command: (commands > 0).then_some(0),
        }
    })
}

fn any_facts() -> impl Strategy<Value = Facts> {
    let tool = select(TOOLS);
    let commands = prop::collection::vec(any_command(), 0..4);
    (tool, commands, any::<u8>()).prop_flat_map(|(tool, commands, partial)| {
        let commands = if tool == "Bash" { commands } else { Vec::new() };
        let count = commands.len();
        let accesses = prop::collection::vec(any_access(count), 0..4);
        let endpoints = prop::collection::vec(any_endpoint(count), 0..2);
        (accesses, endpoints).prop_map(move |(accesses, endpoints)| {
            let mut facts = Facts::empty(tool);
            facts.commands = commands.clone();
            facts.accesses = accesses;
            facts.endpoints = endpoints;
            facts.reading = if partial % 6 == 0 {
                Reading::Partial
            } else {
                Reading::Complete
            };
            facts
        })
    })
}

pub(crate) fn any_situation()
-> impl Strategy<Value = (OperatingMode, PermissionMode, Option<GrantScope>, [bool; 4])> {
    (
        select(vec![
            OperatingMode::Agent,
            OperatingMode::Agent,
            OperatingMode::Plan,
            OperatingMode::Goal,
        ]),
        select(vec![
            PermissionMode::Ask,
            PermissionMode::AcceptEdits,
            PermissionMode::Auto,
        ]),
        select(vec![
            None,
            Some(GrantScope::Roots),
            Some(GrantScope::Outside),
        ]),
        any::<[bool; 4]>(),
    )
}

/// Mostly the one in which a call is asked about.
pub(crate) fn mostly_asked() -> impl Strategy<Value = RawSituation> {
    prop_oneof![
        3 => Just((OperatingMode::Agent, PermissionMode::Ask, None, [false; 4])),
        1 => any_situation(),
    ]
}

pub(crate) type RawSituation = (OperatingMode, PermissionMode, Option<GrantScope>, [bool; 4]);

pub(crate) fn build(tool: &str, raw: &RawSituation) -> Situation {
    let (mode, permission_mode, grant, [no_workspace, no_sandbox, unread, no_snapshot]) = raw;
    let mut built = situation(tool, *mode, *permission_mode);
    built.grants = grant
        .iter()
        .map(|scope| Grant {
            tool_name: tool.to_owned(),
            scope: *scope,
        })
        .collect();
    if *no_workspace && *unread && *no_snapshot {
        built.roots.workspace = None;
    }
    if *no_sandbox {
        built.sandbox = SandboxState::Unavailable;
    }
    built.overwrites_unread = *unread;
    built.snapshot_possible = !*no_snapshot;
    built
}

pub(crate) fn any_rules() -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(RULES.to_vec(), 0..6)
}

pub(crate) fn tightening_rules() -> Vec<&'static str> {
    RULES
        .iter()
        .copied()
        .filter(|rule| !rule.contains("effect = \"allow\""))
        .collect()
}

pub(crate) fn any_preset() -> impl Strategy<Value = Preset> {
    select(vec![Preset::Standard, Preset::Balanced, Preset::Strict])
}

fn user_policy(rules: &[&str], preset: Preset) -> Policy {
    policy(&[user_text(rules)], preset)
}

pub(crate) fn user_text(rules: &[&str]) -> PolicyText {
    text(
        Layer::User,
        &rules.iter().map(|rule| rule_text(rule)).collect::<String>(),
    )
}

pub(crate) fn decision(facts: &Facts, situation: &Situation, policy: &Policy) -> Decision {
    evaluate(facts, situation, policy).decision
}

/// Calls of the kind that a rule is offered for, each with what its own words touch and reach.
pub(crate) fn any_call() -> impl Strategy<Value = Facts> {
    let words = select(vec![
        "git status",
        "cargo test -p x",
        "npm ls --depth 0",
        "docker ps -a",
        "mkdir src/x",
        "ls",
        "gh pr list",
    ]);
    let effects = select(vec![
        Effect::Inert,
        Effect::SystemQuery,
        Effect::GitRecord,
        Effect::Network,
    ]);
    let kinds = select(vec![AccessKind::Read, AccessKind::List, AccessKind::Write]);
    let touched = prop::collection::vec((kinds, select(vec!["a", "src/a.rs", "docs/a.md"])), 0..3);
    let beside = prop::option::of(Just(command("ls", &[Effect::Inert])));
    (words, effects, touched, any::<bool>(), beside).prop_map(
        |(words, effect, touched, reaches, beside)| {
            let mut facts = run(command(words, &[effect]));
            for (kind, path) in touched {
                facts = touching(facts, kind, path);
            }
            if reaches {
                facts = reaching(facts, "example.com");
            }
            facts.commands.extend(beside);
            facts
        },
    )
}

pub(crate) fn runner(cases: u32) -> TestRunner {
    TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    })
}

/// Where no host of a network command is known it may be any, so that a deny rule about hosts asks.
/// That is why a host that becomes known may loosen, which no other fact does.
#[test]
fn a_command_whose_host_is_not_known_might_reach_every_denied_one() {
    let facts = run(command("git status", &[Effect::Network]));
    let situation = situation("Bash", OperatingMode::Agent, PermissionMode::Auto);
    let deny_host = tightening_rules()
        .into_iter()
        .find(|rule| rule.contains("deny-host"));
    let policy = user_policy(deny_host.as_slice(), Preset::Standard);
    for (host, expected) in [
        (None, Decision::Ask),
        (Some("example.com"), Decision::Allow),
        (Some("evil.example"), Decision::Deny),
    ] {
        let facts = host.map_or(facts.clone(), |host| reaching(facts.clone(), host));
        assert_eq!(decision(&facts, &situation, &policy), expected, "{host:?}");
    }
}

/// Over calls that allow rules decide about; over arbitrary facts they hardly ever do.
#[test]
fn of_a_file_that_is_not_trusted_only_what_tightens_counts() {
    let would_loosen = Cell::new(0);
    let strategy = (
        any_call(),
        mostly_asked(),
        any_rules(),
        any_rules(),
        any_preset(),
    );
    let result = runner(1500).run(&strategy, |(facts, raw, rules, theirs, preset)| {
        let situation = build(&facts.tool, &raw);
        let with = |theirs: &[&str], trust| {
            let file = PolicyText {
                layer: Layer::Workspace,
                trust,
                ..user_text(theirs)
            };
            decision(
                &facts,
                &situation,
                &policy(&[user_text(&rules), file], preset),
            )
        };
        let tightening: Vec<&str> = theirs
            .iter()
            .copied()
            .filter(|rule| tightening_rules().contains(rule))
            .collect();
        let untrusted = with(&theirs, Trust::Untrusted);
        prop_assert_eq!(untrusted, with(&tightening, Trust::Untrusted));
        if with(&theirs, Trust::Trusted) < untrusted {
            would_loosen.set(would_loosen.get() + 1);
        }
        Ok(())
    });
    if let Err(fault) = result {
        panic!("{fault}");
    }
    assert!(
        would_loosen.get() >= 50,
        "{} would loosen",
        would_loosen.get()
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn verdicts_are_total_and_equal_across_runs(
        facts in any_facts(), raw in any_situation(), rules in any_rules(), preset in any_preset(),
    ) {
        let situation = build(&facts.tool, &raw);
        let policy = user_policy(&rules, preset);
        let verdict = evaluate(&facts, &situation, &policy);
        prop_assert_eq!(&verdict, &evaluate(&facts, &situation, &policy));
        prop_assert!(!verdict.decided_by.is_empty() && !verdict.reasons.is_empty());
        prop_assert_eq!(verdict.decision == Decision::Ask, !verdict.allowed_decisions.is_empty());
    }

    #[test]
    fn the_naive_evaluator_agrees(
        facts in any_facts(), raw in any_situation(), rules in any_rules(),
    ) {
        let situation = build(&facts.tool, &raw);
        let verdict = evaluate(&facts, &situation, &user_policy(&rules, Preset::Standard));
        let expected = naive::decide(&facts, &situation, &rules);
        prop_assert_eq!(verdict.decision, expected, "{:?}", verdict.trace);
    }

    #[test]
    fn adding_a_fact_never_loosens(
        facts in any_facts(), raw in any_situation(), rules in any_rules(), preset in any_preset(),
        command in any_command(), access in any_access(1), endpoint in any_endpoint(1), which in 0..4_u8,
    ) {
        // of a call without any fact nothing is known: it is asked about, what little would be
        // known of it may be allowed
        prop_assume!(!(facts.accesses.is_empty() && facts.commands.is_empty() && facts.endpoints.is_empty()));
        let situation = build(&facts.tool, &raw);
        let policy = user_policy(&rules, preset);
        let mut more = facts.clone();
        match which {
            0 => more.commands.push(command),
            1 => more.accesses.push(guardian_facts::Access {
                source: if facts.commands.is_empty() { AccessSource::PathArgument } else { access.source },
                ..access
            }),
            // a host for a command of which none was known is no further one: it takes the place of
            // "any host"
            2 => {
                let has_one = facts.endpoints.iter().any(|known| known.command == endpoint.command);
                more.endpoints.push(guardian_facts::Endpoint {
                    command: endpoint.command.filter(|_| has_one),
                    ..endpoint
                });
            }
            _ => more.reading = Reading::Partial,
        }
        prop_assert!(decision(&more, &situation, &policy) >= decision(&facts, &situation, &policy));
    }

    #[test]
    fn adding_a_deny_or_ask_rule_never_loosens(
        facts in any_facts(), raw in any_situation(), rules in any_rules(), preset in any_preset(),
        extra in select(tightening_rules()), layer in select(vec![Layer::Managed, Layer::User, Layer::Workspace, Layer::Session]),
    ) {
        let situation = build(&facts.tool, &raw);
        let before = user_policy(&rules, preset);
        let after = policy(&[user_text(&rules), text(layer, &rule_text(extra).replace("id = \"", "id = \"x-"))], preset);
        prop_assert!(decision(&facts, &situation, &after) >= decision(&facts, &situation, &before));
    }

    #[test]
    fn an_untrusted_workspace_file_and_a_broken_one_never_loosen(
        facts in any_facts(), raw in any_situation(), rules in any_rules(), more in any_rules(), preset in any_preset(),
    ) {
        let situation = build(&facts.tool, &raw);
        let before = user_policy(&rules, preset);
        let mut file = user_text(&more);
        file.layer = Layer::Workspace;
        file.trust = Trust::Untrusted;
        let after = policy(&[user_text(&rules), file], preset);
        let decided = decision(&facts, &situation, &before);
        prop_assert!(decision(&facts, &situation, &after) >= decided);
        prop_assert!(decision(&facts, &situation, &before.with_unreadable_layer(Layer::Workspace)) >= decided);
    }

    #[test]
    fn the_order_of_rules_layers_and_facts_does_not_matter(
        facts in any_facts(), raw in any_situation(), rules in any_rules(), more in any_rules(), preset in any_preset(),
    ) {
        let situation = build(&facts.tool, &raw);
        let managed = PolicyText { layer: Layer::Managed, ..user_text(&more) };
        let forward = policy(&[user_text(&rules), managed.clone()], preset);
        let turned: Vec<&str> = rules.iter().rev().copied().collect();
        let backward = policy(&[managed, user_text(&turned)], preset);
        prop_assert_eq!(forward.version(), backward.version());

        let mut mirrored = facts.clone();
        mirrored.accesses.reverse();
        mirrored.endpoints.reverse();
        mirrored.commands.reverse();
        let count = facts.commands.len();
        let turn = |index: usize| count - 1 - index;
        for access in &mut mirrored.accesses {
            access.source = match access.source {
                AccessSource::Command(index) => AccessSource::Command(turn(index)),
                AccessSource::Redirect(index) => AccessSource::Redirect(turn(index)),
                other => other,
            };
        }
        for endpoint in &mut mirrored.endpoints {
            endpoint.command = endpoint.command.map(turn);
        }
        let one = evaluate(&facts, &situation, &forward);
        let other = evaluate(&mirrored, &situation, &backward);
        prop_assert_eq!(one.decision, other.decision);
        prop_assert_eq!(one.cause, other.cause);
        prop_assert_eq!(one.decided_by, other.decided_by);
        prop_assert_eq!(one.reasons, other.reasons);
    }

    #[test]
    fn an_answer_creates_a_grant_that_covers_the_call(
        facts in any_facts(), raw in any_situation(), rules in any_rules(),
    ) {
        let mut situation = build(&facts.tool, &raw);
        let policy = user_policy(&rules, Preset::Standard);
        let verdict = evaluate(&facts, &situation, &policy);
        if let Some(grant) = verdict.session_grant {
            prop_assert_eq!(verdict.decision, Decision::Ask);
            situation.grants.push(grant);
            prop_assert_eq!(decision(&facts, &situation, &policy), Decision::Allow);
        }
    }

    #[test]
    fn low_risk_is_never_taken_from_the_request(facts in any_facts(), raw in any_situation()) {
        // a higher risk never loosens
        let situation = build(&facts.tool, &raw);
        let policy = user_policy(&[], Preset::Standard);
        let mut higher = situation.clone();
        higher.tool_risk = ToolRisk::High;
        prop_assert!(decision(&facts, &higher, &policy) >= decision(&facts, &situation, &policy));
    }
}
