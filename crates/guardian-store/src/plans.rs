//! Proposals of plan and goal mode and their executions (SPEC §13.1).
//!
//! Every transition is one transaction that compares the durable mode, the running turn and the
//! pending state with what it needs, changes them, and writes the audit row that says so. Expiry
//! is by the store's clock: a proposal whose time is over is refused as expired even before
//! [`Store::expire_proposals`] has noted it.

mod proposal;

use guardian_redact::Redactor;
use guardian_rules::{OperatingMode, SessionPermissionMode};
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::json;

pub use self::proposal::{
    ExecutionStatus, FIRST_VERSION, NewProposal, PROPOSAL_LIFETIME_MS, PlanConflict, PlanKind,
    Proposal, ProposalAnswer, ProposalArtifact, ProposalIdentity, ProposalStatus, Resolved,
};
use crate::audit::{self, AuditEntry, AuditEvent};
use crate::clock::Timestamp;
use crate::row;
use crate::sessions::{running_turn_of, session_of};
use crate::writer::{Durability, WriteContext};
use crate::{Lease, Session, SessionId, Store, StoreError};

/// What a transition needs besides the database.
struct Transition {
    redactor: Redactor,
    now: Timestamp,
}

impl Store {
    fn transition(&self) -> Transition {
        Transition {
            redactor: self.redactor().clone(),
            now: self.now(),
        }
    }

    /// Enters plan or goal mode from agent mode, in the running turn.
    ///
    /// # Errors
    /// [`PlanConflict`] when the session is in another state; nothing is changed then.
    pub fn enter_contract_mode(
        &self,
        session: &SessionId,
        turn: &str,
        tool_call: &str,
        kind: PlanKind,
    ) -> Result<Session, StoreError> {
        let (session, turn, tool_call) = (session.clone(), turn.to_owned(), tool_call.to_owned());
        let step = self.transition();
        self.write(Durability::Machine, move |context| {
            let connection = context.connection;
            let current = session_of(connection, &session)?;
            if current.mode != OperatingMode::Agent {
                return Err(PlanConflict::AlreadyActive.into());
            }
            check_turn(connection, &session, &turn)?;
            check_nothing_pending(connection, &session, step.now)?;
            if crate::delegates::has_open(connection, &session)? {
                return Err(PlanConflict::DelegateOpen.into());
            }
            set_modes(
                connection,
                &session,
                kind.mode(),
                current.permission_mode,
                step.now,
            )?;
            let entry = AuditEntry {
                session: Some(session.clone()),
                turn: Some(turn),
                tool_call: Some(tool_call),
                detail: Some(json!({ "step": "entered", "mode": kind.mode().name() })),
                ..AuditEntry::new(AuditEvent::Plan)
            };
            audit::append(context, audit::body_of(entry, &step.redactor, step.now)?)?;
            session_of(context.connection, &session)
        })
    }

    /// Would a proposal of this kind be taken now? The same checks as [`Self::submit_proposal`],
    /// for before its file is written.
    ///
    /// # Errors
    /// [`PlanConflict`] when not.
    pub fn check_submission(
        &self,
        session: &SessionId,
        turn: &str,
        kind: PlanKind,
    ) -> Result<(), StoreError> {
        let now = self.now();
        self.read(|connection| check_submission(connection, session, turn, kind, now))
    }

