//! The host's side of a review: the chain, the clients that show cards, and deciding anew about
//! what waits when something changed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use guardian_facts::{Facts, PathProbe as _, ToolCall};
use guardian_redact::{Preview, PreviewLimits};
use guardian_review::{
    ArgsPreview, Attendance, BreakerState, HumanAnswer, HumanClients, Posted, ReEvaluation,
    RequestIds, RequestKey, Resolution, Review, ReviewRequest, Settlement, ShownCode,
};
use guardian_rules::{Decision, OperatingMode, ToolKind, Verdict, tool_kind, tool_risk};
use guardian_tools::Binding;

use crate::blocking::blocking;
use crate::carried;
use crate::error::HostError;
use crate::events::{Event, EventSink};
use crate::gate::Passage;
use crate::host::Host;
use crate::judge::{Caller, OverwriteState};
use crate::policies::PolicyInForce;
use crate::reviews::Bound;
use crate::sessions::{SessionInfo, random_id};

/// How often the policy is looked at while a card waits.
const POLICY_LOOK: std::time::Duration = std::time::Duration::from_secs(1);

/// Bytes of a code file that a card shows.
const CODE_BYTES: usize = 16 * 1024;
/// Code files that are read for a card.
const CODE_FILES: usize = 8;

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

/// Calls whose card waits, with what is needed to decide about them anew.
#[derive(Default)]
pub(crate) struct WaitingCalls(Mutex<HashMap<String, WaitingCall>>);

#[derive(Clone)]
struct WaitingCall {
    facts: Arc<Facts>,
    delegate: Option<String>,
    overwrite: OverwriteState,
}

