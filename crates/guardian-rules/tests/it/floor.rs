//! The floor over facts built by hand: what each rule is about, and what it leaves alone.

use guardian_facts::{AccessDetail, AccessKind, Effect, Facts, Reading, Target};
use guardian_rules::{AllowedDecision, Decision, Policy, Preset, evaluate, floor_rules};

use crate::build::{
    all_of, and, auto, bash, command, opaque, reaching, redirecting, run, touching,
};

/// Under `auto` nothing but the floor asks or denies.
#[track_caller]
fn check(facts: &Facts, expected: Option<(&str, Decision)>) {
    let verdict = evaluate(facts, &auto(facts), &Policy::builtin(Preset::Standard));
    match expected {
        None => assert_eq!(verdict.decision, Decision::Allow, "{:?}", verdict.reasons),
        Some((rule, decision)) => {
            assert_eq!(verdict.decision, decision, "{:?}", verdict.reasons);
            assert!(
                verdict.decided_by.iter().any(|id| id == rule),
                "{:?}",
                verdict.decided_by
            );
            if decision == Decision::Ask {
                assert_eq!(
                    verdict.allowed_decisions,
                    [AllowedDecision::AllowOnce, AllowedDecision::Deny],
                    "a floor ask is never remembered"
                );
            }
        }
    }
}

fn with_detail(mut facts: Facts, detail: AccessDetail) -> Facts {
    facts.accesses.last_mut().unwrap().detail = detail;
    facts
}

fn pattern(mut facts: Facts, text: &str, base: &str) -> Facts {
    let last = facts.accesses.last_mut().unwrap();
    last.target = Target::Pattern {
        written: text.to_owned(),
        pattern: text.to_owned(),
        base: crate::build::place(base),
        may_match: guardian_facts::Sensitivity::default(),
    };
    facts
}

fn unknown(mut facts: Facts, when_empty: Option<&str>, temporary: bool) -> Facts {
    let last = facts.accesses.last_mut().unwrap();
    last.target = Target::Unknown {
        written: "\"$X\"/".to_owned(),
        reason: "the variable `X` is not set here".to_owned(),
        when_empty: when_empty.map(Into::into),
        temporary,
    };
    facts
}

#[test]
fn deleting_a_whole_root_is_denied_however_it_is_written() {
    let rm = || run(command("rm -rf x", &[]));
    for target in ["/", "~", ".", "/home", "/etc", "/usr/lib", "/var", "/dev"] {
        check(
            &all_of(rm(), AccessKind::Delete, target),
            Some(("floor.system-delete", Decision::Deny)),
        );
    }
    for (text, base) in [
        ("/*", "/"),
        ("/home/dev/*", "~"),
        ("/home/*", "/home"),
        ("/et?", "/"),
        ("/var/*", "/var"),
    ] {
        let facts = pattern(all_of(rm(), AccessKind::Delete, "x"), text, base);
        check(&facts, Some(("floor.system-delete", Decision::Deny)));
    }
    check(
        &with_detail(
            touching(run(command("mv x y", &[])), AccessKind::Delete, "~"),
            AccessDetail::Rename,
        ),
        Some(("floor.system-delete", Decision::Deny)),
    );
    check(
        &with_detail(
            all_of(run(command("chmod -R 7 x", &[])), AccessKind::Write, "/etc"),
            AccessDetail::Permissions,
        ),
        Some(("floor.system-delete", Decision::Deny)),
    );
}

#[test]
fn deleting_a_directory_asks_outside_scratch_and_not_for_what_is_made_again() {
    let rm = || run(command("rm -rf x", &[]));
    check(
        &all_of(rm(), AccessKind::Delete, "src/old"),
        Some(("floor.destructive", Decision::Ask)),
    );
    check(
        &all_of(rm(), AccessKind::Delete, "/srv/x"),
        Some(("floor.destructive", Decision::Ask)),
    );
    check(&all_of(rm(), AccessKind::Delete, "$S/x"), None);
    check(&all_of(rm(), AccessKind::Delete, "node_modules"), None);
    check(
        &all_of(rm(), AccessKind::Delete, "target"),
        Some(("floor.destructive", Decision::Ask)),
    );
    let mut ignored = all_of(rm(), AccessKind::Delete, "target");
    ignored
        .git_ignored
        .push(format!("{}/target", crate::build::WORKSPACE).into());
    check(&ignored, None);
    check(
        &touching(run(command("rm a", &[])), AccessKind::Delete, "a"),
        None,
    );
}

#[test]
fn an_unresolved_recursive_delete_asks_and_names_what_it_could_become() {
    let rm = || all_of(run(command("rm -rf x", &[])), AccessKind::Delete, "x");
    check(
        &unknown(rm(), None, false),
        Some(("floor.unresolved-delete", Decision::Ask)),
    );
    check(&unknown(rm(), None, true), None);
    let facts = unknown(rm(), Some("/"), false);
    let verdict = evaluate(&facts, &auto(&facts), &Policy::builtin(Preset::Standard));
    assert!(verdict.human_only);
    assert!(
        verdict.reasons[0].contains("it is `/`"),
        "{:?}",
        verdict.reasons
    );
}

#[test]
fn devices_and_kernel_settings_are_never_written() {
    for target in [
        "/dev/sda",
        "/dev/nvme0n1p2",
        "/dev/mem",
        "/proc/sys/kernel/x",
        "/proc/sysrq-trigger",
        "/sys/a/b",
    ] {
        check(
            &redirecting(run(command("echo x", &[Effect::Inert])), target),
            Some(("floor.raw-device", Decision::Deny)),
        );
    }
    for target in ["/dev/null", "/dev/tty", "a"] {
        check(
            &redirecting(run(command("echo x", &[Effect::Inert])), target),
            None,
        );
    }
}

