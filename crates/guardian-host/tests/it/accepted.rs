//! Project commands that the user accepted once (SPEC §7.4): bound to the content that will run,
//! and only in the sandbox.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use guardian_host::check::{Checker, CheckerOptions};
use guardian_host::policies::append_rule;
use guardian_host::review::HumanAnswer;
use guardian_host::rules::{
    OperatingMode, PermissionMode, Preset, SandboxState, SessionPermissionMode,
};
use guardian_host::{Event, EventSink, Host, ToolRequest};
use guardian_testkit::ProjectFixture;
use serde_json::json;

use crate::support::{config, host};

fn checker(fixture: &ProjectFixture, policy: &Path, sandbox: SandboxState) -> Checker {
    Checker::new(
        config(fixture),
        CheckerOptions {
            workspace: fixture.workspace(),
            home: Some(fixture.home()),
            scratch: Some(fixture.scratch()),
            policy: Some(policy.to_owned()),
            preset: Some(Preset::Balanced),
            mode: OperatingMode::Agent,
            permission_mode: PermissionMode::Ask,
            sandbox: Some(sandbox),
            headless: false,
            audit: false,
        },
    )
    .unwrap()
}

struct World {
    fixture: ProjectFixture,
    policy: PathBuf,
}

impl World {
    fn new() -> Self {
        let fixture = ProjectFixture::new().unwrap();
        let policy = fixture.root().join("accepting.toml");
        std::fs::write(&policy, "version = 1\n").unwrap();
        let world = Self { fixture, policy };
        world.write(
            "package.json",
            r#"{"version": "1", "scripts": {"test": "jest", "build": "vite"}}"#,
        );
        world.write(
            "Makefile",
            "x: y\n\techo x\n\ny:\n\techo y\n\nother:\n\techo z\n",
        );
        world.write("scripts/x.sh", "#!/bin/sh\necho x\n");
        world
    }

