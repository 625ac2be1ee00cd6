//! What `guardian replay` could not read: counted, listed by place, and never silently left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::output;
use crate::transcripts::Unread;

/// A part of the input whose calls are not among those that were decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    /// Something in a line.
    Line(Unread),
    /// A file without any line that a known client writes.
    UnknownFile,
    /// A file without any line.
    EmptyFile,
    /// A directory that was not gone into: too deep, or behind a link.
    Directory,
}

impl Gap {
    const ALL: [Self; 7] = [
        Self::Line(Unread::NotUtf8),
        Self::Line(Unread::NotJson),
        Self::Line(Unread::UnknownRecord),
        Self::Line(Unread::IncompleteCall),
        Self::UnknownFile,
        Self::EmptyFile,
        Self::Directory,
    ];

    /// The member of the JSON output.
    fn key(self) -> &'static str {
        match self {
            Self::Line(Unread::NotUtf8) => "linesNotUtf8",
            Self::Line(Unread::NotJson) => "linesNotJson",
            Self::Line(Unread::UnknownRecord) => "unknownRecords",
            Self::Line(Unread::IncompleteCall) => "incompleteCalls",
            Self::UnknownFile => "unknownFiles",
            Self::EmptyFile => "emptyFiles",
            Self::Directory => "directories",
        }
    }

    /// What is wrong at one place.
    fn sentence(self) -> &'static str {
        match self {
            Self::Line(Unread::NotUtf8) => "not UTF-8",
            Self::Line(Unread::NotJson) => "not JSON (cut off, or still being written?)",
            Self::Line(Unread::UnknownRecord) => {
                "a record of a kind that is not known, which may hold a call"
            }
            Self::Line(Unread::IncompleteCall) => "a call without its name or its arguments",
            Self::UnknownFile => "no session of pi, Claude Code or Codex",
            Self::EmptyFile => "empty",
            Self::Directory => "a directory that was not gone into (too deep, or a link)",
        }
    }
}

/// All gaps of a run, with the first places of them.
#[derive(Debug)]
pub(super) struct Gaps {
    counts: BTreeMap<Gap, usize>,
    places: Vec<(PathBuf, Option<usize>, Gap)>,
    /// Places that are kept.
    limit: usize,
}

impl Gaps {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            counts: BTreeMap::new(),
            places: Vec::new(),
            limit,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Counts a gap; lines are numbered from 1.
    pub(super) fn add(&mut self, file: &Path, line: Option<usize>, gap: Gap) {
        *self.counts.entry(gap).or_default() += 1;
        if self.places.len() < self.limit {
            self.places.push((file.to_owned(), line, gap));
        }
    }

    /// Says it all on stderr, where it is seen also when stdout goes elsewhere.
    pub(super) fn print(&self) {
        if self.is_empty() {
            return;
        }
        output::notice("not everything was read; the figures leave this out:");
        for (file, line, gap) in &self.places {
            let line = line.map_or_else(String::new, |line| format!(":{line}"));
            output::notice(&format!("  {}{line}: {}", file.display(), gap.sentence()));
        }
        let more = self.counts.values().sum::<usize>() - self.places.len();
        if more > 0 {
            output::notice(&format!("  and {more} more (--all lists them)"));
        }
    }

    /// The same for `--json`.
    pub(super) fn value(&self) -> Value {
        let mut value: serde_json::Map<String, Value> = Gap::ALL
            .iter()
            .map(|gap| {
                let count = self.counts.get(gap).copied().unwrap_or_default();
                (gap.key().to_owned(), count.into())
            })
            .collect();
        let places = self
            .places
            .iter()
            .map(|(file, line, gap)| json!({ "file": file, "line": line, "what": gap.key() }));
        value.insert("places".to_owned(), places.collect());
        Value::Object(value)
    }
}
