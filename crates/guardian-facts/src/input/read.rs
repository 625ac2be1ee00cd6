use schemars::JsonSchema;
use serde_json::{Value, json};

use super::arguments::{Arguments, PATH, Parameter, plain};
use super::{ArgumentError, refuse_empty_path};
use crate::RawArgs;

/// Most lines that one `Read` returns.
pub const MAX_READ_LINES: u32 = 2000;

/// Arguments of `Read`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadInput {
    /// File to read: relative to the workspace, or absolute.
    pub path: String,
    /// First line to return, 1-based.
    pub offset: u64,
    /// Number of lines to return, at most [`MAX_READ_LINES`].
    pub limit: u32,
    /// What was changed about the arguments, for the result's `notice`.
    pub notices: Vec<String>,
}

/// What a caller may send to `Read`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct ReadArguments {
    /// File to read: relative to the workspace, or absolute, or `~/…`. A directory is refused: use
    /// Glob.
    #[schemars(length(min = 1))]
    path: String,
    /// First line to return, 1-based (default 1). With `limit` it selects a part of a long file.
    offset: Option<u64>,
    /// Number of lines to return (default and at most 2000).
    #[schemars(range(min = 1))]
    limit: Option<u32>,
}

const PARAMETERS: &[Parameter] = &[PATH, plain("offset"), plain("limit")];

fn example() -> Value {
    json!({"path": "src/main.rs", "offset": 1, "limit": 200})
}

impl ReadInput {
    /// Parses strictly.
    ///
    /// # Errors
    /// The arguments are not what `Read` takes.
    pub fn parse(args: &RawArgs) -> Result<Self, ArgumentError> {
        let arguments = Arguments::open(args.as_object(), PARAMETERS, example)?;
        let mut notices = Vec::new();
        let path = arguments.string("path")?;
        refuse_empty_path(&arguments, &path)?;
        let mut offset = arguments.integer("offset", 0)?.unwrap_or(1);
        if offset == 0 {
            notices.push("offset 0 was read as line 1: lines are counted from 1".to_owned());
            offset = 1;
        }
        let limit = arguments.limit("limit", MAX_READ_LINES, MAX_READ_LINES, &mut notices)?;
        Ok(Self {
            path,
            offset,
            limit,
            notices,
        })
    }
}
