//! A parser for bash 5 text, written for proof rather than for tolerance: what it does not
//! understand exactly as bash does is a [`Problem`], never a guess.
//!
//! Recursive descent with a depth cap. Every opener of live code that it descends into and every
//! stretch that it takes as inert is noted in a [`Trace`], which the census checks afterwards.

mod arithmetic;
mod commands;
mod compound;
mod heredocs;
mod parameters;
mod redirects;
mod tests_in_brackets;
mod words;

use std::rc::Rc;

use super::bounds;
use super::syntax::{HeredocBody, List, Piece, WordNode};
use crate::Span;

/// Why a text could not be read strictly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) span: Span,
    pub(super) code: &'static str,
    pub(super) reason: String,
}

/// Result of a parsing step.
pub(super) type Parse<T> = Result<T, Problem>;

/// What the parser accounted for, in byte offsets of its own text.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Offsets of openers (`` ` ``, `$(`, `${`, `<(`, `>(`, `$[`) that were descended into.
    pub(super) live: Vec<usize>,
    /// Quoted, escaped, commented or delegated stretches.
    pub(super) inert: Vec<(usize, usize)>,
    /// Words with groups of pattern characters (`@(a|b)`), which a grammar may take for commands.
    pub(super) groups: Vec<(usize, usize)>,
    /// Offset of the first word of every simple command.
    pub(super) command_starts: Vec<usize>,
    /// Heredoc operators with their delimiters, and heredoc bodies with their closing lines.
    pub(super) heredocs: Vec<(usize, usize)>,
}

/// How positions in this parser's text map to the text of the call.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin {
    /// The same bytes, moved.
    Offset(usize),
    /// Rewritten text: everything maps to one span.
    Fixed(Span),
}

/// A whole text, as far as it could be parsed.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) list: List,
    /// The first thing that was not understood, with the offset from which nothing was read.
    pub(super) problem: Option<Problem>,
    pub(super) unread_from: usize,
    pub(super) trace: Trace,
}

struct PendingHeredoc {
    delimiter: String,
    quoted: bool,
    strip_tabs: bool,
    slot: Rc<std::cell::OnceCell<HeredocBody>>,
    start: usize,
}

#[derive(Clone, Copy)]
struct Marks {
    pos: usize,
    live: usize,
    inert: usize,
    starts: usize,
    depth: usize,
}

