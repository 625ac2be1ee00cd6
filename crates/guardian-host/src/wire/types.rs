//! Parameters and results of the wire's methods. Own types: inner types never leave as they are.
//!
//! Unknown members of parameters are ignored on purpose: what a request claims beyond its
//! documented members (a mode, a risk, a workspace) has no effect.

pub mod control;

use guardian_rules::{OperatingMode, PermissionMode, SessionPermissionMode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What a connection may do (SPEC §15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything.
    Operator,
    /// Tool calls, turns and the catalogue.
    Agent,
}

/// Name and version of the client.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ClientInfo {
    /// Name.
    pub name: String,
    /// Version.
    #[serde(default)]
    pub version: String,
}

/// What the client can do for its user.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClientCapabilities {
    /// Shows cards and answers them. Without such a client a session is headless.
    pub review: bool,
    /// Shows questions.
    pub questions: bool,
    /// Shows previews.
    pub preview: bool,
    /// Takes image data.
    pub vision: bool,
    /// Runs plugin tools.
    pub plugins: bool,
}

/// Parameters of `app.handshake`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandshakeParams {
    /// Version that the client speaks.
    pub protocol_version: u32,
    /// Who it is.
    pub client: ClientInfo,
    /// Role it asks for; operator when missing.
    pub role: Option<Role>,
    /// What it can do.
    #[serde(default)]
    pub capabilities: ClientCapabilities,
}

/// Result of `app.handshake`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandshakeResult {
    /// Version in force.
    pub protocol_version: u32,
    /// Always `guardian`.
    pub host: String,
    /// Version of the host.
    pub host_version: String,
    /// What the host offers.
    pub features: Vec<String>,
    /// Its limits.
    pub limits: LimitsView,
}

/// Limits that a client should know.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitsView {
    /// Longest line in bytes.
    pub max_line_bytes: usize,
    /// How long a card waits, in milliseconds.
    pub review_timeout_ms: u64,
    /// Executions at once.
    pub executions: usize,
    /// Executions at once in one session.
    pub executions_per_session: usize,
}

/// Result of `app.getVersion`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionResult {
    /// Always `guardian`.
    pub host: String,
    /// Version of the host.
    pub host_version: String,
    /// Protocol versions it speaks.
    pub supported: Vec<u32>,
}

/// Result of `app.health`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthResult {
    /// Always true: the host answers.
    pub ok: bool,
    /// Calls executing.
    pub executing: usize,
    /// Calls waiting for a slot.
    pub queued: usize,
    /// Cards waiting for an answer.
    pub pending_reviews: usize,
    /// Calls in flight, waiting ones included.
    pub in_flight: usize,
}

/// Parameters of `session.create`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionCreateParams {
    /// Id, `[A-Za-z0-9_-]{1,128}`; made up when missing.
    pub session_id: Option<String>,
    /// Title for people.
    pub title: Option<String>,
    /// Project directory, absolute. Bound once; a session without one has no workspace.
    pub project_path: Option<String>,
    /// Operating mode; agent when missing.
    pub mode: Option<OperatingMode>,
    /// Permission mode; inherit when missing.
    pub permission_mode: Option<SessionPermissionMode>,
}

/// Parameters that name a session.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// Which.
    pub session_id: String,
}

/// Parameters of `session.configure`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionConfigureParams {
    /// Which.
    pub session_id: String,
    /// New title.
    pub title: Option<String>,
    /// New operating mode.
    pub mode: Option<OperatingMode>,
    /// New permission mode.
    pub permission_mode: Option<SessionPermissionMode>,
}

/// A session as clients see it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Id.
    pub session_id: String,
    /// Title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Project directory as given.
    pub project_path: Option<String>,
    /// Project directory with links resolved.
    pub workspace_root: Option<String>,
    /// The session's directory for temporary files.
    pub scratch_dir: String,
    /// Operating mode.
    pub mode: OperatingMode,
    /// Permission mode as stored.
    pub permission_mode: SessionPermissionMode,
    /// Permission mode in force.
    pub effective_permission_mode: PermissionMode,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// Milliseconds since the epoch.
    pub updated_at: i64,
}

