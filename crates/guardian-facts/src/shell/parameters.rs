//! `$x` and `${…}`: values, and what the operators do with them.

use std::rc::Rc;

use super::reader::Reader;
use super::syntax::{Operation, Parameter, Piece};
use super::values::{self, Kind, Part, State, Text, Value, unknown};

/// `[@]` or `[*]`.
pub(super) fn is_all(index: &[Piece]) -> bool {
    matches!(index, [Piece::Text(text)] if text == "@" || text == "*")
}

/// Special parameters and shell variables that are always integers.
const INTEGERS: [&str; 13] = [
    "?",
    "#",
    "$",
    "RANDOM",
    "SECONDS",
    "LINENO",
    "UID",
    "EUID",
    "PPID",
    "BASHPID",
    "OPTIND",
    "SRANDOM",
    "EPOCHSECONDS",
];

impl Reader<'_> {
    /// The values of an expansion: one, or several for lists.
    pub(super) fn parameter(
        &mut self,
        parameter: &Parameter,
        state: &mut State,
        quoted: bool,
    ) -> Vec<Text> {
        let mut element = None;
        if let Some(index) = &parameter.index
            && !is_all(index)
            && state.get(&parameter.name) != Some(Value::Associative)
        {
            let before = state.clone();
            let text = self.quoted(index, state);
            self.evaluate(&text, parameter.span, state);
            element = element_number(&text, &before);
        } else if let Some(index) = &parameter.index
            && !is_all(index)
        {
            self.quoted(index, state);
        }
        let mut values = self.plain_values(parameter, element, state);
        match &parameter.operation {
            Operation::Plain => {}
            Operation::Length => values = vec![vec![unknown(&parameter.written, Kind::Integer)]],
            // `${!x[0]}` is the variable that the element names, only `${!x[@]}` the keys.
            Operation::Keys if !parameter.index.as_deref().is_some_and(is_all) => {
                values = vec![self.indirect(parameter, &values, state)];
            }
            Operation::Indirect => values = vec![self.indirect(parameter, &values, state)],
            Operation::Keys => values = keys(&parameter.name, &parameter.written, state),
            Operation::Names => {
                values = vec![vec![listed(&parameter.written, Kind::Any)]];
            }
            Operation::Alternative { colon, kind, word } => {
                values = self.alternative(parameter, values, (*colon, *kind), word, state, quoted);
            }
            Operation::Remove { operator, pattern } => {
                let pattern = self.quoted_pattern(pattern, state);
                for value in &mut values {
                    *value = removed(value, operator, &pattern, &parameter.written);
                }
            }
            Operation::Replace { patterns } => {
                for pattern in patterns {
                    self.quoted_pattern(pattern, state);
                }
                values = changed(values, &parameter.written);
            }
            Operation::Substring { parts } => {
                for part in parts {
                    self.arithmetic(part, parameter.span, state);
                }
                // A negative length that reaches beyond the beginning is an error.
                if parts.iter().any(|part| !is_plain_length(part)) {
                    self.may_give_up(state);
                }
                let list = matches!(parameter.name.as_str(), "@" | "*")
                    || parameter.index.as_deref().is_some_and(is_all);
                // `${@:0}` begins with `$0`, whatever the list holds.
                values = if list {
                    vec![vec![listed(&parameter.written, Kind::Any)]]
                } else {
                    changed(values, &parameter.written)
                };
            }
            Operation::Transform(letter) => {
                if *letter == 'P' {
                    for value in &values {
                        self.prompt_value(value, parameter, state);
                    }
                }
                values = changed(values, &parameter.written);
            }
        }
        values
    }

    fn prompt_value(&mut self, value: &Text, parameter: &Parameter, state: &mut State) {
        match values::as_literal(value) {
            Some(text) => {
                let text = text.to_owned();
                self.prompt(&text, parameter.span, state);
            }
            None if values::is_number(value) => {}
            None => self.partial_at(
                parameter.span,
                "prompt-expansion",
                "a value that is not known is expanded as a prompt",
            ),
        }
    }

    fn quoted_pattern(&mut self, pattern: &[Piece], state: &mut State) -> Text {
        let live = |piece: &Piece| {
            matches!(piece, Piece::Text(text)
            if text.contains(['*', '?', '[', '(', '~']))
        };
        let value = self.value(pattern, state);
        match pattern {
            [piece @ Piece::Text(text)] if live(piece) => vec![Part::Glob(text.clone())],
            _ if pattern.iter().any(live) => vec![unknown("pattern", Kind::Any)],
            _ => value,
        }
    }

    fn plain_values(
        &mut self,
        parameter: &Parameter,
        element: Option<usize>,
        state: &State,
    ) -> Vec<Text> {
        let name = parameter.name.as_str();
        let written = &parameter.written;
        if INTEGERS.contains(&name) && state.assigned(name).is_none() {
            return vec![vec![unknown(written, Kind::Integer)]];
        }
        if matches!(name, "@" | "*") {
            return match &state.positional {
                Some(list) if name == "*" && list.len() > 1 => {
                    vec![vec![listed(written, Kind::Any)]]
                }
                Some(list) => list.to_vec(),
                None => vec![vec![listed(written, Kind::Any)]],
            };
        }
        if let (Some(zero), "0") = (&state.zero, name) {
            return vec![zero.to_vec()];
        }
        if matches!(name, "-" | "_" | "0") {
            return vec![vec![unknown(
                written,
                if name == "_" { Kind::Any } else { Kind::Benign },
            )]];
        }
        if let Ok(number) = name.parse::<usize>() {
            return match &state.positional {
                Some(list) if list.iter().any(|text| values::may_split(text)) => {
                    vec![vec![unknown(written, Kind::Any)]]
                }
                Some(list) => vec![
                    number
                        .checked_sub(1)
                        .and_then(|index| list.get(index))
                        .cloned()
                        .unwrap_or_default(),
                ],
                None => vec![vec![unknown(written, Kind::Any)]],
            };
        }
        match &parameter.index {
            None => vec![self.variable(name, state)],
            Some(index) if is_all(index) => match state.get(name) {
                Some(Value::Array(elements)) => {
                    let star = matches!(index.as_slice(), [Piece::Text(text)] if text == "*");
                    if star && elements.len() > 1 {
                        vec![vec![listed(written, Kind::Any)]]
                    } else {
                        elements.to_vec()
                    }
                }
                Some(Value::Unset) => Vec::new(),
                Some(Value::Scalar(text))
                    if !values::may_split(&text) && values::worst(&text).is_none() =>
                {
                    vec![text.to_vec()]
                }
                _ => vec![vec![listed(written, Kind::Any)]],
            },
            Some(_) => {
                let known = match (state.get(name), element) {
                    (Some(Value::Array(elements)), Some(number)) if are_fixed(&elements) => {
                        Some(elements.get(number).cloned().unwrap_or_default())
                    }
                    _ => None,
                };
                vec![known.unwrap_or_else(|| vec![unknown(written, Kind::Any)])]
            }
        }
    }

    fn indirect(&mut self, parameter: &Parameter, values: &[Text], state: &State) -> Text {
        let value = values.first().cloned().unwrap_or_default();
        self.may_give_up(state);
        match values::as_literal(&value) {
            Some(name) if super::expand::is_name(name) => {
                let name = name.to_owned();
                self.variable(&name, state)
            }
            Some("") => Text::new(),
            _ if matches!(values::worst(&value), Some(Kind::Integer | Kind::Benign))
                && !values::spells_code(&value) =>
            {
                vec![listed(&parameter.written, Kind::Any)]
            }
            _ => {
                self.partial_at(
                    parameter.span,
                    "indirect",
                    "a value that is not known is used as a variable name",
                );
                vec![listed(&parameter.written, Kind::Any)]
            }
        }
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one step of a walk, called in two places"
    )]
    fn alternative(
        &mut self,
        parameter: &Parameter,
        values: Vec<Text>,
        (colon, kind): (bool, char),
        word: &[Piece],
        state: &mut State,
        quoted: bool,
    ) -> Vec<Text> {
        let known = match (state.get(&parameter.name), values.as_slice()) {
            (Some(Value::Unset), _) => Some(false),
            (_, []) => Some(false),
            (_, [value]) => match values::as_literal(value) {
                Some("") if colon => Some(false),
                Some("") => None,
                Some(_) => Some(true),
                None => value
                    .iter()
                    .any(|part| matches!(part, Part::Literal(_)))
                    .then_some(true),
            },
            _ => Some(true),
        };
        let list = parameter.name == "@" || parameter.index.as_deref().is_some_and(is_all);
        if list && quoted && values.is_empty() {
            // No field at all, or what the word gives.
            self.alternative_value(word, state, quoted);
            return vec![vec![listed(&parameter.written, Kind::Any)]];
        }
        let use_word = if kind == '+' {
            known
        } else {
            known.map(|set| !set)
        };
        let otherwise = if kind == '+' {
            vec![Text::new()]
        } else {
            values
        };
        match use_word {
            Some(false) => otherwise,
            Some(true) => {
                let value = self.alternative_value(word, state, quoted);
                if list && quoted && value.is_empty() {
                    // `"${@+}"` is no field at all.
                    return vec![vec![listed(&parameter.written, Kind::Any)]];
                }
                if kind == '=' {
                    self.assign(
                        &parameter.name,
                        Value::Scalar(Rc::new(value.clone())),
                        parameter.span,
                        state,
                    );
                }
                if kind == '?' { otherwise } else { vec![value] }
            }
            None => {
                let before = state.clone();
                let value = self.alternative_value(word, state, quoted);
                if kind == '=' {
                    let joined = Value::Scalar(Rc::new(value.clone()));
                    self.assign(&parameter.name, joined, parameter.span, state);
                    let after = state.clone();
                    *state = before.join(after);
                } else {
                    let after = state.clone();
                    *state = before.join(after);
                }
                let worst = std::iter::once(&value)
                    .chain(&otherwise)
                    .filter_map(|text| values::worst(text))
                    .max()
                    .unwrap_or(Kind::Benign)
                    .max(Kind::Benign);
                // Without a colon an empty value is a value.
                let stays_empty =
                    !colon && otherwise.iter().any(|value| value.iter().all(may_be_empty));
                let empty = kind == '+' || stays_empty || value.iter().all(may_be_empty);
                vec![vec![Part::Unknown {
                    written: parameter.written.to_string(),
                    kind: if values::as_literal(&value)
                        .is_some_and(|text| text.contains(['$', '`', '[']))
                    {
                        Kind::Any
                    } else {
                        worst
                    },
                    may_be_empty: empty,
                    may_split: values::may_split(&value)
                        || otherwise.iter().any(|text| values::may_split(text))
                        || (list && quoted),
                }]]
            }
        }
    }

    fn alternative_value(&mut self, word: &[Piece], state: &mut State, quoted: bool) -> Text {
        if quoted {
            return self.quoted(word, state);
        }
        let value = self.value(word, state);
        if word
            .iter()
            .any(|piece| matches!(piece, Piece::Quoted(_) | Piece::Double(_)))
        {
            // Quoted parts would not split, the rest would.
            let kind = values::worst(&value)
                .unwrap_or(Kind::Benign)
                .max(Kind::Benign);
            return vec![listed("${…}", kind)];
        }
        value
    }
}

