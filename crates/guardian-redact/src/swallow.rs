//! How far a secret reaches once its start is known.
//!
//! Byte-at-a-time machines, so that a secret cut by a chunk border is swallowed exactly as far as
//! an uncut one, whatever its length.

/// What follows the bytes that are certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Nothing.
    None,
    /// Letters, digits, `_`, `-`.
    Token,
    /// As `Token`, and `.` (JWT and its relatives).
    Dotted,
    /// As `Token`, and `+ / =` (base64 in its dialects).
    Base64,
    /// An unquoted value: up to a blank, quote or a sign that separates values.
    Word,
    /// Up to this quote, not counting escaped ones, or the end of the line.
    Quoted(u8),
    /// As `Quoted`, where the quote itself is escaped (`\"…\"`: JSON within a string).
    EscapedQuoted(u8),
    /// Up to the end of the line.
    Line,
    /// The body and end line of a PEM block.
    Pem(PemState),
}

/// Where in a PEM block the machine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PemState {
    /// In the body; the number of dashes just seen.
    Body(u8),
    /// In the end line, before its closing dashes; dashes just seen.
    Footer(u8),
}

/// A running machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Swallow {
    /// Bytes that belong to the secret whatever they are.
    pub(crate) certain: usize,
    /// What may follow.
    pub(crate) tail: Tail,
    /// The previous byte was a backslash that escapes the next one.
    escaped: bool,
}

impl Swallow {
    pub(crate) fn new(certain: usize, tail: Tail) -> Self {
        Self {
            certain,
            tail,
            escaped: false,
        }
    }

    /// Feeds bytes; returns how many were swallowed and whether the machine stopped.
    pub(crate) fn run(&mut self, bytes: &[u8]) -> (usize, bool) {
        let skip = self.certain.min(bytes.len());
        self.certain -= skip;
        if self.certain > 0 {
            return (skip, false);
        }
        for (index, &byte) in bytes.iter().enumerate().skip(skip) {
            if !self.takes(byte) {
                return (index, true);
            }
        }
        (bytes.len(), false)
    }

    fn takes(&mut self, byte: u8) -> bool {
        match self.tail {
            Tail::None => false,
            Tail::Token => is_token(byte),
            Tail::Dotted => is_token(byte) || byte == b'.',
            Tail::Base64 => is_token(byte) || matches!(byte, b'+' | b'/' | b'='),
            Tail::Word => is_word(byte),
            Tail::Line => byte != b'\n' && byte != b'\r',
            Tail::Quoted(quote) => {
                if byte == b'\n' {
                    return false;
                }
                if self.escaped {
                    self.escaped = false;
                    return true;
                }
                self.escaped = byte == b'\\';
                byte != quote
            }
            Tail::EscapedQuoted(quote) => byte != b'\n' && byte != b'\\' && byte != quote,
            Tail::Pem(state) => match next_pem(state, byte) {
                Some(next) => {
                    self.tail = next;
                    true
                }
                None => false,
            },
        }
    }
}

/// `Some(Tail::None)` after the last dash of the end line.
fn next_pem(state: PemState, byte: u8) -> Option<Tail> {
    match (state, byte) {
        (PemState::Body(dashes), b'-') if dashes < 5 => Some(Tail::Pem(PemState::Body(dashes + 1))),
        (PemState::Body(5), b'E') => Some(Tail::Pem(PemState::Footer(0))),
        (PemState::Body(_), _) if is_pem_body(byte) => Some(Tail::Pem(PemState::Body(0))),
        (PemState::Footer(4), b'-') => Some(Tail::None),
        (PemState::Footer(dashes), b'-') => Some(Tail::Pem(PemState::Footer(dashes + 1))),
        (PemState::Footer(_), _) if byte == b' ' || byte.is_ascii_uppercase() => {
            Some(Tail::Pem(PemState::Footer(0)))
        }
        _ => None,
    }
}

fn is_pem_body(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'+' | b'/' | b'=' | b'\\' | b'"' | b'\'' | b',' | b':' | b'.' | b'|' | b'>'
        )
        || byte.is_ascii_whitespace()
}

pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

pub(crate) fn is_word(byte: u8) -> bool {
    !byte.is_ascii_whitespace()
        && !matches!(
            byte,
            b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b'|' | b'<' | b'>' | b')' | b'(' | b'\\'
        )
}
