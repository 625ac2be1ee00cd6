//! Values of secret-looking keys in running text: `KEY=value`, `--token value`,
//! `"password": "…"`, `X-Api-Key: …`, `Authorization: Bearer …`, `<password>…</password>`.
//!
//! Source code is full of such names with no secret behind them (`token: String`,
//! `password=password`), so an unquoted value counts only where its surroundings say that it is
//! one, or where it looks made by chance.

use crate::keys::{LONGEST_KEY, is_secret_key};
use crate::shapes::{AHEAD, is_placeholder};
use crate::swallow::{Swallow, Tail, is_word};

/// Checks the key around the anchor at `start..end`. Returns where its value begins and how far
/// it is certain to reach. Looks at nothing outside `start - 128 .. start + AHEAD`.
pub(crate) fn check(hay: &[u8], start: usize, end: usize) -> Option<(usize, Swallow)> {
    let window_end = (start + AHEAD).min(hay.len());
    let hay = &hay[..window_end];
    let key_start = expand_left(hay, start)?;
    let key_end = expand_right(hay, end)?;
    let key = std::str::from_utf8(&hay[key_start..key_end])
        .ok()?
        .trim_start_matches('-');
    let surroundings = Surroundings::before(hay, key_start);
    let lower = key.to_ascii_lowercase();

    let mut at = key_end;
    let quoted_key = match (hay.get(at), hay.get(at + 1)) {
        (Some(b'"' | b'\'' | b'`'), _) => {
            at += 1;
            true
        }
        (Some(b'\\'), Some(b'"')) => {
            at += 2;
            true
        }
        (Some(b']'), Some(b'=' | b' ')) => {
            at += 1;
            false
        }
        _ => false,
    };
    let after_blanks = skip_blanks(hay, at);
    let separator = match hay.get(after_blanks)? {
        b'=' if hay.get(after_blanks + 1) == Some(&b'>') => (Separator::Colon, 2),
        b'=' if matches!(hay.get(after_blanks + 1), Some(b'=' | b'~')) => return None,
        b'=' => (Separator::Equals, 1),
        b':' if hay.get(after_blanks + 1) == Some(&b'=') => (Separator::Equals, 2),
        b':' if hay.get(after_blanks + 1) == Some(&b':') => return None,
        b':' => (Separator::Colon, 1),
        b'>' if surroundings == Surroundings::Tag => (Separator::Tag, 1),
        _ if surroundings == Surroundings::Flag && after_blanks > at => (Separator::Blank, 0),
        _ => return None,
    };
    if !is_secret_key(key) {
        return None;
    }
    let tight = after_blanks == at;
    let (separator, width) = separator;
    let value = skip_blanks(hay, after_blanks + width);
    let tight = tight && value == after_blanks + width;

    if separator == Separator::Colon
        && matches!(lower.as_str(), "authorization" | "proxy-authorization")
    {
        return authorization(hay, value);
    }
    if separator == Separator::Colon
        && matches!(lower.as_str(), "cookie" | "set-cookie")
        && !quoted_key
    {
        // `name=value`, as no type or call looks.
        let pair = &hay[value..word_end(hay, value)];
        let named = pair
            .iter()
            .position(|&byte| byte == b'=')
            .is_some_and(|at| at > 0 && pair.get(at + 1) != Some(&b'='));
        return named.then(|| (value, Swallow::new(1, Tail::Line)));
    }
    if separator == Separator::Tag {
        // Closed on the same line, or it is no element but a type parameter.
        let length = hay[value..]
            .iter()
            .position(|&byte| matches!(byte, b'<' | b'\n'))?;
        let closed = hay[value + length..].starts_with(b"</");
        return if closed {
            certain(hay, value, value + length, Tail::None)
        } else {
            None
        };
    }
    let upper_case = key.bytes().any(|byte| byte.is_ascii_uppercase())
        && !key.bytes().any(|byte| byte.is_ascii_lowercase());
    let wording = if upper_case && tight {
        Wording::Anything
    } else {
        Wording::NoSentence
    };
    if let Some(found) = quoted(hay, value, key, wording) {
        return found;
    }
    if separator == Separator::Colon
        && let Some(literal) = typed_literal(hay, value)
    {
        return quoted(hay, literal, key, wording).flatten();
    }

    let end = word_end(hay, value);
    let word = &hay[value..end];
    if word.is_empty() || matches!(hay.get(end), Some(b'(' | b'<')) {
        return None;
    }
    let ends_line = {
        let rest = skip_blanks(hay, end);
        hay.get(rest)
            .is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'#'))
    };
    let is_value = match (separator, surroundings) {
        (Separator::Blank, _) => word[0] != b'-' && !is_type_name(word),
        (Separator::Equals, Surroundings::Flag | Surroundings::Query) if tight => {
            !is_expression(word)
        }
        (Separator::Equals, _) if tight && upper_case => !is_expression(word),
        (Separator::Equals, _) if tight => looks_random(word),
        (Separator::Equals, Surroundings::LineStart) => ends_line && looks_random(word),
        // `echo aws_secret_access_key = …`: nothing but its look tells it from code.
        (Separator::Equals, _) => ends_line && word.len() >= 20 && looks_random(word),
        (Separator::Colon, Surroundings::LineStart) if !tight => {
            ends_line && !is_type_name(word) && !is_expression(word)
        }
        (Separator::Colon, Surroundings::Quote) => {
            lower.contains('-') && !is_type_name(word) || looks_random(word)
        }
        (Separator::Colon, _) => looks_random(word) && (lower.contains('-') || ends_line),
        (Separator::Tag, _) => false,
    };
    if is_value {
        certain(hay, value, end, Tail::Word)
    } else {
        None
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Equals,
    Colon,
    Blank,
    Tag,
}

