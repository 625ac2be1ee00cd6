//! Expansion of words: from pieces as written to fields as the program would get them.

use super::braces;
use super::environment::Inherited;
use super::parser::{Origin, Parser};
use super::reader::Reader;
use super::syntax::{Piece, WordNode};
use super::values::{self, Kind, Part, State, Text, Value, push, unknown};
use crate::Span;

/// How a word is expanded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Splitting {
    /// Into fields, with patterns: arguments.
    Fields,
    /// One value: assignments, redirect targets of here-strings, `case` words.
    Value,
}

/// Fields under construction.
struct Fields {
    done: Vec<Text>,
    current: Text,
    /// The current field exists even when it is empty (quotes).
    present: bool,
}

impl Fields {
    fn push(&mut self, part: Part) {
        self.present = true;
        push(&mut self.current, part);
    }

    fn next(&mut self) {
        if self.present {
            self.done.push(std::mem::take(&mut self.current));
        }
        self.present = false;
    }
}

impl Reader<'_> {
    /// Expands words to the fields of a command line.
    pub(super) fn fields(&mut self, word: &WordNode, state: &mut State) -> Vec<Text> {
        let Some(raw) = &word.braces else {
            return self.fields_of(&word.pieces, state, Splitting::Fields);
        };
        if raw.contains('~') && raw.contains(['=', ':']) {
            // Whether the tilde counts depends on what the word was before the braces.
            self.partial_at(
                word.span,
                "brace-expansion",
                "a tilde behind braces is not followed",
            );
        }
        match braces::expand(raw) {
            Ok(None) => self.fields_of(&word.pieces, state, Splitting::Fields),
            Ok(Some(words)) => {
                let mut fields = Vec::new();
                for text in words {
                    match Parser::new(&text, Origin::Fixed(word.span), 0).lone_word() {
                        Ok(parsed) => {
                            fields.extend(self.fields_of(&parsed.pieces, state, Splitting::Fields));
                        }
                        Err(_) if text.is_empty() => {}
                        Err(problem) => self.partial(&problem),
                    }
                }
                fields
            }
            Err(()) => {
                self.partial_at(
                    word.span,
                    "brace-expansion",
                    "a brace expansion is not followed",
                );
                self.fields_of(&word.pieces, state, Splitting::Fields)
            }
        }
    }

    /// Expands a word to one value, as assignments do.
    pub(super) fn value(&mut self, word: &[Piece], state: &mut State) -> Text {
        let mut fields = self.fields_of(word, state, Splitting::Value);
        if fields.len() > 1 {
            return fields
                .into_iter()
                .reduce(|mut all, field| {
                    push(&mut all, Part::Literal(" ".to_owned()));
                    field.into_iter().for_each(|part| push(&mut all, part));
                    all
                })
                .unwrap_or_default();
        }
        fields.pop().unwrap_or_default()
    }

    /// Expands `name=value` as an argument of a declaring builtin: what stands behind the `=` is
    /// expanded as in an assignment, a tilde in front of it included.
    pub(super) fn declared(&mut self, word: &[Piece], state: &mut State) -> Text {
        let Some((Piece::Text(text), others)) = word.split_first() else {
            return self.value(word, state);
        };
        let Some((name, rest)) = text.split_once('=') else {
            return self.value(word, state);
        };
        let mut behind = Vec::with_capacity(word.len());
        if !rest.is_empty() {
            behind.push(Piece::Text(rest.to_owned()));
        }
        behind.extend(others.iter().cloned());
        let mut field = values::literal(&format!("{name}="));
        for part in self.value(&behind, state) {
            push(&mut field, part);
        }
        field
    }

    /// Expands what stands inside double quotes.
    pub(super) fn quoted(&mut self, pieces: &[Piece], state: &mut State) -> Text {
        let wrapped = [Piece::Double(pieces.to_vec())];
        self.value(&wrapped, state)
    }

    fn fields_of(
        &mut self,
        pieces: &[Piece],
        state: &mut State,
        splitting: Splitting,
    ) -> Vec<Text> {
        let mut fields = Fields {
            done: Vec::new(),
            current: Text::new(),
            present: false,
        };
        for (index, piece) in pieces.iter().enumerate() {
            let last = index + 1 == pieces.len();
            match piece {
                Piece::Text(text) => {
                    self.unquoted_text(text, index == 0, last, state, splitting, &mut fields);
                }
                Piece::Quoted(text) => fields.push(Part::Literal(text.clone())),
                Piece::Double(inner) => {
                    if !only_lists(inner) && inner.iter().any(is_list) {
                        self.double_with_list(inner, state, splitting, &mut fields);
                        continue;
                    }
                    fields.present = fields.present || !only_lists(inner);
                    for piece in inner {
                        self.inner_piece(piece, state, true, splitting, &mut fields);
                    }
                }
                _ => self.inner_piece(piece, state, false, splitting, &mut fields),
            }
        }
        fields.next();
        if splitting == Splitting::Fields {
            for field in &fields.done {
                self.note_listing(field, state);
            }
        }
        fields.done
    }

    /// `"$x$@"`: a quoted stretch with a list in it leaves no empty word when the list is empty and
    /// nothing else is in it.
    fn double_with_list(
        &mut self,
        inner: &[Piece],
        state: &mut State,
        splitting: Splitting,
        fields: &mut Fields,
    ) {
        let before = std::mem::take(&mut fields.current);
        let done = fields.done.len();
        for piece in inner {
            self.inner_piece(piece, state, true, splitting, fields);
        }
        if let Some(first) = fields.done.get_mut(done) {
            let rest = std::mem::replace(first, before);
            rest.into_iter().for_each(|part| push(first, part));
            return;
        }
        let is_certain = |part: &Part| matches!(part, Part::Literal(text) if !text.is_empty());
        if !fields.current.iter().any(is_certain) {
            fields.push(Part::Unknown {
                written: "\"$@\"".to_owned(),
                kind: Kind::Benign,
                may_be_empty: true,
                may_split: true,
            });
        }
        let rest = std::mem::replace(&mut fields.current, before);
        rest.into_iter().for_each(|part| fields.push(part));
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one step of a walk, called in two places"
    )]
    fn unquoted_text(
        &mut self,
        text: &str,
        first: bool,
        last: bool,
        state: &State,
        splitting: Splitting,
        fields: &mut Fields,
    ) {
        let mut rest = text;
        let mut ready = String::new();
        if first {
            // `name=~/x` is expanded in any word, the value of an assignment also behind colons.
            let name = text
                .split_once('=')
                .map(|(name, _)| name)
                .filter(|name| is_name(name));
            if let Some(name) = name
                && splitting == Splitting::Fields
            {
                let head = name.len() + 1;
                ready.push_str(text.get(..head).unwrap_or(""));
                rest = text.get(head..).unwrap_or("");
            }
            let many = splitting == Splitting::Value || !ready.is_empty();
            let segments: Vec<&str> = if many {
                rest.split(':').collect()
            } else {
                vec![rest]
            };
            let count = segments.len();
            for (index, segment) in segments.into_iter().enumerate() {
                if index > 0 {
                    ready.push(':');
                }
                let ends = last || index + 1 < count;
                match self.tilde(segment, ends, state) {
                    Some((part, after)) => {
                        if !ready.is_empty() {
                            fields.push(Part::Literal(std::mem::take(&mut ready)));
                        }
                        fields.push(part);
                        ready.push_str(after);
                    }
                    None => ready.push_str(segment),
                }
            }
            rest = "";
        }
        ready.push_str(rest);
        if ready.is_empty() {
            return;
        }
        match pattern_start(&ready) {
            Some(at) if splitting == Splitting::Fields => {
                let (head, tail) = ready.split_at(at);
                if !head.is_empty() {
                    fields.push(Part::Literal(head.to_owned()));
                }
                fields.push(Part::Glob(tail.to_owned()));
            }
            _ => fields.push(Part::Literal(ready)),
        }
    }

    /// The home directory in front of a word, with what follows it.
    fn tilde<'t>(&self, text: &'t str, ends: bool, state: &State) -> Option<(Part, &'t str)> {
        let rest = text.strip_prefix('~')?;
        let length = rest.find(['/', ':']).unwrap_or(rest.len());
        if length == rest.len() && !ends {
            // Something else follows without a slash: bash leaves the tilde alone or looks for a
            // user whose name is not known here.
            return Some((unknown(text, Kind::Benign), ""));
        }
        let (user, after) = rest.split_at(length);
        let value = match user {
            "" => match self.variable("HOME", state) {
                // Without the variable bash asks the user database, which may say otherwise.
                empty if empty.is_empty() && !is_empty_text(state.get("HOME")) => {
                    vec![unknown(text, Kind::Benign)]
                }
                value => value,
            },
            "+" => self.variable("PWD", state),
            "-" => self.variable("OLDPWD", state),
            _ => vec![unknown(&format!("~{user}"), Kind::Benign)],
        };
        match values::as_literal(&value) {
            Some(known) => Some((Part::Literal(known.to_owned()), after)),
            None => Some((unknown(&format!("~{user}"), Kind::Any), after)),
        }
    }

    fn inner_piece(
        &mut self,
        piece: &Piece,
        state: &mut State,
        quoted: bool,
        splitting: Splitting,
        fields: &mut Fields,
    ) {
        match piece {
            Piece::Text(text) => {
                if quoted || splitting == Splitting::Value {
                    fields.push(Part::Literal(text.clone()));
                } else {
                    self.unquoted_text(text, false, true, state, splitting, fields);
                }
            }
            Piece::Quoted(text) => fields.push(Part::Literal(text.clone())),
            Piece::Double(inner) => {
                fields.present = true;
                for piece in inner {
                    self.inner_piece(piece, state, true, splitting, fields);
                }
            }
            Piece::Parameter(parameter) => {
                let list = self.parameter(parameter, state, quoted);
                let split = !quoted && splitting == Splitting::Fields;
                let count = list.len();
                for (index, value) in list.into_iter().enumerate() {
                    self.substituted(value, split, state, fields);
                    if quoted {
                        fields.present = true;
                    }
                    if index + 1 < count {
                        if splitting == Splitting::Fields {
                            fields.next();
                        } else {
                            fields.push(Part::Literal(" ".to_owned()));
                        }
                    }
                }
            }
            Piece::Command {
                list,
                written,
                span,
            } => {
                let part = self.substitution(list, written, *span, state);
                let split = !quoted && splitting == Splitting::Fields;
                self.substituted(vec![part], split, state, fields);
            }
            Piece::Process {
                list,
                written,
                output,
            } => {
                let part = self.process(list, written, *output, state);
                fields.push(Part::Literal("/dev/fd/".to_owned()));
                fields.push(part);
            }
            Piece::Arithmetic {
                pieces,
                written,
                span,
            } => {
                self.arithmetic_with_a_value(pieces, *span, state);
                let split = !quoted && splitting == Splitting::Fields && state.splits_unknown;
                let mut part = unknown(written, Kind::Integer);
                if let Part::Unknown { may_split, .. } = &mut part {
                    *may_split = split;
                }
                fields.push(part);
            }
        }
    }

    /// Adds an expanded value, split into fields where the shell splits it.
    fn substituted(&mut self, value: Text, split: bool, state: &State, fields: &mut Fields) {
        for part in value {
            match part {
                part if !split => fields.push(part),
                Part::Literal(text) if state.splits_unknown => fields.push(Part::Unknown {
                    may_be_empty: true,
                    may_split: true,
                    kind: Kind::Any,
                    written: text,
                }),
                Part::Literal(text) => split_literal(&text, fields),
                Part::Unknown {
                    written,
                    kind: Kind::Integer,
                    may_be_empty,
                    may_split,
                } if !state.splits_unknown => {
                    // No number is split, but where there is none the word vanishes.
                    fields.push(Part::Unknown {
                        written,
                        kind: Kind::Integer,
                        may_be_empty,
                        may_split: may_split || may_be_empty,
                    });
                }
                Part::Unknown {
                    written,
                    kind,
                    may_be_empty,
                    ..
                } => {
                    fields.push(Part::Unknown {
                        written,
                        kind,
                        may_be_empty,
                        may_split: true,
                    });
                }
                Part::Glob(text) => {
                    self.bound(&text, super::outputs::Bound::Glob(text.clone()));
                    fields.push(Part::Unknown {
                        written: text,
                        kind: Kind::Any,
                        may_be_empty: false,
                        may_split: true,
                    });
                }
                Part::Temporary if state.splits_unknown => fields.push(Part::Unknown {
                    written: "$(mktemp)".to_owned(),
                    kind: Kind::Benign,
                    may_be_empty: false,
                    may_split: true,
                }),
                Part::Temporary => fields.push(Part::Temporary),
            }
        }
    }

    /// The value of a variable that the text assigned or that is known from the session.
    pub(super) fn variable(&self, name: &str, state: &State) -> Text {
        match state.get(name) {
            Some(Value::Scalar(text)) => text.to_vec(),
            Some(Value::Array(elements)) => match elements.first() {
                Some(first) if !values::may_split(first) => first.clone(),
                _ => vec![unknown(&format!("${name}"), Kind::Any)],
            },
            Some(Value::Associative) => vec![unknown(&format!("${name}"), Kind::Any)],
            Some(Value::Unset) => Text::new(),
            None => self.environment(name, state),
        }
    }

    fn environment(&self, name: &str, state: &State) -> Text {
        let roots = self.cx.roots;
        let handed_on = matches!(name, "HOME" | "PI_SCRATCH_DIR" | "GUARDIAN_SCRATCH_DIR");
        match state.environment.inherited {
            Inherited::Cleared if handed_on => return Text::new(),
            // A home directory it has in any case.
            Inherited::Unknown if handed_on && name != "HOME" => {
                return vec![unknown(&format!("${name}"), Kind::Benign)];
            }
            _ => {}
        }
        let path = match name {
            "HOME" => Some(roots.home.as_path()),
            "PWD" => match &state.cwd {
                Some(cwd) => Some(&**cwd),
                None => return vec![unknown("$PWD", Kind::Any)],
            },
            // the host puts it into the environment of every call
            "GUARDIAN_DATA_DIR" => Some(roots.guardian_data.as_path()),
            "PI_SCRATCH_DIR" | "GUARDIAN_SCRATCH_DIR" => Some(roots.scratch.as_path()),
            _ => None,
        };
        match path.and_then(|path| path.to_str()) {
            Some(path) => values::literal(path),
            None => vec![unknown(&format!("${name}"), Kind::Benign)],
        }
    }

    /// Reads text that bash would expand as in double quotes (prompts).
    pub(super) fn prompt(&mut self, text: &str, span: Span, state: &mut State) {
        match Parser::new(text, Origin::Fixed(span), 0).quoted_text() {
            Ok(pieces) => {
                self.quoted(&pieces, state);
            }
            Err(problem) => self.partial(&problem),
        }
    }
}

