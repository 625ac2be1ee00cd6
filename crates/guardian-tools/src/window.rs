//! A window of lines out of a file of any size, without decoding what precedes it.

use std::borrow::Cow;
use std::os::fd::BorrowedFd;

use guardian_facts::input::ReadInput;

use crate::ToolFailure;
use crate::context::ToolContext;
use crate::encoding::{Encoding, LineEnding};
use crate::file::read_at;

/// Where the bytes come from.
pub(crate) enum Source<'a> {
    /// All of them are in memory.
    Whole(&'a [u8]),
    /// Too many: read in pieces.
    Streamed {
        file: BorrowedFd<'a>,
        size: u64,
        shown: &'a str,
    },
}

/// The lines asked for.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) text: String,
    /// 1-based number of the first line.
    pub(crate) offset: u64,
    pub(crate) lines: u64,
    /// Known when the end was reached or all bytes were in memory.
    pub(crate) total_lines: Option<u64>,
    /// Line ends of the whole file when it was in memory, else of the window.
    pub(crate) lf: usize,
    pub(crate) crlf: usize,
    pub(crate) clipped_lines: usize,
    /// More lines follow.
    pub(crate) more: bool,
    pub(crate) holds_nul: bool,
    /// No line of the window is invalid UTF-8 (meaningful for one-byte encodings).
    pub(crate) is_utf8: bool,
}

impl Window {
    fn empty(offset: u64) -> Self {
        Self {
            text: String::new(),
            offset,
            lines: 0,
            total_lines: None,
            lf: 0,
            crlf: 0,
            clipped_lines: 0,
            more: false,
            holds_nul: false,
            is_utf8: true,
        }
    }

    fn take_text(&mut self, all: &str, limit: u64, cx: &ToolContext<'_>) {
        let bytes = all.as_bytes();
        let (lf, crlf, total) = line_counts(bytes, Encoding::Utf8);
        (self.lf, self.crlf, self.total_lines) = (lf, crlf, Some(total));
        let skipped = usize::try_from(self.offset - 1).unwrap_or(usize::MAX);
        let start = match skipped.checked_sub(1) {
            None => Some(0),
            Some(last) => memchr::memchr_iter(b'\n', bytes).nth(last).map(|at| at + 1),
        };
        let mut at = start.unwrap_or(bytes.len());
        // Where what was not copied yet begins.
        let mut piece = at;
        let first = at;
        let mut newlines = memchr::memchr_iter(b'\n', &bytes[first..]);
        while self.lines < limit && at < bytes.len() {
            let newline = newlines.next().map(|length| first + length);
            let end = newline.unwrap_or(bytes.len());
            let is_crlf = newline.is_some() && end > at && bytes[end - 1] == b'\r';
            let line = &all[at..end - usize::from(is_crlf)];
            // At most one character per byte: short lines need no counting.
            let cut = (line.len() > cx.limits.line_chars)
                .then(|| line.char_indices().nth(cx.limits.line_chars))
                .flatten();
            let shown = cut.map(|(cut, _)| clipped(&line[..cut], Some((end - at) as u64)));
            let length = shown.as_ref().map_or(line.len(), String::len);
            let so_far = self.text.len() + (at - piece);
            if self.lines > 0 && so_far + length + 1 > cx.limits.result_bytes {
                break;
            }
            if shown.is_some() {
                self.holds_nul |= memchr::memchr(0, head_of(line.as_bytes(), cx)).is_some();
            }
            if shown.is_some() || is_crlf {
                self.text.push_str(&all[piece..at]);
                self.text.push_str(shown.as_deref().unwrap_or(line));
                if newline.is_some() {
                    self.text.push('\n');
                }
                self.clipped_lines += usize::from(shown.is_some());
            }
            at = newline.map_or(end, |newline| newline + 1);
            if shown.is_some() || is_crlf {
                piece = at;
            }
            self.lines += 1;
        }
        self.text.push_str(&all[piece..at]);
        self.holds_nul |= memchr::memchr(0, self.text.as_bytes()).is_some();
        self.more = at < bytes.len();
    }

