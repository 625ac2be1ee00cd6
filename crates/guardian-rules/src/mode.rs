//! Operating mode (which tools exist) and permission mode (who approves).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which tools exist for the session (SPEC §1).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum OperatingMode {
    /// Ordinary work.
    Agent,
    /// Planning: no Write, Edit, plugin or MCP tools.
    Plan,
    /// Goal setting: as plan.
    Goal,
}

/// The effective permission mode.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// Every high-risk call is asked about.
    Ask,
    /// Write and Edit inside the workspace run without a card.
    AcceptEdits,
    /// Everything runs that the floor and rules do not ask about or deny.
    Auto,
}

/// What a session stores: a mode of its own, or the setting's.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SessionPermissionMode {
    /// The setting `defaultPermissionMode`, else `ask`.
    Inherit,
    /// See [`PermissionMode::Ask`].
    Ask,
    /// See [`PermissionMode::AcceptEdits`].
    AcceptEdits,
    /// See [`PermissionMode::Auto`].
    Auto,
}

impl SessionPermissionMode {
    /// Session value unless `inherit`; else the setting; else `ask`.
    #[must_use]
    pub fn effective(self, setting: Option<PermissionMode>) -> PermissionMode {
        match self {
            Self::Inherit => setting.unwrap_or(PermissionMode::Ask),
            Self::Ask => PermissionMode::Ask,
            Self::AcceptEdits => PermissionMode::AcceptEdits,
            Self::Auto => PermissionMode::Auto,
        }
    }
}

impl PermissionMode {
    /// The name used on the wire and in policy files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Auto => "auto",
        }
    }
}

impl OperatingMode {
    /// The name used on the wire and in policy files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Plan => "plan",
            Self::Goal => "goal",
        }
    }
}
