//! The rule language: what rules match, what they cover, and what they do not.

use guardian_facts::{AccessKind, Effect, Facts, PathClasses, Reading};
use guardian_rules::{
    Cause, Decision, Layer, OperatingMode, PermissionMode, PolicyChange, Preset, SandboxState,
    Trust, evaluate,
};

use crate::build::{
    all_of, and, asking, auto, command, file_tool, opaque, place, policy, reaching, redirecting,
    roots, run, situation, text, touching, user,
};

#[track_caller]
fn check(rules: &str, facts: &Facts, expected: Decision) {
    let verdict = evaluate(
        facts,
        &asking(facts),
        &policy(&[user(rules)], Preset::Standard),
    );
    assert_eq!(verdict.decision, expected, "{:?}", verdict.trace);
}

/// Under `auto` everything runs that no rule stops.
#[track_caller]
fn stops(rules: &str, facts: &Facts, expected: Decision) {
    let verdict = evaluate(
        facts,
        &auto(facts),
        &policy(&[user(rules)], Preset::Standard),
    );
    assert_eq!(verdict.decision, expected, "{:?}", verdict.trace);
}

const CARGO: &str = r#"
[[rule]]
id = "cargo-dev"
effect = "allow"
tool = "Bash"
command = ["cargo", ["check", "test"]]
unless = { flags = ["--config"] }
"#;

#[test]
fn an_allow_rule_matches_the_beginning_of_a_command_line() {
    check(CARGO, &run(opaque("cargo test -p x", &[])), Decision::Allow);
    check(
        CARGO,
        &run(opaque("/usr/bin/cargo check", &[])),
        Decision::Allow,
    );
    for refused in [
        "cargo",
        "cargo publish",
        "cargo +nightly test",
        "./cargo test",
        "/tmp/cargo test",
        "$X test",
        "cargo test --config evil",
        "cargo test --config=evil",
        "cargo test --conf evil",
        "cargo test $X",
    ] {
        check(CARGO, &run(opaque(refused, &[])), Decision::Ask);
    }
}

#[test]
fn an_allow_rule_covers_neither_redirects_nor_outside_paths_nor_other_commands() {
    let cargo = || run(opaque("cargo test", &[]));
    check(CARGO, &redirecting(cargo(), "out.txt"), Decision::Ask);
    check(CARGO, &redirecting(cargo(), "$S/out.txt"), Decision::Allow);
    check(
        CARGO,
        &touching(cargo(), AccessKind::Read, "src/a"),
        Decision::Allow,
    );
    check(
        CARGO,
        &touching(cargo(), AccessKind::Read, "/srv/a"),
        Decision::Ask,
    );
    check(
        CARGO,
        &touching(cargo(), AccessKind::Write, ".git/hooks/x"),
        Decision::Ask,
    );
    check(CARGO, &and(cargo(), command("rm a", &[])), Decision::Ask);
    let mut partial = cargo();
    partial.reading = Reading::Partial;
    check(CARGO, &partial, Decision::Ask);
    let mut assigned = cargo();
    assigned.commands[0]
        .assignments
        .push(guardian_facts::Assignment {
            name: "RUSTC_WRAPPER".into(),
            value: guardian_facts::Word::literal("./x", guardian_facts::Span { start: 0, end: 0 }),
            changes_execution: true,
            span: guardian_facts::Span { start: 0, end: 0 },
        });
    check(CARGO, &assigned, Decision::Ask);
}

#[test]
fn different_rules_may_cover_different_facts() {
    let rules = format!(
        "{CARGO}\n[[rule]]\nid = \"logs\"\neffect = \"allow\"\naccess = \"write\"\npaths = [\"logs/**\"]\n"
    );
    check(
        &rules,
        &redirecting(run(opaque("cargo test", &[])), "logs/a"),
        Decision::Allow,
    );
    check(
        &rules,
        &redirecting(run(opaque("cargo test", &[])), "a"),
        Decision::Ask,
    );
}

const DENY_PUSH: &str =
    "[[rule]]\nid = \"no-push\"\neffect = \"deny\"\ncommand = [\"git\", \"push\"]\n";

