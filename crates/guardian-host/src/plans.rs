//! Plan and goal mode (SPEC §13.1): entering, submitting a proposal with its file, the user's
//! answer, and the execution of what was approved. The transitions are the store's; here are the
//! file, the notifications, and what a tool call gets to see of it.

mod name;

use std::sync::Arc;
use std::time::Duration;

use guardian_facts::input::{MAX_PLAN_BYTES, SubmitInput};
use guardian_store::{
    ExecutionStatus, NewProposal, PlanConflict, PlanKind, Proposal, ProposalAnswer,
    ProposalArtifact, ProposalIdentity, ProposalStatus, Resolved, SessionId, StoreError,
};
use guardian_tools::{
    FailureCode, NewDocument, ToolFailure, create_document, read_document, sha256_of,
};
use serde_json::{Value, json};

use crate::blocking::blocking;
use crate::error::{ErrorCode, HostError};
use crate::events::Event;
use crate::gate::Passage;
use crate::host::Host;
use crate::outcome::{Stop, ToolOutcome};
use crate::sessions::{SessionInfo, random_id};

/// An execution that was taken up: what to carry out, as it was approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedExecution {
    /// The approved proposal.
    pub proposal: Proposal,
    /// The bytes that were approved.
    pub markdown: String,
}

/// The code of SPEC §17 of what stood in the way.
pub(crate) fn code_of(conflict: PlanConflict) -> ErrorCode {
    match conflict {
        PlanConflict::NotActive => ErrorCode::PlanNotActive,
        PlanConflict::AlreadyActive => ErrorCode::PlanAlreadyActive,
        PlanConflict::KindMismatch => ErrorCode::PlanKindMismatch,
        PlanConflict::AlreadyPending => ErrorCode::PlanAlreadyPending,
        PlanConflict::TurnNotRunning | PlanConflict::DelegateOpen => ErrorCode::Conflict,
        PlanConflict::Stale => ErrorCode::PlanApprovalStale,
        PlanConflict::Expired => ErrorCode::PlanApprovalTimeout,
        PlanConflict::Interrupted => ErrorCode::PlanApprovalInterrupted,
        PlanConflict::ApprovalRequired => ErrorCode::PlanApprovalRequired,
        PlanConflict::ExecutionConflict => ErrorCode::PlanExecutionConflict,
        PlanConflict::ExecutionInterrupted => ErrorCode::PlanExecutionInterrupted,
        PlanConflict::ConfigurationBlocked => ErrorCode::PlanConfigurationBlocked,
    }
}

/// A proposal as clients see it.
pub(crate) fn proposal_view(proposal: &Proposal) -> Value {
    let mut view = json!({
        "id": proposal.id,
        "sessionId": proposal.session.as_str(),
        "turnId": proposal.turn,
        "toolCallId": proposal.tool_call,
        "kind": proposal.kind.word(),
        "title": proposal.title,
        "question": proposal.question,
        "artifact": {
            "relativePath": proposal.artifact.relative_path,
            "sha256": proposal.artifact.sha256,
            "sizeBytes": proposal.artifact.bytes,
        },
        "status": proposal.status.word(),
        "version": proposal.version,
        "createdAt": proposal.created_at.0,
        "expiresAt": proposal.expires_at.0,
    });
    if let Some(mode) = proposal.permission_mode {
        view["targetPermissionMode"] = mode.name().into();
    }
    if let Some(execution) = proposal.execution {
        view["execution"] = execution.word().into();
    }
    view
}

