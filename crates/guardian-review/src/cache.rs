//! Earlier answers of automatic reviewers (SPEC §8).
//!
//! The host computes the key ([`ReviewRequest::cache_key`]) from everything an answer depends on
//! and keeps the answers; this reviewer only says what counts: an allow within the turn it was
//! given in, a denial in every turn of the session.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{Answer, ReviewError, ReviewRequest, Reviewer, ReviewerKind};

/// An answer that was given before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RememberedAnswer {
    /// Allowed, or denied.
    pub allowed: bool,
    /// Who said so.
    pub reviewer: String,
    /// Why, as far as they said.
    pub rationale: String,
}

/// Where answers are kept; implemented by the host over its store.
#[async_trait]
pub trait AnswerMemory: Send + Sync {
    /// The answer to a key. An allow only of this very turn.
    ///
    /// # Errors
    /// A text for the log, when it cannot be looked up.
    async fn recall(
        &self,
        session_id: &str,
        turn_id: &str,
        key: &str,
    ) -> Result<Option<RememberedAnswer>, String>;
}

/// Repeats earlier answers.
pub struct CacheReviewer {
    memory: Arc<dyn AnswerMemory>,
}

impl CacheReviewer {
    /// A reviewer over this memory.
    #[must_use]
    pub fn new(memory: Arc<dyn AnswerMemory>) -> Self {
        Self { memory }
    }
}

#[async_trait]
impl Reviewer for CacheReviewer {
    fn name(&self) -> &str {
        CACHE
    }

    fn kind(&self) -> ReviewerKind {
        ReviewerKind::Automatic
    }

    async fn review(&self, request: &ReviewRequest) -> Result<Answer, ReviewError> {
        // Outside a turn nothing bounds how long an allow would hold: nothing is repeated.
        let (Some(key), Some(turn)) = (&request.cache_key, &request.turn_id) else {
            return Ok(Answer::Abstain);
        };
        match self.memory.recall(&request.session_id, turn, key).await {
            Ok(Some(remembered)) if remembered.allowed => Ok(Answer::AllowOnce),
            Ok(Some(remembered)) => Ok(Answer::Deny {
                feedback: Some(remembered.rationale).filter(|text| !text.is_empty()),
            }),
            Ok(None) => Ok(Answer::Abstain),
            // A memory that cannot be read is no memory (SPEC §1), and no failed reviewer.
            Err(error) => {
                tracing::warn!(error, "earlier answers could not be looked up");
                Ok(Answer::Abstain)
            }
        }
    }
}

/// Name of this reviewer in the chain.
pub(crate) const CACHE: &str = "cache";
