//! Requests that wait for a person.
//!
//! The map of pending entries is the only arbiter: whoever removes an entry from it (an answer, the
//! deadline, an abort, a re-evaluation, a dropped waiter) settles the request, and nobody else can.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use guardian_rules::Verdict;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::{Answer, HumanAnswer, ReviewRequest};

/// Most requests that may wait in one host. Beyond it a request is refused, which denies its call:
/// admission (SPEC §12) keeps ordinary use far below.
const MAX_PENDING: usize = 4096;

/// Names one request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestKey {
    /// The session that asks.
    pub session_id: String,
    /// The request.
    pub request_id: String,
}

impl RequestKey {
    /// The key of a request.
    #[must_use]
    pub fn of(request: &ReviewRequest) -> Self {
        Self {
            session_id: request.session_id.clone(),
            request_id: request.request_id.clone(),
        }
    }
}

/// Why a waiting request was withdrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AbortReason {
    /// `tools.abort` of the call.
    Call,
    /// The turn ended or was aborted.
    Turn,
    /// The session was deleted or taken over.
    Session,
    /// The client that could have answered is gone.
    ClientGone,
    /// The host stops.
    Host,
    /// Whoever asked stopped waiting.
    Abandoned,
}

impl fmt::Display for AbortReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Call => "the call was cancelled",
            Self::Turn => "the turn ended",
            Self::Session => "the session ended",
            Self::ClientGone => "the client that could have answered is gone",
            Self::Host => "guardian stops",
            Self::Abandoned => "the caller stopped waiting",
        })
    }
}

/// What policy says of a waiting request after something changed.
#[derive(Debug, Clone, PartialEq)]
pub enum ReEvaluation {
    /// It still has to be answered.
    StillAsk,
    /// It may run now (a new grant, another permission mode).
    Allow(Verdict),
    /// It is denied now (a new rule, plan mode).
    Deny(Verdict),
}

/// How a request ended. Exactly one per admitted request.
#[derive(Debug, Clone, PartialEq)]
pub enum Settlement {
    /// A person answered.
    Answered(Answer),
    /// Nobody answered in time.
    TimedOut,
    /// It was withdrawn.
    Aborted(AbortReason),
    /// Policy decides now; never [`ReEvaluation::StillAsk`].
    Superseded(ReEvaluation),
}

/// A request as it is put before people.
#[derive(Debug, Clone, PartialEq)]
pub struct Posted {
    /// What is asked.
    pub request: ReviewRequest,
    /// How many older requests of the session were waiting when it was posted.
    pub ahead: usize,
    /// Wall-clock time of posting, for display.
    pub created_at: SystemTime,
    /// When it is denied, for display; the queue itself counts monotonic time.
    pub deadline: SystemTime,
    /// Time from posting to the deadline.
    pub timeout: Duration,
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// It settled the request; this is what it was taken to mean.
    Settled(Answer),
    /// No such request is waiting: never was, is answered already, or is too late. Nothing
    /// happened.
    NotPending,
    /// Several sessions have a request of this id, and the answer names none. Nothing happened.
    Ambiguous,
}

/// A request that was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AdmitError {
    /// A request with this key is waiting already.
    #[error("a request with this id is waiting already")]
    Duplicate,
    /// Too many wait.
    #[error("too many requests are waiting")]
    Full,
    /// The host stops.
    #[error("guardian stops")]
    Closed,
}

/// All requests that wait for a person, of all sessions.
pub struct PendingQueue {
    timeout: Duration,
    wall_clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: HashMap<RequestKey, Entry>,
    next_sequence: u64,
    closed: bool,
}

struct Entry {
    sequence: u64,
    deadline: Instant,
    posted: Arc<Posted>,
    reply: oneshot::Sender<Settlement>,
}

/// An admitted request; await [`Waiting::settled`]. Dropping it withdraws the request.
pub struct Waiting {
    queue: Arc<PendingQueue>,
    key: RequestKey,
    sequence: u64,
    deadline: Instant,
    posted: Arc<Posted>,
    reply: oneshot::Receiver<Settlement>,
}

impl PendingQueue {
    /// A queue whose requests are denied after `timeout` (SPEC §8: 120 s unless configured).
    #[must_use]
    pub fn new(timeout: Duration) -> Arc<Self> {
        Self::with_wall_clock(timeout, SystemTime::now)
    }

