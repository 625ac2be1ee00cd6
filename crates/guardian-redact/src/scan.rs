//! Finding secrets: a filter over three bytes finds anchors and known values, a check runs where
//! one is found.
//!
//! The filter is a bit table of hashed, case-folded beginnings: a load and a few instructions per
//! byte, and nothing to compile at the start of a process.

use std::collections::HashMap;

use regex_automata::Span;

use crate::assign;
use crate::keys::KEY_ANCHORS;
use crate::known::needles;
use crate::shapes::{AHEAD, BEFORE, Shape};
use crate::swallow::{Swallow, Tail};

/// A place where a secret begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) start: usize,
    pub(crate) what: What,
    pub(crate) reach: Reach,
    /// Where the anchor begins that revealed it.
    pub(crate) anchor: usize,
}

/// What was found, in the order in which names win where several begin at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    Known,
    Shape(usize),
    Key,
}

/// [`Swallow`] with an order (which no result depends on).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reach(pub(crate) Swallow);

impl PartialOrd for Reach {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Reach {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.certain.cmp(&other.0.certain)
    }
}

/// What an anchor stands for.
#[derive(Debug)]
struct Anchor {
    /// Lower-case.
    text: Vec<u8>,
    role: Role,
}

#[derive(Debug)]
enum Role {
    /// Part of a secret-looking key.
    Key,
    /// Anchor of this shape.
    Shape(usize),
    /// A known value: the exact bytes.
    Known(Vec<u8>),
}

const BITS: u32 = 16;
/// Words of 64 bits that hold a bit for each hash.
pub(crate) const FILTER: usize = 1 << (BITS - 6);

/// The prepared search.
#[derive(Debug)]
pub(crate) struct Engine {
    /// One bit for each hash with which an anchor begins.
    filter: Box<[u64; FILTER]>,
    /// Anchors by the hash of their beginning.
    buckets: HashMap<u32, Vec<Anchor>>,
    shapes: Vec<Shape>,
    longest_anchor: usize,
}

/// Hash of three bytes without regard to the case of letters (and of a few signs, which the
/// comparison sorts out).
pub(crate) const fn hash(three: u32) -> u32 {
    ((three & 0x00ff_ffff) | 0x0020_2020).wrapping_mul(0x9e37_79b1) >> (32 - BITS)
}

fn three(bytes: &[u8]) -> u32 {
    u32::from(bytes[0]) | u32::from(bytes[1]) << 8 | u32::from(bytes[2]) << 16
}

impl Engine {
    pub(crate) fn new(shapes: Vec<Shape>, known_values: &[String]) -> Self {
        let mut anchors: Vec<Anchor> = Vec::new();
        for text in KEY_ANCHORS {
            anchors.push(Anchor {
                text: text.as_bytes().to_vec(),
                role: Role::Key,
            });
        }
        for (index, shape) in shapes.iter().enumerate() {
            for text in &shape.anchors {
                anchors.push(Anchor {
                    text: text.to_ascii_lowercase().into_bytes(),
                    role: Role::Shape(index),
                });
            }
        }
        for value in needles(known_values) {
            anchors.push(Anchor {
                text: value.to_ascii_lowercase().into_bytes(),
                role: Role::Known(value.into_bytes()),
            });
        }
        let longest_anchor = anchors
            .iter()
            .map(|anchor| anchor.text.len())
            .max()
            .unwrap_or(3);
        let mut filter = Box::new([0; FILTER]);
        let mut buckets: HashMap<u32, Vec<Anchor>> = HashMap::new();
        for anchor in anchors {
            let hash = hash(three(&anchor.text));
            filter[(hash >> 6) as usize] |= 1 << (hash & 63);
            buckets.entry(hash).or_default().push(anchor);
        }
        Self {
            filter,
            buckets,
            shapes,
            longest_anchor,
        }
    }

    pub(crate) fn kind(&self, what: What) -> &str {
        match what {
            What::Known => "known-value",
            What::Shape(index) => &self.shapes[index].kind,
            What::Key => "key",
        }
    }

    pub(crate) fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    #[cfg(test)]
    pub(crate) fn filter(&self) -> &[u64; FILTER] {
        &self.filter
    }

    /// Collects what the anchors that begin at or after `from` reveal. Returns the place up to
    /// which that is final: unless `last`, an anchor that may go on beyond the end, or whose
    /// surroundings do, waits for more text.
    pub(crate) fn collect(
        &self,
        hay: &[u8],
        from: usize,
        last: bool,
        found: &mut Vec<Found>,
    ) -> usize {
        let end = if last {
            hay.len()
        } else {
            hay.len().saturating_sub(self.longest_anchor - 1)
        };
        let mut at = from;
        while let Some((next, hash)) = self.next_candidate(hay, at, end) {
            if !self.look(hash, hay, next, last, found) {
                return next;
            }
            at = next + 1;
        }
        end.max(from)
    }

    /// The next place from `at`, before `end`, at which an anchor may begin, with its hash.
    fn next_candidate(&self, hay: &[u8], at: usize, end: usize) -> Option<(usize, u32)> {
        // Four bytes are loaded at once; the fourth does not count.
        let mut next = at;
        while next < end
            && let Some(four) = hay[next..].first_chunk::<4>()
        {
            let hash = hash(u32::from_le_bytes(*four));
            if self.passes(hash) {
                return Some((next, hash));
            }
            next += 1;
        }
        let last = hay.get(next..).filter(|_| next < end)?;
        let hash = hash(three(last.get(..3)?));
        self.passes(hash).then_some((next, hash))
    }

    /// May an anchor begin with this hash?
    fn passes(&self, hash: u32) -> bool {
        self.filter[(hash >> 6) as usize % FILTER] >> (hash & 63) & 1 == 1
    }

    /// Looks at one place; false when it has to wait.
    fn look(&self, hash: u32, hay: &[u8], at: usize, last: bool, found: &mut Vec<Found>) -> bool {
        let Some(bucket) = self.buckets.get(&hash) else {
            return true;
        };
        let here = |anchor: &&Anchor| {
            hay[at..]
                .get(..anchor.text.len())
                .is_some_and(|text| text.eq_ignore_ascii_case(&anchor.text))
        };
        for anchor in bucket.iter().filter(here) {
            let span = Span {
                start: at,
                end: at + anchor.text.len(),
            };
            let secret = match &anchor.role {
                Role::Known(value) => {
                    let same = hay[at..].starts_with(value);
                    same.then(|| (at, What::Known, Swallow::new(value.len(), Tail::None)))
                }
                _ if !last && at + AHEAD + 1 > hay.len() => {
                    // Looked at again when there is more; nothing of this place may stay.
                    found.retain(|found| found.anchor != at);
                    return false;
                }
                Role::Shape(shape) => self.shapes[*shape]
                    .check(hay, span)
                    .map(|(start, swallow)| (start, What::Shape(*shape), swallow)),
                Role::Key => assign::check(hay, span.start, span.end)
                    .map(|(start, swallow)| (start, What::Key, swallow)),
            };
            if let Some((start, what, swallow)) = secret {
                found.push(Found {
                    start,
                    what,
                    reach: Reach(swallow),
                    anchor: at,
                });
            }
        }
        true
    }

    /// A secret begins at most this far before its anchor.
    pub(crate) const fn hold_back() -> usize {
        BEFORE
    }
}
