//! Values: what is known of variables, the working directory and functions at one point of a text.
//!
//! A [`State`] is cheap to clone and can be joined: what differs between two ways of getting to a
//! point is unknown from there on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::bounds;
use super::environment::Environment;
use super::syntax::Command;
use crate::{Span, Word, WordPart};

/// What may be in a text that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A decimal integer.
    Integer,
    /// Text from the environment or from literals of this text: not code in disguise.
    Benign,
    /// Anything, chosen by whoever wrote what was read.
    Any,
    /// Anything, and it came over the network.
    Remote,
}

/// A part of a value or field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Literal(String),
    /// Text that matches this pattern (or the pattern itself, when nothing does).
    Glob(String),
    Unknown {
        written: String,
        kind: Kind,
        may_be_empty: bool,
        may_split: bool,
    },
    /// A fresh path printed by `mktemp`.
    Temporary,
}

/// A value or field.
pub(super) type Text = Vec<Part>;

/// An unknown part.
pub(super) fn unknown(written: &str, kind: Kind) -> Part {
    Part::Unknown {
        written: written.to_owned(),
        kind,
        may_be_empty: kind != Kind::Integer,
        may_split: false,
    }
}

/// The part as one field: what a loop makes of each word of a list.
pub(super) fn whole(part: Part) -> Part {
    match part {
        Part::Unknown { written, kind, .. } => Part::Unknown {
            written,
            kind,
            may_be_empty: false,
            may_split: false,
        },
        other => other,
    }
}

/// A field of known text.
pub(super) fn literal(text: &str) -> Text {
    if text.is_empty() {
        Vec::new()
    } else {
        vec![Part::Literal(text.to_owned())]
    }
}

/// The text when it is wholly known.
pub(super) fn as_literal(text: &[Part]) -> Option<&str> {
    match text {
        [] => Some(""),
        [Part::Literal(text)] => Some(text),
        _ => None,
    }
}

/// It may become several words or none.
pub(super) fn may_split(text: &[Part]) -> bool {
    text.iter().any(|part| {
        matches!(
            part,
            Part::Unknown {
                may_split: true,
                ..
            }
        )
    })
}

/// The worst kind of unknown in a text; `None` when all is known.
pub(super) fn worst(text: &[Part]) -> Option<Kind> {
    text.iter()
        .filter_map(|part| match part {
            Part::Literal(_) => None,
            Part::Unknown { kind, .. } => Some(*kind),
            Part::Temporary => Some(Kind::Benign),
            Part::Glob(_) => Some(Kind::Any),
        })
        .max()
}

/// The kind that describes a text when its parts are forgotten.
fn kind_of(text: &[Part]) -> Kind {
    match as_literal(text) {
        Some(known) if is_integer(known) => Kind::Integer,
        Some(known) if known.contains(['$', '`', '[']) => Kind::Any,
        Some(_) => Kind::Benign,
        None if spells_code(text) => Kind::Any,
        None => match worst(text) {
            Some(Kind::Integer) if text.len() > 1 => Kind::Benign,
            Some(kind) => kind,
            None => Kind::Any,
        },
    }
}

/// A number, whatever its unknown parts are. A text with a number in it (`x$?`, `$?+y`) is none: it
/// may be the name of a variable.
pub(super) fn is_number(text: &[Part]) -> bool {
    !text.is_empty()
        && text.iter().all(|part| match part {
            Part::Literal(known) => is_integer(known),
            Part::Unknown { kind, .. } => *kind == Kind::Integer,
            Part::Temporary | Part::Glob(_) => false,
        })
}

/// What is known of the text has signs that evaluation acts on.
pub(super) fn spells_code(text: &[Part]) -> bool {
    text.iter()
        .any(|part| matches!(part, Part::Literal(known) if known.contains(['$', '`', '['])))
}

pub(super) fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The field as a word of facts.
pub(super) fn to_word(text: &[Part], span: Span) -> Word {
    let parts = text
        .iter()
        .map(|part| match part {
            Part::Literal(text) => WordPart::Literal(text.clone()),
            Part::Glob(text) => WordPart::Glob(text.clone()),
            Part::Unknown {
                written,
                may_be_empty,
                may_split,
                kind,
            } => WordPart::Unknown {
                written: written.clone(),
                may_be_empty: *may_be_empty,
                may_split: *may_split,
                integer: *kind == Kind::Integer,
            },
            Part::Temporary => WordPart::TemporaryPath,
        })
        .collect();
    Word { parts, span }
}

