//! Admission: how many calls execute at once, and who is next (SPEC §12.2).
//!
//! Limits are in total, per class and per session. Sessions are served in turn, so that one
//! session's queue never starves another's call. A call that waits only because its own session
//! is at a limit is not counted against the queue and has no deadline; neither has a call that
//! was already approved.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::{ErrorCode, HostError};

/// What a call does, as far as limits are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallClass {
    /// Read, Glob, Grep and other looks.
    Read,
    /// Write, Edit, rollback.
    Mutation,
    /// Bash.
    Shell,
    /// Plugin and MCP tools.
    Plugin,
}

/// The numbers of SPEC §12.2.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionLimits {
    /// Executions at once.
    pub total: usize,
    /// Bash at once.
    pub shell: usize,
    /// Bash at once in one session.
    pub shell_per_session: usize,
    /// Reads and searches at once.
    pub read: usize,
    /// Mutations at once.
    pub mutation: usize,
    /// Mutations at once in one session.
    pub mutation_per_session: usize,
    /// Plugin calls at once.
    pub plugin: usize,
    /// Executions at once in one session.
    pub per_session: usize,
    /// Calls waiting for a limit that is not their own session's.
    pub queued: usize,
    /// How long such a call waits.
    pub queue_deadline: Duration,
}

impl AdmissionLimits {
    /// The limits of SPEC §12.2.
    pub const SPEC: Self = Self {
        total: 16,
        shell: 4,
        shell_per_session: 2,
        read: 8,
        mutation: 2,
        mutation_per_session: 1,
        plugin: 4,
        per_session: 4,
        queued: 64,
        queue_deadline: Duration::from_secs(30),
    };

    fn of_class(&self, class: CallClass) -> usize {
        match class {
            CallClass::Read => self.read,
            CallClass::Mutation => self.mutation,
            CallClass::Shell => self.shell,
            CallClass::Plugin => self.plugin,
        }
    }

    fn of_class_per_session(&self, class: CallClass) -> usize {
        match class {
            CallClass::Read | CallClass::Plugin => self.per_session,
            CallClass::Mutation => self.mutation_per_session,
            CallClass::Shell => self.shell_per_session,
        }
    }
}

/// May a waiting call be turned away?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// After the queue's deadline, or at once when the queue is full.
    Bounded,
    /// Never: somebody approved the call.
    Approved,
}

/// Figures for `app.health`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionFigures {
    /// Calls executing.
    pub executing: usize,
    /// Calls waiting.
    pub queued: usize,
}

#[derive(Default)]
struct Counts {
    total: usize,
    by_class: HashMap<CallClass, usize>,
}

impl Counts {
    fn of(&self, class: CallClass) -> usize {
        self.by_class.get(&class).copied().unwrap_or(0)
    }

    fn add(&mut self, class: CallClass) {
        self.total += 1;
        *self.by_class.entry(class).or_default() += 1;
    }

    fn remove(&mut self, class: CallClass) {
        self.total = self.total.saturating_sub(1);
        if let Some(count) = self.by_class.get_mut(&class) {
            *count = count.saturating_sub(1);
        }
    }
}

struct Waiter {
    ticket: u64,
    class: CallClass,
    /// Carries the slot itself, so that a slot whose waiter is gone gives itself back.
    granted: oneshot::Sender<Slot>,
}

#[derive(Default)]
struct State {
    next_ticket: u64,
    all: Counts,
    sessions: HashMap<String, Counts>,
    /// Waiters by session; `turn` is the order in which sessions are looked at.
    waiting: HashMap<String, VecDeque<Waiter>>,
    turn: VecDeque<String>,
}

struct Shared {
    limits: AdmissionLimits,
    state: Mutex<State>,
}

/// The admission desk. Cheap to clone.
#[derive(Clone)]
pub struct Admission(Arc<Shared>);

/// The right to execute; given back on drop.
pub struct Slot {
    desk: Admission,
    session: String,
    class: CallClass,
    /// Counted in the desk's state; false only for a slot that never reached its waiter.
    counted: bool,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.counted {
            return;
        }
        let mut state = self.desk.lock();
        state.all.remove(self.class);
        let empty = state.sessions.get_mut(&self.session).is_some_and(|counts| {
            counts.remove(self.class);
            counts.total == 0
        });
        if empty {
            state.sessions.remove(&self.session);
        }
        self.desk.serve(&mut state);
    }
}

impl Admission {
    /// A desk with these limits.
    #[must_use]
    pub fn new(limits: AdmissionLimits) -> Self {
        Self(Arc::new(Shared {
            limits,
            state: Mutex::new(State::default()),
        }))
    }

