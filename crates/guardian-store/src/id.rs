//! Identifiers, validated where they are made.

use std::fmt;

/// A session's id: `[A-Za-z0-9_-]{1,128}` (SPEC §1).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

/// A text that is no session id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a session id: 1 to 128 letters, digits, `_` and `-`")]
pub struct InvalidSessionId(String);

impl SessionId {
    /// Checks the form.
    ///
    /// # Errors
    /// [`InvalidSessionId`] when it is another one.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidSessionId> {
        let text = text.into();
        let valid = (1..=128).contains(&text.len())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if valid {
            Ok(Self(text))
        } else {
            Err(InvalidSessionId(text.chars().take(160).collect()))
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_checked() {
        assert!(SessionId::new("a-B_9").is_ok());
        assert!(SessionId::new("x".repeat(128)).is_ok());
        for bad in ["", "a b", "a/b", "..", "é", &"x".repeat(129)] {
            assert!(SessionId::new(bad).is_err(), "{bad}");
        }
    }
}