    /// Records a proposal whose file is written, with its artifact.
    ///
    /// # Errors
    /// [`PlanConflict`] when the session is in another state; nothing is recorded then.
    pub fn submit_proposal(
        &self,
        session: &SessionId,
        new: NewProposal,
    ) -> Result<Proposal, StoreError> {
        let (session, step) = (session.clone(), self.transition());
        self.write(Durability::Machine, move |context| {
            let connection = context.connection;
            check_submission(connection, &session, &new.turn, new.kind, step.now)?;
            let text = |text: &str| step.redactor.redact_text(text).into_owned();
            connection
                .prepare_cached(
                    "INSERT INTO proposals (id, session_id, turn_id, tool_call_id, kind, title,
                     question, artifact_path, artifact_sha256, artifact_bytes, status, version,
                     created_at, expires_at, changed_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'pending', ?11, ?12, ?13, ?12)",
                )?
                .execute(params![
                    new.id,
                    session.as_str(),
                    new.turn,
                    new.tool_call,
                    new.kind.word(),
                    text(&new.title),
                    text(&new.question),
                    new.artifact.relative_path,
                    new.artifact.sha256,
                    new.artifact.bytes,
                    FIRST_VERSION,
                    step.now.0,
                    step.now.plus(PROPOSAL_LIFETIME_MS).0,
                ])?;
            connection
                .prepare_cached(
                    "INSERT INTO artifacts (session_id, path, kind, tool_call_id, bytes, sha256, at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                     ON CONFLICT (session_id, path) DO UPDATE SET kind = excluded.kind,
                     tool_call_id = excluded.tool_call_id, bytes = excluded.bytes,
                     sha256 = excluded.sha256, at = excluded.at",
                )?
                .execute(params![
                    session.as_str(),
                    new.artifact.relative_path.as_bytes(),
                    new.kind.word(),
                    new.tool_call,
                    new.artifact.bytes,
                    new.artifact.sha256,
                    step.now.0,
                ])?;
            let proposal = proposal_of(context.connection, &session, &new.id)?;
            step.record(context, &proposal, "submitted", None)?;
            Ok(proposal)
        })
    }

    /// One proposal.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the session has none of this id.
    pub fn proposal(&self, session: &SessionId, id: &str) -> Result<Proposal, StoreError> {
        self.read(|connection| proposal_of(connection, session, id))
    }

    /// The proposals of a session, or of all, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn proposals(&self, session: Option<&SessionId>) -> Result<Vec<Proposal>, StoreError> {
        self.read(|connection| {
            let condition = "?1 IS NULL OR session_id = ?1";
            let session = session.map(SessionId::as_str);
            proposals_where(connection, condition, params![session])
        })
    }

    /// Answers a proposal. An approval sets the session to agent mode with the given permission
    /// mode and queues one execution, together or not at all.
    ///
    /// # Errors
    /// [`PlanConflict`] when the proposal is another one, or was answered otherwise.
    pub fn resolve_proposal(
        &self,
        identity: ProposalIdentity,
        answer: ProposalAnswer,
    ) -> Result<Resolved, StoreError> {
        let step = self.transition();
        self.write(Durability::Machine, move |context| {
            let connection = context.connection;
            let session = session_of(connection, &identity.session)?;
            let Some(proposal) = find(connection, &identity.session, &identity.id)? else {
                return Err(PlanConflict::Stale.into());
            };
            if !proposal.is(&identity) {
                return Err(PlanConflict::Stale.into());
            }
            match (proposal.status, answer) {
                (ProposalStatus::Pending, _) if proposal.expires_at <= step.now => {
                    return Err(PlanConflict::Expired.into());
                }
                (ProposalStatus::Pending, _) if session.mode == proposal.kind.mode() => {}
                (ProposalStatus::Approved, ProposalAnswer::Approve(mode))
                    if proposal.permission_mode == Some(mode) =>
                {
                    return Ok(Resolved::Before(proposal));
                }
                (ProposalStatus::Rejected, ProposalAnswer::Reject) => {
                    return Ok(Resolved::Before(proposal));
                }
                (ProposalStatus::Expired, _) => return Err(PlanConflict::Expired.into()),
                (ProposalStatus::Interrupted, _) => return Err(PlanConflict::Interrupted.into()),
                _ => return Err(PlanConflict::Stale.into()),
            }
            let changed = match answer {
                ProposalAnswer::Approve(mode) => {
                    let (agent, own) = (OperatingMode::Agent, session_mode(mode));
                    set_modes(connection, &identity.session, agent, own, step.now)?;
                    let mode = Some(row::permission_mode(mode));
                    step.change(
                        context,
                        &proposal,
                        ProposalStatus::Approved,
                        mode,
                        Some(ExecutionStatus::Queued),
                    )?
                }
                ProposalAnswer::Reject => {
                    step.change(context, &proposal, ProposalStatus::Rejected, None, None)?
                }
            };
            step.record(context, &changed, "answered", Some("human"))?;
            Ok(Resolved::Now(changed))
        })
    }

    /// Takes up the queued execution of an approved proposal.
    ///
    /// # Errors
    /// [`PlanConflict`] when there is none to take up.
    pub fn claim_execution(&self, session: &SessionId, id: &str) -> Result<Proposal, StoreError> {
        self.move_execution(session, id, "claimed", ExecutionStatus::Running)
    }

    /// Notes that a running execution is over: [`ExecutionStatus::Finished`] or
    /// [`ExecutionStatus::Failed`]. The same word again is no error.
    ///
    /// # Errors
    /// [`PlanConflict`] when it is not running.
    pub fn finish_execution(
        &self,
        session: &SessionId,
        id: &str,
        end: ExecutionStatus,
    ) -> Result<Proposal, StoreError> {
        self.move_execution(session, id, "execution over", end)
    }

    fn move_execution(
        &self,
        session: &SessionId,
        id: &str,
        step_name: &'static str,
        to: ExecutionStatus,
    ) -> Result<Proposal, StoreError> {
        let (session, id, step) = (session.clone(), id.to_owned(), self.transition());
        self.write(Durability::Machine, move |context| {
            session_of(context.connection, &session)?;
            let Some(proposal) = find(context.connection, &session, &id)? else {
                return Err(StoreError::not_found("proposal", id));
            };
            let needed = match to {
                ExecutionStatus::Running => ExecutionStatus::Queued,
                _ => ExecutionStatus::Running,
            };
            match (proposal.status, proposal.execution) {
                (ProposalStatus::Pending, _) if proposal.expires_at <= step.now => {
                    return Err(PlanConflict::Expired.into());
                }
                (ProposalStatus::Expired, _) => return Err(PlanConflict::Expired.into()),
                (ProposalStatus::Interrupted, _) => return Err(PlanConflict::Interrupted.into()),
                (ProposalStatus::Approved, Some(now)) if now == needed => {}
                (ProposalStatus::Approved, Some(now))
                    if now == to && to != ExecutionStatus::Running =>
                {
                    return Ok(proposal);
                }
                (ProposalStatus::Approved, Some(ExecutionStatus::Interrupted)) => {
                    return Err(PlanConflict::ExecutionInterrupted.into());
                }
                (ProposalStatus::Approved, _) => return Err(PlanConflict::ExecutionConflict.into()),
                _ => return Err(PlanConflict::ApprovalRequired.into()),
            }
            let changed = step.change(context, &proposal, proposal.status, None, Some(to))?;
            step.record(context, &changed, step_name, None)?;
            Ok(changed)
        })
    }

    /// Withdraws a proposal that waits, or its execution that is queued or running. `None` when
    /// there is nothing left to withdraw.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the session has none of this id.
    pub fn abort_proposal(
        &self,
        session: &SessionId,
        id: &str,
    ) -> Result<Option<Proposal>, StoreError> {
        let (session, id, step) = (session.clone(), id.to_owned(), self.transition());
        self.write(Durability::Machine, move |context| {
            let proposal = proposal_of(context.connection, &session, &id)?;
            let (status, execution) = match (proposal.status, proposal.execution) {
                (ProposalStatus::Pending, _) if proposal.expires_at > step.now => {
                    (ProposalStatus::Aborted, None)
                }
                (
                    ProposalStatus::Approved,
                    Some(ExecutionStatus::Queued | ExecutionStatus::Running),
                ) => (ProposalStatus::Approved, Some(ExecutionStatus::Aborted)),
                _ => return Ok(None),
            };
            let changed = step.change(context, &proposal, status, None, execution)?;
            step.record(context, &changed, "aborted", None)?;
            Ok(Some(changed))
        })
    }

    /// Notes which proposals ran out of time. Returns those.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn expire_proposals(&self) -> Result<Vec<Proposal>, StoreError> {
        let step = self.transition();
        let due = "status = 'pending' AND expires_at <= ?1";
        // Most of the time there is none, and looking is cheaper than writing.
        let any = self.read(|connection| {
            Ok(!proposals_where(connection, due, params![step.now.0])?.is_empty())
        })?;
        if !any {
            return Ok(Vec::new());
        }
        self.write(Durability::Machine, move |context| {
            let due = proposals_where(context.connection, due, params![step.now.0])?;
            step.change_all(context, due, "expired", |_| (ProposalStatus::Expired, None))
        })
    }

    /// What a former owner of the session left waiting or running is interrupted; a queued
    /// execution stays queued. Only for the holder of the lease. Returns what changed.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn interrupt_proposals(&self, lease: &Lease) -> Result<Vec<Proposal>, StoreError> {
        let (session, step) = (lease.session().clone(), self.transition());
        let left = "session_id = ?1 AND (status = 'pending' OR execution = 'running')";
        let any = self.read(|connection| {
            Ok(!proposals_where(connection, left, params![session.as_str()])?.is_empty())
        })?;
        if !any {
            return Ok(Vec::new());
        }
        self.write(Durability::Machine, move |context| {
            let left = proposals_where(context.connection, left, params![session.as_str()])?;
            let now = step.now;
            step.change_all(context, left, "interrupted", |proposal| {
                match proposal.status {
                    ProposalStatus::Pending if proposal.expires_at <= now => {
                        (ProposalStatus::Expired, None)
                    }
                    ProposalStatus::Pending => (ProposalStatus::Interrupted, None),
                    status => (status, Some(ExecutionStatus::Interrupted)),
                }
            })
        })
    }

    /// Sessions with a proposal that waits, an execution that runs or a delegate at work: those
    /// in which a restart of their host ends something.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn sessions_left_open(&self) -> Result<Vec<SessionId>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT session_id FROM proposals WHERE status = 'pending' OR execution = 'running'
                 UNION SELECT session_id FROM delegates WHERE closed_at IS NULL
                 UNION SELECT session_id FROM pending_changes ORDER BY 1",
            )?;
            let mut rows = statement.query([])?;
            let mut sessions = Vec::new();
            while let Some(row) = rows.next()? {
                let id = SessionId::new(row.get::<_, String>(0)?);
                sessions.push(id.map_err(|error| StoreError::Corrupt(error.to_string()))?);
            }
            Ok(sessions)
        })
    }
}

