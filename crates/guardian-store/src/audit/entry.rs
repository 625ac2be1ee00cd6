//! Audit entries as the host gives them, and rows as it gets them back.

use std::fmt;

use guardian_rules::Decision;
use serde_json::Value;

use crate::clock::Timestamp;
use crate::{SessionId, StoreError};

/// What a row is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AuditEvent {
    /// A high-risk call is about to run.
    AboutToRun,
    /// A call ended: ran, was denied, timed out, was aborted …
    Call,
    /// A request for approval was answered.
    Decision,
    /// A session grant was given.
    Grant,
    /// Session grants were revoked.
    Revoke,
    /// A policy was loaded, or failed to load.
    Policy,
    /// A person overruled an automatic reviewer's denial.
    Overruled,
    /// A call whose host died while it ran was settled by the next one (`detail.change`).
    Interrupted,
    /// A rollback.
    Rollback,
    /// A call was turned away for lack of room.
    Overload,
    /// A session was made, changed or deleted, a turn begun or ended.
    Session,
    /// A setting was changed.
    Settings,
    /// A step of plan or goal mode (`detail.step`).
    Plan,
    /// A delegate was opened or closed (`detail.step`).
    Delegate,
    /// Questions of the model were answered or skipped.
    Question,
    /// The database was damaged and a new one begun.
    StoreRecovered,
    /// Older rows were removed; the chain goes on from here.
    Pruned,
    /// Anything else of the host's, by name.
    Other(String),
    /// Given by a client (`client.<kind>` on the wire).
    Client(String),
}

/// Names of the events without a part of their own, in one place for both directions.
const NAMES: &[(AuditEvent, &str)] = &[
    (AuditEvent::AboutToRun, "about-to-run"),
    (AuditEvent::Call, "call"),
    (AuditEvent::Decision, "decision"),
    (AuditEvent::Grant, "grant"),
    (AuditEvent::Revoke, "revoke"),
    (AuditEvent::Policy, "policy"),
    (AuditEvent::Overruled, "overruled"),
    (AuditEvent::Interrupted, "interrupted"),
    (AuditEvent::Rollback, "rollback"),
    (AuditEvent::Overload, "overload"),
    (AuditEvent::Session, "session"),
    (AuditEvent::Settings, "settings"),
    (AuditEvent::Plan, "plan"),
    (AuditEvent::Delegate, "delegate"),
    (AuditEvent::Question, "question"),
    (AuditEvent::StoreRecovered, "store-recovered"),
    (AuditEvent::Pruned, "pruned"),
];

impl AuditEvent {
    /// From its stored and wire name.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        if let Some((event, _)) = NAMES.iter().find(|(_, known)| *known == name) {
            return event.clone();
        }
        match name.strip_prefix("client.") {
            Some(kind) => Self::Client(kind.to_owned()),
            None => Self::Other(name.to_owned()),
        }
    }
}

/// The stored and wire name.
impl fmt::Display for AuditEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(kind) => write!(formatter, "client.{kind}"),
            Self::Other(name) => formatter.write_str(name),
            named => formatter.write_str(
                NAMES
                    .iter()
                    .find(|(event, _)| event == named)
                    .map_or("unknown", |(_, name)| name),
            ),
        }
    }
}

/// `externalPathPermission`: how a path outside the roots came to be permitted, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExternalPathPermission {
    /// No such path.
    None,
    /// Permission mode `auto`.
    Auto,
    /// A session grant.
    Granted,
    /// Allowed once, or by a rule.
    Allowed,
    /// Denied.
    Denied,
}

impl ExternalPathPermission {
    /// The stored and wire name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Auto => "auto",
            Self::Granted => "granted",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
        }
    }

    pub(crate) fn from_name(name: &str) -> Result<Self, StoreError> {
        [
            Self::None,
            Self::Auto,
            Self::Granted,
            Self::Allowed,
            Self::Denied,
        ]
        .into_iter()
        .find(|value| value.name() == name)
        .ok_or_else(|| StoreError::Corrupt(format!("`{name}` is no external path permission")))
    }
}

