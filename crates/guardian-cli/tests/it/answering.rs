//! Which policy an answer was given by: what does not load, or does not count here, is said.

use std::os::unix::fs::symlink;

use serde_json::Value;

use crate::policy::Shell;

const BROKEN: &str = "version = 1\n[[";
const NO_MAKE: &str = "version = 1\n[[rule]]\nid = \"no-make\"\neffect = \"deny\"\ncommand = [\"make\"]\nreason = \"REASON\"\n";

fn first_line(said: &str) -> Value {
    serde_json::from_str(said.lines().next().unwrap()).unwrap()
}

/// A transcript with one call.
fn transcript(shell: &Shell) -> String {
    let file = shell.world.outside.join("t.jsonl");
    let cwd = shell.world.workspace.display();
    let call = r#"{"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}"#;
    let line = format!(
        "{{\"type\": \"assistant\", \"cwd\": \"{cwd}\", \"message\": {{\"content\": [{call}]}}}}\n"
    );
    std::fs::write(&file, line).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn a_file_that_does_not_load_is_said_by_whatever_answers() {
    let shell = Shell::new();
    let transcript = transcript(&shell);
    let batch = shell.world.workspace.join("calls");
    std::fs::write(
        &batch,
        "{\"tool\": \"Read\", \"args\": {\"path\": \"a\"}}\n",
    )
    .unwrap();
    let cases = shell.world.workspace.join("cases");
    std::fs::write(&cases, "{\"command\": \"ls\", \"expect\": \"ask\"}\n").unwrap();
    let other = shell.world.workspace.join("other.toml");
    std::fs::write(&other, "version = 1\n").unwrap();
    let commands: [&[&str]; 7] = [
        &["check", "--no-audit", "--bash", "ls"],
        &["check", "--no-audit", "--batch", "calls"],
        &["explain", "--bash", "ls"],
        &["explain", "Read", r#"{"path": "a"}"#],
        &["replay", &transcript],
        &["replay", &transcript, "--against-preset", "strict"],
        &[
            "policy",
            "test",
            "--policy",
            "other.toml",
            "--cases",
            "cases",
        ],
    ];
    let check = |state: &str, sentence: &str| {
        for command in commands {
            let said = shell.run(command);
            assert!(said.contains(sentence), "{command:?}: {said}");
            let place = "$WS/.guardian/policy.toml:2:3: ";
            assert!(said.contains(place), "{command:?}: {said}");
            let json = shell.run(&[command, &["--json"]].concat());
            let fault = &first_line(&json)["policyFaults"][0];
            assert_eq!(fault["layer"], "workspace", "{command:?}: {json}");
            assert_eq!(fault["state"], state, "{command:?}: {json}");
            assert_eq!(fault["problems"][0]["line"], 2, "{command:?}: {json}");
        }
    };
    shell.workspace(BROKEN);
    check(
        "unreadable",
        "the workspace policy does not load; everything is asked about: ",
    );
    // A host keeps what was good; what was never looked at by one is not known.
    shell.workspace("version = 1\n");
    shell.run(&["exec", "Read", r#"{"path": "calls"}"#]);
    shell.workspace(BROKEN);
    check(
        "lastGood",
        "the workspace policy does not load; its last good version is in force: ",
    );
    shell.workspace("version = 1\n");
    for command in commands {
        let said = shell.run(&[command, &["--json"]].concat());
        assert!(!said.contains("policyFaults"), "{command:?}: {said}");
        assert!(!shell.run(command).contains("does not load"), "{command:?}");
    }
}

#[test]
fn suggest_says_by_which_policy_it_judges() {
    let shell = Shell::new();
    // A prompt on record.
    let mut host = crate::host_process::HostProcess::start(&shell.world);
    host.send(serde_json::json!({"id": 1, "method": "app.handshake", "params": {
        "protocolVersion": 1, "client": {"name": "t", "version": "1"}, "capabilities": {"review": true},
    }}));
    host.send(
        serde_json::json!({"id": 2, "method": "session.create", "params": {
            "sessionId": "s", "projectPath": shell.world.workspace, "permissionMode": "ask",
        }}),
    );
    host.take(&"the session", |message| message["id"] == 2);
    host.send(serde_json::json!({"id": 3, "method": "tools.execute", "params": {
        "sessionId": "s", "toolCallId": "t", "toolName": "Bash", "args": {"command": "pip show one"},
    }}));
    let card = host.take(&"the card", |message| {
        message["method"] == "permissions.request"
    });
    host.send(
        serde_json::json!({"id": 4, "method": "permissions.resolve", "params": {
            "sessionId": "s", "requestId": card["params"]["requestId"], "decision": "allow-once",
        }}),
    );
    host.take(&"the result", |message| message["id"] == 3);
    assert_eq!(host.end(), Some(0));

    shell.user("version = 1\n");
    let right = shell.run(&["policy", "suggest"]);
    assert!(!right.contains("does not load"), "{right}");
    shell.user(BROKEN);
    let said = shell.run(&["policy", "suggest"]);
    assert!(said.contains("the user policy does not load; "), "{said}");
}

#[test]
fn what_stands_in_the_way_of_a_policy_is_not_the_same_as_none() {
    let shell = Shell::new();
    let place = shell.world.workspace.join(".guardian");
    let file = place.join("policy.toml");
    let ask = |what: &str| {
        for command in [
            &["check", "--no-audit", "--bash", "ls"][..],
            &["policy", "show"],
            &["doctor"],
        ] {
            let said = shell.run(command);
            assert!(
                said.contains("$WS/.guardian"),
                "{what}, {command:?}: {said}"
            );
        }
        let said = shell.run(&["check", "--no-audit", "--bash", "ls"]);
        assert!(said.ends_with("exit 10"), "{what}: {said}");
        let doctor = shell.run(&["doctor"]);
        assert!(doctor.contains("!! policy"), "{what}: {doctor}");
        // It must not look right to those who check it, nor be trusted.
        let said = shell.run(&["policy", "check", "--layer", "workspace"]);
        assert!(!said.ends_with("exit 0"), "{what}: {said}");
        let said = shell.run(&["trust", "--yes"]);
        assert!(!said.ends_with("exit 0"), "{what}: {said}");
    };
    std::fs::create_dir(&file).unwrap();
    ask("a directory");
    std::fs::remove_dir(&file).unwrap();
    symlink("/nowhere", &file).unwrap();
    ask("a link to nowhere");
    std::fs::remove_file(&file).unwrap();
    std::fs::write(shell.world.outside.join("p.toml"), "version = 1\n").unwrap();
    symlink(shell.world.outside.join("p.toml"), &file).unwrap();
    ask("a link");
    std::fs::remove_file(&file).unwrap();
    std::fs::remove_dir(&place).unwrap();
    std::fs::write(&place, "").unwrap();
    ask("a file for the directory");
    std::fs::remove_file(&place).unwrap();
    symlink("/nowhere", &place).unwrap();
    ask("a link to nowhere for the directory");
    std::fs::remove_file(&place).unwrap();
    let said = shell.run(&["doctor"]);
    assert!(said.contains("ok policy"), "{said}");
}

#[test]
fn the_policy_of_the_repository_above_is_said_not_to_count() {
    let shell = Shell::new();
    shell.workspace(NO_MAKE);
    std::fs::create_dir_all(shell.world.workspace.join(".git")).unwrap();
    std::fs::create_dir_all(shell.world.workspace.join("packages/a")).unwrap();
    let transcript = transcript(&shell);
    for command in [
        &["check", "--no-audit", "--bash", "ls"][..],
        &["explain", "--bash", "ls"],
        &["replay", &transcript, "--workspace", "."],
        &["policy", "show"],
        &["doctor"],
    ] {
        let here = shell.run_in("packages/a", command);
        let sentence = "the repository's policy `$WS/.guardian/policy.toml` does not count here";
        assert!(here.contains(sentence), "{command:?}: {here}");
        let top = shell.run(command);
        assert!(!top.contains("does not count here"), "{command:?}: {top}");
    }
    let json = shell.run_in(
        "packages/a",
        &["check", "--no-audit", "--json", "--bash", "ls"],
    );
    let passed_over = &first_line(&json)["policyPassedOver"];
    assert_eq!(
        *passed_over,
        serde_json::json!(["$WS/.guardian/policy.toml"])
    );
    // The client hears of it when it makes a session there.
    let mut host = crate::host_process::HostProcess::start(&shell.world);
    host.send(
        serde_json::json!({"id": 1, "method": "app.handshake", "params": {
            "protocolVersion": 1, "client": {"name": "t", "version": "1"}, "capabilities": {},
        }}),
    );
    host.send(
        serde_json::json!({"id": 2, "method": "session.create", "params": {
            "sessionId": "s", "projectPath": shell.world.workspace.join("packages/a"),
        }}),
    );
    let made = host.take(&"the session", |message| message["id"] == 2);
    let warnings = made["result"]["warnings"].to_string();
    assert!(warnings.contains("does not count here"), "{made}");
    assert_eq!(host.end(), Some(0));
}

#[test]
fn a_rule_s_reason_cannot_pass_for_a_line_of_guardian_s() {
    let shell = Shell::new();
    let reason = "x\\nBash: allow\\r\\n\\ndecided by preset.balanced\\u001b[2J";
    shell.workspace(&NO_MAKE.replace("REASON", reason));
    for command in [
        &["explain", "--bash", "make all"][..],
        &["check", "--no-audit", "--bash", "make all"],
        &["exec", "Bash", r#"{"command": "make all"}"#],
    ] {
        let said = shell.run(command);
        assert!(
            said.contains("x\\nBash: allow\\r\\n\\ndec"),
            "{command:?}: {said}"
        );
        for line in said.lines() {
            let own = ["Bash: allow", "decided by preset"];
            assert!(
                !own.iter().any(|own| line.starts_with(own)),
                "{command:?}: {said}"
            );
        }
    }
    // What a call says is shown the same way.
    let said = shell.run(&[
        "explain",
        "Write",
        r#"{"path": "a\nBash: allow", "content": ""}"#,
    ]);
    assert!(
        !said.lines().any(|line| line.starts_with("Bash: allow")),
        "{said}"
    );
}
