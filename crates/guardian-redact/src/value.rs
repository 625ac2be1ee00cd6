//! JSON values.

use serde_json::{Map, Value};

use crate::{Redactor, is_secret_key};

/// Deeper values are withheld whole. serde_json does not parse deeper ones.
const DEEPEST: usize = 128;

pub(crate) fn redact(redactor: &Redactor, value: &Value) -> Value {
    at_depth(redactor, value, Beneath::OrdinaryKey, 0)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Beneath {
    OrdinaryKey,
    SecretKey,
}

fn at_depth(redactor: &Redactor, value: &Value, beneath: Beneath, depth: usize) -> Value {
    if depth > DEEPEST {
        return Value::from(Redactor::WITHHELD);
    }
    match value {
        Value::String(text) if beneath == Beneath::SecretKey && !text.is_empty() => {
            // A shape names the secret better than its key does.
            let redacted = redactor.redact_text(text);
            let named = redacted.starts_with("[REDACTED:")
                && redacted.find(']') == Some(redacted.len() - 1);
            Value::from(if named {
                redacted.into_owned()
            } else {
                "[REDACTED:key]".to_owned()
            })
        }
        Value::Number(_) if beneath == Beneath::SecretKey => Value::from("[REDACTED:key]"),
        Value::String(text) => Value::from(redactor.redact_text(text).into_owned()),
        Value::Array(items) => Value::Array(
            items
                .iter()
                .map(|item| at_depth(redactor, item, beneath, depth + 1))
                .collect(),
        ),
        Value::Object(members) => {
            let mut redacted = Map::new();
            for (key, member) in members {
                let beneath = if is_secret_key(key) {
                    Beneath::SecretKey
                } else {
                    beneath
                };
                redacted.insert(
                    redactor.redact_text(key).into_owned(),
                    at_depth(redactor, member, beneath, depth + 1),
                );
            }
            Value::Object(redacted)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
