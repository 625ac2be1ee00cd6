//! Assignments in the current shell, by whatever builtin makes them.

use std::rc::Rc;

use super::parser::Origin;
use super::reader::Reader;
use super::simple::Call;
use super::values::{self, Kind, Part, State, Text, Value};
use crate::opacity;
use crate::{Assignment, Effect, Span};

/// Variables with the integer attribute from the start: what is assigned is evaluated.
const EVALUATED: [&str; 14] = [
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "OPTIND",
    "HISTCMD",
    "BASHPID",
    "BASH_SUBSHELL",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "PPID",
    "UID",
    "EUID",
    "MAILCHECK",
];

impl Reader<'_> {
    /// Gives a variable a value, with what follows from its name.
    pub(super) fn assign(&mut self, name: &str, value: Value, span: Span, state: &mut State) {
        let value = self.unless_arithmetic_fails(name, value, state);
        let text = match &value {
            Value::Scalar(text) => Some(text.to_vec()),
            Value::Unset => Some(Text::new()),
            Value::Array(_) | Value::Associative => None,
        };
        let known = text
            .as_deref()
            .and_then(values::as_literal)
            .map(str::to_owned);
        if state.integers.contains(name) || EVALUATED.contains(&name) {
            match &value {
                Value::Scalar(text) => {
                    let text = Rc::clone(text);
                    self.evaluate(&text, span, state);
                }
                Value::Array(elements) => {
                    for element in Rc::clone(elements).iter() {
                        self.evaluate(element, span, state);
                    }
                }
                Value::Associative | Value::Unset => {}
            }
        }
        if state.integers.contains(name) && text.is_some() {
            state.set_unknown(name, Kind::Integer);
            return;
        }
        self.may_give_up_assigning(name, state);
        if state.stubborn.contains(name) {
            self.assign_stubborn(name, state);
            return;
        }
        if state.get(name) == Some(Value::Associative) && value != Value::Unset {
            return;
        }
        match name {
            "IFS" => {
                state.splits_unknown = known.as_deref() != Some(" \t\n");
                state.set(name, value);
                return;
            }
            "PS4" | "PS0" | "PS1" | "PS2" | "PROMPT_COMMAND" => match &known {
                Some(text) if name == "PROMPT_COMMAND" => {
                    let text = text.clone();
                    let later = state.clone();
                    self.text(&text, Origin::Fixed(span), later);
                }
                Some(text) => {
                    let text = text.clone();
                    let mut later = state.clone();
                    self.prompt(&text, span, &mut later);
                }
                None => self.partial_at(
                    span,
                    "prompt-expansion",
                    format!("the value of `{name}` is not known"),
                ),
            },
            "POSIXLY_CORRECT" | "SHELLOPTS" | "BASHOPTS" | "BASH_COMPAT" | "FUNCNEST" => {
                self.partial_at(
                    span,
                    opacity::SHELL_OPTIONS,
                    format!("`{name}` changes how the rest is read"),
                );
            }
            "LC_ALL" | "LC_CTYPE" | "LANG"
                if value != Value::Unset && !known.as_deref().is_some_and(is_plain_locale) =>
            {
                self.partial_at(
                    span,
                    "locale",
                    "bytes mean other letters to the shell from here on",
                );
            }
            "TEXTDOMAIN" | "TEXTDOMAINDIR" => {
                self.partial_at(span, "translation", "translated texts may run commands");
            }
            "GLOBIGNORE" => {
                self.partial_at(
                    span,
                    opacity::SHELL_OPTIONS,
                    "patterns match hidden names too",
                );
            }
            _ => {}
        }
        let value = match value {
            // These keep a meaning of their own until they are unset.
            Value::Scalar(_)
                if matches!(
                    name,
                    "RANDOM"
                        | "SECONDS"
                        | "LINENO"
                        | "OPTIND"
                        | "SRANDOM"
                        | "EPOCHSECONDS"
                        | "BASHPID"
                        | "PPID"
                        | "UID"
                        | "EUID"
                ) =>
            {
                Value::Scalar(Rc::new(vec![values::unknown(
                    &format!("${name}"),
                    Kind::Integer,
                )]))
            }
            Value::Scalar(_)
                if matches!(
                    name,
                    "_" | "GROUPS"
                        | "FUNCNAME"
                        | "BASH_COMMAND"
                        | "BASH_SUBSHELL"
                        | "EPOCHREALTIME"
                        | "BASH_ARGV0"
                        | "DIRSTACK"
                        | "HISTCMD"
                        | "COMP_WORDBREAKS"
                        | "PIPESTATUS"
                ) =>
            {
                Value::Scalar(Rc::new(vec![values::unknown(
                    &format!("${name}"),
                    Kind::Any,
                )]))
            }
            value => value,
        };
        // A value for the name of an array is one for its first element.
        let value = match (state.get(name), value) {
            (Some(Value::Array(elements)), Value::Scalar(text)) => {
                let mut elements = elements.to_vec();
                match elements.first_mut() {
                    Some(first) if !values::may_split(first) => *first = text.to_vec(),
                    _ => elements.insert(0, text.to_vec()),
                }
                Value::Array(Rc::new(elements))
            }
            (Some(Value::Scalar(old)), Value::Scalar(text)) if values::may_split(&old) => {
                let rest = Part::Unknown {
                    written: format!("${name}"),
                    kind: Kind::Any,
                    may_be_empty: true,
                    may_split: true,
                };
                Value::Array(Rc::new(vec![text.to_vec(), vec![rest]]))
            }
            (_, value) => value,
        };
        state.set(name, value);
    }

    /// Arithmetic may end in an error (`y=/x; : $((y++))`, `$((1/0))`), and then the variable keeps
    /// what it had.
    fn unless_arithmetic_fails(&self, name: &str, value: Value, state: &State) -> Value {
        let Value::Scalar(text) = &value else {
            return value;
        };
        let computed = text.iter().any(|part| {
            matches!(part, Part::Unknown { written, kind: Kind::Integer, .. }
                if written.starts_with("$((")
                    || written.starts_with("$[")
                    || written.strip_prefix('$') == Some(name))
        });
        if !computed {
            return value;
        }
        let old = match state.get(name) {
            Some(Value::Scalar(old)) => old.to_vec(),
            Some(Value::Unset) => Text::new(),
            Some(Value::Array(_) | Value::Associative) => {
                vec![values::unknown(&format!("${name}"), Kind::Any)]
            }
            // Of the environment's own only places are known.
            None => match self.variable(name, state) {
                known if values::as_literal(&known).is_some() => known,
                _ => Text::new(),
            },
        };
        if old.is_empty() || values::is_number(&old) {
            return value;
        }
        let kind = match values::worst(&old) {
            _ if values::spells_code(&old) => Kind::Any,
            Some(kind) => kind.max(Kind::Benign),
            None => Kind::Benign,
        };
        Value::Scalar(Rc::new(vec![values::unknown(&format!("${name}"), kind)]))
    }

    /// Something was assigned to a variable that may keep its value, or change what it is given.
    pub(super) fn assign_stubborn(&mut self, name: &str, state: &mut State) {
        if name == "IFS" {
            state.splits_unknown = true;
        }
        state.set(
            name,
            Value::Array(Rc::new(vec![vec![Part::Unknown {
                written: format!("${name}"),
                kind: Kind::Any,
                may_be_empty: true,
                may_split: true,
            }]])),
        );
    }

    /// From here on the variable does not simply take what is assigned to it.
    pub(super) fn make_stubborn(&mut self, name: &str, state: &mut State) {
        if !state.stubborn.contains(name) {
            Rc::make_mut(&mut state.stubborn).insert(name.to_owned());
        }
    }

    pub(super) fn assign_integer(&mut self, name: &str, span: Span, state: &mut State) {
        let part = values::unknown(&format!("${name}"), Kind::Integer);
        self.assign(name, Value::Scalar(Rc::new(vec![part])), span, state);
    }

    /// A field used as the name of a variable: its subscript is evaluated.
    pub(super) fn variable_name(&mut self, name: &Text, span: Span, state: &mut State) {
        match values::as_literal(name).map(str::to_owned) {
            Some(text) => {
                if let Some((_, rest)) = text.split_once('[') {
                    let inner = rest.strip_suffix(']').unwrap_or(rest);
                    if inner != "@" && inner != "*" {
                        self.evaluate(&values::literal(inner), span, state);
                    }
                }
            }
            None => match values::worst(name) {
                Some(Kind::Integer | Kind::Benign)
                    if !name
                        .iter()
                        .any(|part| matches!(part, Part::Literal(text) if text.contains('['))) => {}
                _ => self.partial_at(
                    span,
                    "variable-name",
                    "a value that is not known is used as a variable name",
                ),
            },
        }
    }

    /// Gives a variable whose name is a field a value that is not known.
    pub(super) fn set_named(&mut self, name: &Text, kind: Kind, span: Span, state: &mut State) {
        self.variable_name(name, span, state);
        match values::as_literal(name).map(str::to_owned) {
            Some(text) if super::expand::is_name(&text) => {
                let part = values::unknown(&format!("${text}"), kind);
                self.assign(&text, Value::Scalar(Rc::new(vec![part])), span, state);
            }
            Some(text) => {
                if let Some((array, _)) = text.split_once('[')
                    && super::expand::is_name(array)
                {
                    self.set_element(array, state);
                }
            }
            None => {
                state.forget_named();
            }
        }
    }

    /// `declare`, `typeset`, `local`, `export`, `readonly`.
    pub(super) fn declare(&mut self, index: usize, name: &str, call: &Call, state: &mut State) {
        let span = call.span;
        let mut flags = String::new();
        let mut names = 0;
        for word in call.argv.iter().skip(1) {
            let literal = values::as_literal(word).map(str::to_owned);
            if let Some(text) = &literal
                && text.starts_with(['-', '+'])
                && text.len() > 1
            {
                flags.push_str(text);
                continue;
            }
            names += 1;
            let Some(Part::Literal(head)) = word.first() else {
                let array = matches!(word.as_slice(), [Part::Unknown { written, .. }] if written.ends_with("=(…)"));
                if let ([Part::Unknown { written, .. }], true) = (word.as_slice(), array) {
                    let declared = written.trim_end_matches("=(…)").to_owned();
                    self.note_local(name, &flags, &declared, state);
                    self.attributes(&flags, &declared, state);
                    hand_on(name, &flags, &declared, state);
                    if flags.contains('r') || name == "readonly" {
                        self.make_stubborn(&declared, state);
                    }
                    if flags.contains(['g', 'i', 'l', 'u', 'c']) {
                        // The elements were read before these were.
                        self.evaluate(&[values::unknown(written, Kind::Any)], span, state);
                    }
                } else {
                    self.variable_name(word, span, state);
                    self.partial_at(span, "variable-name", "a declared name is not known");
                    state.forget_named();
                }
                continue;
            };
            let head = head.clone();
            let (declared, value) = match head.split_once('=') {
                Some((declared, rest)) => {
                    let mut value = values::literal(rest);
                    word.iter()
                        .skip(1)
                        .for_each(|part| values::push(&mut value, part.clone()));
                    (declared.to_owned(), Some(value))
                }
                None if literal.is_some() => (head.clone(), None),
                None => {
                    self.partial_at(span, "variable-name", "a declared name is not known");
                    state.forget_named();
                    continue;
                }
            };
            let append = declared.ends_with('+');
            let declared = declared.trim_end_matches('+').to_owned();
            if flags.contains('n') && name != "export" {
                self.partial_at(span, "nameref", "a name that stands for another variable");
                state.forget_named();
                continue;
            }
            if !super::expand::is_name(&declared) {
                self.variable_name(&values::literal(&declared), span, state);
                let array = declared.split('[').next().unwrap_or("").to_owned();
                self.set_element(&array, state);
                hand_on(name, &flags, &array, state);
                continue;
            }
            self.note_local(name, &flags, &declared, state);
            self.attributes(&flags, &declared, state);
            if flags.contains('g') && !self.frames.is_empty() {
                // It passes by what a function of the same name holds.
                self.reveal(&declared, state);
            }
            let known = value
                .as_deref()
                .and_then(values::as_literal)
                .map(str::to_owned);
            let new_local =
                name == "local" || (matches!(name, "declare" | "typeset") && !flags.contains('g'));
            if new_local && !self.frames.is_empty() && value.is_some() && !append {
                state.set(&declared, Value::Unset);
            }
            if let Some(value) = value {
                let changes = super::environment::changes_execution(&declared, known.as_deref());
                let fact = Assignment {
                    name: declared.clone(),
                    value: values::to_word(&value, span),
                    changes_execution: changes,
                    span,
                };
                if let Some(command) = self.facts.commands.get_mut(index) {
                    command.assignments.push(fact);
                }
                let array = flags.contains(['a', 'A']) && !value.is_empty();
                let was_array = matches!(
                    state.get(&declared),
                    Some(Value::Array(_) | Value::Associative)
                );
                let opens = match value.first() {
                    Some(Part::Literal(text)) => text.starts_with('('),
                    Some(_) => was_array,
                    None => false,
                };
                if opens {
                    self.partial_at(span, "declared-array", "an array is made of text");
                }
                if append || array {
                    // `declare -a x='(…)'` is expanded once more.
                    if array
                        && known
                            .as_deref()
                            .is_none_or(|text| text.contains(['$', '`', '(']))
                    {
                        self.partial_at(span, "declared-array", "an array is made of text");
                    }
                    self.assign(&declared, Value::Scalar(Rc::new(value)), span, state);
                    state.set_unknown(&declared, Kind::Any);
                } else {
                    self.assign(&declared, Value::Scalar(Rc::new(value)), span, state);
                }
            } else if name == "local"
                || (matches!(name, "declare" | "typeset") && !self.frames.is_empty())
            {
                if flags.contains('A') {
                    state.set(&declared, Value::Associative);
                } else if flags.contains('I') {
                    // It begins with the value of the caller.
                    state.set_unknown(&declared, Kind::Any);
                } else if !flags.contains('g') && !self.is_prefixed(&declared) {
                    state.set(&declared, Value::Unset);
                } else {
                    state.set_unknown(&declared, Kind::Any);
                }
            } else if flags.contains('A') {
                state.set(&declared, Value::Associative);
            }
            hand_on(name, &flags, &declared, state);
            if flags.contains('r') || name == "readonly" {
                self.make_stubborn(&declared, state);
            }
        }
        if names == 0 || flags.contains(['p', 'f', 'F']) {
            self.add_effect(index, Effect::ReadsEnvironment);
        }
        if name == "export" && flags.contains('f') {
            self.partial_at(
                span,
                "exported-function",
                "a function is handed to other shells",
            );
        }
    }

    /// A value that lay hidden behind a local one, or a temporary one, may show again.
    pub(super) fn reveal(&mut self, name: &str, state: &mut State) {
        self.revealed.insert(name.to_owned());
        self.assign_stubborn(name, state);
    }

    fn attributes(&mut self, flags: &str, declared: &str, state: &mut State) {
        if flags.contains(['l', 'u', 'c']) {
            self.make_stubborn(declared, state);
        }
        if flags.contains('i') {
            if flags.contains('+') {
                Rc::make_mut(&mut state.integers).remove(declared);
                return;
            }
            Rc::make_mut(&mut state.integers).insert(declared.to_owned());
        }
        if flags.contains('A')
            && !flags.contains('+')
            && !matches!(state.get(declared), Some(Value::Associative))
        {
            state.set(declared, Value::Associative);
        }
    }

    fn note_local(&mut self, name: &str, flags: &str, declared: &str, state: &State) {
        let local =
            name == "local" || (matches!(name, "declare" | "typeset") && !flags.contains('g'));
        let conditional = self.scope.conditional;
        if local && let Some(frame) = self.frames.last_mut() {
            let value = state.assigned(declared).cloned();
            frame.locals.push((
                declared.to_owned(),
                value,
                conditional && !frame.was_conditional,
            ));
        }
    }

    /// `test -v name`, and words that could become one.
    pub(super) fn test_words(&mut self, call: &Call, span: Span, state: &mut State) {
        let mut after_v = false;
        for word in call.argv.iter().skip(1) {
            let text = values::as_literal(word);
            if after_v {
                let word = word.clone();
                self.variable_name(&word, span, state);
            }
            after_v = matches!(text, Some("-v" | "-R"));
            if values::may_split(word)
                && !matches!(values::worst(word), Some(Kind::Integer | Kind::Benign))
            {
                self.partial_at(
                    span,
                    "test-words",
                    "words of a test that are not known are not quoted",
                );
            }
        }
        let first_unknown = call.argv.get(1).is_some_and(|word| {
            word.iter().any(|part| {
                matches!(
                    part,
                    Part::Unknown {
                        kind: Kind::Any | Kind::Remote,
                        ..
                    }
                )
            }) && matches!(word.first(), Some(Part::Unknown { .. }))
        });
        let closing = call
            .argv
            .last()
            .is_some_and(|word| values::as_literal(word) == Some("]"));
        if first_unknown && call.argv.len() == if closing { 4 } else { 3 } {
            self.partial_at(span, "test-words", "the operator of a test is not known");
        }
    }
}

