//! `guardian review`: what a person sees of an agent's changes, and how they take them back.

use std::process::Output;

use serde_json::{Value, json};

use crate::host_process::{HostProcess, World};

/// A host that changed two files in turn one and one more in turn two, and has ended. Returns the
/// ids of the turns.
fn changed(world: &World) -> [String; 2] {
    std::fs::write(world.workspace.join("notes.md"), "# Notes\n\none\ntwo\n").unwrap();
    let mut host = HostProcess::start(world);
    let mut ask = |id: &str, method: &str, params: Value| {
        host.send(json!({"id": id, "method": method, "params": params}));
        let answer = host.take(&id, |message| message["id"] == id);
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].clone()
    };
    let client = json!({"name": "test", "version": "1"});
    let handshake = json!({"protocolVersion": 1, "client": client});
    ask("h", "app.handshake", handshake);
    let session = json!({
        "sessionId": "s", "projectPath": world.workspace, "permissionMode": "auto",
    });
    ask("c", "session.create", session);
    let mut turns = Vec::new();
    let calls = [
        vec![
            (
                "Edit",
                json!({"path": "notes.md", "old_string": "two", "new_string": "\u{202e}2"}),
            ),
            ("Write", json!({"path": "new/b.txt", "content": "b\n"})),
            ("Bash", json!({"command": "echo x > by-command.txt"})),
        ],
        vec![("Write", json!({"path": "c.txt", "content": "c\n"}))],
    ];
    for (number, calls) in calls.into_iter().enumerate() {
        let turn = ask(
            &format!("t{number}"),
            "session.beginTurn",
            json!({"sessionId": "s"}),
        );
        let turn = turn["turnId"].as_str().unwrap().to_owned();
        for (index, (tool, args)) in calls.into_iter().enumerate() {
            let id = format!("e{number}{index}");
            let params = json!({
                "sessionId": "s", "turnId": turn, "toolCallId": id, "toolName": tool, "args": args,
            });
            let result = ask(&id, "tools.execute", params);
            assert_eq!(result["ok"], true, "{result}");
        }
        let end = json!({"sessionId": "s", "turnId": turn});
        ask(&format!("u{number}"), "session.endTurn", end);
        turns.push(turn);
    }
    assert_eq!(host.end(), Some(0));
    turns.try_into().unwrap()
}

fn review(world: &World, arguments: &[&str]) -> Output {
    let mut command = world.guardian();
    command.arg("review").args(arguments).output().unwrap()
}

/// Says what of the expected is missing in exit code and output.
#[track_caller]
fn check(output: &Output, code: i32, parts: &[&str]) {
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(output.status.code(), Some(code), "{text}");
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
}

fn changes(world: &World) -> Vec<Value> {
    let listed = review(world, &["list", "--json"]);
    String::from_utf8(listed.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn changes_are_listed_and_shown() {
    let world = World::new();
    changed(&world);
    let list = [
        "CHANGE",
        "added",
        "modified",
        "+1 -1",
        "+1 -0",
        "active",
        "new/b.txt",
    ];
    check(&review(&world, &["list"]), 0, &list);
    let show = [
        "modified notes.md",
        "@@ ",
        " one\n-two\n+\\u{202e}2\n",
        "added new/b.txt",
        "+b\n",
    ];
    check(&review(&world, &["show"]), 0, &show);
    let listed = changes(&world);
    assert_eq!(listed.len(), 3);
    let id = listed[0]["snapshotId"].as_str().unwrap();
    let one = review(&world, &["show", id, "--json"]);
    let one: Value = serde_json::from_slice(&one.stdout).unwrap();
    assert_eq!(one, listed[0]);
    check(
        &review(&world, &["show", "nothing"]),
        2,
        &["no change `nothing`"],
    );
}

#[test]
fn a_turn_that_never_was_is_no_success() {
    let world = World::new();
    changed(&world);
    let output = review(&world, &["rollback-turn", "t-nope"]);
    check(&output, 2, &["no turn `t-nope`"]);
    assert_eq!(changes(&world).len(), 3);
}

#[test]
fn a_diff_has_colours_when_it_is_asked_for() {
    let world = World::new();
    changed(&world);
    let output = world
        .guardian()
        .env("CLICOLOR_FORCE", "1")
        .args(["review", "show"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\u{1b}[32m+b"), "{text:?}");
    assert!(text.contains("\u{1b}[31m-two"), "{text:?}");
    // What could turn the terminal's text around is shown, not sent.
    assert!(text.contains("+\\u{202e}2"), "{text:?}");
}

#[test]
fn a_change_is_taken_back_once_and_never_over_somebody_s_work() {
    let world = World::new();
    changed(&world);
    let listed = changes(&world);
    let id = |index: usize| listed[index]["snapshotId"].as_str().unwrap();
    check(
        &review(&world, &["rollback", id(0)]),
        0,
        &["c.txt: taken back"],
    );
    assert!(!world.workspace.join("c.txt").exists());
    check(
        &review(&world, &["rollback", id(0)]),
        0,
        &["was taken back already"],
    );
    std::fs::write(world.workspace.join("notes.md"), "mine\n").unwrap();
    let conflict = review(&world, &["rollback", id(2)]);
    check(
        &conflict,
        14,
        &["notes.md: not taken back, somebody changed it since"],
    );
    let notes = std::fs::read_to_string(world.workspace.join("notes.md")).unwrap();
    assert_eq!(notes, "mine\n");
}

#[test]
fn a_turn_is_taken_back_as_a_whole_beside_a_running_host() {
    let world = World::new();
    let [first, _] = changed(&world);
    let mut host = HostProcess::start(&world);
    let output = review(&world, &["rollback-turn", &first]);
    let expected = [
        "notes.md: taken back",
        "new/b.txt: taken back",
        "by a command are not taken back",
        "by-command.txt",
    ];
    check(&output, 0, &expected);
    let notes = std::fs::read_to_string(world.workspace.join("notes.md")).unwrap();
    assert_eq!(notes, "# Notes\n\none\ntwo\n");
    assert!(!world.workspace.join("new").exists());
    assert!(world.workspace.join("by-command.txt").exists());
    assert!(world.workspace.join("c.txt").exists());
    let again = review(&world, &["rollback-turn", &first, "--json"]);
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["results"][0]["status"], "alreadyRolledBack");
    assert_eq!(again["notCovered"].as_array().unwrap().len(), 1);
    assert_eq!(host.end(), Some(0));
}

#[test]
fn where_nothing_happened_a_session_must_be_named() {
    let world = World::new();
    check(&review(&world, &["list"]), 2, &["--session"]);
}
