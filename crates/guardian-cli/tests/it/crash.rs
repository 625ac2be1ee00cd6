//! The host is killed while a call runs: nothing of the call lives on, and the record is whole.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::host_process::{HostProcess, Served, World};

/// Processes whose command line holds the text.
pub(crate) fn processes_with(text: &str) -> Vec<String> {
    std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let path = entry.ok()?.path().join("cmdline");
            let line = String::from_utf8_lossy(&std::fs::read(path).ok()?).replace('\0', " ");
            (line.contains(text) && !line.contains("guardian serve")).then_some(line)
        })
        .collect()
}

#[test]
fn a_killed_host_takes_its_command_along_and_its_record_stays_whole() {
    let world = World::new();
    let mut host = HostProcess::start(&world);
    host.send(json!({"id": 1, "method": "app.handshake",
        "params": {"protocolVersion": 1, "client": {"name": "t"}}}));
    host.take(&"handshake", |message| message["id"] == 1);
    host.send(json!({"id": 2, "method": "session.create", "params": {
        "sessionId": "s", "projectPath": world.workspace, "permissionMode": "auto"}}));
    host.take(&"session", |message| message["id"] == 2);
    // A number that no other process sleeps for.
    let seconds = format!("31536{}", std::process::id());
    let command = format!("echo started; (setsid sleep {seconds} &); sleep {seconds}");
    host.send(json!({"id": 3, "method": "tools.execute", "params": {
        "sessionId": "s", "toolCallId": "c", "toolName": "Bash", "args": {"command": command}}}));
    host.take(&"the command's output", |message| {
        message["method"] == "tools.output"
    });
    host.kill();

    let since = Instant::now();
    while !processes_with(&seconds).is_empty() {
        let left = processes_with(&seconds);
        assert!(
            since.elapsed() < Duration::from_secs(20),
            "still alive: {left:?}"
        );
        std::thread::yield_now();
    }
    let verified = world
        .guardian()
        .args(["audit", "verify", "--json"])
        .output()
        .unwrap();
    let verified: serde_json::Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!(verified["ok"], true, "{verified}");
    let rows = world.guardian().args(["audit", "--json"]).output().unwrap();
    let rows = String::from_utf8(rows.stdout).unwrap();
    assert!(rows.contains("about-to-run"), "{rows}");
}

#[test]
fn what_a_session_read_is_known_after_the_host_was_killed() {
    let world = World::new();
    for name in ["changed.txt", "same.txt"] {
        std::fs::write(world.workspace.join(name), "as it was\n").unwrap();
    }
    let mut first = Served::start(&world);
    first.create_session(&world);
    for name in ["changed.txt", "same.txt"] {
        assert_eq!(first.tool("Read", &json!({"path": name}))["ok"], true);
    }
    first.host.kill();
    std::fs::write(world.workspace.join("changed.txt"), "somebody's work\n").unwrap();

    let mut second = Served::start(&world);
    let write = |name: &str| json!({"path": name, "content": "new\n"});
    let stale = second.tool("Write", &write("changed.txt"));
    assert_eq!(stale["errorCode"], "STALE_FILE", "{stale}");
    let written = second.tool("Write", &write("same.txt"));
    assert_eq!(written["ok"], true, "{written}");
    assert_eq!(
        written["content"]["overwroteUnread"],
        serde_json::Value::Null
    );
    let kept = std::fs::read_to_string(world.workspace.join("changed.txt")).unwrap();
    assert_eq!(kept, "somebody's work\n");
}

#[test]
fn a_host_that_is_asked_to_end_ends_in_order() {
    for signal in ["TERM", "INT", "HUP"] {
        let world = World::new();
        let mut host = HostProcess::start(&world);
        host.send(json!({"id": 1, "method": "app.handshake",
            "params": {"protocolVersion": 1, "client": {"name": "t"}}}));
        host.take(&"handshake", |message| message["id"] == 1);
        host.send(json!({"id": 2, "method": "session.create", "params": {
            "sessionId": "s", "projectPath": world.workspace, "permissionMode": "auto"}}));
        host.take(&"session", |message| message["id"] == 2);
        let seconds = format!("31537{}", std::process::id());
        let command = format!("echo started; sleep {seconds}");
        host.send(json!({"id": 3, "method": "tools.execute", "params": {
            "sessionId": "s", "toolCallId": "c", "toolName": "Bash", "args": {"command": command}}}));
        host.take(&"the command's output", |message| {
            message["method"] == "tools.output"
        });
        host.signal(signal);
        // The call is answered, its end is on record, and the host ends as at the end of input.
        let answer = host.take(&"an answer", |message| message["id"] == 3);
        assert_eq!(answer["result"]["ok"], false, "{signal}: {answer}");
        assert_eq!(host.end(), Some(0), "{signal}");
        assert!(processes_with(&seconds).is_empty(), "{signal}");
        let rows = world
            .guardian()
            .args(["audit", "--json", "--event", "call", "--call", "c"])
            .output()
            .unwrap();
        let rows = String::from_utf8(rows.stdout).unwrap();
        assert!(rows.contains("TOOL_ABORTED"), "{signal}: {rows}");
    }
}
