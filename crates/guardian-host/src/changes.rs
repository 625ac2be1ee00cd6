//! Changes that can be taken back (SPEC §11): the snapshot of a mutation, its record for review,
//! its artifact, and the rollback.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use guardian_store::{
    Artifact, ArtifactKind, AuditEntry, AuditEvent, AuditFilter, AuditOrder, BlobId, Capture,
    ChangeOperation, ChangeStatus, DiffHunk, DiffLine, NewArtifact, NewSnapshot, RollbackMark,
    SessionId, Snapshot, Store, StoreError,
};
use guardian_tools::{
    ChangeBefore, ChangeRecord, FailureCode, Hunk, Keeping, LineKind, RestoreTo, RollbackOutcome,
    RollbackRequest, RootKind, SnapshotSink, ToolFailure, UpcomingChange, rollback,
};
use serde_json::{Value, json};

use crate::admission::{CallClass, Patience};
use crate::blocking::blocking;
use crate::error::{ErrorCode, HostError};
use crate::gate::Passage;
use crate::host::Host;
use crate::sessions::random_id;

/// Keeps the bytes from before one mutation, and notes that it is about to be made.
pub(crate) struct SnapshotKeeper {
    store: Store,
    session: SessionId,
    /// Of the change, should one be made.
    id: String,
    turn: Option<String>,
    tool_call: String,
    kept: Mutex<Option<BlobId>>,
    noted: AtomicBool,
}

impl SnapshotKeeper {
    pub(crate) fn new(store: Store, passage: &Passage) -> Result<Self, HostError> {
        Ok(Self {
            store,
            session: passage.session_id()?,
            id: random_id("c")?,
            turn: passage.request.turn_id.clone(),
            tool_call: passage.request.tool_call_id.clone(),
            kept: Mutex::default(),
            noted: AtomicBool::new(false),
        })
    }

    /// The change was not made: what was noted of it goes. Blocking.
    pub(crate) fn forget(&self) {
        if !self.noted.load(Ordering::Relaxed) {
            return;
        }
        let dropped = self
            .store
            .drop_pending_change(&self.session, &self.id, None);
        if let Err(error) = dropped {
            // Settled by the next owner of the session.
            tracing::warn!(%error, "a change that was not made stays noted");
        }
    }

    fn snapshot(&self, change: &UpcomingChange) -> NewSnapshot {
        let (status, before_mode, created_directories) = match &change.before {
            ChangeBefore::Absent {
                created_directories,
            } => (ChangeStatus::Added, None, created_directories.clone()),
            ChangeBefore::Bytes { mode, .. } => (ChangeStatus::Modified, Some(*mode), Vec::new()),
        };
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        NewSnapshot {
            id: self.id.clone(),
            turn: self.turn.clone(),
            tool_call: self.tool_call.clone(),
            path: PathBuf::from(&change.path),
            target: change.canonical.clone(),
            operation: match change.operation {
                guardian_tools::ChangeOperation::Write => ChangeOperation::Write,
                guardian_tools::ChangeOperation::Edit => ChangeOperation::Edit,
            },
            status,
            additions: 0,
            deletions: 0,
            hunks: Vec::new(),
            binary: false,
            truncated: true,
            reversible: change.reversible,
            before: kept.clone(),
            before_mode,
            after_hash: Some(change.after_hash.clone()),
            created_directories,
        }
    }

    /// The record of a change that was made; `None` outside the workspace, where changes leave
    /// none.
    pub(crate) fn pending_change(&self, change: ChangeRecord) -> Option<PendingChange> {
        if change.root != RootKind::Workspace {
            return None;
        }
        let upcoming = UpcomingChange {
            path: change.path,
            canonical: change.canonical,
            operation: change.operation,
            before: change.before,
            after_hash: change.after_hash,
            reversible: change.reversible,
        };
        let snapshot = NewSnapshot {
            additions: change.additions as u64,
            deletions: change.deletions as u64,
            hunks: change.hunks.into_iter().map(hunk).collect(),
            binary: change.binary,
            truncated: change.truncated,
            ..self.snapshot(&upcoming)
        };
        let artifact = NewArtifact {
            path: snapshot.path.clone(),
            kind: ArtifactKind::File,
            bytes: change.bytes,
            sha256: change.after_sha256,
        };
        Some(PendingChange { snapshot, artifact })
    }
}