/// Every element is one word, so that they have the numbers in whose order they stand.
fn are_fixed(elements: &[Text]) -> bool {
    !elements.iter().any(|text| {
        values::may_split(text) || text.iter().any(|part| matches!(part, Part::Glob(_)))
    })
}

/// The number that a subscript stands for: one written out, or a variable that holds one.
fn element_number(subscript: &Text, state: &State) -> Option<usize> {
    // `010` is eight.
    let number = |text: &str| {
        let plain = text == "0" || !text.starts_with('0');
        (plain && text.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| text.parse().ok())
            .flatten()
    };
    let text = values::as_literal(subscript)?;
    if !super::expand::is_name(text) {
        return number(text);
    }
    match state.get(text) {
        Some(Value::Scalar(value)) => number(values::as_literal(&value)?),
        _ => None,
    }
}

/// `${!x[@]}`: the numbers of the elements of an array.
fn keys(name: &str, written: &str, state: &State) -> Vec<Text> {
    match state.get(name) {
        Some(Value::Array(elements)) if are_fixed(&elements) => (0..elements.len())
            .map(|number| values::literal(&number.to_string()))
            .collect(),
        // Which there are is not known, but numbers they are.
        Some(Value::Array(_)) => vec![vec![listed(written, Kind::Integer)]],
        _ => vec![vec![listed(written, Kind::Any)]],
    }
}