/// Appends a part, merging neighbouring literals.
pub(super) fn push(text: &mut Text, part: Part) {
    match (text.last_mut(), part) {
        (_, Part::Literal(new)) if new.is_empty() => {}
        (Some(Part::Literal(last)), Part::Literal(new)) => last.push_str(&new),
        (_, part) => text.push(part),
    }
}

/// What is known of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Scalar(Rc<Text>),
    /// Elements in order; one that may split stands for any number.
    Array(Rc<Vec<Text>>),
    /// An associative array; its elements are not followed.
    Associative,
    Unset,
}

/// The bodies that a function name may stand for.
#[derive(Debug, Clone)]
pub(super) struct Functions {
    pub(super) bodies: Vec<Rc<Command>>,
    /// The name may also not be a function.
    pub(super) or_program: bool,
}

impl PartialEq for Functions {
    fn eq(&self, other: &Self) -> bool {
        self.or_program == other.or_program
            && self.bodies.len() == other.bodies.len()
            && self
                .bodies
                .iter()
                .zip(&other.bodies)
                .all(|(left, right)| Rc::ptr_eq(left, right))
    }
}

/// Everything that is followed at one point of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    /// Written by [`Self::set`] alone, which sees to what a change means for programs.
    variables: Rc<BTreeMap<String, Value>>,
    /// Variables that are not listed may hold anything (else: what the environment gives them).
    pub(super) all_unknown: bool,
    /// `$1 …`; `None` when unknown.
    pub(super) positional: Option<Rc<Vec<Text>>>,
    /// `$0`; `None` when unknown.
    pub(super) zero: Option<Rc<Text>>,
    pub(super) cwd: Option<Rc<Path>>,
    /// The working directory is a fresh one that `mktemp` made.
    pub(super) cwd_is_temporary: bool,
    /// Where `cwd` is unknown because a change of directory may have failed: all that it may be.
    /// Empty where it may be any.
    pub(super) possible_cwds: Rc<BTreeSet<PathBuf>>,
    pub(super) functions: Rc<BTreeMap<String, Functions>>,
    /// Variables with the integer attribute.
    pub(super) integers: Rc<BTreeSet<String>>,
    /// `IFS` may not be blank, tab and newline.
    pub(super) splits_unknown: bool,
    /// What programs get.
    pub(super) environment: Environment,
    /// `shopt -s lastpipe` may be on.
    pub(super) lastpipe: bool,
    /// Variables that do not simply take what is assigned to them: read-only ones, and those whose
    /// letters are changed.
    pub(super) stubborn: Rc<BTreeSet<String>>,
    /// `exec <file` gave the shell another standard input.
    pub(super) stdin_replaced: bool,
}

impl State {
    pub(super) fn new(cwd: Option<&Path>) -> Self {
        Self {
            variables: Rc::default(),
            all_unknown: false,
            positional: Some(Rc::default()),
            zero: None,
            cwd: cwd.map(Rc::from),
            cwd_is_temporary: false,
            possible_cwds: Rc::default(),
            functions: Rc::default(),
            integers: Rc::default(),
            splits_unknown: false,
            environment: Environment::new(),
            lastpipe: false,
            stubborn: Rc::default(),
            stdin_replaced: false,
        }
    }

    /// Forgets all values, the working directory and the positional parameters.
    pub(super) fn forget(&mut self) {
        self.variables = Rc::default();
        self.all_unknown = true;
        self.positional = None;
        self.lose_cwd();
        self.zero = None;
        self.splits_unknown = true;
    }

    /// [`Self::forget`], because a variable that is not known was changed.
    pub(super) fn forget_named(&mut self) {
        self.forget();
        self.environment
            .taint("a variable that is not known was changed");
    }

    /// The working directory may be any.
    pub(super) fn lose_cwd(&mut self) {
        self.cwd = None;
        self.cwd_is_temporary = false;
        self.possible_cwds = Rc::default();
    }

    /// All that the working directory may be; empty where it may be any.
    pub(super) fn cwds(&self) -> BTreeSet<PathBuf> {
        match &self.cwd {
            Some(cwd) => BTreeSet::from([cwd.to_path_buf()]),
            None => (*self.possible_cwds).clone(),
        }
    }