    /// As [`Self::new`], with a wall clock for the times that people see.
    #[must_use]
    pub fn with_wall_clock(
        timeout: Duration,
        wall_clock: impl Fn() -> SystemTime + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            timeout,
            wall_clock: Box::new(wall_clock),
            state: Mutex::new(State::default()),
        })
    }

    /// Takes a request. Its deadline starts now, whether or not others wait before it.
    ///
    /// # Errors
    /// [`AdmitError`]; the caller then denies the call.
    pub fn admit(self: &Arc<Self>, request: ReviewRequest) -> Result<Waiting, AdmitError> {
        let key = RequestKey::of(&request);
        let deadline = Instant::now() + self.timeout;
        let created_at = (self.wall_clock)();
        let (sender, reply) = oneshot::channel();
        let mut state = self.lock();
        if state.closed {
            return Err(AdmitError::Closed);
        }
        if state.entries.contains_key(&key) {
            return Err(AdmitError::Duplicate);
        }
        if state.entries.len() >= MAX_PENDING {
            return Err(AdmitError::Full);
        }
        let posted = Arc::new(Posted {
            ahead: state.count(&key.session_id),
            request,
            created_at,
            deadline: created_at + self.timeout,
            timeout: self.timeout,
        });
        let sequence = state.next_sequence;
        state.next_sequence += 1;
        let entry = Entry {
            sequence,
            deadline,
            posted: Arc::clone(&posted),
            reply: sender,
        };
        state.entries.insert(key.clone(), entry);
        drop(state);
        Ok(Waiting {
            queue: Arc::clone(self),
            key,
            sequence,
            deadline,
            posted,
            reply,
        })
    }

    /// Answers one request, by id only. `session_id` is checked when the answer names one.
    ///
    /// An answer that arrives after the deadline settles nothing, also when the waiter has not
    /// noticed the deadline yet.
    pub fn resolve(
        &self,
        session_id: Option<&str>,
        request_id: &str,
        answer: &HumanAnswer,
    ) -> Resolution {
        let mut state = self.lock();
        let mut keys = state
            .entries
            .keys()
            .filter(|key| key.request_id == request_id)
            .filter(|key| session_id.is_none_or(|id| key.session_id == id));
        let Some(key) = keys.next().cloned() else {
            return Resolution::NotPending;
        };
        if keys.next().is_some() {
            return Resolution::Ambiguous;
        }
        match state.settle(&key, |request| {
            Settlement::Answered(answer.interpret(request))
        }) {
            Some(Settlement::Answered(meaning)) => Resolution::Settled(meaning),
            _ => Resolution::NotPending,
        }
    }

    /// Withdraws the requests of one call. Returns how many there were.
    pub fn abort_call(&self, session_id: &str, tool_call_id: &str, reason: AbortReason) -> usize {
        self.abort_where(reason, |request| {
            request.session_id == session_id && request.tool_call_id == tool_call_id
        })
    }

    /// Withdraws all requests of a session (SPEC §8: an abort denies the whole queue).
    pub fn abort_session(&self, session_id: &str, reason: AbortReason) -> usize {
        self.abort_where(reason, |request| request.session_id == session_id)
    }

    /// Withdraws everything and takes no more requests.
    pub fn close(&self, reason: AbortReason) -> usize {
        self.lock().closed = true;
        self.abort_where(reason, |_| true)
    }

    /// What waits, oldest first; of one session or of all.
    #[must_use]
    pub fn pending(&self, session_id: Option<&str>) -> Vec<Arc<Posted>> {
        let state = self.lock();
        let mut entries: Vec<(u64, Arc<Posted>)> = state
            .entries
            .iter()
            .filter(|(key, _)| session_id.is_none_or(|id| key.session_id == id))
            .map(|(_, entry)| (entry.sequence, Arc::clone(&entry.posted)))
            .collect();
        drop(state);
        entries.sort_unstable_by_key(|(sequence, _)| *sequence);
        entries.into_iter().map(|(_, posted)| posted).collect()
    }

    /// How many requests of the session wait.
    #[must_use]
    pub fn waiting(&self, session_id: &str) -> usize {
        self.lock().count(session_id)
    }

    /// Asks policy again about everything that waits, oldest first; to be called after every
    /// grant, rule, revocation or mode change (SPEC §5). `evaluate` runs without any lock held and
    /// may take its time: a request that is answered meanwhile keeps its answer. Returns how many
    /// requests were settled.
    pub fn re_evaluate(
        &self,
        session_id: Option<&str>,
        mut evaluate: impl FnMut(&ReviewRequest) -> ReEvaluation,
    ) -> usize {
        self.pending(session_id)
            .iter()
            .filter(|posted| {
                let verdict = evaluate(&posted.request);
                self.supersede(&RequestKey::of(&posted.request), verdict)
            })
            .count()
    }

    /// Settles one request by policy. False when it still has to be asked or waits no more.
    pub fn supersede(&self, key: &RequestKey, verdict: ReEvaluation) -> bool {
        if verdict == ReEvaluation::StillAsk {
            return false;
        }
        let settled = self.lock().settle(key, |_| Settlement::Superseded(verdict));
        matches!(settled, Some(Settlement::Superseded(_)))
    }

    fn abort_where(&self, reason: AbortReason, select: impl Fn(&ReviewRequest) -> bool) -> usize {
        let mut state = self.lock();
        let selected: Vec<RequestKey> = state
            .entries
            .iter()
            .filter(|(_, entry)| select(&entry.posted.request))
            .map(|(key, _)| key.clone())
            .collect();
        selected
            .iter()
            .filter_map(|key| state.settle(key, |_| Settlement::Aborted(reason)))
            .filter(|settlement| matches!(settlement, Settlement::Aborted(_)))
            .count()
    }

    /// Removes the entry of a waiter, unless another request has taken its key.
    fn withdraw(&self, key: &RequestKey, sequence: u64) -> bool {
        let mut state = self.lock();
        if state
            .entries
            .get(key)
            .is_some_and(|entry| entry.sequence == sequence)
        {
            state.entries.remove(key);
            return true;
        }
        false
    }

    /// The state stays consistent when a holder panics: every change of it is one map operation.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for PendingQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PendingQueue")
            .field("timeout", &self.timeout)
            .field("pending", &self.lock().entries.len())
            .finish_non_exhaustive()
    }
}

