//! What a body returns when it succeeds.

use std::path::PathBuf;

use serde_json::Value;

use crate::diff::Hunk;
use crate::roots::RootKind;

/// A successful call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The result as SPEC §9 shapes it (camelCase). The host adds `review` from
    /// [`Self::changed`] when it has stored the snapshot.
    pub content: Value,
    /// What Write or Edit changed; `None` for reads and when nothing changed.
    pub changed: Option<ChangeRecord>,
}

impl ToolOutput {
    pub(crate) fn unchanged(content: Value) -> Self {
        Self {
            content,
            changed: None,
        }
    }
}

/// Which tool made a change (`operation` of SPEC §11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOperation {
    /// Write.
    Write,
    /// Edit.
    Edit,
}

/// What a file was before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeBefore {
    /// It did not exist; these directories were made for it, outermost first, as absolute paths.
    Absent {
        /// Directories that the call created.
        created_directories: Vec<PathBuf>,
    },
    /// It had these bytes.
    Bytes {
        /// Key under which the [`crate::SnapshotSink`] keeps them; `None` when it does not.
        key: Option<String>,
        /// BLAKE3, lower-case hex.
        hash: String,
        /// Permission bits.
        mode: u32,
        /// Size.
        bytes: u64,
    },
}

/// A change of the workspace that is about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct UpcomingChange {
    /// As shown in results.
    pub path: String,
    /// The file that will be changed.
    pub canonical: PathBuf,
    /// By which tool.
    pub operation: ChangeOperation,
    /// What it is now. Of a new file, the directories that may have to be made.
    pub before: ChangeBefore,
    /// BLAKE3 of the new content, lower-case hex.
    pub after_hash: String,
    /// A rollback will be possible.
    pub reversible: bool,
}

/// The record of one successful change, for review, rollback and artifacts (SPEC §11). Made for
/// every root; the host keeps those of the workspace.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeRecord {
    /// Which root the file lies in.
    pub root: RootKind,
    /// As shown in results: relative to the workspace, absolute elsewhere.
    pub path: String,
    /// The file that was changed.
    pub canonical: PathBuf,
    /// By which tool.
    pub operation: ChangeOperation,
    /// What it was.
    pub before: ChangeBefore,
    /// BLAKE3 of the new content, lower-case hex: guards a rollback.
    pub after_hash: String,
    /// SHA-256 of the new content, lower-case hex: for the artifact row.
    pub after_sha256: String,
    /// Size of the new content.
    pub bytes: u64,
    /// Lines added.
    pub additions: usize,
    /// Lines removed.
    pub deletions: usize,
    /// The change as hunks with three lines of context. Not redacted: the host redacts them like
    /// a card before they are stored or shown.
    pub hunks: Vec<Hunk>,
    /// Hunks were left out or cut.
    pub truncated: bool,
    /// One side is not text: there are no hunks.
    pub binary: bool,
    /// A rollback is possible.
    pub reversible: bool,
}
