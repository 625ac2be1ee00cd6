use schemars::JsonSchema;
use serde::Deserialize;

/// Arguments of `Write`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteInput {
    /// File to create or replace.
    pub path: String,
    /// Its whole new content.
    pub content: String,
}
