//! Redirects.

use std::cell::OnceCell;
use std::rc::Rc;

use super::{Parse, Parser, PendingHeredoc, words::Mode};
use crate::RedirectKind;
use crate::shell::bounds;
use crate::shell::syntax::{RedirectNode, RedirectTarget};

/// Operators, longest first, with their kind and default descriptor.
const OPERATORS: [(&str, RedirectKind, u32); 12] = [
    ("&>>", RedirectKind::Append, 1),
    ("&>", RedirectKind::Truncate, 1),
    ("<<<", RedirectKind::HereString, 0),
    ("<<-", RedirectKind::Heredoc, 0),
    ("<<", RedirectKind::Heredoc, 0),
    ("<&", RedirectKind::Duplicate, 0),
    ("<>", RedirectKind::ReadWrite, 0),
    ("<", RedirectKind::Read, 0),
    (">>", RedirectKind::Append, 1),
    (">&", RedirectKind::Duplicate, 1),
    (">|", RedirectKind::Truncate, 1),
    (">", RedirectKind::Truncate, 1),
];

/// Bytes that are looked at for the end of a subscript.
const LONGEST_SUBSCRIPT: usize = 256;

impl Parser<'_> {
    /// From `length` on stands the rest of `{name[subscript]}>`. A longer look than a subscript takes
    /// is none: the text counts as one.
    fn is_element_redirect(&self, length: usize) -> bool {
        let mut at = length;
        loop {
            match self.peek_at(at) {
                0 | b'\n' => return false,
                _ if at > length + LONGEST_SUBSCRIPT => return true,
                b']' if self.peek_at(at + 1) == b'}'
                    && matches!(self.peek_at(at + 2), b'<' | b'>') =>
                {
                    return true;
                }
                _ => at += 1,
            }
        }
    }

    /// The redirect at the current position, if one starts here.
    pub(super) fn redirect(&mut self) -> Parse<Option<RedirectNode>> {
        let start = self.pos;
        let mut variable = None;
        let mut descriptor = None;
        if self.peek().is_ascii_digit() {
            let mut length = 1;
            while self.peek_at(length).is_ascii_digit() {
                length += 1;
            }
            if !matches!(self.peek_at(length), b'<' | b'>') || length > 4 {
                return Ok(None);
            }
            descriptor = self.slice(start, start + length).parse::<u32>().ok();
            self.pos += length;
        } else if self.peek() == b'{' && Self::is_name_start(self.peek_at(1)) {
            let mut length = 2;
            while Self::is_name_byte(self.peek_at(length)) {
                length += 1;
            }
            if self.peek_at(length) == b'[' && self.is_element_redirect(length) {
                return Err(self.problem(
                    start,
                    "subscript",
                    "the subscript of a redirect's variable is evaluated",
                ));
            }
            if self.peek_at(length) == b'}' && matches!(self.peek_at(length + 1), b'<' | b'>') {
                variable = Some(self.slice(start + 1, start + length).to_owned());
                self.pos += length + 1;
            }
        }
        let plain = self.pos == start;
        if matches!(self.peek(), b'<' | b'>') && self.peek_at(1) == b'(' {
            // A process substitution; with a descriptor in front it would be a plain word.
            if plain {
                return Ok(None);
            }
            return Err(self.problem(start, "parse-error", "digits before a substitution"));
        }
        let Some((operator, kind, default)) = OPERATORS.iter().find(|(operator, ..)| {
            self.looking_at(operator) && (plain || !operator.starts_with('&'))
        }) else {
            self.pos = start;
            return Ok(None);
        };
        self.pos += operator.len();
        if self.looking_at("\\\n") {
            return Err(self.problem(start, "line-continuation", "a redirect is continued"));
        }
        let target = match kind {
            RedirectKind::Heredoc => self.heredoc_opener(start, *operator == "<<-")?,
            _ => {
                self.skip_plain_blanks();
                let Some(word) = self.word(Mode::Command)? else {
                    return Err(self.problem(start, "parse-error", "a redirect without a target"));
                };
                RedirectTarget::Word(word)
            }
        };
        let mut kind = *kind;
        let either = *operator == ">&";
        if either
            && let RedirectTarget::Word(word) = &target
            && !word.plain().is_some_and(is_descriptor)
        {
            kind = RedirectKind::Truncate;
        }
        let feeds_stdin = descriptor.unwrap_or(*default) == 0 && variable.is_none();
        let span = self.span(start, self.pos);
        Ok(Some(RedirectNode {
            kind,
            either,
            feeds_stdin,
            variable,
            target,
            span,
        }))
    }

    fn heredoc_opener(&mut self, start: usize, strip_tabs: bool) -> Parse<RedirectTarget> {
        self.skip_plain_blanks();
        let from = self.pos;
        let Some(word) = self.word(Mode::Assigned)? else {
            return Err(self.problem(start, "parse-error", "a heredoc without a delimiter"));
        };
        let raw = self.slice(from, self.pos);
        if raw.contains(['$', '`', '\n', '<', '>', '(']) {
            return Err(self.problem(start, "heredoc", "an unusual heredoc delimiter"));
        }
        let quoted = raw.contains(['\'', '"', '\\']);
        let Some(delimiter) = super::heredocs::delimiter(&word.pieces) else {
            return Err(self.problem(start, "heredoc", "an unusual heredoc delimiter"));
        };
        if self.pending.len() >= bounds::MAX_HEREDOCS {
            return Err(self.problem(start, "too-many-heredocs", "too many heredocs on one line"));
        }
        let slot = Rc::new(OnceCell::new());
        self.trace.heredocs.push((start, self.pos));
        self.heredoc_in_substitution = self.substitutions > 0;
        self.pending.push(PendingHeredoc {
            delimiter,
            quoted,
            strip_tabs,
            slot: Rc::clone(&slot),
            start,
        });
        Ok(RedirectTarget::Heredoc(slot))
    }
}

/// `2`, `2-`, `-`.
pub(super) fn is_descriptor(text: &str) -> bool {
    let digits = text.strip_suffix('-').unwrap_or(text);
    !text.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