    /// Waits for a slot. Dropping the future gives the place in the queue up.
    ///
    /// # Errors
    /// `HOST_OVERLOADED` when the queue is full or the deadline passes, for [`Patience::Bounded`].
    pub async fn admit(
        &self,
        session: &str,
        class: CallClass,
        patience: Patience,
    ) -> Result<Slot, HostError> {
        let (ticket, mut granted) = self.enqueue(session, class, patience)?;
        let mut place = Place {
            desk: self,
            session,
            ticket,
            armed: true,
        };
        loop {
            let outcome = match patience {
                Patience::Approved => Some((&mut granted).await),
                Patience::Bounded => {
                    tokio::time::timeout(self.0.limits.queue_deadline, &mut granted)
                        .await
                        .ok()
                }
            };
            match outcome {
                Some(Ok(slot)) => {
                    place.armed = false;
                    return Ok(slot);
                }
                Some(Err(_)) => return Err(HostError::internal("admission ended")),
                None if self.waits_for_own_session(session, class) => {}
                None => {
                    return Err(overloaded("no execution slot became free in time"));
                }
            }
        }
    }

    /// Figures for `app.health`.
    #[must_use]
    pub fn figures(&self) -> AdmissionFigures {
        let state = self.lock();
        AdmissionFigures {
            executing: state.all.total,
            queued: state.waiting.values().map(VecDeque::len).sum(),
        }
    }

