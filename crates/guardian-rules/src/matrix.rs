//! The operating-mode matrix of SPEC §1: which tools exist in which mode.

use crate::{OperatingMode, ToolKind};

/// The operating mode does not have the tool. Comes before every rule, grant, mode and prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModeRefusal {
    /// Write in plan or goal.
    WriteDisabled,
    /// Edit in plan or goal.
    EditDisabled,
    /// A plugin or MCP tool in plan or goal.
    PluginDisabled,
    /// Any other tool that plan and goal do not have, unknown ones included.
    ToolDisabled,
    /// A submit tool in agent mode.
    PlanNotActive,
    /// An enter tool in plan or goal.
    PlanAlreadyActive,
    /// The other mode's submit tool.
    PlanKindMismatch,
}

impl ModeRefusal {
    /// The error code of SPEC §17.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::WriteDisabled => "WRITE_DISABLED_IN_PLAN",
            Self::EditDisabled => "EDIT_DISABLED_IN_PLAN",
            Self::PluginDisabled => "PLUGIN_DISABLED_IN_PLAN",
            Self::ToolDisabled => "TOOL_DISABLED_IN_PLAN",
            Self::PlanNotActive => "PLAN_NOT_ACTIVE",
            Self::PlanAlreadyActive => "PLAN_ALREADY_ACTIVE",
            Self::PlanKindMismatch => "PLAN_KIND_MISMATCH",
        }
    }

    /// One sentence for people and models.
    #[must_use]
    pub fn reason(self, tool: &str) -> String {
        match self {
            Self::WriteDisabled
            | Self::EditDisabled
            | Self::PluginDisabled
            | Self::ToolDisabled => {
                format!(
                    "{tool} is not available while the session is planning; submit the plan or goal first"
                )
            }
            Self::PlanNotActive => format!("{tool} needs plan or goal mode; enter it first"),
            Self::PlanAlreadyActive => "the session is already in plan or goal mode".to_owned(),
            Self::PlanKindMismatch => format!("{tool} does not fit the session's current mode"),
        }
    }
}

/// Why the mode does not have the tool; `None` when it has it. Decides by name and kind alone, so
/// that the host can ask before it knows whether the tool exists.
#[must_use]
pub fn mode_refusal(mode: OperatingMode, tool: &str, kind: ToolKind) -> Option<ModeRefusal> {
    if mode == OperatingMode::Agent {
        return matches!(tool, "SubmitPlan" | "SubmitGoal").then_some(ModeRefusal::PlanNotActive);
    }
    match kind {
        ToolKind::Look | ToolKind::Conversation | ToolKind::Shell => None,
        ToolKind::Change if tool == "Write" => Some(ModeRefusal::WriteDisabled),
        ToolKind::Change => Some(ModeRefusal::EditDisabled),
        ToolKind::Plugin => Some(ModeRefusal::PluginDisabled),
        ToolKind::Foreign => Some(ModeRefusal::ToolDisabled),
        ToolKind::Control => match (tool, mode) {
            ("SubmitPlan", OperatingMode::Plan) | ("SubmitGoal", OperatingMode::Goal) => None,
            ("SubmitPlan" | "SubmitGoal", _) => Some(ModeRefusal::PlanKindMismatch),
            ("EnterPlanMode" | "EnterGoalMode", _) => Some(ModeRefusal::PlanAlreadyActive),
            _ => Some(ModeRefusal::ToolDisabled),
        },
    }
}
