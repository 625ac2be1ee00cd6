//! Calls that are sent without waiting: mutations of one path run in the order of their lines.

use serde_json::json;

use crate::host_process::{HostProcess, World};

const WRITES: u64 = 12;

#[test]
fn the_last_line_sent_is_what_the_file_holds() {
    let world = World::new();
    let mut host = HostProcess::start(&world);
    host.send(json!({"id": "h", "method": "app.handshake",
        "params": {"protocolVersion": 1, "client": {"name": "t"}}}));
    host.take(&"handshake", |message| message["id"] == "h");
    host.send(json!({"id": "s", "method": "session.create", "params": {
        "sessionId": "s", "projectPath": world.workspace, "permissionMode": "accept-edits"}}));
    host.take(&"session", |message| message["id"] == "s");
    for round in 0..4 {
        let path = format!("f{round}");
        for number in 0..WRITES {
            host.send(call(
                &path,
                number,
                "Write",
                json!({
                "path": path, "content": format!("{number}\n")}),
            ));
        }
        // The edit finds what the last write left.
        host.send(call(
            &path,
            WRITES,
            "Edit",
            json!({
            "path": path, "old_string": format!("{}\n", WRITES - 1), "new_string": "edited\n"}),
        ));
        for number in 0..=WRITES {
            let id = format!("{path}-{number}");
            let answer = host.take(&id, |message| message["id"] == id.as_str());
            assert_eq!(answer["result"]["ok"], true, "{answer}");
        }
        let text = std::fs::read_to_string(world.workspace.join(&path)).unwrap();
        assert_eq!(text, "edited\n");
    }
}

fn call(path: &str, number: u64, tool: &str, args: serde_json::Value) -> serde_json::Value {
    let id = format!("{path}-{number}");
    json!({"id": id, "method": "tools.execute", "params": {
        "sessionId": "s", "toolCallId": id, "toolName": tool, "args": args}})
}
