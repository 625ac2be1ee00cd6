use schemars::JsonSchema;
use serde::Deserialize;

/// Arguments of `Bash`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BashInput {
    /// Command text.
    pub command: String,
    /// Seconds, 1–300; default 60.
    pub timeout: u32,
    /// Run as a background job and return at once.
    pub background: bool,
    /// The model's own words for what it does; shown, decides nothing.
    pub description: Option<String>,
}
