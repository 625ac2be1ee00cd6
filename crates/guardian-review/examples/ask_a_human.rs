//! A call that policy asks about, a card, an answer.
//!
//! `cargo run -p guardian-review --example ask_a_human` plays both sides; a harness would show the
//! card in [`HumanClients::post`] and call [`PendingQueue::resolve`] when its user has answered.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use guardian_facts::{Facts, RootPaths};
use guardian_redact::{PreviewLimits, Redactor};
use guardian_review::{
    ArgsPreview, Attendance, BreakerState, Card, Chain, ChainLink, HumanAnswer, HumanClients,
    HumanReviewer, OnFailure, PendingQueue, Posted, RequestIds, ReviewRequest, Settlement,
};
use guardian_rules::{
    OperatingMode, PermissionMode, Policy, Preset, SandboxState, Situation, ToolKind, ToolRisk,
    evaluate,
};

/// Prints the card and answers after the request has been shown.
struct Terminal {
    queue: Arc<PendingQueue>,
}

impl HumanClients for Terminal {
    fn attendance(&self, _session_id: &str) -> Attendance {
        Attendance::Attended
    }

    fn post(&self, posted: &Arc<Posted>) {
        eprint!(
            "{}",
            Card::of(&posted.request, self.queue.waiting("demo") - 1)
        );
        let (queue, request_id) = (Arc::clone(&self.queue), posted.request.request_id.clone());
        tokio::spawn(async move {
            let resolution = queue.resolve(None, &request_id, &HumanAnswer::word("allow-once"));
            eprintln!("> allow-once: {resolution:?}");
        });
    }

    fn settled(&self, _posted: &Arc<Posted>, settlement: &Settlement) {
        eprintln!("settled: {settlement:?}");
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let queue = PendingQueue::new(Duration::from_secs(120));
    let clients = Arc::new(Terminal {
        queue: Arc::clone(&queue),
    });
    let human = Arc::new(HumanReviewer::new(queue, clients));
    let chain = Chain::new(vec![ChainLink {
        reviewer: human,
        on_failure: OnFailure::Deny,
    }]);

    let review = chain.review(&request(), BreakerState::Closed).await;
    assert!(review.outcome.is_allowed());
    eprintln!(
        "outcome: {:?}\nto record: {:?}",
        review.outcome, review.effects
    );
}

/// What the host builds from a call, its facts and its verdict.
fn request() -> ReviewRequest {
    let ids = RequestIds {
        request_id: "request-1".to_owned(),
        session_id: "demo".to_owned(),
        turn_id: None,
        tool_call_id: "call-1".to_owned(),
    };
    let facts = Facts::unknown("deploy", "no extractor is registered for it");
    let verdict = evaluate(&facts, &situation(), &Policy::builtin(Preset::Standard));
    let arguments = serde_json::json!({"target": "staging", "token": "not-for-the-card"});
    let preview = ArgsPreview::new(&Redactor::builtin(), &arguments, PreviewLimits::CARD);
    ReviewRequest::new(ids, &facts, &verdict, ToolRisk::High, preview)
}

/// A session in mode `ask` that was granted nothing.
fn situation() -> Situation {
    Situation {
        mode: OperatingMode::Agent,
        permission_mode: PermissionMode::Ask,
        roots: RootPaths {
            workspace: Some("/home/dev/proj".into()),
            scratch: "/data/scratch/demo".into(),
            home: "/home/dev".into(),
            guardian_data: "/data".into(),
            guardian_config: Vec::new(),
            guardian_executables: Vec::new(),
        },
        grants: Vec::new(),
        delegate: None,
        tool_kind: ToolKind::Foreign,
        tool_risk: ToolRisk::High,
        attended: true,
        sandbox: SandboxState::Unavailable,
        accepted_commands: BTreeSet::new(),
        snapshot_possible: false,
        overwrites_unread: false,
    }
}
