//! Plan mode where the clock must be ours: expiry.

use std::sync::{Arc, Mutex};

use guardian_host::rules::{OperatingMode, PermissionMode, SessionPermissionMode};
use guardian_host::store::{
    ManualClock, PROPOSAL_LIFETIME_MS, ProposalAnswer, ProposalIdentity, ProposalStatus, SessionId,
    Timestamp,
};
use guardian_host::{
    ErrorCode, Event, EventSink, Host, NewSession, SessionChange, ToolOutcome, ToolRequest,
};
use guardian_testkit::ProjectFixture;
use serde_json::{Value, json};

use crate::support::config;

/// Keeps the states that were told.
#[derive(Default)]
struct Told(Mutex<Vec<ProposalStatus>>);

impl EventSink for Told {
    fn emit(&self, event: Event) {
        if let Event::PlansChanged { proposal } = event {
            self.0.lock().unwrap().push(proposal.status);
        }
    }
}

struct World {
    fixture: ProjectFixture,
    clock: Arc<ManualClock>,
    host: Arc<Host>,
    told: Arc<Told>,
    turn: String,
}

impl World {
    async fn planning() -> Self {
        let fixture = ProjectFixture::new().unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp(1_764_500_000_000)));
        let mut config = config(&fixture);
        config.clock = Arc::clone(&clock) as _;
        let told = Arc::new(Told::default());
        let host = Host::open(config, Arc::clone(&told) as _).await.unwrap();
        host.create_session(NewSession {
            session_id: Some("s".to_owned()),
            title: None,
            project_path: Some(fixture.workspace()),
            mode: OperatingMode::Plan,
            permission_mode: SessionPermissionMode::Ask,
        })
        .await
        .unwrap();
        let turn = host.begin_turn("s", None, true).await.unwrap().turn_id;
        Self {
            fixture,
            clock,
            host,
            told,
            turn,
        }
    }

    async fn submit(&self, call: &str, args: Value) -> ToolOutcome {
        let request = ToolRequest {
            turn_id: Some(self.turn.clone()),
            ..ToolRequest::new("s", call, "SubmitPlan", args)
        };
        self.host.execute(request).await.unwrap()
    }

    fn identity(&self, outcome: &ToolOutcome) -> ProposalIdentity {
        let proposal = &outcome.content["proposal"];
        ProposalIdentity {
            id: proposal["id"].as_str().unwrap().to_owned(),
            session: SessionId::new("s").unwrap(),
            turn: self.turn.clone(),
            tool_call: proposal["toolCallId"].as_str().unwrap().to_owned(),
            version: None,
        }
    }
}

fn plan() -> Value {
    json!({"title": "Plan", "markdown": "text", "question": "?"})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proposal_expires_after_thirty_minutes_to_the_millisecond() {
    let world = World::planning().await;
    let first = world.submit("c1", plan()).await;
    assert!(first.ok, "{first:?}");
    world.clock.advance(PROPOSAL_LIFETIME_MS - 1);
    let second = world.submit("c2", plan()).await;
    assert_eq!(second.error_code, Some(ErrorCode::PlanAlreadyPending));
    let configured = world
        .host
        .configure_session("s", SessionChange::default())
        .await;
    assert_eq!(
        configured.unwrap_err().code,
        ErrorCode::PlanConfigurationBlocked
    );
    world.clock.advance(1);
    let approve = ProposalAnswer::Approve(PermissionMode::Auto);
    let late = world
        .host
        .resolve_plan(world.identity(&first), approve)
        .await;
    assert_eq!(late.unwrap_err().code, ErrorCode::PlanApprovalTimeout);
    let session = world.host.session("s").await.unwrap();
    assert_eq!(
        (session.mode, session.permission_mode),
        (OperatingMode::Plan, SessionPermissionMode::Ask)
    );
    world
        .host
        .configure_session("s", SessionChange::default())
        .await
        .unwrap();
    let third = world.submit("c3", plan()).await;
    assert!(third.ok, "{third:?}");
    let proposal = world
        .host
        .resolve_plan(world.identity(&third), approve)
        .await
        .unwrap();
    assert_eq!(proposal.status, ProposalStatus::Approved);
    assert_eq!(
        *world.told.0.lock().unwrap(),
        [
            ProposalStatus::Pending,
            ProposalStatus::Expired,
            ProposalStatus::Pending,
            ProposalStatus::Approved
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_plans_of_one_second_and_title_are_two_files() {
    let world = World::planning().await;
    let mut paths = Vec::new();
    for call in ["c1", "c2", "c3"] {
        let outcome = world.submit(call, plan()).await;
        let path = outcome.content["proposal"]["artifact"]["relativePath"].clone();
        paths.push(path.as_str().unwrap().to_owned());
        let identity = world.identity(&outcome);
        let rejected = world
            .host
            .resolve_plan(identity, ProposalAnswer::Reject)
            .await;
        assert_eq!(rejected.unwrap().status, ProposalStatus::Rejected);
    }
    let stem = ".pi/plan/plan-20251130-105320";
    assert_eq!(
        paths,
        [
            format!("{stem}.md"),
            format!("{stem}-2.md"),
            format!("{stem}-3.md")
        ]
    );
    for path in paths {
        let bytes = std::fs::read(world.fixture.workspace().join(path)).unwrap();
        assert_eq!(bytes, b"text");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_submissions_at_once_one_is_recorded_and_one_file_is_left() {
    let world = World::planning().await;
    let (one, other) = tokio::join!(world.submit("c1", plan()), world.submit("c2", plan()));
    assert_ne!(one.ok, other.ok, "{one:?} {other:?}");
    let refused = if one.ok { other } else { one };
    assert_eq!(refused.error_code, Some(ErrorCode::PlanAlreadyPending));
    let files = std::fs::read_dir(world.fixture.workspace().join(".pi/plan")).unwrap();
    assert_eq!(files.count(), 1);
    assert_eq!(world.host.open_plans(Some("s")).await.unwrap().len(), 1);
}
