//! Words: quoting, and the pieces that make up a word.

use std::rc::Rc;

use super::{Origin, Parse, Parser, Script, WordNode};
use crate::shell::syntax::Piece;

/// Where a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// An ordinary word.
    Command,
    /// The right side of an assignment: no brace expansion.
    Assigned,
    /// The right side of `=~`.
    Regex,
}

/// What ends the pieces of a double-quoted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// An unescaped `"`, which is not consumed.
    Quote,
    /// The end of the text (heredoc bodies).
    End,
}

/// Pieces under construction: neighbouring text is merged.
#[derive(Default)]
pub(super) struct Pieces(pub(super) Vec<Piece>);

impl Pieces {
    pub(super) fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }

    pub(super) fn quoted(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Quoted(last)) => last.push_str(text),
            _ => self.0.push(Piece::Quoted(text.to_owned())),
        }
    }

    fn ends_in_extglob(&self) -> bool {
        matches!(self.0.last(), Some(Piece::Text(text))
            if text.ends_with(['?', '*', '+', '@', '!']))
    }
}

impl Parser<'_> {
    /// The word at the current position; `None` when a metacharacter or the end stands there.
    pub(super) fn word(&mut self, mode: Mode) -> Parse<Option<WordNode>> {
        let start = self.pos;
        let mut pieces = Pieces::default();
        let mut groups = 0usize;
        let mut grouped = false;
        let mut braces = false;
        let mut continued = false;
        loop {
            match self.peek() {
                0 if self.at_end() => break,
                b' ' | b'\t' | b'\n' if groups == 0 || mode != Mode::Regex => break,
                b';' | b'&' if groups == 0 => break,
                b'|' if groups == 0 && mode != Mode::Regex => break,
                b'(' if mode == Mode::Regex
                    || pieces.ends_in_extglob()
                    || (groups > 0 && self.pos > start) =>
                {
                    groups += 1;
                    grouped = true;
                    pieces.text("(");
                    self.pos += 1;
                }
                b'(' => break,
                b')' if groups > 0 => {
                    groups -= 1;
                    pieces.text(")");
                    self.pos += 1;
                }
                b')' => break,
                b'<' | b'>' if self.peek_at(1) == b'(' && mode != Mode::Regex => {
                    let piece = self.process_substitution()?;
                    pieces.0.push(piece);
                }
                b'<' | b'>' if groups == 0 => break,
                b'\\' if self.peek_at(1) == b'\n' => {
                    self.pos += 2;
                    continued |= self.pos > start + 2;
                }
                b'{' => {
                    braces |= mode == Mode::Command;
                    pieces.text("{");
                    self.pos += 1;
                }
                _ => self.unquoted_piece(&mut pieces)?,
            }
        }
        if groups > 0 {
            return Err(self.problem(start, "parse-error", "a pattern group is not closed"));
        }
        if self.pos == start || (pieces.0.is_empty() && !self.made_of_quotes(start)) {
            return Ok(None);
        }
        if grouped {
            self.trace.groups.push((start, self.pos));
        }
        let source = self.slice(start, self.pos);
        let braces = if braces && source.contains('}') {
            if continued || source.contains('\n') {
                return Err(self.problem(start, "brace-expansion", "braces over several lines"));
            }
            Some(Rc::from(source))
        } else {
            None
        };
        Ok(Some(WordNode {
            pieces: pieces.0,
            span: self.span(start, self.pos),
            braces,
        }))
    }

    fn made_of_quotes(&self, start: usize) -> bool {
        self.slice(start, self.pos).contains(['"', '\''])
    }

    /// One piece outside double quotes, not a metacharacter.
    pub(super) fn unquoted_piece(&mut self, pieces: &mut Pieces) -> Parse<()> {
        match self.peek() {
            b'\\' => {
                let start = self.pos;
                self.pos += 1;
                let Some(character) = self.character() else {
                    return Err(self.problem(start, "parse-error", "a backslash ends the text"));
                };
                pieces.quoted(character);
                self.inert(start, self.pos);
            }
            b'\'' => {
                let text = self.single_quoted()?;
                pieces.quoted(&text);
            }
            b'"' => {
                self.pos += 1;
                let inner = self.double_pieces(Until::Quote)?;
                self.pos += 1;
                pieces.0.push(Piece::Double(inner));
            }
            b'$' => self.dollar(pieces, false)?,
            b'`' => {
                let piece = self.backticks(false)?;
                pieces.0.push(piece);
            }
            _ => {
                if let Some(character) = self.character() {
                    pieces.text(character);
                }
            }
        }
        Ok(())
    }

    /// Consumes one character.
    pub(super) fn character(&mut self) -> Option<&'_ str> {
        let start = self.pos;
        let character = self.text.get(start..)?.chars().next()?;
        self.pos += character.len_utf8();
        self.text.get(start..self.pos)
    }

    fn single_quoted(&mut self) -> Parse<String> {
        let start = self.pos;
        let rest = self.bytes.get(start + 1..).unwrap_or(&[]);
        let Some(length) = memchr::memchr(b'\'', rest) else {
            self.pos = self.bytes.len();
            return Err(self.problem(start, "parse-error", "a single quote is not closed"));
        };
        self.pos = start + length + 2;
        self.inert(start, self.pos);
        Ok(self.slice(start + 1, self.pos - 1).to_owned())
    }

    /// The inside of double quotes or of an unquoted heredoc.
    pub(super) fn double_pieces(&mut self, until: Until) -> Parse<Vec<Piece>> {
        self.enter()?;
        let start = self.pos;
        let mut pieces = Pieces::default();
        loop {
            match self.peek() {
                0 if self.at_end() => {
                    if until == Until::Quote {
                        return Err(self.problem(start, "parse-error", "a quote is not closed"));
                    }
                    break;
                }
                b'"' if until == Until::Quote => break,
                b'$' => self.dollar(&mut pieces, true)?,
                b'`' => {
                    let piece = self.backticks(true)?;
                    pieces.0.push(piece);
                }
                b'\\' => self.escape_in_double(&mut pieces, until == Until::Quote),
                b'<' | b'>' if self.peek_at(1) == b'(' => {
                    self.inert(self.pos, self.pos + 2);
                    let character = self.slice(self.pos, self.pos + 1).to_owned();
                    pieces.quoted(&character);
                    self.pos += 1;
                }
                _ => {
                    let from = self.pos;
                    while !matches!(self.peek(), b'"' | b'$' | b'`' | b'\\' | b'<' | b'>')
                        && !self.at_end()
                    {
                        self.pos += 1;
                    }
                    if self.pos == from {
                        self.pos += 1;
                    }
                    let text = self.slice(from, self.pos).to_owned();
                    pieces.quoted(&text);
                }
            }
        }
        self.leave();
        Ok(pieces.0)
    }

    pub(super) fn escape_in_double(&mut self, pieces: &mut Pieces, quote_escapes: bool) {
        let start = self.pos;
        match self.peek_at(1) {
            b'\n' => self.pos += 2,
            b'$' | b'`' | b'\\' => {
                self.pos += 2;
                let text = self.slice(start + 1, start + 2).to_owned();
                pieces.quoted(&text);
                self.inert(start, self.pos);
            }
            b'"' if quote_escapes => {
                self.pos += 2;
                pieces.quoted("\"");
                self.inert(start, self.pos);
            }
            _ => {
                self.pos += 1;
                pieces.quoted("\\");
            }
        }
    }

    /// What a `$` starts.
    pub(super) fn dollar(&mut self, pieces: &mut Pieces, in_double: bool) -> Parse<()> {
        let start = self.pos;
        match self.peek_at(1) {
            b'(' if self.peek_at(2) == b'(' => {
                let piece = self.dollar_double_parentheses()?;
                pieces.0.push(piece);
            }
            b'(' => {
                let piece = self.command_substitution()?;
                pieces.0.push(piece);
            }
            b'{' => {
                let piece = self.braced_parameter(in_double)?;
                pieces.0.push(piece);
            }
            b'[' => {
                let piece = self.dollar_bracket()?;
                pieces.0.push(piece);
            }
            b'\'' if !in_double => {
                self.pos += 1;
                let text = self.ansi_quoted(start)?;
                pieces.quoted(&text);
            }
            b'"' if !in_double => {
                self.pos += 2;
                let inner = self.double_pieces(Until::Quote)?;
                self.pos += 1;
                pieces.0.push(Piece::Double(inner));
            }
            b'\\' if self.peek_at(2) == b'\n' => {
                return Err(self.problem(start, "line-continuation", "a dollar is continued"));
            }
            _ => match self.plain_parameter()? {
                Some(piece) => pieces.0.push(piece),
                None => {
                    self.pos += 1;
                    if in_double {
                        pieces.quoted("$")
                    } else {
                        pieces.text("$")
                    }
                }
            },
        }
        Ok(())
    }

    pub(super) fn command_substitution(&mut self) -> Parse<Piece> {
        let start = self.pos;
        self.trace.live.push(start);
        self.pos += 2;
        if self.looking_at("\\\n(") {
            return Err(self.problem(start, "line-continuation", "a continued parenthesis"));
        }
        let list = self.nested_list(start)?;
        Ok(Piece::Command {
            list: Rc::new(list),
            written: Rc::from(self.slice(start, self.pos)),
            span: self.span(start, self.pos),
        })
    }

    fn process_substitution(&mut self) -> Parse<Piece> {
        let start = self.pos;
        self.trace.live.push(start);
        let output = self.peek() == b'>';
        self.pos += 2;
        let list = self.nested_list(start)?;
        Ok(Piece::Process {
            list: Rc::new(list),
            written: Rc::from(self.slice(start, self.pos)),
            output,
        })
    }

    /// A list up to `)`, with heredocs of its own.
    fn nested_list(&mut self, start: usize) -> Parse<crate::shell::syntax::List> {
        let outer = std::mem::take(&mut self.pending);
        let lines = self.pos;
        let outer_heredoc = std::mem::take(&mut self.heredoc_in_substitution);
        self.substitutions += 1;
        let list = self.list();
        self.substitutions -= 1;
        self.heredoc_in_substitution = outer_heredoc;
        let list = list?;
        if !self.pending.is_empty() {
            return Err(self.problem(start, "heredoc", "a heredoc starts on the closing line"));
        }
        if !outer.is_empty() && self.slice(lines, self.pos).contains('\n') {
            return Err(self.problem(start, "heredoc", "a substitution spans a heredoc's line"));
        }
        self.pending = outer;
        self.expect(")")?;
        Ok(list)
    }

    fn backticks(&mut self, in_double: bool) -> Parse<Piece> {
        let start = self.pos;
        self.pos += 1;
        let mut inner = String::new();
        let mut rewritten = false;
        let mut copied = self.pos;
        loop {
            match self.peek() {
                0 if self.at_end() => {
                    return Err(self.problem(start, "parse-error", "a backtick is not closed"));
                }
                b'`' => break,
                b'\\' => {
                    match self.peek_at(1) {
                        b'$' | b'`' | b'\\' => {
                            inner.push_str(self.slice(copied, self.pos));
                            copied = self.pos + 1;
                            rewritten = true;
                        }
                        b'"' if in_double => {
                            return Err(self.problem(
                                start,
                                "nested-quotes",
                                "escaped quotes in backticks in quotes",
                            ));
                        }
                        _ => {}
                    }
                    self.pos += 2;
                }
                b'\n' if !self.pending.is_empty() => {
                    return Err(self.problem(start, "heredoc", "a substitution spans a heredoc"));
                }
                _ => self.pos += 1,
            }
        }
        inner.push_str(self.slice(copied, self.pos));
        self.pos += 1;
        let span = self.span(start, self.pos);
        self.trace.live.push(start);
        self.inert(start + 1, self.pos);
        let origin = match self.origin {
            Origin::Offset(offset) if !rewritten => Origin::Offset(offset + start + 1),
            _ => Origin::Fixed(span),
        };
        self.enter()?;
        let script = Parser::new(&inner, origin, self.depth).script();
        self.leave();
        let Script { list, problem, .. } = script;
        match problem {
            Some(problem) => Err(problem),
            None => Ok(Piece::Command {
                list: Rc::new(list),
                written: Rc::from(self.slice(start, self.pos)),
                span,
            }),
        }
    }

    /// `$'…'`, standing at the quote.
    fn ansi_quoted(&mut self, start: usize) -> Parse<String> {
        self.pos += 1;
        let mut bytes = Vec::new();
        loop {
            match self.peek() {
                0 if self.at_end() => {
                    return Err(self.problem(start, "parse-error", "a quote is not closed"));
                }
                b'\'' => break,
                b'\\' => {
                    self.pos += 1;
                    if !self.ansi_escape(&mut bytes) {
                        return Err(self.problem(start, "ansi-quote", "an unusual escape"));
                    }
                }
                byte => {
                    bytes.push(byte);
                    self.pos += 1;
                }
            }
        }
        self.pos += 1;
        self.inert(start, self.pos);
        String::from_utf8(bytes)
            .map_err(|_| self.problem(start, "ansi-quote", "escaped bytes that are not text"))
    }

    /// One escape of `$'…'`, standing behind the backslash. False for what is not resolved.
    fn ansi_escape(&mut self, bytes: &mut Vec<u8>) -> bool {
        let byte = self.peek();
        self.pos += 1;
        let simple = match byte {
            b'a' => 7,
            b'b' => 8,
            b'e' | b'E' => 27,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'\\' | b'\'' | b'"' | b'?' => byte,
            b'0'..=b'7' => {
                self.pos -= 1;
                return self.code(bytes, 8, 3, false);
            }
            b'x' => return self.code(bytes, 16, 2, false),
            b'u' => return self.code(bytes, 16, 4, true),
            b'U' => return self.code(bytes, 16, 8, true),
            _ => return false,
        };
        bytes.push(simple);
        true
    }

    fn code(&mut self, bytes: &mut Vec<u8>, radix: u32, most: usize, unicode: bool) -> bool {
        let mut value = 0u32;
        let mut digits = 0;
        while digits < most
            && let Some(digit) = char::from(self.peek()).to_digit(radix)
        {
            value = value.wrapping_mul(radix).wrapping_add(digit);
            self.pos += 1;
            digits += 1;
        }
        if digits == 0 || value == 0 {
            return false;
        }
        if unicode {
            let Some(character) = char::from_u32(value) else {
                return false;
            };
            bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            let Ok(byte) = u8::try_from(value) else {
                return false;
            };
            bytes.push(byte);
        }
        true
    }
}