fn may_be_empty(part: &Part) -> bool {
    match part {
        Part::Literal(text) => text.is_empty(),
        Part::Unknown {
            may_be_empty,
            may_split,
            ..
        } => *may_be_empty || *may_split,
        Part::Glob(_) | Part::Temporary => false,
    }
}

/// An unknown that may be several words even in quotes.
fn listed(written: &str, kind: Kind) -> Part {
    Part::Unknown {
        written: written.to_owned(),
        kind,
        may_be_empty: true,
        may_split: true,
    }
}

/// Values after a change that is not followed.
fn changed(values: Vec<Text>, written: &str) -> Vec<Text> {
    values
        .into_iter()
        .map(|value| {
            let kind = match values::worst(&value) {
                None | Some(Kind::Integer) => Kind::Any,
                Some(kind) => kind,
            };
            vec![Part::Unknown {
                written: written.to_owned(),
                kind,
                may_be_empty: true,
                may_split: values::may_split(&value),
            }]
        })
        .collect()
}

/// `${x#…}` and its relatives, where value and pattern are known.
fn removed(value: &[Part], operator: &str, pattern: &[Part], written: &str) -> Text {
    let fallback = || {
        changed(vec![value.to_vec()], written)
            .pop()
            .unwrap_or_default()
    };
    let Some(value_text) = values::as_literal(value) else {
        return fallback();
    };
    let pattern = match pattern {
        [] => return value.to_vec(),
        [Part::Literal(text)] if !text.contains(['*', '?', '[', '\\', '(']) => text.clone(),
        [Part::Glob(text)] if !text.contains(['[', '\\', '(', '~']) => text.clone(),
        _ => return fallback(),
    };
    if value_text.len() > 1024 || pattern.len() > 64 {
        return fallback();
    }
    let mut cuts: Vec<usize> = value_text.char_indices().map(|(at, _)| at).collect();
    cuts.push(value_text.len());
    let prefix = operator.starts_with('#');
    let longest = operator.len() == 2;
    if prefix == longest {
        cuts.reverse();
    }
    for cut in cuts {
        let (head, tail) = value_text.split_at(cut);
        let (tried, kept) = if prefix { (head, tail) } else { (tail, head) };
        if matches(&pattern, tried) {
            return values::literal(kept);
        }
    }
    value.to_vec()
}

/// Shell pattern of `*`, `?` and literals.
fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut position) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while position < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, position));
                at += 1;
            }
            Some('?') => {
                at += 1;
                position += 1;
            }
            Some(character) if text.get(position) == Some(character) => {
                at += 1;
                position += 1;
            }
            _ => match star {
                Some((star_at, tried)) => {
                    star = Some((star_at, tried + 1));
                    at = star_at + 1;
                    position = tried + 1;
                }
                None => return false,
            },
        }
    }
    pattern
        .get(at..)
        .is_some_and(|rest| rest.iter().all(|character| *character == '*'))
}

/// Blanks, digits and nothing else.
fn is_plain_length(part: &[Piece]) -> bool {
    match part {
        [] => true,
        [Piece::Text(text) | Piece::Quoted(text)] => text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b' '),
        _ => false,
    }
}
