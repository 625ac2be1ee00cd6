//! Review snapshots, artifacts and what is remembered of policies.

use std::path::Path;

use guardian_store::{
    ArtifactKind, AuditEntry, AuditEvent, AuditFilter, BlobId, Capture, ChangeOperation,
    ChangeStatus, DiffHunk, DiffLine, Durability, NewArtifact, NewSnapshot, RecordedChange,
    RollbackMark, SessionId, Store, StoreError, StoreOptions,
};

use crate::support::{Fixture, session};

fn audit(session: &SessionId, call: &str) -> AuditEntry {
    AuditEntry {
        session: Some(session.clone()),
        tool_call: Some(call.to_owned()),
        ..AuditEntry::new(AuditEvent::Call)
    }
}

fn change(name: &str, before: Option<BlobId>) -> NewSnapshot {
    NewSnapshot {
        id: name.to_owned(),
        turn: Some("t1".to_owned()),
        tool_call: name.to_owned(),
        path: "src/a.rs".into(),
        target: "/work/project/src/a.rs".into(),
        operation: ChangeOperation::Edit,
        status: if before.is_some() {
            ChangeStatus::Modified
        } else {
            ChangeStatus::Added
        },
        additions: 1,
        deletions: 1,
        hunks: vec![DiffHunk {
            header: "@@ -1 +1 @@".to_owned(),
            lines: vec![
                DiffLine::Context("fn main() {".to_owned()),
                DiffLine::Deleted("API_KEY=abcdef".to_owned()),
                DiffLine::Added("let x = 1;".to_owned()),
            ],
        }],
        binary: false,
        truncated: false,
        reversible: true,
        before,
        before_mode: Some(0o644),
        after_hash: Some("00".to_owned()),
        created_directories: vec!["/work/project/src".into()],
    }
}

fn kept(store: &Store, session: &SessionId, bytes: &[u8]) -> BlobId {
    match store.capture_before(session, bytes).unwrap() {
        Capture::Kept(id) => id,
        Capture::OverQuota => panic!("over quota"),
    }
}

fn record(store: &Store, session: &SessionId, snapshot: NewSnapshot) {
    let call = snapshot.tool_call.clone();
    let artifact = NewArtifact {
        path: snapshot.path.clone(),
        kind: ArtifactKind::File,
        bytes: 3,
        sha256: format!("hash of {call}"),
    };
    let recorded = RecordedChange {
        audit: audit(session, &call),
        snapshot: Some(snapshot),
        artifact: Some(artifact),
        seen: Vec::new(),
    };
    store.record_change(recorded, Durability::Process).unwrap();
}

#[test]
fn a_change_comes_back_with_its_diff_redacted_and_its_bytes_exact() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    let before = kept(&fixture.store, &a, b"API_KEY=abcdef\xff");
    let given = change("c1", Some(before.clone()));
    record(&fixture.store, &a, given.clone());
    let found = fixture.reopen().snapshot(&a, "c1").unwrap();
    let mut expect = given;
    expect.hunks[0].lines[1] = DiffLine::Deleted("API_KEY=[REDACTED:key]".to_owned());
    assert_eq!(found.change, expect);
    assert_eq!(found.rolled_back_at, None);
    assert_eq!(fixture.store.blob(&before).unwrap(), b"API_KEY=abcdef\xff");
}

#[test]
fn a_secret_over_several_lines_of_a_diff_is_hidden() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    let mut given = change("c1", None);
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ";
    given.hunks[0].lines = vec![
        DiffLine::Context("before".to_owned()),
        DiffLine::Added("-----BEGIN PRIVATE KEY-----".to_owned()),
        DiffLine::Deleted("old".to_owned()),
        DiffLine::Added(body.to_owned()),
        DiffLine::Added("-----END PRIVATE KEY-----".to_owned()),
        DiffLine::Context("{ after }".to_owned()),
    ];
    record(&fixture.store, &a, given);
    let lines = fixture
        .store
        .snapshot(&a, "c1")
        .unwrap()
        .change
        .hunks
        .remove(0)
        .lines;
    assert!(!format!("{lines:?}").contains(body), "{lines:?}");
    assert_eq!(lines[0], DiffLine::Context("before".to_owned()));
    assert_eq!(lines[2], DiffLine::Deleted("old".to_owned()));
    assert_eq!(lines[5], DiffLine::Context("{ after }".to_owned()));
}

