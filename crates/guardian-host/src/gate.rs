//! The gate: the one way by which a tool call runs, in the order of SPEC §2.
//!
//! session row → operating mode → workspace → tool exists → arguments → shell → extract → own the
//! path → evaluate → bind → review → admit → mode, turn and grants again → bind again → "about to
//! run" row → execute → record. Nobody is asked about a call that could not run, and what was
//! judged is what runs: the typed input and the handles that were bound are what the body gets.

mod effect;
mod permit;

use std::sync::Arc;
use std::time::Instant;

use guardian_facts::{ArgumentError, Extraction, Facts, RawArgs, ToolCall};
use guardian_review::{Allowance, Decider, ReviewOutcome};
use guardian_rules::{Decision, ToolKind, ToolRisk, Verdict, mode_refusal, tool_kind, tool_risk};
use guardian_store::SessionId;
use guardian_tools::bash::sandbox::Confinement;
use guardian_tools::{Binding, BoundInput, BoundTarget, Permitted, bind};
use serde_json::Value;

pub(crate) use self::effect::{changed_path, overwrite_state};
use self::effect::{external_path, needs_scratch, same_effect};
use crate::admission::{CallClass, Patience};
use crate::blocking::{blocking, on_own_thread};
use crate::calls::{CancelSignal, InFlight};
use crate::changes::PendingChange;
use crate::confinement::{ApprovalKind, confinement_of};
use crate::control::{ControlCall, check_alone};
use crate::delegates::DelegateCall;
use crate::error::{ErrorCode, HostError};
use crate::execute::{Execution, check_timeout};
use crate::host::Host;
use crate::judge::{Caller, OverwriteState, Refused};
use crate::outcome::{Stop, ToolOutcome, ToolRequest};
use crate::path_order::{Arrival, Claimed};
use crate::policies::PolicyInForce;
use crate::record::{Approval, CallRecord};
use crate::repair::{self, Repair};
use crate::review_host::Asked;
use crate::sessions::{SessionInfo, SessionRuntime};
use crate::tools_list;

/// Longest id of a call and longest name of a tool, in bytes. Ids of model providers reach some
/// hundred.
const LONGEST_NAME: usize = 1024;

/// A call on its way through the gate.
pub(crate) struct Passage {
    pub(crate) request: ToolRequest,
    pub(crate) session: SessionInfo,
    pub(crate) runtime: Arc<SessionRuntime>,
    pub(crate) in_flight: InFlight,
    /// The delegate that makes the call, once it was looked up.
    pub(crate) delegate: Option<DelegateCall>,
    /// What the mutation leaves in the store, once it was made.
    pub(crate) change: Option<PendingChange>,
    /// The policy that it was last judged by.
    pub(crate) policy: Option<Arc<PolicyInForce>>,
    /// What the call repairs, once its facts are known.
    pub(crate) repair: Option<Repair>,
    /// How a command is confined, as the verdict with which it runs says.
    pub(crate) confinement: Confinement,
    /// Id of the shell that a command runs in, once it was checked.
    pub(crate) shell_id: Option<String>,
    /// What goes on record, filled in as it becomes known.
    pub(crate) record: CallRecord,
}

/// A call that was judged.
struct Judged {
    extraction: Extraction,
    overwrite: OverwriteState,
    verdict: Verdict,
}

impl Passage {
    /// Who calls, with the delegate's name.
    pub(crate) async fn caller(&self, host: &Host) -> Caller {
        let delegate = self.delegate_name();
        Caller {
            delegate,
            ..host.caller(&self.session, &self.request.tool_name).await
        }
    }

    /// Name of the delegate that makes the call.
    pub(crate) fn delegate_name(&self) -> Option<String> {
        let call = self.delegate.as_ref()?;
        Some(call.delegate.name.clone())
    }

    pub(crate) fn session_id(&self) -> Result<SessionId, HostError> {
        SessionId::new(self.session.session_id.clone()).map_err(HostError::internal)
    }
}

