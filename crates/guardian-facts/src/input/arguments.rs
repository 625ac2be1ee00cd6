//! Reading an arguments object strictly: aliases, types, unknown names.

use serde_json::{Map, Value};

use super::ArgumentError;

/// One argument of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parameter {
    /// Canonical name.
    pub(super) name: &'static str,
    /// Other accepted spellings.
    pub(super) aliases: &'static [&'static str],
}

pub(super) const PATH: Parameter = Parameter {
    name: "path",
    aliases: &["file_path", "filePath"],
};

/// A parameter without aliases.
pub(super) const fn plain(name: &'static str) -> Parameter {
    Parameter { name, aliases: &[] }
}

/// Reads the arguments of one call.
pub(super) struct Arguments<'a> {
    object: &'a Map<String, Value>,
    parameters: &'static [Parameter],
    example: fn() -> Value,
    /// JSON pointer of the object itself.
    at: String,
}

impl<'a> Arguments<'a> {
    /// Refuses unknown names and arguments that are given twice.
    pub(super) fn open(
        object: &'a Map<String, Value>,
        parameters: &'static [Parameter],
        example: fn() -> Value,
    ) -> Result<Self, ArgumentError> {
        Self::open_at(object, parameters, example, String::new())
    }

    pub(super) fn open_at(
        object: &'a Map<String, Value>,
        parameters: &'static [Parameter],
        example: fn() -> Value,
        at: String,
    ) -> Result<Self, ArgumentError> {
        let arguments = Self {
            object,
            parameters,
            example,
            at,
        };
        let mut given: Vec<(&'static str, &str)> = Vec::new();
        for name in object.keys() {
            let Some(parameter) = parameters.iter().find(|parameter| parameter.is_named(name))
            else {
                return Err(arguments.unknown(name));
            };
            if let Some((_, first)) = given
                .iter()
                .find(|(canonical, _)| *canonical == parameter.name)
            {
                let message =
                    format!("`{first}` and `{name}` are the same argument: give one of them");
                return Err(arguments.error(name, message, format!("only `{}`", parameter.name)));
            }
            given.push((parameter.name, name));
        }
        Ok(arguments)
    }

    /// The value of an argument with the name it was given by; JSON `null` counts as absent.
    fn value(&self, name: &'static str) -> Option<(&'a str, &'a Value)> {
        let parameter = self
            .parameters
            .iter()
            .find(|parameter| parameter.name == name)?;
        self.object
            .iter()
            .find(|(given, _)| parameter.is_named(given))
            .filter(|(_, value)| !value.is_null())
            .map(|(given, value)| (given.as_str(), value))
    }

    pub(super) fn is_given(&self, name: &'static str) -> bool {
        self.value(name).is_some()
    }

    pub(super) fn string(&self, name: &'static str) -> Result<String, ArgumentError> {
        self.optional_string(name)?
            .ok_or_else(|| self.missing(name, "a string"))
    }

    pub(super) fn optional_string(
        &self,
        name: &'static str,
    ) -> Result<Option<String>, ArgumentError> {
        match self.value(name) {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(text.clone())),
            Some((given, other)) => Err(self.wrong_type(given, other, "a string")),
        }
    }

    pub(super) fn boolean(&self, name: &'static str) -> Result<bool, ArgumentError> {
        match self.value(name) {
            None => Ok(false),
            Some((_, Value::Bool(value))) => Ok(*value),
            Some((given, other)) => Err(self.wrong_type(given, other, "true or false")),
        }
    }

    pub(super) fn array(
        &self,
        name: &'static str,
    ) -> Result<Option<(&'a str, &'a [Value])>, ArgumentError> {
        match self.value(name) {
            None => Ok(None),
            Some((given, Value::Array(values))) => Ok(Some((given, values))),
            Some((given, other)) => Err(self.wrong_type(given, other, "an array")),
        }
    }

    /// A whole number of at least `least`, as given.
    pub(super) fn integer(
        &self,
        name: &'static str,
        least: u64,
    ) -> Result<Option<u64>, ArgumentError> {
        let Some((given, value)) = self.value(name) else {
            return Ok(None);
        };
        let expected = format!("a whole number of at least {least}");
        let Value::Number(number) = value else {
            return Err(self.wrong_type(given, value, &expected));
        };
        match whole(number) {
            Some(value) if value >= least => Ok(Some(value)),
            _ => Err(self.error(given, format!("`{given}` is {number}"), expected)),
        }
    }