#[test]
fn snapshots_are_listed_newest_first_and_by_turn() {
    let fixture = Fixture::new();
    let (a, b) = (session(&fixture.store, "a"), session(&fixture.store, "b"));
    for (name, turn) in [("c1", "t1"), ("c2", "t2"), ("c3", "t1")] {
        record(
            &fixture.store,
            &a,
            NewSnapshot {
                turn: Some(turn.to_owned()),
                ..change(name, None)
            },
        );
    }
    let ids = |found: Vec<guardian_store::Snapshot>| -> Vec<String> {
        found
            .into_iter()
            .map(|snapshot| snapshot.change.id)
            .collect()
    };
    assert_eq!(
        ids(fixture.store.snapshots(&a).unwrap()),
        ["c3", "c2", "c1"]
    );
    assert_eq!(
        ids(fixture.store.snapshots_of_turn(&a, "t1").unwrap()),
        ["c3", "c1"]
    );
    assert!(fixture.store.snapshots(&b).unwrap().is_empty());
    assert!(matches!(
        fixture.store.snapshot(&b, "c1"),
        Err(StoreError::NotFound { .. })
    ));
}

#[test]
fn a_change_is_rolled_back_once_and_audited_once() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    record(&fixture.store, &a, change("c1", None));
    let rollback = || AuditEntry {
        event: AuditEvent::Rollback,
        ..audit(&a, "c1")
    };
    assert_eq!(
        fixture
            .store
            .mark_rolled_back(&a, "c1", rollback())
            .unwrap(),
        RollbackMark::Marked
    );
    assert_eq!(
        fixture
            .store
            .mark_rolled_back(&a, "c1", rollback())
            .unwrap(),
        RollbackMark::AlreadyRolledBack
    );
    assert!(matches!(
        fixture.store.mark_rolled_back(&a, "c2", rollback()),
        Err(StoreError::NotFound { .. })
    ));
    let rows = fixture.store.query_audit(&AuditFilter {
        event: Some(AuditEvent::Rollback),
        ..AuditFilter::newest()
    });
    assert_eq!(rows.unwrap().rows.len(), 1);
    assert!(
        fixture
            .store
            .snapshot(&a, "c1")
            .unwrap()
            .rolled_back_at
            .is_some()
    );
}

#[test]
fn an_artifact_is_the_last_state_of_its_path() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    record(&fixture.store, &a, change("c1", None));
    record(&fixture.store, &a, change("c2", None));
    let artifacts = fixture.store.artifacts(&a).unwrap();
    assert_eq!(artifacts.len(), 1);
    assert_eq!(
        (
            artifacts[0].tool_call.as_str(),
            artifacts[0].artifact.sha256.as_str()
        ),
        ("c2", "hash of c2")
    );
}

#[test]
fn what_cannot_be_recorded_leaves_no_half() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    record(&fixture.store, &a, change("c1", None));
    let artifact = NewArtifact {
        path: "other".into(),
        kind: ArtifactKind::File,
        bytes: 1,
        sha256: String::new(),
    };
    let again = RecordedChange {
        audit: audit(&a, "c1"),
        snapshot: Some(change("c1", None)),
        artifact: Some(artifact),
        seen: Vec::new(),
    };
    assert!(
        fixture
            .store
            .record_change(again, Durability::Process)
            .is_err()
    );
    assert_eq!(fixture.store.artifacts(&a).unwrap().len(), 1);
    let verification = fixture.store.verify_audit(None).unwrap();
    assert!(verification.is_ok() && verification.rows == 1);
}

#[test]
fn a_change_whose_session_is_gone_is_still_audited() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    fixture.store.delete_session(&a).unwrap();
    let recorded = RecordedChange {
        audit: audit(&a, "c1"),
        snapshot: Some(change("c1", None)),
        artifact: None,
        seen: Vec::new(),
    };
    fixture
        .store
        .record_change(recorded, Durability::Process)
        .unwrap();
    assert_eq!(fixture.store.verify_audit(None).unwrap().rows, 1);
}

#[test]
fn bytes_are_kept_once_and_go_with_the_last_session_that_names_them() {
    let fixture = Fixture::new();
    let (a, b) = (session(&fixture.store, "a"), session(&fixture.store, "b"));
    let blob = kept(&fixture.store, &a, b"same");
    assert_eq!(kept(&fixture.store, &b, b"same"), blob);
    record(&fixture.store, &a, change("c1", Some(blob.clone())));
    fixture.store.delete_session(&a).unwrap();
    // Session b only holds it so far.
    assert_eq!(fixture.store.blob(&blob).unwrap(), b"same");
    fixture.store.delete_session(&b).unwrap();
    assert!(matches!(
        fixture.store.blob(&blob),
        Err(StoreError::NotFound { .. })
    ));
}

