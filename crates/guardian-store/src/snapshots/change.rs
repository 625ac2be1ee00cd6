//! Rows of changes and artifacts, and the transaction that writes them with their audit row.

use std::path::PathBuf;

use guardian_redact::Redactor;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::blobs::BlobId;
use super::pending::end_pending;
use super::stored;
use crate::audit::{self, AuditEntry};
use crate::clock::Timestamp;
use crate::row;
use crate::seen_files::{self, SeenFile};
use crate::sessions::session_of;
use crate::writer::Durability;
use crate::{SessionId, Store, StoreError};

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeOperation {
    /// The Write tool.
    Write,
    /// The Edit tool.
    Edit,
    /// A deletion.
    Delete,
}

/// What became of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeStatus {
    /// It is new.
    Added,
    /// It is another one.
    Modified,
    /// It is gone.
    Deleted,
}

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffLine {
    /// In both.
    Context(String),
    /// New.
    Added(String),
    /// Gone.
    Deleted(String),
}

/// A part of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffHunk {
    /// `@@ -1,3 +1,4 @@`.
    pub header: String,
    /// Its lines.
    pub lines: Vec<DiffLine>,
}

impl DiffLine {
    /// Its text, without the sign in front.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Context(text) | Self::Added(text) | Self::Deleted(text) => text,
        }
    }

    fn with_text(&self, text: String) -> Self {
        match self {
            Self::Context(_) => Self::Context(text),
            Self::Added(_) => Self::Added(text),
            Self::Deleted(_) => Self::Deleted(text),
        }
    }
}

impl DiffHunk {
    /// The hunk as people may see it. Each side is redacted as one text, as the file was and as it
    /// is, so that a secret over several lines (a private key) shows in none.
    #[must_use]
    pub fn redacted(&self, redactor: &Redactor) -> Self {
        let mut lines = self.lines.clone();
        let old = |line: &DiffLine| !matches!(line, DiffLine::Added(_));
        let new = |line: &DiffLine| !matches!(line, DiffLine::Deleted(_));
        for side in [old, new] {
            let members: Vec<usize> = (0..lines.len())
                .filter(|&index| side(&self.lines[index]))
                .collect();
            let texts: Vec<&str> = members
                .iter()
                .map(|&index| self.lines[index].text())
                .collect();
            for (&index, shown) in members.iter().zip(redactor.redact_lines(&texts)) {
                if shown != self.lines[index].text() {
                    lines[index] = self.lines[index].with_text(shown);
                }
            }
        }
        Self {
            header: redactor.redact_text(&self.header).into_owned(),
            lines,
        }
    }
}

/// A change to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSnapshot {
    /// `snapshotId`, unique within the session.
    pub id: String,
    /// Turn.
    pub turn: Option<String>,
    /// `messageId` = `toolCallId`.
    pub tool_call: String,
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Absolute and canonical, for the rollback.
    pub target: PathBuf,
    /// What was done.
    pub operation: ChangeOperation,
    /// What became of the file.
    pub status: ChangeStatus,
    /// Lines added.
    pub additions: u64,
    /// Lines deleted.
    pub deletions: u64,
    /// The diff. Redacted by the store.
    pub hunks: Vec<DiffHunk>,
    /// Not text: no hunks.
    pub binary: bool,
    /// The diff was cut.
    pub truncated: bool,
    /// It can be rolled back.
    pub reversible: bool,
    /// The bytes from before; `None` for a new file and for what is not reversible.
    pub before: Option<BlobId>,
    /// Permission bits from before.
    pub before_mode: Option<u32>,
    /// BLAKE3 of the content after the change; a rollback needs it to be the current one.
    pub after_hash: Option<String>,
    /// Directories that the call created, outermost first.
    pub created_directories: Vec<PathBuf>,
}

/// A recorded change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Whose.
    pub session: SessionId,
    /// What.
    pub change: NewSnapshot,
    /// When.
    pub at: Timestamp,
    /// When it was rolled back; `None` = `active`.
    pub rolled_back_at: Option<Timestamp>,
}

