use schemars::JsonSchema;
use serde::Deserialize;

/// Arguments of `Read`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadInput {
    /// File to read: relative to the workspace, or absolute. Directories: use Glob.
    pub path: String,
    /// First line to return, 1-based.
    pub offset: u64,
    /// Number of lines to return, at most 2000.
    pub limit: u32,
}
