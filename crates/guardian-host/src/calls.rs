//! Calls in flight: their ids, their cancellation, and aborts that arrive too early (SPEC §12.4).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::error::{ErrorCode, HostError};

/// How long an abort is remembered whose call has not arrived yet.
const EARLY_ABORT_KEPT: Duration = Duration::from_secs(60);
/// How many of those are remembered; the oldest is forgotten first.
const EARLY_ABORTS_MAX: usize = 1024;
/// Calls in flight at once, waiting cards included. Far above any real client; keeps a broken one
/// from filling the memory.
const IN_FLIGHT_MAX: usize = 1024;

/// One call's cancellation: a flag that blocking code polls and async code waits for.
#[derive(Debug, Default)]
pub struct CancelSignal {
    cancelled: AtomicBool,
    changed: Notify,
}

impl CancelSignal {
    /// Cancels. Idempotent.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.changed.notify_waiters();
    }

    /// Was it cancelled?
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Returns once it is cancelled.
    pub async fn cancelled(&self) {
        loop {
            let notified = self.changed.notified();
            if self.is_cancelled() {
                return;
            }
            notified.await;
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct CallKey {
    session: String,
    call: String,
}

struct Running {
    cancel: Arc<CancelSignal>,
    turn: Option<String>,
}

/// Which calls of a session are meant.
#[derive(Debug, Clone, Copy)]
pub enum CallsOf<'a> {
    /// All of them.
    Session(&'a str),
    /// Those of a turn of the session, and those without a turn. The next turn's are others.
    Turn(&'a str, &'a str),
}

impl CallsOf<'_> {
    fn includes(self, key: &CallKey, running: &Running) -> bool {
        match self {
            Self::Session(session) => key.session == session,
            Self::Turn(session, turn) => {
                key.session == session && running.turn.as_deref().is_none_or(|of| of == turn)
            }
        }
    }
}

#[derive(Default)]
struct State {
    running: HashMap<CallKey, Running>,
    early: HashMap<CallKey, Instant>,
}

/// All calls in flight. Cheap to clone.
#[derive(Clone, Default)]
pub struct Calls(Arc<Mutex<State>>);

/// A call's entry; removed on drop.
pub struct InFlight {
    calls: Calls,
    key: CallKey,
    /// The call's cancellation.
    pub cancel: Arc<CancelSignal>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.calls.lock().running.remove(&self.key);
    }
}

impl Calls {
    /// Registers a call. One that was aborted in advance starts cancelled.
    ///
    /// # Errors
    /// `CONFLICT` for an id that is in flight in the session, `HOST_OVERLOADED` when too many are.
    pub fn begin(
        &self,
        session: &str,
        call: &str,
        turn: Option<&str>,
    ) -> Result<InFlight, HostError> {
        let key = CallKey {
            session: session.to_owned(),
            call: call.to_owned(),
        };
        let mut state = self.lock();
        if state.running.contains_key(&key) {
            return Err(HostError::new(
                ErrorCode::Conflict,
                format!("the tool call `{call}` is already in flight"),
            ));
        }
        if state.running.len() >= IN_FLIGHT_MAX {
            return Err(HostError::new(
                ErrorCode::HostOverloaded,
                "too many calls are in flight",
            ));
        }
        let cancel = Arc::new(CancelSignal::default());
        if state
            .early
            .remove(&key)
            .is_some_and(|at| at.elapsed() < EARLY_ABORT_KEPT)
        {
            cancel.cancel();
        }
        let running = Running {
            cancel: Arc::clone(&cancel),
            turn: turn.map(str::to_owned),
        };
        state.running.insert(key.clone(), running);
        Ok(InFlight {
            calls: self.clone(),
            key,
            cancel,
        })
    }

    /// Aborts one call, or remembers to. True when it was in flight.
    pub fn abort(&self, session: &str, call: &str) -> bool {
        let key = CallKey {
            session: session.to_owned(),
            call: call.to_owned(),
        };
        let mut state = self.lock();
        if let Some(running) = state.running.get(&key) {
            running.cancel.cancel();
            return true;
        }
        state.early.retain(|_, at| at.elapsed() < EARLY_ABORT_KEPT);
        if state.early.len() >= EARLY_ABORTS_MAX {
            let oldest = state
                .early
                .iter()
                .min_by_key(|(_, at)| **at)
                .map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                state.early.remove(&oldest);
            }
        }
        state.early.insert(key, Instant::now());
        false
    }

    /// Aborts calls of a session; returns how many.
    pub fn abort_of(&self, calls: CallsOf<'_>) -> usize {
        let state = self.lock();
        let mut count = 0;
        for (key, running) in &state.running {
            if calls.includes(key, running) {
                running.cancel.cancel();
                count += 1;
            }
        }
        count
    }

    /// Aborts everything (shutdown).
    pub fn abort_all(&self) {
        for running in self.lock().running.values() {
            running.cancel.cancel();
        }
    }

    /// Number of calls in flight, of one session or of all.
    #[must_use]
    pub fn in_flight(&self, calls: Option<CallsOf<'_>>) -> usize {
        let state = self.lock();
        state
            .running
            .iter()
            .filter(|(key, running)| calls.is_none_or(|calls| calls.includes(key, running)))
            .count()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_id_is_a_conflict_and_free_again_afterwards() {
        let calls = Calls::default();
        let first = calls.begin("s", "1", None).unwrap();
        assert_eq!(
            calls.begin("s", "1", None).err().map(|e| e.code),
            Some(ErrorCode::Conflict)
        );
        assert!(calls.begin("t", "1", None).is_ok());
        drop(first);
        assert!(calls.begin("s", "1", None).is_ok());
    }

    #[test]
    fn an_abort_before_the_call_cancels_it_once() {
        let calls = Calls::default();
        assert!(!calls.abort("s", "1"));
        assert!(calls.begin("s", "1", None).unwrap().cancel.is_cancelled());
        assert!(!calls.begin("s", "1", None).unwrap().cancel.is_cancelled());
    }

    #[test]
    fn the_end_of_a_turn_leaves_the_calls_of_the_next_one_alone() {
        let calls = Calls::default();
        let of = |call: &str, turn| calls.begin("s", call, turn).unwrap();
        let (old, next, free) = (of("1", Some("a")), of("2", Some("b")), of("3", None));
        let ended = CallsOf::Turn("s", "a");
        assert_eq!(calls.abort_of(ended), 2);
        assert_eq!(calls.in_flight(Some(ended)), 2);
        assert!(old.cancel.is_cancelled() && free.cancel.is_cancelled());
        assert!(!next.cancel.is_cancelled());
        assert_eq!(calls.abort_of(CallsOf::Session("s")), 3);
    }

    #[tokio::test]
    async fn waiting_for_a_cancellation_that_already_happened_returns() {
        let signal = CancelSignal::default();
        signal.cancel();
        signal.cancelled().await;
    }

    #[test]
    fn early_aborts_are_bounded() {
        let calls = Calls::default();
        for index in 0..(EARLY_ABORTS_MAX + 10) {
            calls.abort("s", &index.to_string());
        }
        assert_eq!(calls.lock().early.len(), EARLY_ABORTS_MAX);
    }
}