impl WaitingCalls {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, WaitingCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is put before the reviewers.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'c> {
    pub(crate) call: &'c ToolCall,
    pub(crate) facts: &'c Arc<Facts>,
    pub(crate) verdict: &'c Verdict,
    pub(crate) overwrite: OverwriteState,
    /// Its target; `None` for a call without one.
    pub(crate) binding: Option<&'c Binding>,
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
        self: &Arc<Self>,
        passage: &Passage,
        asked: &Asked<'_>,
    ) -> Result<Review, HostError> {
        let Asked {
            call,
            facts,
            overwrite,
            binding,
            ..
        } = *asked;
        let request_id = random_id("r")?;
        self.waiting.lock().insert(
            request_id.clone(),
            WaitingCall {
                facts: Arc::clone(facts),
                delegate: passage.delegate_name(),
                overwrite,
            },
        );
        let _waits = Waits {
            host: self,
            request_id: request_id.clone(),
        };
        let policy = self.policy_of(&passage.session).await?;
        let caller = passage.caller(self).await;
        let situation = self.judge.situation(&call.tool, &caller, overwrite);
        let code = self.shown_code(passage, facts).await;
        let notes = policy
            .changed_commands(facts, &situation)
            .iter()
            .flat_map(guardian_rules::ChangedCommand::lines)
            .collect();
        let mut request = self.review_request(request_id, passage, asked, code, notes);
        request.suggestions = policy.suggest(facts, &situation);
        // A rule that holds a secret is none to be written down; its card would show another one.
        request.suggestions.retain(|suggestion| {
            self.redactor.redact_text(&suggestion.toml) == suggestion.toml
                && self.redactor.redact_text(&suggestion.sentence) == suggestion.sentence
        });
        let policy_version = self.judge.version(&policy);
        let bound = Bound {
            call,
            facts,
            binding,
            policy_version: &policy_version,
        };
        let action = self.action_hash(passage, &bound);
        let action = action.as_deref();
        if let Some(review) = self.overruled(passage, action) {
            return Ok(review);
        }
        self.prepare_review(passage, &mut request, action, facts.reading)
            .await;
        let breaker = self.breaker_state(passage).await;
        let review = self
            .review_watching(passage, &policy, &request, breaker)
            .await;
        self.carry_effects(passage, &request, action, &review).await;
        Ok(review)
    }

    /// Reviews, and looks at the policy meanwhile: the files, or what the operator confirmed
    /// elsewhere, may decide what waits.
    async fn review_watching(
        &self,
        passage: &Passage,
        policy: &PolicyInForce,
        request: &ReviewRequest,
        breaker: BreakerState,
    ) -> Review {
        let review = self.chain.review(request, breaker);
        tokio::pin!(review);
        let mut version = policy.version().to_owned();
        loop {
            tokio::select! {
                biased;
                review = &mut review => return review,
                () = tokio::time::sleep(POLICY_LOOK) => {
                    self.look_while_waiting(&passage.session, &mut version).await;
                }
            }
        }
    }

    async fn look_while_waiting(&self, session: &SessionInfo, version: &mut String) {
        let Ok(policy) = self.policy_of(session).await else {
            return;
        };
        if policy.version() != version {
            policy.version().clone_into(version);
            self.re_evaluate(Some(&session.session_id)).await;
        }
    }

    /// The code files that a call runs, as the card shows them (SPEC §6.1).
    async fn shown_code(self: &Arc<Self>, passage: &Passage, facts: &Arc<Facts>) -> Vec<ShownCode> {
        if facts.code_files.is_empty() {
            return Vec::new();
        }
        let changed = match passage.session_id() {
            Ok(id) => self.with_store(move |store| store.artifacts(&id)).await,
            Err(error) => Err(error),
        };
        let changed: Vec<std::path::PathBuf> = changed
            .unwrap_or_default()
            .into_iter()
            .map(|one| one.artifact.path)
            .collect();
        let (host, facts) = (Arc::clone(self), Arc::clone(facts));
        let workspace = passage.session.roots.workspace.clone().unwrap_or_default();
        let read = blocking(move || {
            let show = |file: &guardian_facts::CodeFile| {
                let path = &file.path.path;
                let content = host.probe.read_file(path, CODE_BYTES);
                let (text, whole) = match &content {
                    Some(content) => (
                        String::from_utf8_lossy(&content.head).into_owned(),
                        content.size <= CODE_BYTES as u64
                            && file.hash.as_ref().is_none_or(|hash| *hash == content.hash),
                    ),
                    None => (String::new(), false),
                };
                ShownCode {
                    path: path.to_string_lossy().into_owned(),
                    text,
                    whole,
                    changed_by_session: changed
                        .iter()
                        .any(|one| workspace.join(one) == *path || one == path),
                }
            };
            let mut seen = std::collections::BTreeSet::new();
            let files = facts
                .code_files
                .iter()
                .filter(|file| seen.insert(file.path.path.clone()));
            files.take(CODE_FILES).map(show).collect()
        });
        read.await.unwrap_or_default()
    }

    fn review_request(
        &self,
        request_id: String,
        passage: &Passage,
        asked: &Asked<'_>,
        code: Vec<ShownCode>,
        notes: Vec<String>,
    ) -> ReviewRequest {
        let Asked {
            call,
            facts,
            verdict,
            ..
        } = *asked;
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
        request.facts = self.judge.shown_facts(call, facts).unwrap_or_default();
        let files: std::collections::BTreeSet<_> = facts
            .code_files
            .iter()
            .map(|file| &file.path.path)
            .collect();
        request.omitted.code = files.len() - code.len();
        request.code = code;
        request.notes.extend(notes);
        request.delegate = passage.delegate_name();
        if passage.session.mode != OperatingMode::Agent && tool_kind(&call.tool) == ToolKind::Shell
        {
            request.notes.push(
                "the session is planning: this mode does not make commands read-only".to_owned(),
            );
        }
        // Last, so that nothing put in afterwards escapes it; cut only then, or a secret could be
        // cut to what no longer looks like one.
        let carried = carried::of_call(&self.redactor, call, facts);
        request.redact(&self.redactor, &carried);
        request.bound();
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
            let caller = Caller {
                delegate: waiting.delegate.clone(),
                ..self.caller(&session, &waiting.facts.tool).await
            };
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
