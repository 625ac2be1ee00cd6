//! Matching lines, as a search hands them over.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};

use crate::encoding::Encoding;

/// One match.
#[derive(Debug, Default)]
pub(crate) struct Line {
    pub(crate) number: u64,
    /// 1-based, in characters.
    pub(crate) column: usize,
    pub(crate) text: String,
    pub(crate) before: Vec<String>,
    pub(crate) after: Vec<String>,
}

impl Line {
    /// Bytes of text that it adds to a result.
    pub(crate) fn bytes(&self) -> usize {
        let context: usize = self
            .before
            .iter()
            .chain(&self.after)
            .map(|text| text.len() + 4)
            .sum();
        self.text.len() + context + 40
    }

    pub(crate) fn lines(&self) -> usize {
        1 + self.text.matches('\n').count() + self.before.len() + self.after.len()
    }
}

/// Counts matching lines.
pub(crate) struct Count {
    pub(crate) count: u64,
    first_only: bool,
}

impl Count {
    pub(crate) fn all() -> Self {
        Self {
            count: 0,
            first_only: false,
        }
    }

    pub(crate) fn first_only() -> Self {
        Self {
            count: 0,
            first_only: true,
        }
    }
}

impl Sink for Count {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.count += 1;
        Ok(!self.first_only)
    }
}

/// Keeps matching lines with their context, up to a limit.
pub(crate) struct Collect<'a> {
    matcher: &'a RegexMatcher,
    limit: usize,
    line_chars: usize,
    lines: Vec<Line>,
    before: Vec<String>,
    cut: bool,
}

impl<'a> Collect<'a> {
    pub(crate) fn new(matcher: &'a RegexMatcher, limit: usize, line_chars: usize) -> Self {
        Self {
            matcher,
            limit,
            line_chars,
            lines: Vec::new(),
            before: Vec::new(),
            cut: false,
        }
    }

    /// The lines, and whether there were more.
    pub(crate) fn into_lines(self) -> (Vec<Line>, bool) {
        (self.lines, self.cut)
    }
}

impl Sink for Collect<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.lines.len() == self.limit {
            self.cut = true;
            return Ok(false);
        }
        let bytes = without_end(found.bytes());
        let at = self
            .matcher
            .find(found.bytes())
            .ok()
            .flatten()
            .map_or(0, |place| place.start());
        let prefix = &bytes[..at.min(bytes.len())];
        let (text, column) = shown(bytes, prefix, self.line_chars);
        self.lines.push(Line {
            number: found.line_number().unwrap_or(0),
            column,
            text,
            before: std::mem::take(&mut self.before),
            after: Vec::new(),
        });
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        let bytes = without_end(context.bytes());
        let (text, _) = shown(bytes, &[], self.line_chars);
        match (context.kind(), self.lines.last_mut()) {
            (SinkContextKind::After, Some(last)) => last.after.push(text),
            _ => self.before.push(text),
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.before.clear();
        Ok(true)
    }
}

fn without_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

/// Characters shown in front of a match that lies far to the right.
const LEAD: usize = 200;

/// The line as text, clipped around the match, and the match's column.
fn shown(bytes: &[u8], prefix: &[u8], max_chars: usize) -> (String, usize) {
    let encoding = if std::str::from_utf8(bytes).is_ok() {
        Encoding::Utf8
    } else {
        Encoding::Windows1252
    };
    let text = encoding.decode_lossy(bytes);
    let text = text.replace("\r\n", "\n");
    let column = encoding.decode_lossy(prefix).chars().count();
    if text.len() <= max_chars {
        return (text, column + 1);
    }
    // Clipped for display only: the line was searched in full.
    let skip = if column + LEAD < max_chars {
        0
    } else {
        column - LEAD
    };
    let start = text
        .char_indices()
        .nth(skip)
        .map_or(text.len(), |(at, _)| at);
    let end = text[start..]
        .char_indices()
        .nth(max_chars)
        .map_or(text.len(), |(at, _)| start + at);
    if start == 0 && end == text.len() {
        return (text, column + 1);
    }
    let left = if start > 0 { "…" } else { "" };
    let right = if end < text.len() { "…" } else { "" };
    let clipped = format!(
        "{left}{}{right} [line clipped: {} bytes]",
        &text[start..end],
        bytes.len()
    );
    (clipped, column + 1)
}
