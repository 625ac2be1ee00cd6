//! Delegates: the cases of area subagent, and the mode matrix once more with delegate and forged
//! calls. Cards are denied, so that only what policy allows runs.

use std::sync::{Arc, OnceLock};

use guardian_host::review::HumanAnswer;
use guardian_host::rules::{OperatingMode, SessionPermissionMode};
use guardian_host::{Event, EventSink, Host, SessionChange, ToolOutcome, ToolRequest};
use guardian_testkit::cases::{self, ReportCase};
use guardian_testkit::{Expectation, ProjectFixture};
use serde_json::{Value, json};

use crate::support::host;

/// Denies every card and keeps who asked.
#[derive(Default)]
struct Denies {
    host: OnceLock<Arc<Host>>,
    asked: std::sync::Mutex<Vec<Option<String>>>,
}

impl EventSink for Denies {
    fn emit(&self, event: Event) {
        if let Event::PermissionRequest { posted } = event {
            self.asked
                .lock()
                .unwrap()
                .push(posted.request.delegate.clone());
            let host = Arc::clone(self.host.get().unwrap());
            let request = posted.request.clone();
            std::thread::spawn(move || {
                let answer = HumanAnswer::word("deny");
                host.resolve_permission(&request.session_id, &request.request_id, &answer);
            });
        }
    }
}

struct World {
    fixture: ProjectFixture,
    host: Arc<Host>,
    sink: Arc<Denies>,
    calls: std::cell::Cell<usize>,
}

impl World {
    async fn new(policy: &str, mode: SessionPermissionMode) -> Self {
        let fixture = ProjectFixture::new().unwrap();
        let directory = fixture.home().join(".config/guardian");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("policy.toml"), policy).unwrap();
        let sink = Arc::new(Denies::default());
        let host = host(&fixture, mode, Arc::clone(&sink) as Arc<dyn EventSink>).await;
        sink.host.set(Arc::clone(&host)).ok().unwrap();
        Self {
            fixture,
            host,
            sink,
            calls: std::cell::Cell::new(0),
        }
    }

    async fn call(
        &self,
        session: &str,
        delegate: Option<&str>,
        tool: &str,
        args: Value,
    ) -> ToolOutcome {
        self.calls.set(self.calls.get() + 1);
        let id = format!("c{}", self.calls.get());
        let request = ToolRequest {
            delegate_id: delegate.map(str::to_owned),
            ..ToolRequest::new(session, id, tool, args)
        };
        self.host.execute(request).await.unwrap()
    }

    /// A delegate of session `s` with these tools.
    async fn delegate(&self, name: &str, tools: &str) -> String {
        let definition = format!("---\nname: {name}\ndescription: d\ntools: {tools}\n---\n");
        self.host.define_agent("s", &definition).await.unwrap();
        let started = self
            .call("s", None, "Task", json!({"agent": name, "task": "x"}))
            .await;
        started.content["delegateId"].as_str().unwrap().to_owned()
    }
}

/// `allow`: it was permitted (whatever the tool then did); `ask`: a card was denied; `deny`.
fn decision(outcome: &ToolOutcome) -> &'static str {
    match (outcome.denied, outcome.content["cause"].as_str()) {
        (false, _) => "allow",
        (true, Some("user")) => "ask",
        (true, _) => "deny",
    }
}

fn right(case: &ReportCase, expected: Expectation, decision: &str) {
    let fits = match expected {
        Expectation::Allow => decision == "allow",
        Expectation::Ask => matches!(decision, "ask" | "deny"),
        Expectation::Deny => decision == "deny",
        Expectation::Result => false,
    };
    assert!(fits, "{}: got {decision}, wanted {}", case.id, case.expect);
}

/// The policy and the delegate that a case describes in words.
async fn decide(case: &ReportCase, held: Held) -> &'static str {
    let rule = |effect: &str, conditions: &str| {
        format!(
            "version = 1\n[[rule]]\nid = \"r\"\neffect = \"{effect}\"\ndelegate = \"sub\"\n{conditions}\n"
        )
    };
    let (policy, mode, tools) = match case.id.as_str() {
        "c264" => (
            rule("deny", "command = [\"git\", \"push\"]"),
            SessionPermissionMode::Auto,
            Some("Bash"),
        ),
        "c265" => ("version = 1\n".to_owned(), SessionPermissionMode::Ask, None),
        "c266" => (
            "version = 1\n[[rule]]\nid = \"a\"\neffect = \"allow\"\ntool = \"Bash\"\n".to_owned(),
            SessionPermissionMode::Ask,
            Some(if held == Held::Tool { "Bash" } else { "Read" }),
        ),
        "c284" => (
            rule("deny", "tool = \"Read\"\npaths = [\"src/secret/**\"]"),
            SessionPermissionMode::Auto,
            Some("Read"),
        ),
        "c285" => (
            "version = 1\n".to_owned(),
            SessionPermissionMode::Auto,
            Some("Nothing"),
        ),
        "c286" => (
            "version = 1\n".to_owned(),
            SessionPermissionMode::Auto,
            Some("Read"),
        ),
        "c287" => (
            "version = 1\n".to_owned(),
            SessionPermissionMode::AcceptEdits,
            Some("Read, Edit"),
        ),
        "c289" | "c290" => (
            "version = 1\n".to_owned(),
            SessionPermissionMode::Ask,
            Some("*"),
        ),
        other => panic!("{other} is not known here"),
    };
    let world = World::new(&policy, mode).await;
    world.fixture.write("a.txt", "a").unwrap();
    world.fixture.write("src/secret/a", "a").unwrap();
    let delegate = match tools {
        Some(tools) => Some(world.delegate("sub", tools).await),
        None => None,
    };
    let tool = case.input.tool.as_deref().unwrap();
    let args = case.input.args.clone().unwrap();
    decision(&world.call("s", delegate.as_deref(), tool, args).await)
}

