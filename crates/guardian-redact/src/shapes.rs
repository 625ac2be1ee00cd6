//! Token shapes from the data file.

mod plain;

use std::borrow::Cow;
use std::sync::OnceLock;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, Span};

use crate::swallow::{Swallow, Tail};

/// How far a check may look to the right of the start of its anchor.
pub(crate) const AHEAD: usize = 1024;
/// The same for shapes whose anchor stands in their middle.
const AHEAD_OF_MIDDLE: usize = 192;
/// How far to the left of its anchor a secret may begin.
pub(crate) const BEFORE: usize = 64;

/// The embedded data file.
pub(crate) const BUILTIN: &str = include_str!("../../../config/secrets.toml");

/// A shape of the data file, for listings and documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeInfo {
    /// Kind, as it appears in the marker.
    pub kind: String,
    /// What it is, for people.
    pub description: String,
    /// Templates of look-alikes: literal text with `<class:count>` parts. For tests.
    pub examples: Vec<String>,
}

/// The data file, or a user's addition to it, is not usable.
#[derive(Debug, thiserror::Error)]
pub enum ShapeError {
    /// Not TOML, or not of the expected form.
    #[error("the secret shapes cannot be read: {0}")]
    Syntax(String),
    /// A pattern is not a regular expression.
    #[error("the pattern of secret shape `{kind}` is not valid: {reason}")]
    Pattern {
        /// Of this shape.
        kind: String,
        /// What the regular-expression compiler says.
        reason: String,
    },
    /// A shape has no usable anchor.
    #[error("secret shape `{kind}` needs at least one anchor of 3 to 32 ASCII characters")]
    Anchor {
        /// Of this shape.
        kind: String,
    },
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ShapeFile {
    shape: Vec<ShapeEntry>,
}

/// A text of the data file: embedded in the program, or a user's own.
type Text = Cow<'static, str>;

#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ShapeEntry {
    kind: Text,
    description: Text,
    anchors: Vec<Text>,
    pattern: Text,
    #[serde(default)]
    tail: TailName,
    #[serde(default)]
    before: usize,
    #[serde(default)]
    examples: Vec<Text>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TailName {
    #[default]
    Token,
    Dotted,
    Base64,
    Pem,
    None,
}

/// One shape. The expression is compiled when its anchor is first seen.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) kind: Text,
    pub(crate) description: Text,
    pub(crate) anchors: Vec<Text>,
    /// Generators of look-alikes, for tests.
    pub(crate) examples: Vec<Text>,
    pattern: Text,
    tail: TailName,
    before: usize,
    regex: OnceLock<Option<Regex>>,
}

impl Shape {
    /// What the expression would find out too, at less cost: the search for anchors ignores
    /// case, and most anchors begin a word.
    fn is_plausible(&self, hay: &[u8], anchor: Span) -> bool {
        let text = &hay[anchor.start..anchor.end];
        let spelled = self.pattern.starts_with("(?i)")
            || self.anchors.iter().any(|anchor| anchor.as_bytes() == text);
        let begins_word = self.before > 0
            || !self.pattern.starts_with("\\b")
            || anchor.start == 0
            || !is_word_byte(hay[anchor.start - 1]);
        spelled && begins_word
    }

