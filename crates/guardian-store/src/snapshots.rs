//! What Write and Edit changed, with the bytes from before (SPEC §11), and artifacts.
//!
//! The store keeps rows and bytes; what to capture, how to diff and whether a rollback may
//! proceed is decided by its callers.

mod blobs;
mod change;
mod pending;
mod stored;

pub use blobs::{BlobId, Capture, DEFAULT_REVIEW_QUOTA_BYTES};
pub use change::{
    Artifact, ArtifactKind, ChangeOperation, ChangeStatus, DiffHunk, DiffLine, NewArtifact,
    NewSnapshot, RecordedChange, RollbackMark, Snapshot,
};

pub(crate) use blobs::drop_unnamed_blobs;
