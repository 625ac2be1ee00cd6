//! `explain`, `policy` and `trust` as a user sees them.

use std::fmt::Write as _;

use crate::host_process::World;

pub(crate) struct Shell {
    pub(crate) world: World,
}

impl Shell {
    pub(crate) fn new() -> Self {
        let world = World::new();
        std::fs::create_dir_all(world.home.join(".config/guardian")).unwrap();
        std::fs::create_dir_all(world.workspace.join(".guardian")).unwrap();
        Self { world }
    }

    pub(crate) fn user(&self, text: &str) {
        std::fs::write(self.world.home.join(".config/guardian/policy.toml"), text).unwrap();
    }

    pub(crate) fn workspace(&self, text: &str) {
        std::fs::write(self.world.workspace.join(".guardian/policy.toml"), text).unwrap();
    }

    /// Exit code and output, with the places of this run by their names.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        self.run_in("", arguments)
    }

    /// The same, in a directory of the workspace.
    pub(crate) fn run_in(&self, directory: &str, arguments: &[&str]) -> String {
        let out = self
            .world
            .guardian()
            .current_dir(self.world.workspace.join(directory))
            .args(arguments)
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap();
        let mut text = String::new();
        write!(
            text,
            "{}{}exit {}",
            String::from_utf8(out.stdout).unwrap(),
            String::from_utf8(out.stderr).unwrap(),
            out.status.code().unwrap()
        )
        .unwrap();
        for (path, name) in [
            (&self.world.workspace, "$WS"),
            (&self.world.outside, "$OUT"),
            (&self.world.home, "$HOME"),
        ] {
            text = text.replace(path.to_str().unwrap(), name);
        }
        // Ids of suggestions are hashes of what they say, paths included.
        let named = |line: &str| match line.split_once("id = \"always-") {
            Some((before, _)) => format!("{before}id = \"always-…\""),
            None => line.to_owned(),
        };
        text.lines().map(named).collect::<Vec<_>>().join("\n")
    }
}

const RULES: &str = "version = 1
preset = \"balanced\"

