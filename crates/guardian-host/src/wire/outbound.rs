//! The way out: one queue, one writer thread, nothing else writes to the client.
//!
//! Answers wait when the client does not read; notices of calls (bounded by the number of calls
//! in flight) are always taken, up to a bound at which the client counts as gone; output chunks are dropped instead of piling up, and their
//! sequence numbers show the gap.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Bytes queued above which answers wait and output chunks are dropped.
const HIGH_WATER: usize = 8 * 1024 * 1024;
/// Bytes queued above which the client counts as gone. Only notices that must not be lost get
/// beyond [`HIGH_WATER`], so a client that is this far behind does not read at all.
const GIVEN_UP: usize = 64 * 1024 * 1024;
/// Bytes written at once.
const BATCH: usize = 1024 * 1024;

#[derive(Default)]
struct State {
    lines: VecDeque<String>,
    /// Bytes of the lines, and of those that are being written.
    bytes: usize,
    /// No more lines are taken; the writer ends when the queue is empty.
    closed: bool,
    /// The client is gone; lines are thrown away.
    broken: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    filled: Condvar,
    drained: Notify,
    broke: Notify,
}

/// The queue of lines to the client. Cheap to clone.
#[derive(Clone, Default)]
pub struct Outbound(Arc<Shared>);

impl Outbound {
    /// Queues an answer; waits while the queue is full.
    pub async fn answer(&self, line: String) {
        loop {
            let drained = self.0.drained.notified();
            {
                let mut state = self.lock();
                if state.bytes < HIGH_WATER || state.broken || state.closed {
                    push(&mut state, line);
                    self.0.filled.notify_one();
                    return;
                }
            }
            drained.await;
        }
    }

    /// Queues a notification that must not be lost. Where the client is too far behind to take
    /// it, the client counts as gone ([`Self::broken`]).
    pub fn notify(&self, line: String) {
        let mut state = self.lock();
        if state.bytes.saturating_add(line.len()) > GIVEN_UP {
            drop(state);
            tracing::warn!("the client does not read its notifications and counts as gone");
            self.give_up();
            return;
        }
        push(&mut state, line);
        self.0.filled.notify_one();
    }

    /// Queues an output chunk, unless the client is behind. False when it was dropped.
    pub fn offer(&self, line: String) -> bool {
        let mut state = self.lock();
        if state.bytes >= HIGH_WATER {
            return false;
        }
        push(&mut state, line);
        self.0.filled.notify_one();
        true
    }

    /// Takes no more lines; [`Self::write_all`] ends once the queue is empty.
    pub fn close(&self) {
        self.lock().closed = true;
        self.0.filled.notify_one();
        self.0.drained.notify_waiters();
    }

    /// Returns once the client can no longer be written to.
    pub async fn broken(&self) {
        loop {
            let broke = self.0.broke.notified();
            if self.lock().broken {
                return;
            }
            broke.await;
        }
    }

    /// Writes queued lines until closed or broken. Runs on its own thread.
    pub fn write_all(&self, mut client: impl Write) {
        while let Some(batch) = self.next_batch() {
            if client
                .write_all(batch.as_bytes())
                .and_then(|()| client.flush())
                .is_err()
            {
                return self.give_up();
            }
            let mut state = self.lock();
            state.bytes = state.bytes.saturating_sub(batch.len());
            drop(state);
            self.0.drained.notify_waiters();
        }
    }

    /// The client is gone: nothing is kept for it.
    fn give_up(&self) {
        let mut state = self.lock();
        state.broken = true;
        state.lines.clear();
        state.bytes = 0;
        drop(state);
        self.0.filled.notify_one();
        self.0.broke.notify_waiters();
        self.0.drained.notify_waiters();
    }

    /// The next queued lines as one text; `None` at the end.
    fn next_batch(&self) -> Option<String> {
        let mut state = self.lock();
        loop {
            let mut batch = String::new();
            while batch.len() < BATCH
                && !state.broken
                && let Some(line) = state.lines.pop_front()
            {
                batch.push_str(&line);
                batch.push('\n');
            }
            if !batch.is_empty() {
                return Some(batch);
            }
            if state.closed || state.broken {
                return None;
            }
            state = self
                .0
                .filled
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn push(state: &mut State, line: String) {
    if !state.closed && !state.broken {
        state.bytes += line.len() + 1;
        state.lines.push_back(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn lines_come_out_in_order_and_close_ends_the_writer() {
        let outbound = Outbound::default();
        outbound.answer("one".to_owned()).await;
        outbound.notify("two".to_owned());
        outbound.close();
        outbound.notify("late".to_owned());
        let mut written = Vec::new();
        outbound.write_all(&mut written);
        assert_eq!(written, b"one\ntwo\n");
    }

    #[tokio::test]
    async fn a_client_that_is_gone_is_noticed() {
        let outbound = Outbound::default();
        outbound.notify("x".to_owned());
        outbound.write_all(Closed);
        outbound.broken().await;
    }

    #[tokio::test]
    async fn a_client_that_reads_no_notification_counts_as_gone_and_nothing_is_kept() {
        let outbound = Outbound::default();
        for _ in 0..GIVEN_UP / (1024 * 1024) {
            outbound.notify("n".repeat(1024 * 1024));
        }
        outbound.broken().await;
        assert_eq!(outbound.lock().bytes, 0);
        outbound.notify("more".to_owned());
        assert!(outbound.lock().lines.is_empty());
        outbound.write_all(Closed);
    }

    #[test]
    fn what_is_being_written_still_counts() {
        let outbound = Outbound::default();
        assert!(outbound.offer("x".repeat(HIGH_WATER)));
        let batch = outbound.next_batch().unwrap();
        assert_eq!(outbound.lock().bytes, batch.len());
        assert!(!outbound.offer("y".to_owned()));
    }

    #[test]
    fn output_is_dropped_when_the_client_is_behind() {
        let outbound = Outbound::default();
        assert!(outbound.offer("x".repeat(HIGH_WATER)));
        assert!(!outbound.offer("y".to_owned()));
    }
}