    /// A positive number that is cut to `max` with a notice (SPEC §15.1).
    pub(super) fn limit(
        &self,
        name: &'static str,
        default: u32,
        max: u32,
        notices: &mut Vec<String>,
    ) -> Result<u32, ArgumentError> {
        let Some(value) = self.integer(name, 1)? else {
            return Ok(default);
        };
        match u32::try_from(value) {
            Ok(value) if value <= max => Ok(value),
            _ => {
                notices.push(format!(
                    "{name} {value} is above the maximum; {max} was used"
                ));
                Ok(max)
            }
        }
    }

    /// A number that must lie in `least..=most`.
    pub(super) fn within(
        &self,
        name: &'static str,
        least: u32,
        most: u32,
    ) -> Result<Option<u32>, ArgumentError> {
        let Some((given, value)) = self.value(name) else {
            return Ok(None);
        };
        let expected = format!("a whole number from {least} to {most}");
        let Value::Number(number) = value else {
            return Err(self.wrong_type(given, value, &expected));
        };
        match whole(number).and_then(|value| u32::try_from(value).ok()) {
            Some(value) if (least..=most).contains(&value) => Ok(Some(value)),
            _ => Err(self.error(given, format!("`{given}` is {number}"), expected)),
        }
    }

    /// An error at an argument (or at a name below it).
    pub(super) fn error(
        &self,
        name: &str,
        message: impl Into<String>,
        expected: impl Into<String>,
    ) -> ArgumentError {
        let pointer = if name.is_empty() {
            self.at.clone()
        } else {
            format!("{}/{}", self.at, name.replace('~', "~0").replace('/', "~1"))
        };
        ArgumentError {
            message: message.into(),
            pointer,
            expected: expected.into(),
            example: Box::new((self.example)()),
            accepted: self
                .parameters
                .iter()
                .map(|parameter| parameter.name.to_owned())
                .collect(),
        }
    }

    pub(super) fn missing(&self, name: &'static str, expected: &str) -> ArgumentError {
        self.error(name, format!("`{name}` is missing"), expected)
    }

    pub(super) fn wrong_type(&self, given: &str, value: &Value, expected: &str) -> ArgumentError {
        let actual = match value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        };
        self.error(given, format!("`{given}` is {actual}"), expected)
    }

    fn unknown(&self, name: &str) -> ArgumentError {
        let accepted = self
            .parameters
            .iter()
            .map(|parameter| parameter.name)
            .collect::<Vec<_>>();
        let shown = shorten(name);
        let nearest = nearest_names(
            name,
            self.parameters.iter().flat_map(|parameter| {
                std::iter::once(parameter.name).chain(parameter.aliases.iter().copied())
            }),
        );
        let message = match nearest.first() {
            Some(nearest) => format!("unknown argument `{shown}`; did you mean `{nearest}`?"),
            None => format!("unknown argument `{shown}`"),
        };
        let expected = match accepted.as_slice() {
            [] => "no arguments".to_owned(),
            names => format!("one of `{}`", names.join("`, `")),
        };
        self.error(name, message, expected)
    }
}

impl Parameter {
    fn is_named(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// A whole number that is not negative; `5.0` is one (JSON does not tell it from `5`).
fn whole(number: &serde_json::Number) -> Option<u64> {
    if let Some(value) = number.as_u64() {
        return Some(value);
    }
    let value = number.as_f64()?;
    // Above 2^53 a float no longer says which whole number is meant.
    let is_whole = value.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&value);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be whole, not negative and exactly representable"
    )]
    is_whole.then_some(value as u64)
}

/// A name for a message: a hostile one must not flood it.
pub(crate) fn shorten(name: &str) -> String {
    match name.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// The known names that are close to a misspelt one, nearest first, at most three.
pub(crate) fn nearest_names<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Vec<String> {
    // Distances of a hostile name of a megabyte would cost quadratic time.
    if name.len() > 100 {
        return Vec::new();
    }
    let squash = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    let wanted = squash(name);
    let mut scored: Vec<(usize, &str)> = known
        .map(|candidate| {
            (
                strsim::damerau_levenshtein(&wanted, &squash(candidate)),
                candidate,
            )
        })
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 4)
        .collect();
    scored.sort();
    scored.dedup();
    scored
        .into_iter()
        .take(3)
        .map(|(_, candidate)| candidate.to_owned())
        .collect()
}