# people push here
[[rule]]
id = \"no-push\"
effect = \"deny\"
command = [\"git\", \"push\"]
match = [\"git push origin main\"]
not_match = [\"git status\"]
";

#[test]
fn explain_shows_facts_rules_and_what_would_change_it() {
    let shell = Shell::new();
    shell.user(RULES);
    insta::assert_snapshot!(
        "explain_deny",
        shell.run(&["explain", "--bash", "ls && git push"])
    );
    insta::assert_snapshot!(
        "explain_unknown",
        shell.run(&[
            "explain",
            "--bash",
            "ls src\n./deploy.sh $TARGET\nfrobnicate --all"
        ])
    );
    insta::assert_snapshot!(
        "explain_write",
        shell.run(&[
            "explain",
            "Write",
            r#"{"path": "docs/a.md", "content": "x"}"#
        ])
    );
}

#[test]
fn explain_shows_rules_by_their_id() {
    let shell = Shell::new();
    shell.user(RULES);
    insta::assert_snapshot!("explain_rule", shell.run(&["explain", "no-push"]));
    let floor = shell.run(&["explain", "floor.fork-bomb"]);
    assert!(floor.contains("denies, always"), "{floor}");
    let unknown = shell.run(&["explain", "no-such-rule"]);
    assert!(unknown.ends_with("exit 2"), "{unknown}");
    let list = shell.run(&["explain"]);
    assert!(list.contains("floor.fork-bomb"), "{list}");
    let json = shell.run(&["explain", "--bash", "ls && git push", "--json"]);
    let line: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(line["decision"], "deny");
    assert_eq!(line["verdict"]["decidedBy"], serde_json::json!(["no-push"]));
}

#[test]
fn policy_check_points_at_what_is_wrong() {
    let shell = Shell::new();
    shell.user(RULES);
    insta::assert_snapshot!("check_right", shell.run(&["policy", "check"]));
    shell.user(&RULES.replace("effect = \"deny\"", "efect = \"deny\""));
    insta::assert_snapshot!("check_wrong_key", shell.run(&["policy", "check"]));
    shell.user(&RULES.replace("git status", "git push -f"));
    insta::assert_snapshot!("check_wrong_example", shell.run(&["policy", "check"]));
    shell.workspace("version = 1\npreset = \"balanced\"\n");
    insta::assert_snapshot!(
        "check_workspace",
        shell.run(&["policy", "check", "--layer", "workspace"])
    );
    let json = shell.run(&["policy", "check", "--layer", "workspace", "--json"]);
    let line: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(line["ok"], false);
    assert_eq!(line["errors"][0]["line"], 2);
    // Where a repository's file lies, it is read as one.
    let named = shell.run(&["policy", "check", ".guardian/policy.toml"]);
    assert!(named.ends_with("exit 13"), "{named}");
}

#[test]
fn policy_check_says_what_to_do_about_a_file_that_is_not_there_or_not_text() {
    let shell = Shell::new();
    let file = shell.world.home.join(".config/guardian/policy.toml");
    let _ = std::fs::remove_file(&file);
    insta::assert_snapshot!("check_absent", shell.run(&["policy", "check"]));
    std::fs::write(&file, b"version = 1\n# \xff\n").unwrap();
    insta::assert_snapshot!("check_not_text", shell.run(&["policy", "check"]));
}

#[test]
fn a_batch_says_which_line_is_no_call() {
    let shell = Shell::new();
    let file = shell.world.workspace.join("calls");
    std::fs::write(
        &file,
        "{\"tool\": \"Read\", \"args\": {\"path\": \"a\"}}\n\nx\n",
    )
    .unwrap();
    let said = shell.run(&["check", "--batch", "calls"]);
    assert!(said.contains("\"line\":3"), "{said}");
}

#[test]
fn a_broken_file_is_told_once_and_without_colours() {
    let shell = Shell::new();
    shell.user("version = 1\n[[");
    let said = shell.run(&["check", "--bash", "ls"]);
    assert!(!said.contains('\u{1b}') && !said.contains("WARN"), "{said}");
}

#[test]
fn policy_test_decides_cases_by_the_file() {
    let shell = Shell::new();
    shell.user(RULES);
    let cases = "{\"command\": \"git push\", \"expect\": \"deny\"}\n\n{\"command\": \"ls\", \"expect\": \"deny\"}\n{\"tool\": \"Read\", \"args\": {\"path\": \"a\"}, \"expect\": \"allow\"}\nnot json\n";
    std::fs::write(shell.world.workspace.join("cases.jsonl"), cases).unwrap();
    insta::assert_snapshot!(
        "policy_test",
        shell.run(&["policy", "test", "--cases", "cases.jsonl"])
    );
}

#[test]
fn policy_fmt_changes_layout_only() {
    let shell = Shell::new();
    shell.user("version=1\n[[rule]]\nid='a'\neffect='deny'\ncommand=['x']\n");
    assert!(
        shell
            .run(&["policy", "fmt", "--check"])
            .ends_with("exit 13")
    );
    assert!(shell.run(&["policy", "fmt"]).ends_with("formatted\nexit 0"));
    assert!(shell.run(&["policy", "fmt", "--check"]).ends_with("exit 0"));
    let text = std::fs::read_to_string(shell.world.home.join(".config/guardian/policy.toml"));
    insta::assert_snapshot!("policy_fmt", text.unwrap());
}

#[test]
fn trust_is_given_to_bytes_and_taken_back() {
    let shell = Shell::new();
    let allow = "version = 1\n[[rule]]\nid = \"make\"\neffect = \"allow\"\ncommand = [\"make\"]\n";
    shell.workspace(allow);
    let check = ["check", "--no-audit", "--bash", "make all"];
    assert!(shell.run(&check).ends_with("exit 10"));
    insta::assert_snapshot!("show_untrusted", shell.run(&["policy", "show"]));
    assert!(
        shell.run(&["trust"]).ends_with("exit 2"),
        "without a terminal only with --yes"
    );
    assert!(shell.run(&["trust", "--yes"]).ends_with("exit 0"));
    assert!(shell.run(&check).ends_with("exit 0"));
    assert!(
        shell
            .run(&["trust", "--list", "--json"])
            .contains("$WS/.guardian/policy.toml")
    );
    shell.workspace(&format!("{allow}# one more byte\n"));
    assert!(shell.run(&check).ends_with("exit 10"));
    shell.workspace(allow);
    assert!(shell.run(&["trust", "--remove"]).ends_with("exit 0"));
    assert!(shell.run(&check).ends_with("exit 10"));
    shell.workspace("version = 1\nrules = 3\n");
    assert!(shell.run(&["trust", "--yes"]).ends_with("exit 13"));
}

#[test]
fn a_policy_is_not_managed_from_inside_a_call() {
    let shell = Shell::new();
    for arguments in [["policy", "show"], ["trust", "--yes"], ["policy", "fmt"]] {
        let out = shell
            .world
            .guardian()
            .args(arguments)
            .env("GUARDIAN_INSIDE_CALL", "1")
            .output()
            .unwrap();
        assert_eq!(out.status.code(), Some(11), "{arguments:?}");
    }
}

/// Asks a host of its own what a command would be.
fn decision(host: &mut crate::host_process::HostProcess, id: u32, command: &str) -> String {
    host.send(serde_json::json!({"id": id, "method": "permissions.evaluate", "params": {
        "sessionId": "s", "toolCallId": id.to_string(), "toolName": "Bash", "args": {"command": command},
    }}));
    let answer = host.take(&command, |message| message["id"] == id);
    answer["result"]["decision"].as_str().unwrap().to_owned()
}

#[test]
fn what_waits_in_a_running_host_is_accepted_from_the_shell() {
    let shell = Shell::new();
    shell.user(RULES);
    let mut host = crate::host_process::HostProcess::start(&shell.world);
    host.send(serde_json::json!({"id": 900, "method": "app.handshake", "params": {
        "protocolVersion": 1, "client": {"name": "test", "version": "1"}, "capabilities": {"review": true},
    }}));
    host.send(
        serde_json::json!({"id": 901, "method": "session.create", "params": {
            "sessionId": "s", "projectPath": shell.world.workspace, "permissionMode": "ask",
        }}),
    );
    host.take(&"the session", |message| message["id"] == 901);
    assert_eq!(decision(&mut host, 1, "git push"), "deny");
    let nothing = shell.run(&["policy", "accept", "--yes"]);
    assert!(nothing.contains("nothing waits"), "{nothing}");

    shell.user(&RULES.replace("\"deny\"", "\"ask\""));
    assert_eq!(decision(&mut host, 2, "git push"), "deny", "it waits");
    // Without a terminal it is shown and not taken.
    insta::assert_snapshot!("accept_shown", shell.run(&["policy", "accept"]));
    assert_eq!(decision(&mut host, 3, "git push"), "deny");
    let accepted = shell.run(&["policy", "accept", "--yes"]);
    assert!(accepted.ends_with("accepted for s\nexit 0"), "{accepted}");
    assert_eq!(decision(&mut host, 4, "git push"), "ask");
    assert_eq!(host.end(), Some(0));
}

#[test]
fn suggest_prints_the_rules_that_would_have_removed_the_most_prompts() {
    let shell = Shell::new();
    shell.user("version = 1\n");
    let mut host = crate::host_process::HostProcess::start(&shell.world);
    host.send(serde_json::json!({"id": 900, "method": "app.handshake", "params": {
        "protocolVersion": 1, "client": {"name": "test", "version": "1"}, "capabilities": {"review": true},
    }}));
    host.send(
        serde_json::json!({"id": 901, "method": "session.create", "params": {
            "sessionId": "s", "projectPath": shell.world.workspace, "permissionMode": "ask",
        }}),
    );
    host.take(&"the session", |message| message["id"] == 901);
    let commands = [
        "pip show one",
        "pip show two",
        "pip show two",
        "wc -l a.txt",
        "python3 -c 1",
        "git push --force",
    ];
    for (id, command) in (1..).zip(commands) {
        host.send(serde_json::json!({"id": id, "method": "tools.execute", "params": {
            "sessionId": "s", "toolCallId": format!("t{id}"), "toolName": "Bash", "args": {"command": command},
        }}));
        let card = host.take(&command, |message| {
            message["method"] == "permissions.request"
        });
        // What was refused is nothing to make a rule of.
        let refused = command.starts_with("wc") || command.starts_with("git");
        let answer = if refused { "deny" } else { "allow-once" };
        host.send(
            serde_json::json!({"id": 500 + id, "method": "permissions.resolve", "params": {
                "sessionId": "s", "requestId": card["params"]["requestId"], "decision": answer,
            }}),
        );
        host.take(&command, |message| message["id"] == id);
    }
    assert_eq!(host.end(), Some(0));
    insta::assert_snapshot!("suggest", shell.run(&["policy", "suggest"]));
    let json = shell.run(&["policy", "suggest", "--json", "--limit", "1"]);
    let line: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(line["prompts"], 3);
    // Taken into the file, it removes these prompts and no others.
    shell.user(&format!("version = 1\n{}", line["rule"].as_str().unwrap()));
    for (command, code) in [
        ("pip show three", 0),
        ("pip show three --files", 10),
        ("pip list", 10),
    ] {
        let out = shell.run(&["check", "--no-audit", "--bash", command]);
        assert!(out.ends_with(&format!("exit {code}")), "{command}: {out}");
    }
}

#[test]
fn replay_decides_recorded_sessions_by_one_policy_or_two() {
    let shell = Shell::new();
    shell.user(RULES);
    let directory = shell.world.outside.join("recorded/deep");
    std::fs::create_dir_all(&directory).unwrap();
    let workspace = shell.world.workspace.to_str().unwrap();
    let call = |id: &str, command: &str| serde_json::json!({"type": "toolCall", "id": id, "name": "bash", "arguments": {"command": command}});
    let lines = [
        serde_json::json!({"type": "session", "version": 3, "id": "x", "cwd": workspace}),
        serde_json::json!({"type": "message", "message": {"role": "assistant", "content": [
            call("1", "ls"), call("2", "git push"), call("3", "make all"), call("4", "make all"),
            {"type": "toolCall", "id": "5", "name": "read", "arguments": {"path": "README.md"}},
            {"type": "toolCall", "id": "6", "name": "teleport", "arguments": {}},
        ]}}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(directory.join("a.jsonl"), text).unwrap();
    let moved = serde_json::json!({"type": "assistant", "cwd": "/gone/project", "message": {"content": [
        {"type": "tool_use", "id": "t", "name": "Write", "input": {"file_path": "/gone/project/x", "content": ""}},
    ]}});
    std::fs::write(directory.join("b.jsonl"), format!("{moved}\n")).unwrap();
    std::fs::write(directory.join("notes.txt"), "no transcript").unwrap();
    let place = shell.world.outside.join("recorded");
    let place = place.to_str().unwrap();
    insta::assert_snapshot!("replay", shell.run(&["replay", place]));
    insta::assert_snapshot!(
        "replay_against",
        shell.run(&["replay", place, "--against-preset", "strict"])
    );
    let json = shell.run(&["replay", place, "--json", "--against-preset", "strict"]);
    let value: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(value["all"]["calls"], 7);
    assert_eq!(value["movedTranscripts"], 1);
    let none = shell.run(&["replay", "/nowhere.jsonl"]);
    assert!(none.ends_with("exit 2"), "{none}");
}

#[test]
fn replay_says_what_it_could_not_read_and_ends_with_a_status_of_its_own() {
    let shell = Shell::new();
    shell.user(RULES);
    let directory = shell.world.outside.join("recorded");
    std::fs::create_dir_all(directory.join("linked-to")).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(directory.join(name), bytes).unwrap();
    let line = |input: &str| {
        format!(
            "{{\"type\": \"assistant\", \"message\": {{\"content\": [{{\"type\": \"tool_use\", \"name\": \"Bash\"{input}}}]}}}}\n"
        )
    };
    let good = line(", \"input\": {\"command\": \"ls\"}");
    write("good.jsonl", good.as_bytes());
    let place = directory.to_str().unwrap();
    let clean = shell.run(&["replay", place, "--json"]);
    assert!(clean.ends_with("exit 0"), "{clean}");
    let value: serde_json::Value = serde_json::from_str(clean.lines().next().unwrap()).unwrap();
    assert_eq!(value["complete"], true);

    let torn = [
        good.as_bytes(),
        b"not json\n",
        line("").as_bytes(),
        b"{\"a\": \"\xff\"}\n",
        b"{\"role\": \"assistant\", \"tool_calls\": [{\"function\": {}}]}\n",
        line(", \"input\": {}").as_bytes(),
        b"\n{\"type\": \"assist",
    ]
    .concat();
    write("torn.jsonl", &torn);
    write("empty.jsonl", b"");
    write(
        "other.jsonl",
        b"{\"some\": \"log\"}\n{\"of\": \"another\"}\nprogram\n",
    );
    std::os::unix::fs::symlink(directory.join("linked-to"), directory.join("link")).unwrap();
    insta::assert_snapshot!("replay_unread", shell.run(&["replay", place]));
    let said = shell.run(&["replay", place, "--json"]);
    assert!(said.ends_with("exit 15"), "{said}");
    let value: serde_json::Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
    assert_eq!(value["complete"], false);
    let unread = &value["unread"];
    for (key, count) in [
        ("linesNotJson", 2),
        ("linesNotUtf8", 1),
        ("incompleteCalls", 1),
        ("unknownRecords", 1),
        ("unknownFiles", 1),
        ("emptyFiles", 1),
        ("directories", 1),
    ] {
        assert_eq!(unread[key], count, "{key}: {unread}");
    }
    let places = unread["places"].as_array().unwrap();
    assert_eq!(places.len(), 8);
    // Each kind alone is enough.
    let empty = directory.join("empty.jsonl");
    let empty = shell.run(&["replay", empty.to_str().unwrap()]);
    assert!(empty.ends_with("exit 15"), "{empty}");
}

#[test]
fn a_case_with_a_member_that_is_not_known_is_wrong() {
    let shell = Shell::new();
    shell.user(RULES);
    let file = shell.world.workspace.join("cases");
    for case in [
        r#"{"command": "git push", "expect": "deny", "expct": "x"}"#,
        r#"{"command": "git push", "expect": "ask", "expect": "deny"}"#,
        r#"{"command": "git push", "tool": "Write", "expect": "deny"}"#,
        r#"{"tool": "Write", "expect": "deny"}"#,
        r#"{"command": "git push", "expect": "deny", "permissionMode": "auto"}"#,
        r#"{"command": "git push", "expect": "forbid"}"#,
        r#"{"command": "git push"}"#,
        r#"{"tool": "Write", "args": 3, "expect": "deny"}"#,
        // It would be refused before any rule is asked.
        r#"{"tool": "Write", "args": {"pth": "x"}, "expect": "deny"}"#,
        r#"{"tool": "Bash", "args": {}, "expect": "deny"}"#,
    ] {
        std::fs::write(&file, case).unwrap();
        let said = shell.run(&["policy", "test", "--cases", "cases"]);
        assert!(
            said.contains("cases:1: not a c") && said.ends_with("exit 13"),
            "{said}"
        );
    }
    std::fs::write(&file, "\n").unwrap();
    let said = shell.run(&["policy", "test", "--cases", "cases"]);
    assert!(
        said.ends_with("exit 13"),
        "an empty file tests nothing: {said}"
    );
    std::fs::write(
        &file,
        r#"{"command": "ls", "expect": "deny", "mode": "plan"}"#,
    )
    .unwrap();
    let said = shell.run(&["policy", "test", "--cases", "cases"]);
    insta::assert_snapshot!("policy_test_wrong_case", said);
}

#[test]
fn fmt_shows_what_is_wrong_with_a_file_that_does_not_load() {
    let shell = Shell::new();
    let file = shell.world.home.join(".config/guardian/policy.toml");
    assert!(shell.run(&["policy", "fmt"]).ends_with("exit 0"), "no file");
    shell.user("version = 1\n[[rule]\n");
    let said = shell.run(&["policy", "fmt", "--check"]);
    insta::assert_snapshot!("fmt_not_toml", said);
    assert_eq!(shell.run(&["policy", "fmt"]), said, "nothing is written");
    let check = shell.run(&["policy", "check"]);
    assert_eq!(said, check, "as `policy check` says it");
    std::fs::write(&file, b"version = 1\n# \xff\n").unwrap();
    let said = shell.run(&["policy", "fmt"]);
    assert!(
        said.contains("it is not UTF-8") && said.ends_with("exit 13"),
        "{said}"
    );
    // Right as TOML, wrong as a policy: it is laid out, and the fault is shown.
    shell.user("version=1\n[[rule]]\nid='a'\nefect='deny'\n");
    let said = shell.run(&["policy", "fmt"]);
    insta::assert_snapshot!("fmt_wrong_key", said);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\n\n[[rule]]\nid = 'a'"), "{text}");
    let json = shell.run(&["policy", "fmt", "--check", "--json"]);
    let line: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&line["ok"], &line["changed"]),
        (&false.into(), &false.into())
    );
    assert_eq!(line["errors"][0]["line"], 5);
}

#[test]
fn a_key_that_is_set_elsewhere_says_where() {
    let shell = Shell::new();
    shell.user("version = 1\nsandbox = \"required\"\n\n[env]\npass = [\"TOKEN\"]\n");
    insta::assert_snapshot!("check_misplaced_keys", shell.run(&["policy", "check"]));
    // Nothing that looks set is quietly not in force.
    let said = shell.run(&["check", "--no-audit", "--bash", "ls"]);
    assert!(said.ends_with("exit 10"), "{said}");
}

#[test]
fn doctor_looks_at_the_policy() {
    let shell = Shell::new();
    shell.user("version = 1\n[[");
    let said = shell.run(&["doctor"]);
    assert!(said.contains("!! policy"), "{said}");
}

#[test]
fn the_file_that_policy_names_is_the_one_that_is_looked_at() {
    let shell = Shell::new();
    shell.user(RULES);
    let broken = shell.world.workspace.join("broken.toml");
    std::fs::write(&broken, "version = 1\n[[").unwrap();
    for command in [
        ["policy", "check", "--policy", "broken.toml"],
        ["policy", "test", "--policy", "broken.toml"],
        ["policy", "fmt", "--policy", "broken.toml"],
    ] {
        let said = shell.run(&command);
        assert!(
            said.contains("broken.toml") && said.ends_with("exit 13"),
            "{said}"
        );
    }
    let said = shell.run(&["policy", "check", "--policy", "nowhere.toml"]);
    assert!(!said.ends_with("exit 0"), "{said}");
    let said = shell.run(&["policy", "check", "broken.toml", "--policy", "x.toml"]);
    assert!(said.ends_with("exit 2"), "{said}");
}
