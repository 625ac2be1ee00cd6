//! Everything besides the facts that a decision depends on.

use std::collections::BTreeSet;

use guardian_facts::RootPaths;

use crate::{Grant, OperatingMode, PermissionMode};

/// Risk of a tool (SPEC §2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolRisk {
    /// Runs without a card inside the roots.
    Low,
    /// Asked about unless policy allows.
    Medium,
    /// Decided by the permission mode.
    High,
}

/// What kind of tool the name stands for; the matrix of SPEC §1 decides by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolKind {
    /// Read, Glob, Grep, BrowserPreview, BashOutput, BashKill.
    Look,
    /// asktool, new_context.
    Conversation,
    /// Write, Edit.
    Change,
    /// Bash.
    Shell,
    /// Plugin and MCP tools.
    Plugin,
    /// Mode, submit, Task, ToolSearch, Skill, Plugin* tools.
    Control,
    /// A harness's own tool with a registered extractor, or a tool nobody knows.
    Foreign,
}

/// Is a sandbox available for calls that run because of a proof?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SandboxState {
    /// No.
    Unavailable,
    /// Yes: such calls are confined and secret files are masked.
    Available,
}

/// Who calls, in which mode, with which permissions. Looked up by the host from the session's
/// row at the time of the call; nothing of it comes from the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Situation {
    /// Operating mode.
    pub mode: OperatingMode,
    /// Effective permission mode.
    pub permission_mode: PermissionMode,
    /// The session's roots: what the floor compares targets with.
    pub roots: RootPaths,
    /// What the session's user granted.
    pub grants: Vec<Grant>,
    /// Name of the delegate that makes the call.
    pub delegate: Option<String>,
    /// Kind of the tool.
    pub tool_kind: ToolKind,
    /// Its risk.
    pub tool_risk: ToolRisk,
    /// A human-capable client is attached.
    pub attended: bool,
    /// Sandbox.
    pub sandbox: SandboxState,
    /// Project commands the user accepted for this project, bound to the definition's hash:
    /// the keys that are valid now.
    pub accepted_commands: BTreeSet<String>,
    /// A reversible snapshot of the target can be taken (Write over an unread file, SPEC §9).
    pub snapshot_possible: bool,
    /// The call is a Write over an existing file that this session never read.
    pub overwrites_unread: bool,
}

impl Situation {
    /// The session has a workspace.
    #[must_use]
    pub fn has_workspace(&self) -> bool {
        self.roots.workspace.is_some()
    }
}