    pub(crate) fn truncated(&self) -> bool {
        self.more || self.clipped_lines > 0
    }

    /// What was left out and how to get it.
    pub(crate) fn notice(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.lines == 0 {
            let total = self.total_lines.unwrap_or(0);
            parts.push(if total == 0 {
                "the file is empty".to_owned()
            } else {
                format!(
                    "the file has {total} lines; offset {} is past its end",
                    self.offset
                )
            });
        }
        if self.more {
            let last = self.offset + self.lines - 1;
            let of = self
                .total_lines
                .map(|total| format!(" of {total}"))
                .unwrap_or_default();
            parts.push(format!(
                "lines {}-{last}{of}; continue with offset {}",
                self.offset,
                last + 1
            ));
        }
        if self.clipped_lines > 0 {
            parts.push(format!(
                "{} long line(s) are clipped for display; search them with Grep",
                self.clipped_lines
            ));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// [`read_window`] of a text that is in memory and valid (without its mark). What is shown as it
/// stands is copied in one piece.
pub(crate) fn text_window(text: &str, input: &ReadInput, cx: &ToolContext<'_>) -> Window {
    let mut window = Window::empty(input.offset.max(1));
    window.take_text(text, lines_wanted(input, cx), cx);
    window
}

fn lines_wanted(input: &ReadInput, cx: &ToolContext<'_>) -> u64 {
    u64::from(input.limit).min(cx.limits.result_lines as u64)
}

/// Bytes enough for the shown characters of a line in every encoding, and for one more.
fn most_of_line(cx: &ToolContext<'_>) -> usize {
    (cx.limits.line_chars + 1) * 4
}

/// The part of a line that is looked at.
fn head_of<'l>(line: &'l [u8], cx: &ToolContext<'_>) -> &'l [u8] {
    &line[..line.len().min(most_of_line(cx))]
}

/// Reads the window that `input` asks for.
pub(crate) fn read_window(
    source: &Source<'_>,
    encoding: Encoding,
    input: &ReadInput,
    cx: &ToolContext<'_>,
) -> Result<Window, ToolFailure> {
    let limit = lines_wanted(input, cx);
    let offset = input.offset.max(1);
    let mut window = Window::empty(offset);
    let mut bytes = Bytes::new(source, encoding);
    let skipped = bytes.skip_lines(offset - 1, cx)?;
    let cap = most_of_line(cx);
    while window.lines < limit && !bytes.at_end() {
        let start = bytes.position;
        let last = window.lines + 1 == limit;
        let line = bytes.next_line(cap, last, cx)?;
        let (shown, clipped) = shown_line(&line, encoding, cx.limits.line_chars);
        if window.lines > 0 && window.text.len() + shown.len() + 1 > cx.limits.result_bytes {
            bytes.position = start;
            break;
        }
        if encoding.unit() == 1 {
            window.holds_nul |= memchr::memchr(0, &line.head).is_some();
            window.is_utf8 &= is_utf8_so_far(&line.head);
        }
        window.text.push_str(&shown);
        if line.terminated {
            window.text.push('\n');
            if line.crlf {
                window.crlf += 1
            } else {
                window.lf += 1
            }
        }
        window.clipped_lines += usize::from(clipped);
        window.lines += 1;
    }
    window.more = !bytes.at_end();
    if let Source::Whole(all) = source {
        let body = &all[encoding.mark().len()..];
        let (lf, crlf, lines) = line_counts(body, encoding);
        (window.lf, window.crlf) = (lf, crlf);
        window.total_lines = Some(lines);
    } else if bytes.at_end() {
        window.total_lines = Some(skipped + window.lines);
    }
    Ok(window)
}

fn is_utf8_so_far(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => true,
        // The head of a long line may end in the middle of a character.
        Err(error) => error.error_len().is_none(),
    }
}

fn shown_line(line: &Line<'_>, encoding: Encoding, max_chars: usize) -> (String, bool) {
    let text = encoding.decode_lossy(&line.head);
    // At most one character per byte: short lines need no counting.
    let cut = (text.len() > max_chars)
        .then(|| text.char_indices().nth(max_chars).map(|(at, _)| at))
        .flatten();
    match cut {
        None if !line.cut => (text.into_owned(), false),
        cut => {
            let kept = &text[..cut.unwrap_or(text.len())];
            (clipped(kept, line.length), true)
        }
    }
}

/// The beginning of a line of this many bytes, which is too long to be shown.
fn clipped(kept: &str, length: Option<u64>) -> String {
    let length = length.map_or_else(
        || "more than shown".to_owned(),
        |length| format!("{length} bytes"),
    );
    format!("{kept}… [line clipped: {length}]")
}

/// (LF, CRLF, lines) of text bytes.
fn line_counts(body: &[u8], encoding: Encoding) -> (usize, usize, u64) {
    let (newlines, crlf, ends) = match encoding.unit() {
        1 => (
            bytecount::count(body, b'\n'),
            // One sign is looked for faster than two, and most files do not have it.
            memchr::memchr(b'\r', body).map_or(0, |first| {
                memchr::memmem::find_iter(&body[first..], b"\r\n").count()
            }),
            body.last() == Some(&b'\n'),
        ),
        unit => {
            let mut newlines = 0;
            let mut crlf = 0;
            let mut before = 0;
            for code in body
                .chunks_exact(unit)
                .map(|chunk| code_unit(chunk, encoding))
            {
                if code == 10 {
                    newlines += 1;
                    crlf += usize::from(before == 13);
                }
                before = code;
            }
            (newlines, crlf, before == 10)
        }
    };
    let unended = !body.is_empty() && !ends;
    (newlines - crlf, crlf, newlines as u64 + u64::from(unended))
}

fn code_unit(chunk: &[u8], encoding: Encoding) -> u32 {
    let fold = |n: u32, byte: &u8| n << 8 | u32::from(*byte);
    match encoding {
        Encoding::Utf16Le | Encoding::Utf32Le => chunk.iter().rev().fold(0, fold),
        _ => chunk.iter().fold(0, fold),
    }
}

/// How line ends of text in memory look, for tools that decode the whole file.
pub(crate) fn line_ending_of(body: &[u8], encoding: Encoding) -> LineEnding {
    let (lf, crlf, _) = line_counts(body, encoding);
    LineEnding::from_counts(lf, crlf)
}

/// One line's bytes, at most the cap, without its end.
struct Line<'a> {
    head: Cow<'a, [u8]>,
    /// The head is not all of it.
    cut: bool,
    /// Bytes of the whole line; `None` when its end was not looked for.
    length: Option<u64>,
    terminated: bool,
    crlf: bool,
}

const CHUNK: usize = 256 * 1024;
/// How far the end of a last, cut line is looked for.
const LOOK_FOR_END: u64 = 1024 * 1024;

struct Bytes<'a> {
    source: &'a Source<'a>,
    encoding: Encoding,
    position: u64,
    size: u64,
    buffer: Vec<u8>,
    buffered_at: u64,
}

