//! What is kept of one stream: its head, its tail, its totals, and a full copy when it is long.
//!
//! Memory is bounded whatever the command prints; every byte is looked at a constant number of
//! times.

use std::path::PathBuf;

use super::limits::BashLimits;
use super::spill::{Spill, SpillPlace};
use super::stream::OutputStream;

/// Of a truncated stdout this much of the end is shown after the head: the last lines of a build
/// are what the head does not say.
const STDOUT_END_BYTES: usize = 8 * 1024;
const STDOUT_END_LINES: usize = 100;

/// Keeps one stream of a command.
#[derive(Debug)]
pub(super) struct Capture {
    stream: OutputStream,
    limits: BashLimits,
    place: SpillPlace,
    head: Vec<u8>,
    tail: Vec<u8>,
    bytes: u64,
    newlines: u64,
    ends_in_line: bool,
    spill: Spill,
}

/// What a stream's text becomes in the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedText {
    /// The text, with a marker where something was left out.
    pub text: String,
    /// Was something left out?
    pub truncated: bool,
    /// The full copy, when one was begun.
    pub spill: Option<PathBuf>,
}

impl Capture {
    pub(super) fn new(stream: OutputStream, limits: &BashLimits, place: SpillPlace) -> Self {
        Self {
            stream,
            limits: limits.clone(),
            place,
            head: Vec::new(),
            tail: Vec::new(),
            bytes: 0,
            newlines: 0,
            ends_in_line: false,
            spill: Spill::NotNeeded,
        }
    }

    /// Takes the next bytes of the stream.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let before = self.bytes;
        self.bytes += bytes.len() as u64;
        self.newlines += bytecount::count(bytes, b'\n') as u64;
        self.ends_in_line = bytes.last() != Some(&b'\n');
        if matches!(self.spill, Spill::NotNeeded) {
            if self.exceeds_limits() {
                // Until now everything fitted into the limit, so the head has all of it.
                debug_assert_eq!(self.head.len() as u64, before);
                self.spill = Spill::begin(
                    &self.place,
                    self.stream.name(),
                    &self.head,
                    self.limits.spill_bytes,
                );
                self.spill.write(bytes, self.limits.spill_bytes);
            }
        } else {
            self.spill.write(bytes, self.limits.spill_bytes);
        }
        let room = self.limits.output_bytes - self.head.len();
        self.head
            .extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        self.push_tail(bytes);
    }

    fn push_tail(&mut self, bytes: &[u8]) {
        let limit = self.limits.output_bytes;
        if let Some(start) = bytes.len().checked_sub(limit) {
            self.tail.clear();
            self.tail
                .extend_from_slice(bytes.get(start..).unwrap_or_default());
            return;
        }
        if self.tail.len() + bytes.len() > 2 * limit {
            // What stays is less than a limit, and this happens once per limit of new bytes.
            let stay = limit - bytes.len();
            let from = self.tail.len().saturating_sub(stay);
            self.tail.drain(..from);
        }
        self.tail.extend_from_slice(bytes);
    }

    fn lines(&self) -> u64 {
        self.newlines + u64::from(self.ends_in_line)
    }

    fn exceeds_limits(&self) -> bool {
        self.bytes > self.limits.output_bytes as u64
            || self.lines() > self.limits.output_lines as u64
    }

    /// The text as it is now.
    pub(super) fn render(&self) -> CapturedText {
        let whole = first_part(&self.head, self.limits.output_bytes, usize::MAX);
        // Bytes that are not UTF-8 are three bytes longer in the text: it may be too long although
        // the stream was not.
        if !self.exceeds_limits() && whole.raw == self.head.len() {
            return CapturedText {
                text: whole.text,
                truncated: false,
                spill: None,
            };
        }
        let (bytes, lines) = (self.limits.output_bytes, self.limits.output_lines);
        let (first, last) = match self.stream {
            OutputStream::Stdout => {
                let end_bytes = STDOUT_END_BYTES.min(bytes / 4);
                let end_lines = STDOUT_END_LINES.min(lines / 4);
                (
                    first_part(&self.head, bytes - end_bytes, lines - end_lines),
                    last_part(&self.tail, end_bytes, end_lines),
                )
            }
            OutputStream::Stderr => (Part::default(), last_part(&self.tail, bytes, lines)),
        };
        let kept = match self.stream {
            OutputStream::Stdout => format!(
                "its first {} ({}) and last {} ({})",
                count(first.raw, "byte"),
                count(first.lines(), "line"),
                count(last.raw, "byte"),
                count(last.lines(), "line"),
            ),
            OutputStream::Stderr => {
                format!(
                    "its last {} ({})",
                    count(last.raw, "byte"),
                    count(last.lines(), "line")
                )
            }
        };
        let marker = format!(
            "[guardian: {} truncated. Kept: {kept} of {} bytes ({} lines). Limit: {bytes} bytes, \
             {lines} lines; {}]\n",
            self.stream.name(),
            self.bytes,
            self.lines(),
            self.spill.describe(),
        );
        let mut text = first.text;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&marker);
        text.push_str(&last.text);
        CapturedText {
            text,
            truncated: true,
            spill: self.spill.path().map(Into::into),
        }
    }
}

fn count(number: usize, unit: &str) -> String {
    if number == 1 {
        format!("1 {unit}")
    } else {
        format!("{number} {unit}s")
    }
}

/// A piece of the stream as text, and how many bytes of the stream it stands for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Part {
    text: String,
    raw: usize,
}

impl Part {
    fn lines(&self) -> usize {
        bytecount::count(self.text.as_bytes(), b'\n')
            + usize::from(!self.text.is_empty() && !self.text.ends_with('\n'))
    }
}