impl Transition {
    fn change(
        &self,
        context: &mut WriteContext<'_>,
        proposal: &Proposal,
        status: ProposalStatus,
        permission_mode: Option<&str>,
        execution: Option<ExecutionStatus>,
    ) -> Result<Proposal, StoreError> {
        context
            .connection
            .prepare_cached(
                "UPDATE proposals SET status = ?3, version = version + 1,
                 permission_mode = coalesce(?4, permission_mode), execution = ?5, changed_at = ?6
                 WHERE session_id = ?1 AND id = ?2",
            )?
            .execute(params![
                proposal.session.as_str(),
                proposal.id,
                status.word(),
                permission_mode,
                execution.map(ExecutionStatus::word),
                self.now.0,
            ])?;
        proposal_of(context.connection, &proposal.session, &proposal.id)
    }

    fn change_all(
        &self,
        context: &mut WriteContext<'_>,
        proposals: Vec<Proposal>,
        step_name: &str,
        to: impl Fn(&Proposal) -> (ProposalStatus, Option<ExecutionStatus>),
    ) -> Result<Vec<Proposal>, StoreError> {
        let mut changed = Vec::new();
        for proposal in proposals {
            let (status, execution) = to(&proposal);
            let proposal = self.change(context, &proposal, status, None, execution)?;
            self.record(context, &proposal, step_name, None)?;
            changed.push(proposal);
        }
        Ok(changed)
    }

