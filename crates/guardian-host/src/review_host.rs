//! The host's side of a review: the chain, the clients that show cards, and deciding anew about
//! what waits when something changed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use guardian_facts::{Facts, ToolCall};
use guardian_redact::{Preview, PreviewLimits};
use guardian_review::{
    ArgsPreview, Attendance, BreakerState, Chain, ChainLink, HumanAnswer, HumanClients,
    HumanReviewer, PendingQueue, Posted, ReEvaluation, RequestIds, RequestKey, Resolution, Review,
    ReviewConfig, ReviewRequest, Reviewer, ReviewerSpec, Settlement,
};
use guardian_rules::{Decision, OperatingMode, ToolKind, Verdict, tool_kind, tool_risk};

use crate::error::{ErrorCode, HostError};
use crate::events::{Event, EventSink};
use crate::gate::Passage;
use crate::host::Host;
use crate::judge::OverwriteState;
use crate::sessions::random_id;

/// The clients that put cards before people.
pub(crate) struct Clients {
    attached: AtomicUsize,
    events: Arc<dyn EventSink>,
}

impl Clients {
    pub(crate) fn new(events: Arc<dyn EventSink>) -> Self {
        Self {
            attached: AtomicUsize::new(0),
            events,
        }
    }

    pub(crate) fn attach(&self) {
        self.attached.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn is_attended(&self) -> bool {
        self.attached.load(Ordering::Acquire) > 0
    }
}

impl HumanClients for Clients {
    fn attendance(&self, _session_id: &str) -> Attendance {
        if self.is_attended() {
            Attendance::Attended
        } else {
            Attendance::Headless
        }
    }

    fn post(&self, posted: &Arc<Posted>) {
        self.events.emit(Event::PermissionRequest {
            posted: Arc::clone(posted),
        });
    }

    fn settled(&self, posted: &Arc<Posted>, settlement: &Settlement) {
        self.events.emit(Event::PermissionResolved {
            posted: Arc::clone(posted),
            settlement: settlement.clone(),
        });
    }
}

/// The configured reviewers.
///
/// # Errors
/// `INVALID_PARAMS` for a reviewer that this build does not have: a chain that silently lacks one
/// would not be the chain that the user wrote.
pub(crate) fn chain(
    config: &ReviewConfig,
    queue: &Arc<PendingQueue>,
    clients: &Arc<Clients>,
) -> Result<Chain, HostError> {
    let specs = config
        .reviewers()
        .map_err(|error| HostError::invalid_params(error.to_string()))?;
    let link = |spec: ReviewerSpec| -> Result<ChainLink, HostError> {
        let reviewer: Arc<dyn Reviewer> = match spec {
            ReviewerSpec::Human => {
                let clients = Arc::clone(clients) as Arc<dyn HumanClients>;
                Arc::new(HumanReviewer::new(Arc::clone(queue), clients))
            }
            ReviewerSpec::Cache | ReviewerSpec::Command(_) | ReviewerSpec::Model => {
                return Err(HostError::new(
                    ErrorCode::InvalidParams,
                    "this version of guardian has the reviewer `human` only",
                ));
            }
        };
        Ok(ChainLink {
            reviewer,
            on_failure: config.on_failure,
        })
    };
    Ok(Chain::new(
        specs.into_iter().map(link).collect::<Result<_, _>>()?,
    ))
}

/// Calls whose card waits, with what is needed to decide about them anew.
#[derive(Default)]
pub(crate) struct WaitingCalls(Mutex<HashMap<String, WaitingCall>>);

#[derive(Clone)]
struct WaitingCall {
    facts: Arc<Facts>,
    overwrite: OverwriteState,
}

impl WaitingCalls {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, WaitingCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a call out of [`WaitingCalls`] again, also when its future is dropped.
struct Waits<'h> {
    host: &'h Host,
    request_id: String,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.host.waiting.lock().remove(&self.request_id);
    }
}

