//! The reviewer trait.

use std::time::Duration;

use async_trait::async_trait;

use crate::queue::{AbortReason, ReEvaluation};
use crate::{Answer, ReviewRequest};

/// A person, or something that answers for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReviewerKind {
    /// A person. Their answer may be remembered.
    Human,
    /// A cache, program or model: may allow once, deny or abstain; the breaker watches it.
    Automatic,
}

/// Answers requests.
#[async_trait]
pub trait Reviewer: Send + Sync {
    /// Name for audit and cards, e.g. `human`, `model`, `command:/opt/approve`.
    fn name(&self) -> &str;

    /// Person or automatic.
    fn kind(&self) -> ReviewerKind;

    /// Everything about the reviewer that its answers depend on; part of the key under which they
    /// are kept.
    fn version(&self) -> String {
        self.name().to_owned()
    }

    /// Answers.
    ///
    /// Dropping the future withdraws the request; a reviewer must not answer it afterwards.
    ///
    /// # Errors
    /// [`ReviewError`] when the reviewer has no answer. None of them is an allow.
    async fn review(&self, request: &ReviewRequest) -> Result<Answer, ReviewError>;
}

/// A review that ended without an answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReviewError {
    /// Nobody is there who could answer; the next reviewer is tried.
    #[error("no person is there to answer")]
    Headless,
    /// The reviewer did not answer in time.
    #[error("no answer within {} s", after.as_secs())]
    TimedOut {
        /// How long it had.
        after: Duration,
    },
    /// The call, the turn or the host ended.
    #[error("the call was aborted: {0}")]
    Aborted(AbortReason),
    /// Policy, a grant or a mode changed while the request was waiting, and decides now.
    #[error("policy changed and decides now")]
    Superseded(Box<ReEvaluation>),
    /// The reviewer broke: bad output, a crash, no connection.
    #[error("{0}")]
    Failed(String),
}