#[test]
fn a_deny_rule_matches_by_name_whatever_path_or_options_were_written() {
    for denied in [
        "git push",
        "/usr/bin/git push origin",
        "/tmp/git push",
        "./git push",
        "git -C x push",
        "git --no-pager push",
        "git -c a=b -C x push -f",
    ] {
        stops(DENY_PUSH, &run(command(denied, &[])), Decision::Deny);
    }
    for allowed in ["git status", "git log push", "gitk push", "echo git push"] {
        stops(DENY_PUSH, &run(command(allowed, &[])), Decision::Allow);
    }
    // what might be a push is asked about
    for possible in ["git $X", "$X push"] {
        stops(DENY_PUSH, &run(command(possible, &[])), Decision::Ask);
    }
    // inside a wrapper, in a list
    stops(
        DENY_PUSH,
        &and(
            run(command("true", &[Effect::Inert])),
            command("git push", &[]),
        ),
        Decision::Deny,
    );
}

const DENY_ENV: &str =
    "[[rule]]\nid = \"no-env\"\neffect = \"deny\"\ntool = \"Read\"\npaths = [\"**/.env*\"]\n";

#[test]
fn a_path_rule_for_a_file_tool_holds_of_commands_too() {
    stops(
        DENY_ENV,
        &file_tool("Read", place(".env.local")),
        Decision::Deny,
    );
    stops(
        DENY_ENV,
        &file_tool("Grep", place(".ENV.LOCAL")),
        Decision::Deny,
    );
    stops(
        DENY_ENV,
        &touching(run(command("base64 x", &[])), AccessKind::Read, ".env.prod"),
        Decision::Deny,
    );
    stops(
        DENY_ENV,
        &redirecting(run(command("echo x", &[])), ".env.prod"),
        Decision::Allow,
    );
    let write = DENY_ENV.replace("\"Read\"", "\"Write\"");
    stops(
        &write,
        &redirecting(run(command("echo x", &[])), ".env.prod"),
        Decision::Deny,
    );
    stops(
        &write,
        &file_tool("Edit", place(".env.prod")),
        Decision::Deny,
    );
}

#[test]
fn a_deny_rule_reaches_what_a_recursive_command_could_meet() {
    stops(
        DENY_ENV,
        &all_of(run(command("cp -r x", &[])), AccessKind::Read, "sub"),
        Decision::Ask,
    );
    let mut walk = all_of(run(command("grep -r x", &[])), AccessKind::Read, ".");
    walk.commands[0].walks = true;
    stops(DENY_ENV, &walk, Decision::Deny);
    let anchored = DENY_ENV.replace("**/.env*", "conf/**");
    stops(
        &anchored,
        &all_of(run(command("cp -r x", &[])), AccessKind::Read, "src"),
        Decision::Allow,
    );
}

#[test]
fn hosts_effects_and_when() {
    let curl = || {
        reaching(
            run(command("curl x", &[Effect::Network])),
            "api.example.com",
        )
    };
    let host = "[[rule]]\nid = \"h\"\neffect = \"deny\"\nhost = \"*.example.com\"\n";
    stops(host, &curl(), Decision::Deny);
    stops(
        host,
        &reaching(run(command("curl x", &[])), "example.org"),
        Decision::Allow,
    );
    let does = "[[rule]]\nid = \"d\"\neffect = \"ask\"\ndoes = [\"installs\", \"publishes\"]\n";
    stops(
        does,
        &run(command("npm i", &[Effect::Installs])),
        Decision::Ask,
    );
    stops(
        does,
        &run(command("npm ls", &[Effect::SystemQuery])),
        Decision::Allow,
    );
    let when =
        "[[rule]]\nid = \"w\"\neffect = \"deny\"\nwhen = { reads = \"outside\", network = true }\n";
    stops(
        when,
        &touching(curl(), AccessKind::Read, "/srv/a"),
        Decision::Deny,
    );
    stops(
        when,
        &touching(curl(), AccessKind::Read, "a"),
        Decision::Allow,
    );
    let allow = "[[rule]]\nid = \"a\"\neffect = \"allow\"\ncommand = [\"curl\"]\n[[rule]]\nid = \"b\"\neffect = \"allow\"\nhost = \"api.example.com\"\n";
    check(allow, &curl(), Decision::Allow);
}

#[test]
fn mode_delegate_and_tool_conditions() {
    let rules = "[[rule]]\nid = \"d\"\neffect = \"deny\"\ntool = \"Bash\"\ndelegate = \"*\"\nmode = \"plan\"\n";
    let facts = run(command("ls", &[]));
    let policy = policy(&[user(rules)], Preset::Standard);
    let mut situation = situation("Bash", OperatingMode::Plan, PermissionMode::Auto);
    assert_eq!(
        evaluate(&facts, &situation, &policy).decision,
        Decision::Allow
    );
    situation.delegate = Some("scout".into());
    assert_eq!(
        evaluate(&facts, &situation, &policy).decision,
        Decision::Deny
    );
    situation.mode = OperatingMode::Agent;
    assert_eq!(
        evaluate(&facts, &situation, &policy).decision,
        Decision::Allow
    );
}