/// The parser over one text.
pub(super) struct Parser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    pos: usize,
    depth: usize,
    origin: Origin,
    pending: Vec<PendingHeredoc>,
    /// `$(…)` and `<(…)` around the current position.
    substitutions: usize,
    /// The innermost of them has opened a heredoc.
    heredoc_in_substitution: bool,
    /// Bytes that were read in one way and then in another.
    retried: usize,
    trace: Trace,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, origin: Origin, depth: usize) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            pos: 0,
            depth,
            origin,
            pending: Vec::new(),
            substitutions: 0,
            heredoc_in_substitution: false,
            retried: 0,
            trace: Trace::default(),
        }
    }

    /// Parses a whole script. What stands before a problem is kept.
    pub(super) fn script(mut self) -> Script {
        let mut list = List::default();
        let mut unread_from = 0;
        let problem = loop {
            match self.next_statement() {
                Ok(Some(statement)) => {
                    list.statements.push(statement);
                    unread_from = self.pos;
                }
                Ok(None) if self.at_end() && self.pending.is_empty() => break None,
                Ok(None) if self.at_end() => {
                    let start = self
                        .pending
                        .first()
                        .map_or(self.pos, |pending| pending.start);
                    break Some(self.problem(start, "heredoc", "a heredoc is never closed"));
                }
                Ok(None) => {
                    break Some(self.problem(self.pos, "parse-error", "unexpected token"));
                }
                Err(problem) => break Some(problem),
            }
        };
        let problem = problem.or_else(|| super::census::check(self.text, &self.trace, self.origin));
        Script {
            list,
            problem,
            unread_from,
            trace: self.trace,
        }
    }

    /// Parses the whole text as one word (used after brace expansion).
    pub(super) fn lone_word(mut self) -> Parse<WordNode> {
        let word = self.word(words::Mode::Command)?;
        match word {
            Some(word) if self.at_end() => {
                self.finish()?;
                Ok(WordNode {
                    braces: None,
                    ..word
                })
            }
            _ => Err(self.problem(0, "brace-expansion", "a brace expansion was not understood")),
        }
    }

    /// Parses the whole text as the inside of double quotes (heredoc bodies, prompts).
    pub(super) fn quoted_text(mut self) -> Parse<Vec<Piece>> {
        let pieces = self.double_pieces(words::Until::End)?;
        self.finish()?;
        Ok(pieces)
    }

    fn finish(self) -> Parse<()> {
        super::census::check(self.text, &self.trace, self.origin).map_or(Ok(()), Err)
    }

    fn at_end(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    /// The byte at a distance, 0 past the end (NUL never reaches the parser).
    fn peek_at(&self, distance: usize) -> u8 {
        super::work::count();
        self.bytes.get(self.pos + distance).copied().unwrap_or(0)
    }

    fn looking_at(&self, text: &str) -> bool {
        self.bytes
            .get(self.pos..)
            .is_some_and(|rest| rest.starts_with(text.as_bytes()))
    }

    fn slice(&self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or("")
    }

    fn span(&self, start: usize, end: usize) -> Span {
        match self.origin {
            Origin::Offset(offset) => Span {
                start: start + offset,
                end: end + offset,
            },
            Origin::Fixed(span) => span,
        }
    }

    fn problem(&self, start: usize, code: &'static str, reason: impl Into<String>) -> Problem {
        let end = self.pos.max(start + 1).min(self.bytes.len().max(start));
        Problem {
            span: self.span(start, end),
            code,
            reason: reason.into(),
        }
    }

    fn enter(&mut self) -> Parse<()> {
        self.depth += 1;
        if self.depth > bounds::MAX_DEPTH {
            return Err(self.problem(self.pos, "too-deep", "nested too deeply to be read"));
        }
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
    }

    /// What to go back to when a reading is given up ([`Self::reset`]).
    fn marks(&self) -> Marks {
        Marks {
            pos: self.pos,
            live: self.trace.live.len(),
            inert: self.trace.inert.len(),
            starts: self.trace.command_starts.len(),
            depth: self.depth,
        }
    }

    /// Goes back to read a stretch in another way. Stretches within stretches would double the work
    /// with each level, so what is read again is bounded by the length of the text.
    fn retry(&mut self, marks: Marks) -> Parse<()> {
        self.retried += self.pos.saturating_sub(marks.pos);
        if self.retried > bounds::MAX_RETRIES * self.bytes.len() {
            return Err(self.problem(marks.pos, "too-much-work", "too many ways to read it"));
        }
        self.pos = marks.pos;
        self.reset(marks);
        Ok(())
    }

    fn reset(&mut self, marks: Marks) {
        self.trace.live.truncate(marks.live);
        self.trace.inert.truncate(marks.inert);
        self.trace.command_starts.truncate(marks.starts);
        self.depth = marks.depth;
    }

    fn inert(&mut self, start: usize, end: usize) {
        self.trace.inert.push((start, end));
    }

    /// Skips blanks, line continuations and a comment.
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                b' ' | b'\t' => self.pos += 1,
                b'\\' if self.peek_at(1) == b'\n' => self.pos += 2,
                b'#' => {
                    let start = self.pos;
                    while !self.at_end() && self.peek() != b'\n' {
                        self.pos += 1;
                    }
                    self.inert(start, self.pos);
                    return;
                }
                _ => return,
            }
        }
    }

    /// Skips blanks, comments and newlines, reading heredoc bodies at each newline.
    fn skip_newlines(&mut self) -> Parse<()> {
        loop {
            self.skip_blanks();
            if self.peek() != b'\n' {
                return Ok(());
            }
            self.newline()?;
        }
    }

    fn newline(&mut self) -> Parse<()> {
        self.pos += 1;
        self.read_heredocs()
    }

    fn expect(&mut self, text: &'static str) -> Parse<()> {
        if !self.looking_at(text) {
            return Err(self.problem(self.pos, "parse-error", format!("expected `{text}`")));
        }
        self.pos += text.len();
        Ok(())
    }

    fn is_name_start(byte: u8) -> bool {
        byte.is_ascii_alphabetic() || byte == b'_'
    }

    fn is_name_byte(byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || byte == b'_'
    }

    /// Length of the identifier at the current position, 0 when there is none.
    fn name_length(&self) -> usize {
        if !Self::is_name_start(self.peek()) {
            return 0;
        }
        let mut length = 1;
        while Self::is_name_byte(self.peek_at(length)) {
            length += 1;
        }
        length
    }
}
