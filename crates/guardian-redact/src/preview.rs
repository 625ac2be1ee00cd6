//! What a card shows of a call's arguments (SPEC §8).

use serde_json::{Map, Value};

use crate::{Redactor, escape_invisible};

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviewLimits {
    /// Longest string, in characters.
    pub string_characters: usize,
    /// All of it, in bytes of JSON.
    pub total_bytes: usize,
}

impl PreviewLimits {
    /// The limits of SPEC §8: strings of 2000 characters, 16 KiB in total.
    pub const CARD: Self = Self {
        string_characters: 2000,
        total_bytes: 16 * 1024,
    };
}

/// Arguments as people may see them: secrets hidden, invisible characters escaped, long parts cut.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// What to show.
    pub value: Value,
    /// Nothing was cut. An action that is not shown whole may be allowed once, not remembered.
    pub whole: bool,
    /// Something was redacted.
    pub masked: bool,
}

impl Preview {
    /// Makes the preview of a value.
    #[must_use]
    pub fn new(redactor: &Redactor, value: &Value, limits: PreviewLimits) -> Self {
        let redacted = redactor.redact_value(value);
        let masked = redacted != *value;
        let mut cutter = Cutter {
            limits,
            left: limits.total_bytes,
            whole: true,
        };
        let value = cutter.cut(&redacted, 0);
        Self {
            value,
            whole: cutter.whole,
            masked,
        }
    }

    /// A text as one string of a preview.
    #[must_use]
    pub fn text(redactor: &Redactor, text: &str, limits: PreviewLimits) -> Self {
        Self::new(redactor, &Value::from(text), limits)
    }
}

struct Cutter {
    limits: PreviewLimits,
    left: usize,
    whole: bool,
}

impl Cutter {
    /// Room kept for the notes that say what was cut.
    const NOTE: usize = 64;

    fn cut(&mut self, value: &Value, depth: usize) -> Value {
        match value {
            Value::String(text) => Value::from(self.cut_text(text)),
            Value::Array(items) => {
                let mut shown = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    if self.left < Self::NOTE || depth > 64 {
                        self.whole = false;
                        shown.push(Value::from(format!(
                            "… {} more items not shown",
                            items.len() - index
                        )));
                        break;
                    }
                    self.spend(2);
                    shown.push(self.cut(item, depth + 1));
                }
                Value::Array(shown)
            }
            Value::Object(members) => {
                let mut shown = Map::new();
                for (index, (key, member)) in members.iter().enumerate() {
                    if self.left < Self::NOTE || depth > 64 {
                        self.whole = false;
                        shown.insert(
                            "…".to_owned(),
                            Value::from(format!(
                                "{} more members not shown",
                                members.len() - index
                            )),
                        );
                        break;
                    }
                    self.spend(4);
                    let key = self.cut_text(key);
                    let member = self.cut(member, depth + 1);
                    shown.insert(key, member);
                }
                Value::Object(shown)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.spend(value.to_string().len());
                value.clone()
            }
        }
    }

    fn cut_text(&mut self, text: &str) -> String {
        let mut shown = String::new();
        let mut characters = 0;
        for character in text.chars() {
            let mut buffer = [0; 4];
            let escaped = escape_invisible(character.encode_utf8(&mut buffer));
            let cost = match character {
                '"' | '\\' | '\n' | '\t' => 2,
                _ => escaped.len(),
            };
            if characters == self.limits.string_characters || cost > self.left {
                break;
            }
            self.left -= cost;
            characters += 1;
            shown.push_str(&escaped);
        }
        let missing = text.chars().count() - characters;
        if missing > 0 {
            self.whole = false;
            let note = format!("… ({missing} more characters)");
            self.spend(note.len());
            shown.push_str(&note);
        }
        shown
    }

    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn preview(value: &Value) -> Preview {
        Preview::new(&Redactor::builtin(), value, PreviewLimits::CARD)
    }

    #[test]
    fn a_small_value_is_shown_whole() {
        let value = json!({"path": "src/main.rs", "limit": 3});
        assert_eq!(
            preview(&value),
            Preview {
                value,
                whole: true,
                masked: false
            }
        );
    }

    #[test]
    fn a_long_string_is_cut_with_a_count() {
        let shown = preview(&json!({"content": "é".repeat(2001)}));
        let text = shown.value["content"].as_str().unwrap();
        assert!(
            text.ends_with("é… (1 more characters)"),
            "{}",
            &text[text.len() - 40..]
        );
        assert!(!shown.whole);
    }

    #[test]
    fn the_total_is_bounded() {
        let many: Vec<Value> = (0..10_000)
            .map(|_| json!({"k": "\u{202e}\"\\ text of some length"}))
            .collect();
        let shown = preview(&json!({ "many": many, "after": "x" }));
        assert!(shown.value.to_string().len() < PreviewLimits::CARD.total_bytes + 4 * 1024);
        assert!(!shown.whole);
    }

    #[test]
    fn secrets_are_masked_and_said_so() {
        let shown =
            preview(&json!({"command": "PGPASSWORD=hunter2 psql", "apiKey": "abc", "n": 1}));
        assert_eq!(
            shown.value,
            json!({"command": "PGPASSWORD=[REDACTED:key] psql", "apiKey": "[REDACTED:key]", "n": 1})
        );
        assert!(shown.masked && shown.whole);
    }
}
