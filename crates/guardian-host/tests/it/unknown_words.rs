//! What a shell text makes of variables, the environment and words that are put together: nothing
//! of it hides a command from a denial, or lets a harmless name stand for something else.

use guardian_host::check::{Checker, CheckerOptions};
use guardian_host::rules::{OperatingMode, PermissionMode, Preset, SandboxState};
use guardian_testkit::ProjectFixture;
use serde_json::json;

use crate::support::config;

const NO_PUSH: &str = r#"version = 1
[[rule]]
id = "no-push"
effect = "deny"
tool = "Bash"
command = ["git", "push"]
"#;

pub(crate) struct World {
    pub(crate) fixture: ProjectFixture,
    checker: Checker,
}

impl World {
    pub(crate) fn new(mode: PermissionMode, policy: &str) -> Self {
        let fixture = ProjectFixture::new().unwrap();
        let file = fixture.root().join("mine.toml");
        std::fs::write(&file, policy).unwrap();
        let checker = Checker::new(
            config(&fixture),
            CheckerOptions {
                workspace: fixture.workspace(),
                home: Some(fixture.home()),
                scratch: Some(fixture.scratch()),
                policy: Some(file),
                preset: Some(Preset::Balanced),
                mode: OperatingMode::Agent,
                permission_mode: mode,
                sandbox: Some(SandboxState::Unavailable),
                headless: false,
                audit: false,
            },
        )
        .unwrap();
        Self { fixture, checker }
    }

    pub(crate) fn decision(&self, text: &str) -> String {
        self.checker
            .check("Bash", &json!({ "command": text }))
            .decision
    }

    #[track_caller]
    pub(crate) fn check(&self, expected: &str, texts: &[&str]) {
        for text in texts {
            assert_eq!(self.decision(text), expected, "{text}");
        }
    }
}

/// Ways to change a variable before a program, or to take it away.
const ASSIGNS: &[&str] = &[
    "f() { local NAME; PROGRAM; }; f",
    "f() { declare NAME; PROGRAM; }; f",
    "f() { local -x NAME; PROGRAM; }; f",
    "for NAME in ./e; do PROGRAM; done",
    "select NAME in ./e; do PROGRAM; done <<< 1",
    "read NAME <<< ./e; PROGRAM",
    "IFS= read -r NAME <<< ./e; PROGRAM",
    "X=1 read NAME <<< ./e; PROGRAM",
    "mapfile NAME <<< ./e; PROGRAM",
    "unset NAME; PROGRAM",
    "unset NAME; : ${NAME:=./e}; PROGRAM",
    "printf -v NAME ./e; PROGRAM",
    "let NAME=1; PROGRAM",
    "(( NAME = 1 )); PROGRAM",
    ": $(( NAME = 1 )); PROGRAM",
    "getopts a NAME -a; PROGRAM",
    "exec {NAME}>/dev/null; PROGRAM",
    "coproc NAME { :; }; PROGRAM",
    "wait -p NAME; PROGRAM",
    "export -n NAME; PROGRAM",
    "declare +x NAME; PROGRAM",
    "declare -a NAME; PROGRAM",
    "env -u NAME PROGRAM",
    "env -i PROGRAM",
    "(exec -c PROGRAM)",
];

#[test]
fn no_rule_for_a_command_covers_it_once_a_variable_of_programs_was_changed() {
    let policy = r#"version = 1
[[rule]]
id = "shell"
effect = "allow"
command = [["read", "mapfile", "printf", "env", "exec", "unset", "export", "let", "getopts", "coproc", "wait", "declare", ":"]]
[[rule]]
id = "mine"
effect = "allow"
command = [["cargo", "git", "make", "mytool"]]
"#;
    let world = World::new(PermissionMode::Ask, policy);
    let programs = [
        ("PATH", "cargo test"),
        ("HOME", "git status"),
        ("RUSTC_WRAPPER", "cargo check"),
        ("GIT_DIR", "git push"),
        ("MAKEFILES", "make"),
        ("LD_PRELOAD", "mytool"),
    ];
    for (name, program) in programs {
        assert_eq!(world.decision(program), "allow", "{program}");
        for assigns in ASSIGNS {
            let text = assigns.replace("NAME", name).replace("PROGRAM", program);
            assert_ne!(world.decision(&text), "allow", "{text}");
        }
    }
    world.check(
        "allow",
        &[
            "for name in a b; do cargo test; done",
            "for PACKAGE in a b; do cargo test -p $PACKAGE; done",
            "read -r line <<< x; make",
            "export NODE_ENV=test; mytool",
            "cd src && cargo test",
        ],
    );
}