/// One row to be written. Start from [`AuditEntry::new`] and set what applies.
///
/// Texts that may hold secrets ([`Self::args_preview`], [`Self::facts_summary`],
/// [`Self::reason`], [`Self::detail`]) are redacted by the store.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    /// What it is about.
    pub event: AuditEvent,
    /// Session.
    pub session: Option<SessionId>,
    /// Turn.
    pub turn: Option<String>,
    /// `toolCallId`.
    pub tool_call: Option<String>,
    /// Tool name.
    pub tool: Option<String>,
    /// Name of the delegate that called.
    pub delegate: Option<String>,
    /// From [`crate::Store::args_hash`].
    pub args_hash: Option<String>,
    /// Arguments as a card shows them.
    pub args_preview: Option<Value>,
    /// One line: what the call would do.
    pub facts_summary: Option<String>,
    /// How an outside path came to be permitted.
    pub external_path_permission: Option<ExternalPathPermission>,
    /// May it run?
    pub decision: Option<Decision>,
    /// `content.cause` and its relatives: `user`, `rule:<id>`, `contract_mode`, `timeout` …
    pub cause: Option<String>,
    /// Who decided: `policy`, `human`, `reviewer:<name>`, `deadline`, `abort` …
    pub decided_by: Option<String>,
    /// Ids of the rules that decided.
    pub rule_ids: Vec<String>,
    /// Hash of the policy in force.
    pub policy_version: Option<String>,
    /// Why, for people.
    pub reason: Option<String>,
    /// Did the call succeed?
    pub ok: Option<bool>,
    /// Error code of SPEC §17.
    pub error_code: Option<String>,
    /// Exit code of a command.
    pub exit_code: Option<i32>,
    /// Bytes of the result (0 for what did not run).
    pub bytes: Option<u64>,
    /// Somebody was asked.
    pub prompted: Option<bool>,
    /// Milliseconds spent waiting for the answer.
    pub permission_wait_ms: Option<u64>,
    /// Milliseconds in the tool's body.
    pub duration_ms: Option<u64>,
    /// Milliseconds in guardian itself.
    pub overhead_ms: Option<u64>,
    /// Milliseconds in all.
    pub total_ms: Option<u64>,
    /// The confinement that was in force.
    pub sandbox: Option<String>,
    /// Repair guard (SPEC §12.3): what sort of failed mutation.
    pub mutation_failure_kind: Option<String>,
    /// Repair guard: which failure of the prompt on that file.
    pub mutation_failure_attempt: Option<u64>,
    /// Repair guard: the turn was told to end.
    pub terminate: Option<bool>,
    /// What belongs to the event and has no field of its own.
    pub detail: Option<Value>,
}

impl AuditEntry {
    /// An entry of which nothing but the event is known.
    #[must_use]
    pub fn new(event: AuditEvent) -> Self {
        Self {
            event,
            session: None,
            turn: None,
            tool_call: None,
            tool: None,
            delegate: None,
            args_hash: None,
            args_preview: None,
            facts_summary: None,
            external_path_permission: None,
            decision: None,
            cause: None,
            decided_by: None,
            rule_ids: Vec::new(),
            policy_version: None,
            reason: None,
            ok: None,
            error_code: None,
            exit_code: None,
            bytes: None,
            prompted: None,
            permission_wait_ms: None,
            duration_ms: None,
            overhead_ms: None,
            total_ms: None,
            sandbox: None,
            mutation_failure_kind: None,
            mutation_failure_attempt: None,
            terminate: None,
            detail: None,
        }
    }
}

/// A row of the log.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRow {
    /// Its place in the chain, from 1.
    pub seq: u64,
    /// When it was written.
    pub at: Timestamp,
    /// What it says.
    pub entry: AuditEntry,
    /// Its hash, lower-case hex.
    pub hash: String,
}