/// What a declaration says of the variable's place in the environment of programs.
fn hand_on(builtin: &str, flags: &str, declared: &str, state: &mut State) {
    let (mut added, mut removed) = (String::new(), String::new());
    let mut on = true;
    for letter in flags.chars() {
        match letter {
            '-' | '+' => on = letter == '-',
            _ if on => added.push(letter),
            _ => removed.push(letter),
        }
    }
    let takes_back = builtin == "export" && added.contains('n');
    if takes_back || removed.contains('x') {
        state.environment.withhold(declared);
    } else if builtin == "export" || added.contains('x') {
        state.export(declared);
    }
    if added.contains(['a', 'A']) && super::environment::may_come_from_outside(declared) {
        // Programs get no arrays.
        state.environment.withhold(declared);
    }
}

/// A locale in which every byte below 0x80 is a letter of its own: UTF-8, or one byte a letter. In
/// the others (GBK, Shift JIS …) a backtick or a backslash may be the second half of a letter.
fn is_plain_locale(name: &str) -> bool {
    let Some((_, charset)) = name.split_once('.') else {
        return matches!(name, "" | "C" | "POSIX") || !name.starts_with(['z', 'j', 'k']);
    };
    let charset = charset.split('@').next().unwrap_or_default();
    let charset: String = charset
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    charset == "utf8" || charset.starts_with("iso8859") || charset.starts_with("koi8")
}
