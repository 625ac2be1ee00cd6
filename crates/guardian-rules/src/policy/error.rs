//! What is wrong with a policy file: one variant per kind, each with its place and a hint.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Where in which file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorPlace {
    /// Name of the file, for people.
    pub file: String,
    /// Its whole text.
    pub source: Arc<str>,
    /// Byte range of the fault.
    pub span: Range<usize>,
}

impl ErrorPlace {
    /// Line and column of the fault, both from 1, the column in characters.
    #[must_use]
    pub fn line_column(&self) -> (usize, usize) {
        let before = self.source.get(..self.span.start).unwrap_or(&self.source);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (
            before.matches('\n').count() + 1,
            before[line_start..].chars().count() + 1,
        )
    }
}

/// Not TOML, an unknown key, a wrong type or value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Where.
    pub place: ErrorPlace,
    /// What the parser says.
    pub message: String,
}

/// A `version` that this guardian does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionError {
    /// Where.
    pub place: ErrorPlace,
    /// The version found.
    pub found: u32,
}

/// A key that a workspace or session file must not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForbiddenKeyError {
    /// Where.
    pub place: ErrorPlace,
    /// The key.
    pub key: &'static str,
}

/// A key that no policy file has, because what it means is set elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MisplacedKeyError {
    /// Where.
    pub place: ErrorPlace,
    /// The key.
    pub key: &'static str,
    /// Where it is set, in one sentence.
    pub instead: &'static str,
}

/// A rule id that is not usable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleIdError {
    /// Where.
    pub place: ErrorPlace,
    /// The id.
    pub id: String,
    /// What is wrong with it, e.g. `is used twice`.
    pub fault: &'static str,
}

/// An override that names no floor rule, or one that denies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverrideError {
    /// Where.
    pub place: ErrorPlace,
    /// The id.
    pub id: String,
    /// It exists, but denies.
    pub denies: bool,
}

/// Conditions that do not go together, or none at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionError {
    /// Where.
    pub place: ErrorPlace,
    /// The rule.
    pub id: String,
    /// What is wrong.
    pub fault: String,
    /// What to do.
    pub hint: String,
}

/// A glob that cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError {
    /// Where.
    pub place: ErrorPlace,
    /// The rule.
    pub id: String,
    /// The glob.
    pub pattern: String,
    /// What is wrong.
    pub fault: String,
}

/// A `match` entry that the rule does not match, or a `not_match` entry that it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExampleError {
    /// Where.
    pub place: ErrorPlace,
    /// The rule.
    pub id: String,
    /// The entry.
    pub example: String,
    /// Why it fails.
    pub fault: String,
}

/// What is wrong with a policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyError {
    /// See [`SyntaxError`].
    Syntax(SyntaxError),
    /// See [`VersionError`].
    Version(VersionError),
    /// See [`ForbiddenKeyError`].
    ForbiddenKey(ForbiddenKeyError),
    /// See [`MisplacedKeyError`].
    MisplacedKey(MisplacedKeyError),
    /// See [`RuleIdError`].
    RuleId(RuleIdError),
    /// See [`OverrideError`].
    Override(OverrideError),
    /// See [`ConditionError`].
    Condition(ConditionError),
    /// See [`PatternError`].
    Pattern(PatternError),
    /// See [`ExampleError`].
    Example(ExampleError),
}

impl PolicyError {
    /// Where.
    #[must_use]
    pub fn place(&self) -> &ErrorPlace {
        match self {
            Self::Syntax(error) => &error.place,
            Self::Version(error) => &error.place,
            Self::ForbiddenKey(error) => &error.place,
            Self::MisplacedKey(error) => &error.place,
            Self::RuleId(error) => &error.place,
            Self::Override(error) => &error.place,
            Self::Condition(error) => &error.place,
            Self::Pattern(error) => &error.place,
            Self::Example(error) => &error.place,
        }
    }