/// What a quoted value may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wording {
    /// An environment assignment: whatever it is.
    Anything,
    /// Source code, where labels and messages have such names too.
    NoSentence,
}

/// What stands in front of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surroundings {
    /// `--key`.
    Flag,
    /// `?key` or `&key`.
    Query,
    /// `<key`.
    Tag,
    /// Nothing but blanks, `- ` or `export ` since the line began.
    LineStart,
    /// A quote.
    Quote,
    Other,
}

impl Surroundings {
    fn before(hay: &[u8], key_start: usize) -> Self {
        if hay[key_start..].starts_with(b"--") {
            return Self::Flag;
        }
        let Some(previous) = key_start.checked_sub(1) else {
            return Self::LineStart;
        };
        match hay[previous] {
            b'?' | b'&' => return Self::Query,
            b'<' => return Self::Tag,
            b'"' | b'\'' | b'`' => return Self::Quote,
            _ => {}
        }
        let from = key_start.saturating_sub(40);
        let line = hay[from..key_start].iter().rposition(|&byte| byte == b'\n');
        let lead = match line {
            Some(line) => &hay[from + line + 1..key_start],
            None if from == 0 => &hay[..key_start],
            None => return Self::Other,
        };
        let lead = lead.trim_ascii();
        if lead.is_empty() || matches!(lead, b"-" | b"export" | b"set" | b"+" | b"<" | b">") {
            Self::LineStart
        } else {
            Self::Other
        }
    }
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn expand_left(hay: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    while at > 0 && is_key_byte(hay[at - 1]) {
        at -= 1;
        if start - at > LONGEST_KEY {
            return None;
        }
    }
    Some(at)
}

fn expand_right(hay: &[u8], end: usize) -> Option<usize> {
    let mut at = end;
    while at < hay.len() && is_key_byte(hay[at]) {
        at += 1;
        if at - end > LONGEST_KEY {
            return None;
        }
    }
    Some(at)
}

fn skip_blanks(hay: &[u8], mut at: usize) -> usize {
    let limit = (at + 24).min(hay.len());
    while at < limit && matches!(hay[at], b' ' | b'\t') {
        at += 1;
    }
    at
}

/// The value of an `Authorization` header: the scheme stays, the rest goes.
fn authorization(hay: &[u8], mut value: usize) -> Option<(usize, Swallow)> {
    let mut quote = None;
    match (hay.get(value)?, hay.get(value + 1)) {
        (byte @ (b'"' | b'\'' | b'`'), _) => {
            quote = Some(Tail::Quoted(*byte));
            value += 1;
        }
        (b'\\', Some(b'"')) => {
            quote = Some(Tail::EscapedQuoted(b'"'));
            value += 2;
        }
        _ => {}
    }
    let scheme = hay[value..]
        .iter()
        .take(24)
        .position(|&byte| !byte.is_ascii_alphanumeric() && byte != b'-')?;
    let has_scheme = scheme > 0 && hay.get(value + scheme) == Some(&b' ');
    let secret = if has_scheme {
        skip_blanks(hay, value + scheme)
    } else {
        value
    };
    let first = *hay.get(secret)?;
    if !is_word(first)
        || is_placeholder(&hay[secret..word_end(hay, secret)])
        || (!has_scheme && quote.is_none() && is_code_word(hay, secret))
    {
        return None;
    }
    Some((secret, Swallow::new(1, quote.unwrap_or(Tail::Word))))
}

fn word_end(hay: &[u8], from: usize) -> usize {
    from + hay[from..]
        .iter()
        .position(|&byte| !is_word(byte))
        .unwrap_or(hay.len() - from)
}

/// `Some(None)`: there is a quoted literal, and it is no secret.
#[expect(
    clippy::option_option,
    reason = "absent literal and harmless literal are two answers"
)]
fn quoted(
    hay: &[u8],
    value: usize,
    key: &str,
    wording: Wording,
) -> Option<Option<(usize, Swallow)>> {
    let mut at = value;
    // String prefixes: b"", r"", f"", br"".
    while at < value + 2
        && hay
            .get(at)
            .is_some_and(|byte| matches!(byte, b'b' | b'r' | b'f' | b'u' | b'L' | b'@'))
    {
        at += 1;
    }
    let (open, tail) = match (hay.get(at)?, hay.get(at + 1)) {
        (quote @ (b'"' | b'\'' | b'`'), _) => (at + 1, Tail::Quoted(*quote)),
        (b'\\', Some(quote @ (b'"' | b'\''))) => (at + 2, Tail::EscapedQuoted(*quote)),
        _ => return None,
    };
    let mut machine = Swallow::new(0, tail);
    let (length, _) = machine.run(&hay[open..]);
    let text = &hay[open..open + length];
    let harmless = text.len() < 4
        || is_placeholder(text)
        || is_type_name(text)
        || text
            .windows(2)
            .any(|pair| matches!(pair, b"${" | b"{{" | b"#{" | b"%s" | b"{}"))
        || (wording == Wording::NoSentence && is_sentence(text) && !is_passphrase(key, text));
    Some(if harmless {
        None
    } else {
        Some((open, Swallow::new(0, tail)))
    })
}

