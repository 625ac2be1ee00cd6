//! What kind of tool a name stands for, and its risk (SPEC §1, §2).

use crate::{ToolKind, ToolRisk};

/// The names of the built-in tools.
pub const BUILT_IN_TOOLS: &[&str] = &[
    "Read",
    "Glob",
    "Grep",
    "Write",
    "Edit",
    "Bash",
    "BashOutput",
    "BashKill",
    "BrowserPreview",
    "asktool",
    "new_context",
    "EnterPlanMode",
    "EnterGoalMode",
    "SubmitPlan",
    "SubmitGoal",
    "Task",
    "ToolSearch",
    "Skill",
    "PluginCheck",
    "PluginPack",
    "PluginScaffold",
];

/// The kind of the tool with this name. A name that is not built in is a plugin or MCP tool by its
/// prefix, else [`ToolKind::Foreign`].
#[must_use]
pub fn tool_kind(name: &str) -> ToolKind {
    match name {
        "Read" | "Glob" | "Grep" | "BrowserPreview" | "BashOutput" | "BashKill" => ToolKind::Look,
        "asktool" | "new_context" => ToolKind::Conversation,
        "Write" | "Edit" => ToolKind::Change,
        "Bash" => ToolKind::Shell,
        "EnterPlanMode" | "EnterGoalMode" | "SubmitPlan" | "SubmitGoal" | "Task" | "ToolSearch"
        | "Skill" | "PluginCheck" | "PluginPack" | "PluginScaffold" => ToolKind::Control,
        _ if name.starts_with("plugin_") || name.starts_with("mcp_") => ToolKind::Plugin,
        _ => ToolKind::Foreign,
    }
}

/// The risk of the built-in tool with this name. For plugin, MCP and foreign tools this is the
/// risk of one that declared none (`medium`); the host replaces it by the registered risk.
#[must_use]
pub fn tool_risk(name: &str) -> ToolRisk {
    match name {
        "PluginPack" | "PluginScaffold" => ToolRisk::High,
        _ => match tool_kind(name) {
            ToolKind::Look | ToolKind::Conversation | ToolKind::Control => ToolRisk::Low,
            ToolKind::Change | ToolKind::Shell => ToolRisk::High,
            ToolKind::Plugin | ToolKind::Foreign => ToolRisk::Medium,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_tool_has_a_kind_of_its_own() {
        for name in BUILT_IN_TOOLS {
            let kind = tool_kind(name);
            assert!(
                !matches!(kind, ToolKind::Foreign | ToolKind::Plugin),
                "{name}"
            );
        }
    }
}
