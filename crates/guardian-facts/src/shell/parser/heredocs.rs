//! Heredoc bodies, line by line as bash reads them.

use super::{Origin, Parse, Parser};
use crate::shell::syntax::{HeredocBody, Piece};

/// The delimiter after quote removal.
pub(super) fn delimiter(pieces: &[Piece]) -> Option<String> {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(part) | Piece::Quoted(part) => text.push_str(part),
            Piece::Double(inner) => text.push_str(&delimiter(inner)?),
            _ => return None,
        }
    }
    Some(text)
}

impl Parser<'_> {
    /// Reads the bodies of the heredocs that were opened on the line that just ended.
    pub(super) fn read_heredocs(&mut self) -> Parse<()> {
        for pending in std::mem::take(&mut self.pending) {
            let start = self.pos;
            let mut body = String::new();
            let mut rewritten = false;
            let end = loop {
                if self.at_end() {
                    return Err(self.problem(
                        pending.start,
                        "heredoc",
                        "a heredoc is never closed",
                    ));
                }
                let line_start = self.pos;
                let (line, continued) = self.heredoc_line(pending.quoted);
                rewritten |= continued;
                let stripped = if pending.strip_tabs {
                    line.trim_start_matches('\t')
                } else {
                    &line
                };
                rewritten |= stripped.len() != line.len();
                if stripped.strip_suffix('\n').unwrap_or(stripped) == pending.delimiter {
                    break line_start;
                }
                body.push_str(stripped);
            };
            self.trace.heredocs.push((start, self.pos));
            self.inert(start, self.pos);
            let span = self.span(start, end);
            let pieces = if pending.quoted {
                vec![Piece::Quoted(body)]
            } else {
                let origin = match self.origin {
                    Origin::Offset(offset) if !rewritten => Origin::Offset(offset + start),
                    _ => Origin::Fixed(span),
                };
                self.enter()?;
                let pieces = Parser::new(&body, origin, self.depth).quoted_text()?;
                self.leave();
                pieces
            };
            // The slot was made for this heredoc alone, so it is still empty.
            let _ = pending.slot.set(HeredocBody { pieces });
        }
        Ok(())
    }

    /// One line with its newline; in an unquoted heredoc, with continuations joined.
    fn heredoc_line(&mut self, quoted: bool) -> (String, bool) {
        let mut line = String::new();
        let mut continued = false;
        loop {
            let start = self.pos;
            let rest = self.bytes.get(start..).unwrap_or(&[]);
            let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |length| length + 1);
            self.pos += length;
            let part = self.slice(start, self.pos);
            if !quoted && part.ends_with('\n') && !self.at_end() {
                let without = part.strip_suffix('\n').unwrap_or(part);
                let backslashes = without.len() - without.trim_end_matches('\\').len();
                if backslashes % 2 == 1 {
                    line.push_str(without.get(..without.len() - 1).unwrap_or(""));
                    continued = true;
                    continue;
                }
            }
            line.push_str(part);
            return (line, continued);
        }
    }
}