#[test]
fn effects_of_commands_that_the_floor_asks_about_or_denies() {
    for (effect, rule, decision) in [
        (Effect::ForkBomb, "floor.fork-bomb", Decision::Deny),
        (Effect::RunsGuardian, "floor.runs-guardian", Decision::Deny),
        (Effect::Privilege, "floor.privilege", Decision::Ask),
        (Effect::Persistence, "floor.persistence", Decision::Ask),
        (Effect::RunsRemoteCode, "floor.remote-code", Decision::Ask),
        (Effect::Destructive, "floor.destructive", Decision::Ask),
        (Effect::HistoryRewrite, "floor.destructive", Decision::Ask),
        (Effect::Publishes, "floor.publishes", Decision::Ask),
    ] {
        check(&run(command("x", &[effect])), Some((rule, decision)));
    }
    check(
        &run(command("git push", &[Effect::Publishes, Effect::Network])),
        None,
    );
    check(
        &run(command(
            "npx x",
            &[Effect::RunsRemoteCode, Effect::Installs],
        )),
        None,
    );
    check(&run(command("kill 1", &[Effect::SystemChange])), None);
}

#[test]
fn secrets_and_network_in_one_call_ask_a_human_also_under_auto() {
    let read = || touching(run(command("cat .env", &[])), AccessKind::Read, ".env");
    check(&read(), None);
    check(
        &reaching(
            and(read(), command("curl x", &[Effect::Network])),
            "example.com",
        ),
        Some(("floor.secrets-with-network", Decision::Ask)),
    );
    let environment = run(command("env", &[Effect::ReadsEnvironment]));
    check(
        &and(environment, command("curl x", &[Effect::Network])),
        Some(("floor.secrets-with-network", Decision::Ask)),
    );
}

#[test]
fn reading_all_of_home_asks() {
    check(
        &all_of(run(command("tar cf - x", &[])), AccessKind::Read, "~"),
        Some(("floor.sensitive-beneath", Decision::Ask)),
    );
    check(
        &all_of(run(command("tar cf - x", &[])), AccessKind::Read, "src"),
        None,
    );
}

#[test]
fn what_is_denied_here_is_asked_about_elsewhere() {
    let mut facts = run(command("ssh host rm -rf /", &[Effect::RemoteHost]));
    let mut inner = command("rm -rf /", &[]);
    inner.place.elsewhere = true;
    inner.place.inside = Some(0);
    facts = all_of(and(facts, inner), AccessKind::Delete, "/");
    check(&facts, Some(("floor.system-delete", Decision::Ask)));
}

#[test]
fn a_finding_in_command_position_denies_and_one_in_opaque_text_asks() {
    let suspected = |command_position| {
        let mut facts = run(opaque("python -c x", &[Effect::RunsCode]));
        facts.reading = if command_position {
            Reading::Partial
        } else {
            Reading::Complete
        };
        facts.findings.push(guardian_facts::LooseFinding {
            span: guardian_facts::Span { start: 0, end: 1 },
            words: vec!["rm".into(), "-rf".into(), "/".into()],
            facts: Box::new(all_of(
                run(command("rm -rf /", &[])),
                AccessKind::Delete,
                "/",
            )),
            command_position,
        });
        facts
    };
    check(
        &suspected(true),
        Some(("floor.system-delete", Decision::Deny)),
    );
    check(
        &suspected(false),
        Some(("floor.system-delete", Decision::Ask)),
    );
}

#[test]
fn protected_files_ask_to_be_changed_and_not_to_be_read() {
    let hook = ".git/hooks/pre-commit";
    check(
        &redirecting(run(command("echo x", &[Effect::Inert])), hook),
        Some(("floor.protected-file", Decision::Ask)),
    );
    check(
        &touching(run(command("cat x", &[])), AccessKind::Read, hook),
        None,
    );
    check(
        &with_detail(
            touching(run(command("mv .git x", &[])), AccessKind::Delete, ".git"),
            AccessDetail::Rename,
        ),
        Some(("floor.protected-file", Decision::Ask)),
    );
    check(
        &touching(
            run(command("cp v/a .vscode", &[])),
            AccessKind::Write,
            ".vscode",
        ),
        Some(("floor.protected-file", Decision::Ask)),
    );
    check(
        &touching(
            run(command("mkdir .vscode", &[])),
            AccessKind::Write,
            ".vscode",
        ),
        None,
    );
}

#[test]
fn an_empty_bash_call_is_not_proven_by_having_no_facts() {
    let facts = bash();
    let verdict = evaluate(
        &facts,
        &crate::build::asking(&facts),
        &Policy::builtin(Preset::Standard),
    );
    assert_eq!(verdict.decision, Decision::Ask);
}

#[test]
fn the_registry_is_well_formed() {
    let mut ids: Vec<&str> = floor_rules().iter().map(|rule| rule.id).collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "ids are unique");
    for rule in floor_rules() {
        assert!(rule.id.starts_with("floor."), "{}", rule.id);
        assert!(
            rule.docs.contains("To lift it:"),
            "{} says how to lift it",
            rule.id
        );
        assert!(!rule.title.is_empty());
    }
}

#[test]
fn writing_a_file_with_several_names_is_asked_about_and_reading_it_is_not() {
    let linked = |tool: &str, place: &str| {
        let mut fact = crate::build::place(place);
        fact.links = 2;
        crate::build::file_tool(tool, fact)
    };
    for place in ["a.txt", "$S/a.txt"] {
        check(
            &linked("Write", place),
            Some(("floor.hard-link", Decision::Ask)),
        );
        check(&linked("Read", place), None);
    }
}