#[test]
fn whatever_changes_a_variable_of_programs_is_asked_about() {
    let world = World::new(PermissionMode::Ask, "version = 1\n");
    world.check("allow", &["ls", "git status", "git diff"]);
    for assigns in ASSIGNS {
        for (name, program) in [
            ("PATH", "ls"),
            ("HOME", "git diff"),
            ("GIT_EXTERNAL_DIFF", "git diff"),
            ("XDG_CONFIG_HOME", "git diff"),
        ] {
            let text = assigns.replace("NAME", name).replace("PROGRAM", program);
            assert_eq!(world.decision(&text), "ask", "{text}");
        }
    }
    world.check(
        "allow",
        &[
            "while IFS= read -r line; do echo \"$line\"; done <<< x; git diff",
            "for name in a b; do echo $name; done; git diff",
            "env -u FOO ls",
            "env FOO=1 ls",
            "PAGER=cat; bash -c 'git log'",
            "x=$(echo foo); echo \"$x\"; ls",
        ],
    );
}

#[test]
fn a_child_shell_gets_no_scratch_directory_that_was_taken_from_its_environment() {
    for mode in [PermissionMode::Ask, PermissionMode::Auto] {
        let world = World::new(mode, "version = 1\n");
        let deletes = "bash -c 'rm -rf \"$PI_SCRATCH_DIR\"/*'";
        for text in [
            "CHILD",
            "timeout 5 CHILD",
            "env FOO=1 CHILD",
            "env -C . -u FOO CHILD",
            "readonly PI_SCRATCH_DIR; CHILD",
        ] {
            let text = text.replace("CHILD", deletes);
            assert_eq!(world.decision(&text), "allow", "{text}");
        }
        for text in [
            "env -i CHILD",
            "env - CHILD",
            "env -vi CHILD",
            "env --ignore-environment CHILD",
            "timeout 5 env --ignore-env CHILD",
            "env -u PI_SCRATCH_DIR CHILD",
            "env -uPI_SCRATCH_DIR CHILD",
            "env --unset=PI_SCRATCH_DIR CHILD",
            "env --uns PI_SCRATCH_DIR CHILD",
            "env PI_SCRATCH_DIR= CHILD",
            "(exec -c CHILD)",
            "(exec -cl CHILD)",
            "export -n PI_SCRATCH_DIR; CHILD",
            "declare +x PI_SCRATCH_DIR; CHILD",
            "typeset +x PI_SCRATCH_DIR; CHILD",
            "declare -a PI_SCRATCH_DIR; CHILD",
            "unset PI_SCRATCH_DIR; CHILD",
            "f() { local PI_SCRATCH_DIR; CHILD; }; f",
            "sudo CHILD",
            "unknown-wrapper CHILD; sudo -u x CHILD",
        ] {
            let text = text.replace("CHILD", deletes);
            assert_ne!(world.decision(&text), "allow", "{mode:?} {text}");
        }
    }
}

#[test]
fn words_that_are_put_together_do_not_hide_a_denied_command() {
    let world = World::new(PermissionMode::Auto, NO_PUSH);
    world.check(
        "deny",
        &[
            "git push",
            "sh -c '\"$@\"' _ git push",
            "bash -c '\"$@\"' _ rm -rf ~",
            "sh -c '$0 push' git",
            "bash -c '\"$0\" \"$@\"' git push",
            "bash -c 'f() { \"$@\"; }; f \"$@\"' _ git push",
            "bash -c 'shift; \"$@\"' _ x git push",
            "set -- git push; \"$@\"",
            "printf -v a 'git push'; $a",
            "printf -v a %s 'git push'; $a",
            "read a <<< 'git push'; $a",
            "a=$(printf 'git push'); $a",
            "$(echo git push)",
            "$(echo rm -rf ~)",
            "eval \"$(echo rm -rf ~)\"",
            "sh <<< \"$(echo git push)\"",
            "echo git push | tee x | sh",
            "source <(echo rm -rf ~)",
        ],
    );
    world.check(
        "ask",
        &[
            "a=$(cat x); $a",
            "bash -c '$*' _ git push",
            "xargs sh -c '\"$@\"' _ < x",
            "git $X",
            "$r push",
            "bash <(echo rm -rf ~)",
            "bash <(echo git push)",
            "echo rm -rf ~ | tr a a | sh",
            "git -c alias.x='!rm -rf ~' x",
            "git -c alias.x='!git push' x",
            "BASH_ALIASES[zz]='rm -rf ~'; zz",
            "BASH_CMDS[zz]=/bin/rm; zz -rf ~",
            "hash -p /bin/rm zz; zz -rf ~",
            "shopt -s expand_aliases\nalias d='rm -rf'\nd ~",
        ],
    );
    world.check(
        "allow",
        &[
            "grep 'rm -rf /' x",
            "echo 'rm -rf ~; git push'",
            "git commit -m 'do not git push'",
            "bash -c 'echo \"$1\" \"$@\"' _ a b",
            "find . -name '*.rs' -exec wc -l {} \\;",
            "sh -c 'for f; do echo \"$f\"; done' _ *.txt",
            "\"$PYTHON\" -m pytest",
        ],
    );
}
