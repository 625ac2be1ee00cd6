//! The order of mutations of one path (SPEC §12.1): per path in order of arrival, so that a
//! waiting card blocks only its own path.
//!
//! A mutation *arrives* before anything of it is known and *claims* its path once extraction has
//! resolved it. A claim is queued only when every earlier arrival of the session has claimed or
//! gone, so that the order is that of arrival however the tasks are scheduled.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

#[derive(Default)]
struct SessionOrder {
    /// Arrivals that have not claimed a path yet.
    unclaimed: BTreeSet<u64>,
    /// Claims of each path, the running one first.
    paths: HashMap<PathBuf, VecDeque<u64>>,
}

#[derive(Default)]
struct State {
    next: u64,
    /// How many mutations with a path have left.
    left: u64,
    sessions: HashMap<String, SessionOrder>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

/// The order of mutations in all sessions. Cheap to clone.
#[derive(Clone, Default)]
pub struct PathOrder(Arc<Shared>);

/// A mutation's place; given up on drop.
pub struct Arrival {
    order: PathOrder,
    session: String,
    ticket: u64,
    /// [`State::left`] when it arrived.
    left_before: u64,
    path: Option<PathBuf>,
}

impl PathOrder {
    /// Takes a place. Call it in the order in which the calls came in.
    #[must_use]
    pub fn arrive(&self, session: &str) -> Arrival {
        let mut state = self.lock();
        let ticket = state.next;
        state.next += 1;
        state
            .sessions
            .entry(session.to_owned())
            .or_default()
            .unclaimed
            .insert(ticket);
        Arrival {
            order: self.clone(),
            session: session.to_owned(),
            ticket,
            left_before: state.left,
            path: None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// May another mutation have changed the path since the claiming one arrived?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claimed {
    /// No: what was extracted still stands.
    AtOnce,
    /// Yes, whether the claim waited for it or it left while this one was extracted; extract again.
    AfterOthers,
}

impl Arrival {
    /// Waits until the path is this mutation's own.
    pub async fn claim(&mut self, path: &Path) -> Claimed {
        let mut claimed = Claimed::AtOnce;
        loop {
            let changed = Arc::clone(&self.order.0);
            let changed = changed.changed.notified();
            if self.try_claim(path) {
                let left = self.order.lock().left;
                return if left == self.left_before {
                    claimed
                } else {
                    Claimed::AfterOthers
                };
            }
            claimed = Claimed::AfterOthers;
            changed.await;
        }
    }

    fn try_claim(&mut self, path: &Path) -> bool {
        let mut state = self.order.lock();
        let Some(session) = state.sessions.get_mut(&self.session) else {
            return true;
        };
        if session.unclaimed.contains(&self.ticket) {
            if session
                .unclaimed
                .first()
                .is_some_and(|first| *first < self.ticket)
            {
                return false;
            }
            session.unclaimed.remove(&self.ticket);
            session
                .paths
                .entry(path.to_owned())
                .or_default()
                .push_back(self.ticket);
            self.path = Some(path.to_owned());
            self.order.0.changed.notify_waiters();
        }
        let queue = self.path.as_ref().and_then(|path| session.paths.get(path));
        queue.is_none_or(|queue| queue.front() == Some(&self.ticket))
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        let mut state = self.order.lock();
        state.left += u64::from(self.path.is_some());
        if let Some(session) = state.sessions.get_mut(&self.session) {
            session.unclaimed.remove(&self.ticket);
            if let Some(path) = &self.path
                && let Some(queue) = session.paths.get_mut(path)
            {
                queue.retain(|ticket| *ticket != self.ticket);
                if queue.is_empty() {
                    session.paths.remove(path);
                }
            }
            if session.unclaimed.is_empty() && session.paths.is_empty() {
                state.sessions.remove(&self.session);
            }
        }
        drop(state);
        self.order.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn is_ready(arrival: &mut Arrival, path: &str) -> bool {
        tokio::time::timeout(std::time::Duration::ZERO, arrival.claim(Path::new(path)))
            .await
            .is_ok()
    }

    #[tokio::test]
    async fn the_first_to_arrive_gets_the_path_even_when_it_claims_later() {
        let order = PathOrder::default();
        let (mut first, mut second) = (order.arrive("s"), order.arrive("s"));
        assert!(!is_ready(&mut second, "/a").await);
        assert!(is_ready(&mut first, "/a").await);
        assert!(!is_ready(&mut second, "/a").await);
        drop(first);
        assert!(is_ready(&mut second, "/a").await);
    }

    #[tokio::test]
    async fn one_that_left_before_the_claim_counts_like_one_that_was_waited_for() {
        let order = PathOrder::default();
        let (mut first, mut second) = (order.arrive("s"), order.arrive("s"));
        assert_eq!(first.claim(Path::new("/a")).await, Claimed::AtOnce);
        // The second is being extracted while the first one changes the file and leaves.
        drop(first);
        assert_eq!(second.claim(Path::new("/a")).await, Claimed::AfterOthers);
        drop(second);
        let mut third = order.arrive("s");
        assert_eq!(third.claim(Path::new("/a")).await, Claimed::AtOnce);
    }

    #[tokio::test]
    async fn another_path_and_another_session_do_not_wait() {
        let order = PathOrder::default();
        let mut first = order.arrive("s");
        assert!(is_ready(&mut first, "/a").await);
        let (mut other_path, mut other_session) = (order.arrive("s"), order.arrive("t"));
        assert!(is_ready(&mut other_path, "/b").await);
        assert!(is_ready(&mut other_session, "/a").await);
    }

    #[tokio::test]
    async fn an_arrival_that_never_claims_stops_nobody_once_it_is_gone() {
        let order = PathOrder::default();
        let first = order.arrive("s");
        let mut second = order.arrive("s");
        assert!(!is_ready(&mut second, "/a").await);
        drop(first);
        assert!(is_ready(&mut second, "/a").await);
        drop(second);
        assert!(order.lock().sessions.is_empty());
    }
}