    /// Gives a variable a value. Everything that assigns ends here.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        let known = match &value {
            Value::Scalar(text) => as_literal(text),
            Value::Unset => Some(""),
            Value::Array(_) | Value::Associative => None,
        };
        self.environment.assigned(name, known);
        self.put(name, value);
    }

    /// `PWD` and `OLDPWD` as `cd` sets them: programs do not go by them.
    pub(super) fn set_directory(&mut self, name: &str, value: Value) {
        self.put(name, value);
    }

    /// A variable of the shell that started this one, in the state of this one: what it means for
    /// programs is in the environment that was handed on.
    pub(super) fn inherit(&mut self, name: &str, kind: Kind) {
        self.put(
            name,
            Value::Scalar(Rc::new(vec![unknown(&format!("${name}"), kind)])),
        );
    }

    /// The variable is again what it was in `before`.
    pub(super) fn restore(&mut self, name: &str, value: Option<&Value>, before: &Environment) {
        self.environment.restore(name, before);
        match value {
            Some(value) => self.put(name, value.clone()),
            None => {
                Rc::make_mut(&mut self.variables).remove(name);
            }
        }
    }

    /// The text exports the variable.
    pub(super) fn export(&mut self, name: &str) {
        let has_changed = self.all_unknown || self.variables.contains_key(name);
        self.environment.export(name, has_changed);
    }

    /// Why the environment of a program started here is not the session's own; `None` when it is.
    pub(super) fn environment_change(&self) -> Option<String> {
        let change = self.environment.change();
        change.or_else(|| {
            self.all_unknown
                .then(|| "what was changed is not known".to_owned())
        })
    }

    /// What the text made of a variable; `None` when it left it alone.
    pub(super) fn assigned(&self, name: &str) -> Option<&Value> {
        self.variables.get(name)
    }

    /// All variables that the text gave a value.
    pub(super) fn all_assigned(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.variables.iter()
    }

    fn put(&mut self, name: &str, value: Value) {
        if name == "BASH_ARGV0" {
            self.zero = None;
        }
        let full = self.variables.len() >= bounds::MAX_VARIABLES;
        let long = match &value {
            Value::Scalar(text) => length(text) > bounds::MAX_VALUE,
            Value::Array(elements) => {
                elements.iter().map(|text| length(text)).sum::<usize>() > bounds::MAX_VALUE
            }
            Value::Associative | Value::Unset => false,
        };
        let value = if long {
            Value::Scalar(Rc::new(vec![unknown(name, Kind::Any)]))
        } else {
            value
        };
        if full && !self.variables.contains_key(name) {
            self.all_unknown = true;
            return;
        }
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), value);
    }

    pub(super) fn set_unknown(&mut self, name: &str, kind: Kind) {
        self.set(
            name,
            Value::Scalar(Rc::new(vec![unknown(&format!("${name}"), kind)])),
        );
    }

    /// A variable may hold text that runs something when arithmetic evaluates it.
    pub(super) fn holds_code(&self) -> bool {
        let is_code = |text: &[Part]| match as_literal(text) {
            Some(known) => known.contains('[') && known.contains(['$', '`']),
            None => spells_code(text) || matches!(worst(text), Some(Kind::Any | Kind::Remote)),
        };
        let positional = match &self.positional {
            Some(list) => list.iter().any(|text| is_code(text)),
            None => true,
        };
        self.all_unknown
            || positional
            || self.variables.values().any(|value| match value {
                Value::Scalar(text) => is_code(text),
                Value::Array(elements) => elements.iter().any(|text| is_code(text)),
                Value::Associative => true,
                Value::Unset => false,
            })
    }

    /// What is known of a variable that the text assigned; `None` for what comes from outside.
    pub(super) fn get(&self, name: &str) -> Option<Value> {
        match self.variables.get(name) {
            Some(value) => Some(value.clone()),
            // bash sets it at its start and takes none from outside: `rm${IFS}-rf${IFS}x` is three
            // words.
            None if name == "IFS" && !self.all_unknown && !self.splits_unknown => Some(
                Value::Scalar(Rc::new(vec![Part::Literal(" \t\n".to_owned())])),
            ),
            None if self.all_unknown => Some(Value::Scalar(Rc::new(vec![unknown(
                &format!("${name}"),
                Kind::Any,
            )]))),
            None => None,
        }
    }

    /// Both ways lead here.
    pub(super) fn join(self, other: Self) -> Self {
        super::work::count();
        if self == other {
            return self;
        }
        let possible_cwds = if self.cwd == other.cwd && self.possible_cwds == other.possible_cwds {
            Rc::clone(&self.possible_cwds)
        } else {
            joined_cwds(self.cwds(), other.cwds())
        };
        Self {
            possible_cwds,
            variables: join_variables(&self, &other),
            all_unknown: self.all_unknown || other.all_unknown,
            positional: if self.positional == other.positional {
                self.positional
            } else {
                None
            },
            zero: if self.zero == other.zero {
                self.zero
            } else {
                None
            },
            cwd: if self.cwd == other.cwd {
                self.cwd
            } else {
                None
            },
            cwd_is_temporary: self.cwd_is_temporary && other.cwd_is_temporary,
            functions: join_functions(&self.functions, &other.functions),
            integers: if self.integers == other.integers {
                self.integers
            } else {
                Rc::new(self.integers.union(&other.integers).cloned().collect())
            },
            splits_unknown: self.splits_unknown || other.splits_unknown,
            environment: self.environment.join(other.environment),
            lastpipe: self.lastpipe || other.lastpipe,
            stubborn: if self.stubborn == other.stubborn {
                self.stubborn
            } else {
                Rc::new(self.stubborn.union(&other.stubborn).cloned().collect())
            },
            stdin_replaced: self.stdin_replaced || other.stdin_replaced,
        }
    }
}