/// What an artifact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtifactKind {
    /// A file.
    File,
    /// A submitted plan.
    Plan,
    /// A submitted goal.
    Goal,
}

/// An artifact to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArtifact {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// What it is.
    pub kind: ArtifactKind,
    /// Length.
    pub bytes: u64,
    /// SHA-256, lower-case hex.
    pub sha256: String,
}

/// A recorded artifact: the last state of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Whose.
    pub session: SessionId,
    /// What.
    pub artifact: NewArtifact,
    /// The call that wrote it last.
    pub tool_call: String,
    /// When.
    pub at: Timestamp,
}

/// What a finished call leaves behind, in one transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedChange {
    /// Its audit row; session and call are taken from here.
    pub audit: AuditEntry,
    /// Its review record.
    pub snapshot: Option<NewSnapshot>,
    /// Its artifact.
    pub artifact: Option<NewArtifact>,
    /// Files that it met.
    pub seen: Vec<SeenFile>,
}

/// What [`Store::mark_rolled_back`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RollbackMark {
    /// It was active and is now rolled back.
    Marked,
    /// Somebody was faster.
    AlreadyRolledBack,
}

impl Store {
    /// Records a call that met or changed files: audit row, artifact, review record and what is
    /// known of the files together or not at all.
    /// Returns the number of the audit row.
    ///
    /// # Errors
    /// [`StoreError::Invalid`] when the audit entry names no session or no call.
    pub fn record_change(
        &self,
        change: RecordedChange,
        durability: Durability,
    ) -> Result<u64, StoreError> {
        let now = self.now();
        let RecordedChange {
            audit,
            snapshot,
            artifact,
            seen,
        } = change;
        let (Some(session), Some(tool_call)) = (audit.session.clone(), audit.tool_call.clone())
        else {
            return Err(StoreError::Invalid(
                "a change belongs to a session and a call".to_owned(),
            ));
        };
        let body = audit::body_of(audit, self.redactor(), now)?;
        let snapshot = snapshot
            .map(|snapshot| {
                let text = stored::to_text(&snapshot, self.redactor(), now)?;
                Ok::<_, StoreError>((snapshot, text))
            })
            .transpose()?;
        let artifact_path = artifact
            .as_ref()
            .map(|artifact| row::path_bytes(&artifact.path))
            .transpose()?;
        self.write(durability, move |context| {
            let connection = context.connection;
            // The change has happened: it is audited even if its session is gone by now.
            let session_exists = match session_of(connection, &session) {
                Ok(_) => true,
                Err(StoreError::NotFound { .. }) => false,
                Err(error) => return Err(error),
            };
            if !session_exists {
                return audit::append(context, body);
            }
            seen_files::note(connection, &session, &seen)?;
            if let Some((snapshot, text)) = snapshot {
                let before = snapshot.before.as_ref().map(BlobId::as_str);
                end_pending(connection, &session, &snapshot.id)?;
                connection
                    .prepare_cached(
                        "INSERT INTO snapshots (session_id, id, turn_id, before_blob, change)
                         VALUES (?1, ?2, ?3, (SELECT hash FROM blobs WHERE hash = ?4), ?5)",
                    )?
                    .execute(params![session.as_str(), snapshot.id, snapshot.turn, before, text])?;
                connection
                    .prepare_cached("DELETE FROM blob_holds WHERE hash = ?1 AND session_id = ?2")?
                    .execute(params![before, session.as_str()])?;
            }
            if let Some(artifact) = artifact {
                connection
                    .prepare_cached(
                        "INSERT INTO artifacts (session_id, path, kind, tool_call_id, bytes, sha256, at)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                         ON CONFLICT (session_id, path) DO UPDATE SET kind = excluded.kind,
                         tool_call_id = excluded.tool_call_id, bytes = excluded.bytes,
                         sha256 = excluded.sha256, at = excluded.at",
                    )?
                    .execute(params![
                        session.as_str(),
                        artifact_path,
                        stored::artifact_kind(artifact.kind),
                        tool_call,
                        artifact.bytes,
                        artifact.sha256,
                        now.0,
                    ])?;
            }
            audit::append(context, body)
        })
    }