#[test]
fn a_tool_rule_reaches_as_far_as_the_roots() {
    let rules = "[[rule]]\nid = \"w\"\neffect = \"allow\"\ntool = \"Write\"\n";
    check(rules, &file_tool("Write", place("a")), Decision::Allow);
    check(rules, &file_tool("Write", place("/srv/a")), Decision::Ask);
    check(rules, &file_tool("Write", place(".env")), Decision::Ask);
    check(rules, &file_tool("Edit", place("a")), Decision::Ask);
    let outside =
        "[[rule]]\nid = \"w\"\neffect = \"allow\"\ntool = \"Write\"\npaths = [\"/srv/**\"]\n";
    check(
        outside,
        &file_tool("Write", place("/srv/a")),
        Decision::Allow,
    );
}

#[test]
fn a_sensitive_path_that_the_user_names_becomes_a_question_and_guardians_own_stay_denied() {
    let rules = "[[rule]]\nid = \"k\"\neffect = \"allow\"\npaths = [\"~/.ssh/**\", \"~/.config/guardian/**\"]\n";
    check(
        rules,
        &file_tool("Read", place("~/.ssh/id_rsa")),
        Decision::Ask,
    );
    check(
        "",
        &file_tool("Read", place("~/.ssh/id_rsa")),
        Decision::Deny,
    );
    check(
        rules,
        &file_tool("Read", place("~/.config/guardian/policy.toml")),
        Decision::Deny,
    );
    let facts = file_tool("Read", place("~/.ssh/id_rsa"));
    let session = policy(&[text(Layer::Session, rules)], Preset::Standard);
    assert_eq!(
        evaluate(&facts, &asking(&facts), &session).decision,
        Decision::Deny,
        "only managed and user"
    );
}

#[test]
fn a_name_in_a_deny_rule_is_the_file_or_the_directory_with_all_in_it() {
    let rule = |effect: &str| {
        format!("[[rule]]\nid = \"s\"\neffect = \"{effect}\"\npaths = [\"sealed\"]\n")
    };
    for path in ["sealed", "sealed/a", "sealed/b/c"] {
        stops(
            &rule("deny"),
            &file_tool("Write", place(path)),
            Decision::Deny,
        );
    }
    stops(
        &rule("deny"),
        &file_tool("Write", place("sealed.txt")),
        Decision::Allow,
    );
    check(
        &rule("allow"),
        &file_tool("Write", place("sealed")),
        Decision::Allow,
    );
    check(
        &rule("allow"),
        &file_tool("Write", place("sealed/a")),
        Decision::Ask,
    );
}

#[test]
fn only_a_rule_that_reaches_into_the_sensitive_place_names_it() {
    for (glob, path, expected) in [
        ("/etc/shadow", "/etc/shadow", Decision::Ask),
        ("/etc/shadow*", "/etc/shadow", Decision::Ask),
        ("~/.ssh/*", "~/.ssh/id_rsa", Decision::Ask),
        ("~/.bash_history", "~/.bash_history", Decision::Ask),
        ("/etc/*", "/etc/shadow", Decision::Deny),
        ("/etc/{shadow,hosts}", "/etc/shadow", Decision::Ask),
        ("/etc/**", "/etc/shadow", Decision::Deny),
        ("~/*", "~/.bash_history", Decision::Deny),
        ("~/.*", "~/.bash_history", Decision::Deny),
        ("~/**", "~/.ssh/id_rsa", Decision::Deny),
        ("**", "~/.ssh/id_rsa", Decision::Deny),
        ("**/id_*", "~/.ssh/id_rsa", Decision::Deny),
        ("**/.ssh/**", "~/.ssh/id_rsa", Decision::Ask),
    ] {
        let rules = format!("[[rule]]\nid = \"k\"\neffect = \"allow\"\npaths = [\"{glob}\"]\n");
        let mut path = place(path);
        path.sensitivity = PathClasses::from_default().classify(&path.path, &roots().home);
        assert!(path.sensitivity.sensitive);
        check(&rules, &file_tool("Read", path), expected);
    }
}