/// `: &str = "…"` and the like: where the literal begins.
fn typed_literal(hay: &[u8], value: usize) -> Option<usize> {
    let limit = (value + 64).min(hay.len());
    let type_length = hay[value..limit].iter().position(|&byte| {
        !(byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'_' | b'&' | b'\'' | b'<' | b'>' | b' ' | b'|' | b'[' | b']' | b'?' | b'*' | b':'
            ))
    })?;
    let equals = value + type_length;
    if hay[equals] != b'=' || matches!(hay.get(equals + 1), Some(b'=' | b'>')) {
        return None;
    }
    Some(skip_blanks(hay, equals + 1))
}

fn certain(hay: &[u8], start: usize, end: usize, tail: Tail) -> Option<(usize, Swallow)> {
    let value = &hay[start..end];
    (!value.is_empty() && !is_placeholder(value)).then(|| (start, Swallow::new(value.len(), tail)))
}

/// A word of code rather than a value: followed by what only code has.
fn is_code_word(hay: &[u8], start: usize) -> bool {
    let end = word_end(hay, start);
    matches!(hay.get(end), Some(b'(' | b',' | b';' | b'<' | b')'))
        || is_expression(&hay[start..end])
        || is_type_name(&hay[start..end])
}

/// Two or more words, all of letters: a label or message ("Enter your password").
fn is_sentence(text: &[u8]) -> bool {
    text.contains(&b' ')
        && text.iter().all(|&byte| {
            byte.is_ascii_alphabetic()
                || matches!(
                    byte,
                    b' ' | b'.' | b',' | b':' | b'!' | b'?' | b'\'' | b'-' | b'`' | b'_'
                )
        })
}

