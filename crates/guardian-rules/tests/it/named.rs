//! Paths that the words of a program name of which nothing is known: an allow rule does not reach
//! them outside the workspace, a deny rule asks about them.

use guardian_rules::{Decision, Grant, GrantScope, Policy, Preset, evaluate};

use crate::build::{asking, auto, policy, user};
use crate::world::facts_of_linked;

#[derive(Clone, Copy)]
enum Mode {
    Ask,
    Auto,
}

#[track_caller]
fn all(policy: &Policy, mode: Mode, expected: Decision, commands: &[&str]) {
    let wrong: Vec<String> = commands
        .iter()
        .filter_map(|command| {
            let facts = facts_of_linked(command);
            let mut situation = match mode {
                Mode::Ask => asking(&facts),
                Mode::Auto => auto(&facts),
            };
            situation.roots.guardian_data = "/home/dev/.local/share/guardian".into();
            let verdict = evaluate(&facts, &situation, policy);
            (verdict.decision != expected).then(|| {
                format!(
                    "{command}: {:?} {:?} {:#?}",
                    verdict.decision, verdict.reasons, facts.named_paths
                )
            })
        })
        .collect();
    assert!(wrong.is_empty(), "not {expected:?}: {wrong:#?}");
}

const TOOLS: &str = r#"
[[rule]]
id = "tools"
effect = "allow"
command = [["make", "npm", "cargo", "npx", "pytest", "xyzzy", "git", "echo", "ssh"]]

[[rule]]
id = "task"
effect = "allow"
command = ["./task", "build"]
tail = "operands"
"#;

#[test]
fn an_allow_rule_covers_no_word_that_names_a_path_outside() {
    let policy = policy(&[user(TOOLS)], Preset::Standard);
    all(
        &policy,
        Mode::Ask,
        Decision::Ask,
        &[
            "make -f /tmp/Makefile",
            "make -f/tmp/Makefile",
            "make --file=/tmp/Makefile",
            "make -f ../x.mk",
            "make -f away/Makefile",
            "make PREFIX=/tmp/x",
            "make -f ~/x.mk",
            "make '--file=~/x.mk'",
            "cargo test --manifest-path /tmp/Cargo.toml",
            "cargo build --target-dir /tmp/x",
            "cargo build --target-dir=/tmp/x",
            "npm run build --prefix /tmp/x",
            "npx tool file:///tmp/x",
            "xyzzy a,/tmp/x",
            "xyzzy host:/tmp/x",
            "xyzzy @/tmp/x",
            "xyzzy 'read /tmp/x'",
            "xyzzy /",
            "xyzzy ..",
            "xyzzy away",
            "xyzzy .env",
            "xyzzy $X",
            "xyzzy -C$X",
            "xyzzy --dir=$(cat f)",
            "./task build /etc/passwd",
            "./task build ../x",
            "./task build @/etc/passwd",
        ],
    );
}

#[test]
fn an_allow_rule_covers_everyday_words() {
    let policy = policy(&[user(TOOLS)], Preset::Standard);
    all(
        &policy,
        Mode::Ask,
        Decision::Allow,
        &[
            "make -C src -j8 all",
            "make CFLAGS='-O2 -Wall' test",
            "cargo test -p x module::test -- --nocapture",
            "cargo test --manifest-path src/Cargo.toml",
            "cargo build --target-dir target/x > /dev/null",
            "npm run build -- --base=/ --out build",
            "npm run dev -- --port 3000 --host 0.0.0.0:80",
            "npm test -- -t 'adds 1 / 2'",
            "npx tool --registry https://x.org/a --out=docs/x",
            "pytest tests/a.py::test_b -k 'a or b'",
            "pytest -o log_file=/dev/null",
            "xyzzy src/*.rs",
            "xyzzy a..b",
            "xyzzy -n $((1 + 2)) $#",
            "for x in a b; do xyzzy $x; done",
            "./task build docs",
        ],
    );
}

#[test]
fn a_grant_inside_the_roots_covers_no_word_that_names_a_path_outside() {
    let decide = |command: &str, scope| {
        let facts = facts_of_linked(command);
        let mut situation = asking(&facts);
        situation.grants.push(Grant {
            tool_name: "Bash".into(),
            scope,
        });
        evaluate(&facts, &situation, &Policy::builtin(Preset::Standard)).decision
    };
    for (command, scope, expected) in [
        ("xyzzy src", GrantScope::Roots, Decision::Allow),
        ("xyzzy --out=/tmp/x", GrantScope::Roots, Decision::Ask),
        ("xyzzy --out=/tmp/x", GrantScope::Outside, Decision::Allow),
    ] {
        assert_eq!(decide(command, scope), expected, "{command} {scope:?}");
    }
}

const SEALED: &str =
    "[[rule]]\nid = \"s\"\neffect = \"deny\"\npaths = [\"sealed/**\", \"test/**\"]\n";

#[test]
fn a_deny_rule_asks_about_each_word_that_may_name_its_files() {
    let policy = policy(&[user(SEALED)], Preset::Standard);
    all(
        &policy,
        Mode::Auto,
        Decision::Ask,
        &[
            "xyzzy sealed",
            "xyzzy to-sealed",
            "xyzzy to-sealed-file",
            "xyzzy --dir sealed",
            "xyzzy --dir=sealed",
            "xyzzy -C sealed a.txt",
            "xyzzy -Csealed",
            "xyzzy @sealed/a.txt",
            "xyzzy x:sealed/a.txt",
            "xyzzy -fsealed/a.txt",
            "xyzzy sealed/new.txt",
            "cargo run -- sealed",
            "npm run format -- to-sealed",
            "python3 -c \"print(open('sealed/a.txt').read())\"",
            "node -p \"readFileSync('sealed/a.txt')\"",
        ],
    );
    all(
        &policy,
        Mode::Auto,
        Decision::Allow,
        &[
            "xyzzy src",
            "xyzzy unsealed",
            "xyzzy https://x.org/sealed/a.txt",
            "npm test",
            "cargo run -- docs",
            "python3 -c \"print('sealed off')\"",
        ],
    );
}