#[test]
fn the_exception_of_a_deny_rule_is_certain() {
    let rules = "[[rule]]\nid = \"p\"\neffect = \"deny\"\ncommand = [\"git\", \"push\"]\nunless = { flags = [\"--dry-run\"] }\n";
    for (line, expected) in [
        ("git push --dry-run", Decision::Allow),
        ("git push -n origin", Decision::Allow),
        ("git push --no-dry-run --dry-run", Decision::Allow),
        ("git push --dry-run --no-dry-run", Decision::Deny),
        ("git push -n --no-dry", Decision::Deny),
        ("git push --dry-run=false", Decision::Deny),
        ("git push -o --dry-run", Decision::Deny),
        ("git push -o -n", Decision::Deny),
        ("git push --repo --dry-run", Decision::Deny),
        ("git push -- --dry-run", Decision::Deny),
        ("git push --dry-run $X", Decision::Ask),
        ("git push --nosuch --dry-run", Decision::Ask),
        ("git push $X", Decision::Deny),
    ] {
        stops(rules, &run(command(line, &[])), expected);
    }
}

#[test]
fn a_flag_that_an_allow_rule_wants_is_in_force() {
    let rules = "[[rule]]\nid = \"p\"\neffect = \"allow\"\ncommand = [\"git\", \"push\"]\nflags = [\"--dry-run\"]\n";
    for (line, expected) in [
        ("git push --dry-run", Decision::Allow),
        ("git push -o --dry-run", Decision::Ask),
        ("git push --dry-run --no-dry-run", Decision::Ask),
        ("git push --dry-run $X", Decision::Ask),
    ] {
        check(rules, &run(command(line, &[])), expected);
    }
}

#[test]
fn a_workspace_file_loosens_only_when_trusted() {
    let mut file = text(Layer::Workspace, CARGO);
    let facts = run(opaque("cargo test", &[]));
    let untrusted = policy(std::slice::from_ref(&file), Preset::Standard);
    assert_eq!(
        evaluate(&facts, &asking(&facts), &untrusted).decision,
        Decision::Ask
    );
    assert_eq!(untrusted.ignored_allow_rules(), ["cargo-dev"]);
    file.trust = Trust::Trusted;
    let trusted = policy(&[file], Preset::Standard);
    assert_eq!(
        evaluate(&facts, &asking(&facts), &trusted).decision,
        Decision::Allow
    );
    let denies = policy(&[text(Layer::Workspace, DENY_PUSH)], Preset::Standard);
    let push = run(command("git push", &[]));
    assert_eq!(
        evaluate(&push, &auto(&push), &denies).cause,
        Cause::Rule("no-push".into())
    );
}

#[test]
fn overrides_lift_asks_of_the_floor() {
    let facts = run(command("git reset --hard", &[Effect::Destructive]));
    let lifted = "overrides = [\"floor.destructive\"]\n";
    stops(lifted, &facts, Decision::Allow);
    stops("", &facts, Decision::Ask);
    check(lifted, &facts, Decision::Ask);
}

#[test]
fn a_layer_without_any_good_version_makes_everything_asked() {
    let broken = policy(&[], Preset::Standard).with_unreadable_layer(Layer::User);
    for facts in [
        file_tool("Read", place("a")),
        run(command("ls", &[])),
        file_tool("Write", place("$S/a")),
    ] {
        let verdict = evaluate(&facts, &auto(&facts), &broken);
        assert_eq!(verdict.decision, Decision::Ask, "{}", facts.tool);
    }
}

#[test]
fn a_change_of_policy_is_told_apart() {
    let with = |rules: &str| policy(&[user(rules)], Preset::Standard);
    let plain = with("");
    assert_eq!(plain.change_to(&with("")), PolicyChange::Same);
    assert_eq!(plain.change_to(&with(DENY_PUSH)), PolicyChange::Tightens);
    assert_eq!(with(DENY_PUSH).change_to(&plain), PolicyChange::Loosens);
    assert_eq!(plain.change_to(&with(CARGO)), PolicyChange::Loosens);
    assert_eq!(with(CARGO).change_to(&plain), PolicyChange::Tightens);
    assert_eq!(
        plain.change_to(&with("preset = \"balanced\"\n")),
        PolicyChange::Loosens
    );
    assert_eq!(
        plain.change_to(&with("preset = \"strict\"\n")),
        PolicyChange::Tightens
    );
    assert_eq!(
        plain.change_to(&with("overrides = [\"floor.privilege\"]\n")),
        PolicyChange::Loosens
    );
    assert_ne!(plain.version(), with(CARGO).version());
    let reworded = CARGO.replace("tool = \"Bash\"", "tool = \"Bash\"\nreason = \"everyday\"");
    assert_eq!(
        with(CARGO).version(),
        with(&reworded).version(),
        "reasons do not decide"
    );
}