    /// Checks the shape around an anchor that begins at `anchor`. The result depends on nothing but the bytes from `anchor - BEFORE - 1` to `anchor + AHEAD`.
    pub(crate) fn check(&self, hay: &[u8], anchor: Span) -> Option<(usize, Swallow)> {
        if !self.is_plausible(hay, anchor) {
            return None;
        }
        let anchor = anchor.start;
        let regex = self
            .regex
            .get_or_init(|| compile(&self.pattern).ok())
            .as_ref()?;
        let from = anchor.saturating_sub(self.before);
        let (anchored, ahead) = if self.before == 0 {
            (Anchored::Yes, AHEAD)
        } else {
            (Anchored::No, AHEAD_OF_MIDDLE)
        };
        let to = (anchor + ahead).min(hay.len());
        let input = Input::new(hay).span(from..to).anchored(anchored);
        let secret = if regex
            .group_info()
            .group_len(regex_automata::PatternID::ZERO)
            > 1
        {
            let mut captures = regex.create_captures();
            regex.search_captures(&input, &mut captures);
            captures.get_group(1)?
        } else {
            let found = regex.find(input)?;
            Span {
                start: found.start(),
                end: found.end(),
            }
        };
        if secret.is_empty() || is_placeholder(&hay[secret.start..secret.end]) {
            return None;
        }
        let tail = match self.tail {
            TailName::Token => Tail::Token,
            TailName::Dotted => Tail::Dotted,
            TailName::Base64 => Tail::Base64,
            TailName::Pem => Tail::Pem(crate::swallow::PemState::Body(0)),
            TailName::None => Tail::None,
        };
        Some((secret.start, Swallow::new(secret.len(), tail)))
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// References to a value instead of a value, and what documentation writes for one.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    if value.starts_with(b"[REDACTED") {
        return true;
    }
    if matches!(value[0], b'$' | b'<' | b'{' | b'%' | b'*') {
        return true;
    }
    let first = value[0];
    if value.len() >= 3
        && matches!(first, b'x' | b'X' | b'.')
        && value.iter().all(|&byte| byte == first)
    {
        return true;
    }
    const WORDS: &[&str] = &[
        "password",
        "passwd",
        "pass",
        "pwd",
        "secret",
        "token",
        "user",
        "null",
        "none",
        "nil",
        "true",
        "false",
        "undefined",
        "string",
        "str",
        "required",
        "optional",
        "your_password",
        "redacted",
    ];
    value.len() <= 16
        && WORDS
            .iter()
            .any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

fn compile(pattern: &str) -> Result<Regex, String> {
    Regex::builder()
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .configure(Regex::config().utf8_empty(false))
        .build(pattern)
        .map_err(|error| error.to_string())
}

/// Reads shapes of a data file. Patterns are not compiled (see [`check_patterns`]).
pub(crate) fn parse(text: &str) -> Result<Vec<Shape>, ShapeError> {
    let file: ShapeFile =
        toml::from_str(text).map_err(|error| ShapeError::Syntax(error.to_string()))?;
    file.shape.into_iter().map(shape_of).collect()
}

fn shape_of(entry: ShapeEntry) -> Result<Shape, ShapeError> {
    let usable = !entry.anchors.is_empty()
        && entry.before <= BEFORE
        && entry
            .anchors
            .iter()
            .all(|anchor| anchor.is_ascii() && (3..=32).contains(&anchor.len()));
    if !usable {
        return Err(ShapeError::Anchor {
            kind: entry.kind.into_owned(),
        });
    }
    Ok(Shape {
        kind: entry.kind,
        description: entry.description,
        anchors: entry.anchors,
        examples: entry.examples,
        pattern: entry.pattern,
        tail: entry.tail,
        before: entry.before,
        regex: OnceLock::new(),
    })
}

/// Compiles every pattern now, to report a wrong one.
pub(crate) fn check_patterns(shapes: &[Shape]) -> Result<(), ShapeError> {
    for shape in shapes {
        compile(&shape.pattern).map_err(|reason| ShapeError::Pattern {
            kind: shape.kind.to_string(),
            reason,
        })?;
    }
    Ok(())
}

/// The embedded shapes. A broken embedded file is caught by this crate's tests; should one be
/// shipped all the same, no text passes unredacted: `None` makes the redactor withhold everything.
pub(crate) fn builtin() -> Option<Vec<Shape>> {
    let read = plain::read(BUILTIN).and_then(|entries| {
        entries
            .into_iter()
            .map(shape_of)
            .collect::<Result<_, _>>()
            .ok()
    });
    read.or_else(|| parse(BUILTIN).ok())
}
