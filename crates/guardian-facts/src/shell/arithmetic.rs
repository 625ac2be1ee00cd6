//! What arithmetic evaluates: names, and names in the values of names.
//!
//! Bash evaluates the value of a variable that occurs in arithmetic as an expression of its own,
//! and an array subscript in it is expanded once more, substitutions included.

use std::rc::Rc;

use super::give_up;
use super::parser::Origin;
use super::reader::Reader;
use super::syntax::Piece;
use super::values::{self, Kind, Part, State, Value};
use crate::Span;

impl Reader<'_> {
    /// Walks an arithmetic text: its substitutions, what it evaluates, what it assigns.
    pub(super) fn arithmetic(&mut self, pieces: &[Piece], span: Span, state: &mut State) {
        let text = self.quoted(pieces, state);
        self.evaluate(&text, span, state);
    }

    /// [`Self::arithmetic`] where its value is put into a word: an error gives the line up.
    pub(super) fn arithmetic_with_a_value(
        &mut self,
        pieces: &[Piece],
        span: Span,
        state: &mut State,
    ) {
        let text = self.quoted(pieces, state);
        let is_valid =
            spelled(&text, state).is_some_and(|text| give_up::is_surely_valid(&text, state));
        if !is_valid {
            self.may_give_up(state);
        }
        self.evaluate(&text, span, state);
    }

    /// [`Self::arithmetic`] for text that is expanded already (`let`, `declare -i`).
    pub(super) fn evaluate(&mut self, text: &[Part], span: Span, state: &mut State) {
        let Some(expression) = spelled(text, state) else {
            self.partial_at(
                span,
                "arithmetic-eval",
                "a value that is not known is evaluated as arithmetic",
            );
            return;
        };
        if !self.expression(&expression, span, state, 0) {
            self.partial_at(span, "arithmetic-eval", "arithmetic that may run commands");
        }
    }

    /// What the substitutions run that arithmetic expands once more (`read 'a[$(rm -rf ~)]'`): the
    /// reading is not complete, but rules see these commands.
    fn expanded_again(&mut self, text: &str, span: Span, state: &State) {
        if !text.contains("$(") && !text.contains('`') {
            return;
        }
        let script = format!(": \"{}\"", text.replace(['"', '\\'], ""));
        let state = state.clone();
        self.scoped(
            |scope| scope.conditional = true,
            |reader| reader.in_subshell(|reader| reader.text(&script, Origin::Fixed(span), state)),
        );
    }

    /// False when the expression may run something.
    fn expression(&mut self, text: &str, span: Span, state: &mut State, depth: usize) -> bool {
        if text.contains(['$', '`', '\\', '\'', '"']) || depth > 4 || !self.step() {
            self.expanded_again(text, span, state);
            return false;
        }
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if byte.is_ascii_digit() {
                // A number, with its base and digits.
                while bytes
                    .get(at)
                    .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"#@_".contains(byte))
                {
                    at += 1;
                }
                continue;
            }
            if !(byte.is_ascii_alphabetic() || byte == b'_') {
                at += 1;
                continue;
            }
            let start = at;
            while bytes
                .get(at)
                .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            {
                at += 1;
            }
            let name = text.get(start..at).unwrap_or("").to_owned();
            let known = match state.get(&name) {
                None | Some(Value::Unset | Value::Associative) => None,
                Some(Value::Array(elements)) => Some(elements.to_vec()),
                Some(Value::Scalar(text)) => Some(vec![text.to_vec()]),
            };
            for value in known.into_iter().flatten() {
                match values::as_literal(&value) {
                    Some(known) if values::is_integer(known) || known.is_empty() => {}
                    Some(known) => {
                        let known = known.to_owned();
                        if !self.expression(&known, span, state, depth + 1) {
                            return false;
                        }
                    }
                    // Evaluated in its turn, with what is known of it.
                    None => match spelled(&value, state) {
                        Some(known) if self.expression(&known, span, state, depth + 1) => {}
                        _ => return false,
                    },
                }
            }
            let after = subscript_end(bytes, at);
            let rest = text.get(after..).unwrap_or("").trim_start();
            let before = text.get(..start).unwrap_or("").trim_end();
            let assigned = rest.starts_with("++")
                || rest.starts_with("--")
                || before.ends_with("++")
                || before.ends_with("--")
                || is_assignment(rest);
            if assigned {
                if after == at {
                    let value = Value::Scalar(Rc::new(vec![values::unknown(
                        &format!("${name}"),
                        Kind::Integer,
                    )]));
                    self.assign(&name, value, span, state);
                } else {
                    self.set_element(&name, state);
                }
            }
        }
        true
    }

    /// An element of an array changed in a way that is not followed.
    pub(super) fn set_element(&mut self, name: &str, state: &mut State) {
        if state.get(name) == Some(Value::Associative) && !state.integers.contains(name) {
            return;
        }
        let element = Part::Unknown {
            written: format!("${name}"),
            kind: Kind::Any,
            may_be_empty: true,
            may_split: true,
        };
        self.assign(
            name,
            Value::Array(Rc::new(vec![vec![element]])),
            Span { start: 0, end: 0 },
            state,
        );
    }
}

/// The text as an expression, with a number for each part that is not known and may be none but a
/// number, or the name of a variable where no variable holds code. `None` where a part may be
/// anything.
fn spelled(text: &[Part], state: &State) -> Option<String> {
    let mut expression = String::new();
    for part in text {
        match part {
            Part::Literal(text) => expression.push_str(text),
            // Digits behind a name make another name.
            Part::Unknown {
                kind: Kind::Integer,
                ..
            } if !ends_in_name(&expression) => expression.push('0'),
            Part::Unknown {
                kind: Kind::Integer | Kind::Benign,
                ..
            } if !state.holds_code() => expression.push('0'),
            _ => return None,
        }
    }
    Some(expression)
}

/// The last word of the expression begins like a name.
fn ends_in_name(expression: &str) -> bool {
    let of_words = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '#' | '@');
    let rest = expression.trim_end_matches(of_words);
    expression[rest.len()..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

fn subscript_end(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at) != Some(&b'[') {
        return at;
    }
    let mut depth = 0usize;
    for (offset, byte) in bytes.iter().enumerate().skip(at) {
        match byte {
            b'[' => depth += 1,
            b']' => {
                depth -= 1;
                if depth == 0 {
                    return offset + 1;
                }
            }
            _ => {}
        }
    }
    bytes.len()
}

fn is_assignment(rest: &str) -> bool {
    let operators = ["<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^="];
    operators.iter().any(|operator| rest.starts_with(operator))
        || (rest.starts_with('=') && !rest.starts_with("=="))
}