    /// The audit row of a transition, in its transaction.
    fn record(
        &self,
        context: &mut WriteContext<'_>,
        proposal: &Proposal,
        step_name: &str,
        by: Option<&str>,
    ) -> Result<(), StoreError> {
        let entry = AuditEntry {
            session: Some(proposal.session.clone()),
            turn: Some(proposal.turn.clone()),
            tool_call: Some(proposal.tool_call.clone()),
            decided_by: by.map(str::to_owned),
            detail: Some(json!({
                "step": step_name,
                "proposalId": proposal.id,
                "kind": proposal.kind.word(),
                "status": proposal.status.word(),
                "execution": proposal.execution.map(ExecutionStatus::word),
                "version": proposal.version,
                "permissionMode": proposal.permission_mode.map(row::permission_mode),
                "artifact": proposal.artifact.relative_path,
                "sha256": proposal.artifact.sha256,
            })),
            ..AuditEntry::new(AuditEvent::Plan)
        };
        let body = audit::body_of(entry, &self.redactor, self.now)?;
        audit::append(context, body).map(drop)
    }
}

/// Refuses while a proposal of the session waits.
pub(crate) fn check_configurable(
    connection: &Connection,
    session: &SessionId,
    now: Timestamp,
) -> Result<(), StoreError> {
    match check_nothing_pending(connection, session, now) {
        Err(StoreError::Conflict(_)) => Err(PlanConflict::ConfigurationBlocked.into()),
        other => other,
    }
}

