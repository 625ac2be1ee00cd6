use schemars::JsonSchema;
use serde_json::{Value, json};

use super::arguments::{Arguments, PATH, Parameter, plain};
use super::{ArgumentError, refuse_empty_path};
use crate::RawArgs;

/// Arguments of `Write`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteInput {
    /// File to create or replace.
    pub path: String,
    /// Its whole new content.
    pub content: String,
}

/// What a caller may send to `Write`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct WriteArguments {
    /// File to create or replace: relative to the workspace, or absolute.
    #[schemars(length(min = 1))]
    path: String,
    /// The whole new content. To change a part of an existing file use Edit.
    content: String,
}

const PARAMETERS: &[Parameter] = &[PATH, plain("content")];

fn example() -> Value {
    json!({"path": "notes.md", "content": "first line\n"})
}

impl WriteInput {
    /// Parses strictly.
    ///
    /// # Errors
    /// The arguments are not what `Write` takes.
    pub fn parse(args: &RawArgs) -> Result<Self, ArgumentError> {
        let arguments = Arguments::open(args.as_object(), PARAMETERS, example)?;
        let path = arguments.string("path")?;
        refuse_empty_path(&arguments, &path)?;
        let content = arguments.string("content")?;
        Ok(Self { path, content })
    }
}