/// Words of a passphrase (`password = "correct horse battery"`): three or more, all of small letters
/// with nothing between them, none of those with which a label speaks of passwords.
fn is_passphrase(key: &str, text: &[u8]) -> bool {
    const OF_LABELS: &[&[u8]] = &[
        b"the",
        b"a",
        b"an",
        b"your",
        b"is",
        b"for",
        b"to",
        b"of",
        b"and",
        b"or",
        b"not",
        b"must",
        b"no",
        b"invalid",
        b"wrong",
        b"missing",
        b"enter",
        b"password",
        b"passphrase",
        b"secret",
        b"token",
        b"user",
        b"please",
        b"in",
        b"with",
        b"from",
        b"be",
        b"are",
        b"new",
        b"old",
    ];
    let key = key.to_ascii_lowercase();
    let words: Vec<&[u8]> = text.split(|&byte| byte == b' ').collect();
    ["password", "passphrase", "passwd", "pwd"]
        .iter()
        .any(|ending| key.ends_with(ending))
        && words.len() >= 3
        && words.iter().all(|word| {
            word.len() > 1 && word.iter().all(u8::is_ascii_lowercase) && !OF_LABELS.contains(word)
        })
}

/// Names of types and keywords that stand where a value could.
fn is_type_name(word: &[u8]) -> bool {
    const NAMES: &[&str] = &[
        "string",
        "str",
        "number",
        "integer",
        "int",
        "boolean",
        "bool",
        "bytes",
        "any",
        "unknown",
        "object",
        "text",
        "null",
        "none",
        "nil",
        "true",
        "false",
        "undefined",
        "required",
        "optional",
        "default",
        "hidden",
        "uuid",
        "self",
        "this",
        "yes",
        "no",
        "inherit",
        "write",
        "read",
        "basic",
        "bearer",
        "password",
        "token",
        "secret",
    ];
    let word = word.strip_suffix(b"?").unwrap_or(word);
    if NAMES
        .iter()
        .any(|name| word.eq_ignore_ascii_case(name.as_bytes()))
    {
        return true;
    }
    // CamelCase without a digit reads as a type.
    word[0].is_ascii_uppercase()
        && word.iter().all(u8::is_ascii_alphabetic)
        && word.iter().any(u8::is_ascii_lowercase)
}

/// Code that computes a value: a path, a field, an index, a reference.
fn is_expression(word: &[u8]) -> bool {
    if is_placeholder(word) || matches!(word[0], b'&' | b'[' | b'{' | b'!' | b'@' | b':') {
        return true;
    }
    let has = |needle: &[u8]| word.windows(needle.len()).any(|window| window == needle);
    if has(b"::") || has(b"->") || has(b"[") || has(b"{") {
        return true;
    }
    // `self.token`, `process.env.TOKEN`: names joined by dots, no part made by chance.
    word.contains(&b'.')
        && word.split(|&byte| byte == b'.').all(|part| {
            part.first()
                .is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
                && part.len() < 24
                && part
                    .iter()
                    .all(|&byte| byte.is_ascii_alphabetic() || byte == b'_')
        })
}

/// Made by chance rather than named: long enough, with digits or signs among the letters.
fn looks_random(word: &[u8]) -> bool {
    word.len() >= 6
        && !is_expression(word)
        && (word.iter().any(u8::is_ascii_digit)
            || word
                .iter()
                .any(|byte| matches!(byte, b'!' | b'@' | b'#' | b'^' | b'+' | b'~' | b'%')))
}
