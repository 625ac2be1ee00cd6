use schemars::JsonSchema;
use serde_json::{Value, json};

use super::arguments::{Arguments, PATH, Parameter};
use super::{ArgumentError, refuse_empty_path};
use crate::RawArgs;

/// One exact replacement.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Replacement {
    /// Text that occurs exactly once in the file.
    pub old_string: String,
    /// What stands there afterwards.
    pub new_string: String,
}

/// Arguments of `Edit`: one or more replacements, all or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditInput {
    /// File to edit.
    pub path: String,
    /// At least one; all are matched against the original.
    pub edits: Vec<Replacement>,
}

/// What a caller may send to `Edit`: `old_string` and `new_string`, or `edits`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct EditArguments {
    /// File to edit: relative to the workspace, or absolute.
    #[schemars(length(min = 1))]
    path: String,
    /// Text that occurs exactly once in the file, with its indentation. Together with
    /// `new_string`; not together with `edits`.
    old_string: Option<String>,
    /// What stands there afterwards.
    new_string: Option<String>,
    /// Several replacements in one call, all or nothing, all matched against the original file.
    #[schemars(length(min = 1))]
    edits: Option<Vec<Replacement>>,
}

const OLD: Parameter = Parameter {
    name: "old_string",
    aliases: &["oldString"],
};
const NEW: Parameter = Parameter {
    name: "new_string",
    aliases: &["newString"],
};
const PARAMETERS: &[Parameter] = &[
    PATH,
    OLD,
    NEW,
    Parameter {
        name: "edits",
        aliases: &[],
    },
];
const REPLACEMENT_PARAMETERS: &[Parameter] = &[OLD, NEW];

fn example() -> Value {
    json!({"path": "src/main.rs", "old_string": "let a = 1;", "new_string": "let a = 2;"})
}

fn example_of_edits() -> Value {
    json!({"path": "src/main.rs", "edits": [{"old_string": "let a = 1;", "new_string": "let a = 2;"}]})
}

impl EditInput {
    /// Parses strictly.
    ///
    /// # Errors
    /// The arguments are not what `Edit` takes.
    pub fn parse(args: &RawArgs) -> Result<Self, ArgumentError> {
        let arguments = Arguments::open(args.as_object(), PARAMETERS, example)?;
        let path = arguments.string("path")?;
        refuse_empty_path(&arguments, &path)?;
        let single = arguments.is_given("old_string") || arguments.is_given("new_string");
        let edits = match (arguments.array("edits")?, single) {
            (Some((given, _)), true) => {
                return Err(arguments.error(
                    given,
                    "`edits` is given together with `old_string` or `new_string`",
                    "either `old_string` and `new_string`, or `edits`",
                ));
            }
            (Some((given, [])), false) => {
                return Err(arguments.error(given, "`edits` is empty", "at least one replacement"));
            }
            (Some((given, values)), false) => values
                .iter()
                .enumerate()
                .map(|(index, value)| replacement(&arguments, given, index, value))
                .collect::<Result<_, _>>()?,
            (None, true) => vec![Replacement {
                old_string: arguments.string("old_string")?,
                new_string: arguments.string("new_string")?,
            }],
            (None, false) => {
                return Err(arguments.error(
                    "",
                    "neither `old_string` and `new_string` nor `edits` is given",
                    "either `old_string` and `new_string`, or `edits`",
                ));
            }
        };
        Ok(Self { path, edits })
    }
}

fn replacement(
    arguments: &Arguments<'_>,
    given: &str,
    index: usize,
    value: &Value,
) -> Result<Replacement, ArgumentError> {
    let pointer = format!("/{given}/{index}");
    let Value::Object(object) = value else {
        let mut error =
            arguments.wrong_type(given, value, "an object with `old_string` and `new_string`");
        error.pointer = pointer;
        error.message = format!("`{given}[{index}]` is not an object");
        error.example = Box::new(example_of_edits());
        return Err(error);
    };
    let arguments = Arguments::open_at(object, REPLACEMENT_PARAMETERS, example_of_edits, pointer)?;
    Ok(Replacement {
        old_string: arguments.string("old_string")?,
        new_string: arguments.string("new_string")?,
    })
}