impl<'a> Bytes<'a> {
    fn new(source: &'a Source<'a>, encoding: Encoding) -> Self {
        let size = match source {
            Source::Whole(bytes) => bytes.len() as u64,
            Source::Streamed { size, .. } => *size,
        };
        let position = encoding.mark().len() as u64;
        Self {
            source,
            encoding,
            position,
            size,
            buffer: Vec::new(),
            buffered_at: 0,
        }
    }

    fn at_end(&self) -> bool {
        self.position >= self.size
    }

    /// The bytes at the position, as many as are at hand; empty at the end.
    fn chunk(&mut self, cx: &ToolContext<'_>) -> Result<&[u8], ToolFailure> {
        match *self.source {
            Source::Whole(bytes) => Ok(rest_of(bytes, self.position)),
            Source::Streamed { file, size, shown } => {
                let end = self.buffered_at + self.buffer.len() as u64;
                if self.position < self.buffered_at || self.position >= end {
                    cx.check()?;
                    let left = size.saturating_sub(self.position);
                    let want = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
                    self.buffer.resize(want, 0);
                    let got = read_at(file, &mut self.buffer, self.position)
                        .map_err(|errno| ToolFailure::system("read", shown, errno))?;
                    self.buffer.truncate(got);
                    self.buffered_at = self.position;
                    if got == 0 {
                        // It shrank while it was read.
                        self.size = self.position;
                    }
                }
                let at = usize::try_from(self.position - self.buffered_at).unwrap_or(usize::MAX);
                Ok(self.buffer.get(at..).unwrap_or(&[]))
            }
        }
    }

