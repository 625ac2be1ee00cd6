use schemars::JsonSchema;
use serde::Deserialize;

/// What `Grep` returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepInput {
    /// Rust regular expression.
    pub pattern: String,
    /// File or directory to search, default the workspace.
    pub path: Option<String>,
    /// Glob that file names or relative paths must match.
    pub include: Option<String>,
    /// What to return.
    pub output_mode: OutputMode,
    /// Number of lines, files or counts to return, at most 2000.
    pub head_limit: u32,
    /// Ignore case.
    pub case_insensitive: bool,
    /// Lines of context around a match, 0–20.
    pub context: u32,
    /// Let `.` and the pattern cross line ends.
    pub multiline: bool,
    /// Take the pattern literally.
    pub fixed_strings: bool,
}
