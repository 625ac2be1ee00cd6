//! Error codes of SPEC §17 and the error that carries one.

use serde_json::{Map, Value};

macro_rules! error_codes {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal, retryable: $retryable:literal;)*) => {
        /// A stable error code. Each says its cause, and what the model or the user should do.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $($(#[doc = $doc])* $name,)*
        }

        impl ErrorCode {
            /// Every code, in the order of SPEC §17.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The code as it stands on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The code with this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.as_str() == name)
            }

            /// The same request may succeed when repeated.
            #[must_use]
            pub fn is_retryable(self) -> bool {
                match self { $(Self::$name => $retryable,)* }
            }

            /// What the code means and what to do, for `docs/protocol.md`.
            #[must_use]
            pub fn documentation(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc, "\n",)*),)* }
            }
        }
    };
}

error_codes! {
    /// A fault in guardian or its store. Nothing ran unless the result says so. Report it; the host goes on.
    Internal = "INTERNAL", retryable: false;
    /// The parameters of a method do not fit. Correct the request.
    InvalidParams = "INVALID_PARAMS", retryable: false;
    /// The arguments of a tool do not fit. `content` names the argument, what was expected, and an example.
    InvalidArgument = "INVALID_ARGUMENT", retryable: false;
    /// The client speaks another protocol version. `data.supported` lists those that work.
    ProtocolMismatch = "PROTOCOL_MISMATCH", retryable: false;
    /// The connection's role may not use this method, or the handshake is missing.
    Unauthorized = "UNAUTHORIZED", retryable: false;
    /// Too many calls are waiting. Repeat later.
    HostOverloaded = "HOST_OVERLOADED", retryable: true;
    /// No session has this id.
    SessionNotFound = "SESSION_NOT_FOUND", retryable: false;
    /// The session already has a running turn. End it first.
    AgentBusy = "AGENT_BUSY", retryable: false;
    /// The request collides with another one (same id, same tool call, a session held by another process).
    Conflict = "CONFLICT", retryable: false;
    /// The file or object does not exist; near names are listed.
    NotFound = "NOT_FOUND", retryable: false;
    /// The session has no project directory, which this tool needs. Create a session with one.
    WorkspaceRequired = "WORKSPACE_REQUIRED", retryable: false;
    /// No tool has this name; near names are listed.
    ToolNotFound = "TOOL_NOT_FOUND", retryable: false;
    /// Policy, a reviewer or the user said no; `content.cause` says who, and what would allow it.
    ToolDenied = "TOOL_DENIED", retryable: false;
    /// The tool ran out of time; what it had produced is in the result.
    ToolTimeout = "TOOL_TIMEOUT", retryable: true;
    /// The call was aborted by the client.
    ToolAborted = "TOOL_ABORTED", retryable: false;
    /// The tool ran and failed; the content says how.
    ToolFailed = "TOOL_FAILED", retryable: false;
    /// The file is not text.
    ToolBinaryContent = "TOOL_BINARY_CONTENT", retryable: false;
    /// The file's content is another one than the session last saw. Read it again.
    StaleFile = "STALE_FILE", retryable: false;
    /// The target changed between the approval and the run; nothing was touched. Repeat the call.
    StaleApproval = "STALE_APPROVAL", retryable: true;
    /// Nobody answered within the deadline (kept inside; the model sees `TOOL_DENIED`, cause `timeout`).
    PermissionTimeout = "PERMISSION_TIMEOUT", retryable: false;
    /// Write does not exist in plan and goal mode.
    WriteDisabledInPlan = "WRITE_DISABLED_IN_PLAN", retryable: false;
    /// Edit does not exist in plan and goal mode.
    EditDisabledInPlan = "EDIT_DISABLED_IN_PLAN", retryable: false;
    /// Plugin and MCP tools do not exist in plan and goal mode.
    PluginDisabledInPlan = "PLUGIN_DISABLED_IN_PLAN", retryable: false;
    /// The tool does not exist in plan and goal mode.
    ToolDisabledInPlan = "TOOL_DISABLED_IN_PLAN", retryable: false;
    /// The system could not start another process. Repeat later.
    ProcessResourceExhausted = "PROCESS_RESOURCE_EXHAUSTED", retryable: true;
    /// No shell was found; the message says what to install.
    ShellNotFound = "SHELL_NOT_FOUND", retryable: false;
    /// The shell is another one than the turn's. Begin a new turn.
    CommandShellChanged = "COMMAND_SHELL_CHANGED", retryable: false;
    /// The shell id is unknown, unavailable, or of another platform.
    CommandShellInvalid = "COMMAND_SHELL_INVALID", retryable: false;
    /// The tool must be the only call of its assistant message.
    ControlToolNotAlone = "CONTROL_TOOL_NOT_ALONE", retryable: false;
    /// There is no plan or goal to submit in this mode.
    PlanNotActive = "PLAN_NOT_ACTIVE", retryable: false;
    /// The session is already in plan or goal mode.
    PlanAlreadyActive = "PLAN_ALREADY_ACTIVE", retryable: false;
    /// A proposal is waiting for its answer.
    PlanAlreadyPending = "PLAN_ALREADY_PENDING", retryable: false;
    /// The submit tool belongs to the other mode.
    PlanKindMismatch = "PLAN_KIND_MISMATCH", retryable: false;
    /// The plan needs an approval first.
    PlanApprovalRequired = "PLAN_APPROVAL_REQUIRED", retryable: false;
    /// The proposal expired unanswered.
    PlanApprovalTimeout = "PLAN_APPROVAL_TIMEOUT", retryable: false;
    /// The proposal is not the one that was shown.
    PlanApprovalStale = "PLAN_APPROVAL_STALE", retryable: false;
    /// The host restarted while the proposal waited.
    PlanApprovalInterrupted = "PLAN_APPROVAL_INTERRUPTED", retryable: false;
    /// The plan file could not be written.
    PlanArtifactWriteFailed = "PLAN_ARTIFACT_WRITE_FAILED", retryable: false;
    /// The plan file was changed after it was submitted.
    PlanArtifactHashMismatch = "PLAN_ARTIFACT_HASH_MISMATCH", retryable: false;
    /// The host restarted while the plan was carried out.
    PlanExecutionInterrupted = "PLAN_EXECUTION_INTERRUPTED", retryable: false;
    /// Another execution holds the plan.
    PlanExecutionConflict = "PLAN_EXECUTION_CONFLICT", retryable: false;
    /// The session cannot be configured while a proposal waits.
    PlanConfigurationBlocked = "PLAN_CONFIGURATION_BLOCKED", retryable: false;
    /// The questions do not fit the tool.
    AsktoolInvalidArgument = "ASKTOOL_INVALID_ARGUMENT", retryable: false;
    /// No question waits under this id.
    AsktoolNotFound = "ASKTOOL_NOT_FOUND", retryable: false;
    /// The plugin's manifest or package is not valid.
    PluginInvalid = "PLUGIN_INVALID", retryable: false;
    /// The user has not granted the plugin what it asks for.
    PluginNotGranted = "PLUGIN_NOT_GRANTED", retryable: false;
    /// The MCP server cannot be reached.
    McpUnavailable = "MCP_UNAVAILABLE", retryable: false;
    /// The sandbox is required and cannot be set up.
    SandboxUnavailable = "SANDBOX_UNAVAILABLE", retryable: false;
    /// A policy file does not load; the message shows file, line and a hint.
    PolicyInvalid = "POLICY_INVALID", retryable: false;
    /// There is no snapshot to restore.
    SnapshotUnavailable = "SNAPSHOT_UNAVAILABLE", retryable: false;
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A protocol or session failure: answered as a JSON-RPC error. A tool failure past the gate is
/// never one of these; it is a result ([`crate::ToolOutcome`]).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// Which.
    pub code: ErrorCode,
    /// One sentence, lower-case, user input in backticks.
    pub message: String,
    /// Further members of the wire error's `data`.
    pub data: Map<String, Value>,
}

impl HostError {
    /// An error with a message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: Map::new(),
        }
    }

    /// `INVALID_PARAMS`.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidParams, message)
    }

    /// `INTERNAL`; the message must not carry arguments or file contents.
    pub fn internal(message: impl std::fmt::Display) -> Self {
        Self::new(ErrorCode::Internal, message.to_string())
    }

    /// Adds a member to the wire error's `data`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.data.insert(key.to_owned(), value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_documented() {
        let mut seen = std::collections::BTreeSet::new();
        for code in ErrorCode::ALL {
            assert!(seen.insert(code.as_str()), "{code} twice");
            assert!(
                code.documentation().len() > 20,
                "{code} lacks documentation"
            );
        }
    }
}