impl Host {
    /// Judges a call and, when it may run, runs it.
    ///
    /// The call's place among the mutations of its session is taken when this is called, not when
    /// the future is first polled.
    ///
    /// # Errors
    /// Session and protocol failures; everything past the gate's door is an outcome.
    pub fn execute(
        self: &Arc<Self>,
        request: ToolRequest,
    ) -> impl Future<Output = Result<ToolOutcome, HostError>> + Send + 'static + use<> {
        let host = Arc::clone(self);
        let arrival = (tool_kind(&request.tool_name) == ToolKind::Change)
            .then(|| host.path_order.arrive(&request.session_id));
        on_own_thread(async move { host.pass(request, arrival).await })
    }

    async fn pass(
        self: Arc<Self>,
        request: ToolRequest,
        mut arrival: Option<Arrival>,
    ) -> Result<ToolOutcome, HostError> {
        let mut passage = self.open_passage(request).await?;
        let mut outcome = match self.steps(&mut passage, &mut arrival).await {
            Ok(outcome) | Err(Stop::Outcome(outcome)) => outcome,
            Err(Stop::Error(error)) => {
                self.record_refusal(&passage, &error).await;
                return Err(error);
            }
        };
        repair::watch(&mut passage, &mut outcome);
        self.record_end(&mut passage, &mut outcome).await?;
        Ok(outcome)
    }

    /// Opens the one way a call has through the gate, whoever runs its body: its names are in bounds,
    /// its id is nobody else's, the session is this host's.
    ///
    /// # Errors
    /// `INVALID_PARAMS` for a name, `DUPLICATE_CALL` and session failures: such a call has no row.
    async fn open_passage(self: &Arc<Self>, request: ToolRequest) -> Result<Passage, HostError> {
        check_names(&request)?;
        let in_flight = self.calls.begin(
            &request.session_id,
            &request.tool_call_id,
            request.turn_id.as_deref(),
        )?;
        let mut session = self.session(&request.session_id).await?;
        let runtime = self.runtime(&session.session_id);
        if !runtime.holds_lease() {
            self.own_session(&request.session_id).await?;
            // Read again: turns that a process left running when it died ended with the lease.
            session = self.session(&request.session_id).await?;
        }
        let record = CallRecord::new(&request, &session);
        Ok(Passage {
            request,
            session,
            runtime,
            in_flight,
            delegate: None,
            change: None,
            policy: None,
            repair: None,
            confinement: Confinement::OnlyIfRequired,
            shell_id: None,
            record,
        })
    }

    async fn steps(
        self: &Arc<Self>,
        passage: &mut Passage,
        arrival: &mut Option<Arrival>,
    ) -> Result<ToolOutcome, Stop> {
        self.check_mode(passage, &passage.session.clone())?;
        self.check_turn(passage)?;
        self.check_delegate(passage).await?;
        check_workspace(passage)?;
        check_tool(passage)?;
        check_alone(passage)?;
        let call = raw_call(passage)?;
        check_timeout(passage)?;
        self.check_shell(passage).await?;
        let mut judged = self.judge_call(passage, &call, arrival.as_mut()).await?;
        passage.repair = Repair::of(&judged.extraction.facts);
        if judged.verdict.decision == Decision::Deny {
            return Err(denied_by_policy(passage, &judged.verdict).into());
        }
        let facts = Arc::new(judged.extraction.facts);
        if let Some(mut control) = ControlCall::of(&judged.extraction.input) {
            let verdict = self
                .prepare_control(passage, &mut control, judged.verdict)
                .await?;
            if verdict.decision == Decision::Ask {
                let asked = Asked {
                    call: &call,
                    facts: &facts,
                    verdict: &verdict,
                    overwrite: judged.overwrite,
                    binding: None,
                };
                let approval = self.ask(passage, asked).await?;
                passage.record.approve(&approval);
            }
            self.check_again(passage, &facts, judged.overwrite).await?;
            passage.record.started();
            return self.run_control(passage, control).await;
        }
        let mut bound = self
            .bind_call(passage, judged.extraction.input, Arc::clone(&facts))
            .await?;
        if let Some(failure) = bound.known_unusable() {
            let id = &passage.request.tool_call_id;
            return Err(ToolOutcome::of_failure(id, failure).into());
        }
        if tool_kind(&passage.request.tool_name) == ToolKind::Change {
            let (same, outlook) = self.preview_change(passage, bound).await?;
            bound = same;
            check_abort(passage)?;
            judged.overwrite = match bound.target() {
                // Nothing is overwritten by a call that will fail.
                BoundTarget::Unusable { .. } => OverwriteState::NONE,
                _ => overwrite_state(&passage.runtime, &facts, outlook.as_ref()),
            };
            judged.verdict = self.decide(passage, &facts, judged.overwrite).await?;
            if judged.verdict.decision == Decision::Deny {
                return Err(denied_by_policy(passage, &judged.verdict).into());
            }
        }
        let class = call_class(&passage.request.tool_name);
        let (bound, slot) = if judged.verdict.decision == Decision::Ask {
            bound.forget_prepared();
            let (bound, binding) = self.binding_of(bound, passage).await?;
            let asked = Asked {
                call: &call,
                facts: &facts,
                verdict: &judged.verdict,
                overwrite: judged.overwrite,
                binding: Some(&binding),
            };
            let approval = self.ask(passage, asked).await?;
            passage.record.approve(&approval);
            let slot = self.admit(passage, class, Patience::Approved).await?;
            let now = self.extract(passage, &call).await?.facts;
            self.check_again(passage, &now, judged.overwrite).await?;
            if !same_effect(&facts, &now) {
                return Err(stale(passage).into());
            }
            (self.rebind_call(passage, bound, binding, now).await?, slot)
        } else {
            let slot = self.admit(passage, class, Patience::Bounded).await?;
            self.check_again(passage, &facts, judged.overwrite).await?;
            (bound, slot)
        };
        if tool_risk(&passage.request.tool_name) != ToolRisk::Low {
            self.record_start(passage).await?;
        }
        passage.record.started();
        let permitted = Permitted::assume_checked(bound);
        let execution = Execution {
            passage,
            call: permitted,
            facts,
            slot,
        };
        self.run_body(execution).await
    }

    /// The operating mode has the tool. By name alone: before every rule, grant and prompt, also
    /// for tools that nobody knows.
    fn check_mode(&self, passage: &Passage, session: &SessionInfo) -> Result<(), Stop> {
        let tool = &passage.request.tool_name;
        let Some(refusal) = mode_refusal(session.mode, tool, tool_kind(tool)) else {
            return Ok(());
        };
        let code = ErrorCode::named(refusal.code()).unwrap_or(ErrorCode::ToolDisabledInPlan);
        let mut outcome =
            ToolOutcome::failure(&passage.request.tool_call_id, code, &refusal.reason(tool));
        outcome.content["cause"] = "contract_mode".into();
        outcome.denied = true;
        Err(outcome.into())
    }

    /// A call that names a turn belongs to the session's running one.
    fn check_turn(&self, passage: &Passage) -> Result<(), Stop> {
        match (&passage.request.turn_id, &passage.session.running_turn) {
            (Some(named), Some(running)) if named == running => Ok(()),
            (None, _) => Ok(()),
            (Some(named), _) => Err(HostError::new(
                ErrorCode::Conflict,
                format!("the turn `{named}` is not running"),
            )
            .into()),
        }
    }

    /// Typed input, facts and verdict. A mutation first waits until its path is its own; if it had
    /// to wait, what it would touch is worked out anew.
    async fn judge_call(
        self: &Arc<Self>,
        passage: &mut Passage,
        call: &ToolCall,
        arrival: Option<&mut Arrival>,
    ) -> Result<Judged, Stop> {
        let mut extraction = self.extract(passage, call).await?;
        check_abort(passage)?;
        if let Some(arrival) = arrival
            && let Some(path) = changed_path(&extraction.facts)
        {
            let claimed = tokio::select! {
                claimed = arrival.claim(&path) => claimed,
                () = passage.in_flight.cancel.cancelled() => return Err(aborted(passage).into()),
            };
            if claimed == Claimed::AfterOthers {
                extraction = self.extract(passage, call).await?;
                // Whoever held the path may have made it lead elsewhere.
                if changed_path(&extraction.facts).as_deref() != Some(path.as_path()) {
                    return Err(stale(passage).into());
                }
            }
        }
        let overwrite = overwrite_state(&passage.runtime, &extraction.facts, None);
        let verdict = self.decide(passage, &extraction.facts, overwrite).await?;
        Ok(Judged {
            extraction,
            overwrite,
            verdict,
        })
    }

    async fn extract(
        self: &Arc<Self>,
        passage: &mut Passage,
        call: &ToolCall,
    ) -> Result<Extraction, Stop> {
        let (host, call, roots) = (
            Arc::clone(self),
            call.clone(),
            passage.session.roots.clone(),
        );
        let runtime = Arc::clone(&passage.runtime);
        let extracted = blocking(move || {
            let extracted = host.judge.extract_call(&call, &roots, &host.probe)?;
            // Scratch is made on first need, which is now, and not between judging and binding.
            if needs_scratch(&extracted.0.facts) && runtime.make_scratch(&roots) {
                return host.judge.extract_call(&call, &roots, &host.probe);
            }
            Ok(extracted)
        })
        .await
        .map_err(|_| HostError::internal("the call could not be analysed"))?;
        let (extraction, carried) = extracted.map_err(|error| match error {
            Refused::Workspace => workspace_required(passage),
            Refused::Arguments(error) => invalid_arguments(passage, &error),
        })?;
        passage.record.carries(carried);
        Ok(extraction)
    }

    /// Decides about facts, and puts it on record.
    async fn decide(
        &self,
        passage: &mut Passage,
        facts: &Facts,
        overwrite: OverwriteState,
    ) -> Result<Verdict, HostError> {
        let caller = passage.caller(self).await;
        let policy = self.policy_of(&passage.session).await?;
        let verdict = self.judge.decide(facts, &caller, overwrite, &policy);
        let version = self.judge.version(&policy);
        passage.record.judged(facts, &verdict, &version);
        passage.record.external = external_path(facts, &verdict, &caller);
        passage.policy = Some(policy);
        Ok(verdict)
    }

    /// Opens what was judged.
    async fn bind_call(
        self: &Arc<Self>,
        passage: &Passage,
        input: guardian_facts::ToolInput,
        facts: Arc<Facts>,
    ) -> Result<BoundInput, Stop> {
        let runtime = Arc::clone(&passage.runtime);
        let roots = passage.session.roots.clone();
        let bound = blocking(move || {
            let roots = runtime.roots(&roots)?;
            bind(input, &facts, &roots)
        })
        .await
        .map_err(|_| HostError::internal("the target could not be opened"))?;
        bound.map_err(|failure| {
            ToolOutcome::of_failure(&passage.request.tool_call_id, &failure).into()
        })
    }

    /// What an approval of the call will be bound to: the target's identity, and the content of a
    /// file that would be changed.
    async fn binding_of(
        &self,
        bound: BoundInput,
        passage: &Passage,
    ) -> Result<(BoundInput, Binding), Stop> {
        let (bound, binding) = blocking(move || {
            let binding = bound.binding();
            (bound, binding)
        })
        .await
        .map_err(|_| HostError::internal("the target could not be looked at"))?;
        let id = &passage.request.tool_call_id;
        let binding = binding.map_err(|failure| ToolOutcome::of_failure(id, &failure))?;
        Ok((bound, binding))
    }

    /// After a wait: is the target still the one that was approved?
    async fn rebind_call(
        self: &Arc<Self>,
        passage: &Passage,
        bound: BoundInput,
        binding: Binding,
        facts: Facts,
    ) -> Result<BoundInput, Stop> {
        let runtime = Arc::clone(&passage.runtime);
        let roots = passage.session.roots.clone();
        let rebound = blocking(move || {
            let roots = runtime.roots(&roots)?;
            bound.rebind(&binding, &facts, &roots)
        })
        .await
        .map_err(|_| HostError::internal("the target could not be opened again"))?;
        rebound.map_err(|failure| {
            ToolOutcome::of_failure(&passage.request.tool_call_id, &failure).into()
        })
    }

    /// Puts the call before the reviewers.
    async fn ask(
        self: &Arc<Self>,
        passage: &mut Passage,
        asked: Asked<'_>,
    ) -> Result<Approval, Stop> {
        let since = Instant::now();
        let review = tokio::select! {
            biased;
            review = self.review(passage, &asked) => review?,
            () = passage.in_flight.cancel.cancelled() => {
                passage.record.waited(since.elapsed());
                return Err(aborted(passage).into());
            }
        };
        passage.record.waited(since.elapsed());
        passage.record.reviewed(&review);
        match review.outcome {
            ReviewOutcome::Allowed { by, allowance } => {
                let kind = match (&by, &allowance) {
                    (Decider::Policy(_), _) | (_, Allowance::Always(_)) => ApprovalKind::ByRule,
                    (_, Allowance::Once | Allowance::Session(_)) => ApprovalKind::ThisCall,
                };
                match &allowance {
                    Allowance::Session(grant) => self.remember_grant(passage, grant, &by).await?,
                    Allowance::Always(rule) => self.remember_rule(passage, rule, &by).await?,
                    Allowance::Once => {}
                }
                Ok(Approval { allowance, kind })
            }
            ReviewOutcome::Aborted(_) => Err(aborted(passage).into()),
            other => {
                // A mode that changed while the card waited answers with its own code.
                let session = self.session(&passage.session.session_id).await?;
                self.check_mode(passage, &session)?;
                let cause = other.cause().unwrap_or_default();
                let mut message = other.message().unwrap_or_default();
                // Nobody said no to this call in particular: say why anybody had to be asked.
                let unanswered = matches!(
                    other,
                    ReviewOutcome::ReviewerRequired | ReviewOutcome::TimedOut { .. }
                );
                if let (true, Some(reason)) = (unanswered, asked.verdict.reasons.first()) {
                    message.push_str(&format!(" (asked because {reason})"));
                }
                Err(ToolOutcome::denied(&passage.request.tool_call_id, &cause, &message).into())
            }
        }
    }

    async fn admit(
        &self,
        passage: &Passage,
        class: CallClass,
        patience: Patience,
    ) -> Result<crate::admission::Slot, Stop> {
        let session = &passage.request.session_id;
        tokio::select! {
            slot = self.admission.admit(session, class, patience) => match slot {
                Ok(slot) => Ok(slot),
                Err(error) if error.code == ErrorCode::HostOverloaded => {
                    let id = &passage.request.tool_call_id;
                    Err(ToolOutcome::failure(id, error.code, &error.message).into())
                }
                Err(error) => Err(error.into()),
            },
            () = passage.in_flight.cancel.cancelled() => Err(aborted(passage).into()),
        }
    }

    /// Mode, turn and grants as they are now, after every wait: a call approved in agent mode does
    /// not run when the session has meanwhile become plan.
    async fn check_again(
        self: &Arc<Self>,
        passage: &mut Passage,
        facts: &Facts,
        overwrite: OverwriteState,
    ) -> Result<(), Stop> {
        check_abort(passage)?;
        let (session, grants) = self.session_and_grants(&passage.request.session_id)?;
        self.check_mode(passage, &session)?;
        passage.session = session;
        if passage.request.turn_id.is_some()
            && passage.request.turn_id != passage.session.running_turn
        {
            return Err(aborted(passage).into());
        }
        self.check_delegate_again(passage).await?;
        let caller = Caller {
            delegate: passage.delegate_name(),
            ..self
                .caller_with(&passage.session, &passage.request.tool_name, grants)
                .await
        };
        let policy = self.policy_of(&passage.session).await?;
        let verdict = self.judge.decide(facts, &caller, overwrite, &policy);
        passage.policy = Some(policy);
        passage.confinement = confinement_of(&verdict, passage.record.approval());
        match verdict.decision {
            Decision::Deny => Err(denied_by_policy(passage, &verdict).into()),
            Decision::Ask if !passage.record.is_approved() => {
                // What allowed it is gone (a grant was revoked, the mode changed): start over.
                Err(stale(passage).into())
            }
            Decision::Ask | Decision::Allow => Ok(()),
        }
    }
}