    /// Skips lines at memory speed; returns how many there were (fewer at the end).
    fn skip_lines(&mut self, count: u64, cx: &ToolContext<'_>) -> Result<u64, ToolFailure> {
        let encoding = self.encoding;
        let mut left = count;
        let mut unended = false;
        while left > 0 && !self.at_end() {
            let chunk = self.chunk(cx)?;
            if chunk.is_empty() {
                break;
            }
            let here = newlines_in(chunk, encoding);
            let (step, passed) = if here < left {
                (usable(chunk, encoding), here)
            } else {
                (after_newline(chunk, encoding, left), left)
            };
            unended = !ends_with_newline(&chunk[..step], encoding);
            left -= passed;
            self.position += step as u64;
        }
        if left > 0 && unended {
            Ok(count - left + 1)
        } else {
            Ok(count - left)
        }
    }

    fn next_line(
        &mut self,
        cap: usize,
        last: bool,
        cx: &ToolContext<'_>,
    ) -> Result<Line<'a>, ToolFailure> {
        let encoding = self.encoding;
        if let Source::Whole(bytes) = *self.source {
            let rest = rest_of(bytes, self.position);
            let found = find_newline(rest, encoding);
            let length = found.unwrap_or(rest.len());
            self.position += (length + found.map_or(0, |_| encoding.unit())) as u64;
            return Ok(line(
                Cow::Borrowed(&rest[..length]),
                length as u64,
                found.is_some(),
                cap,
                encoding,
            ));
        }
        let mut head: Vec<u8> = Vec::new();
        let mut length = 0_u64;
        // One byte-unit more than the cap, so that a CR before the end is still seen.
        let keep = cap + encoding.unit();
        loop {
            let chunk = self.chunk(cx)?;
            if chunk.is_empty() {
                return Ok(line(Cow::Owned(head), length, false, cap, encoding));
            }
            let found = find_newline(chunk, encoding);
            let part = found.unwrap_or_else(|| usable(chunk, encoding));
            let room = keep.saturating_sub(head.len()).min(part);
            head.extend_from_slice(&chunk[..room]);
            length += part as u64;
            self.position += part as u64;
            if found.is_some() {
                self.position += encoding.unit() as u64;
                return Ok(line(Cow::Owned(head), length, true, cap, encoding));
            }
            if last && length > cap as u64 + LOOK_FOR_END {
                let mut line = line(Cow::Owned(head), length, false, cap, encoding);
                line.length = None;
                return Ok(line);
            }
        }
    }
}

