//! Finding secrets: one automaton for anchors and known values, a check where one is found.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::assign;
use crate::keys::KEY_ANCHORS;
use crate::known::needles;
use crate::shapes::{AHEAD, BEFORE, Shape};
use crate::swallow::Swallow;

/// A place where a secret begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    pub(crate) start: usize,
    pub(crate) what: What,
    pub(crate) reach: Reach,
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

/// What a pattern of the automaton stands for.
#[derive(Debug, Default)]
struct Anchor {
    /// Shapes with this anchor.
    shapes: Vec<usize>,
    /// It is part of a secret-looking key.
    key: bool,
    /// It is a known value: the exact bytes.
    known: Option<String>,
}

/// The compiled search.
#[derive(Debug)]
pub(crate) struct Engine {
    automaton: AhoCorasick,
    anchors: Vec<Anchor>,
    shapes: Vec<Shape>,
    longest_pattern: usize,
}

impl Engine {
    /// Compiles. `None` when the automaton cannot be built (its input is too large).
    pub(crate) fn new(shapes: Vec<Shape>, known_values: &[String]) -> Option<Self> {
        let mut index: HashMap<String, usize> = HashMap::new();
        let mut anchors: Vec<Anchor> = Vec::new();
        let mut patterns: Vec<String> = Vec::new();
        let mut entry = |text: &str| {
            let lower = text.to_ascii_lowercase();
            *index.entry(lower.clone()).or_insert_with(|| {
                patterns.push(lower);
                anchors.push(Anchor::default());
                patterns.len() - 1
            })
        };
        let key_entries: Vec<usize> = KEY_ANCHORS.iter().map(|anchor| entry(anchor)).collect();
        let shape_entries: Vec<Vec<usize>> = shapes
            .iter()
            .map(|shape| shape.anchors.iter().map(|anchor| entry(anchor)).collect())
            .collect();
        for at in key_entries {
            anchors[at].key = true;
        }
        for (shape, entries) in shape_entries.into_iter().enumerate() {
            for at in entries {
                anchors[at].shapes.push(shape);
            }
        }
        // Two values that differ in case only need an entry each, so no index here.
        for needle in needles(known_values) {
            patterns.push(needle.to_ascii_lowercase());
            anchors.push(Anchor {
                known: Some(needle),
                ..Anchor::default()
            });
        }
        let longest_pattern = patterns.iter().map(String::len).max().unwrap_or(0);
        let kind = if known_values.is_empty() {
            None
        } else {
            Some(AhoCorasickKind::ContiguousNFA)
        };
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .kind(kind)
            .build(&patterns)
            .ok()?;
        Some(Self {
            automaton,
            anchors,
            shapes,
            longest_pattern,
        })
    }

    /// A secret begins at most this far before the end of what made it known.
    pub(crate) fn hold_back(&self) -> usize {
        self.longest_pattern + BEFORE
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

    /// Collects what begins with an anchor that ends after `from`. Returns how far the search is
    /// final: unless `last`, an anchor too close to the end waits for more text.
    pub(crate) fn collect(
        &self,
        hay: &[u8],
        from: usize,
        last: bool,
        found: &mut Vec<Found>,
    ) -> usize {
        let begin = from.saturating_sub(self.longest_pattern);
        for hit in self.automaton.find_overlapping_iter(&hay[begin..]) {
            let (start, end) = (begin + hit.start(), begin + hit.end());
            if end <= from {
                continue;
            }
            let anchor = &self.anchors[hit.pattern().as_usize()];
            if let Some(value) = &anchor.known {
                if &hay[start..end] == value.as_bytes() {
                    let reach = Reach(Swallow::new(value.len(), crate::swallow::Tail::None));
                    found.push(Found {
                        start,
                        what: What::Known,
                        reach,
                    });
                }
                continue;
            }
            if !last && start + AHEAD + 1 > hay.len() {
                return end - 1;
            }
            for &shape in &anchor.shapes {
                if let Some((at, swallow)) = self.shapes[shape].check(hay, start) {
                    found.push(Found {
                        start: at,
                        what: What::Shape(shape),
                        reach: Reach(swallow),
                    });
                }
            }
            if anchor.key
                && let Some((at, swallow)) = assign::check(hay, start, end)
            {
                found.push(Found {
                    start: at,
                    what: What::Key,
                    reach: Reach(swallow),
                });
            }
        }
        hay.len()
    }
}
