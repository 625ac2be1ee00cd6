//! What a proposal is, and the words it is stored in.

use guardian_rules::{OperatingMode, PermissionMode};

use crate::clock::Timestamp;
use crate::{SessionId, StoreError};

/// A proposal that waits may be answered for this long: 30 minutes, absolute.
pub const PROPOSAL_LIFETIME_MS: i64 = 30 * 60 * 1000;

/// What is proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlanKind {
    /// A plan, from plan mode.
    Plan,
    /// A goal, from goal mode.
    Goal,
}

/// Where a proposal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProposalStatus {
    /// Waits for its answer.
    Pending,
    /// The user said yes; an execution exists.
    Approved,
    /// The user said no.
    Rejected,
    /// Nobody answered in time.
    Expired,
    /// The host went away while it waited.
    Interrupted,
    /// Withdrawn.
    Aborted,
}

/// Where the execution of an approved proposal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ExecutionStatus {
    /// Nobody has taken it up yet.
    Queued,
    /// A client carries it out.
    Running,
    /// It was carried out.
    Finished,
    /// It was tried and did not succeed.
    Failed,
    /// The host went away while it ran.
    Interrupted,
    /// Withdrawn.
    Aborted,
}

macro_rules! words {
    ($type:ident, $what:literal, { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $type {
            /// The stored and wire word.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// An unknown word is damage, not a default.
            pub(crate) fn from_word(word: &str) -> Result<Self, StoreError> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    other => Err(StoreError::Corrupt(format!(concat!("`{}` is no ", $what), other))),
                }
            }
        }
    };
}

words!(PlanKind, "kind of proposal", { Plan => "plan", Goal => "goal" });
words!(ProposalStatus, "status of a proposal", {
    Pending => "pending",
    Approved => "approved",
    Rejected => "rejected",
    Expired => "expired",
    Interrupted => "interrupted",
    Aborted => "aborted",
});
words!(ExecutionStatus, "status of an execution", {
    Queued => "queued",
    Running => "running",
    Finished => "finished",
    Failed => "failed",
    Interrupted => "interrupted",
    Aborted => "aborted",
});

impl PlanKind {
    /// The operating mode that it is proposed in.
    #[must_use]
    pub fn mode(self) -> OperatingMode {
        match self {
            Self::Plan => OperatingMode::Plan,
            Self::Goal => OperatingMode::Goal,
        }
    }
}

/// The file that holds what is proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalArtifact {
    /// Relative to the workspace, with `/`.
    pub relative_path: String,
    /// SHA-256 of its bytes, lower-case hex.
    pub sha256: String,
    /// Its length.
    pub bytes: u64,
}

/// A proposal to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProposal {
    /// Its id.
    pub id: String,
    /// The running turn that submits it.
    pub turn: String,
    /// The submitting call.
    pub tool_call: String,
    /// What is proposed.
    pub kind: PlanKind,
    /// For people. Redacted by the store.
    pub title: String,
    /// What the user is asked. Redacted by the store.
    pub question: String,
    /// The file, already written.
    pub artifact: ProposalArtifact,
}

/// A proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// Its id.
    pub id: String,
    /// Whose.
    pub session: SessionId,
    /// The turn that submitted it.
    pub turn: String,
    /// The call that submitted it.
    pub tool_call: String,
    /// What is proposed.
    pub kind: PlanKind,
    /// For people.
    pub title: String,
    /// What the user is asked.
    pub question: String,
    /// The file.
    pub artifact: ProposalArtifact,
    /// Where it stands.
    pub status: ProposalStatus,
    /// Grows with every transition; [`FIRST_VERSION`] while it waits.
    pub version: u64,
    /// The permission mode that an approval put in force.
    pub permission_mode: Option<PermissionMode>,
    /// Where its execution stands; `None` unless it was approved.
    pub execution: Option<ExecutionStatus>,
    /// When it was recorded.
    pub created_at: Timestamp,
    /// When it can no longer be answered.
    pub expires_at: Timestamp,
    /// When it was last changed.
    pub changed_at: Timestamp,
}

/// The version of a proposal that waits: the one that its reader was shown.
pub const FIRST_VERSION: u64 = 1;

/// Who a proposal is, as an answer names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalIdentity {
    /// Its id.
    pub id: String,
    /// Its session.
    pub session: SessionId,
    /// The turn that submitted it.
    pub turn: String,
    /// The call that submitted it.
    pub tool_call: String,
    /// The version that was shown, when the answer says so.
    pub version: Option<u64>,
}

impl Proposal {
    /// It waits, and it is the one that was shown under this identity.
    #[must_use]
    pub fn is_waiting_as(&self, identity: &ProposalIdentity) -> bool {
        self.status == ProposalStatus::Pending && self.is(identity)
    }

    /// It is the one that was shown under this identity.
    pub(crate) fn is(&self, identity: &ProposalIdentity) -> bool {
        self.turn == identity.turn
            && self.tool_call == identity.tool_call
            && identity
                .version
                .is_none_or(|version| version == FIRST_VERSION)
    }
}

/// The user's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProposalAnswer {
    /// Yes, with this permission mode.
    Approve(PermissionMode),
    /// No; the mode stays.
    Reject,
}

/// What an answer did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// It counted.
    Now(Proposal),
    /// The same answer had been given before.
    Before(Proposal),
}

/// What stood in the way of a step of plan and goal mode (SPEC §13.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PlanConflict {
    /// The session is not in the mode that the step needs.
    #[error("the session is not in plan or goal mode")]
    NotActive,
    /// It is in plan or goal mode already.
    #[error("the session is already in plan or goal mode")]
    AlreadyActive,
    /// It is in the other mode.
    #[error("the submit tool does not fit the session's mode")]
    KindMismatch,
    /// A proposal waits.
    #[error("a proposal waits for its answer already")]
    AlreadyPending,
    /// The turn is not the running one.
    #[error("the turn is not running")]
    TurnNotRunning,
    /// A delegate is open.
    #[error("a delegate is at work; the mode cannot change before it has finished")]
    DelegateOpen,
    /// The proposal is not the one that was shown, or not in the state that was shown.
    #[error("this is not the proposal that was shown")]
    Stale,
    /// Nobody answered in time.
    #[error("the proposal expired unanswered")]
    Expired,
    /// The host went away while it waited.
    #[error("the host was restarted while the proposal waited")]
    Interrupted,
    /// It was not approved.
    #[error("the proposal is not approved")]
    ApprovalRequired,
    /// Its execution is somebody else's, or over.
    #[error("the execution is taken or over")]
    ExecutionConflict,
    /// The host went away while it was carried out.
    #[error("the host was restarted while the plan was carried out")]
    ExecutionInterrupted,
    /// The session cannot be configured while a proposal waits.
    #[error("the session cannot be configured while a proposal waits for its answer")]
    ConfigurationBlocked,
}