/// The variable is set, to nothing.
fn is_empty_text(value: Option<Value>) -> bool {
    matches!(value, Some(Value::Scalar(_) | Value::Array(_)))
}

/// `"$@"` and `"${a[@]}"` alone make no field when there are no elements.
fn only_lists(pieces: &[Piece]) -> bool {
    !pieces.is_empty() && pieces.iter().all(is_list)
}

/// `$@`, `${x[@]}` and what is made of them.
fn is_list(piece: &Piece) -> bool {
    let Piece::Parameter(parameter) = piece else {
        return false;
    };
    let index = parameter.index.as_deref();
    parameter.name == "@" || index.is_some_and(super::parameters::is_all)
}

fn split_literal(text: &str, fields: &mut Fields) {
    let blank = |character: char| matches!(character, ' ' | '\t' | '\n');
    let mut first = true;
    if text.starts_with(blank) {
        fields.next();
    }
    for word in text.split(blank).filter(|word| !word.is_empty()) {
        if !first {
            fields.next();
        }
        first = false;
        match pattern_start(word) {
            Some(at) => {
                let (head, tail) = word.split_at(at);
                if !head.is_empty() {
                    fields.push(Part::Literal(head.to_owned()));
                }
                fields.push(Part::Glob(tail.to_owned()));
            }
            None => fields.push(Part::Literal(word.to_owned())),
        }
    }
    if text.ends_with(blank) && !text.trim_matches(blank).is_empty() {
        fields.next();
    }
}

/// Offset of the first character that makes unquoted text a pattern.
pub(super) fn pattern_start(text: &str) -> Option<usize> {
    text.char_indices()
        .find_map(|(at, character)| match character {
            '*' | '?' => Some(at),
            '[' if text.get(at + 1..).is_some_and(|rest| rest.contains(']')) => Some(at),
            '+' | '@' | '!' if text.get(at + 1..).is_some_and(|rest| rest.starts_with('(')) => {
                Some(at)
            }
            _ => None,
        })
}

pub(super) fn is_name(text: &str) -> bool {
    text.bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