impl Host {
    /// The body of `EnterPlanMode` and `EnterGoalMode`.
    pub(crate) async fn enter_mode(
        self: &Arc<Self>,
        passage: &Passage,
        kind: PlanKind,
    ) -> Result<ToolOutcome, Stop> {
        let (session, turn) = (passage.session_id()?, running_turn(passage)?);
        let call = passage.request.tool_call_id.clone();
        self.expire_plans().await?;
        let entered = self
            .with_store(move |store| store.enter_contract_mode(&session, &turn, &call, kind))
            .await;
        if let Err(error) = entered {
            return Err(refused(passage, error));
        }
        let id = &passage.request.session_id;
        self.re_evaluate(Some(id)).await;
        self.emit_session_change(id, "modeChanged");
        let word = kind.word();
        let tool = submit_tool(kind);
        let content = json!({
            "mode": word,
            "notice": format!(
                "the session is in {word} mode: look around, change no files, and submit the \
                 {word} with {tool}; the user answers it"
            ),
        });
        let id = &passage.request.tool_call_id;
        Ok(ToolOutcome::success(id, content).with_runtime(json!({ "mode": word })))
    }

    /// The body of `SubmitPlan` and `SubmitGoal`: the file first, then the proposal; without the
    /// proposal the file goes again.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        passage: &Passage,
        kind: PlanKind,
        input: SubmitInput,
    ) -> Result<ToolOutcome, Stop> {
        let (session, turn) = (passage.session_id()?, running_turn(passage)?);
        self.expire_plans().await?;
        let (of, in_turn) = (session.clone(), turn.clone());
        self.with_store(move |store| store.check_submission(&of, &in_turn, kind))
            .await
            .map_err(|error| refused(passage, error))?;
        let document = self.write_document(passage, kind, &input).await?;
        let new = NewProposal {
            id: random_id("p")?,
            turn,
            tool_call: passage.request.tool_call_id.clone(),
            kind,
            title: input.title,
            question: input.question,
            artifact: ProposalArtifact {
                relative_path: document.relative_path().to_owned(),
                sha256: document.sha256().to_owned(),
                bytes: input.markdown.len() as u64,
            },
        };
        let submitted = self
            .with_store(move |store| store.submit_proposal(&session, new))
            .await;
        let proposal = match submitted {
            Ok(proposal) => proposal,
            Err(error) => {
                // Whoever reads the directory must not take it for a plan that was proposed.
                let gone = blocking(move || document.discard()).await;
                if gone.is_err() {
                    tracing::warn!("the file of a refused proposal could not be removed");
                }
                return Err(refused(passage, error));
            }
        };
        self.emit_plan(&proposal);
        self.watch_expiry(&proposal);
        let content = json!({ "status": "pending", "proposal": proposal_view(&proposal) });
        let id = &passage.request.tool_call_id;
        Ok(ToolOutcome::success(id, content).with_runtime(json!({ "terminate": true })))
    }

    async fn write_document(
        &self,
        passage: &Passage,
        kind: PlanKind,
        input: &SubmitInput,
    ) -> Result<NewDocument, Stop> {
        let (runtime, paths) = (Arc::clone(&passage.runtime), passage.session.roots.clone());
        let names = name::candidates(&input.title, kind, self.config.clock.now().0);
        let text = input.markdown.clone();
        let written = blocking(move || {
            let roots = runtime.roots(&paths)?;
            create_document(&roots, &[".pi", kind.word()], names, text.as_bytes())
        })
        .await
        .map_err(|_| HostError::internal("the file of a proposal could not be written"))?;
        written.map_err(|failure| {
            let code = match failure.code {
                FailureCode::WorkspaceRequired => ErrorCode::WorkspaceRequired,
                _ => ErrorCode::PlanArtifactWriteFailed,
            };
            let mut content = failure.to_content();
            content["code"] = code.as_str().into();
            ToolOutcome::failed_with(&passage.request.tool_call_id, code, content).into()
        })
    }

    /// The user's answer to a proposal. An approval first makes sure that the file is the one that
    /// was submitted.
    ///
    /// # Errors
    /// `PLAN_APPROVAL_STALE`, `PLAN_APPROVAL_TIMEOUT`, `PLAN_APPROVAL_INTERRUPTED`,
    /// `PLAN_ARTIFACT_HASH_MISMATCH`, `SESSION_NOT_FOUND`.
    pub async fn resolve_plan(
        self: &Arc<Self>,
        identity: ProposalIdentity,
        answer: ProposalAnswer,
    ) -> Result<Proposal, HostError> {
        let session = self.session(identity.session.as_str()).await?;
        self.own_session(&session.session_id).await?;
        self.expire_plans().await?;
        if matches!(answer, ProposalAnswer::Approve(_)) {
            let (of, id) = (identity.session.clone(), identity.id.clone());
            let known = self
                .with_store(move |store| match store.proposal(&of, &id) {
                    Ok(proposal) => Ok(Some(proposal)),
                    Err(StoreError::NotFound { .. }) => Ok(None),
                    Err(error) => Err(error),
                })
                .await?;
            if let Some(known) = known.filter(|one| one.is_waiting_as(&identity)) {
                self.read_artifact(&session, &known).await?;
            }
        }
        let resolved = self
            .with_store(move |store| store.resolve_proposal(identity, answer))
            .await?;
        let proposal = match resolved {
            Resolved::Before(proposal) => return Ok(proposal),
            Resolved::Now(proposal) => proposal,
        };
        self.emit_plan(&proposal);
        if proposal.status == ProposalStatus::Approved {
            self.re_evaluate(Some(&session.session_id)).await;
            self.emit_session_change(&session.session_id, "modeChanged");
        }
        Ok(proposal)
    }

    /// Proposals that wait and executions that are queued or running, newest first; of one
    /// session or of all.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `INTERNAL`.
    pub async fn open_plans(&self, session_id: Option<&str>) -> Result<Vec<Proposal>, HostError> {
        let session = match session_id {
            Some(id) => {
                self.session(id).await?;
                Some(SessionId::new(id).map_err(HostError::internal)?)
            }
            None => None,
        };
        self.expire_plans().await?;
        let proposals = self
            .with_store(move |store| store.proposals(session.as_ref()))
            .await?;
        let open = |one: &Proposal| {
            one.status == ProposalStatus::Pending
                || matches!(
                    one.execution,
                    Some(ExecutionStatus::Queued | ExecutionStatus::Running)
                )
        };
        Ok(proposals.into_iter().filter(open).collect())
    }

    /// Takes up the queued execution of an approved proposal.
    ///
    /// # Errors
    /// `PLAN_APPROVAL_REQUIRED`, `PLAN_EXECUTION_CONFLICT`, `PLAN_EXECUTION_INTERRUPTED`,
    /// `PLAN_ARTIFACT_HASH_MISMATCH` when the file is another one by now: it stays queued.
    pub async fn claim_execution(
        &self,
        session_id: &str,
        proposal_id: &str,
    ) -> Result<ClaimedExecution, HostError> {
        let session = self.session(session_id).await?;
        self.own_session(session_id).await?;
        self.expire_plans().await?;
        let id = SessionId::new(session_id).map_err(HostError::internal)?;
        let (of, wanted) = (id.clone(), proposal_id.to_owned());
        let known = self
            .with_store(move |store| store.proposal(&of, &wanted))
            .await?;
        let markdown = if known.execution == Some(ExecutionStatus::Queued) {
            self.read_artifact(&session, &known).await?
        } else {
            // The store says which refusal it is.
            String::new()
        };
        let wanted = proposal_id.to_owned();
        let proposal = self
            .with_store(move |store| store.claim_execution(&id, &wanted))
            .await?;
        self.emit_plan(&proposal);
        Ok(ClaimedExecution { proposal, markdown })
    }

    /// Says that a running execution is over.
    ///
    /// # Errors
    /// `PLAN_EXECUTION_CONFLICT` when it is not running, `PLAN_EXECUTION_INTERRUPTED`.
    pub async fn finish_execution(
        &self,
        session_id: &str,
        proposal_id: &str,
        end: ExecutionStatus,
    ) -> Result<Proposal, HostError> {
        self.session(session_id).await?;
        self.own_session(session_id).await?;
        let id = SessionId::new(session_id).map_err(HostError::internal)?;
        let wanted = proposal_id.to_owned();
        let proposal = self
            .with_store(move |store| store.finish_execution(&id, &wanted, end))
            .await?;
        self.emit_plan(&proposal);
        Ok(proposal)
    }

    /// Withdraws a proposal that waits, or an execution that is queued or running. `None` when
    /// nothing was left to withdraw.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `NOT_FOUND`.
    pub async fn abort_plan(
        &self,
        session_id: &str,
        proposal_id: &str,
    ) -> Result<Option<Proposal>, HostError> {
        self.session(session_id).await?;
        self.own_session(session_id).await?;
        self.expire_plans().await?;
        let id = SessionId::new(session_id).map_err(HostError::internal)?;
        let wanted = proposal_id.to_owned();
        let aborted = self
            .with_store(move |store| store.abort_proposal(&id, &wanted))
            .await?;
        if let Some(proposal) = &aborted {
            self.emit_plan(proposal);
        }
        Ok(aborted)
    }

    /// The file of a proposal, if it still has the bytes that were submitted.
    async fn read_artifact(
        &self,
        session: &SessionInfo,
        proposal: &Proposal,
    ) -> Result<String, HostError> {
        let (runtime, paths) = (self.runtime(&session.session_id), session.roots.clone());
        let relative = proposal.artifact.relative_path.clone();
        let read = blocking(move || {
            let roots = runtime.roots(&paths)?;
            read_document(&roots, relative.as_ref(), MAX_PLAN_BYTES as u64)
        })
        .await
        .map_err(|_| HostError::internal("the file of a proposal could not be read"))?;
        let changed = |why: &str| {
            let path = &proposal.artifact.relative_path;
            let message = format!("`{path}` is not what was submitted{why}");
            HostError::new(ErrorCode::PlanArtifactHashMismatch, message)
        };
        let bytes =
            read.map_err(|failure: ToolFailure| changed(&format!(": {}", failure.message)))?;
        if sha256_of(&bytes) != proposal.artifact.sha256 {
            return Err(changed(""));
        }
        String::from_utf8(bytes).map_err(|_| changed(""))
    }

    /// Notes which proposals ran out of time, and says so.
    pub(crate) async fn expire_plans(&self) -> Result<(), HostError> {
        let expired = self.with_store(|store| store.expire_proposals()).await?;
        expired.iter().for_each(|proposal| self.emit_plan(proposal));
        Ok(())
    }

    /// Clients are told when the time is over, also when nobody asks.
    fn watch_expiry(self: &Arc<Self>, proposal: &Proposal) {
        let left = proposal.expires_at.since(self.config.clock.now());
        let time = Duration::from_millis(u64::try_from(left).unwrap_or(0));
        let host = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            let Some(host) = host.upgrade() else { return };
            if let Err(error) = host.expire_plans().await {
                tracing::warn!(%error, "expired proposals could not be noted");
            }
        });
    }

    pub(crate) fn emit_plan(&self, proposal: &Proposal) {
        self.events.emit(Event::PlansChanged {
            proposal: Box::new(proposal.clone()),
        });
    }
}

/// The session's running turn: the one that the call names (which was checked), or the only one.
fn running_turn(passage: &Passage) -> Result<String, Stop> {
    let named = passage.request.turn_id.as_ref();
    named
        .or(passage.session.running_turn.as_ref())
        .cloned()
        .ok_or_else(|| {
            let message = format!("{} needs a running turn", passage.request.tool_name);
            let id = &passage.request.tool_call_id;
            ToolOutcome::failure(id, ErrorCode::Conflict, &message).into()
        })
}

fn submit_tool(kind: PlanKind) -> &'static str {
    match kind {
        PlanKind::Plan => "SubmitPlan",
        PlanKind::Goal => "SubmitGoal",
    }
}

/// A step that does not fit the session's state is the tool's result; a fault is the host's.
fn refused(passage: &Passage, error: HostError) -> Stop {
    if matches!(error.code, ErrorCode::Internal | ErrorCode::SessionNotFound) {
        return error.into();
    }
    ToolOutcome::failure(&passage.request.tool_call_id, error.code, &error.message).into()
}
