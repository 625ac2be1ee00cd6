//! Stored forms of changes.

use std::path::{Path, PathBuf};

use guardian_redact::Redactor;
use serde::{Deserialize, Serialize};

use super::blobs::BlobId;
use super::change::{ArtifactKind, ChangeOperation, ChangeStatus, DiffHunk, DiffLine, NewSnapshot};
use crate::StoreError;
use crate::clock::Timestamp;
use crate::row;

/// Version 1 of the JSON of a change: what no query asks for.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChangeV1 {
    v: u32,
    at: i64,
    tool_call_id: String,
    path: StoredPath,
    target: StoredPath,
    operation: Operation,
    status: Status,
    additions: u64,
    deletions: u64,
    hunks: Vec<Hunk>,
    binary: bool,
    truncated: bool,
    reversible: bool,
    before_mode: Option<u32>,
    after_hash: Option<String>,
    created_directories: Vec<StoredPath>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Operation {
    Write,
    Edit,
    Delete,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Status {
    Added,
    Modified,
    Deleted,
}

#[derive(Serialize, Deserialize)]
struct Hunk {
    header: String,
    lines: Vec<(Side, String)>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Side {
    Context,
    Add,
    Del,
}

/// Text where it is text, else bytes.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum StoredPath {
    Text(String),
    Bytes(Vec<u8>),
}

impl StoredPath {
    fn new(path: &Path) -> Result<Self, StoreError> {
        Ok(match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes(row::path_bytes(path)?),
        })
    }

    fn into_path(self) -> Result<PathBuf, StoreError> {
        match self {
            Self::Text(text) => Ok(PathBuf::from(text)),
            Self::Bytes(bytes) => row::path_from_bytes(bytes),
        }
    }
}

pub(super) fn to_text(
    change: &NewSnapshot,
    redactor: &Redactor,
    at: Timestamp,
) -> Result<String, StoreError> {
    let stored = ChangeV1 {
        v: 1,
        at: at.0,
        tool_call_id: change.tool_call.clone(),
        path: StoredPath::new(&change.path)?,
        target: StoredPath::new(&change.target)?,
        operation: match change.operation {
            ChangeOperation::Write => Operation::Write,
            ChangeOperation::Edit => Operation::Edit,
            ChangeOperation::Delete => Operation::Delete,
        },
        status: match change.status {
            ChangeStatus::Added => Status::Added,
            ChangeStatus::Modified => Status::Modified,
            ChangeStatus::Deleted => Status::Deleted,
        },
        additions: change.additions,
        deletions: change.deletions,
        hunks: change
            .hunks
            .iter()
            .map(|hunk| Hunk::of(hunk.redacted(redactor)))
            .collect(),
        binary: change.binary,
        truncated: change.truncated,
        reversible: change.reversible,
        before_mode: change.before_mode,
        after_hash: change.after_hash.clone(),
        created_directories: change
            .created_directories
            .iter()
            .map(|path| StoredPath::new(path))
            .collect::<Result<_, _>>()?,
    };
    serde_json::to_string(&stored)
        .map_err(|error| StoreError::Invalid(format!("a change cannot be written: {error}")))
}

impl Hunk {
    fn of(hunk: DiffHunk) -> Self {
        Self {
            header: hunk.header,
            lines: hunk
                .lines
                .into_iter()
                .map(|line| match line {
                    DiffLine::Context(text) => (Side::Context, text),
                    DiffLine::Added(text) => (Side::Add, text),
                    DiffLine::Deleted(text) => (Side::Del, text),
                })
                .collect(),
        }
    }
}

pub(super) fn from_text(
    id: String,
    turn: Option<String>,
    before: Option<BlobId>,
    text: &str,
) -> Result<(NewSnapshot, Timestamp), StoreError> {
    let stored: ChangeV1 = serde_json::from_str(text)
        .map_err(|error| StoreError::Corrupt(format!("snapshot `{id}` cannot be read: {error}")))?;
    let at = Timestamp(stored.at);
    let added = matches!(stored.status, Status::Added);
    let change = NewSnapshot {
        id,
        turn,
        tool_call: stored.tool_call_id,
        path: stored.path.into_path()?,
        target: stored.target.into_path()?,
        operation: match stored.operation {
            Operation::Write => ChangeOperation::Write,
            Operation::Edit => ChangeOperation::Edit,
            Operation::Delete => ChangeOperation::Delete,
        },
        status: match stored.status {
            Status::Added => ChangeStatus::Added,
            Status::Modified => ChangeStatus::Modified,
            Status::Deleted => ChangeStatus::Deleted,
        },
        additions: stored.additions,
        deletions: stored.deletions,
        hunks: stored
            .hunks
            .into_iter()
            .map(|hunk| DiffHunk {
                header: hunk.header,
                lines: hunk
                    .lines
                    .into_iter()
                    .map(|(side, text)| match side {
                        Side::Context => DiffLine::Context(text),
                        Side::Add => DiffLine::Added(text),
                        Side::Del => DiffLine::Deleted(text),
                    })
                    .collect(),
            })
            .collect(),
        binary: stored.binary,
        truncated: stored.truncated,
        // Kept bytes that are gone cannot be restored.
        reversible: stored.reversible && (before.is_some() || added),
        before,
        before_mode: stored.before_mode,
        after_hash: stored.after_hash,
        created_directories: stored
            .created_directories
            .into_iter()
            .map(StoredPath::into_path)
            .collect::<Result<_, _>>()?,
    };
    Ok((change, at))
}

pub(super) fn artifact_kind(kind: ArtifactKind) -> &'static str {
    match kind {
        ArtifactKind::File => "file",
        ArtifactKind::Plan => "plan",
        ArtifactKind::Goal => "goal",
    }
}

pub(super) fn parse_artifact_kind(word: &str) -> Result<ArtifactKind, StoreError> {
    match word {
        "file" => Ok(ArtifactKind::File),
        "plan" => Ok(ArtifactKind::Plan),
        "goal" => Ok(ArtifactKind::Goal),
        other => Err(StoreError::Corrupt(format!(
            "`{other}` is no kind of artifact"
        ))),
    }
}
