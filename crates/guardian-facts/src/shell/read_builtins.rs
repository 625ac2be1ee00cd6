//! `read` and `mapfile`: variables that get what an input says.

use std::rc::Rc;

use super::parser::Origin;
use super::reader::Reader;
use super::simple::Call;
use super::values::{self, Kind, State, Value};
use crate::command::Stdin;

impl Reader<'_> {
    /// `read`: variables get what the input says.
    pub(super) fn read_names(&mut self, call: &Call, state: &mut State) {
        let input = self.input_of(call, state);
        if input.own_script {
            self.partial_at(
                call.span,
                "stdin-script",
                "`read` takes lines from the script it stands in",
            );
        }
        let kind = if input.remote {
            Kind::Remote
        } else {
            Kind::Any
        };
        let kind = match &input.stdin {
            Stdin::Text(word)
                if word
                    .as_literal()
                    .is_some_and(|text| !text.contains(['$', '`', '['])) =>
            {
                Kind::Benign
            }
            Stdin::Pipe if self.feeds_numbers(input.lines_of) => Kind::Benign,
            _ => kind,
        };
        if let Some((name, value)) = self.line_read(call, state) {
            self.assign(&name, value, call.span, state);
            return;
        }
        let mut words = call.argv.iter().skip(1).peekable();
        let mut names = 0;
        while let Some(word) = words.next() {
            let text = values::as_literal(word).map(str::to_owned);
            match text.as_deref() {
                Some(flag) if names == 0 && flag.starts_with('-') && flag.len() > 1 => {
                    let letters = flag.get(1..).unwrap_or("");
                    let valued = letters.find(['a', 'd', 'i', 'n', 'N', 'p', 't', 'u']);
                    if let Some(at) = valued {
                        let rest = letters.get(at + 1..).unwrap_or("");
                        let array = letters.get(at..=at) == Some("a");
                        let value = if rest.is_empty() {
                            words.next().cloned()
                        } else {
                            Some(values::literal(rest))
                        };
                        if array && let Some(name) = value {
                            names += 1;
                            if let Some(name) = values::as_literal(&name).map(str::to_owned) {
                                self.set_element(&name, state);
                            } else {
                                self.set_named(&name, kind, call.span, state);
                            }
                        }
                    }
                }
                _ => {
                    names += 1;
                    self.set_named(word, kind, call.span, state);
                    if values::may_split(word) {
                        state.forget_named();
                    }
                }
            }
        }
        self.read_line(call, kind, input.lines_of, state);
        if names == 0 {
            state.set_unknown("REPLY", kind);
        }
    }

    /// The command prints nothing but digits and letters of numbers and revisions.
    fn feeds_numbers(&self, feeder: Option<usize>) -> bool {
        use super::outputs::Bound;
        let fact = feeder.and_then(|index| self.facts.commands.get(index));
        let counts = fact.is_some_and(|fact| {
            fact.program.form == crate::ProgramForm::Bare
                && fact.program.name.as_deref() == Some("seq")
                && fact.argv.iter().skip(1).all(|word| {
                    word.as_literal()
                        .is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
                })
        });
        let named = || {
            let bound = feeder.and_then(|index| self.printed_by(index));
            matches!(bound, Some(Bound::Revisions(revisions)) if revisions.otherwise.is_none())
        };
        counts || named()
    }

    /// `read name <<< text`: the one variable that gets the whole first line of a known text.
    fn line_read(&self, call: &Call, state: &State) -> Option<(String, Value)> {
        let Stdin::Text(word) = &call.redirects.input.as_ref()?.stdin else {
            return None;
        };
        let words: Vec<&str> = call
            .argv
            .iter()
            .map(|word| values::as_literal(word))
            .collect::<Option<_>>()?;
        let ([_, name] | [_, "-r", name]) = words.as_slice() else {
            return None;
        };
        let line = word.as_literal()?.lines().next()?;
        if !super::expand::is_name(name) || line.contains('\\') || state.splits_unknown {
            return None;
        }
        let line = line.trim_matches([' ', '\t']);
        let value = Value::Scalar(Rc::new(values::literal(line)));
        Some(((*name).to_owned(), value))
    }

    /// `mapfile`: an array from the input, and code with `-C`.
    pub(super) fn mapfile(&mut self, index: usize, call: &Call, state: &mut State) {
        if self.input_of(call, state).own_script {
            self.partial_at(
                call.span,
                "stdin-script",
                "`mapfile` takes lines from the script it stands in",
            );
        }
        let mut words = call.argv.iter().skip(1);
        let mut name = "MAPFILE".to_owned();
        while let Some(word) = words.next() {
            match values::as_literal(word).map(str::to_owned) {
                Some(flag) if flag.starts_with('-') => {
                    let letters = flag.get(1..).unwrap_or("");
                    let Some(at) = letters.find(['d', 'n', 'O', 's', 'u', 'C', 'c']) else {
                        continue;
                    };
                    let rest = letters.get(at + 1..).unwrap_or("");
                    let value = if rest.is_empty() {
                        words.next().cloned()
                    } else {
                        Some(values::literal(rest))
                    };
                    if letters.get(at..=at) == Some("C") {
                        match value
                            .as_deref()
                            .and_then(values::as_literal)
                            .map(str::to_owned)
                        {
                            Some(text) => {
                                let mut later = state.clone();
                                later.forget();
                                self.scoped(
                                    |scope| scope.inside = Some(index),
                                    |reader| reader.text(&text, Origin::Fixed(call.span), later),
                                );
                                self.partial_at(
                                    call.span,
                                    "callback",
                                    "a callback runs with words that are not known",
                                );
                            }
                            None => {
                                self.partial_at(call.span, "callback", "a callback is not known")
                            }
                        }
                    }
                }
                Some(text) => name = text,
                None => {
                    self.set_named(word, Kind::Any, call.span, state);
                    return;
                }
            }
        }
        if name.contains('[') {
            self.variable_name(&values::literal(&name), call.span, state);
        }
        self.set_element(&name, state);
    }
}