    fn enqueue(
        &self,
        session: &str,
        class: CallClass,
        patience: Patience,
    ) -> Result<(u64, oneshot::Receiver<Slot>), HostError> {
        let mut state = self.lock();
        if patience == Patience::Bounded
            && !self.own_limit_reached(&state, session, class)
            && !self.fits(&state, session, class)
            && self.waiting_for_others(&state) >= self.0.limits.queued
        {
            return Err(overloaded("too many calls are waiting"));
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let (granted, receiver) = oneshot::channel();
        if !state.waiting.contains_key(session) {
            state.turn.push_back(session.to_owned());
        }
        state
            .waiting
            .entry(session.to_owned())
            .or_default()
            .push_back(Waiter {
                ticket,
                class,
                granted,
            });
        self.serve(&mut state);
        Ok((ticket, receiver))
    }

    /// Grants every slot that can be granted. A session that was served goes to the back; one that
    /// has to wait keeps its place.
    fn serve(&self, state: &mut State) {
        let mut index = 0;
        while let Some(session) = state.turn.get(index).cloned() {
            let served = self.serve_session(state, &session);
            let waits = state
                .waiting
                .get(&session)
                .is_some_and(|queue| !queue.is_empty());
            match (served, waits) {
                (false, true) => index += 1,
                (true, true) => {
                    state.turn.remove(index);
                    state.turn.push_back(session);
                    index = 0;
                }
                (_, false) => {
                    state.turn.remove(index);
                    state.waiting.remove(&session);
                    index = 0;
                }
            }
        }
    }

    /// Grants the first waiter of a session that fits; a waiter whose future is gone is dropped.
    fn serve_session(&self, state: &mut State, session: &str) -> bool {
        let mut index = 0;
        loop {
            let Some(class) = state
                .waiting
                .get(session)
                .and_then(|queue| queue.get(index))
                .map(|w| w.class)
            else {
                return false;
            };
            if !self.fits(state, session, class) {
                index += 1;
                continue;
            }
            let Some(waiter) = state
                .waiting
                .get_mut(session)
                .and_then(|queue| queue.remove(index))
            else {
                return false;
            };
            let slot = Slot {
                desk: self.clone(),
                session: session.to_owned(),
                class,
                counted: true,
            };
            match waiter.granted.send(slot) {
                Ok(()) => {
                    state.all.add(class);
                    state
                        .sessions
                        .entry(session.to_owned())
                        .or_default()
                        .add(class);
                    return true;
                }
                // The lock is held: the slot must not give back what was never taken.
                Err(mut unclaimed) => unclaimed.counted = false,
            }
        }
    }

    fn fits(&self, state: &State, session: &str, class: CallClass) -> bool {
        let limits = &self.0.limits;
        state.all.total < limits.total
            && state.all.of(class) < limits.of_class(class)
            && !self.own_limit_reached(state, session, class)
    }

    fn own_limit_reached(&self, state: &State, session: &str, class: CallClass) -> bool {
        let limits = &self.0.limits;
        state.sessions.get(session).is_some_and(|counts| {
            counts.total >= limits.per_session
                || counts.of(class) >= limits.of_class_per_session(class)
        })
    }

    fn waits_for_own_session(&self, session: &str, class: CallClass) -> bool {
        let state = self.lock();
        self.own_limit_reached(&state, session, class)
    }

    fn waiting_for_others(&self, state: &State) -> usize {
        state
            .waiting
            .iter()
            .map(|(session, queue)| {
                queue
                    .iter()
                    .filter(|w| !self.own_limit_reached(state, session, w.class))
                    .count()
            })
            .sum()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the queue; leaves it when the waiting future is dropped.
struct Place<'a> {
    desk: &'a Admission,
    session: &'a str,
    ticket: u64,
    armed: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.armed {
            return;
        }
        let mut state = self.desk.lock();
        if let Some(queue) = state.waiting.get_mut(self.session) {
            queue.retain(|waiter| waiter.ticket != self.ticket);
        }
        self.desk.serve(&mut state);
    }
}

fn overloaded(message: &str) -> HostError {
    HostError::new(ErrorCode::HostOverloaded, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: AdmissionLimits = AdmissionLimits {
        queue_deadline: Duration::from_secs(30),
        ..AdmissionLimits::SPEC
    };

    async fn now(desk: &Admission, session: &str, class: CallClass) -> Option<Slot> {
        tokio::time::timeout(
            Duration::ZERO,
            desk.admit(session, class, Patience::Bounded),
        )
        .await
        .ok()
        .and_then(Result::ok)
    }

    #[tokio::test]
    async fn mutations_of_one_session_run_one_at_a_time() {
        let desk = Admission::new(QUICK);
        let first = now(&desk, "a", CallClass::Mutation).await.unwrap();
        assert!(now(&desk, "a", CallClass::Mutation).await.is_none());
        assert!(now(&desk, "b", CallClass::Mutation).await.is_some());
        drop(first);
        assert!(now(&desk, "a", CallClass::Mutation).await.is_some());
        assert_eq!(
            desk.figures(),
            AdmissionFigures {
                executing: 0,
                queued: 0
            }
        );
    }

    #[tokio::test]
    async fn a_slot_granted_to_a_future_that_is_dropped_comes_back() {
        let desk = Admission::new(AdmissionLimits { read: 1, ..QUICK });
        let held = now(&desk, "a", CallClass::Read).await.unwrap();
        let mut waiting = Box::pin(desk.admit("b", CallClass::Read, Patience::Approved));
        assert!(futures_poll_once(waiting.as_mut()).is_none());
        drop(held);
        drop(waiting);
        assert_eq!(
            desk.figures(),
            AdmissionFigures {
                executing: 0,
                queued: 0
            }
        );
        assert!(now(&desk, "c", CallClass::Read).await.is_some());
    }

    fn futures_poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match future.poll(&mut context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        }
    }

    #[tokio::test]
    async fn a_sessions_shell_queue_does_not_hold_back_reads() {
        let desk = Admission::new(QUICK);
        let held: Vec<_> = [
            now(&desk, "a", CallClass::Shell).await,
            now(&desk, "a", CallClass::Shell).await,
        ]
        .into_iter()
        .flatten()
        .collect();
        assert_eq!(held.len(), 2);
        let waiting = {
            let desk = desk.clone();
            tokio::spawn(async move { desk.admit("a", CallClass::Shell, Patience::Bounded).await })
        };
        tokio::task::yield_now().await;
        assert!(now(&desk, "a", CallClass::Read).await.is_some());
        assert!(now(&desk, "b", CallClass::Read).await.is_some());
        drop(held);
        assert!(waiting.await.unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_for_others_is_turned_away_but_not_one_that_waits_for_its_own() {
        let desk = Admission::new(AdmissionLimits { read: 1, ..QUICK });
        let held = now(&desk, "a", CallClass::Read).await.unwrap();
        let refused = desk.admit("b", CallClass::Read, Patience::Bounded).await;
        assert_eq!(
            refused.err().map(|error| error.code),
            Some(ErrorCode::HostOverloaded)
        );
        let approved = {
            let desk = desk.clone();
            tokio::spawn(async move { desk.admit("b", CallClass::Read, Patience::Approved).await })
        };
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert!(!approved.is_finished());
        drop(held);
        assert!(approved.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn sessions_are_served_in_turn() {
        let desk = Admission::new(AdmissionLimits { read: 1, ..QUICK });
        let held = now(&desk, "z", CallClass::Read).await.unwrap();
        let (order, mut seen) = tokio::sync::mpsc::unbounded_channel();
        for session in ["a", "a", "a", "b"] {
            let (desk, order) = (desk.clone(), order.clone());
            tokio::spawn(async move {
                let slot = desk
                    .admit(session, CallClass::Read, Patience::Bounded)
                    .await
                    .unwrap();
                order.send(session).unwrap();
                drop(slot);
            });
            tokio::task::yield_now().await;
        }
        drop(held);
        let mut got = Vec::new();
        for _ in 0..4 {
            got.push(seen.recv().await.unwrap());
        }
        assert_eq!(got, ["a", "b", "a", "a"]);
    }

    #[tokio::test]
    async fn the_queue_is_bounded() {
        let desk = Admission::new(AdmissionLimits {
            read: 1,
            queued: 2,
            ..QUICK
        });
        let _held = now(&desk, "z", CallClass::Read).await.unwrap();
        let mut waiting = Vec::new();
        for session in ["a", "b"] {
            let desk = desk.clone();
            waiting.push(tokio::spawn(async move {
                desk.admit(session, CallClass::Read, Patience::Bounded)
                    .await
                    .map(drop)
            }));
            tokio::task::yield_now().await;
        }
        let refused = desk.admit("c", CallClass::Read, Patience::Bounded).await;
        assert_eq!(
            refused.err().map(|error| error.code),
            Some(ErrorCode::HostOverloaded)
        );
        for task in waiting {
            task.abort();
        }
    }
}