fn check_submission(
    connection: &Connection,
    session: &SessionId,
    turn: &str,
    kind: PlanKind,
    now: Timestamp,
) -> Result<(), StoreError> {
    let current = session_of(connection, session)?;
    if current.mode == OperatingMode::Agent {
        return Err(PlanConflict::NotActive.into());
    }
    if current.mode != kind.mode() {
        return Err(PlanConflict::KindMismatch.into());
    }
    check_turn(connection, session, turn)?;
    check_nothing_pending(connection, session, now)
}

fn check_turn(connection: &Connection, session: &SessionId, turn: &str) -> Result<(), StoreError> {
    let running = running_turn_of(connection, session)?;
    if running.is_some_and(|running| running.id == turn) {
        return Ok(());
    }
    Err(PlanConflict::TurnNotRunning.into())
}

fn check_nothing_pending(
    connection: &Connection,
    session: &SessionId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let pending = connection
        .prepare_cached(
            "SELECT 1 FROM proposals WHERE session_id = ?1 AND status = 'pending' AND expires_at > ?2",
        )?
        .exists(params![session.as_str(), now.0])?;
    if pending {
        return Err(PlanConflict::AlreadyPending.into());
    }
    Ok(())
}

fn set_modes(
    connection: &Connection,
    session: &SessionId,
    mode: OperatingMode,
    permission_mode: SessionPermissionMode,
    now: Timestamp,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE sessions SET mode = ?2, permission_mode = ?3, updated_at = ?4,
             revision = revision + 1 WHERE id = ?1",
        )?
        .execute(params![
            session.as_str(),
            row::operating_mode(mode),
            row::session_permission_mode(permission_mode),
            now.0
        ])?;
    Ok(())
}

fn session_mode(mode: guardian_rules::PermissionMode) -> SessionPermissionMode {
    use guardian_rules::PermissionMode as Mode;
    match mode {
        Mode::Ask => SessionPermissionMode::Ask,
        Mode::AcceptEdits => SessionPermissionMode::AcceptEdits,
        Mode::Auto => SessionPermissionMode::Auto,
    }
}

const SELECT: &str = "SELECT id, session_id, turn_id, tool_call_id, kind, title, question,
    artifact_path, artifact_sha256, artifact_bytes, status, version, permission_mode, execution,
    created_at, expires_at, changed_at FROM proposals";

fn proposal_of(
    connection: &Connection,
    session: &SessionId,
    id: &str,
) -> Result<Proposal, StoreError> {
    find(connection, session, id)?.ok_or_else(|| StoreError::not_found("proposal", id))
}

fn find(
    connection: &Connection,
    session: &SessionId,
    id: &str,
) -> Result<Option<Proposal>, StoreError> {
    connection
        .prepare_cached(&format!("{SELECT} WHERE session_id = ?1 AND id = ?2"))?
        .query_row(params![session.as_str(), id], |row| Ok(read(row)))
        .optional()?
        .transpose()
}

fn proposals_where(
    connection: &Connection,
    condition: &str,
    parameters: impl rusqlite::Params,
) -> Result<Vec<Proposal>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "{SELECT} WHERE {condition} ORDER BY created_at DESC, id"
    ))?;
    let mut rows = statement.query(parameters)?;
    let mut proposals = Vec::new();
    while let Some(row) = rows.next()? {
        proposals.push(read(row)?);
    }
    Ok(proposals)
}

fn read(row: &Row<'_>) -> Result<Proposal, StoreError> {
    let word = |index| row.get::<_, String>(index);
    let optional = |index| row.get::<_, Option<String>>(index);
    Ok(Proposal {
        id: row.get(0)?,
        session: SessionId::new(word(1)?)
            .map_err(|error| StoreError::Corrupt(error.to_string()))?,
        turn: row.get(2)?,
        tool_call: row.get(3)?,
        kind: PlanKind::from_word(&word(4)?)?,
        title: row.get(5)?,
        question: row.get(6)?,
        artifact: ProposalArtifact {
            relative_path: row.get(7)?,
            sha256: row.get(8)?,
            bytes: row.get(9)?,
        },
        status: ProposalStatus::from_word(&word(10)?)?,
        version: row.get(11)?,
        permission_mode: optional(12)?
            .map(|word| row::parse_permission_mode(&word))
            .transpose()?,
        execution: optional(13)?
            .map(|word| ExecutionStatus::from_word(&word))
            .transpose()?,
        created_at: Timestamp(row.get(14)?),
        expires_at: Timestamp(row.get(15)?),
        changed_at: Timestamp(row.get(16)?),
    })
}
