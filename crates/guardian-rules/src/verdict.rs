//! The outcome of an evaluation.

use guardian_facts::Sensitivity;

/// May the call run?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// Yes.
    Allow,
    /// A reviewer decides.
    Ask,
    /// No.
    Deny,
}

/// Why: the single most telling cause, `content.cause` on the wire where it is a denial.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The operating mode does not have the tool.
    ContractMode,
    /// The session has no workspace and the tool needs one (`WORKSPACE_REQUIRED`).
    WorkspaceRequired,
    /// A sensitive path or one of guardian's own files.
    SensitivePath,
    /// A path addressed through scratch that leaves it, or an outside path.
    PathOutsideWorkspace,
    /// A rule, by id.
    Rule(String),
    /// A floor rule, by id (`floor.…`).
    Floor(String),
    /// Secret file.
    SecretFile,
    /// Protected file.
    ProtectedFile,
    /// A Write over a file the session never read, of which no snapshot can be taken.
    UnreadOverwrite,
    /// The permission-mode table.
    PermissionMode,
    /// A session grant.
    Grant,
    /// Low risk inside the roots.
    LowRisk,
    /// Scratch.
    Scratch,
    /// Proven harmless under a preset, by the preset's name.
    Preset(String),
    /// The facts are not known well enough for any allow.
    Unknown,
    /// Nothing covers the call.
    NotCovered,
}

impl Cause {
    /// The value of `content.cause` of a denial (SPEC §5).
    #[must_use]
    pub fn wire_name(&self) -> String {
        match self {
            Self::ContractMode => "contract_mode".to_owned(),
            Self::WorkspaceRequired => "workspace_required".to_owned(),
            Self::SensitivePath => "sensitive_path".to_owned(),
            Self::PathOutsideWorkspace => "path_outside_workspace".to_owned(),
            Self::Rule(id) | Self::Floor(id) => format!("rule:{id}"),
            Self::SecretFile => "secret_file".to_owned(),
            Self::ProtectedFile => "protected_file".to_owned(),
            Self::UnreadOverwrite => "unread_overwrite".to_owned(),
            Self::PermissionMode => "permission_mode".to_owned(),
            Self::Grant => "grant".to_owned(),
            Self::LowRisk => "low_risk".to_owned(),
            Self::Scratch => "scratch".to_owned(),
            Self::Preset(name) => format!("preset:{name}"),
            Self::Unknown => "unknown".to_owned(),
            Self::NotCovered => "not_covered".to_owned(),
        }
    }
}

/// What a human may answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AllowedDecision {
    /// This call.
    AllowOnce,
    /// The tool until the session ends.
    AllowSession,
    /// The tool, as a rule in the user's policy.
    AllowAlwaysForTool,
    /// The command pattern, as a rule in the user's policy.
    AllowAlwaysForCommandPattern,
    /// No.
    Deny,
}

/// One step of the trace: what was considered and what it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceStep {
    /// Rule id, or the name of the step (`matrix`, `mode-table`, `grant`).
    pub rule: String,
    /// What it decided for this call; `None` = it did not apply.
    pub decision: Option<Decision>,
    /// Why, for people.
    pub note: String,
}

/// The outcome, with what made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// May the call run?
    pub decision: Decision,
    /// The operating mode does not have the tool: which error the call ends with.
    pub mode_refusal: Option<crate::ModeRefusal>,
    /// The most telling cause.
    pub cause: Cause,
    /// Ids of all rules that decided, sorted.
    pub decided_by: Vec<String>,
    /// Sentences for people, most telling first.
    pub reasons: Vec<String>,
    /// What a human may answer; empty unless the decision is ask.
    pub allowed_decisions: Vec<AllowedDecision>,
    /// Only a human may allow it (floor asks, protected files, opaque commands).
    pub human_only: bool,
    /// The grant that `allow-session` would create.
    pub session_grant: Option<crate::Grant>,
    /// Allowed only because the sandbox is in force: the host must confine the call, and ask where
    /// it cannot.
    pub relies_on_sandbox: bool,
    /// Allowed by proofs alone (a preset, scratch): nobody named this call in a rule, grant or
    /// mode. The host confines such calls where the user's setting says so (SPEC §10).
    pub proven_only: bool,
    /// Classes of all paths the call touches (for the card).
    pub touches: Sensitivity,
    /// Everything that was considered.
    pub trace: Vec<TraceStep>,
}
