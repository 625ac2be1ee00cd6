//! The live stream: chunks of whole characters, batched, never waited for.

use std::time::{Duration, Instant};

use super::limits::BashLimits;

/// One of the two streams of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl OutputStream {
    /// Its name on the wire and in markers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// Cuts one stream into chunks that never split a character.
#[derive(Debug)]
pub(super) struct Batch {
    pending: Vec<u8>,
    since: Option<Instant>,
    bytes: usize,
    interval: Duration,
}

impl Batch {
    pub(super) fn new(limits: &BashLimits) -> Self {
        Self {
            pending: Vec::new(),
            since: None,
            bytes: limits.batch_bytes.max(4),
            interval: limits.batch_interval,
        }
    }

    /// Takes bytes; gives every chunk that is full to `send`.
    pub(super) fn push(&mut self, bytes: &[u8], now: Instant, mut send: impl FnMut(String)) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = self.bytes - self.pending.len();
            let (part, after) = rest.split_at(room.min(rest.len()));
            self.pending.extend_from_slice(part);
            rest = after;
            self.since.get_or_insert(now);
            if self.pending.len() == self.bytes {
                self.send_whole_characters(&mut send);
            }
        }
    }

    /// When the pending bytes must be sent at the latest.
    pub(super) fn due(&self) -> Option<Instant> {
        self.since.map(|since| since + self.interval)
    }

    /// Sends what is pending when its time has come.
    pub(super) fn tick(&mut self, now: Instant, mut send: impl FnMut(String)) {
        if self.due().is_some_and(|due| now >= due) {
            self.send_whole_characters(&mut send);
            // A lone beginning of a character waits for its rest without waking anybody.
            self.since = None;
        }
    }

    /// Sends everything: the stream has ended.
    pub(super) fn finish(&mut self, mut send: impl FnMut(String)) {
        if !self.pending.is_empty() {
            send(String::from_utf8_lossy(&self.pending).into_owned());
            self.pending.clear();
        }
        self.since = None;
    }

    fn send_whole_characters(&mut self, send: &mut impl FnMut(String)) {
        let cut = self.pending.len() - unfinished_character(&self.pending);
        if let Some(whole) = self.pending.get(..cut).filter(|whole| !whole.is_empty()) {
            send(String::from_utf8_lossy(whole).into_owned());
            self.pending.drain(..cut);
        }
        self.since = (!self.pending.is_empty()).then_some(self.since).flatten();
    }
}

/// Length of a character's beginning at the end of `bytes` whose rest may still come.
fn unfinished_character(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    let end = bytes.get(from..).unwrap_or_default();
    for (at, &byte) in end.iter().enumerate() {
        let needed = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => continue,
        };
        let rest = end.get(at..).unwrap_or_default();
        // Invalid from the start is not waited for.
        if rest.len() < needed
            && std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none())
        {
            return rest.len();
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_character_is_never_split() {
        let limits = BashLimits {
            batch_bytes: 4,
            ..BashLimits::standard()
        };
        let mut batch = Batch::new(&limits);
        let mut chunks = Vec::new();
        batch.push("aaaä€🦀".as_bytes(), Instant::now(), |chunk| {
            chunks.push(chunk)
        });
        batch.finish(|chunk| chunks.push(chunk));
        assert_eq!(chunks, ["aaa", "ä", "€", "🦀"]);
    }

    #[test]
    fn a_small_chunk_waits_for_its_interval() {
        let limits = BashLimits::standard();
        let mut batch = Batch::new(&limits);
        let start = Instant::now();
        let mut chunks = Vec::new();
        batch.push(b"x", start, |chunk| chunks.push(chunk));
        assert_eq!(batch.due(), Some(start + limits.batch_interval));
        batch.tick(start + limits.batch_interval / 2, |chunk| {
            chunks.push(chunk)
        });
        assert!(chunks.is_empty());
        batch.tick(start + limits.batch_interval, |chunk| chunks.push(chunk));
        assert_eq!(chunks, ["x"]);
        assert_eq!(batch.due(), None);
    }

    proptest! {
        #[test]
        fn the_chunks_together_are_the_text(
            text in "[a-zäöü€🦀\n]{0,80}", cuts in prop::collection::vec(1usize..9, 0..40),
        ) {
            let limits = BashLimits { batch_bytes: 7, ..BashLimits::standard() };
            let mut batch = Batch::new(&limits);
            let mut joined = String::new();
            let mut rest = text.as_bytes();
            let now = Instant::now();
            for cut in cuts {
                let (part, after) = rest.split_at(cut.min(rest.len()));
                batch.push(part, now, |chunk| joined.push_str(&chunk));
                batch.tick(now + limits.batch_interval, |chunk| joined.push_str(&chunk));
                rest = after;
            }
            batch.push(rest, now, |chunk| joined.push_str(&chunk));
            batch.finish(|chunk| joined.push_str(&chunk));
            prop_assert_eq!(joined, text);
        }
    }
}
