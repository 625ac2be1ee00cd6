//! Proposals of plan and goal mode: random transitions against a model, and what the model does
//! not say (rows of the record, delegates, restarts).

use guardian_rules::{OperatingMode, PermissionMode, SessionPermissionMode};
use guardian_store::{
    AuditEvent, AuditFilter, AuditOrder, Conflict, DelegateEnd, ExecutionStatus, FIRST_VERSION,
    NewDelegate, NewProposal, NewTurn, OPEN_DELEGATES, PROPOSAL_LIFETIME_MS, PlanConflict,
    PlanKind, Proposal, ProposalAnswer, ProposalArtifact, ProposalIdentity, ProposalStatus,
    Resolved, SessionChange, SessionId, StoreError, TurnOutcome,
};
use proptest::prelude::*;

use crate::support::{Fixture, session};

fn new_turn(id: &str) -> NewTurn {
    NewTurn {
        id: id.to_owned(),
        shell: None,
        user_message: None,
        new_prompt: true,
    }
}

fn new_proposal(id: &str, turn: &str, kind: PlanKind) -> NewProposal {
    NewProposal {
        id: id.to_owned(),
        turn: turn.to_owned(),
        tool_call: format!("call-{id}"),
        kind,
        title: "A title".to_owned(),
        question: "Shall I?".to_owned(),
        artifact: ProposalArtifact {
            relative_path: format!(".pi/{}/{id}.md", kind.word()),
            sha256: "ab".repeat(32),
            bytes: 7,
        },
    }
}

fn new_delegate(id: &str) -> NewDelegate {
    NewDelegate {
        id: id.to_owned(),
        name: "explore".to_owned(),
        tools: vec!["Read".to_owned(), "Grep".to_owned()],
        turn: None,
        tool_call: format!("call-{id}"),
    }
}

fn identity(session: &SessionId, proposal: &str, turn: &str) -> ProposalIdentity {
    ProposalIdentity {
        id: proposal.to_owned(),
        session: session.clone(),
        turn: turn.to_owned(),
        tool_call: format!("call-{proposal}"),
        version: Some(FIRST_VERSION),
    }
}

/// The refusal, as the model names it too.
fn refusal<T: std::fmt::Debug>(result: &Result<T, StoreError>) -> Option<String> {
    match result {
        Ok(_) => None,
        Err(StoreError::Conflict(Conflict::Plan(conflict))) => Some(format!("{conflict:?}")),
        Err(StoreError::Conflict(Conflict::DelegatesFull(_))) => Some("DelegatesFull".to_owned()),
        Err(StoreError::Conflict(Conflict::NotAgent(_))) => Some("NotAgent".to_owned()),
        Err(StoreError::Conflict(_)) => Some("Conflict".to_owned()),
        Err(StoreError::NotFound { .. }) => Some("NotFound".to_owned()),
        Err(other) => panic!("{other:?}"),
    }
}

/// A proposal as the model sees it.
#[derive(Debug, Clone)]
struct Modelled {
    id: String,
    turn: String,
    kind: PlanKind,
    status: ProposalStatus,
    mode: Option<PermissionMode>,
    execution: Option<ExecutionStatus>,
    expires: i64,
    version: u64,
}

/// The state machine of SPEC §13.1, written down once more and without a database.
#[derive(Debug)]
struct Model {
    mode: OperatingMode,
    permission: SessionPermissionMode,
    turn: Option<String>,
    delegates: Vec<String>,
    proposals: Vec<Modelled>,
    now: i64,
}