fn joined_cwds(left: BTreeSet<PathBuf>, right: BTreeSet<PathBuf>) -> Rc<BTreeSet<PathBuf>> {
    let either_may_be_any = left.is_empty() || right.is_empty();
    let all: BTreeSet<PathBuf> = left.into_iter().chain(right).collect();
    if either_may_be_any || all.len() > bounds::MAX_DIRECTORIES {
        return Rc::default();
    }
    Rc::new(all)
}

fn length(text: &[Part]) -> usize {
    text.iter()
        .map(|part| match part {
            Part::Literal(text) | Part::Glob(text) => text.len(),
            Part::Unknown { written, .. } => written.len(),
            Part::Temporary => 1,
        })
        .sum()
}

fn join_variables(left: &State, right: &State) -> Rc<BTreeMap<String, Value>> {
    if Rc::ptr_eq(&left.variables, &right.variables) {
        return Rc::clone(&left.variables);
    }
    let names: BTreeSet<&String> = left
        .variables
        .keys()
        .chain(right.variables.keys())
        .collect();
    let joined = names
        .into_iter()
        .map(|name| {
            let value = match (left.get(name), right.get(name)) {
                (Some(left), Some(right)) if left == right => left,
                (Some(Value::Associative), _) | (_, Some(Value::Associative)) => Value::Associative,
                (one, other) => {
                    let kind = value_kind(one.as_ref()).max(value_kind(other.as_ref()));
                    let array = matches!(one, Some(Value::Array(_)))
                        || matches!(other, Some(Value::Array(_)));
                    let part = Part::Unknown {
                        written: format!("${name}"),
                        kind,
                        may_be_empty: kind != Kind::Integer,
                        may_split: array,
                    };
                    Value::Scalar(Rc::new(vec![part]))
                }
            };
            (name.clone(), value)
        })
        .collect();
    Rc::new(joined)
}

fn value_kind(value: Option<&Value>) -> Kind {
    match value {
        Some(Value::Scalar(text)) => kind_of(text),
        Some(Value::Array(elements)) => elements
            .iter()
            .map(|text| kind_of(text))
            .max()
            .unwrap_or(Kind::Benign)
            .max(Kind::Benign),
        Some(Value::Associative) => Kind::Any,
        Some(Value::Unset) | None => Kind::Benign,
    }
}

fn join_functions(
    left: &Rc<BTreeMap<String, Functions>>,
    right: &Rc<BTreeMap<String, Functions>>,
) -> Rc<BTreeMap<String, Functions>> {
    if Rc::ptr_eq(left, right) || left == right {
        return Rc::clone(left);
    }
    let names: BTreeSet<&String> = left.keys().chain(right.keys()).collect();
    let joined = names
        .into_iter()
        .map(|name| {
            let functions = match (left.get(name), right.get(name)) {
                (Some(one), Some(other)) => {
                    let mut bodies = one.bodies.clone();
                    for body in &other.bodies {
                        if !bodies.iter().any(|known| Rc::ptr_eq(known, body)) {
                            bodies.push(Rc::clone(body));
                        }
                    }
                    Functions {
                        bodies,
                        or_program: one.or_program || other.or_program,
                    }
                }
                (Some(one), None) | (None, Some(one)) => Functions {
                    bodies: one.bodies.clone(),
                    or_program: true,
                },
                (None, None) => Functions {
                    bodies: Vec::new(),
                    or_program: true,
                },
            };
            (name.clone(), functions)
        })
        .collect();
    Rc::new(joined)
}

/// Joins what may be unreachable.
pub(super) fn join_ways(left: Option<State>, right: Option<State>) -> Option<State> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.join(right)),
        (one, other) => one.or(other),
    }
}

/// The file name of a process substitution.
pub(super) fn is_process(text: &[Part]) -> bool {
    matches!(text, [Part::Literal(_), Part::Unknown { written, .. }]
        if written.starts_with("<(") || written.starts_with(">("))
}
