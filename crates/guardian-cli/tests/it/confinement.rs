//! Which commands of a real `guardian serve` are confined, by setting and by verdict.

use serde_json::{Value, json};

use crate::host_process::{HostProcess, World};

/// A host with one session `s` in mode `ask` under the preset `balanced`.
struct Scene {
    world: World,
    host: HostProcess,
    calls: usize,
}

impl Scene {
    /// `None`, and a word, where this machine has no bubblewrap that works.
    fn new() -> Option<Self> {
        let world = World::new();
        let output = world
            .guardian()
            .args(["doctor", "--json"])
            .output()
            .unwrap();
        let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
        let of = |what: &str| {
            let mut found = findings.as_array().unwrap().iter();
            found.find(|one| one["what"] == what).unwrap().clone()
        };
        assert_eq!(of("supervisor")["ok"], true, "{findings}");
        let text = of("sandbox")["text"].as_str().unwrap().to_owned();
        if !text.contains("bubblewrap, seen to work") {
            eprintln!("not tested: {text}");
            return None;
        }
        let mut host = HostProcess::start(&world);
        host.send(json!({"id": "h", "method": "app.handshake", "params": {
            "protocolVersion": 1, "client": {"name": "t", "version": "1"},
            "capabilities": {"review": true}}}));
        host.take(&"handshake", |message| message["id"] == "h");
        let mut scene = Self {
            world,
            host,
            calls: 0,
        };
        scene.set(json!({"preset": "balanced"}));
        scene.request(
            "session.create",
            json!({
            "sessionId": "s", "projectPath": scene.world.workspace, "permissionMode": "ask"}),
        );
        Some(scene)
    }

    #[track_caller]
    fn request(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let id = format!("r{}", self.calls);
        self.host
            .send(json!({"id": id, "method": method, "params": params}));
        let answer = self.host.take(&method, |message| message["id"] == *id);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    fn set(&mut self, settings: Value) {
        self.request("settings.set", json!({ "settings": settings }));
    }

    /// The result of a command; a card is answered with `answer`, `None` says that none may come.
    #[track_caller]
    fn run(&mut self, command: &str, answer: Option<Value>) -> Value {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        self.host.send(json!({"id": id, "method": "tools.execute", "params": {
            "sessionId": "s", "toolCallId": id, "toolName": "Bash", "args": {"command": command}}}));
        let met = self.host.take(&command, |message| {
            message["id"] == *id
                || message["method"] == "permissions.request"
                    && message["params"]["toolCallId"] == *id
        });
        if met["id"] == *id {
            assert!(answer.is_none(), "no card came: {met}");
            return met["result"].clone();
        }
        let Some(answer) = answer else {
            panic!("a card came: {met}");
        };
        let mut params = answer;
        params["sessionId"] = "s".into();
        params["requestId"] = met["params"]["requestId"].clone();
        self.request("permissions.resolve", params);
        self.host.take(&command, |message| message["id"] == *id)["result"].clone()
    }
}

fn once() -> Option<Value> {
    Some(json!({"decision": "allow-once"}))
}

fn mechanism(result: &Value) -> &str {
    result["content"]["sandbox"]["mechanism"]
        .as_str()
        .unwrap_or_else(|| panic!("{result}"))
}

#[test]
fn proven_commands_are_confined_and_approved_ones_only_where_that_is_required() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    std::fs::write(scene.world.workspace.join("a.txt"), "one\n").unwrap();
    std::fs::write(scene.world.workspace.join(".env"), "SECRET=1\n").unwrap();
    let outside = scene.world.outside.join("made");
    let script = format!("cat .env; echo x > {}; echo end\n", outside.display());
    std::fs::write(scene.world.workspace.join("run.sh"), script).unwrap();

    let proven = scene.run("cat a.txt", None);
    assert_eq!(proven["content"]["stdout"], "one\n", "{proven}");
    assert_eq!(mechanism(&proven), "bubblewrap");
    assert_eq!(proven["content"]["sandbox"]["network"], false);
    assert_eq!(proven["content"]["ownership"], "pid-namespace");

    let approved = scene.run("bash run.sh", once());
    assert_eq!(mechanism(&approved), "none");
    assert_eq!(approved["content"]["stdout"], "SECRET=1\nend\n");
    std::fs::remove_file(&outside).unwrap();

    scene.set(json!({"sandbox": "required"}));
    let confined = scene.run("bash run.sh", once());
    assert_eq!(mechanism(&confined), "bubblewrap");
    assert_eq!(confined["content"]["stdout"], "end\n", "{confined}");
    assert!(!outside.exists());
    // What the approved facts name is not masked.
    let named = scene.run("cat .env", once());
    assert_eq!(named["content"]["stdout"], "SECRET=1\n", "{named}");
    assert_eq!(mechanism(&named), "bubblewrap");

    scene.set(json!({"sandbox": "off"}));
    assert_eq!(mechanism(&scene.run("cat a.txt", None)), "none");

    let rows = scene.request("audit.query", json!({"sessionId": "s"}));
    let text = rows.to_string();
    assert!(text.contains("bubblewrap"), "{text}");
}

#[test]
fn an_accepted_build_runs_in_the_sandbox_or_is_asked_about() {
    let Some(mut scene) = Scene::new() else {
        return;
    };
    let outside = scene.world.outside.join("made");
    let makefile = format!(
        "check:\n\t@echo built > out.txt\n\t-@cat .env 2>/dev/null\n\t-@echo x > {} 2>/dev/null\n\
         \t-@echo x > .git/hooks/pre-commit 2>/dev/null\n\t@echo done\n",
        outside.display()
    );
    std::fs::create_dir_all(scene.world.workspace.join(".git/hooks")).unwrap();
    std::fs::write(scene.world.workspace.join("Makefile"), makefile).unwrap();
    std::fs::write(scene.world.workspace.join(".env"), "SECRET=1\n").unwrap();
    let always = json!({"decision": "allow-always-for-command-pattern", "rule": 0});
    let first = scene.run("make check", Some(always));
    let second = scene.run("make check", None);
    for result in [first, second] {
        assert_eq!(mechanism(&result), "bubblewrap", "{result}");
        assert_eq!(result["content"]["stdout"], "done\n", "{result}");
    }
    assert!(scene.world.workspace.join("out.txt").exists());
    assert!(!outside.exists());
    assert!(!scene.world.workspace.join(".git/hooks/pre-commit").exists());
    // Without a confinement it counts as never accepted.
    scene.set(json!({"sandbox": "off"}));
    let asked = scene.run("make check", Some(json!({"decision": "deny"})));
    assert_eq!(asked["denied"], true, "{asked}");
    // Neither does another definition.
    scene.set(json!({"sandbox": "auto"}));
    std::fs::write(scene.world.workspace.join("Makefile"), "check:\n\t@id\n").unwrap();
    let asked = scene.run("make check", Some(json!({"decision": "deny"})));
    assert_eq!(asked["denied"], true, "{asked}");
}
