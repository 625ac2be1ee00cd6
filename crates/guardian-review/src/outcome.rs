//! How a review ended, and what follows from it.

use std::time::Duration;

use guardian_rules::{Grant, Suggestion, Verdict};

use crate::queue::AbortReason;

/// Who decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decider {
    /// Policy, which changed while the request was waiting.
    Policy(Box<Verdict>),
    /// A person.
    Human,
    /// An automatic reviewer, by name.
    Reviewer(String),
}

/// How far an allow reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowance {
    /// This call.
    Once,
    /// The grant, for the rest of the session.
    Session(Grant),
    /// The suggested rule, in the user's policy.
    Always(Suggestion),
}

/// How a review ended. The kinds are kept apart everywhere (SPEC §8): audit, wire and the text
/// that the model reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewOutcome {
    /// The call may run.
    Allowed {
        /// Who said so.
        by: Decider,
        /// How far it reaches.
        allowance: Allowance,
    },
    /// It may not.
    Denied {
        /// Who said so.
        by: Decider,
        /// What the decider wants the model to know.
        feedback: Option<String>,
    },
    /// A person was asked and did not answer.
    TimedOut {
        /// How long they had.
        after: Duration,
    },
    /// The call, turn or host ended while the request was waiting.
    Aborted(AbortReason),
    /// A reviewer broke and its `on_failure` is `deny`.
    Failed {
        /// Which.
        reviewer: String,
        /// How, for people and log; never for the model.
        message: String,
    },
    /// Every reviewer abstained and nobody is there to ask.
    ReviewerRequired,
}

impl ReviewOutcome {
    /// The call may run.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        matches!(self, Self::Allowed { .. })
    }

    /// `content.cause` of the denial (SPEC §5); `None` for an allow.
    #[must_use]
    pub fn cause(&self) -> Option<String> {
        let cause = match self {
            Self::Allowed { .. } => return None,
            Self::Denied {
                by: Decider::Human, ..
            } => "user".to_owned(),
            Self::Denied {
                by: Decider::Reviewer(_),
                ..
            }
            | Self::Failed { .. } => "reviewer".to_owned(),
            Self::Denied {
                by: Decider::Policy(verdict),
                ..
            } => verdict.cause.wire_name(),
            Self::TimedOut { .. } => "timeout".to_owned(),
            Self::Aborted(_) => "aborted".to_owned(),
            Self::ReviewerRequired => "reviewer_required".to_owned(),
        };
        Some(cause)
    }

    /// What the model is told of a denial; `None` for an allow.
    #[must_use]
    pub fn message(&self) -> Option<String> {
        let text = match self {
            Self::Allowed { .. } => return None,
            Self::Denied {
                by: Decider::Human,
                feedback,
            } => with_feedback("the user denied permission", feedback.as_deref()),
            Self::Denied {
                by: Decider::Reviewer(name),
                feedback,
            } => with_feedback(
                &format!("the reviewer `{name}` denied permission"),
                feedback.as_deref(),
            ),
            Self::Denied {
                by: Decider::Policy(verdict),
                feedback,
            } => {
                let reason = verdict.reasons.first().map(String::as_str);
                with_feedback("policy denies this call", feedback.as_deref().or(reason))
            }
            Self::TimedOut { after } => format!(
                "nobody answered the permission request within {} s; the call was not run",
                after.as_secs()
            ),
            Self::Aborted(reason) => format!("the call was not run: {reason}"),
            Self::Failed { reviewer, .. } => {
                format!("the reviewer `{reviewer}` failed; the call was not run")
            }
            Self::ReviewerRequired => {
                "this call needs a person's permission and nobody is there to give it".to_owned()
            }
        };
        Some(text)
    }
}

fn with_feedback(text: &str, feedback: Option<&str>) -> String {
    match feedback {
        Some(feedback) => format!("{text}: {feedback}"),
        None => text.to_owned(),
    }
}

/// Something that a review wants to be recorded. The host carries it to the store; review and
/// store do not see each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewEffect {
    /// Remember a grant for the session of the request.
    RememberGrant(Grant),
    /// Add this rule to the user's policy.
    AddRule(Suggestion),
    /// An automatic reviewer denied: count it in the turn's breaker.
    CountDenial {
        /// Which.
        reviewer: String,
    },
    /// An automatic reviewer allowed: tell the turn's breaker.
    CountAllow {
        /// Which.
        reviewer: String,
    },
    /// Keep an automatic reviewer's answer under the request's cache key.
    KeepAnswer {
        /// Who answered.
        reviewer: String,
        /// Allowed, or denied.
        allowed: bool,
        /// Why, as far as they said.
        rationale: String,
    },
    /// A person answered: the turn's breaker may half-open.
    HumanAnswered,
    /// The turn's breaker is open and no person is there: end the turn.
    EndTurn,
}
