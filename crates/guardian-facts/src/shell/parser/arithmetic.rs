//! Arithmetic texts and subscripts. Only the expansions inside are parsed here; what the
//! resulting expression evaluates is looked at after expansion.

use std::rc::Rc;

use super::{Parse, Parser, words::Pieces, words::Until};
use crate::shell::syntax::Piece;

impl Parser<'_> {
    /// `$((…))`. Where the parentheses do not close together it is `$( (…) …)`, of which bash then
    /// finds the end in its own way (`"$((( 0 )) || f "$x")"` ends elsewhere in quotes), so that is
    /// not read.
    pub(super) fn dollar_double_parentheses(&mut self) -> Parse<Piece> {
        let start = self.pos;
        self.trace.live.push(start);
        self.pos += 3;
        match self.arithmetic_to_double_close()? {
            Some(pieces) => Ok(Piece::Arithmetic {
                pieces,
                written: Rc::from(self.slice(start, self.pos)),
                span: self.span(start, self.pos),
            }),
            None => Err(self.problem(
                start,
                "ambiguous-arithmetic",
                "`$((` that is no arithmetic; `$( (` is read",
            )),
        }
    }

    /// `$[…]`.
    pub(super) fn dollar_bracket(&mut self) -> Parse<Piece> {
        let start = self.pos;
        self.trace.live.push(start);
        self.pos += 2;
        let pieces = self.subscript()?;
        Ok(Piece::Arithmetic {
            pieces,
            written: Rc::from(self.slice(start, self.pos)),
            span: self.span(start, self.pos),
        })
    }

    /// Pieces up to `))`, which is consumed. `None` when the first unbalanced `)` stands alone:
    /// bash then reads nested subshells.
    pub(super) fn arithmetic_to_double_close(&mut self) -> Parse<Option<Vec<Piece>>> {
        let pieces = self.arithmetic_until(b')')?;
        if !self.looking_at("))") {
            return Ok(None);
        }
        self.pos += 2;
        Ok(Some(pieces))
    }

    /// The three expressions of `for ((…; …; …))`, standing behind the opening.
    pub(super) fn arithmetic_three(&mut self) -> Parse<[Vec<Piece>; 3]> {
        let first = self.arithmetic_until(b';')?;
        self.expect(";")?;
        let second = self.arithmetic_until(b';')?;
        self.expect(";")?;
        let third = self.arithmetic_until(b')')?;
        self.expect("))")?;
        Ok([first, second, third])
    }

    /// Pieces up to the closing `]` of a subscript, which is consumed.
    pub(super) fn subscript(&mut self) -> Parse<Vec<Piece>> {
        let pieces = self.arithmetic_until(b']')?;
        self.expect("]")?;
        Ok(pieces)
    }

    /// Pieces up to an unbalanced `close`, which is not consumed.
    pub(super) fn arithmetic_until(&mut self, close: u8) -> Parse<Vec<Piece>> {
        self.enter()?;
        let start = self.pos;
        let mut pieces = Pieces::default();
        let mut open: Vec<u8> = Vec::new();
        loop {
            let byte = self.peek();
            match byte {
                0 if self.at_end() => {
                    return Err(self.problem(start, "parse-error", "arithmetic is not closed"));
                }
                _ if byte == close && open.is_empty() => break,
                b'(' | b'[' => open.push(if byte == b'(' { b')' } else { b']' }),
                b')' | b']' if open.pop() != Some(byte) => {
                    return Err(self.problem(start, "arithmetic", "unbalanced brackets"));
                }
                b'$' => {
                    if matches!(self.peek_at(1), b'\'' | b'"') {
                        return Err(self.problem(start, "arithmetic", "quotes in arithmetic"));
                    }
                    self.dollar(&mut pieces, true)?;
                    continue;
                }
                b'`' => {
                    let mut inner = Pieces::default();
                    self.unquoted_piece(&mut inner)?;
                    pieces.0.append(&mut inner.0);
                    continue;
                }
                b'"' => {
                    self.pos += 1;
                    let inner = self.double_pieces(Until::Quote)?;
                    self.pos += 1;
                    pieces.0.push(Piece::Double(inner));
                    continue;
                }
                b'\'' if close == b']' => {
                    self.unquoted_piece(&mut pieces)?;
                    continue;
                }
                b'\\' if self.peek_at(1) == b'\n' => {
                    self.pos += 2;
                    continue;
                }
                b'\'' | b'\\' | b'{' | b'}' => {
                    return Err(self.problem(start, "arithmetic", "quotes in arithmetic"));
                }
                b'\n' if !self.pending.is_empty() => {
                    return Err(self.problem(start, "heredoc", "arithmetic spans a heredoc"));
                }
                b'<' | b'>' if self.peek_at(1) == b'(' => self.inert(self.pos, self.pos + 2),
                _ => {}
            }
            if let Some(character) = self.character() {
                let character = character.to_owned();
                pieces.text(&character);
            }
        }
        self.leave();
        Ok(pieces.0)
    }
}