/// Result of `session.create`, `session.get` and `session.configure`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionResult {
    /// The session.
    pub session: SessionView,
    /// Things its user should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Result of `session.list`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionListResult {
    /// Newest first.
    pub sessions: Vec<SessionView>,
}

/// Parameters of `session.beginTurn`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BeginTurnParams {
    /// Which session.
    pub session_id: String,
    /// The user's own words; counted as evidence only from an operator.
    pub user_message: Option<String>,
    /// Reset what is kept per prompt; true when missing.
    pub new_prompt: Option<bool>,
}

/// Result of `session.beginTurn`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BeginTurnResult {
    /// Id of the turn.
    pub turn_id: String,
    /// Shell that the turn's commands run in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_shell_id: Option<String>,
    /// Its dialect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_shell_dialect: Option<String>,
}

/// Parameters of `session.endTurn`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndTurnParams {
    /// Which session.
    pub session_id: String,
    /// Which turn.
    pub turn_id: String,
}

/// Parameters of `workspace.set`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct WorkspaceSetParams {
    /// The directory that a user interface shows as selected. No session follows it.
    pub path: String,
}

/// Result of `workspace.get`, `workspace.set` and `workspace.clear`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceResult {
    /// The selected directory.
    pub path: Option<String>,
}

/// The batch that a call belongs to.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
pub struct BatchInfo {
    /// Number of tool calls in the assistant's message.
    pub size: u32,
}

/// Parameters of `tools.execute`, `tools.permit` and `permissions.evaluate`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecuteParams {
    /// Which session.
    pub session_id: String,
    /// Which turn.
    pub turn_id: Option<String>,
    /// Id of the call, unique in the session while it is in flight.
    pub tool_call_id: String,
    /// Name of the tool.
    pub tool_name: String,
    /// Its arguments; anything but an object is `INVALID_ARGUMENT`.
    #[serde(default)]
    pub args: Value,
    /// The batch that it belongs to.
    pub batch: Option<BatchInfo>,
    /// The delegate that makes the call.
    pub delegate_id: Option<String>,
    /// Shell id that the caller expects.
    pub expected_command_shell_id: Option<String>,
    /// Dialect that the caller expects.
    pub expected_command_shell_dialect: Option<String>,
    /// Shortens the tool's time, in milliseconds, at least 100.
    pub timeout_ms: Option<u64>,
}

/// Result of `tools.execute` and `tools.permit`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecuteResult {
    /// Id of the call.
    pub tool_call_id: String,
    /// The tool did what was asked.
    pub ok: bool,
    /// The opposite.
    pub is_error: bool,
    /// Code of SPEC §17.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// What the model gets.
    #[schemars(with = "Value")]
    pub content: Box<RawValue>,
    /// The call was not permitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denied: Option<bool>,
    /// What the runtime should do (`terminate`, `newContext`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Value>,
}

/// Parameters of `tools.abort`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AbortParams {
    /// Which session.
    pub session_id: String,
    /// Which call.
    pub tool_call_id: String,
}

/// Result of `tools.abort`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct AbortResult {
    /// The call was in flight. An abort ahead of its call is remembered for 60 s.
    pub aborted: bool,
}

/// One tool of `tools.list`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolView {
    /// Name.
    pub name: String,
    /// What it does, with its limits.
    pub description: String,
    /// `low`, `medium` or `high`.
    pub risk: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
    /// `core` or `on-demand`.
    pub activation: String,
    /// Operating modes that have it.
    pub modes: Vec<OperatingMode>,
}

/// Result of `tools.list`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ToolsListResult {
    /// All tools.
    pub tools: Vec<ToolView>,
}