    /// The changes of a session, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn snapshots(&self, session: &SessionId) -> Result<Vec<Snapshot>, StoreError> {
        self.read(|connection| snapshots_where(connection, session, "1", ""))
    }

    /// The changes of a turn, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn snapshots_of_turn(
        &self,
        session: &SessionId,
        turn: &str,
    ) -> Result<Vec<Snapshot>, StoreError> {
        self.read(|connection| snapshots_where(connection, session, "turn_id = ?2", turn))
    }

    /// One change.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the session has none of this id.
    pub fn snapshot(&self, session: &SessionId, id: &str) -> Result<Snapshot, StoreError> {
        self.read(|connection| {
            snapshots_where(connection, session, "id = ?2", id)?
                .pop()
                .ok_or_else(|| StoreError::not_found("snapshot", id))
        })
    }

    /// Notes that a change was rolled back, together with the audit row that says so. When it
    /// was so already, no row is written.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when the session has no such change.
    pub fn mark_rolled_back(
        &self,
        session: &SessionId,
        id: &str,
        audit: AuditEntry,
    ) -> Result<RollbackMark, StoreError> {
        let (session, id, now) = (session.clone(), id.to_owned(), self.now());
        let body = audit::body_of(audit, self.redactor(), now)?;
        self.write(Durability::Machine, move |context| {
            let connection = context.connection;
            let marked = connection
                .prepare_cached(
                    "UPDATE snapshots SET rolled_back_at = ?3
                     WHERE session_id = ?1 AND id = ?2 AND rolled_back_at IS NULL",
                )?
                .execute(params![session.as_str(), id, now.0])?;
            if marked == 1 {
                audit::append(context, body)?;
                return Ok(RollbackMark::Marked);
            }
            connection
                .prepare_cached("SELECT 1 FROM snapshots WHERE session_id = ?1 AND id = ?2")?
                .query_row(params![session.as_str(), id], |_| Ok(()))
                .optional()?
                .map(|()| RollbackMark::AlreadyRolledBack)
                .ok_or_else(|| StoreError::not_found("snapshot", id))
        })
    }

    /// The artifacts of a session, by path.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn artifacts(&self, session: &SessionId) -> Result<Vec<Artifact>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT path, kind, tool_call_id, bytes, sha256, at FROM artifacts WHERE session_id = ?1 ORDER BY path",
            )?;
            let mut rows = statement.query([session.as_str()])?;
            let mut artifacts = Vec::new();
            while let Some(row) = rows.next()? {
                artifacts.push(Artifact {
                    session: session.clone(),
                    artifact: NewArtifact {
                        path: row::path_from_bytes(row.get(0)?)?,
                        kind: stored::parse_artifact_kind(row.get_ref(1)?.as_str().unwrap_or_default())?,
                        bytes: row.get(3)?,
                        sha256: row.get(4)?,
                    },
                    tool_call: row.get(2)?,
                    at: Timestamp(row.get(5)?),
                });
            }
            Ok(artifacts)
        })
    }
}

fn snapshots_where(
    connection: &Connection,
    session: &SessionId,
    condition: &str,
    value: &str,
) -> Result<Vec<Snapshot>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT id, turn_id, rolled_back_at, before_blob, change, ?2 FROM snapshots
         WHERE session_id = ?1 AND {condition} ORDER BY seq DESC"
    ))?;
    let mut rows = statement.query(params![session.as_str(), value])?;
    let mut snapshots = Vec::new();
    while let Some(row) = rows.next()? {
        let before = row
            .get::<_, Option<String>>(3)?
            .map(BlobId::from_stored)
            .transpose()?;
        let text: String = row.get(4)?;
        let (change, at) = stored::from_text(row.get(0)?, row.get(1)?, before, &text)?;
        snapshots.push(Snapshot {
            session: session.clone(),
            change,
            at,
            rolled_back_at: row.get::<_, Option<i64>>(2)?.map(Timestamp),
        });
    }
    Ok(snapshots)
}