/// The longest beginning of `raw` whose text is within both bounds.
fn first_part(raw: &[u8], bytes: usize, lines: usize) -> Part {
    let mut part = Part::default();
    let mut newlines = 0;
    for (piece, length) in pieces(raw) {
        if newlines >= lines || part.text.len() + piece.len() > bytes {
            break;
        }
        // Most pieces are long; only the one that crosses a bound is walked by character.
        part.text.push_str(piece);
        part.raw += length;
        newlines += usize::from(piece == "\n");
    }
    part
}

/// The longest end of `raw` whose text is within both bounds.
fn last_part(raw: &[u8], bytes: usize, lines: usize) -> Part {
    let all: Vec<(&str, usize)> = pieces(raw).collect();
    let (mut text, mut length, mut newlines) = (0, 0, 0);
    let mut from = all.len();
    for (index, (piece, piece_raw)) in all.iter().enumerate().rev() {
        // The newline that ends the last line belongs to that line.
        let ends_line = *piece == "\n" && index + 1 != all.len();
        if text + piece.len() > bytes || (ends_line && newlines + 1 >= lines) {
            break;
        }
        newlines += usize::from(ends_line);
        text += piece.len();
        length += piece_raw;
        from = index;
    }
    let text = all
        .get(from..)
        .unwrap_or_default()
        .iter()
        .map(|(piece, _)| *piece)
        .collect();
    Part { text, raw: length }
}

/// The characters of a byte string, each with the number of bytes it stands for. Bytes that are no
/// UTF-8 become U+FFFD.
fn pieces(raw: &[u8]) -> impl Iterator<Item = (&str, usize)> {
    raw.utf8_chunks().flat_map(|chunk| {
        let valid = chunk.valid();
        let invalid = chunk.invalid().len();
        let characters = valid.char_indices().map(move |(at, character)| {
            let length = character.len_utf8();
            (valid.get(at..at + length).unwrap_or_default(), length)
        });
        characters.chain((invalid > 0).then_some(("\u{fffd}", invalid)))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limits(bytes: usize, lines: usize) -> BashLimits {
        BashLimits {
            output_bytes: bytes,
            output_lines: lines,
            ..BashLimits::standard()
        }
    }

    fn capture(stream: OutputStream, limits: &BashLimits, scratch: &std::path::Path) -> Capture {
        Capture::new(stream, limits, SpillPlace::new(scratch, "call"))
    }

    #[test]
    fn what_fits_is_returned_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let mut capture = capture(OutputStream::Stdout, &limits(10, 3), dir.path());
        capture.push(b"a\nb\n");
        capture.push(b"c");
        let text = capture.render();
        assert_eq!(
            text,
            CapturedText {
                text: "a\nb\nc".to_owned(),
                truncated: false,
                spill: None
            }
        );
        assert!(!dir.path().join("tool-output").exists());
    }

    #[test]
    fn a_long_stdout_keeps_its_head_and_a_short_end() {
        let dir = tempfile::tempdir().unwrap();
        let mut capture = capture(OutputStream::Stdout, &limits(1000, 8), dir.path());
        for line in 1..=20 {
            capture.push(format!("{line}\n").as_bytes());
        }
        let text = capture.render();
        let spill = text.spill.clone().unwrap();
        assert_eq!(
            text.text.replace(spill.to_str().unwrap(), "SPILL"),
            "1\n2\n3\n4\n5\n6\n[guardian: stdout truncated. Kept: its first 12 bytes (6 lines) and \
             last 6 bytes (2 lines) of 51 bytes (20 lines). Limit: 1000 bytes, 8 lines; full copy: \
             SPILL]\n19\n20\n"
        );
        assert_eq!(std::fs::read_to_string(spill).unwrap().lines().count(), 20);
    }

    #[test]
    fn a_long_stderr_keeps_its_tail() {
        let dir = tempfile::tempdir().unwrap();
        let mut capture = capture(OutputStream::Stderr, &limits(8, 100), dir.path());
        capture.push(b"0123456789abcdef");
        let text = capture.render();
        assert!(
            text.text
                .starts_with("[guardian: stderr truncated. Kept: its last 8 bytes")
        );
        assert!(text.text.ends_with("]\n89abcdef"));
    }

    #[test]
    fn a_copy_stops_at_its_limit_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let limits = BashLimits {
            spill_bytes: 20,
            ..limits(8, 100)
        };
        let mut capture = capture(OutputStream::Stderr, &limits, dir.path());
        for _ in 0..10 {
            capture.push(b"0123456789");
        }
        let text = capture.render();
        assert!(text.text.contains("copy of the first 20 bytes: "));
        assert_eq!(std::fs::metadata(text.spill.unwrap()).unwrap().len(), 20);
    }

    proptest! {
        #[test]
        fn kept_text_is_within_the_limit_and_the_copy_is_exact(
            chunks in prop::collection::vec(prop::collection::vec(
                prop_oneof![Just(b'\n'), Just(0xc3), Just(0xa4), any::<u8>()], 0..40), 0..20),
            stderr in any::<bool>(),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let stream = if stderr { OutputStream::Stderr } else { OutputStream::Stdout };
            let mut capture = capture(stream, &limits(64, 6), dir.path());
            for chunk in &chunks {
                capture.push(chunk);
            }
            let whole = chunks.concat();
            let result = capture.render();
            if result.truncated {
                let (before, after) = result.text.split_once("[guardian: ").unwrap();
                let (_, after) = after.split_once("]\n").unwrap();
                let kept = before.trim_end_matches('\n').len() + after.len();
                prop_assert!(kept <= 64);
                if let Some(path) = result.spill {
                    prop_assert_eq!(std::fs::read(path).unwrap(), whole);
                }
            } else {
                prop_assert_eq!(result.text, String::from_utf8_lossy(&whole).into_owned());
            }
        }
    }
}