impl SnapshotSink for SnapshotKeeper {
    fn keep(&self, bytes: &[u8]) -> Result<String, String> {
        match self.store.capture_before(&self.session, bytes) {
            Ok(Capture::Kept(id)) => {
                let key = id.as_str().to_owned();
                *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
                Ok(key)
            }
            Ok(Capture::OverQuota) => Err("the undo store is full".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn keep_and_note(&self, bytes: &[u8], change: &UpcomingChange) -> Result<Keeping, String> {
        let snapshot = self.snapshot(change);
        match self.store.capture_and_note(&self.session, bytes, &snapshot) {
            Ok(Capture::Kept(id)) => {
                let key = id.as_str().to_owned();
                *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
                self.noted.store(true, Ordering::Relaxed);
                Ok(Keeping::Kept(key))
            }
            Ok(Capture::OverQuota) => Ok(Keeping::Refused("the undo store is full".to_owned())),
            Err(error) => Ok(Keeping::Refused(error.to_string())),
        }
    }

    fn about_to_change(&self, change: &UpcomingChange) -> Result<(), String> {
        let snapshot = self.snapshot(change);
        self.store
            .note_pending_change(&self.session, &snapshot)
            .map_err(|error| error.to_string())?;
        self.noted.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// What a mutation of the workspace leaves in the store, with its closing audit row.
pub(crate) struct PendingChange {
    pub(crate) snapshot: NewSnapshot,
    pub(crate) artifact: NewArtifact,
}

pub(crate) fn hunk(hunk: Hunk) -> DiffHunk {
    let line = |line: guardian_tools::HunkLine| match line.kind {
        LineKind::Context => DiffLine::Context(line.text),
        LineKind::Add => DiffLine::Added(line.text),
        LineKind::Del => DiffLine::Deleted(line.text),
    };
    DiffHunk {
        header: hunk.header,
        lines: hunk.lines.into_iter().map(line).collect(),
    }
}

/// How a rollback of one change ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollbackReport {
    /// Which change.
    pub snapshot_id: String,
    /// Its file, relative to the workspace.
    pub path: String,
    /// `rolledBack`, `alreadyRolledBack`, `conflict` or `unavailable`.
    pub status: &'static str,
    /// Why it is `unavailable`.
    pub reason: Option<String>,
}

impl Host {
    /// `ReviewChange` of SPEC §11. Hunks are redacted like a card.
    pub(crate) fn change_view(&self, change: &NewSnapshot, rolled_back: bool) -> Value {
        let operation = match change.operation {
            ChangeOperation::Write => "write",
            ChangeOperation::Edit => "edit",
            ChangeOperation::Delete => "delete",
        };
        let status = match change.status {
            ChangeStatus::Added => "added",
            ChangeStatus::Modified => "modified",
            ChangeStatus::Deleted => "deleted",
        };
        let mut view = json!({
            "version": 1,
            "snapshotId": change.id,
            "messageId": change.tool_call,
            "path": change.path.to_string_lossy(),
            "operation": operation,
            "status": status,
            "state": if rolled_back { "rolledBack" } else { "active" },
            "additions": change.additions,
            "deletions": change.deletions,
            "hunks": change.hunks.iter().map(|hunk| self.hunk_view(hunk)).collect::<Vec<_>>(),
            "reversible": change.reversible,
        });
        if change.binary {
            view["binary"] = true.into();
        }
        if change.truncated {
            view["truncated"] = true.into();
        }
        view
    }

    fn hunk_view(&self, hunk: &DiffHunk) -> Value {
        let hunk = hunk.redacted(&self.redactor);
        let line = |line: &DiffLine| {
            let kind = match line {
                DiffLine::Context(_) => "context",
                DiffLine::Added(_) => "add",
                DiffLine::Deleted(_) => "del",
            };
            json!({ "type": kind, "text": line.text() })
        };
        json!({
            "header": hunk.header,
            "lines": hunk.lines.iter().map(line).collect::<Vec<_>>(),
        })
    }

    /// The session's changes, newest first, as `ReviewChange` with the turn and the time of each.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `INTERNAL`.
    pub async fn list_changes(&self, session_id: &str) -> Result<Vec<Value>, HostError> {
        self.session(session_id).await?;
        let id = SessionId::new(session_id).map_err(HostError::internal)?;
        let snapshots = self.with_store(move |store| store.snapshots(&id)).await?;
        let view = |snapshot: &Snapshot| {
            let rolled_back = snapshot.rolled_back_at.is_some();
            let mut view = self.change_view(&snapshot.change, rolled_back);
            view["at"] = snapshot.at.0.into();
            if let Some(turn) = &snapshot.change.turn {
                view["turnId"] = turn.clone().into();
            }
            view
        };
        Ok(snapshots.iter().map(view).collect())
    }

    /// The session's artifacts, by path.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `INTERNAL`.
    pub async fn list_artifacts(&self, session_id: &str) -> Result<Vec<Artifact>, HostError> {
        self.session(session_id).await?;
        let id = SessionId::new(session_id).map_err(HostError::internal)?;
        self.with_store(move |store| store.artifacts(&id)).await
    }

    /// Takes one change back, if nobody changed the file since.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `NOT_FOUND` for an unknown change, `INTERNAL`.
    pub async fn rollback_change(
        self: &Arc<Self>,
        session_id: &str,
        snapshot_id: &str,
    ) -> Result<RollbackReport, HostError> {
        self.session(session_id).await?;
        self.own_session(session_id).await?;
        let id = SessionId::new(session_id).map_err(HostError::internal)?;
        let wanted = snapshot_id.to_owned();
        let snapshot = self
            .with_store(move |store| store.snapshot(&id, &wanted))
            .await?;
        self.take_back(session_id, snapshot).await
    }

    /// Takes every change of a turn back, newest first; one that cannot be is reported and the
    /// others go on.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `NOT_FOUND` for a turn that the session never had, `INTERNAL`.
    pub async fn rollback_turn(
        self: &Arc<Self>,
        session_id: &str,
        turn_id: &str,
    ) -> Result<Vec<RollbackReport>, HostError> {
        self.session(session_id).await?;
        self.own_session(session_id).await?;
        let id = SessionId::new(session_id).map_err(HostError::internal)?;
        let turn = turn_id.to_owned();
        let (snapshots, is_known) = self
            .with_store(move |store| {
                let snapshots = store.snapshots_of_turn(&id, &turn)?;
                // Changes are kept longer than turns may be.
                let is_known = !snapshots.is_empty() || store.knows_turn(&id, &turn)?;
                Ok((snapshots, is_known))
            })
            .await?;
        if !is_known {
            let message = format!("the session has no turn `{turn_id}`");
            return Err(HostError::new(ErrorCode::NotFound, message));
        }
        let mut reports = Vec::new();
        for snapshot in snapshots {
            reports.push(self.take_back(session_id, snapshot).await?);
        }
        Ok(reports)
    }

    async fn take_back(
        self: &Arc<Self>,
        session_id: &str,
        snapshot: Snapshot,
    ) -> Result<RollbackReport, HostError> {
        let report = |status, reason| RollbackReport {
            snapshot_id: snapshot.change.id.clone(),
            path: snapshot.change.path.to_string_lossy().into_owned(),
            status,
            reason,
        };
        if snapshot.rolled_back_at.is_some() {
            return Ok(report("alreadyRolledBack", None));
        }
        if !snapshot.change.reversible {
            return Ok(report("unavailable", Some(NOT_KEPT.to_owned())));
        }
        // As a mutation like any other: in order with the session's other ones of this path.
        let mut arrival = self.path_order.arrive(session_id);
        arrival.claim(&snapshot.change.target).await;
        let _slot = self
            .admission
            .admit(session_id, CallClass::Mutation, Patience::Approved)
            .await?;
        let session = self.session(session_id).await?;
        let runtime = self.runtime(session_id);
        let (store, change) = (self.store.clone(), snapshot.change.clone());
        let restored = blocking(move || restore(&store, &change, || runtime.roots(&session.roots)))
            .await
            .map_err(|_| HostError::internal("the rollback met a fault"))??;
        let (status, reason) = match restored {
            Restored::Done(RollbackOutcome::RolledBack) => ("rolledBack", None),
            Restored::Done(RollbackOutcome::AlreadyRolledBack) => ("alreadyRolledBack", None),
            Restored::Done(RollbackOutcome::Conflict) => ("conflict", None),
            Restored::Unavailable(reason) => ("unavailable", Some(reason)),
        };
        let id = SessionId::new(session_id).map_err(HostError::internal)?;
        let audit = AuditEntry {
            session: Some(id.clone()),
            turn: snapshot.change.turn.clone(),
            tool_call: Some(snapshot.change.tool_call.clone()),
            ok: Some(status == "rolledBack"),
            detail: Some(json!({ "snapshotId": snapshot.change.id, "status": status })),
            reason: reason.clone(),
            ..AuditEntry::new(AuditEvent::Rollback)
        };
        let snapshot_id = snapshot.change.id.clone();
        self.with_store(move |store| match status {
            "rolledBack" | "alreadyRolledBack" => store
                .mark_rolled_back(&id, &snapshot_id, audit)
                .map(|_: RollbackMark| ()),
            _ => store
                .append_audit(audit, guardian_store::Durability::Machine)
                .map(drop),
        })
        .await?;
        Ok(report(status, reason))
    }
}

const NOT_KEPT: &str = "its content from before was not kept";

enum Restored {
    Done(RollbackOutcome),
    /// It cannot be done: the bytes from before are not kept, or the system refuses.
    Unavailable(String),
}

fn restore(
    store: &Store,
    change: &NewSnapshot,
    roots: impl FnOnce() -> Result<Arc<guardian_tools::Roots>, ToolFailure>,
) -> Result<Restored, HostError> {
    // What the machine refuses is an answer; only a fault of guardian's own is an error.
    let refused = |failure: ToolFailure| match failure.code {
        FailureCode::Internal => Err(HostError::internal(failure.message)),
        _ => Ok(Restored::Unavailable(failure.message)),
    };
    let not_kept = || Restored::Unavailable(NOT_KEPT.to_owned());
    let Some(after_hash) = &change.after_hash else {
        return Ok(not_kept());
    };
    let bytes = match (&change.before, change.status) {
        (_, ChangeStatus::Added) => None,
        (None, _) => return Ok(not_kept()),
        (Some(id), _) => match store.blob(id) {
            Ok(bytes) => Some(bytes),
            Err(StoreError::NotFound { .. }) => return Ok(not_kept()),
            Err(error) => return Err(crate::host::store_error(error)),
        },
    };
    let before = match &bytes {
        None => RestoreTo::Absent {
            created_directories: &change.created_directories,
        },
        Some(bytes) => RestoreTo::Content { bytes },
    };
    let request = RollbackRequest {
        canonical: &change.target,
        after_hash,
        before,
    };
    roots()
        .and_then(|roots| rollback(&request, &roots))
        .map(Restored::Done)
        .or_else(refused)
}

impl Host {
    /// One sentence for each command that ran in the turn, oldest first: what a rollback of the turn
    /// does not cover.
    ///
    /// # Errors
    /// `INTERNAL` when the record cannot be read.
    pub async fn not_covered_by_rollback(
        &self,
        session_id: &str,
        turn_id: &str,
    ) -> Result<Vec<String>, HostError> {
        let filter = AuditFilter {
            session: Some(SessionId::new(session_id).map_err(HostError::internal)?),
            turn: Some(turn_id.to_owned()),
            tool: Some("Bash".to_owned()),
            event: Some(AuditEvent::AboutToRun),
            order: AuditOrder::OldestFirst,
            limit: 1000,
            ..AuditFilter::newest()
        };
        let page = self
            .with_store(move |store| store.query_audit(&filter))
            .await?;
        Ok(page
            .rows
            .into_iter()
            .filter_map(|row| row.entry.facts_summary)
            .map(|command| format!("changes made by a command are not taken back: {command}"))
            .collect())
    }
}
