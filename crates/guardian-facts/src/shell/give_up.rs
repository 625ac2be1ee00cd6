//! Lines that bash gives up in their middle.
//!
//! An expansion with an error (`$((1+))`, `${x:0:-9}`, an assignment to a read-only variable) makes
//! a shell that reads a script drop the rest of the line, or of the compound command that it is in,
//! and go on with the next line. What the dropped rest would have set is then not set:
//! `d=/etc`, `: $((q+)); d=build`, `rm -rf "$d"` on three lines deletes /etc. So the states in which
//! a line may have been given up are kept, and what follows the line starts from them as well.
//!
//! Errors that end the whole shell (`${x:?}`, `set -u`, a bad subscript) need nothing of the kind:
//! less runs than is read.

use super::control::Flow;
use super::reader::Reader;
use super::syntax::List;
use super::values::{self, Part, State, Value, join_ways};

/// Read-only from the start: assigning to them is an error.
const READ_ONLY: [&str; 6] = [
    "UID",
    "EUID",
    "PPID",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_VERSINFO",
];

impl Reader<'_> {
    /// The rest of the line may be given up here.
    pub(super) fn may_give_up(&mut self, state: &State) {
        self.given_up = join_ways(self.given_up.take(), Some(state.clone()));
    }

    /// Assigning to the variable may be an error.
    pub(super) fn may_give_up_assigning(&mut self, name: &str, state: &State) {
        if READ_ONLY.contains(&name) || state.stubborn.contains(name) {
            self.may_give_up(state);
        }
    }

    /// The lines of a text. A subshell ends where its line is given up, a text in the same shell
    /// (`eval`) gives up the line that it stands in.
    pub(super) fn lines(&mut self, list: &List, state: State) -> Flow {
        let outer = self.given_up.take();
        let mut all = None;
        let mut flow = Flow::both(state.clone());
        let mut current = state;
        let mut dead = false;
        for statement in &list.statements {
            flow = self.statement(statement, current.clone());
            if statement.ends_line
                && let Some(given_up) = self.given_up.take()
            {
                all = join_ways(all, Some(given_up.clone()));
                flow = Flow {
                    ok: flow.ok,
                    fail: join_ways(flow.fail, Some(given_up)),
                };
            }
            match flow.clone().after() {
                Some(next) => current = next,
                // What follows `exit` is read all the same, with the last state.
                None => dead = true,
            }
        }
        self.given_up = join_ways(join_ways(outer, all), self.given_up.take());
        if dead { Flow::dead() } else { flow }
    }
}

/// What is expected next in arithmetic.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Operand,
    Operator,
}

/// The expression surely has a value: plain numbers and variables that surely hold one, the usual
/// operators, no division by what may be zero. Says false for much that is valid, too.
pub(super) fn is_surely_valid(expression: &str, state: &State) -> bool {
    let bytes = expression.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    let mut expect = Expect::Operand;
    while let Some(&byte) = bytes.get(at) {
        let rest = expression.get(at..).unwrap_or_default();
        let word = rest
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            .count();
        let taken = match (expect, byte) {
            (_, b' ' | b'\t' | b'\n') => 1,
            (Expect::Operand, b'(') => {
                depth += 1;
                1
            }
            (Expect::Operand, b'!' | b'~') => 1,
            (Expect::Operand, b'+' | b'-') if bytes.get(at + 1) != Some(&byte) => 1,
            (Expect::Operand, _) if word > 0 => {
                if !is_number_or_variable(&rest[..word], state) {
                    return false;
                }
                expect = Expect::Operator;
                let postfix = ["++", "--"];
                let postfix = postfix
                    .iter()
                    .any(|sign| rest[word..].starts_with(sign) && !byte.is_ascii_digit());
                word + if postfix { 2 } else { 0 }
            }
            (Expect::Operator, b')') if depth > 0 => {
                depth -= 1;
                1
            }
            (Expect::Operator, _) => {
                let Some(operator) = operator(rest) else {
                    return false;
                };
                expect = Expect::Operand;
                operator
            }
            _ => return false,
        };
        at += taken;
    }
    depth == 0 && (expect == Expect::Operator || expression.trim().is_empty())
}

/// How long the binary operator is with which the text begins.
fn operator(rest: &str) -> Option<usize> {
    let divides = rest.starts_with('/') || rest.starts_with('%');
    if divides {
        let divisor = rest[1..].trim_start();
        let nonzero = divisor.starts_with(|c: char| ('1'..='9').contains(&c));
        return nonzero.then_some(1);
    }
    let operators = [
        "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "&=", "|=",
        "^=", "<", ">", "&", "|", "^", "+", "-", "*", "=", ",",
    ];
    let found = operators
        .iter()
        .find(|operator| rest.starts_with(**operator))?;
    // A power may have a negative exponent.
    (!rest.starts_with("**")).then_some(found.len())
}

fn is_number_or_variable(word: &str, state: &State) -> bool {
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return is_plain_number(word);
    }
    match state.get(word) {
        Some(Value::Scalar(text)) => match values::as_literal(&text) {
            Some(known) => is_plain_number(known.strip_prefix('-').unwrap_or(known)),
            None => matches!(
                text.as_slice(),
                [Part::Unknown {
                    kind: values::Kind::Integer,
                    may_split: false,
                    ..
                }]
            ),
        },
        Some(Value::Unset) => true,
        // What the environment gives may be no number.
        _ => false,
    }
}

/// Decimal digits that are not taken for octal ones.
fn is_plain_number(text: &str) -> bool {
    text == "0"
        || (text.len() < 19
            && text.starts_with(|c: char| ('1'..='9').contains(&c))
            && text.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    #[test]
    fn only_what_surely_has_a_value_is_valid() {
        let mut state = State::new(None);
        let text = |text: &str| Value::Scalar(Rc::new(vec![Part::Literal(text.to_owned())]));
        state.set("n", text("12"));
        state.set("w", text("word"));
        state.set("o", text("08"));
        for valid in [
            "",
            "1",
            "n",
            "n+1",
            "(n + 2) * -3",
            "n++",
            "n == 1 && n < 3",
            "n / 2",
            "n=3",
            "!n",
            "n<<2",
        ] {
            assert!(is_surely_valid(valid, &state), "{valid}");
        }
        for other in [
            "1+",
            "+",
            "(1",
            "1)",
            "w",
            "o",
            "08",
            "unset",
            "1/0",
            "1/n",
            "1%n",
            "2**-1",
            "1 2",
            "n n",
            "a[1]",
            "1++",
            "--5",
            "1 ? 2 : 3",
            "16#z",
            "5x",
            "99999999999999999999",
            "()",
        ] {
            assert!(!is_surely_valid(other, &state), "{other}");
        }
    }
}
