//! Secrets that one call carries, hidden in every piece that was cut from its texts.
//!
//! A word of a command, a value without its name, or the first sixty characters of a line no longer
//! look like a secret, while the whole text did. So the whole texts are searched, and what was found
//! there is hidden wherever it, or a beginning of it that was cut off, stands.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::{Redactor, is_secret_key};

/// Shorter ones are no secrets, and would hide half of the text.
const SHORTEST: usize = 4;
/// Shorter ones are hidden only where they stand as a value of their own: `test` is a password in
/// `PASSWORD=test npm test`, and a word.
const DISTINCT: usize = 8;
/// What stands where a text was cut.
const CUT: char = '…';
/// As many characters before a cut as give a secret away. Fewer may be anything.
const TELLING: usize = 4;

/// The secrets that were found in the texts of one call.
#[derive(Debug, Clone, Default)]
pub struct CarriedSecrets {
    /// As they stand in the text, with the kind of each; the longest first.
    found: Vec<(String, String)>,
}

impl CarriedSecrets {
    /// Learns from a text in which secrets stand whole.
    pub fn learn(&mut self, redactor: &Redactor, text: &str) {
        for (secret, kind) in redactor.secrets_in(text) {
            self.add(secret, kind);
        }
    }

    /// Learns from every string of a value, and from what stands beneath a secret-looking name.
    pub fn learn_value(&mut self, redactor: &Redactor, value: &Value) {
        match value {
            Value::String(text) => self.learn(redactor, text),
            Value::Array(items) => items
                .iter()
                .for_each(|item| self.learn_value(redactor, item)),
            Value::Object(members) => self.learn_members(redactor, members),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// [`Self::learn_value`] for the members of an object.
    pub fn learn_members(&mut self, redactor: &Redactor, members: &Map<String, Value>) {
        for (key, member) in members {
            match member {
                Value::String(text) if is_secret_key(key) => self.add(text, "key"),
                _ => self.learn_value(redactor, member),
            }
        }
    }

    /// Nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The text without the secrets and without their beginnings that end in `…`.
    #[must_use]
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut hidden = Cow::Borrowed(text);
        for (secret, kind) in &self.found {
            if let Some(shown) = hide_one(&hidden, secret, kind) {
                hidden = Cow::Owned(shown);
            }
        }
        hidden
    }

    /// [`Self::hide`] for every string and name of a value.
    #[must_use]
    pub fn hide_value(&self, value: &Value) -> Value {
        if self.is_empty() {
            return value.clone();
        }
        match value {
            Value::String(text) => Value::from(self.hide(text).into_owned()),
            Value::Array(items) => items.iter().map(|item| self.hide_value(item)).collect(),
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, member)| (self.hide(key).into_owned(), self.hide_value(member)))
                    .collect(),
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn add(&mut self, secret: &str, kind: &str) {
        let secret = secret.trim();
        let known = self.found.iter().any(|(known, _)| known == secret);
        if known || secret.chars().count() < SHORTEST {
            return;
        }
        let at = self
            .found
            .partition_point(|(longer, _)| longer.len() >= secret.len());
        self.found.insert(at, (secret.to_owned(), kind.to_owned()));
    }
}

fn hide_one(text: &str, secret: &str, kind: &str) -> Option<String> {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((start, length)) = next(rest, text.len() - rest.len(), text, secret) {
        shown.push_str(&rest[..start]);
        shown.push_str("[REDACTED:");
        shown.push_str(kind);
        shown.push(']');
        rest = &rest[start + length..];
    }
    (rest.len() < text.len()).then(|| shown + rest)
}

/// The next place in `rest`, which begins at `offset` of `text`: where it begins, and its length.
fn next(rest: &str, offset: usize, text: &str, secret: &str) -> Option<(usize, usize)> {
    let whole = rest
        .match_indices(secret)
        .map(|(at, found)| (at, found.len()))
        .find(|&(at, length)| {
            secret.len() >= DISTINCT || stands_alone(text, offset + at, offset + at + length)
        });
    let cut = rest.match_indices(CUT).find_map(|(cut, _)| {
        let length = cut_beginning(&rest[..cut], secret)?;
        Some((cut - length, length))
    });
    match (whole, cut) {
        (Some(whole), Some(cut)) => Some(whole.min(cut)),
        (whole, cut) => whole.or(cut),
    }
}

/// A value of its own: it is all of the text, or follows the sign after a name.
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let before = text[..start].chars().next_back();
    let after = text[end..].chars().next();
    let named = matches!(before, Some('=' | ':'));
    let ended = after.is_none_or(|c| !c.is_alphanumeric());
    (named || before.is_none()) && ended
}

/// How many bytes of the secret's beginning `text` ends with, when it is enough to tell. Signs that
/// a display replaces by blanks count as blanks.
fn cut_beginning(text: &str, secret: &str) -> Option<usize> {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let ends: Vec<usize> = secret
        .char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .skip(TELLING - 1)
        .collect();
    ends.into_iter().rev().find(|&end| {
        let beginning = &secret[..end];
        text.len() >= end
            && text.is_char_boundary(text.len() - end)
            && text[text.len() - end..]
                .chars()
                .map(plain)
                .eq(beginning.chars().map(plain))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn learned(text: &str) -> CarriedSecrets {
        let mut carried = CarriedSecrets::default();
        carried.learn(&Redactor::builtin(), text);
        carried
    }

    #[test]
    fn a_value_without_its_name_is_hidden() {
        let carried = learned("export DB_PASSWORD=hunter2hunter2xyz; ls");
        assert_eq!(carried.hide("hunter2hunter2xyz"), "[REDACTED:key]");
        let facts = json!({"assignments": [{"name": "DB_PASSWORD", "value": {"text": "hunter2hunter2xyz"}}]});
        assert!(!carried.hide_value(&facts).to_string().contains("hunter2"));
    }

    #[test]
    fn a_beginning_that_was_cut_is_hidden() {
        let token = format!("dop_v1_{}", "ab12".repeat(16));
        let carried = learned(&format!("echo {token}"));
        assert_eq!(
            carried.hide(&format!("runs echo {}…", &token[..40])),
            "runs echo [REDACTED:digitalocean]…"
        );
        // Three characters may be anything.
        assert_eq!(carried.hide("runs echo dop…"), "runs echo dop…");
    }

    #[test]
    fn a_short_password_does_not_hide_words() {
        let carried = learned("PASSWORD=test npm test");
        assert_eq!(
            carried.hide("runs `PASSWORD=test npm test`"),
            "runs `PASSWORD=[REDACTED:key] npm test`"
        );
    }

    #[test]
    fn a_text_without_secrets_is_borrowed() {
        let carried = learned("cargo test");
        assert!(carried.is_empty());
        assert!(matches!(carried.hide("cargo test…"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn no_cut_shows_a_telling_part(front in "[a-z ]{0,20}", cut in 0_usize..90) {
            let secret = "ghp_Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2";
            let whole = format!("echo {front} {secret} tail");
            let head: String = whole.chars().take(cut).collect();
            let piece = if head.len() < whole.len() { format!("{head}…") } else { head };
            let carried = learned(&whole);
            let shown = carried.hide(&piece);
            prop_assert!(!shown.contains(&secret[..TELLING]) , "{shown}");
        }

        #[test]
        fn a_piece_is_hidden_wherever_it_stands(before in ".{0,12}", after in ".{0,12}") {
            let carried = learned("export API_TOKEN=s3cr3t-value-9");
            let piece = format!("{before}s3cr3t-value-9{after}");
            prop_assert!(!carried.hide(&piece).contains("s3cr3t-value-9"));
        }
    }
}
