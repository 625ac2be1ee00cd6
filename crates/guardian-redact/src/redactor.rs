//! The redactor.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::scan::Engine;
use crate::shapes::{self, ShapeError, ShapeInfo};
use crate::{screen, stream, value};

/// Longer texts are not worth a second look in front of the search.
const SCREENED: usize = 4096;

/// Hides secrets. Cheap to clone and to make; the search is compiled at first use.
#[derive(Debug, Clone)]
pub struct Redactor {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    known_values: Vec<String>,
    user_shapes: String,
    engine: OnceLock<Option<Engine>>,
}

impl Redactor {
    /// Stands for the whole text should the search not compile: nothing passes unseen.
    pub const WITHHELD: &'static str = "[REDACTED:withheld, the secret shapes cannot be used]";

    /// The embedded shapes and key names.
    #[must_use]
    pub fn builtin() -> Self {
        static BUILTIN: OnceLock<Redactor> = OnceLock::new();
        BUILTIN
            .get_or_init(|| Self::from_parts(Vec::new(), String::new()))
            .clone()
    }

    /// Also hides these values, wherever they stand. Values under 8 bytes are not looked for.
    #[must_use]
    pub fn with_known_values(&self, values: impl IntoIterator<Item = String>) -> Self {
        let mut known_values = self.inner.known_values.clone();
        known_values.extend(values);
        Self::from_parts(known_values, self.inner.user_shapes.clone())
    }

    /// Also hides the shapes of a data file of the user's, in the form of `config/secrets.toml`.
    ///
    /// # Errors
    /// When the file or one of its patterns is not valid.
    pub fn with_shapes(&self, toml: &str) -> Result<Self, ShapeError> {
        shapes::check_patterns(&shapes::parse(toml)?)?;
        Ok(Self::from_parts(
            self.inner.known_values.clone(),
            format!("{}\n{toml}", self.inner.user_shapes),
        ))
    }

    /// The same text with markers in the place of secrets.
    #[must_use]
    pub fn redact_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.redact_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            }),
        }
    }

    /// As [`Self::redact_text`], for bytes that may not be UTF-8.
    #[must_use]
    pub fn redact_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        if self.is_surely_clean(bytes) {
            return Cow::Borrowed(bytes);
        }
        let Some(engine) = self.engine() else {
            return Cow::Borrowed(if bytes.is_empty() {
                bytes
            } else {
                Self::WITHHELD.as_bytes()
            });
        };
        stream::whole(engine, bytes).map_or(Cow::Borrowed(bytes), Cow::Owned)
    }

    /// The secrets in a text, each with its kind, in order. None when the shapes cannot be used:
    /// then nothing of a text may be shown (see [`Self::WITHHELD`]).
    pub(crate) fn secrets_in<'t>(
        &self,
        text: &'t str,
    ) -> impl Iterator<Item = (&'t str, &str)> + use<'t, '_> {
        let engine = (!self.is_surely_clean(text.as_bytes())).then(|| self.engine());
        engine.flatten().into_iter().flat_map(move |engine| {
            stream::hidden(engine, text.as_bytes())
                .into_iter()
                .filter_map(move |secret| Some((text.get(secret.bytes)?, engine.kind(secret.what))))
        })
    }

    /// Neighbouring lines of a text (without their ends), redacted as one: a secret over several
    /// lines shows in no line. The lines may be a piece from the middle of a key, without the line
    /// that names it; so a block of encoded lines is hidden too.
    #[must_use]
    pub fn redact_lines(&self, lines: &[&str]) -> Vec<String> {
        let Some(engine) = self.engine() else {
            return vec![Self::WITHHELD.to_owned(); lines.len()];
        };
        let text = lines.join("\n");
        let hidden = stream::hidden(engine, text.as_bytes());
        let mut start = 0;
        let mut shown: Vec<String> = lines
            .iter()
            .map(|line| {
                let here = start..start + line.len();
                start = here.end + 1;
                redacted_line(engine, line, here, &hidden)
            })
            .collect();
        for at in 1..lines.len() {
            if is_encoded(lines[at - 1]) && is_encoded(lines[at]) {
                for line in &mut shown[at - 1..=at] {
                    if !line.starts_with("[REDACTED:") {
                        "[REDACTED:encoded-block]".clone_into(line);
                    }
                }
            }
        }
        shown
    }

    /// A copy of a JSON value: strings as [`Self::redact_text`], and strings and numbers beneath
    /// a secret-looking member name hidden whole.
    #[must_use]
    pub fn redact_value(&self, value: &Value) -> Value {
        value::redact(self, value)
    }

    /// The shapes in use, in the order of their data files.
    #[must_use]
    pub fn shapes(&self) -> Vec<ShapeInfo> {
        self.engine().map_or_else(Vec::new, |engine| {
            engine
                .shapes()
                .iter()
                .map(|shape| ShapeInfo {
                    kind: shape.kind.to_string(),
                    description: shape.description.to_string(),
                    examples: shape.examples.iter().map(ToString::to_string).collect(),
                })
                .collect()
        })
    }

    /// Nothing of these bytes is hidden, which is told without preparing the search. Only while it
    /// is not prepared, and for the embedded data alone; else false.
    fn is_surely_clean(&self, bytes: &[u8]) -> bool {
        self.inner.engine.get().is_none()
            && self.inner.known_values.is_empty()
            && self.inner.user_shapes.is_empty()
            && bytes.len() < SCREENED
            && !screen::holds_anchor(bytes)
    }

    pub(crate) fn engine(&self) -> Option<&Engine> {
        self.inner
            .engine
            .get_or_init(|| {
                let mut all = shapes::builtin()?;
                if !self.inner.user_shapes.trim().is_empty() {
                    all.extend(shapes::parse(&self.inner.user_shapes).ok()?);
                }
                Some(Engine::new(all, &self.inner.known_values))
            })
            .as_ref()
    }

    fn from_parts(known_values: Vec<String>, user_shapes: String) -> Self {
        Self {
            inner: Arc::new(Inner {
                known_values,
                user_shapes,
                engine: OnceLock::new(),
            }),
        }
    }
}