fn line(
    head: Cow<'_, [u8]>,
    length: u64,
    terminated: bool,
    cap: usize,
    encoding: Encoding,
) -> Line<'_> {
    let unit = encoding.unit();
    let whole = head.len() as u64 == length;
    let crlf = terminated
        && whole
        && head.len() >= unit
        && code_unit(&head[head.len() - unit..], encoding) == 13;
    let end = if crlf { head.len() - unit } else { head.len() };
    let kept = end.min(cap);
    let head = match head {
        Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[..kept]),
        Cow::Owned(mut bytes) => {
            bytes.truncate(kept);
            Cow::Owned(bytes)
        }
    };
    Line {
        head,
        cut: kept < end || !whole,
        length: Some(length),
        terminated,
        crlf,
    }
}

/// What stands from a position on.
fn rest_of(bytes: &[u8], position: u64) -> &[u8] {
    usize::try_from(position)
        .ok()
        .and_then(|at| bytes.get(at..))
        .unwrap_or(&[])
}

/// How many bytes of a chunk are whole code units; all of them when there is not even one.
fn usable(chunk: &[u8], encoding: Encoding) -> usize {
    let whole = chunk.len() - chunk.len() % encoding.unit();
    if whole == 0 { chunk.len() } else { whole }
}

fn newlines_in(chunk: &[u8], encoding: Encoding) -> u64 {
    match encoding.unit() {
        1 => bytecount::count(chunk, b'\n') as u64,
        unit => chunk
            .chunks_exact(unit)
            .filter(|unit| code_unit(unit, encoding) == 10)
            .count() as u64,
    }
}

fn find_newline(chunk: &[u8], encoding: Encoding) -> Option<usize> {
    match encoding.unit() {
        1 => memchr::memchr(b'\n', chunk),
        unit => chunk
            .chunks_exact(unit)
            .position(|unit| code_unit(unit, encoding) == 10)
            .map(|at| at * unit),
    }
}

/// Position after the `count`-th newline, which exists.
fn after_newline(chunk: &[u8], encoding: Encoding, count: u64) -> usize {
    let nth = usize::try_from(count - 1).unwrap_or(usize::MAX);
    match encoding.unit() {
        1 => memchr::memchr_iter(b'\n', chunk)
            .nth(nth)
            .map_or(chunk.len(), |at| at + 1),
        unit => chunk
            .chunks_exact(unit)
            .enumerate()
            .filter(|(_, unit)| code_unit(unit, encoding) == 10)
            .nth(nth)
            .map_or(chunk.len(), |(at, _)| (at + 1) * unit),
    }
}

fn ends_with_newline(chunk: &[u8], encoding: Encoding) -> bool {
    let unit = encoding.unit();
    chunk.len() >= unit && code_unit(&chunk[chunk.len() - unit..], encoding) == 10
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{
        FileLimits, FileTags, Look, NeverCancelled, NothingHidden, SeenFile, Vision,
    };
    use proptest::prelude::*;

    struct NoTags;

    impl FileTags for NoTags {
        fn last(&self, _: &std::path::Path) -> Option<SeenFile> {
            None
        }

        fn remember(&self, _: &std::path::Path, _: &str, _: Look) {}
    }

    proptest! {
        #[test]
        fn a_text_shows_the_same_window_as_its_bytes(
            text in "([abé\u{1f600}]{0,14}|\r\n|\n|\r|\0|[xyz]{30}){0,40}",
            offset in 0_u64..25,
            limit in 1_u32..20,
            line_chars in 3_usize..20,
            result_bytes in 10_usize..200,
        ) {
            let limits = FileLimits { line_chars, result_bytes, ..FileLimits::spec() };
            let cx = ToolContext {
                limits: &limits,
                cancel: &NeverCancelled,
                deadline: None,
                tags: &NoTags,
                snapshots: None,
                hidden: &NothingHidden,
                vision: Vision::Absent,
            };
            let input = ReadInput { path: String::new(), offset, limit, notices: Vec::new() };
            let slow = read_window(&Source::Whole(text.as_bytes()), Encoding::Utf8, &input, &cx);
            let quick = text_window(&text, &input, &cx);
            prop_assert_eq!(format!("{quick:?}"), format!("{:?}", slow.unwrap()));
        }
    }
}
