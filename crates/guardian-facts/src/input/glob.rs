use schemars::JsonSchema;
use serde_json::{Value, json};

use super::arguments::{Arguments, PATH, Parameter, plain};
use super::{ArgumentError, refuse_empty_path};
use crate::RawArgs;

/// Most matches that one `Glob` returns.
pub const MAX_GLOB_MATCHES: u32 = 1000;

/// Arguments of `Glob`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobInput {
    /// Pattern; without `/` it matches base names at any depth, with `/` the path relative to the
    /// search root. Never absolute, never with `..`.
    pub pattern: String,
    /// Directory to search, default the workspace.
    pub path: Option<String>,
    /// Number of matches to return, at most [`MAX_GLOB_MATCHES`].
    pub limit: u32,
    /// What was changed about the arguments, for the result's `notice`.
    pub notices: Vec<String>,
}

/// What a caller may send to `Glob`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct GlobArguments {
    /// Glob pattern, e.g. `*.rs` (base names at any depth) or `src/**/*.test.ts` (relative to
    /// `path`). Absolute patterns and `..` are refused: use `path`.
    #[schemars(length(min = 1))]
    pattern: String,
    /// Directory to search (default the workspace). Naming an ignored directory here searches it.
    #[schemars(length(min = 1))]
    path: Option<String>,
    /// Number of matches to return, newest first (default 100, at most 1000).
    #[schemars(range(min = 1))]
    limit: Option<u32>,
}

const PARAMETERS: &[Parameter] = &[plain("pattern"), PATH, plain("limit")];

fn example() -> Value {
    json!({"pattern": "src/**/*.rs", "limit": 100})
}

impl GlobInput {
    /// Parses strictly.
    ///
    /// # Errors
    /// The arguments are not what `Glob` takes.
    pub fn parse(args: &RawArgs) -> Result<Self, ArgumentError> {
        let arguments = Arguments::open(args.as_object(), PARAMETERS, example)?;
        let mut notices = Vec::new();
        let pattern = arguments.string("pattern")?;
        let expected = "a glob pattern relative to `path`, without `..`";
        let refuse = |message: String| arguments.error("pattern", message, expected);
        if pattern.is_empty() || pattern.contains('\0') {
            return Err(refuse(
                "`pattern` is empty or holds a NUL character".to_owned(),
            ));
        }
        if pattern.starts_with(['/', '~']) || crate::path::windows::is_foreign(&pattern) {
            return Err(refuse(
                "`pattern` is absolute: name the directory in `path`".to_owned(),
            ));
        }
        // Also the alternatives of a brace: `{..,a}/x`.
        if pattern
            .split(['/', '{', '}', ',', '\\'])
            .any(|component| component == "..")
        {
            return Err(refuse(
                "`pattern` holds `..`: name the directory in `path`".to_owned(),
            ));
        }
        if let Err(error) = globset::Glob::new(&pattern) {
            return Err(refuse(format!("`pattern` is not a glob: {}", error.kind())));
        }
        let path = arguments.optional_string("path")?;
        if let Some(path) = &path {
            refuse_empty_path(&arguments, path)?;
        }
        let limit = arguments.limit("limit", 100, MAX_GLOB_MATCHES, &mut notices)?;
        Ok(Self {
            pattern,
            path,
            limit,
            notices,
        })
    }
}
