//! The redactor.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::scan::Engine;
use crate::shapes::{self, ShapeError, ShapeInfo};
use crate::{stream, value};

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
        let Some(engine) = self.engine() else {
            return Cow::Borrowed(if bytes.is_empty() {
                bytes
            } else {
                Self::WITHHELD.as_bytes()
            });
        };
        stream::whole(engine, bytes).map_or(Cow::Borrowed(bytes), Cow::Owned)
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
                    kind: shape.kind.clone(),
                    description: shape.description.clone(),
                    examples: shape.examples.clone(),
                })
                .collect()
        })
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