    fn write(&self, file: &str, text: &str) {
        let file = self.fixture.workspace().join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    fn decision(&self, command: &str, sandbox: SandboxState) -> String {
        checker(&self.fixture, &self.policy, sandbox)
            .check("Bash", &json!({ "command": command }))
            .decision
    }

    /// Takes what the card offers, as the host does.
    fn accept(&self, command: &str) {
        let offered = checker(&self.fixture, &self.policy, SandboxState::Available)
            .suggestions("Bash", &json!({ "command": command }));
        let rule = offered.first().unwrap_or_else(|| panic!("{command}"));
        assert!(rule.toml.starts_with("[[accepted]]"), "{}", rule.toml);
        let text = std::fs::read_to_string(&self.policy).unwrap();
        let text = append_rule(&text, &rule.toml, "a test").unwrap();
        std::fs::write(&self.policy, text).unwrap();
    }

    fn change_of(&self, command: &str) -> Vec<String> {
        checker(&self.fixture, &self.policy, SandboxState::Available)
            .changed_commands("Bash", &json!({ "command": command }))
            .iter()
            .flat_map(guardian_host::rules::ChangedCommand::lines)
            .collect()
    }
}

/// Accepts a command, then changes something that it does not run and something that it does.
#[track_caller]
fn check(
    command: &str,
    siblings: &[&str],
    unrelated: (&str, &str),
    defining: (&str, &str),
) -> Vec<String> {
    let world = World::new();
    assert_eq!(world.decision(command, SandboxState::Available), "ask");
    world.accept(command);
    assert_eq!(world.decision(command, SandboxState::Available), "allow");
    let unconfined = world.decision(command, SandboxState::Unavailable);
    assert_eq!(unconfined, "ask", "only in the sandbox");
    for sibling in siblings {
        let decision = world.decision(sibling, SandboxState::Available);
        assert_ne!(decision, "allow", "{sibling}");
    }
    world.write(unrelated.0, unrelated.1);
    assert_eq!(world.decision(command, SandboxState::Available), "allow");
    assert!(world.change_of(command).is_empty());
    world.write(defining.0, defining.1);
    assert_eq!(world.decision(command, SandboxState::Available), "ask");
    let change = world.change_of(command);
    world.accept(command);
    assert_eq!(world.decision(command, SandboxState::Available), "allow");
    let text = std::fs::read_to_string(&world.policy).unwrap();
    assert_eq!(
        text.matches("[[accepted]]").count(),
        1,
        "the later one counts"
    );
    change
}

#[test]
fn a_script_of_the_package_is_accepted_by_its_text() {
    let change = check(
        "npm test",
        &[
            "npm run build",
            "npm test -- --x",
            "npm test; make",
            "npm test > out",
            "npm --prefix /tmp test",
        ],
        (
            "package.json",
            r#"{"version": "2", "scripts": {"test": "jest", "build": "vite build"}}"#,
        ),
        (
            "package.json",
            r#"{"version": "2", "scripts": {"test": "jest && curl evil", "build": "vite"}}"#,
        ),
    );
    insta::assert_debug_snapshot!(change, @r#"
    [
        "`npm test` was accepted for this project; what it runs has changed since",
        "- test: jest",
        "+ test: jest && curl evil",
    ]
    "#);
}

#[test]
fn a_target_of_a_makefile_is_accepted_by_its_rules() {
    let change = check(
        "make x",
        &[
            "make other",
            "make y",
            "make -f /tmp/x x",
            "make x SHELL=./evil",
            "make",
        ],
        (
            "Makefile",
            "x: y\n\techo x\n\ny:\n\techo y\n\nother:\n\techo changed\n",
        ),
        (
            "Makefile",
            "x: y\n\techo x\n\ny:\n\t./evil\n\nother:\n\techo z\n",
        ),
    );
    assert_eq!(change[1..], ["- \techo y", "+ \t./evil"]);
}

#[test]
fn a_script_file_is_accepted_by_its_bytes() {
    let change = check(
        "./scripts/x.sh",
        &[
            "./scripts/x.sh now",
            "bash scripts/x.sh",
            "./scripts/run.sh",
        ],
        ("README.md", "changed"),
        ("scripts/x.sh", "#!/bin/sh\necho changed\n"),
    );
    assert_eq!(change.len(), 3, "{change:?}");
    assert!(change[1].starts_with("- scripts/x.sh: "), "{change:?}");
}

#[test]
fn a_cargo_command_is_accepted_with_the_settings_of_the_tool() {
    check(
        "cargo test",
        &[
            "cargo test -p x",
            "cargo bench",
            "cargo publish",
            "RUSTC_WRAPPER=x cargo test",
        ],
        ("src/lib.rs", "// changed"),
        (".cargo/config.toml", "[target.x]\nrunner = \"./evil\"\n"),
    );
}

/// A Makefile that says hi.
const HI: (&str, &str) = ("Makefile", "all:\n\t@echo hi\n");

/// A project command, the files that it needs to be offered, and what makes it another one.
struct Pulled {
    command: &'static str,
    files: &'static [(&'static str, &'static str)],
    change: (&'static str, &'static str),
}

/// Accepted with these files, it is asked about once the change is made.
#[track_caller]
fn check_pulled(pulled: &Pulled) {
    let world = World::new();
    for (file, text) in pulled.files {
        world.write(file, text);
    }
    let command = pulled.command;
    world.accept(command);
    assert_eq!(
        world.decision(command, SandboxState::Available),
        "allow",
        "{command}"
    );
    world.write(pulled.change.0, pulled.change.1);
    assert_eq!(
        world.decision(command, SandboxState::Available),
        "ask",
        "{command} with {:?}",
        pulled.change
    );
}

#[test]
fn what_a_definition_takes_in_is_part_of_it() {
    for pulled in [
        // Make writes its own file afresh, by a rule or by one that is built in.
        (
            "make",
            &[HI][..],
            ("Makefile", "all:\n\t@echo hi\nMakefile: x\n\t@evil\n"),
        ),
        ("make", &[HI], ("Makefile.sh", "all:\n\t@evil\n")),
        ("make", &[HI], ("Makefile.c", "x")),
        ("make", &[HI], ("SCCS/s.Makefile", "x")),
        ("make", &[HI], ("RCS/Makefile,v", "x")),
        (
            "make",
            &[("Makefile", "-include a.mk\nall:\n\t@echo hi\n")],
            ("a.mk.sh", "x"),
        ),
        (
            "make",
            &[
                ("Makefile", "include a.mk\nall:\n\t@echo hi\n"),
                ("a.mk", "A=1\n"),
            ],
            ("a.mk", "A=2\n"),
        ),
        // Scripts that are named, also by scripts.
        (
            "make",
            &[("Makefile", "all:\n\t./b.sh\n"), ("b.sh", "#!/bin/sh\n")],
            ("b.sh", "#!/bin/sh\nevil\n"),
        ),
        (
            "make",
            &[("Makefile", "all:\n\tsh tools/b\n"), ("tools/b", "echo\n")],
            ("tools/b", "evil\n"),
        ),
        (
            "make all",
            &[("Makefile", "all:\n\t$(MAKE) b\nb:\n\techo\n")],
            ("Makefile", "all:\n\t$(MAKE) b\nb:\n\tevil\n"),
        ),
        (
            "make TOOL=./b.sh",
            &[("Makefile", "all:\n\t$(TOOL)\n"), ("b.sh", "#!/bin/sh\n")],
            ("b.sh", "#!/bin/sh\nevil\n"),
        ),
        (
            "npm test",
            &[
                ("package.json", r#"{"scripts": {"test": "./b.sh"}}"#),
                ("b.sh", "#!/bin/sh\n"),
            ],
            ("b.sh", "#!/bin/sh\nevil\n"),
        ),
        (
            "npm test",
            &[("package.json", r#"{"scripts": {"test": "make x"}}"#)],
            ("Makefile", "x:\n\tevil\n"),
        ),
        (
            "npm test",
            &[
                ("package.json", r#"{"scripts": {"test": "just"}}"#),
                ("justfile", "x:\n  echo\n"),
            ],
            ("justfile", "x:\n  evil\n"),
        ),
        (
            "./a.sh",
            &[
                ("a.sh", "#!/bin/sh\ncd \"$(dirname \"$0\")\"\n./b.sh\n"),
                ("b.sh", "#!/bin/sh\n. lib/c.sh\n"),
                ("lib/c.sh", "echo\n"),
            ],
            ("lib/c.sh", "evil\n"),
        ),
        (
            "./a.sh",
            &[
                ("a.sh", "#!/bin/sh\n\"$HERE/lib/c.sh\"\n"),
                ("lib/c.sh", "echo\n"),
            ],
            ("lib/c.sh", "evil\n"),
        ),
        (
            "./a.sh",
            &[("a.sh", "#!/bin/sh\nnpm test\n")],
            ("package.json", r#"{"scripts": {"test": "evil"}}"#),
        ),
        // Files that the tool's file takes in.
        (
            "just t",
            &[
                ("justfile", "import \"a.just\"\n"),
                ("a.just", "t:\n  echo\n"),
            ],
            ("a.just", "t:\n  evil\n"),
        ),
        (
            "just t",
            &[("justfile", "set dotenv-load\nt:\n  echo\n")],
            (".env", "X=evil\n"),
        ),
        (
            "ninja",
            &[("build.ninja", "include a\n"), ("a", "build x: phony y\n")],
            ("a", "build x: phony z\n"),
        ),
        (
            "mvn test",
            &[("pom.xml", "<module>a</module>"), ("a/pom.xml", "<x/>")],
            ("a/pom.xml", "<evil/>"),
        ),
        (
            "gradle test",
            &[
                ("settings.gradle", "include(':a')\n"),
                ("a/build.gradle", "x\n"),
            ],
            ("a/build.gradle", "evil\n"),
        ),
        ("tsc -p a.json", &[("a.json", "{}")], ("a.json", "{ }")),
    ] {
        let (command, files, change) = pulled;
        check_pulled(&Pulled {
            command,
            files,
            change,
        });
    }
}

#[test]
fn what_cannot_be_told_is_not_offered() {
    for (command, files) in [
        (
            "make",
            &[(
                "Makefile",
                "all:\n\techo\nMakefile: Makefile.in\n\t./config.status\n",
            )][..],
        ),
        ("make", &[("Makefile", "all:\n\tcd api && npm test\n")]),
        ("make", &[("Makefile", "all:\n\tbazel test //...\n")]),
        ("bazel build x", &[("BUILD", "x"), ("MODULE.bazel", "x")]),
        ("sbt test", &[("build.sbt", "x")]),
        ("cmake --build build", &[("CMakeLists.txt", "x")]),
        ("turbo run build", &[("turbo.json", "{}")]),
        ("just t", &[("justfile", "mod a\nt:\n  echo\n")]),
        (
            "just -f a.just t",
            &[("justfile", "t:\n  echo\n"), ("a.just", "t:\n  evil\n")],
        ),
        ("ninja", &[("build.ninja", "build build.ninja: gen x\n")]),
        ("task t", &[("Taskfile.yml", "includes:\n  a: ./a.yml\n")]),
        ("pytest -c a.ini", &[("a.ini", "[pytest]\n")]),
        ("cargo xtask x", &[("Cargo.toml", "x")]),
        ("go generate ./...", &[("a.go", "//go:generate ./x\n")]),
        ("./a.sh", &[("a.sh", "#!./interp\n"), ("interp", "x")]),
        (
            "./a.sh",
            &[("a.sh", "#!/usr/bin/env -S ./interp\n"), ("interp", "x")],
        ),
        ("./a.sh", &[("a.sh", "#!/bin/sh interp\n"), ("interp", "x")]),
        ("./a.sh", &[("a.sh", "#!/usr/bin/env -S PATH=. sh\n")]),
        ("./a.sh", &[("a.sh", "#!/usr/bin/make -f\n")]),
        ("./a.sh", &[("a.sh", "#!/bin/sh\ncd api\nmake\n")]),
        (
            "./a.sh",
            &[("a.sh", "#!/bin/sh\n./b.sh\n"), ("b.sh", "#!./interp\n")],
        ),
    ] {
        let world = World::new();
        for (file, text) in files {
            world.write(file, text);
        }
        let offered = checker(&world.fixture, &world.policy, SandboxState::Available)
            .suggestions("Bash", &json!({ "command": command }));
        assert!(offered.is_empty(), "{command} {files:?}: {offered:?}");
    }
}

/// Keeps the notes of cards and denies them.
#[derive(Default)]
struct Notes(OnceLock<Arc<Host>>, Mutex<Vec<String>>);

impl EventSink for Notes {
    fn emit(&self, event: Event) {
        if let Event::PermissionRequest { posted } = event {
            self.1.lock().unwrap().extend(posted.request.notes.clone());
            let host = Arc::clone(self.0.get().unwrap());
            let request = posted.request.clone();
            std::thread::spawn(move || {
                let answer = HumanAnswer::word("deny");
                host.resolve_permission(&request.session_id, &request.request_id, &answer);
            });
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_card_shows_what_changed_since_a_command_was_accepted() {
    let world = World::new();
    let directory = world.fixture.home().join(".config/guardian");
    std::fs::create_dir_all(&directory).unwrap();
    world.accept("npm test");
    std::fs::copy(&world.policy, directory.join("policy.toml")).unwrap();
    world.write("package.json", r#"{"scripts": {"test": "evil"}}"#);
    let sink = Arc::new(Notes::default());
    let events = Arc::clone(&sink) as Arc<dyn EventSink>;
    let host = host(&world.fixture, SessionPermissionMode::Ask, events).await;
    sink.0.set(Arc::clone(&host)).ok().unwrap();
    let call = ToolRequest::new("s", "c", "Bash", json!({"command": "npm test"}));
    assert!(host.execute(call).await.unwrap().denied);
    let notes = sink.1.lock().unwrap().clone();
    assert!(notes.iter().any(|note| note == "- test: jest"), "{notes:?}");
    assert!(notes.iter().any(|note| note == "+ test: evil"), "{notes:?}");
}

/// Everything that gives a variable a value, with the name and the value that it gives.
const ASSIGNING: &[&str] = &[
    "read NAME <<< ./e",
    "IFS= read -r NAME <<< ./e",
    "X=1 read NAME <<< ./e",
    "read -a NAME <<< ./e",
    "mapfile NAME <<< ./e",
    "for NAME in ./e; do :; done",
    "for NAME in $(ls); do :; done",
    "select NAME in ./e; do break; done <<< 1",
    ": ${NAME:=./e}",
    ": ${NAME=./e}",
    "printf -v NAME ./e",
    "let NAME=1",
    "(( NAME = 1 ))",
    ": $(( NAME++ ))",
    "getopts a NAME -a",
    "exec {NAME}>/dev/null",
    "coproc NAME { :; }",
    "wait -p NAME",
    "NAME=./e",
    "NAME+=./e",
    "NAME[0]=./e",
    "declare NAME=./e",
    "declare -g NAME=./e",
    "readonly NAME=./e",
    "unset NAME",
    "unset -v NAME",
    "declare -n r=NAME; r=./e",
    "x=NAME; : ${!x:=./e}",
    "x=NAME; printf -v $x ./e",
    "f() { NAME=./e; }; f",
    "f() { local y; NAME=./e; }; f",
    "if true; then NAME=./e; fi",
    "{ NAME=./e; }",
    "eval NAME=./e",
    "trap 'NAME=./e' DEBUG",
];

#[test]
fn an_accepted_command_holds_in_the_environment_of_the_session_only() {
    let world = World::new();
    for command in ["npm test", "make"] {
        world.accept(command);
        let checker = checker(&world.fixture, &world.policy, SandboxState::Available);
        let decision = |text: &str| checker.check("Bash", &json!({ "command": text })).decision;
        let exported = |assigns: &str, name: &str| {
            let assigns = assigns.replace("NAME", name);
            [
                format!("export {name}; {assigns}; {command}"),
                format!("{assigns}; export {name}; {command}"),
                format!("declare -x {name}; {assigns}; {command}"),
                format!("set -a; {assigns}; {command}"),
                format!("set -o allexport; {assigns}; {command}"),
                format!("g() {{ {assigns}; export {name}; {command}; }}; g"),
                format!("{assigns}; export {name}; bash -c '{command}'"),
            ]
        };
        for assigns in ASSIGNING {
            // In the session's environment for all that is known: no export is needed.
            for name in [
                "npm_config_script_shell",
                "MAKEFILES",
                "PATH",
                "HOME",
                "TOOL",
            ] {
                if name == "HOME" && assigns.contains("{NAME") && assigns.contains("=./e") {
                    // It has a value already.
                    continue;
                }
                let text = format!("{}; {command}", assigns.replace("NAME", name));
                assert_ne!(decision(&text), "allow", "{text}");
            }
            for text in exported(assigns, "tool") {
                assert_ne!(decision(&text), "allow", "{text}");
            }
        }
        for text in [
            "env -i COMMAND",
            "env -u TOOL COMMAND",
            "env TOOL=./e COMMAND",
            "env tool=./e COMMAND",
            "env tool=./e timeout 9 COMMAND",
            "tool=./e COMMAND",
            "g() { COMMAND; }; tool=./e g",
            "tool=./e eval COMMAND",
            "(exec -c COMMAND)",
            "export to{ol,x}=./e; COMMAND",
            "export -n TOOL; COMMAND",
            "declare +x TOOL; COMMAND",
            "declare -a TOOL; COMMAND",
            "f() { local PATH; COMMAND; }; f",
            "hash -p ./e npm make; COMMAND",
            "BASH_CMDS[npm]=./e; BASH_CMDS[make]=./e; COMMAND",
            "alias npm=./e make=./e; COMMAND",
            "npm() { ./e; }; make() { ./e; }; COMMAND",
            "cd sub; cd -; COMMAND",
            "source ./e; COMMAND",
            "export $x; COMMAND",
            "unset $x; COMMAND",
        ] {
            let text = text.replace("COMMAND", command);
            assert_ne!(decision(&text), "allow", "{text}");
        }
        // What is the shell's own, or was put back, is not in front of the command.
        for text in [
            "COMMAND",
            "set -e; COMMAND",
            "for i in 1 2 3; do COMMAND; done",
            "i=0; while [ $i -lt 3 ]; do COMMAND; i=$((i+1)); done",
            "read -r line <<< x; COMMAND",
            "[[ a =~ b ]]; COMMAND",
            "(TOOL=1; echo x); COMMAND",
            "echo $(TOOL=1; pwd); COMMAND",
            "f() { local TOOL=1; echo $TOOL; }; f; COMMAND",
            "LC_ALL=C sort a; COMMAND",
            "cd . && COMMAND",
            "timeout 60 COMMAND",
            "bash -c 'COMMAND'",
            "COMMAND; status=$?; TOOL=x; echo $status",
        ] {
            let text = text.replace("COMMAND", command);
            assert_eq!(decision(&text), "allow", "{text}");
        }
    }
}
