//! What is kept of reviews between calls: the turn's breaker, the answers of automatic reviewers,
//! and their denials that a person may overrule (SPEC §8).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use guardian_facts::{Facts, FactsV1, Reading, ToolCall};
use guardian_review::{
    Allowance, Breaker, BreakerLimits, BreakerState, BreakerV1, ChainStep, Decider, Review,
    ReviewEffect, ReviewOutcome, ReviewRequest, StepResult,
};
use guardian_store::{
    AuditEntry, AuditEvent, CachedDecision, Durability, SessionId, Store, TurnOutcome,
};
use guardian_tools::Binding;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::HostError;
use crate::events::Event;
use crate::gate::Passage;
use crate::host::Host;

/// Name of the breaker over automatic reviewers in the store.
const BREAKER: &str = "reviewers";
/// Messages of the user that a model may see, newest counted first, and their bytes.
const MESSAGES: usize = 20;
const MESSAGE_BYTES: usize = 32 * 1024;
/// Denials that are kept of a session for being overruled.
const DENIALS: usize = 64;

/// A call that an automatic reviewer denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewerDenial {
    /// Names the action: the call with everything it depended on. Whoever knows it can overrule
    /// nothing but exactly this.
    pub action: String,
    /// The call.
    pub tool_call_id: String,
    /// Its tool.
    pub tool_name: String,
    /// What it would have done.
    pub summary: String,
    /// Who denied it.
    pub reviewer: String,
    /// Why.
    pub rationale: Option<String>,
    /// Milliseconds since the epoch.
    pub at: i64,
    /// A person has overruled it, and the action has not run yet.
    pub overruled: bool,
    key: Option<String>,
}

/// What this process keeps of a session's reviews. Gone with the process, which only tightens.
#[derive(Default)]
pub(crate) struct ReviewState {
    /// Held while the breaker is read, changed and written.
    breaker: tokio::sync::Mutex<()>,
    denials: Mutex<VecDeque<ReviewerDenial>>,
}

impl ReviewState {
    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<ReviewerDenial>> {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, denial: ReviewerDenial) {
        let mut denials = self.lock();
        denials.retain(|one| one.action != denial.action);
        if denials.len() == DENIALS {
            denials.pop_front();
        }
        denials.push_back(denial);
    }

    /// True once for an action whose denial was overruled.
    fn take_overruled(&self, action: &str) -> bool {
        let mut denials = self.lock();
        let found = denials
            .iter()
            .position(|one| one.overruled && one.action == action);
        found.and_then(|index| denials.remove(index)).is_some()
    }
}

/// A turn's breaker in the store.
#[derive(Serialize, Deserialize)]
struct StoredBreaker {
    turn: String,
    breaker: BreakerV1,
}

/// What a review of this call is bound to.
pub(crate) struct Bound<'b> {
    pub(crate) call: &'b ToolCall,
    pub(crate) facts: &'b Facts,
    pub(crate) binding: Option<&'b Binding>,
    pub(crate) policy_version: &'b str,
}

impl Host {
    /// The hash that names an action: the exact arguments, facts (with the hashes of code files),
    /// target and policy. Keyed, so that it tells nothing of what went into it.
    pub(crate) fn action_hash(&self, passage: &Passage, bound: &Bound<'_>) -> Option<String> {
        let facts = serde_json::to_value(FactsV1::from(bound.facts)).ok()?;
        let action = json!({
            "session": passage.request.session_id,
            "args": bound.call.args.to_value(),
            "facts": facts,
            "target": bound.binding.map(|binding| format!("{binding:?}")),
            "shell": passage.shell_id,
            "delegate": passage.delegate_name(),
            "policy": bound.policy_version,
        });
        self.store.args_hash(&bound.call.tool, &action).ok()
    }

