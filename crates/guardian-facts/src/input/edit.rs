use schemars::JsonSchema;
use serde::Deserialize;

/// One exact replacement.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replacement {
    /// Text that occurs exactly once.
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
