//! Suggested rules: they cover their call, and no sibling of it.

use guardian_facts::{AccessKind, Effect, Facts};
use guardian_rules::{
    AllowedDecision, Decision, Policy, Preset, Suggestion, evaluate, suggest, suggest_wider,
    would_allow,
};

use crate::build::{
    and, asking, command, file_tool, opaque, place, policy, reaching, redirecting, run, touching,
    user,
};

fn suggested(facts: &Facts) -> Vec<Suggestion> {
    suggest(facts, &asking(facts), &Policy::builtin(Preset::Standard))
}

#[track_caller]
fn allowed_with(rules: &str, facts: &Facts) -> bool {
    let policy = policy(&[user(rules)], Preset::Standard);
    evaluate(facts, &asking(facts), &policy).decision == Decision::Allow
}

#[test]
fn a_suggested_command_rule_matches_its_call_and_no_sibling() {
    for words in ["npm ls", "docker ps -a", "mkdir src/x", "git status -s"] {
        let facts = run(command(words, &[Effect::SystemQuery]));
        let rules = suggested(&facts);
        assert_eq!(rules.len(), 1, "{words}");
        let rule = &rules[0];
        assert_eq!(rule.answer, AllowedDecision::AllowAlwaysForCommandPattern);
        assert!(
            allowed_with(&rule.toml, &facts),
            "{words} is covered by its own rule"
        );
        for sibling in ["--force", "-f", "x", "/etc", "$X"] {
            let more = run(command(
                &format!("{words} {sibling}"),
                &[Effect::SystemQuery],
            ));
            assert!(!allowed_with(&rule.toml, &more), "{words} {sibling}");
        }
        assert!(
            !allowed_with(&rule.toml, &and(facts.clone(), command("rm a", &[]))),
            "an appended command"
        );
        assert!(
            !allowed_with(&rule.toml, &redirecting(facts.clone(), "a")),
            "a redirect"
        );
        assert!(!allowed_with(
            &rule.toml,
            &touching(facts.clone(), AccessKind::Read, "/srv/a")
        ));
        let elsewhere = words
            .split_once(' ')
            .map_or(String::new(), |(_, rest)| format!("./{rest}"));
        assert!(!allowed_with(&rule.toml, &run(command(&elsewhere, &[]))));
    }
}

#[test]
fn nothing_is_suggested_that_would_remember_too_much() {
    let mut wrapper = run(command("timeout 5 make", &[]));
    wrapper.commands[0].wrapper = true;
    for facts in [
        run(opaque("node -e x", &[Effect::RunsCode])),
        run(opaque("./x.sh", &[])),
        run(command("./x.sh", &[])),
        run(opaque("make x", &[Effect::RunsProjectCode])),
        run(command("sudo ls", &[Effect::Privilege])),
        run(command("git reset --hard", &[Effect::Destructive])),
        run(command("ssh host ls", &[Effect::RemoteHost])),
        run(command("npm $X", &[])),
        redirecting(run(command("ls", &[])), "a"),
        and(run(command("npm ls", &[])), command("npm ci", &[])),
        touching(run(command("cat .env", &[])), AccessKind::Read, ".env"),
        Facts::unknown("Bash", "not read"),
    ] {
        assert_eq!(
            suggested(&facts),
            [],
            "{}",
            facts
                .commands
                .first()
                .map(|c| c.display())
                .unwrap_or_default()
        );
    }
}

