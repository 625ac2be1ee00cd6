//! Changes that a host was killed in the middle of, settled by the next one that has the session:
//! what is on the disk says whether they were made.

use std::path::PathBuf;

use guardian_facts::RootPaths;
use guardian_store::{
    ArtifactKind, AuditEntry, AuditEvent, BlobId, ChangeOperation, ChangeStatus, Durability, Lease,
    NewArtifact, NewSnapshot, RecordedChange, Store, StoreError,
};
use guardian_tools::{
    Comparison, FailureCode, Roots, ToolFailure, compare_contents, read_document, sha256_of,
};
use serde_json::json;

use crate::changes::hunk;

/// Largest file whose content is looked at.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    /// The file has the new content, this one.
    Made(Vec<u8>),
    /// The file is as it was, or not there.
    NotMade,
    /// The file is neither as it was nor as it should have become: somebody went on from one of
    /// the two, or it was being written in place. The bytes from before stay kept, and a rollback
    /// is a conflict.
    Unclear,
}

impl Found {
    fn word(&self) -> &'static str {
        match self {
            Self::Made(_) => "made",
            Self::NotMade => "not-made",
            Self::Unclear => "unclear",
        }
    }
}

/// Settles every change that a former owner of the session left without a record. Blocking.
pub(crate) fn settle(store: &Store, lease: &Lease) -> Result<(), StoreError> {
    let pending = store.pending_changes(lease)?;
    if pending.is_empty() {
        return Ok(());
    }
    let workspace = store.session(lease.session())?.project_path;
    for change in pending {
        settle_one(store, lease, change, workspace.clone())?;
    }
    Ok(())
}

fn settle_one(
    store: &Store,
    lease: &Lease,
    change: NewSnapshot,
    workspace: Option<PathBuf>,
) -> Result<(), StoreError> {
    let found = look(store, &change, workspace);
    let session = lease.session();
    let audit = AuditEntry {
        session: Some(session.clone()),
        turn: change.turn.clone(),
        tool_call: Some(change.tool_call.clone()),
        tool: Some(tool(change.operation).to_owned()),
        ok: Some(matches!(found, Found::Made(_))),
        reason: Some("the host ended while the call ran".to_owned()),
        detail: Some(json!({ "snapshotId": change.id, "change": found.word() })),
        ..AuditEntry::new(AuditEvent::Interrupted)
    };
    let (snapshot, artifact) = match found {
        Found::NotMade => return store.drop_pending_change(session, &change.id, Some(audit)),
        Found::Unclear => (change, None),
        Found::Made(bytes) => {
            let artifact = NewArtifact {
                path: change.path.clone(),
                kind: ArtifactKind::File,
                bytes: bytes.len() as u64,
                sha256: sha256_of(&bytes),
            };
            (with_diff(store, change, &bytes), Some(artifact))
        }
    };
    let recorded = RecordedChange {
        audit,
        snapshot: Some(snapshot),
        artifact,
        seen: Vec::new(),
    };
    store.record_change(recorded, Durability::Machine).map(drop)
}

fn look(store: &Store, change: &NewSnapshot, workspace: Option<PathBuf>) -> Found {
    let hash = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
    let before = change.before.as_ref().map(BlobId::as_str);
    match content(store, change, workspace) {
        Ok(bytes) if change.after_hash == Some(hash(&bytes)) => Found::Made(bytes),
        Ok(bytes) if before == Some(hash(&bytes).as_str()) => Found::NotMade,
        Err(failure)
            if failure.code == FailureCode::NotFound && change.status == ChangeStatus::Added =>
        {
            Found::NotMade
        }
        // Without bytes from before there is nothing that a record would save.
        _ if before.is_none() => Found::NotMade,
        _ => Found::Unclear,
    }
}

/// What is in the file now.
fn content(
    store: &Store,
    change: &NewSnapshot,
    workspace: Option<PathBuf>,
) -> Result<Vec<u8>, ToolFailure> {
    let gone = || ToolFailure::new(FailureCode::ToolFailed, "the workspace is gone");
    let paths = RootPaths {
        workspace,
        scratch: PathBuf::from("/"),
        home: PathBuf::from("/"),
        guardian_data: store.data_directory().to_owned(),
        guardian_config: Vec::new(),
        guardian_executables: Vec::new(),
    };
    let roots = Roots::open(&paths).map_err(|_| gone())?;
    let relative = roots
        .workspace_path()
        .and_then(|workspace| change.target.strip_prefix(workspace).ok())
        .ok_or_else(gone)?;
    read_document(&roots, relative, MOST_BYTES)
}

/// The change with its lines, as far as the bytes from before are there to compare with.
fn with_diff(store: &Store, change: NewSnapshot, after: &[u8]) -> NewSnapshot {
    let before = match (&change.before, change.status) {
        (_, ChangeStatus::Added) => None,
        (Some(id), _) => match store.blob(id) {
            Ok(bytes) => Some(bytes),
            Err(_) => return change,
        },
        (None, _) => return change,
    };
    let Comparison {
        additions,
        deletions,
        hunks,
        truncated,
        binary,
    } = compare_contents(before.as_deref(), after);
    NewSnapshot {
        additions: additions as u64,
        deletions: deletions as u64,
        hunks: hunks.into_iter().map(hunk).collect(),
        truncated,
        binary,
        ..change
    }
}

fn tool(operation: ChangeOperation) -> &'static str {
    match operation {
        ChangeOperation::Write => "Write",
        ChangeOperation::Edit => "Edit",
        ChangeOperation::Delete => "Delete",
    }
}
