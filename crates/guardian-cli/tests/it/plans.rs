//! `guardian plans`, beside a running host.

use serde_json::{Value, json};

use crate::host_process::{HostProcess, World};

fn ask(host: &mut HostProcess, id: &str, method: &str, params: Value) -> Value {
    host.send(json!({"id": id, "method": method, "params": params}));
    host.take(&id, |message| message["id"] == id)["result"].clone()
}

fn plans(world: &World, arguments: &[&str]) -> String {
    let output = world
        .guardian()
        .arg("plans")
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_plan_that_waits_is_listed_and_one_that_is_over_only_with_all() {
    let world = World::new();
    let mut host = HostProcess::start(&world);
    ask(
        &mut host,
        "h",
        "app.handshake",
        json!({"protocolVersion": 1, "client": {"name": "t"}}),
    );
    ask(
        &mut host,
        "c",
        "session.create",
        json!({"sessionId": "s", "projectPath": world.workspace, "mode": "plan"}),
    );
    assert_eq!(plans(&world, &["--json"]), "");
    let turn = ask(
        &mut host,
        "t",
        "session.beginTurn",
        json!({"sessionId": "s"}),
    );
    let submitted = ask(
        &mut host,
        "p",
        "tools.execute",
        json!({"sessionId": "s", "turnId": turn["turnId"], "toolCallId": "p", "toolName": "SubmitPlan",
            "args": {"title": "A \u{1b}[31mplan\nof two", "markdown": "m", "question": "q"}}),
    );
    let id = submitted["content"]["proposal"]["id"].clone();
    let listed: Value =
        serde_json::from_str(&plans(&world, &["--json", "--session", "s"])).unwrap();
    assert_eq!((&listed["id"], &listed["status"]), (&id, &json!("pending")));
    let shown = plans(&world, &[]);
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.contains(".pi/plan/a-31mplan-of-two-"), "{shown}");
    assert!(!shown.contains("\u{1b}[31m"), "{shown}");
    ask(
        &mut host,
        "a",
        "plans.abort",
        json!({"sessionId": "s", "proposalId": id}),
    );
    assert_eq!(plans(&world, &["--json"]), "");
    assert!(plans(&world, &["--all", "--json"]).contains("aborted"));
    assert_eq!(host.end(), Some(0));
}
