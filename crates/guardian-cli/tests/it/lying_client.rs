//! Clients that do not keep their side of the protocol, and two hosts on one data directory.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::crash::processes_with;
use crate::host_process::{HostProcess, World};

fn start(world: &World) -> HostProcess {
    let mut host = HostProcess::start(world);
    host.send(json!({"id": "h", "method": "app.handshake",
        "params": {"protocolVersion": 1, "client": {"name": "t"}}}));
    host.take(&"handshake", |message| message["id"] == "h");
    host
}

#[test]
fn a_client_that_floods_and_never_reads_ends_with_its_command() {
    let world = World::new();
    let mut host = HostProcess::start_unread(&world);
    host.send(json!({"id": 1, "method": "app.handshake",
        "params": {"protocolVersion": 1, "client": {"name": "t"}}}));
    host.send(json!({"id": 2, "method": "session.create", "params": {
        "sessionId": "s", "projectPath": world.workspace, "permissionMode": "auto"}}));
    // A round trip that can be seen without reading: the session's row is there.
    let seconds = format!("31537{}", std::process::id());
    let since = Instant::now();
    while processes_with(&seconds).is_empty() {
        assert!(since.elapsed() < Duration::from_secs(20), "never started");
        host.send(json!({"method": "tools.execute", "params": {
            "sessionId": "s", "toolCallId": "c", "toolName": "Bash",
            "args": {"command": format!("sleep {seconds}"), "timeout": 300}}}));
        std::thread::sleep(Duration::from_millis(50));
    }
    // More answers than are kept for a client that reads nothing.
    let id = "x".repeat(400_000);
    for _ in 0..60 {
        let line = json!({"jsonrpc": "2.0", "id": id, "method": "no.such"}).to_string();
        if !host.try_send_line(line.as_bytes()) {
            break;
        }
    }
    let since = Instant::now();
    host.end();
    assert!(since.elapsed() < Duration::from_secs(25), "it lingered");
    assert!(processes_with(&seconds).is_empty());
}

#[test]
fn a_session_belongs_to_one_host_at_a_time() {
    let world = World::new();
    let (mut first, mut second) = (start(&world), start(&world));
    first.send(json!({"id": 1, "method": "session.create", "params": {
        "sessionId": "s", "projectPath": world.workspace, "permissionMode": "auto"}}));
    first.take(&"session", |message| message["id"] == 1);
    first.send(json!({"id": 2, "method": "session.beginTurn", "params": {"sessionId": "s"}}));
    let turn = first.take(&"turn", |message| message["id"] == 2)["result"]["turnId"].clone();

    let write = json!({"sessionId": "s", "toolCallId": "w", "toolName": "Write",
        "args": {"path": "a.txt", "content": "x"}});
    for (method, params) in [
        ("tools.execute", write.clone()),
        ("session.endTurn", json!({"sessionId": "s", "turnId": turn})),
        ("session.beginTurn", json!({"sessionId": "s"})),
        ("session.delete", json!({"sessionId": "s"})),
    ] {
        second.send(json!({"id": method, "method": method, "params": params}));
        let answer = second.take(&method, |message| message["id"] == method);
        assert_eq!(answer["error"]["data"]["code"], "CONFLICT", "{answer}");
    }
    assert!(!world.workspace.join("a.txt").exists());

    // The session is the second's once the first is gone, also when it was killed.
    first.kill();
    second.send(json!({"id": 9, "method": "tools.execute", "params": write}));
    let answer = second.take(&"write", |message| message["id"] == 9);
    assert_eq!(answer["result"]["ok"], true, "{answer}");
}

#[test]
fn a_name_of_absurd_length_is_refused_at_once() {
    let world = World::new();
    let mut host = start(&world);
    host.send(json!({"id": 1, "method": "session.create", "params": {
        "sessionId": "s", "projectPath": world.workspace}}));
    host.take(&"session", |message| message["id"] == 1);
    let long = "N".repeat(1025);
    for (tool, call) in [(long.as_str(), "c"), ("Read", long.as_str())] {
        host.send(json!({"id": 2, "method": "tools.execute", "params": {
            "sessionId": "s", "toolCallId": call, "toolName": tool, "args": {}}}));
        let answer = host.take(&"refusal", |message| message["id"] == 2);
        assert_eq!(
            answer["error"]["data"]["code"], "INVALID_PARAMS",
            "{answer}"
        );
    }
}
