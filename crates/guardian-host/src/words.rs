//! Inner enums as the words of wire, audit and command line. One place, so that they agree.

use guardian_facts::Scope;
use guardian_rules::{Decision, GrantScope, OperatingMode, PermissionMode, ToolRisk};

/// `allow`, `ask`, `deny`.
#[must_use]
pub fn decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

/// `low`, `medium`, `high`.
#[must_use]
pub fn risk(risk: ToolRisk) -> &'static str {
    match risk {
        ToolRisk::Low => "low",
        ToolRisk::Medium => "medium",
        ToolRisk::High => "high",
    }
}

/// `agent`, `plan`, `goal`.
#[must_use]
pub fn operating_mode(mode: OperatingMode) -> &'static str {
    match mode {
        OperatingMode::Agent => "agent",
        OperatingMode::Plan => "plan",
        OperatingMode::Goal => "goal",
    }
}

/// `ask`, `accept-edits`, `auto`.
#[must_use]
pub fn permission_mode(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Ask => "ask",
        PermissionMode::AcceptEdits => "accept-edits",
        PermissionMode::Auto => "auto",
    }
}

/// `roots`, `outside`.
#[must_use]
pub fn grant_scope(scope: GrantScope) -> &'static str {
    match scope {
        GrantScope::Roots => "roots",
        GrantScope::Outside => "outside",
    }
}

/// `workspace`, `scratch`, `external`.
#[must_use]
pub fn root(scope: Scope) -> &'static str {
    match scope {
        Scope::Workspace => "workspace",
        Scope::Scratch => "scratch",
        Scope::Outside | Scope::ScratchEscape => "external",
    }
}
