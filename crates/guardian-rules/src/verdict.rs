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
    /// Classes of all paths the call touches (for the card).
    pub touches: Sensitivity,
    /// Everything that was considered.
    pub trace: Vec<TraceStep>,
}