#[test]
fn a_file_tool_is_offered_its_directory_and_inside_the_workspace_the_tool() {
    let facts = file_tool("Write", place("docs/a.md"));
    let rules = suggested(&facts);
    assert_eq!(rules.len(), 2);
    let directory = &rules[0].toml;
    assert!(allowed_with(directory, &facts));
    assert!(allowed_with(
        directory,
        &file_tool("Write", place("docs/b.md"))
    ));
    for other in [
        file_tool("Write", place("docs/x/b.md")),
        file_tool("Write", place("a")),
        file_tool("Edit", place("docs/a.md")),
    ] {
        assert!(!allowed_with(directory, &other));
    }
    let tool = &rules[1].toml;
    assert!(allowed_with(tool, &file_tool("Write", place("a"))));
    assert!(!allowed_with(tool, &file_tool("Write", place("/srv/a"))));

    let outside = file_tool("Read", place("/srv/x/a"));
    let rules = suggested(&outside);
    assert_eq!(rules.len(), 1);
    assert!(allowed_with(
        &rules[0].toml,
        &file_tool("Read", place("/srv/x/b"))
    ));
    assert!(!allowed_with(
        &rules[0].toml,
        &file_tool("Read", place("/srv/y"))
    ));
    assert!(!allowed_with(
        &rules[0].toml,
        &file_tool("Write", place("/srv/x/a"))
    ));
}

#[test]
fn answers_list_what_is_suggested() {
    let facts = reaching(
        run(command("gh pr list", &[Effect::Network])),
        "api.example.com",
    );
    let verdict = evaluate(&facts, &asking(&facts), &Policy::builtin(Preset::Standard));
    assert_eq!(
        verdict.allowed_decisions,
        [
            AllowedDecision::AllowOnce,
            AllowedDecision::AllowSession,
            AllowedDecision::AllowAlwaysForCommandPattern,
            AllowedDecision::Deny
        ]
    );
    insta::assert_snapshot!(suggested(&facts)[0].toml);
}

#[test]
fn interpreters_and_files_in_the_workspace_get_no_session_grant() {
    for facts in [
        run(opaque("node -e x", &[Effect::RunsCode])),
        run(opaque("./x.sh", &[])),
    ] {
        let verdict = evaluate(&facts, &asking(&facts), &Policy::builtin(Preset::Standard));
        assert_eq!(verdict.session_grant, None);
        assert_eq!(
            verdict.allowed_decisions,
            [AllowedDecision::AllowOnce, AllowedDecision::Deny]
        );
        assert!(verdict.human_only);
    }
}

#[test]
fn a_wider_rule_covers_other_operands_and_no_flags_and_is_for_people_who_look_at_many_calls() {
    let policy = Policy::builtin(Preset::Standard);
    let facts = run(command("npm ls left", &[Effect::SystemQuery]));
    let wider = suggest_wider(&facts, &asking(&facts), &policy);
    assert_eq!(wider.len(), 2);
    let rule = &wider[0];
    assert!(would_allow(rule, &facts, &asking(&facts), &policy));
    for (words, expected) in [
        ("npm ls right", true),
        ("npm ls", true),
        ("npm ls --all", false),
        ("npm ls left -g", false),
        ("npm run x", false),
        ("npm $X left", false),
    ] {
        let other = run(command(words, &[Effect::SystemQuery]));
        assert_eq!(
            would_allow(rule, &other, &asking(&other), &policy),
            expected,
            "{words}"
        );
        assert_eq!(allowed_with(&rule.toml, &other), expected, "{words}");
    }
    let redirected = redirecting(facts.clone(), "a");
    assert!(!would_allow(
        rule,
        &redirected,
        &asking(&redirected),
        &policy
    ));
    for facts in [
        run(opaque("node -e x", &[Effect::RunsCode])),
        run(command("sudo ls", &[Effect::Privilege])),
        run(command("ls", &[])),
    ] {
        assert_eq!(suggest_wider(&facts, &asking(&facts), &policy), []);
    }
}

#[test]
fn a_command_of_hundreds_of_words_is_put_into_no_rule() {
    let suggestions = |count: usize| {
        let words = format!("mkdir{}", " x".repeat(count));
        suggested(&run(command(&words, &[Effect::SystemQuery]))).len()
    };
    assert_eq!((suggestions(20), suggestions(200)), (1, 0));
}
