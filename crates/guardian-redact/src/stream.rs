//! Redaction of text that arrives in pieces.

use std::ops::Range;

use crate::redactor::Redactor;
use crate::scan::{Engine, Found, What};
use crate::swallow::Swallow;

/// How much emitted text is kept to look back at.
const CONTEXT: usize = 256;

/// Redacts a stream. However the input is cut, the concatenated output is that of
/// [`Redactor::redact_bytes`] over the whole.
///
/// Output lags behind input: by about a hundred bytes in ordinary text, by up to about 1 KiB where a
/// secret could be beginning. [`Self::finish`] gives the rest.
#[derive(Debug, Clone)]
pub struct StreamRedactor {
    redactor: Redactor,
    state: State,
}

impl StreamRedactor {
    /// A stream at its beginning.
    #[must_use]
    pub fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            state: State::default(),
        }
    }

    /// Takes a piece (which may end within a character); returns what is certain by now.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.step(piece, false)
    }

    /// The rest. The redactor is then at its beginning again.
    pub fn finish(&mut self) -> Vec<u8> {
        let rest = self.step(&[], true);
        self.state = State::default();
        rest
    }

    fn step(&mut self, piece: &[u8], last: bool) -> Vec<u8> {
        let mut out = Vec::new();
        match self.redactor.engine() {
            Some(engine) => {
                self.state.buffer.extend_from_slice(piece);
                self.state.collect(engine, last);
                self.state.settle(engine, last, &mut out);
                self.state.compact();
            }
            None => {
                if !piece.is_empty() && !self.state.withheld {
                    self.state.withheld = true;
                    out.extend_from_slice(Redactor::WITHHELD.as_bytes());
                }
            }
        }
        out
    }
}

/// Where a redaction stands. Offsets are into `buffer`.
#[derive(Debug, Clone, Default)]
struct State {
    buffer: Vec<u8>,
    /// Everything before is in the output.
    emitted: usize,
    /// End of the last redaction.
    floor: usize,
    /// Every anchor that ends at or before this was looked at.
    searched: usize,
    /// Found, not yet applied.
    found: Vec<Found>,
    /// A secret that reaches beyond the buffer.
    open: Option<Swallow>,
    /// The notice was given that nothing can be shown.
    withheld: bool,
}

impl State {
    fn collect(&mut self, engine: &Engine, last: bool) {
        self.searched = engine.collect(&self.buffer, self.searched, last, &mut self.found);
        self.found.sort();
    }

    fn settle(&mut self, engine: &Engine, last: bool, out: &mut Vec<u8>) {
        // No later anchor can reveal a secret that begins before this.
        let settled = if last {
            self.buffer.len()
        } else {
            self.searched.saturating_sub(Engine::hold_back())
        };

        if let Some(mut swallow) = self.open.take() {
            let (taken, stopped) = swallow.run(&self.buffer[self.emitted..]);
            self.emitted += taken;
            self.floor = self.emitted;
            if !stopped {
                self.open = Some(swallow);
            }
        }
        let mut applied = 0;
        while self.open.is_none() {
            let Some(&next) = self.found.get(applied) else {
                break;
            };
            if next.start >= settled && !last {
                break;
            }
            applied += 1;
            self.apply(engine, next, out);
        }
        self.found.drain(..applied);
        if self.open.is_none() && settled > self.emitted {
            out.extend_from_slice(&self.buffer[self.emitted..settled]);
            self.emitted = settled;
        }
    }

    fn apply(&mut self, engine: &Engine, next: Found, out: &mut Vec<u8>) {
        let mut swallow = next.reach.0;
        let overlaps = next.start < self.floor;
        if overlaps {
            // Begins within what is hidden already: only what sticks out is new. A key's value
            // ends where the earlier secret says; a machine cannot be resumed in its middle.
            let hidden = self.floor - next.start;
            if hidden >= swallow.certain {
                return;
            }
            swallow = Swallow::new(swallow.certain - hidden, crate::swallow::Tail::None);
        } else {
            out.extend_from_slice(&self.buffer[self.emitted..next.start]);
            self.emitted = next.start;
            out.extend_from_slice(marker(engine, next.what).as_bytes());
        }
        let (taken, stopped) = swallow.run(&self.buffer[self.emitted..]);
        self.emitted += taken;
        self.floor = self.emitted;
        if !stopped {
            self.open = Some(swallow);
        }
    }

    fn compact(&mut self) {
        let keep_from = self.emitted.min(self.searched).saturating_sub(CONTEXT);
        if keep_from == 0 {
            return;
        }
        self.buffer.drain(..keep_from);
        self.emitted -= keep_from;
        self.searched -= keep_from;
        self.floor = self.floor.saturating_sub(keep_from);
        self.found.retain_mut(|found| {
            // Begins before what is kept, so within what is hidden: the rest of it stays.
            let gone = keep_from.saturating_sub(found.start);
            found.start = found.start.saturating_sub(keep_from);
            found.anchor = found.anchor.saturating_sub(keep_from);
            found.reach.0.certain = found.reach.0.certain.saturating_sub(gone);
            gone == 0 || found.reach.0.certain > 0
        });
    }
}

fn marker(engine: &Engine, what: What) -> String {
    format!("[REDACTED:{}]", engine.kind(what))
}

/// A secret in a whole text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hidden {
    pub(crate) bytes: Range<usize>,
    /// What was found first there; others may have lengthened it.
    pub(crate) what: What,
}

/// The secrets of a whole text, in order, none overlapping another.
pub(crate) fn hidden(engine: &Engine, text: &[u8]) -> Vec<Hidden> {
    let mut found = Vec::new();
    engine.collect(text, 0, true, &mut found);
    found.sort();
    let mut all: Vec<Hidden> = Vec::new();
    for next in found {
        let mut swallow = next.reach.0;
        let last = all.last_mut().filter(|last| next.start < last.bytes.end);
        let start = match &last {
            Some(last) => {
                // As in a stream: only what sticks out of an earlier secret is new.
                let within = last.bytes.end - next.start;
                if within >= swallow.certain {
                    continue;
                }
                swallow = Swallow::new(swallow.certain - within, crate::swallow::Tail::None);
                last.bytes.end
            }
            None => next.start,
        };
        let (taken, _) = swallow.run(&text[start..]);
        match last {
            Some(last) => last.bytes.end = start + taken,
            None => all.push(Hidden {
                bytes: start..start + taken,
                what: next.what,
            }),
        }
    }
    all
}

/// Redacts a whole text; `None` when there is nothing to redact.
pub(crate) fn whole(engine: &Engine, text: &[u8]) -> Option<Vec<u8>> {
    let all = hidden(engine, text);
    if all.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(text.len());
    let mut shown = 0;
    for secret in all {
        out.extend_from_slice(&text[shown..secret.bytes.start]);
        out.extend_from_slice(marker(engine, secret.what).as_bytes());
        shown = secret.bytes.end;
    }
    out.extend_from_slice(&text[shown..]);
    Some(out)
}