impl State {
    fn count(&self, session_id: &str) -> usize {
        self.entries
            .keys()
            .filter(|key| key.session_id == session_id)
            .count()
    }

    /// Settles one request, or times it out when its deadline has passed. `None` when it does not
    /// wait (any more). The settlement is sent under the lock, so that "not in the map" always
    /// means "settled".
    fn settle(
        &mut self,
        key: &RequestKey,
        settlement: impl FnOnce(&ReviewRequest) -> Settlement,
    ) -> Option<Settlement> {
        let entry = self.entries.remove(key)?;
        let settlement = if Instant::now() >= entry.deadline {
            Settlement::TimedOut
        } else {
            settlement(&entry.posted.request)
        };
        // The waiter takes the lock before it goes away, so it is still there.
        entry
            .reply
            .send(settlement.clone())
            .ok()
            .map(|()| settlement)
    }
}

impl Waiting {
    /// The request with its times, to be shown to people.
    #[must_use]
    pub fn posted(&self) -> &Arc<Posted> {
        &self.posted
    }

    /// Waits until the request is settled; at the latest at its deadline. To be asked once.
    pub async fn settled(&mut self) -> Settlement {
        tokio::select! {
            biased;
            reply = &mut self.reply => reply.unwrap_or(Settlement::Aborted(AbortReason::Abandoned)),
            () = tokio::time::sleep_until(self.deadline) => self.expire(),
        }
    }

    /// Stops waiting. Somebody may have settled the request without the waiter having noticed: then
    /// that is how it ended.
    pub fn give_up(&mut self) -> Settlement {
        let abandoned = Settlement::Aborted(AbortReason::Abandoned);
        if self.queue.withdraw(&self.key, self.sequence) {
            return abandoned;
        }
        self.reply.try_recv().unwrap_or(abandoned)
    }

    /// The deadline has come; whoever removed the entry before us has settled it.
    fn expire(&mut self) -> Settlement {
        if self.queue.withdraw(&self.key, self.sequence) {
            return Settlement::TimedOut;
        }
        self.reply.try_recv().unwrap_or(Settlement::TimedOut)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.queue.withdraw(&self.key, self.sequence);
    }
}