/// An abort ends a call between any two of its steps: large arguments take their time.
fn check_abort(passage: &Passage) -> Result<(), Stop> {
    if passage.in_flight.cancel.is_cancelled() {
        return Err(aborted(passage).into());
    }
    Ok(())
}

/// The names that a request carries into every row, card and notice are of a sane length.
fn check_names(request: &ToolRequest) -> Result<(), HostError> {
    let names = [
        ("/toolCallId", Some(&request.tool_call_id)),
        ("/toolName", Some(&request.tool_name)),
        ("/delegateId", request.delegate_id.as_ref()),
    ];
    for (pointer, name) in names {
        if name.is_some_and(|name| name.len() > LONGEST_NAME) {
            let message = format!("a name may hold at most {LONGEST_NAME} bytes");
            return Err(HostError::invalid_params(message).with("pointer", pointer));
        }
    }
    Ok(())
}

/// High-risk tools work in a project directory only, for scratch paths too (SPEC §1).
pub(crate) fn needs_workspace(tool: &str) -> bool {
    match tool_kind(tool) {
        ToolKind::Change | ToolKind::Shell | ToolKind::Plugin => true,
        ToolKind::Control => tool_risk(tool) == ToolRisk::High,
        ToolKind::Look | ToolKind::Conversation | ToolKind::Foreign => false,
    }
}

