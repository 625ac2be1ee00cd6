//! A fault inside the host answers `INTERNAL` and leaves the host in working order.

use std::io::{BufRead, BufReader, Write};
use std::sync::Arc;

use guardian_host::rules::SessionPermissionMode;
use guardian_host::wire::{Connection, Outbound};
use guardian_host::{Event, EventSink};
use guardian_testkit::ProjectFixture;
use serde_json::{Value, json};

use crate::support::host;

/// An embedder's sink with a fault in it: it panics on the thread that does the work.
struct FaultySink;

impl EventSink for FaultySink {
    fn emit(&self, event: Event) {
        match event {
            Event::PermissionRequest { .. } => panic!("a fault in showing a card"),
            Event::ToolOutput { .. } => panic!("a fault in passing output on"),
            Event::PermissionResolved { .. }
            | Event::ReviewerDenied { .. }
            | Event::PolicyChanged { .. }
            | Event::PlansChanged { .. }
            | Event::AskRequest { .. }
            | Event::BrowserPreview { .. }
            | Event::SessionChanged { .. } => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_answers_internal_and_the_host_goes_on() {
    let fixture = ProjectFixture::new().unwrap();
    let host = host(&fixture, SessionPermissionMode::Ask, Arc::new(FaultySink)).await;
    let (input, mut to_host) = std::io::pipe().unwrap();
    let (from_host, output) = std::io::pipe().unwrap();
    let outbound = Outbound::default();
    let writer = outbound.clone();
    let writing = std::thread::spawn(move || writer.write_all(output));
    let serving = tokio::spawn(Connection::serve(
        host,
        outbound,
        BufReader::new(input),
        std::future::pending(),
    ));

    let execute = |id: u32, tool: &str, args: Value| {
        json!({"id": id, "method": "tools.execute", "params": {
            "sessionId": "s", "toolCallId": id.to_string(), "toolName": tool, "args": args,
        }})
    };
    let requests = [
        json!({"id": 1, "method": "app.handshake",
            "params": {"protocolVersion": 1, "client": {"name": "t"}}}),
        execute(2, "Write", json!({"path": "x.txt", "content": "x"})),
        json!({"id": 3, "method": "session.configure",
            "params": {"sessionId": "s", "permissionMode": "auto"}}),
        execute(4, "Bash", json!({"command": "echo out"})),
        execute(5, "Read", json!({"path": "README.md"})),
        json!({"id": 6, "method": "app.health"}),
    ];
    let mut lines = BufReader::new(from_host).lines();
    let mut answers = Vec::new();
    for mut request in requests {
        request["jsonrpc"] = "2.0".into();
        writeln!(to_host, "{request}").unwrap();
        let (back, line) = tokio::task::spawn_blocking(move || {
            let line = lines.next().unwrap().unwrap();
            (lines, line)
        })
        .await
        .unwrap();
        lines = back;
        answers.push(serde_json::from_str::<Value>(&line).unwrap());
    }
    drop(to_host);
    serving.await.unwrap();
    writing.join().unwrap();

    let code = |index: usize| {
        let answer: &Value = &answers[index];
        let error = answer.pointer("/error/data/code");
        error
            .or_else(|| answer.pointer("/result/errorCode"))
            .and_then(Value::as_str)
    };
    assert_eq!(code(1), Some("INTERNAL"), "{}", answers[1]);
    assert!(!fixture.workspace().join("x.txt").exists());
    assert_eq!(code(3), Some("INTERNAL"), "{}", answers[3]);
    assert_eq!(answers[4]["result"]["ok"], true, "{}", answers[4]);
    assert_eq!(answers[5]["result"]["inFlight"], 0, "{}", answers[5]);
}