#[test]
fn what_was_captured_and_never_recorded_is_swept_after_a_day() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    let blob = kept(&fixture.store, &a, b"lost");
    std::fs::write(
        fixture
            .directory
            .path()
            .join("data/review")
            .join("0".repeat(64)),
        b"stray",
    )
    .unwrap();
    assert_eq!(fixture.store.sweep_blobs().unwrap(), 0);
    assert!(
        !fixture
            .directory
            .path()
            .join("data/review")
            .join("0".repeat(64))
            .exists()
    );
    fixture.clock.advance(24 * 60 * 60 * 1000);
    assert_eq!(fixture.store.sweep_blobs().unwrap(), 1);
    assert!(fixture.store.blob(&blob).is_err());
}

#[test]
fn the_quota_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(StoreOptions::new(directory.path()).review_quota(10)).unwrap();
    let a = session(&store, "a");
    kept(&store, &a, b"12345678");
    assert_eq!(
        store.capture_before(&a, b"abc").unwrap(),
        Capture::OverQuota
    );
    kept(&store, &a, b"12345678");
    let left: Vec<_> = std::fs::read_dir(directory.path().join("review"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn damaged_bytes_are_not_restored() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    let blob = kept(&fixture.store, &a, b"right");
    std::fs::write(
        fixture
            .directory
            .path()
            .join("data/review")
            .join(blob.as_str()),
        b"wrong",
    )
    .unwrap();
    assert!(matches!(
        fixture.store.blob(&blob),
        Err(StoreError::Corrupt(_))
    ));
}

#[test]
fn trust_is_in_bytes_and_not_in_files() {
    let fixture = Fixture::new();
    let file = Path::new("/p/.guardian/policy.toml");
    fixture.store.trust_policy(file, "h1").unwrap();
    assert!(fixture.reopen().is_policy_trusted(file, "h1").unwrap());
    assert!(!fixture.store.is_policy_trusted(file, "h2").unwrap());
    assert!(
        !fixture
            .store
            .is_policy_trusted(Path::new("/q/.guardian/policy.toml"), "h1")
            .unwrap()
    );
    assert_eq!(fixture.store.distrust_policy(file).unwrap(), 1);
    assert!(!fixture.store.is_policy_trusted(file, "h1").unwrap());
}

#[test]
fn the_last_good_policy_comes_back_byte_for_byte() {
    let fixture = Fixture::new();
    let file = Path::new("/p/policy.toml");
    assert_eq!(fixture.store.last_good_policy(file).unwrap(), None);
    fixture.store.keep_policy(file, "h1", "one").unwrap();
    fixture
        .store
        .keep_policy(file, "h2", "password = \"stays\"\r\n")
        .unwrap();
    let kept = fixture.reopen().last_good_policy(file).unwrap().unwrap();
    assert_eq!(
        (kept.hash.as_str(), kept.text.as_str()),
        ("h2", "password = \"stays\"\r\n")
    );
}

#[test]
fn a_change_that_nobody_recorded_waits_for_the_next_owner_with_its_bytes() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    let before = kept(&fixture.store, &a, b"before");
    let made = change("c1", Some(before.clone()));
    let dropped = change("c2", None);
    for pending in [&made, &dropped] {
        fixture.store.note_pending_change(&a, pending).unwrap();
    }
    // Held by what is pending alone.
    let store = fixture.reopen();
    store.sweep_blobs().unwrap();
    assert_eq!(
        store.sessions_left_open().unwrap(),
        std::slice::from_ref(&a)
    );
    let lease = store.lease(&a).unwrap();
    let ids = |store: &Store| -> Vec<String> {
        let pending = store.pending_changes(&lease).unwrap();
        pending.into_iter().map(|change| change.id).collect()
    };
    assert_eq!(ids(&store), ["c1", "c2"]);
    record(&store, &a, made);
    store
        .drop_pending_change(&a, "c2", Some(audit(&a, "c2")))
        .unwrap();
    assert!(ids(&store).is_empty());
    let recorded = store.snapshots(&a).unwrap();
    assert_eq!(recorded.len(), 1);
    assert_eq!(recorded[0].change.before, Some(before.clone()));
    assert_eq!(store.blob(&before).unwrap(), b"before");
    let rows = store.query_audit(&AuditFilter::newest()).unwrap().rows;
    assert!(
        rows.iter()
            .any(|row| row.entry.tool_call.as_deref() == Some("c2"))
    );
}
