//! Session grants: what `allow-session` leaves behind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a grant reaches.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum GrantScope {
    /// Inside the workspace and scratch.
    Roots,
    /// Outside too (includes the roots).
    Outside,
}

/// A tool that the user allowed for the rest of the session. The store adds session, giver and
/// time; a grant never applies to another session.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Grant {
    /// Tool name.
    pub tool_name: String,
    /// How far it reaches.
    pub scope: GrantScope,
}

impl Grant {
    /// The scope as the sentence a card shows.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self.scope {
            GrantScope::Roots => {
                format!(
                    "{}, inside the workspace, until this session ends",
                    self.tool_name
                )
            }
            GrantScope::Outside => {
                format!(
                    "{}, anywhere outside the workspace, until this session ends",
                    self.tool_name
                )
            }
        }
    }
}