/// One step; numbers choose among what there is.
#[derive(Debug, Clone)]
enum Step {
    BeginTurn,
    EndTurn,
    Enter(PlanKind, bool),
    Submit(PlanKind, bool),
    Resolve(usize, ProposalAnswer, Identity),
    Claim(usize),
    Finish(usize, ExecutionStatus),
    Abort(usize),
    Advance(i64),
    Expire,
    Restart,
    Configure(OperatingMode),
    OpenDelegate,
    CloseDelegate,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Identity {
    Right,
    WrongTurn,
    WrongCall,
    WrongVersion,
    WrongId,
}

fn kind() -> impl Strategy<Value = PlanKind> {
    prop_oneof![Just(PlanKind::Plan), Just(PlanKind::Goal)]
}

fn answer() -> impl Strategy<Value = ProposalAnswer> {
    prop_oneof![
        Just(ProposalAnswer::Approve(PermissionMode::Ask)),
        Just(ProposalAnswer::Approve(PermissionMode::AcceptEdits)),
        Just(ProposalAnswer::Approve(PermissionMode::Auto)),
        Just(ProposalAnswer::Reject),
    ]
}

fn which_identity() -> impl Strategy<Value = Identity> {
    prop_oneof![
        6 => Just(Identity::Right),
        1 => Just(Identity::WrongTurn),
        1 => Just(Identity::WrongCall),
        1 => Just(Identity::WrongVersion),
        1 => Just(Identity::WrongId),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let modes = prop_oneof![
        Just(OperatingMode::Agent),
        Just(OperatingMode::Plan),
        Just(OperatingMode::Goal)
    ];
    let ends = prop_oneof![
        Just(ExecutionStatus::Finished),
        Just(ExecutionStatus::Failed)
    ];
    prop_oneof![
        3 => Just(Step::BeginTurn),
        1 => Just(Step::EndTurn),
        4 => (kind(), prop::bool::weighted(0.9)).prop_map(|(kind, turn)| Step::Enter(kind, turn)),
        6 => (kind(), prop::bool::weighted(0.9)).prop_map(|(kind, turn)| Step::Submit(kind, turn)),
        6 => (0..3_usize, answer(), which_identity()).prop_map(|(at, answer, who)| Step::Resolve(at, answer, who)),
        4 => (0..3_usize).prop_map(Step::Claim),
        3 => (0..3_usize, ends).prop_map(|(at, end)| Step::Finish(at, end)),
        1 => (0..3_usize).prop_map(Step::Abort),
        2 => prop_oneof![Just(60_000_i64), Just(PROPOSAL_LIFETIME_MS - 1), Just(PROPOSAL_LIFETIME_MS)].prop_map(Step::Advance),
        1 => Just(Step::Expire),
        1 => Just(Step::Restart),
        2 => modes.prop_map(Step::Configure),
        1 => Just(Step::OpenDelegate),
        1 => Just(Step::CloseDelegate),
    ]
}

impl Model {
    fn pending(&self) -> bool {
        self.proposals.iter().any(|one| one.waits(self.now))
    }

    /// The proposal that a number chooses: the newest ones are the likely ones.
    fn choose(&self, at: usize) -> Option<usize> {
        self.proposals.len().checked_sub(1 + at)
    }

    fn enter(&mut self, kind: PlanKind, right_turn: bool) -> Option<&'static str> {
        if self.mode != OperatingMode::Agent {
            return Some("AlreadyActive");
        }
        if self.turn.is_none() || !right_turn {
            return Some("TurnNotRunning");
        }
        if self.pending() {
            return Some("AlreadyPending");
        }
        if !self.delegates.is_empty() {
            return Some("DelegateOpen");
        }
        self.mode = kind.mode();
        None
    }

    fn submit(&mut self, id: &str, kind: PlanKind, right_turn: bool) -> Option<&'static str> {
        if self.mode == OperatingMode::Agent {
            return Some("NotActive");
        }
        if self.mode != kind.mode() {
            return Some("KindMismatch");
        }
        let Some(turn) = self.turn.clone().filter(|_| right_turn) else {
            return Some("TurnNotRunning");
        };
        if self.pending() {
            return Some("AlreadyPending");
        }
        self.proposals.push(Modelled {
            id: id.to_owned(),
            turn,
            kind,
            status: ProposalStatus::Pending,
            mode: None,
            execution: None,
            expires: self.now + PROPOSAL_LIFETIME_MS,
            version: FIRST_VERSION,
        });
        None
    }

