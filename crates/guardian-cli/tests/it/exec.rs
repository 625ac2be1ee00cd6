//! `guardian exec` and its neighbours, as a person at a shell meets them.

use std::process::Output;

use guardian_testkit::Redactions;

use crate::host_process::World;

pub(crate) fn run(world: &World, arguments: &[&str]) -> Output {
    // A session of its own has no terminal to ask on, wherever the tests run.
    let guardian = world.guardian();
    let mut command = std::process::Command::new("setsid");
    command
        .arg("--wait")
        .arg(guardian.get_program())
        .args(arguments)
        .env_clear()
        .envs(
            guardian
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(&world.workspace)
        .stdin(std::process::Stdio::null());
    command.output().unwrap()
}

/// Exit code, stdout and stderr with paths, ids and times taken out.
fn shown(world: &World, output: &Output) -> String {
    let text = format!(
        "exit {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    Redactions::new()
        .path(&world.workspace, "<workspace>")
        .path(&world.outside, "<outside>")
        .path(&world.home, "<home>")
        .apply(&text)
}

#[test]
fn without_a_terminal_what_must_be_asked_about_is_denied_with_the_reason() {
    let world = World::new();
    let output = run(
        &world,
        &["exec", "Bash", r#"{"command": "touch made.txt"}"#],
    );
    insta::assert_snapshot!(shown(&world, &output));
    assert!(!world.workspace.join("made.txt").exists());
}

#[test]
fn yes_once_shows_the_card_and_runs() {
    let world = World::new();
    let output = run(
        &world,
        &[
            "exec",
            "Bash",
            r#"{"command": "echo hello > made.txt"}"#,
            "--yes-once",
        ],
    );
    insta::assert_snapshot!(shown(&world, &output));
    assert_eq!(
        std::fs::read_to_string(world.workspace.join("made.txt")).unwrap(),
        "hello\n"
    );
}

#[test]
fn yes_once_does_not_lift_a_denial() {
    let world = World::new();
    let output = run(
        &world,
        &["exec", "Bash", r#"{"command": "rm -rf /"}"#, "--yes-once"],
    );
    insta::assert_snapshot!(shown(&world, &output));
}

#[test]
fn a_read_needs_no_card() {
    let world = World::new();
    std::fs::write(world.workspace.join("a.txt"), "one\ntwo\n").unwrap();
    let output = run(&world, &["exec", "Read", r#"{"path": "a.txt"}"#]);
    insta::assert_snapshot!(shown(&world, &output));
}

#[test]
fn no_level_of_the_log_shows_what_a_call_looks_for() {
    let world = World::new();
    std::fs::write(world.workspace.join("a.txt"), "needle-xyzzy\n").unwrap();
    let arguments = r#"{"pattern": "needle-xyz+y"}"#;
    let mut guardian = world.guardian();
    guardian.env("GUARDIAN_LOG", "trace");
    let output = guardian
        .args(["exec", "Grep", arguments])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let found = String::from_utf8_lossy(&output.stdout);
    assert!(found.contains("needle-xyzzy"), "{found}");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(!log.contains("needle"), "{log}");
}

#[test]
fn wrong_usage_is_told_apart_from_a_failed_tool() {
    let world = World::new();
    let code = |arguments: &[&str]| run(&world, arguments).status.code();
    assert_eq!(code(&["exec", "Read", "not json"]), Some(2));
    assert_eq!(
        code(&["exec", "Read", r#"{"path": "missing.txt"}"#]),
        Some(12)
    );
    assert_eq!(code(&["check", "--bash", "rm -rf /"]), Some(11));
    assert_eq!(code(&["check", "--bash", "touch x"]), Some(10));
    assert_eq!(code(&["check", "Read", r#"{"path": "x"}"#]), Some(0));
}

#[test]
fn inside_a_call_guardian_does_not_operate_itself() {
    let world = World::new();
    let inside = |arguments: &[&str]| {
        let output = world
            .guardian()
            .env("GUARDIAN_INSIDE_CALL", "x")
            .args(arguments)
            .output();
        output.unwrap().status.code()
    };
    assert_eq!(inside(&["exec", "Read", r#"{"path": "x"}"#]), Some(11));
    assert_eq!(inside(&["audit"]), Some(11));
    assert_eq!(inside(&["tools"]), Some(0));
}

#[test]
fn a_change_of_exec_is_listed_and_taken_back() {
    let world = World::new();
    std::fs::write(world.workspace.join("a.txt"), "hi\n").unwrap();
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let edit = r#"{"path": "a.txt", "old_string": "hi", "new_string": "ho"}"#;
    let done = run(&world, &["exec", "--yes-once", "Edit", edit]);
    assert!(done.status.success(), "{done:?}");
    assert!(!String::from_utf8_lossy(&done.stderr).contains("allow-session"));
    let list = run(&world, &["review", "list", "--json"]);
    let change: serde_json::Value = serde_json::from_str(&text(&list)).unwrap();
    assert!(text(&run(&world, &["sessions"])).contains("guardian exec Edit"));
    let id = change["snapshotId"].as_str().unwrap();
    let back = run(&world, &["review", "rollback", id]);
    assert!(back.status.success(), "{back:?}");
    assert_eq!(
        std::fs::read_to_string(world.workspace.join("a.txt")).unwrap(),
        "hi\n"
    );
    // A call that changed nothing leaves no session.
    run(&world, &["exec", "Read", r#"{"path": "a.txt"}"#]);
    assert!(!text(&run(&world, &["sessions"])).contains("guardian exec Read"));
}

#[test]
fn a_command_that_fails_without_a_word_is_told_of() {
    let world = World::new();
    for (command, sentence) in [
        ("exit 3", "error: the command ended with exit code 3"),
        ("kill -9 $$", "error: the command was ended by SIGKILL"),
        ("sleep 30", "error: the command did not end in time"),
    ] {
        let args = serde_json::json!({ "command": command, "timeout": 1 }).to_string();
        let output = run(&world, &["exec", "Bash", &args, "--yes-once"]);
        assert_eq!(output.status.code(), Some(12), "{command}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(sentence), "{command}: {said}");
    }
}