/// One line of a text, which stands at `place` of it.
fn redacted_line(
    engine: &Engine,
    line: &str,
    place: Range<usize>,
    hidden: &[stream::Hidden],
) -> String {
    let mut shown = String::new();
    let mut at = 0;
    for secret in hidden {
        let (start, end) = (secret.bytes.start, secret.bytes.end);
        if start > place.end || end <= place.start || (start == place.end && start < end) {
            continue;
        }
        let from = start.saturating_sub(place.start);
        let to = end.min(place.end) - place.start;
        shown.push_str(line.get(at..from).unwrap_or_default());
        shown.push_str("[REDACTED:");
        shown.push_str(engine.kind(secret.what));
        shown.push(']');
        at = to;
    }
    shown.push_str(line.get(at..).unwrap_or_default());
    shown
}

/// A full line of base64, as the body of a key has them.
fn is_encoded(line: &str) -> bool {
    let line = line.trim();
    let has = |test: fn(&u8) -> bool| line.as_bytes().iter().any(test);
    line.len() >= 60
        && line
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text that no scanner takes for a key.
    fn body(line: usize) -> String {
        format!("MIIEow{line}abcDEF").repeat(5)[..64].to_owned()
    }

    #[test]
    fn no_line_of_a_key_shows() {
        let body = [body(1), body(2), body(3)];
        let begin = format!("-----BEGIN RSA {} KEY-----", "PRIVATE");
        let end = format!("-----END RSA {} KEY-----", "PRIVATE");
        let lines = ["head", &begin, &body[0], &body[1], &end, "tail"];
        let shown = Redactor::builtin().redact_lines(&lines);
        assert_eq!(shown.len(), lines.len());
        assert_eq!((shown[0].as_str(), shown[5].as_str()), ("head", "tail"));
        for line in &shown[2..5] {
            assert_eq!(line, "[REDACTED:private-key]");
        }
    }

    #[test]
    fn a_piece_from_the_middle_of_a_key_does_not_show() {
        let body = [body(1), body(2), body(3)];
        let lines: Vec<&str> = body.iter().map(String::as_str).collect();
        for line in Redactor::builtin().redact_lines(&lines) {
            assert_eq!(line, "[REDACTED:encoded-block]");
        }
    }

    #[test]
    fn ordinary_lines_stay_and_each_secret_is_hidden_in_its_line() {
        let lines = [
            "let x = 1;",
            "PGPASSWORD=hunter2 psql",
            "",
            "ü PGPASSWORD=hunter2",
        ];
        assert_eq!(
            Redactor::builtin().redact_lines(&lines),
            [
                "let x = 1;",
                "PGPASSWORD=[REDACTED:key] psql",
                "",
                "ü PGPASSWORD=[REDACTED:key]"
            ]
        );
    }
}
