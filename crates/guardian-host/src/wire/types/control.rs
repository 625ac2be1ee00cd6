//! Parameters and results of plan and goal mode, questions, delegates and the tool catalogue.

use guardian_rules::{OperatingMode, PermissionMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ToolView;

/// Parameters of `plans.pending`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlansPendingParams {
    /// Only of this session.
    pub session_id: Option<String>,
}

/// Result of `plans.pending`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PlansPendingResult {
    /// Proposals that wait for their answer, newest first.
    pub proposals: Vec<Value>,
    /// Approved proposals whose execution is queued or running, newest first.
    pub executions: Vec<Value>,
}

/// The user's answer to a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlanAction {
    /// Yes; needs `targetPermissionMode`.
    Approve,
    /// No; the session stays in its mode.
    Reject,
}

/// Parameters of `plans.resolve`. Everything but the version must be as the proposal shows it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlansResolveParams {
    /// Which proposal.
    pub proposal_id: String,
    /// Its session.
    pub session_id: String,
    /// The turn that submitted it.
    pub turn_id: String,
    /// The call that submitted it.
    pub tool_call_id: String,
    /// The version that was shown.
    pub version: Option<u64>,
    /// Approve or reject.
    pub action: PlanAction,
    /// The permission mode that an approval puts in force.
    pub target_permission_mode: Option<PermissionMode>,
}

/// Parameters that name a proposal.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanParams {
    /// Which session.
    pub session_id: String,
    /// Which proposal.
    pub proposal_id: String,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExecutionOutcome {
    /// It was carried out.
    #[default]
    Finished,
    /// It did not succeed.
    Failed,
}

/// Parameters of `plans.finishExecution`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FinishExecutionParams {
    /// Which session.
    pub session_id: String,
    /// Which proposal.
    pub proposal_id: String,
    /// `finished` when missing.
    #[serde(default)]
    pub outcome: ExecutionOutcome,
}

/// Result of `plans.resolve` and `plans.finishExecution`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProposalResult {
    /// The proposal as it is now.
    pub proposal: Value,
}

/// Result of `plans.claimExecution`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ClaimExecutionResult {
    /// The proposal as it is now.
    pub proposal: Value,
    /// What was approved, byte for byte.
    pub markdown: String,
}

/// Result of `plans.abort`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PlansAbortResult {
    /// Something was withdrawn; false when it was over already.
    pub aborted: bool,
    /// The proposal as it is now, when something was withdrawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Value>,
}

/// Parameters of `asktool.resolve`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskResolveParams {
    /// Which request.
    pub request_id: String,
    /// One entry a question: the chosen options or the user's own words; `null` = skipped.
    pub answers: Vec<Option<Vec<String>>>,
}

/// Result of `asktool.resolve`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AskResolveResult {
    /// Always true.
    pub resolved: bool,
}

/// A definition of a delegate.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentView {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The tools that it may use, exactly.
    pub tools: Vec<String>,
    /// The model that it asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How long it should think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// Turns after which its client should end it.
    pub max_turns: u32,
    /// What it is told.
    pub instructions: String,
    /// `user`, `client`, `built-in` or `repository`.
    pub source: String,
    /// It may start without being shown to the user first.
    pub approved: bool,
    /// What of the definition does not count.
    pub warnings: Vec<String>,
}

/// Result of `agents.list`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentsListResult {
    /// By name.
    pub agents: Vec<AgentView>,
    /// What is wrong with definitions that do not count.
    pub problems: Vec<String>,
}

/// Parameters of `agents.define`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentsDefineParams {
    /// Which session.
    pub session_id: String,
    /// The definition: Markdown with frontmatter, as in a file.
    pub definition: String,
}

/// Result of `agents.define`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AgentsDefineResult {
    /// The definition as it was understood.
    pub agent: AgentView,
}

/// Parameters of `task.finish`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskFinishParams {
    /// Which session.
    pub session_id: String,
    /// Which delegate.
    pub delegate_id: String,
}

/// Result of `task.finish`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TaskFinishResult {
    /// It was at work; false when it was closed already.
    pub closed: bool,
}

/// Result of `tools.catalog`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolsCatalogResult {
    /// Mode of the session.
    pub mode: OperatingMode,
    /// The tools that the model has now.
    pub tools: Vec<ToolView>,
    /// Names of those that it may ask for with ToolSearch.
    pub on_demand: Vec<String>,
    /// `# On-demand tools` for the system prompt; empty when there are none.
    pub block: String,
    /// Guidance for the system prompt.
    pub guidance: String,
}