/// Parameters of `extractors.register`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ExtractorsRegisterParams {
    /// Tools whose bodies run in the client.
    pub tools: Vec<DeclaredToolView>,
}

/// What a client declares about one of its tools. Its effects stay unknown: a declaration adds
/// facts, it never proves that there are no others.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct DeclaredToolView {
    /// Its name; none of guardian's own, none that starts with `plugin_` or `mcp_`.
    pub name: String,
    /// Its risk; `low` counts as `medium`, which it is when missing.
    pub risk: Option<DeclaredRisk>,
    /// Where in its arguments what it touches stands.
    pub facts: DeclaredFacts,
}

/// A declared risk.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeclaredRisk {
    /// Counts as medium.
    Low,
    /// Asked about unless policy allows.
    Medium,
    /// As Bash.
    High,
}

/// Where in the arguments of a tool what it touches stands.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeclaredFacts {
    /// Paths.
    pub paths: Vec<DeclaredPathView>,
    /// JSON pointer to shell text.
    pub command: Option<String>,
    /// JSON pointer to a URL.
    pub url: Option<String>,
}

/// A path argument, a string or an array of strings.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct DeclaredPathView {
    /// JSON pointer into the arguments.
    pub pointer: String,
    /// What the tool does to it.
    pub access: DeclaredAccess,
}

/// What a tool does to a path.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeclaredAccess {
    /// Reads its content.
    Read,
    /// Reads names or metadata.
    List,
    /// Creates or changes it.
    Write,
    /// Removes it.
    Delete,
    /// Runs it.
    Execute,
}

/// Result of `extractors.register`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExtractorsRegisterResult {
    /// Number of declared tools in this host.
    pub registered: usize,
}

/// Result of `permissions.evaluate`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvaluateResult {
    /// `allow`, `ask` or `deny`.
    pub decision: String,
    /// The most telling cause.
    pub cause: String,
    /// Rules that decided.
    pub decided_by: Vec<String>,
    /// Sentences for people.
    pub reasons: Vec<String>,
    /// Answers a human could give.
    pub allowed_decisions: Vec<String>,
    /// What the call would do, in one line.
    pub summary: String,
    /// Code of SPEC §17 when the call would end with one before any decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Facts in their versioned form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<Value>,
}

/// Parameters of `permissions.resolve`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolveParams {
    /// Which session.
    pub session_id: String,
    /// Which request.
    pub request_id: String,
    /// One of the request's `allowedDecisions`; anything else is a denial.
    pub decision: String,
    /// The user's words for the model.
    pub feedback: Option<String>,
    /// Index into the suggestions that the request offered.
    pub rule: Option<usize>,
}

/// Result of `permissions.resolve`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResolveResult {
    /// The answer counted; false when the request is gone or was answered before.
    pub resolved: bool,
}

/// Parameters of `permissions.pending`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingParams {
    /// Only of this session.
    pub session_id: Option<String>,
}

/// Result of `permissions.pending`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PendingResult {
    /// Requests as in `permissions.request`, oldest first.
    pub requests: Vec<Value>,
}

/// A call that an automatic reviewer denied, as clients see it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DenialView {
    /// Names the action for `permissions.overrule`.
    pub action: String,
    /// The call.
    pub tool_call_id: String,
    /// Its tool.
    pub tool_name: String,
    /// What it would have done.
    pub summary: String,
    /// Who denied it.
    pub reviewer: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// Milliseconds since the epoch.
    pub at: i64,
    /// It was overruled, and the action has not run yet.
    pub overruled: bool,
}

impl DenialView {
    /// The view of a denial.
    #[must_use]
    pub fn of(denial: &crate::reviews::ReviewerDenial) -> Self {
        let denial = denial.clone();
        Self {
            action: denial.action,
            tool_call_id: denial.tool_call_id,
            tool_name: denial.tool_name,
            summary: denial.summary,
            reviewer: denial.reviewer,
            rationale: denial.rationale,
            at: denial.at,
            overruled: denial.overruled,
        }
    }
}

