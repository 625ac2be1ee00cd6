//! Requests and clients for the tests.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use guardian_facts::{AccessKind, Facts, RootPaths, Scope, Sensitivity};
use guardian_review::{
    ArgsPreview, Attendance, HumanClients, PendingQueue, Posted, RequestIds, ReviewRequest,
    Settlement, ShownPath,
};
use guardian_rules::{
    AllowedDecision, Cause, Decision, Grant, GrantScope, OperatingMode, PermissionMode, Policy,
    Preset, SandboxState, Situation, Suggestion, ToolKind, ToolRisk, Verdict, evaluate,
};
use serde_json::{Value, json};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);

/// The verdict of a Write in the workspace in mode `ask`, turned into what a test needs.
pub(crate) fn verdict(decision: Decision) -> Verdict {
    let grant = Grant {
        tool_name: "Write".to_owned(),
        scope: GrantScope::Roots,
    };
    Verdict {
        decision,
        cause: Cause::NotCovered,
        decided_by: vec!["mode-table".to_owned()],
        reasons: vec!["permission mode `ask` asks about every Write".to_owned()],
        allowed_decisions: vec![
            AllowedDecision::AllowOnce,
            AllowedDecision::AllowSession,
            AllowedDecision::Deny,
        ],
        human_only: false,
        session_grant: Some(grant),
        ..evaluate(
            &Facts::empty("Write"),
            &situation(),
            &Policy::builtin(Preset::Standard),
        )
    }
}

/// Mode agent, permission mode ask, nothing granted.
pub(crate) fn situation() -> Situation {
    Situation {
        mode: OperatingMode::Agent,
        permission_mode: PermissionMode::Ask,
        roots: RootPaths {
            workspace: Some(PathBuf::from("/home/dev/proj")),
            scratch: PathBuf::from("/data/scratch/s1"),
            home: PathBuf::from("/home/dev"),
            guardian_data: PathBuf::from("/data"),
            guardian_config: Vec::new(),
            guardian_executables: Vec::new(),
        },
        grants: Vec::new(),
        delegate: None,
        tool_kind: ToolKind::Change,
        tool_risk: ToolRisk::High,
        attended: true,
        sandbox: SandboxState::Unavailable,
        accepted_commands: BTreeSet::new(),
        snapshot_possible: true,
        overwrites_unread: false,
    }
}

pub(crate) fn preview(value: Value) -> ArgsPreview {
    ArgsPreview {
        value,
        whole: true,
        masked: false,
    }
}

/// A Write in the workspace.
pub(crate) fn request(session_id: &str, request_id: &str) -> ReviewRequest {
    let ids = RequestIds {
        request_id: request_id.to_owned(),
        session_id: session_id.to_owned(),
        turn_id: None,
        tool_call_id: format!("call-{request_id}"),
    };
    let mut facts = Facts::empty("Write");
    facts.summary = "writes docs/guide.md in the workspace".to_owned();
    let arguments = json!({"path": "docs/guide.md", "content": "# Guide\n\nHello.\n"});
    let mut request = ReviewRequest::new(
        ids,
        &facts,
        &verdict(Decision::Ask),
        ToolRisk::High,
        preview(arguments),
    );
    request.paths = vec![path(
        AccessKind::Write,
        "/home/dev/proj/docs/guide.md",
        Scope::Workspace,
    )];
    request
}

pub(crate) fn path(access: AccessKind, path: &str, scope: Scope) -> ShownPath {
    ShownPath {
        access,
        path: path.to_owned(),
        scope: Some(scope),
        sensitivity: Sensitivity::default(),
        recursive: false,
        links: 1,
        exact: true,
        when_empty: None,
    }
}

pub(crate) fn suggestion(answer: AllowedDecision, sentence: &str) -> Suggestion {
    Suggestion {
        answer,
        sentence: sentence.to_owned(),
        toml: format!("# {sentence}"),
    }
}

pub(crate) fn queue() -> Arc<PendingQueue> {
    PendingQueue::with_wall_clock(TIMEOUT, wall_clock)
}

/// 2026-01-02 03:04:05 UTC.
pub(crate) fn wall_clock() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_767_323_045)
}

/// What clients were told, in order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Told {
    Posted(String, String),
    Settled(String, String, Settlement),
}

/// Clients that remember what they were told.
pub(crate) struct RecordingClients {
    attendance: Attendance,
    told: Mutex<Vec<Told>>,
}

impl RecordingClients {
    pub(crate) fn new(attendance: Attendance) -> Arc<Self> {
        Arc::new(Self {
            attendance,
            told: Mutex::new(Vec::new()),
        })
    }

    pub(crate) fn told(&self) -> Vec<Told> {
        self.told.lock().unwrap().clone()
    }
}

impl HumanClients for RecordingClients {
    fn attendance(&self, _session_id: &str) -> Attendance {
        self.attendance
    }

    fn post(&self, posted: &Arc<Posted>) {
        let request = &posted.request;
        let told = Told::Posted(request.session_id.clone(), request.request_id.clone());
        self.told.lock().unwrap().push(told);
    }

    fn settled(&self, posted: &Arc<Posted>, settlement: &Settlement) {
        let request = &posted.request;
        let told = Told::Settled(
            request.session_id.clone(),
            request.request_id.clone(),
            settlement.clone(),
        );
        self.told.lock().unwrap().push(told);
    }
}

/// Lets every task that can run, run.
pub(crate) async fn settle_down() {
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
}