    fn resolve(
        &mut self,
        at: usize,
        answer: ProposalAnswer,
        who: Identity,
    ) -> Option<&'static str> {
        let (now, mode) = (self.now, self.mode);
        let proposal = &mut self.proposals[at];
        if who != Identity::Right {
            return Some("Stale");
        }
        match proposal.status {
            ProposalStatus::Pending if proposal.expires <= now => return Some("Expired"),
            ProposalStatus::Expired => return Some("Expired"),
            ProposalStatus::Interrupted => return Some("Interrupted"),
            ProposalStatus::Aborted => return Some("Stale"),
            ProposalStatus::Approved => {
                let again =
                    matches!(answer, ProposalAnswer::Approve(mode) if Some(mode) == proposal.mode);
                return (!again).then_some("Stale");
            }
            ProposalStatus::Rejected => {
                return (answer != ProposalAnswer::Reject).then_some("Stale");
            }
            ProposalStatus::Pending => {}
        }
        assert_eq!(
            mode,
            proposal.kind.mode(),
            "nothing changes the mode under a proposal"
        );
        proposal.version += 1;
        match answer {
            ProposalAnswer::Reject => proposal.status = ProposalStatus::Rejected,
            ProposalAnswer::Approve(permission) => {
                proposal.status = ProposalStatus::Approved;
                proposal.mode = Some(permission);
                proposal.execution = Some(ExecutionStatus::Queued);
                self.mode = OperatingMode::Agent;
                self.permission = match permission {
                    PermissionMode::Ask => SessionPermissionMode::Ask,
                    PermissionMode::AcceptEdits => SessionPermissionMode::AcceptEdits,
                    PermissionMode::Auto => SessionPermissionMode::Auto,
                };
            }
        }
        None
    }

    fn execution(&mut self, at: usize, to: ExecutionStatus) -> Option<&'static str> {
        let now = self.now;
        let proposal = &mut self.proposals[at];
        match proposal.status {
            ProposalStatus::Pending if proposal.expires <= now => return Some("Expired"),
            ProposalStatus::Expired => return Some("Expired"),
            ProposalStatus::Interrupted => return Some("Interrupted"),
            ProposalStatus::Pending | ProposalStatus::Rejected | ProposalStatus::Aborted => {
                return Some("ApprovalRequired");
            }
            ProposalStatus::Approved => {}
        }
        let execution = proposal.execution.unwrap();
        if execution == ExecutionStatus::Interrupted {
            return Some("ExecutionInterrupted");
        }
        let moves = match to {
            ExecutionStatus::Running => execution == ExecutionStatus::Queued,
            _ => execution == ExecutionStatus::Running,
        };
        if moves {
            proposal.execution = Some(to);
            proposal.version += 1;
            return None;
        }
        let again = to != ExecutionStatus::Running && execution == to;
        (!again).then_some("ExecutionConflict")
    }

    fn restart(&mut self) {
        self.turn = None;
        self.delegates.clear();
        let now = self.now;
        for proposal in &mut self.proposals {
            if proposal.status == ProposalStatus::Pending {
                proposal.status = if proposal.expires <= now {
                    ProposalStatus::Expired
                } else {
                    ProposalStatus::Interrupted
                };
                proposal.version += 1;
            } else if proposal.execution == Some(ExecutionStatus::Running) {
                proposal.execution = Some(ExecutionStatus::Interrupted);
                proposal.version += 1;
            }
        }
    }
}

impl Modelled {
    fn waits(&self, now: i64) -> bool {
        self.status == ProposalStatus::Pending && self.expires > now
    }

    fn agrees_with(&self, proposal: &Proposal) -> bool {
        self.id == proposal.id
            && self.turn == proposal.turn
            && self.kind == proposal.kind
            && self.status == proposal.status
            && self.mode == proposal.permission_mode
            && self.execution == proposal.execution
            && self.version == proposal.version
            && self.expires == proposal.expires_at.0
    }
}

/// The store and the model, side by side.
struct Run {
    fixture: Fixture,
    session: SessionId,
    model: Model,
    steps: usize,
}

impl Run {
    fn new() -> Self {
        let fixture = Fixture::new();
        let session = session(&fixture.store, "s");
        let now = fixture.store.now().0;
        Self {
            fixture,
            session,
            model: Model {
                mode: OperatingMode::Agent,
                permission: SessionPermissionMode::Inherit,
                turn: None,
                delegates: Vec::new(),
                proposals: Vec::new(),
                now,
            },
            steps: 0,
        }
    }