fn check_workspace(passage: &Passage) -> Result<(), Stop> {
    let tool = &passage.request.tool_name;
    if !needs_workspace(tool) || passage.session.roots.workspace.is_some() {
        return Ok(());
    }
    Err(workspace_required(passage).into())
}

fn workspace_required(passage: &Passage) -> ToolOutcome {
    let tool = &passage.request.tool_name;
    let message = format!("{tool} needs a project directory, and this session has none");
    ToolOutcome::failure(
        &passage.request.tool_call_id,
        ErrorCode::WorkspaceRequired,
        &message,
    )
}

fn invalid_arguments(passage: &Passage, error: &ArgumentError) -> ToolOutcome {
    let code = tools_list::argument_code(&passage.request.tool_name);
    let content = serde_json::json!({
        "error": error.message,
        "code": code.as_str(),
        "pointer": error.pointer,
        "expected": error.expected,
        "example": error.example,
        "accepted": error.accepted,
    });
    let id = &passage.request.tool_call_id;
    ToolOutcome::failed_with(id, code, content)
}

fn check_tool(passage: &Passage) -> Result<(), Stop> {
    let tool = &passage.request.tool_name;
    if tools_list::has_body(tool) {
        return Ok(());
    }
    let near = tools_list::nearest(tool);
    let mut message = format!("there is no tool `{tool}`");
    if !near.is_empty() {
        message.push_str(&format!("; did you mean {}?", near.join(", ")));
    }
    let mut outcome = ToolOutcome::failure(
        &passage.request.tool_call_id,
        ErrorCode::ToolNotFound,
        &message,
    );
    outcome.content["nearest"] = near.into();
    Err(outcome.into())
}

