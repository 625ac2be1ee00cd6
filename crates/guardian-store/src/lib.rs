//! What guardian remembers: sessions, settings, grants and the audit chain, in one SQLite file
//! that several processes share.
//!
//! A [`Store`] is a handle to one data directory. One thread writes, with group commit; readers
//! use connections of their own. All methods block, for microseconds to a few milliseconds; an
//! asynchronous host runs them on a blocking thread, or takes the [`Pending`] of the `…_later`
//! variants. There is no tokio here.
//!
//! What the store promises: an operation that returned is committed ([`Durability`] says how
//! firmly); an error is never an answer ([`StoreError::NotFound`] is said only after a successful
//! look); grants belong to one session; audit rows form a chain in which an edit, a gap and a
//! reorder show ([`Store::verify_audit`]); texts are redacted on their way in.
//!
//! Main types, in the order in which a host meets them: [`StoreOptions`] → [`Store`] →
//! [`Lease`] (this process owns the session's turns) → [`Session`], [`Turn`] → [`StoredGrant`] →
//! [`AuditEntry`] in, [`AuditRow`] out.

pub mod audit;
mod clock;
mod delegates;
mod error;
mod grants;
mod id;
mod lease;
mod plans;
mod policies;
mod private_files;
mod reviewers;
mod row;
mod schema;
mod seen_files;
mod session_policies;
mod sessions;
mod settings;
mod snapshots;
mod store;
mod writer;

pub use audit::{
    AuditEntry, AuditEvent, AuditFilter, AuditOrder, AuditPage, AuditRow, BrokenChain,
    ExternalPathPermission, Head, Verification,
};
pub use clock::{Clock, ManualClock, SystemClock, Timestamp};
pub use delegates::{Delegate, DelegateEnd, NewDelegate, OPEN_DELEGATES};
pub use error::{Conflict, StoreError};
pub use grants::{GRANT_UNUSED_LIFETIME_MS, StoredGrant};
pub use id::{InvalidSessionId, SessionId};
pub use lease::Lease;
pub use plans::{
    ExecutionStatus, FIRST_VERSION, NewProposal, PROPOSAL_LIFETIME_MS, PlanConflict, PlanKind,
    Proposal, ProposalAnswer, ProposalArtifact, ProposalIdentity, ProposalStatus, Resolved,
};
pub use policies::{PolicyVersion, TrustedPolicy};
pub use reviewers::CachedDecision;
pub use seen_files::SeenFile;
pub use session_policies::SessionPolicy;
pub use sessions::{
    NewSession, NewTurn, Session, SessionChange, SessionState, ShellPin, Turn, TurnOutcome,
};
pub use settings::{SandboxSetting, Settings, SettingsChange};
pub use snapshots::{
    Artifact, ArtifactKind, BlobId, Capture, ChangeOperation, ChangeStatus,
    DEFAULT_REVIEW_QUOTA_BYTES, DiffHunk, DiffLine, NewArtifact, NewSnapshot, RecordedChange,
    RollbackMark, Snapshot,
};
pub use store::{Recovery, Store, StoreOptions};
pub use writer::{Durability, Pending};