impl Host {
    /// Puts a call before the reviewers and waits for the outcome.
    pub(crate) async fn review(
        &self,
        passage: &Passage,
        call: &ToolCall,
        facts: &Arc<Facts>,
        verdict: &Verdict,
        overwrite: OverwriteState,
    ) -> Result<Review, HostError> {
        let request_id = random_id("r")?;
        self.waiting.lock().insert(
            request_id.clone(),
            WaitingCall {
                facts: Arc::clone(facts),
                overwrite,
            },
        );
        let _waits = Waits {
            host: self,
            request_id: request_id.clone(),
        };
        let policy = self.policy_of(&passage.session).await?;
        let caller = self.caller(&passage.session).await;
        let situation = self.judge.situation(&call.tool, &caller, overwrite);
        let mut request = self.review_request(request_id, passage, call, facts, verdict);
        request.suggestions = policy.suggest(facts, &situation);
        // A rule that holds a secret is none to be written down; its card would show another one.
        request.suggestions.retain(|suggestion| {
            self.redactor.redact_text(&suggestion.toml) == suggestion.toml
                && self.redactor.redact_text(&suggestion.sentence) == suggestion.sentence
        });
        Ok(self.chain.review(&request, BreakerState::Closed).await)
    }

    fn review_request(
        &self,
        request_id: String,
        passage: &Passage,
        call: &ToolCall,
        facts: &Facts,
        verdict: &Verdict,
    ) -> ReviewRequest {
        let preview = Preview::new(&self.redactor, &call.args.to_value(), PreviewLimits::CARD);
        let ids = RequestIds {
            request_id,
            session_id: passage.request.session_id.clone(),
            turn_id: passage.request.turn_id.clone(),
            tool_call_id: passage.request.tool_call_id.clone(),
        };
        let args = ArgsPreview {
            value: preview.value,
            whole: preview.whole,
            masked: preview.masked,
        };
        let mut request = ReviewRequest::new(ids, facts, verdict, tool_risk(&call.tool), args);
        request.facts = self.redactor.redact_value(
            &serde_json::to_value(guardian_facts::FactsV1::from(facts)).unwrap_or_default(),
        );
        request.delegate = passage.request.delegate_id.clone();
        if passage.session.mode != OperatingMode::Agent && tool_kind(&call.tool) == ToolKind::Shell
        {
            request.notes.push(
                "the session is planning: this mode does not make commands read-only".to_owned(),
            );
        }
        // Last, so that nothing put in afterwards escapes it.
        request.redact(&self.redactor);
        request
    }

    /// A person's answer. False when the request is gone, answered before, or of another session.
    pub fn resolve_permission(
        &self,
        session_id: &str,
        request_id: &str,
        answer: &HumanAnswer,
    ) -> bool {
        let resolution = self.queue.resolve(Some(session_id), request_id, answer);
        matches!(resolution, Resolution::Settled(_))
    }

    /// Cards that wait, oldest first; of one session or of all.
    #[must_use]
    pub fn pending_permissions(&self, session_id: Option<&str>) -> Vec<Arc<Posted>> {
        self.queue.pending(session_id)
    }

    /// Decides anew about what waits: after every grant, rule, revocation or mode change (SPEC §5).
    pub(crate) async fn re_evaluate(&self, session_id: Option<&str>) {
        for posted in self.queue.pending(session_id) {
            let key = RequestKey::of(&posted.request);
            let waiting = self.waiting.lock().get(&key.request_id).cloned();
            let Some(waiting) = waiting else { continue };
            // A session that cannot be read decides nothing: the card stays.
            let Ok(session) = self.session(&key.session_id).await else {
                continue;
            };
            let Ok(policy) = self.policy_of(&session).await else {
                continue;
            };
            let caller = self.caller(&session).await;
            let verdict = self
                .judge
                .decide(&waiting.facts, &caller, waiting.overwrite, &policy);
            let decision = match verdict.decision {
                Decision::Allow => ReEvaluation::Allow(verdict),
                Decision::Ask => ReEvaluation::StillAsk,
                Decision::Deny => ReEvaluation::Deny(verdict),
            };
            self.queue.supersede(&key, decision);
        }
    }
}
