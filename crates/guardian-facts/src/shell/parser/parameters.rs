//! `$x` and `${…}`.

use std::rc::Rc;

use super::{Parse, Parser, words::Pieces, words::Until};
use crate::shell::syntax::{Operation, Parameter, Piece};

impl Parser<'_> {
    /// `$name`, `$1`, `$?`; `None` when the dollar is literal.
    pub(super) fn plain_parameter(&mut self) -> Parse<Option<Piece>> {
        let start = self.pos;
        self.pos += 1;
        let length = match self.peek() {
            b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => 1,
            _ => self.name_length(),
        };
        if length == 0 {
            self.pos = start;
            return Ok(None);
        }
        self.pos += length;
        if self.looking_at("\\\n") && Self::is_name_byte(self.peek_at(2)) {
            return Err(self.problem(start, "line-continuation", "a name is continued"));
        }
        let name = self.slice(start + 1, self.pos).to_owned();
        Ok(Some(self.parameter(start, name, None, Operation::Plain)))
    }

    fn parameter(
        &self,
        start: usize,
        name: String,
        index: Option<Vec<Piece>>,
        operation: Operation,
    ) -> Piece {
        Piece::Parameter(Box::new(Parameter {
            name,
            index,
            operation,
            written: Rc::from(self.slice(start, self.pos)),
            span: self.span(start, self.pos),
        }))
    }

    /// `${…}`, standing at the dollar.
    pub(super) fn braced_parameter(&mut self, in_double: bool) -> Parse<Piece> {
        self.enter()?;
        let start = self.pos;
        self.trace.live.push(start);
        self.pos += 2;
        let mut prefix = 0;
        match self.peek() {
            b'#' if self.peek_at(1) == b'}' => {}
            b'#' if Self::is_name_byte(self.peek_at(1))
                || matches!(self.peek_at(1), b'@' | b'*') =>
            {
                prefix = b'#';
                self.pos += 1;
            }
            b'!' if self.peek_at(1) == b'}' => {}
            b'!' if Self::is_name_byte(self.peek_at(1)) => {
                prefix = b'!';
                self.pos += 1;
            }
            b'#' | b'!' => return Err(self.problem(start, "parameter", "an unusual expansion")),
            _ => {}
        }
        let name_start = self.pos;
        let length = match self.peek() {
            b'0'..=b'9' => {
                let mut length = 1;
                while self.peek_at(length).is_ascii_digit() {
                    length += 1;
                }
                length
            }
            b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => 1,
            _ => self.name_length(),
        };
        if length == 0 {
            return Err(self.problem(start, "parameter", "an unusual expansion"));
        }
        self.pos += length;
        let name = self.slice(name_start, self.pos).to_owned();
        let mut index = None;
        if self.peek() == b'[' {
            self.pos += 1;
            index = Some(self.subscript()?);
        }
        let operation = self.operation(start, prefix, index.is_some(), in_double)?;
        self.expect("}")?;
        self.leave();
        Ok(self.parameter(start, name, index, operation))
    }

    fn operation(
        &mut self,
        start: usize,
        prefix: u8,
        indexed: bool,
        in_double: bool,
    ) -> Parse<Operation> {
        if prefix == b'#' {
            return Ok(Operation::Length);
        }
        if prefix == b'!' {
            if matches!(self.peek(), b'*' | b'@') && self.peek_at(1) == b'}' {
                self.pos += 1;
                return Ok(Operation::Names);
            }
            // Whatever follows: the value of one name is the name of the next.
            if self.peek() == b'}' {
                return Ok(if indexed {
                    Operation::Keys
                } else {
                    Operation::Indirect
                });
            }
            return Err(self.problem(start, "indirect", "an indirect expansion with an operator"));
        }
        let colon = self.peek() == b':' && matches!(self.peek_at(1), b'-' | b'=' | b'?' | b'+');
        let operator = if colon { self.peek_at(1) } else { self.peek() };
        match operator {
            b'}' => Ok(Operation::Plain),
            b'-' | b'=' | b'?' | b'+' => {
                self.pos += if colon { 2 } else { 1 };
                let word = self.operand(in_double, true, b'}')?;
                Ok(Operation::Alternative {
                    colon,
                    kind: char::from(operator),
                    word,
                })
            }
            b'#' | b'%' => {
                let double = self.peek_at(1) == operator;
                self.pos += if double { 2 } else { 1 };
                let operator = match (operator, double) {
                    (b'#', false) => "#",
                    (b'#', true) => "##",
                    (_, false) => "%",
                    (_, true) => "%%",
                };
                Ok(Operation::Remove {
                    operator,
                    pattern: self.operand(in_double, false, b'}')?,
                })
            }
            b'/' => {
                self.pos += 1;
                if self.peek() == b'/' {
                    self.pos += 1;
                }
                let mut patterns = vec![self.operand(in_double, false, b'/')?];
                if self.peek() == b'/' {
                    self.pos += 1;
                    patterns.push(self.operand(in_double, false, b'}')?);
                }
                Ok(Operation::Replace { patterns })
            }
            b'^' | b',' => {
                self.pos += if self.peek_at(1) == operator { 2 } else { 1 };
                Ok(Operation::Replace {
                    patterns: vec![self.operand(in_double, false, b'}')?],
                })
            }
            b':' => {
                self.pos += 1;
                let pieces = self.arithmetic_until(b'}')?;
                Ok(Operation::Substring {
                    parts: vec![pieces],
                })
            }
            b'@' if self.peek_at(1).is_ascii_alphabetic() && self.peek_at(2) == b'}' => {
                let letter = char::from(self.peek_at(1));
                self.pos += 2;
                Ok(Operation::Transform(letter))
            }
            _ => Err(self.problem(start, "parameter", "an unusual expansion")),
        }
    }

    /// The word behind an operator, up to an unquoted `}` (or `until`, whichever comes first).
    fn operand(&mut self, in_double: bool, plain: bool, until: u8) -> Parse<Vec<Piece>> {
        self.enter()?;
        let start = self.pos;
        let mut pieces = Pieces::default();
        loop {
            match self.peek() {
                0 if self.at_end() => {
                    return Err(self.problem(start, "parse-error", "an expansion is not closed"));
                }
                b'}' => break,
                byte if byte == until && self.pos > start => break,
                b'\n' if !self.pending.is_empty() => {
                    return Err(self.problem(start, "heredoc", "an expansion spans a heredoc"));
                }
                b'\'' if in_double && plain => self.literal_single_quotes(&mut pieces)?,
                b'$' if in_double && plain && matches!(self.peek_at(1), b'\'' | b'"') => {
                    return Err(self.problem(start, "nested-quotes", "quotes behind a dollar"));
                }
                b'$' => self.dollar(&mut pieces, in_double && plain)?,
                b'"' => {
                    self.pos += 1;
                    let inner = self.double_pieces(Until::Quote)?;
                    self.pos += 1;
                    pieces.0.push(Piece::Double(inner));
                }
                b'\\' if self.peek_at(1) == b'\n' => self.pos += 2,
                b'\\' if in_double && plain => {
                    if self.peek_at(1) == b'}' {
                        self.pos += 2;
                        pieces.quoted("}");
                    } else if self.peek_at(1) == b'\'' {
                        return Err(self.problem(start, "nested-quotes", "an escaped quote"));
                    } else {
                        self.escape_in_double(&mut pieces, true);
                    }
                }
                b'<' | b'>' if self.peek_at(1) == b'(' => {
                    return Err(self.problem(
                        start,
                        "process-substitution",
                        "a process substitution inside an expansion",
                    ));
                }
                _ => self.unquoted_piece(&mut pieces)?,
            }
        }
        self.leave();
        Ok(pieces.0)
    }

    /// `'…'` inside `"${x:-…}"`: the quotes are literal, but bash pairs them.
    fn literal_single_quotes(&mut self, pieces: &mut Pieces) -> Parse<()> {
        let start = self.pos;
        let rest = self.bytes.get(start + 1..).unwrap_or(&[]);
        let harmless = |byte: &u8| byte.is_ascii_alphanumeric() || b" _.,/:=+-@%".contains(byte);
        match memchr::memchr(b'\'', rest) {
            Some(length) if rest.iter().take(length).all(harmless) => {
                self.pos = start + length + 2;
                let text = self.slice(start, self.pos).to_owned();
                pieces.quoted(&text);
                Ok(())
            }
            _ => Err(self.problem(
                start,
                "nested-quotes",
                "single quotes in a quoted expansion",
            )),
        }
    }
}