    /// Adds to a request what automatic reviewers need: the user's messages, and the key of
    /// answers. Nothing is looked up where the chain asks people only.
    pub(crate) async fn prepare_review(
        &self,
        passage: &Passage,
        request: &mut ReviewRequest,
        action: Option<&str>,
        reading: Reading,
    ) {
        if !self.chain.has_automatic() {
            return;
        }
        let Ok(session) = passage.session_id() else {
            return;
        };
        let looked_up = self.with_store(move |store| store.user_messages(&session, MESSAGES));
        // Without evidence a model sees nothing authorised.
        let messages = looked_up.await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the user's messages could not be read");
            Vec::new()
        });
        let mut left = MESSAGE_BYTES;
        let mut kept: Vec<String> = messages
            .into_iter()
            .take_while(|message| {
                let fits = message.len() <= left;
                left = left.saturating_sub(message.len());
                fits
            })
            .collect();
        kept.reverse();
        request.user_messages = kept;
        let in_turn = request.turn_id.is_some();
        if let (Some(action), Reading::Complete, true) = (action, reading, in_turn) {
            let parts = json!({
                "action": action,
                "reviewers": self.chain.version(),
                "message": request.user_messages.last(),
            });
            request.cache_key = self.store.args_hash("answer", &parts).ok();
        }
    }

    /// An answer that a person gave in advance: the one run of an action whose denial they
    /// overruled.
    pub(crate) fn overruled(&self, passage: &Passage, action: Option<&str>) -> Option<Review> {
        let action = action?;
        let taken = passage.runtime.reviews.take_overruled(action);
        taken.then(|| Review {
            outcome: ReviewOutcome::Allowed {
                by: Decider::Human,
                allowance: Allowance::Once,
            },
            effects: Vec::new(),
            steps: vec![ChainStep {
                reviewer: "human".to_owned(),
                result: StepResult::Decided(guardian_review::Answer::AllowOnce),
            }],
            prompted: false,
        })
    }

    /// The turn's breaker over automatic reviewers.
    pub(crate) async fn breaker_state(&self, passage: &Passage) -> BreakerState {
        if !self.chain.has_automatic() {
            return BreakerState::Closed;
        }
        let _held = passage.runtime.reviews.breaker.lock().await;
        self.read_breaker(passage).await.state()
    }

    /// A breaker that cannot be read is an open one: people are asked.
    async fn read_breaker(&self, passage: &Passage) -> Breaker {
        let limits = BreakerLimits::AUTOMATIC_REVIEWERS;
        let Ok(session) = passage.session_id() else {
            return Breaker::open(limits);
        };
        let stored = self
            .with_store(move |store| store.breaker(&session, BREAKER))
            .await;
        match stored {
            Ok(None) => Breaker::new(limits),
            Ok(Some(text)) => match serde_json::from_str::<StoredBreaker>(&text) {
                Ok(stored) if stored.turn == turn_of(passage) => {
                    Breaker::from_v1(&stored.breaker, limits)
                }
                Ok(_) => Breaker::new(limits),
                Err(error) => {
                    tracing::warn!(%error, "a breaker is not understood and counts as open");
                    Breaker::open(limits)
                }
            },
            Err(error) => {
                tracing::warn!(%error, "a breaker could not be read and counts as open");
                Breaker::open(limits)
            }
        }
    }

    /// Carries what a review wants recorded to the store, but for grants and rules, which the gate
    /// remembers itself.
    pub(crate) async fn carry_effects(
        self: &Arc<Self>,
        passage: &Passage,
        request: &ReviewRequest,
        action: Option<&str>,
        review: &Review,
    ) {
        if self.chain.has_automatic() {
            self.count(passage, review).await;
        }
        for effect in &review.effects {
            match effect {
                ReviewEffect::KeepAnswer {
                    reviewer,
                    allowed,
                    rationale,
                } => {
                    let decision = CachedDecision {
                        allowed: *allowed,
                        reviewer: reviewer.clone(),
                        rationale: rationale.clone(),
                        at: self.store.now(),
                    };
                    self.keep_answer(passage, request, decision).await;
                }
                ReviewEffect::EndTurn => self.end_turn_soon(passage),
                _ => {}
            }
        }
        if let ReviewOutcome::Denied {
            by: Decider::Reviewer(reviewer),
            feedback,
        } = &review.outcome
            && let Some(action) = action
        {
            let denial = ReviewerDenial {
                action: action.to_owned(),
                tool_call_id: request.tool_call_id.clone(),
                tool_name: request.tool_name.clone(),
                summary: request.summary.clone(),
                reviewer: reviewer.clone(),
                rationale: feedback.clone(),
                at: self.store.now().0,
                overruled: false,
                key: request.cache_key.clone(),
            };
            passage.runtime.reviews.add(denial.clone());
            self.events.emit(Event::ReviewerDenied {
                session_id: request.session_id.clone(),
                denial,
            });
        }
    }

    /// Counts the answers of a review in the turn's breaker.
    async fn count(&self, passage: &Passage, review: &Review) {
        let counted = |effect: &&ReviewEffect| {
            matches!(
                effect,
                ReviewEffect::CountDenial { .. }
                    | ReviewEffect::CountAllow { .. }
                    | ReviewEffect::HumanAnswered
            )
        };
        if !review.effects.iter().any(|effect| counted(&effect)) {
            return;
        }
        let _held = passage.runtime.reviews.breaker.lock().await;
        let mut breaker = self.read_breaker(passage).await;
        for effect in &review.effects {
            match effect {
                ReviewEffect::CountDenial { .. } => breaker.record_failure(),
                ReviewEffect::CountAllow { .. } => breaker.record_success(),
                ReviewEffect::HumanAnswered => breaker.record_human_answer(),
                _ => {}
            }
        }
        let stored = StoredBreaker {
            turn: turn_of(passage),
            breaker: breaker.to_v1(),
        };
        let (Ok(session), Ok(text)) = (passage.session_id(), serde_json::to_string(&stored)) else {
            return;
        };
        let kept = self.with_store(move |store| store.keep_breaker(&session, BREAKER, text));
        if let Err(error) = kept.await {
            tracing::warn!(%error, "a breaker could not be kept");
        }
    }

    async fn keep_answer(
        &self,
        passage: &Passage,
        request: &ReviewRequest,
        decision: CachedDecision,
    ) {
        let (Some(key), Some(turn)) = (request.cache_key.clone(), request.turn_id.clone()) else {
            return;
        };
        let Ok(session) = passage.session_id() else {
            return;
        };
        let kept =
            self.with_store(move |store| store.cache_decision(&session, &turn, &key, decision));
        if let Err(error) = kept.await {
            tracing::warn!(%error, "an answer could not be kept");
        }
    }

    /// Automatic reviewers denied too much and nobody is there: the turn ends, after the call that
    /// met it has its answer.
    fn end_turn_soon(self: &Arc<Self>, passage: &Passage) {
        let Some(turn) = passage.request.turn_id.clone() else {
            return;
        };
        tracing::warn!(
            turn,
            "automatic reviewers denied too many calls: the turn ends"
        );
        let (host, session) = (Arc::clone(self), passage.request.session_id.clone());
        tokio::spawn(async move {
            if let Err(error) = host
                .finish_turn(&session, &turn, TurnOutcome::Aborted)
                .await
            {
                tracing::warn!(%error, "the turn could not be ended");
            }
        });
    }

    /// Denials of automatic reviewers in a session, newest last.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `INTERNAL`.
    pub async fn reviewer_denials(
        &self,
        session_id: &str,
    ) -> Result<Vec<ReviewerDenial>, HostError> {
        self.session(session_id).await?;
        Ok(self
            .runtime(session_id)
            .reviews
            .lock()
            .iter()
            .cloned()
            .collect())
    }

    /// A person overrules an automatic reviewer's denial: exactly this action runs once when it is
    /// called again. False when there is no such denial.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`; `INTERNAL` when it cannot be recorded: then it is not overruled.
    pub async fn overrule_denial(&self, session_id: &str, action: &str) -> Result<bool, HostError> {
        self.session(session_id).await?;
        self.own_session(session_id).await?;
        let runtime = self.runtime(session_id);
        let denial = runtime
            .reviews
            .lock()
            .iter()
            .find(|one| one.action == action)
            .cloned();
        let Some(denial) = denial else {
            return Ok(false);
        };
        let session = SessionId::new(session_id).map_err(HostError::internal)?;
        let entry = AuditEntry {
            session: Some(session.clone()),
            tool_call: Some(denial.tool_call_id.clone()),
            tool: Some(denial.tool_name.clone()),
            facts_summary: Some(denial.summary.clone()),
            decided_by: Some("human".to_owned()),
            detail: Some(json!({ "action": action, "reviewer": denial.reviewer })),
            ..AuditEntry::new(AuditEvent::Overruled)
        };
        self.with_store(move |store| {
            store.append_audit(entry, Durability::Machine)?;
            forget(store, &session, denial.key.as_deref())
        })
        .await?;
        let mut overruled = false;
        for one in runtime.reviews.lock().iter_mut() {
            if one.action == action {
                one.overruled = true;
                overruled = true;
            }
        }
        Ok(overruled)
    }
}

fn forget(
    store: &Store,
    session: &SessionId,
    key: Option<&str>,
) -> Result<(), guardian_store::StoreError> {
    key.map_or(Ok(()), |key| store.forget_decision(session, key))
}

fn turn_of(passage: &Passage) -> String {
    passage.request.turn_id.clone().unwrap_or_default()
}

/// Who was asked, for the call's row.
pub(crate) fn steps(review: &Review) -> Option<Value> {
    if review.steps.is_empty() {
        return None;
    }
    let step = |step: &ChainStep| {
        let result = match &step.result {
            StepResult::Decided(answer) if answer.is_allow() => "allowed",
            StepResult::Decided(_) => "denied",
            StepResult::Abstained => "abstained",
            StepResult::AllowNotItsToGive => "allow-not-its-to-give",
            StepResult::SkippedByBreaker => "skipped-by-breaker",
            StepResult::Headless => "headless",
            StepResult::Failed(_) => "failed",
            StepResult::Ended => "ended",
        };
        let failure = match &step.result {
            StepResult::Failed(message) => Some(message.as_str()),
            _ => None,
        };
        json!({ "reviewer": step.reviewer, "result": result, "failure": failure })
    };
    Some(review.steps.iter().map(step).collect())
}