#[derive(Clone, Copy, PartialEq)]
enum Held {
    Tool,
    Nothing,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cases_about_delegates() {
    let Some(reports) = cases::reports() else {
        return;
    };
    let mut seen = 0;
    for case in reports
        .iter()
        .filter(|case| case.input.rest.contains_key("actor"))
    {
        seen += 1;
        let expected = case.expectation();
        right(case, expected, decide(case, Held::Tool).await);
        if case.id == "c266" {
            right(case, Expectation::Deny, decide(case, Held::Nothing).await);
        }
    }
    assert_eq!(seen, 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_card_and_the_record_name_the_delegate() {
    let world = World::new("version = 1\n", SessionPermissionMode::Ask).await;
    let delegate = world.delegate("sub", "Bash").await;
    let args = json!({"command": "touch x"});
    let outcome = world.call("s", Some(&delegate), "Bash", args.clone()).await;
    assert_eq!(decision(&outcome), "ask");
    world.call("s", None, "Bash", args).await;
    assert_eq!(
        *world.sink.asked.lock().unwrap(),
        [Some("sub".to_owned()), None]
    );
}

const TOOLS: &[(&str, &str)] = &[
    ("Write", "WRITE_DISABLED_IN_PLAN"),
    ("Edit", "EDIT_DISABLED_IN_PLAN"),
    ("plugin_a_b", "PLUGIN_DISABLED_IN_PLAN"),
    ("mcp_a_b", "PLUGIN_DISABLED_IN_PLAN"),
    ("Task", "TOOL_DISABLED_IN_PLAN"),
    ("ToolSearch", "TOOL_DISABLED_IN_PLAN"),
    ("Skill", "TOOL_DISABLED_IN_PLAN"),
    ("PluginScaffold", "TOOL_DISABLED_IN_PLAN"),
    ("write", "TOOL_DISABLED_IN_PLAN"),
    ("Write ", "TOOL_DISABLED_IN_PLAN"),
    ("NoSuchTool", "TOOL_DISABLED_IN_PLAN"),
    ("EnterPlanMode", "PLAN_ALREADY_ACTIVE"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plan_and_goal_refuse_changes_whoever_calls_and_whoever_approves() {
    let allow_all = "version = 1\n[[rule]]\nid = \"a\"\neffect = \"allow\"\ntool = \"*\"\n";
    let world = World::new(allow_all, SessionPermissionMode::Auto).await;
    let delegate = world.delegate("sub", "*").await;
    world.host.finish_task("s", &delegate).await.unwrap();
    for mode in [OperatingMode::Plan, OperatingMode::Goal] {
        for permission in [
            SessionPermissionMode::Ask,
            SessionPermissionMode::AcceptEdits,
            SessionPermissionMode::Auto,
        ] {
            let change = SessionChange {
                mode: Some(mode),
                permission_mode: Some(permission),
                ..SessionChange::default()
            };
            world.host.configure_session("s", change).await.unwrap();
            for (tool, code) in TOOLS {
                for caller in [None, Some(delegate.as_str()), Some("d-forged")] {
                    let args = json!({"path": "x.txt", "content": "x", "mode": "agent"});
                    let outcome = world.call("s", caller, tool, args).await;
                    let got = outcome.error_code.map(|code| code.as_str());
                    assert_eq!(got, Some(*code), "{tool} by {caller:?} in {mode:?}");
                }
            }
            let read = json!({"path": "README.md"});
            let closed = world.call("s", Some(&delegate), "Read", read.clone()).await;
            assert_eq!(closed.content["cause"], "delegate");
            let forged = world.call("s", Some("d-forged"), "Read", read).await;
            assert_eq!(forged.content["cause"], "delegate");
        }
    }
    assert!(!world.fixture.workspace().join("x.txt").exists());
    assert!(world.sink.asked.lock().unwrap().is_empty());
}