/// Result of `permissions.listDenials`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DenialListResult {
    /// Denials of automatic reviewers, newest last.
    pub denials: Vec<DenialView>,
}

/// Parameters of `permissions.overrule`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverruleParams {
    /// Which session.
    pub session_id: String,
    /// Which action, as the denial named it.
    pub action: String,
}

/// Result of `permissions.overrule`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OverruleResult {
    /// The action runs once when it is called again; false when no such denial is there.
    pub overruled: bool,
}

/// A grant as clients see it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrantView {
    /// Tool.
    pub tool_name: String,
    /// `roots` or `outside`.
    pub scope: String,
    /// The sentence that the card showed.
    pub sentence: String,
    /// Who gave it.
    pub granted_by: String,
    /// Milliseconds since the epoch.
    pub at: i64,
}

/// Result of `permissions.listSessionGrants`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct GrantListResult {
    /// The session's grants.
    pub grants: Vec<GrantView>,
}

/// Parameters of `permissions.clearSessionGrants`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClearGrantsParams {
    /// Which session.
    pub session_id: String,
    /// Only for this tool.
    pub tool_name: Option<String>,
}

/// Result of `permissions.clearSessionGrants`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ClearGrantsResult {
    /// Number of grants removed.
    pub cleared: usize,
}

/// Result of `review.list`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ReviewListResult {
    /// `ReviewChange` objects (SPEC §11), newest first.
    pub changes: Vec<Value>,
}

/// Parameters of `review.rollback`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollbackParams {
    /// Which session.
    pub session_id: String,
    /// Which change.
    pub snapshot_id: String,
}

/// How one rollback ended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollbackResult {
    /// Which change.
    pub snapshot_id: String,
    /// Its file, relative to the workspace.
    pub path: String,
    /// `rolledBack`, `alreadyRolledBack`, `conflict` or `unavailable`.
    pub status: String,
    /// Why it is `unavailable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Parameters of `review.rollbackTurn`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollbackTurnParams {
    /// Which session.
    pub session_id: String,
    /// Which turn.
    pub turn_id: String,
}

/// Result of `review.rollbackTurn`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollbackTurnResult {
    /// Every change of the turn, newest first.
    pub results: Vec<RollbackResult>,
    /// What a rollback cannot cover, as sentences.
    pub not_covered: Vec<String>,
}

/// One file that a session wrote.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactView {
    /// Relative to the workspace.
    pub path: String,
    /// `file`, `plan` or `goal`.
    pub kind: String,
    /// The call that wrote it last.
    pub tool_call_id: String,
    /// Size.
    pub bytes: u64,
    /// SHA-256, lower-case hex.
    pub sha256: String,
    /// Milliseconds since the epoch.
    pub at: i64,
}

/// Result of `artifacts.list`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ArtifactsResult {
    /// By path.
    pub artifacts: Vec<ArtifactView>,
}

/// Parameters of `jobs.output` and `jobs.kill`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobParams {
    /// Which session.
    pub session_id: String,
    /// Which job.
    pub job_id: String,
}

/// Result of `jobs.list`, `jobs.output` and `jobs.kill` (SPEC §10).
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct JobView(pub Value);

/// Parameters of `settings.set`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct SettingsSetParams {
    /// Settings to change; `null` resets one.
    pub settings: Map<String, Value>,
}

/// Result of `settings.get` and `settings.set`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SettingsResult {
    /// All settings.
    pub settings: Map<String, Value>,
}

/// Result of `commandShells.list` (SPEC §10).
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct CommandShellsResult(pub Value);