#[test]
fn walks_can_ask_which_files_are_denied() {
    let policy = policy(&[user(DENY_ENV)], Preset::Standard);
    assert!(policy.denies_read(std::path::Path::new("/home/dev/proj/sub/.env.local")));
    assert!(!policy.denies_read(std::path::Path::new("/home/dev/proj/sub/env")));
}

#[track_caller]
fn balanced(facts: &Facts, expected: Decision) {
    let verdict = evaluate(facts, &asking(facts), &policy(&[], Preset::Balanced));
    assert_eq!(verdict.decision, expected, "{:?}", verdict.trace);
}

#[test]
fn balanced_allows_what_is_proven_and_nothing_else() {
    balanced(&crate::build::bash(), Decision::Allow);
    balanced(&run(command("echo hi", &[Effect::Inert])), Decision::Allow);
    balanced(
        &run(command("uname -a", &[Effect::SystemQuery])),
        Decision::Allow,
    );
    balanced(
        &touching(run(command("cat a", &[])), AccessKind::Read, "a"),
        Decision::Allow,
    );
    balanced(
        &touching(run(command("cat a", &[])), AccessKind::Read, "/srv/a"),
        Decision::Ask,
    );
    balanced(
        &touching(
            run(command("cat a", &[])),
            AccessKind::Read,
            "/usr/include/stdio.h",
        ),
        Decision::Allow,
    );
    balanced(
        &touching(run(command("cat .env", &[])), AccessKind::Read, ".env"),
        Decision::Ask,
    );
    balanced(
        &redirecting(run(command("echo hi", &[Effect::Inert])), "a"),
        Decision::Ask,
    );
    balanced(
        &redirecting(run(command("echo hi", &[Effect::Inert])), "$S/a"),
        Decision::Allow,
    );
    balanced(
        &redirecting(run(command("echo hi", &[Effect::Inert])), "/dev/null"),
        Decision::Allow,
    );
    balanced(
        &touching(run(command("rm x", &[])), AccessKind::Delete, "$S/a"),
        Decision::Allow,
    );
    balanced(
        &all_of(
            run(command("rm -r x", &[])),
            AccessKind::Delete,
            crate::build::SCRATCH,
        ),
        Decision::Ask,
    );
    balanced(
        &run(opaque("python x.py", &[Effect::RunsCode])),
        Decision::Ask,
    );
    balanced(
        &run(command("env", &[Effect::ReadsEnvironment])),
        Decision::Ask,
    );
    balanced(&run(command("./ls", &[])), Decision::Ask);
    balanced(&run(command("/usr/bin/ls", &[])), Decision::Allow);
    balanced(&run(command("/tmp/ls", &[])), Decision::Ask);
    balanced(
        &reaching(run(command("curl x", &[Effect::Network])), "example.com"),
        Decision::Ask,
    );
    for (git, expected) in [
        ("git add -A", Decision::Allow),
        ("git commit -m x", Decision::Allow),
        ("git commit --amend", Decision::Ask),
        ("git commit -n -m x", Decision::Ask),
        ("git commit -nm x", Decision::Ask),
        ("git commit -mn", Decision::Allow),
        ("git add -vf x", Decision::Ask),
        ("git commit --no-verify -m x", Decision::Ask),
        ("git add -f x", Decision::Ask),
    ] {
        balanced(&run(command(git, &[Effect::GitRecord])), expected);
    }
    let mut timed = run(command("timeout 5 ls", &[]));
    timed.commands[0].wrapper = true;
    balanced(&and(timed, command("ls", &[])), Decision::Allow);
}

#[test]
fn a_pattern_that_climbs_is_nowhere() {
    let mut facts = touching(run(command("cat x", &[])), AccessKind::Read, "src");
    let climbing = |pattern: &str| guardian_facts::Target::Pattern {
        written: pattern.to_owned(),
        pattern: pattern.to_owned(),
        base: place("src"),
        may_match: guardian_facts::Sensitivity::default(),
    };
    facts.accesses[0].target = climbing("/home/dev/proj/src/*.rs");
    balanced(&facts, Decision::Allow);
    facts.accesses[0].target = climbing("/home/dev/proj/src/*/../../../other");
    balanced(&facts, Decision::Ask);
}