    /// What is wrong: one sentence, lower-case, without the place.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::Syntax(error) => error.message.clone(),
            Self::Version(error) => format!("`version = {}` is not known", error.found),
            Self::ForbiddenKey(error) => format!("`{}` is not allowed in this file", error.key),
            Self::MisplacedKey(error) => format!("`{}` is not set in a policy file", error.key),
            Self::RuleId(error) => format!("the rule id `{}` {}", error.id, error.fault),
            Self::Override(error) if error.denies => {
                format!(
                    "`{}` denies, and a denial of the floor cannot be lifted",
                    error.id
                )
            }
            Self::Override(error) => format!("there is no floor rule `{}`", error.id),
            Self::Condition(error) => format!("rule `{}`: {}", error.id, error.fault),
            Self::Pattern(error) => {
                format!(
                    "rule `{}`: `{}` is not a glob: {}",
                    error.id, error.pattern, error.fault
                )
            }
            Self::Example(error) => {
                format!("rule `{}`: `{}` {}", error.id, error.example, error.fault)
            }
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Syntax(error) => syntax_hint(&error.message),
            Self::Version(_) => "write `version = 1`".to_owned(),
            Self::ForbiddenKey(error) => format!(
                "a repository's policy file may only tighten; move `{}` to your own policy file",
                error.key
            ),
            Self::MisplacedKey(error) => error.instead.to_owned(),
            Self::RuleId(_) => {
                "use letters, digits, `-`, `_` and `.`; each id once per file, none beginning with `floor.` or `preset.`"
                    .to_owned()
            }
            Self::Override(error) if error.denies => "remove it from `overrides`".to_owned(),
            Self::Override(_) => "`guardian explain` lists the ids of the floor".to_owned(),
            Self::Condition(error) => error.hint.clone(),
            Self::Pattern(_) => "`*` stays within a directory, `**` crosses directories, `[ab]` is one character, `{a,b}` alternatives".to_owned(),
            Self::Example(_) => "change the rule's conditions, or the example".to_owned(),
        }
    }
}

/// What to do about what the parser says.
fn syntax_hint(message: &str) -> String {
    if let Some(name) = nearest_name(message) {
        return format!("did you mean `{name}`?");
    }
    let hint = if message.starts_with("missing field") {
        "a file begins with `version = 1`; each `[[rule]]` has an `id`, an `effect` (`allow`, `ask`, `deny`) and what it holds of (`tool`, `command`, `paths` …)"
    } else if message.contains("expected a sequence") {
        "write it as a list, each word on its own: `command = [\"git\", \"push\"]`"
    } else if message.starts_with("unknown") {
        "take one of the names that are listed"
    } else if message.starts_with("invalid type") || message.starts_with("data did not match") {
        "text stands in quotes (`\"git\"`), lists in brackets (`[\"a\", \"b\"]`), numbers, `true` and `false` plain"
    } else if message.starts_with("duplicate") {
        "give each key once"
    } else if message.contains("UTF-8") {
        "save the file as UTF-8"
    } else {
        "this is not TOML: look for a quote or a bracket that is not closed, or a missing `=`"
    };
    hint.to_owned()
}

/// The accepted name that is nearest to the one written, from a message "unknown field `x`,
/// expected one of `a`, `b`".
fn nearest_name(message: &str) -> Option<&str> {
    let mut names = message.split('`').skip(1).step_by(2);
    let written = names.next()?;
    if !message.starts_with("unknown") {
        return None;
    }
    names
        .map(|name| (strsim::damerau_levenshtein(written, name), name))
        .filter(|(distance, name)| *distance * 2 <= name.len().max(2))
        .min()
        .map(|(_, name)| name)
}

impl fmt::Display for PolicyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.place().line_column();
        write!(
            formatter,
            "{}:{line}:{column}: {}",
            self.place().file,
            self.message()
        )
    }
}

impl std::error::Error for PolicyError {}

/// Everything that is wrong with the files of a policy; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyErrors(pub Vec<PolicyError>);

impl fmt::Display for PolicyErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            write!(formatter, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for PolicyErrors {}