/// Parameters of `audit.query`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditQueryParams {
    /// Only of this session.
    pub session_id: Option<String>,
    /// Only of this turn.
    pub turn_id: Option<String>,
    /// Only of this call.
    pub tool_call_id: Option<String>,
    /// Only of this tool.
    pub tool_name: Option<String>,
    /// Only with this decision.
    pub decision: Option<String>,
    /// Not before, in milliseconds since the epoch.
    pub since: Option<i64>,
    /// Before, in milliseconds since the epoch.
    pub until: Option<i64>,
    /// Number of rows, 100 when missing, at most 1000.
    pub limit: Option<u32>,
    /// `nextCursor` of the page before.
    pub cursor: Option<String>,
}

/// Result of `audit.query`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditQueryResult {
    /// Rows, newest first.
    pub rows: Vec<Value>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// Parameters of `audit.append`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditAppendParams {
    /// Becomes `client.<kind>`; `[a-z0-9.-]{1,64}`.
    pub kind: String,
    /// Session it belongs to.
    pub session_id: Option<String>,
    /// Call it belongs to.
    pub tool_call_id: Option<String>,
    /// What happened; redacted and cut before it is kept.
    pub detail: Option<Value>,
}

/// Result of `audit.verify`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditVerifyResult {
    /// The chain holds.
    pub ok: bool,
    /// Rows checked.
    pub rows: u64,
    /// Hash of the last row.
    pub head: String,
    /// First row that does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_bad: Option<u64>,
}

/// An empty result.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Empty {}

/// No parameters.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct NoParams {}

/// Parameters that may name a session.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OptionalSessionParams {
    /// The session; without one, what holds without a workspace (`policy.show`), or every session
    /// (`policy.reload`).
    pub session_id: Option<String>,
}

/// Parameters of `policy.setSessionRules`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRulesParams {
    /// The session.
    pub session_id: String,
    /// The rules, as a policy file has them; `null` removes them. They count at once and end with
    /// the session.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schemars(schema_with = "text_or_null")]
    pub rules: Option<String>,
}

/// A member that must be there and may be `null`.
fn text_or_null(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["string", "null"] })
}

/// Result of `policy.show`, `policy.reload` and `policy.setSessionRules`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyShowResult {
    /// Equal versions decide equally.
    pub version: String,
    /// `standard`, `balanced` or `strict`.
    pub preset: String,
    /// Number of rules in force, the floor not counted.
    pub rules: usize,
    /// A change that loosens waits for `policy.reload`.
    pub waiting: bool,
    /// Allow rules of an untrusted workspace file, which do not count.
    pub ignored_allow_rules: Vec<String>,
    /// The layers, strongest first.
    pub layers: Vec<PolicyLayerView>,
}

/// One layer of the policy.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyLayerView {
    /// `managed`, `user` or `workspace`.
    pub layer: String,
    /// Its file.
    pub file: String,
    /// `absent`, `inForce`, `lastGood` or `unreadable`.
    pub state: String,
    /// BLAKE3 of the version in force.
    pub hash: Option<String>,
    /// Its allow rules count.
    pub trusted: bool,
    /// The version in force.
    pub text: Option<String>,
    /// What is wrong with the file.
    pub problems: Vec<PolicyProblemView>,
}

/// What is wrong with a policy file.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyProblemView {
    /// `managed`, `user` or `workspace`.
    pub layer: String,
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

impl PolicyProblemView {
    pub(super) fn of(problem: &crate::policies::PolicyProblem) -> Self {
        Self {
            layer: problem.layer.to_owned(),
            file: problem.file.clone(),
            line: problem.line,
            column: problem.column,
            message: problem.message.clone(),
            hint: problem.hint.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_rules_are_removed_by_null_and_not_by_a_misspelt_member() {
        let read = |text: &str| serde_json::from_str::<SessionRulesParams>(text);
        assert!(read(r#"{"sessionId":"s","policy":"version = 1"}"#).is_err());
        assert!(
            read(r#"{"sessionId":"s","rules":null}"#)
                .unwrap()
                .rules
                .is_none()
        );
        assert!(
            read(r#"{"sessionId":"s","rules":"version = 1"}"#)
                .unwrap()
                .rules
                .is_some()
        );
    }
}
