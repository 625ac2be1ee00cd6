use schemars::JsonSchema;
use serde::Deserialize;

/// Arguments of `Glob`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GlobInput {
    /// Pattern; without `/` it matches base names at any depth.
    pub pattern: String,
    /// Directory to search, default the workspace.
    pub path: Option<String>,
    /// Number of matches to return, at most 1000.
    pub limit: u32,
}
