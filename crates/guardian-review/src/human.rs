//! The human reviewer.

use std::sync::Arc;

use async_trait::async_trait;

use crate::queue::{PendingQueue, Posted, Settlement, Waiting};
use crate::{Answer, ReviewError, ReviewRequest, Reviewer, ReviewerKind};

/// Is somebody there who could answer?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attendance {
    /// A client that can put a card before a person.
    Attended,
    /// None: what must be asked about is denied at once.
    Headless,
}

/// The clients that put cards before people; implemented by the host (notifications
/// `permissions.request` and `permissions.resolved`) and by `guardian exec` (the terminal).
///
/// For one request `post` is called first and `settled` last, each exactly once, from the task
/// that waits. Both must return at once.
pub trait HumanClients: Send + Sync {
    /// Is somebody there for this session?
    fn attendance(&self, session_id: &str) -> Attendance;

    /// Shows a request.
    fn post(&self, posted: &Arc<Posted>);

    /// Takes a request away again, however it ended.
    fn settled(&self, posted: &Arc<Posted>, settlement: &Settlement);
}

/// Asks people.
pub struct HumanReviewer {
    queue: Arc<PendingQueue>,
    clients: Arc<dyn HumanClients>,
}

impl HumanReviewer {
    /// A reviewer that puts its requests into `queue`; the host answers them there.
    #[must_use]
    pub fn new(queue: Arc<PendingQueue>, clients: Arc<dyn HumanClients>) -> Self {
        Self { queue, clients }
    }
}

#[async_trait]
impl Reviewer for HumanReviewer {
    fn name(&self) -> &str {
        "human"
    }

    fn kind(&self) -> ReviewerKind {
        ReviewerKind::Human
    }

    async fn review(&self, request: &ReviewRequest) -> Result<Answer, ReviewError> {
        if self.clients.attendance(&request.session_id) == Attendance::Headless {
            return Err(ReviewError::Headless);
        }
        let waiting = self
            .queue
            .admit(request.clone())
            .map_err(|error| ReviewError::Failed(format!("the request was not taken: {error}")))?;
        let posted = Arc::clone(waiting.posted());
        // Announces the end also when this future is dropped while it waits.
        let mut shown = Shown {
            clients: self.clients.as_ref(),
            waiting,
            ended: None,
        };
        shown.clients.post(&posted);
        let settlement = shown.waiting.settled().await;
        shown.ended = Some(settlement.clone());
        drop(shown);
        match settlement {
            Settlement::Answered(answer) => Ok(answer),
            Settlement::TimedOut => Err(ReviewError::TimedOut {
                after: posted.timeout,
            }),
            Settlement::Aborted(reason) => Err(ReviewError::Aborted(reason)),
            Settlement::Superseded(verdict) => Err(ReviewError::Superseded(Box::new(verdict))),
        }
    }
}

/// A card on somebody's screen.
struct Shown<'a> {
    clients: &'a dyn HumanClients,
    waiting: Waiting,
    ended: Option<Settlement>,
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        let ended = self.ended.take();
        let ended = ended.unwrap_or_else(|| self.waiting.give_up());
        self.clients.settled(self.waiting.posted(), &ended);
    }
}