#[test]
fn a_walk_that_could_meet_secrets_is_asked_about_and_a_clean_one_is_not() {
    let mut facts = all_of(run(command("grep -r x .", &[])), AccessKind::Read, ".");
    balanced(&facts, Decision::Allow);
    facts.commands[0].walks = true;
    balanced(&facts, Decision::Ask);
}

#[test]
fn an_accepted_command_runs_in_the_sandbox_until_its_definition_changes() {
    let build = |hash: &str| {
        let mut facts = run(opaque("npm test", &[Effect::RunsProjectCode]));
        facts.code_files.push(guardian_facts::CodeFile {
            path: place("package.json"),
            hash: Some(hash.to_owned()),
            command: 0,
        });
        facts
    };
    let policy = policy(&[], Preset::Balanced);
    let facts = build("aa");
    let mut situation = asking(&facts);
    assert_eq!(
        evaluate(&facts, &situation, &policy).decision,
        Decision::Ask
    );
    situation
        .accepted_commands
        .extend(guardian_rules::accepted_key(&facts, 0));
    let verdict = evaluate(&facts, &situation, &policy);
    assert_eq!(
        (
            verdict.decision,
            verdict.relies_on_sandbox,
            verdict.proven_only
        ),
        (Decision::Allow, true, true)
    );
    assert_eq!(
        evaluate(&build("bb"), &situation, &policy).decision,
        Decision::Ask
    );
    situation.sandbox = SandboxState::Unavailable;
    assert_eq!(
        evaluate(&facts, &situation, &policy).decision,
        Decision::Ask
    );
}

#[test]
fn strict_asks_over_modes_and_grants_and_denies_the_network() {
    let strict = policy(&[], Preset::Strict);
    let write = file_tool("Write", place("a"));
    assert_eq!(
        evaluate(&write, &auto(&write), &strict).decision,
        Decision::Ask
    );
    let scratch = file_tool("Write", place("$S/a"));
    assert_eq!(
        evaluate(&scratch, &auto(&scratch), &strict).decision,
        Decision::Allow
    );
    let curl = reaching(run(command("curl x", &[Effect::Network])), "example.com");
    assert_eq!(
        evaluate(&curl, &auto(&curl), &strict).decision,
        Decision::Deny
    );
}

#[test]
fn a_deny_rule_names_its_tool_in_upper_or_lower_case() {
    let make = || run(opaque("make", &[]));
    for tool in ["Bash", "bash", "BASH", "ba*"] {
        let rule = format!("[[rule]]\nid = \"a\"\neffect = \"deny\"\ntool = \"{tool}\"\n");
        stops(&rule, &make(), Decision::Deny);
    }
    let rule = "[[rule]]\nid = \"a\"\neffect = \"ask\"\ntool = \"MCP_X_*\"\n";
    stops(rule, &make(), Decision::Allow);
    let rule = "[[rule]]\nid = \"a\"\neffect = \"allow\"\ntool = \"ba*\"\n";
    check(rule, &make(), Decision::Ask);
}

#[test]
fn a_flag_is_met_in_both_of_its_spellings() {
    let rule = |effect: &str, flag: &str| {
        format!(
            "[[rule]]\nid = \"a\"\neffect = \"{effect}\"\ncommand = [\"git\", \"push\"]\nflags = [\"{flag}\"]\n"
        )
    };
    for flag in ["--force", "-f"] {
        for command in [
            "git push -f",
            "git push --force",
            "git push -uf origin",
            "git -C sub push -f",
        ] {
            stops(
                &rule("deny", flag),
                &run(opaque(command, &[])),
                Decision::Deny,
            );
        }
        for command in ["git push --force-with-lease", "git push -u origin"] {
            stops(
                &rule("deny", flag),
                &run(opaque(command, &[])),
                Decision::Allow,
            );
        }
    }
    for (flag, written) in [("--dry-run", "-n"), ("-n", "--dry-run")] {
        let command = format!("git push {written}");
        check(
            &rule("allow", flag),
            &run(opaque(&command, &[])),
            Decision::Allow,
        );
        let but = format!(
            "[[rule]]\nid = \"a\"\neffect = \"allow\"\ncommand = [\"git\", \"push\"]\nunless = {{ flags = [\"{flag}\"] }}\n"
        );
        check(&but, &run(opaque(&command, &[])), Decision::Ask);
    }
}