fn raw_call(passage: &Passage) -> Result<ToolCall, Stop> {
    match &passage.request.args {
        Value::Object(object) => Ok(ToolCall {
            tool: passage.request.tool_name.clone(),
            args: RawArgs::new(object.clone()),
        }),
        _ => {
            let id = &passage.request.tool_call_id;
            let message = "the arguments must be a JSON object";
            Err(ToolOutcome::failure(id, ErrorCode::InvalidArgument, message).into())
        }
    }
}

fn call_class(tool: &str) -> CallClass {
    match tool_kind(tool) {
        ToolKind::Change => CallClass::Mutation,
        ToolKind::Shell => CallClass::Shell,
        ToolKind::Plugin | ToolKind::Foreign => CallClass::Plugin,
        ToolKind::Look | ToolKind::Conversation | ToolKind::Control => CallClass::Read,
    }
}

fn denied_by_policy(passage: &Passage, verdict: &Verdict) -> ToolOutcome {
    let message = match verdict.reasons.as_slice() {
        [] => "policy denies this call".to_owned(),
        reasons => format!("policy denies this call: {}", reasons.join("; ")),
    };
    let cause = verdict.cause.wire_name();
    let mut outcome = ToolOutcome::denied(&passage.request.tool_call_id, &cause, &message);
    outcome.content["decidedBy"] = verdict.decided_by.clone().into();
    outcome
}

pub(crate) fn aborted(passage: &Passage) -> ToolOutcome {
    let message = "the call was aborted before it ran";
    ToolOutcome::failure(
        &passage.request.tool_call_id,
        ErrorCode::ToolAborted,
        message,
    )
}

fn stale(passage: &Passage) -> ToolOutcome {
    let message = "what was judged is no longer what would run; send the call again";
    let mut outcome = ToolOutcome::failure(
        &passage.request.tool_call_id,
        ErrorCode::StaleApproval,
        message,
    );
    outcome.content["retryable"] = true.into();
    outcome
}

/// Cancellation as guardian-tools wants it.
pub(crate) struct BodyCancel(pub(crate) Arc<CancelSignal>);

impl guardian_tools::Cancel for BodyCancel {
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}