    /// Takes the step on both sides; the refusals of both.
    fn take(&mut self, step: &Step) -> (Option<String>, Option<&'static str>) {
        self.steps += 1;
        let (store, session, number) = (&self.fixture.store, &self.session, self.steps);
        let running = |right: bool| match (&self.model.turn, right) {
            (Some(turn), true) => turn.clone(),
            _ => "another".to_owned(),
        };
        match step {
            Step::BeginTurn => {
                let turn = format!("t{number}");
                let got = store.begin_turn(session, new_turn(&turn));
                let busy = self.model.turn.is_some();
                if !busy {
                    self.model.turn = Some(turn);
                }
                (refusal(&got), busy.then_some("Conflict"))
            }
            Step::EndTurn => match self.model.turn.take() {
                None => (None, None),
                Some(turn) => {
                    let got = store.end_turn(session, &turn, TurnOutcome::Ended);
                    (refusal(&got), None)
                }
            },
            Step::Enter(kind, right) => {
                let turn = running(*right);
                let got = store.enter_contract_mode(session, &turn, "c", *kind);
                (refusal(&got), self.model.enter(*kind, *right))
            }
            Step::Submit(kind, right) => {
                let turn = running(*right);
                let id = format!("p{number}");
                let before = store.check_submission(session, &turn, *kind);
                let got = store.submit_proposal(session, new_proposal(&id, &turn, *kind));
                assert_eq!(
                    refusal(&before),
                    refusal(&got),
                    "the check says what happens"
                );
                (refusal(&got), self.model.submit(&id, *kind, *right))
            }
            Step::Resolve(at, answer, who) => {
                let Some(at) = self.model.choose(*at) else {
                    return (None, None);
                };
                let known = &self.model.proposals[at];
                let mut named = identity(session, &known.id, &known.turn);
                match who {
                    Identity::Right => {}
                    Identity::WrongTurn => named.turn = "t0".to_owned(),
                    Identity::WrongCall => named.tool_call = "c0".to_owned(),
                    Identity::WrongVersion => named.version = Some(FIRST_VERSION + 1),
                    Identity::WrongId => named.id = "p0".to_owned(),
                }
                let got = store.resolve_proposal(named, *answer);
                (refusal(&got), self.model.resolve(at, *answer, *who))
            }
            Step::Claim(at) => {
                let Some(at) = self.model.choose(*at) else {
                    return (None, None);
                };
                let got = store.claim_execution(session, &self.model.proposals[at].id);
                (
                    refusal(&got),
                    self.model.execution(at, ExecutionStatus::Running),
                )
            }
            Step::Finish(at, end) => {
                let Some(at) = self.model.choose(*at) else {
                    return (None, None);
                };
                let got = store.finish_execution(session, &self.model.proposals[at].id, *end);
                (refusal(&got), self.model.execution(at, *end))
            }
            Step::Abort(at) => {
                let Some(at) = self.model.choose(*at) else {
                    return (None, None);
                };
                let got = store.abort_proposal(session, &self.model.proposals[at].id);
                let now = self.model.now;
                let proposal = &mut self.model.proposals[at];
                if proposal.waits(now) {
                    proposal.status = ProposalStatus::Aborted;
                    proposal.version += 1;
                } else if matches!(
                    proposal.execution,
                    Some(ExecutionStatus::Queued | ExecutionStatus::Running)
                ) {
                    proposal.execution = Some(ExecutionStatus::Aborted);
                    proposal.version += 1;
                }
                (refusal(&got), None)
            }
            Step::Advance(by) => {
                self.fixture.clock.advance(*by);
                self.model.now += by;
                (None, None)
            }
            Step::Expire => {
                let got = store.expire_proposals();
                let now = self.model.now;
                for proposal in &mut self.model.proposals {
                    if proposal.status == ProposalStatus::Pending && proposal.expires <= now {
                        proposal.status = ProposalStatus::Expired;
                        proposal.version += 1;
                    }
                }
                (refusal(&got), None)
            }
            Step::Restart => {
                self.fixture.store = self.fixture.reopen();
                let store = &self.fixture.store;
                let lease = store.lease(&self.session).unwrap();
                store.interrupt_turns(&lease).unwrap();
                store.interrupt_delegates(&lease).unwrap();
                let got = store.interrupt_proposals(&lease);
                self.model.restart();
                (refusal(&got), None)
            }
            Step::Configure(mode) => {
                let change = SessionChange {
                    mode: Some(*mode),
                    ..SessionChange::default()
                };
                let got = store.configure_session(session, None, change);
                let wanted = if self.model.pending() {
                    Some("ConfigurationBlocked")
                } else if *mode != self.model.mode && !self.model.delegates.is_empty() {
                    Some("DelegateOpen")
                } else {
                    self.model.mode = *mode;
                    None
                };
                (refusal(&got), wanted)
            }
            Step::OpenDelegate => {
                let id = format!("d{number}");
                let got = store.open_delegate(session, new_delegate(&id));
                let wanted = if self.model.mode != OperatingMode::Agent {
                    Some("NotAgent")
                } else if self.model.delegates.len() == OPEN_DELEGATES {
                    Some("DelegatesFull")
                } else {
                    self.model.delegates.push(id);
                    None
                };
                (refusal(&got), wanted)
            }
            Step::CloseDelegate => {
                let Some(id) = self.model.delegates.pop() else {
                    return (None, None);
                };
                let got = store.close_delegates(session, Some(&id), DelegateEnd::Finished);
                (refusal(&got), None)
            }
        }
    }

