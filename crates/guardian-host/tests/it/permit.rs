//! Calls whose body runs in the client.

use std::sync::{Arc, Mutex, Weak};

use guardian_facts::{AccessKind, DeclaredExtractor, DeclaredPath};
use guardian_host::judge::DeclaredTool;
use guardian_host::review::HumanAnswer;
use guardian_host::rules::{OperatingMode, SessionPermissionMode, ToolRisk};
use guardian_host::store::{AuditFilter, AuditRow, Store, StoreOptions};
use guardian_host::{
    ErrorCode, Event, EventSink, Host, HostError, SessionChange, ToolOutcome, ToolRequest,
};
use guardian_testkit::ProjectFixture;
use serde_json::json;

use crate::support::host;

/// A person who always gives the same answer.
struct Answers {
    word: &'static str,
    host: Mutex<Weak<Host>>,
}

impl EventSink for Answers {
    fn emit(&self, event: Event) {
        if let Event::PermissionRequest { posted } = event {
            let host = self.host.lock().unwrap().upgrade();
            if let Some(host) = host {
                let (request, word) = (posted.request.clone(), self.word);
                std::thread::spawn(move || {
                    let answer = HumanAnswer::word(word);
                    host.resolve_permission(&request.session_id, &request.request_id, &answer);
                });
            }
        }
    }
}

async fn answering(
    fixture: &ProjectFixture,
    mode: SessionPermissionMode,
    word: &'static str,
) -> Arc<Host> {
    let answers = Arc::new(Answers {
        word,
        host: Mutex::default(),
    });
    let host = host(fixture, mode, Arc::clone(&answers) as Arc<dyn EventSink>).await;
    *answers.host.lock().unwrap() = Arc::downgrade(&host);
    host
}

async fn permit(host: &Arc<Host>) -> ToolOutcome {
    let request = ToolRequest::new("s", "c1", "web_search", json!({"query": "weather"}));
    host.permit(request).await.unwrap()
}

/// What is on record about the call, oldest first.
fn rows(fixture: &ProjectFixture) -> Vec<String> {
    let store = Store::open(StoreOptions::new(fixture.data())).unwrap();
    let filter = AuditFilter {
        tool_call: Some("c1".to_owned()),
        ..AuditFilter::newest()
    };
    let page = store.query_audit(&filter).unwrap();
    let mut events: Vec<String> = page
        .rows
        .iter()
        .map(|row| row.entry.event.to_string())
        .collect();
    events.reverse();
    events
}

#[tokio::test]
async fn a_clients_tool_is_asked_about_under_auto_too_and_may_run_once_approved() {
    let fixture = ProjectFixture::new().unwrap();
    let host = answering(&fixture, SessionPermissionMode::Auto, "allow-once").await;
    let outcome = permit(&host).await;
    assert!(outcome.ok, "{outcome:?}");
    assert_eq!(outcome.content, json!({"permitted": true}));
    // Guardian did not run it, so the only row is the one that says that it is about to.
    assert_eq!(rows(&fixture), ["about-to-run"]);
}

#[tokio::test]
async fn a_refused_tool_of_the_client_is_on_record() {
    let fixture = ProjectFixture::new().unwrap();
    let host = answering(&fixture, SessionPermissionMode::Auto, "deny").await;
    let outcome = permit(&host).await;
    assert!(!outcome.ok && outcome.denied, "{outcome:?}");
    assert_eq!(outcome.content["cause"], "user");
    assert_eq!(rows(&fixture), ["call"]);
}

#[tokio::test]
async fn plan_mode_has_no_tools_of_the_client() {
    let fixture = ProjectFixture::new().unwrap();
    let host = answering(&fixture, SessionPermissionMode::Auto, "allow-once").await;
    let plan = SessionChange {
        title: None,
        mode: Some(OperatingMode::Plan),
        permission_mode: None,
    };
    host.configure_session("s", plan).await.unwrap();
    let outcome = permit(&host).await;
    assert_eq!(outcome.error_code, Some(ErrorCode::ToolDisabledInPlan));
}

fn declares(name: &str) -> DeclaredTool {
    DeclaredTool {
        extractor: DeclaredExtractor {
            tool: name.to_owned(),
            paths: vec![DeclaredPath {
                pointer: "/path".to_owned(),
                access: AccessKind::Write,
            }],
            command: None,
            url: None,
        },
        risk: ToolRisk::Medium,
    }
}

#[tokio::test]
async fn a_declared_path_is_judged_and_the_declaration_changes_the_policys_version() {
    let fixture = ProjectFixture::new().unwrap();
    let host = answering(&fixture, SessionPermissionMode::Auto, "allow-once").await;
    let call = |id: &str, path: &str| {
        let args = json!({ "path": path });
        host.permit(ToolRequest::new("s", id, "make_file", args))
    };
    assert!(
        call("before", "~/.ssh/id_rsa").await.unwrap().ok,
        "nothing is known of it yet"
    );
    let count = host.register_extractors(vec![declares("make_file")]).await;
    assert_eq!(count.unwrap(), 1);
    let denied = call("after", "~/.ssh/id_rsa").await.unwrap();
    assert!(denied.denied, "{denied:?}");
    assert!(
        call("c1", "a.txt").await.unwrap().ok,
        "its effects are not known, so a person is asked"
    );
    let store = Store::open(StoreOptions::new(fixture.data())).unwrap();
    let page = store.query_audit(&AuditFilter::newest()).unwrap();
    let version = |id: &str| {
        let of_call = |row: &&AuditRow| row.entry.tool_call.as_deref() == Some(id);
        page.rows
            .iter()
            .find(of_call)
            .unwrap()
            .entry
            .policy_version
            .clone()
    };
    assert_ne!(version("before"), version("after"));
    let recorded = |row: &AuditRow| {
        row.entry
            .event
            .to_string()
            .contains("extractors-registered")
    };
    assert!(page.rows.iter().any(recorded));
}

#[tokio::test]
async fn a_declaration_shadows_nothing_and_comes_before_the_first_turn() {
    let fixture = ProjectFixture::new().unwrap();
    let host = answering(&fixture, SessionPermissionMode::Auto, "allow-once").await;
    let code = |result: Result<usize, HostError>| result.unwrap_err().code;
    for name in ["Bash", "bash", "mcp_files_read", "a b"] {
        let tools = vec![declares("fine"), declares(name)];
        assert_eq!(
            code(host.register_extractors(tools).await),
            ErrorCode::InvalidParams
        );
    }
    let twice = host.register_extractors(vec![declares("fine"), declares("fine")]);
    assert_eq!(code(twice.await), ErrorCode::Conflict);
    assert_eq!(
        host.register_extractors(vec![declares("fine")])
            .await
            .unwrap(),
        1
    );
    host.begin_turn("s", None, true).await.unwrap();
    let late = host.register_extractors(vec![declares("late")]);
    assert_eq!(code(late.await), ErrorCode::Conflict);
}

#[tokio::test]
async fn guardians_own_tools_cannot_be_permitted_away() {
    let fixture = ProjectFixture::new().unwrap();
    let host = answering(&fixture, SessionPermissionMode::Auto, "allow-once").await;
    let request = ToolRequest::new("s", "c1", "bash", json!({"command": "true"}));
    let error = host.permit(request).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidParams);
}
