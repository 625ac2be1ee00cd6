use schemars::JsonSchema;
use serde_json::{Value, json};

use super::arguments::{Arguments, PATH, Parameter, plain};
use super::{ArgumentError, refuse_empty_path};
use crate::RawArgs;

/// Most lines, files or counts that one `Grep` returns.
pub const MAX_GREP_RESULTS: u32 = 2000;
/// Most lines of context.
pub const MAX_GREP_CONTEXT: u32 = 20;

/// What `Grep` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OutputMode {
    /// Matching lines.
    Content,
    /// Names of files with a match.
    FilesWithMatches,
    /// Matches per file.
    Count,
}

/// Arguments of `Grep`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepInput {
    /// Rust regular expression.
    pub pattern: String,
    /// File or directory to search, default the workspace.
    pub path: Option<String>,
    /// Glob that file names or relative paths must match.
    pub include: Option<String>,
    /// What to return.
    pub output_mode: OutputMode,
    /// Number of lines, files or counts to return, at most [`MAX_GREP_RESULTS`].
    pub head_limit: u32,
    /// Ignore case.
    pub case_insensitive: bool,
    /// Lines of context around a match, 0–20.
    pub context: u32,
    /// Let `.` and the pattern cross line ends.
    pub multiline: bool,
    /// Take the pattern literally.
    pub fixed_strings: bool,
    /// What was changed about the arguments, for the result's `notice`.
    pub notices: Vec<String>,
}

/// What a caller may send to `Grep`.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct GrepArguments {
    /// Rust regular expression. Set `fixedStrings` for literal text.
    #[schemars(length(min = 1))]
    pattern: String,
    /// File or directory to search (default the workspace). Naming an ignored directory here
    /// searches it.
    #[schemars(length(min = 1))]
    path: Option<String>,
    /// Only files whose base name, or path relative to `path`, matches this glob, e.g. `*.ts`.
    include: Option<String>,
    /// `content` (default): matching lines. `filesWithMatches`: names only. `count`: matches per
    /// file.
    output_mode: Option<OutputMode>,
    /// Number of lines, files or counts to return (default 200, at most 2000).
    #[schemars(range(min = 1))]
    head_limit: Option<u32>,
    /// Ignore case (default false).
    case_insensitive: Option<bool>,
    /// Lines of context before and after each match (0–20, default 0).
    #[schemars(range(min = 0, max = 20))]
    context: Option<u32>,
    /// Let the pattern match across lines (default false).
    multiline: Option<bool>,
    /// Take the pattern as literal text (default false).
    fixed_strings: Option<bool>,
}

const PARAMETERS: &[Parameter] = &[
    plain("pattern"),
    PATH,
    plain("include"),
    Parameter {
        name: "outputMode",
        aliases: &["output_mode"],
    },
    Parameter {
        name: "headLimit",
        aliases: &["head_limit"],
    },
    Parameter {
        name: "caseInsensitive",
        aliases: &["case_insensitive"],
    },
    plain("context"),
    plain("multiline"),
    Parameter {
        name: "fixedStrings",
        aliases: &["fixed_strings"],
    },
];

fn example() -> Value {
    json!({"pattern": "fn main", "include": "*.rs", "outputMode": "content", "headLimit": 50})
}

impl GrepInput {
    /// Parses strictly. Whether the pattern is a valid expression is the tool body's to say.
    ///
    /// # Errors
    /// The arguments are not what `Grep` takes.
    pub fn parse(args: &RawArgs) -> Result<Self, ArgumentError> {
        let arguments = Arguments::open(args.as_object(), PARAMETERS, example)?;
        let mut notices = Vec::new();
        let pattern = arguments.string("pattern")?;
        if pattern.is_empty() {
            return Err(arguments.error("pattern", "`pattern` is empty", "a regular expression"));
        }
        let path = arguments.optional_string("path")?;
        if let Some(path) = &path {
            refuse_empty_path(&arguments, path)?;
        }
        let include = arguments.optional_string("include")?;
        if let Some(include) = &include
            && let Err(error) = globset::Glob::new(include)
        {
            let message = format!("`include` is not a glob: {}", error.kind());
            return Err(arguments.error("include", message, "a glob such as `*.rs`"));
        }
        Ok(Self {
            pattern,
            path,
            include,
            output_mode: output_mode(&arguments)?,
            head_limit: arguments.limit("headLimit", 200, MAX_GREP_RESULTS, &mut notices)?,
            case_insensitive: arguments.boolean("caseInsensitive")?,
            context: arguments
                .within("context", 0, MAX_GREP_CONTEXT)?
                .unwrap_or(0),
            multiline: arguments.boolean("multiline")?,
            fixed_strings: arguments.boolean("fixedStrings")?,
            notices,
        })
    }
}

fn output_mode(arguments: &Arguments<'_>) -> Result<OutputMode, ArgumentError> {
    match arguments.optional_string("outputMode")?.as_deref() {
        None | Some("content") => Ok(OutputMode::Content),
        Some("filesWithMatches" | "files_with_matches" | "files-with-matches") => {
            Ok(OutputMode::FilesWithMatches)
        }
        Some("count") => Ok(OutputMode::Count),
        Some(other) => Err(arguments.error(
            "outputMode",
            format!("`outputMode` is `{}`", super::arguments::shorten(other)),
            "`content`, `filesWithMatches` or `count`",
        )),
    }
}