    fn compare(&self) {
        let store = &self.fixture.store;
        let row = store.session(&self.session).unwrap();
        assert_eq!(
            (row.mode, row.permission_mode),
            (self.model.mode, self.model.permission)
        );
        let mut stored = store.proposals(Some(&self.session)).unwrap();
        assert_eq!(stored.len(), self.model.proposals.len());
        stored.sort_by_key(|proposal| proposal.id[1..].parse::<usize>().unwrap());
        for (wanted, got) in self.model.proposals.iter().zip(&stored) {
            assert!(wanted.agrees_with(got), "{wanted:?}\n{got:?}");
        }
        let waiting = stored
            .iter()
            .filter(|one| one.status == ProposalStatus::Pending && one.expires_at > store.now());
        assert!(waiting.count() <= 1, "one proposal at a time");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_store_follows_the_state_machine(steps in prop::collection::vec(step(), 1..40)) {
        let mut run = Run::new();
        for step in &steps {
            let (got, wanted) = run.take(step);
            prop_assert_eq!(got.as_deref(), wanted, "{:?}", step);
            run.compare();
        }
        prop_assert!(run.fixture.store.verify_audit(None).unwrap().is_ok());
    }
}

/// A session in plan mode with a running turn `t` and a pending proposal `p1`.
fn submitted() -> (Fixture, SessionId) {
    let fixture = Fixture::new();
    let session = session(&fixture.store, "s");
    let store = &fixture.store;
    store.begin_turn(&session, new_turn("t")).unwrap();
    store
        .enter_contract_mode(&session, "t", "c", PlanKind::Plan)
        .unwrap();
    store
        .submit_proposal(&session, new_proposal("p1", "t", PlanKind::Plan))
        .unwrap();
    (fixture, session)
}

#[test]
fn an_approval_changes_mode_permission_and_queue_together_and_is_on_record() {
    let (fixture, session) = submitted();
    let approve = ProposalAnswer::Approve(PermissionMode::AcceptEdits);
    let resolved = fixture
        .store
        .resolve_proposal(identity(&session, "p1", "t"), approve)
        .unwrap();
    let Resolved::Now(proposal) = resolved else {
        panic!("{resolved:?}")
    };
    assert_eq!(proposal.execution, Some(ExecutionStatus::Queued));
    let row = fixture.store.session(&session).unwrap();
    assert_eq!(
        (row.mode, row.permission_mode),
        (OperatingMode::Agent, SessionPermissionMode::AcceptEdits)
    );
    let again = fixture
        .store
        .resolve_proposal(identity(&session, "p1", "t"), approve);
    assert!(matches!(again, Ok(Resolved::Before(_))), "{again:?}");
    let filter = AuditFilter {
        event: Some(AuditEvent::Plan),
        order: AuditOrder::OldestFirst,
        ..AuditFilter::newest()
    };
    let steps: Vec<_> = fixture
        .store
        .query_audit(&filter)
        .unwrap()
        .rows
        .into_iter()
        .map(|row| row.entry.detail.unwrap()["step"].clone())
        .collect();
    assert_eq!(steps, ["entered", "submitted", "answered"]);
    let artifacts = fixture.store.artifacts(&session).unwrap();
    assert_eq!(artifacts.len(), 1);
    assert_eq!(
        artifacts[0].artifact.kind,
        guardian_store::ArtifactKind::Plan
    );
}

#[test]
fn a_queued_execution_outlives_a_restart_and_a_running_one_does_not() {
    let (fixture, session) = submitted();
    let approve = ProposalAnswer::Approve(PermissionMode::Ask);
    let store = &fixture.store;
    store
        .resolve_proposal(identity(&session, "p1", "t"), approve)
        .unwrap();
    let restart = || {
        let lease = store.lease(&session).unwrap();
        store.interrupt_proposals(&lease).unwrap().len()
    };
    assert_eq!(restart(), 0);
    store.claim_execution(&session, "p1").unwrap();
    let second = store.claim_execution(&session, "p1");
    assert_eq!(refusal(&second).as_deref(), Some("ExecutionConflict"));
    assert_eq!(restart(), 1);
    let end = store.finish_execution(&session, "p1", ExecutionStatus::Finished);
    assert_eq!(refusal(&end).as_deref(), Some("ExecutionInterrupted"));
}

#[test]
fn titles_and_questions_are_redacted_and_go_with_their_session() {
    let fixture = Fixture::new();
    let session = session(&fixture.store, "s");
    let store = &fixture.store;
    store.begin_turn(&session, new_turn("t")).unwrap();
    store
        .enter_contract_mode(&session, "t", "c", PlanKind::Goal)
        .unwrap();
    let mut new = new_proposal("p1", "t", PlanKind::Goal);
    new.question = "use password=hunter2hunter2 ?".to_owned();
    let proposal = store.submit_proposal(&session, new).unwrap();
    assert!(
        !proposal.question.contains("hunter2hunter2"),
        "{proposal:?}"
    );
    store.delete_session(&session).unwrap();
    assert!(store.proposals(None).unwrap().is_empty());
}

#[test]
fn a_delegate_is_known_to_its_session_only() {
    let fixture = Fixture::new();
    let (a, b) = (session(&fixture.store, "a"), session(&fixture.store, "b"));
    let store = &fixture.store;
    let opened = store.open_delegate(&a, new_delegate("d")).unwrap();
    assert_eq!(store.delegate(&a, "d").unwrap(), opened);
    assert_eq!(opened.tools, ["Read", "Grep"]);
    assert!(matches!(
        store.delegate(&b, "d"),
        Err(StoreError::NotFound { .. })
    ));
    assert!(
        store
            .close_delegates(&b, Some("d"), DelegateEnd::Finished)
            .unwrap()
            .is_empty()
    );
    store
        .close_delegates(&a, Some("d"), DelegateEnd::Finished)
        .unwrap();
    assert!(store.delegate(&a, "d").unwrap().closed_at.is_some());
    assert!(store.open_delegates(&a).unwrap().is_empty());
    store.open_delegate(&b, new_delegate("e")).unwrap();
    assert_eq!(
        store.sessions_left_open().unwrap(),
        std::slice::from_ref(&b)
    );
    store
        .interrupt_delegates(&store.lease(&b).unwrap())
        .unwrap();
    assert!(store.sessions_left_open().unwrap().is_empty());
}

#[test]
fn a_repositorys_agent_is_approved_by_its_bytes() {
    let fixture = Fixture::new();
    let (store, project) = (&fixture.store, std::path::Path::new("/p"));
    store.approve_agent(project, "x", "h1").unwrap();
    store.approve_agent(project, "x", "h1").unwrap();
    assert!(store.is_agent_approved(project, "x", "h1").unwrap());
    for (project, name, hash) in [("/p", "x", "h2"), ("/p", "y", "h1"), ("/q", "x", "h1")] {
        assert!(
            !store
                .is_agent_approved(project.as_ref(), name, hash)
                .unwrap()
        );
    }
    assert_eq!(
        PlanConflict::Stale.to_string(),
        "this is not the proposal that was shown"
    );
}
