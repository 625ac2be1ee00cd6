//! What Write and Edit leave behind: rollback of turns, the undo store's quota, the repair guard,
//! temporary files of killed processes. Cases of `reports.jsonl` are named by their id.

use std::sync::Arc;

use guardian_host::rules::SessionPermissionMode;
use guardian_host::store::{
    AuditEvent, AuditFilter, Capture, ChangeOperation, ChangeStatus, NewSnapshot, SessionId, Store,
    StoreOptions,
};
use guardian_host::{ErrorCode, Host, NoEvents, ToolOutcome, ToolRequest};
use guardian_testkit::ProjectFixture;
use serde_json::{Value, json};

use crate::support::{config, host, session};

struct Turn {
    host: Arc<Host>,
    id: String,
    calls: u32,
}

impl Turn {
    async fn begin(fixture: &ProjectFixture) -> Self {
        let host = host(fixture, SessionPermissionMode::Auto, Arc::new(NoEvents)).await;
        Self::begin_on(host).await
    }

    async fn begin_on(host: Arc<Host>) -> Self {
        let id = host.begin_turn("s", None, true).await.unwrap().turn_id;
        Self { host, id, calls: 0 }
    }

    async fn call(&mut self, tool: &str, args: Value) -> ToolOutcome {
        self.calls += 1;
        let id = format!("{}-{}", self.id, self.calls);
        let mut request = ToolRequest::new("s", id, tool, args);
        request.turn_id = Some(self.id.clone());
        self.host.execute(request).await.unwrap()
    }

    async fn edit(&mut self, path: &str, old: &str, new: &str) -> ToolOutcome {
        let args = json!({"path": path, "old_string": old, "new_string": new});
        self.call("Edit", args).await
    }

    async fn next(&mut self, new_prompt: bool) {
        self.host.end_turn("s", &self.id).await.unwrap();
        self.id = self
            .host
            .begin_turn("s", None, new_prompt)
            .await
            .unwrap()
            .turn_id;
    }
}

/// What tells the runtime to end the turn.
fn terminate() -> Option<Box<Value>> {
    Some(Box::new(json!({"terminate": true})))
}

fn snapshot_of(outcome: &ToolOutcome) -> String {
    assert!(outcome.ok, "{outcome:?}");
    outcome.content["review"]["snapshotId"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c336_what_a_command_changed_is_not_taken_back_and_is_said_so() {
    let fixture = ProjectFixture::new().unwrap();
    fixture.write("go.mod", "module x\n").unwrap();
    fixture.write("a.go", "one\n").unwrap();
    let mut turn = Turn::begin(&fixture).await;
    let first = snapshot_of(&turn.edit("a.go", "one", "two").await);
    let removed = turn.call("Bash", json!({"command": "rm go.mod"})).await;
    assert!(removed.ok, "{removed:?}");
    let report = turn.host.rollback_change("s", &first).await.unwrap();
    assert_eq!(report.status, "rolledBack");
    let not_covered = turn
        .host
        .not_covered_by_rollback("s", &turn.id)
        .await
        .unwrap();
    assert_eq!(not_covered.len(), 1);
    assert!(not_covered[0].contains("go.mod"), "{not_covered:?}");
    assert!(!fixture.workspace().join("go.mod").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c342_the_oldest_change_can_be_taken_back_when_the_undo_store_is_full() {
    let fixture = ProjectFixture::new().unwrap();
    let old = "o".repeat(1000);
    fixture.write("a.txt", &old).unwrap();
    fixture.write("b.txt", "b".repeat(1000)).unwrap();
    let mut config = config(&fixture);
    config.review_quota_bytes = 1500;
    let host = session(&fixture, config, SessionPermissionMode::Auto).await;
    let mut turn = Turn::begin_on(host).await;
    let first = snapshot_of(&turn.edit("a.txt", &old, "new").await);
    // No room is left: the edit goes on, and says that it cannot be undone.
    let second = turn.edit("b.txt", &"b".repeat(1000), "new").await;
    assert_eq!(second.content["review"]["reversible"], false, "{second:?}");
    let refused = turn
        .host
        .rollback_change("s", &snapshot_of(&second))
        .await
        .unwrap();
    assert_eq!(refused.status, "unavailable");
    let report = turn.host.rollback_change("s", &first).await.unwrap();
    assert_eq!(report.status, "rolledBack");
    let now = std::fs::read_to_string(fixture.workspace().join("a.txt")).unwrap();
    assert_eq!(now, old);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c349_one_call_takes_a_whole_turn_back_and_names_the_commands() {
    let fixture = ProjectFixture::new().unwrap();
    let mut turn = Turn::begin(&fixture).await;
    for number in 0..30 {
        let path = format!("src/f{number}.txt");
        if number % 2 == 0 {
            fixture.write(&path, "before\n").unwrap();
        }
        let args = json!({"path": path, "content": "after\n"});
        assert!(turn.call("Write", args).await.ok);
    }
    let command = json!({"command": "echo by a command > src/made.txt"});
    assert!(turn.call("Bash", command).await.ok);
    let reports = turn.host.rollback_turn("s", &turn.id).await.unwrap();
    assert_eq!(reports.len(), 30);
    assert!(reports.iter().all(|report| report.status == "rolledBack"));
    for number in 0..30 {
        let path = fixture.workspace().join(format!("src/f{number}.txt"));
        let now = std::fs::read_to_string(path).ok();
        let expected = (number % 2 == 0).then_some("before\n");
        assert_eq!(now.as_deref(), expected, "f{number}");
    }
    let not_covered = turn
        .host
        .not_covered_by_rollback("s", &turn.id)
        .await
        .unwrap();
    assert_eq!(not_covered.len(), 1);
    assert!(not_covered[0].contains("src/made.txt"), "{not_covered:?}");
    assert!(fixture.workspace().join("src/made.txt").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_failed_edit_of_a_file_ends_the_turn_with_the_mismatch() {
    let fixture = ProjectFixture::new().unwrap();
    fixture.write("a.txt", "\tvalue = 1\n").unwrap();
    fixture.write("b.txt", "other\n").unwrap();
    let mut turn = Turn::begin(&fixture).await;
    let first = turn.edit("a.txt", "    value = 1", "    value = 2").await;
    assert_eq!(first.error_code, Some(ErrorCode::ToolFailed));
    assert_eq!(first.runtime, None);
    // Another file, a success and an argument error change nothing about the count.
    assert_eq!(turn.edit("b.txt", "absent", "x").await.runtime, None);
    assert!(turn.edit("a.txt", "value = 1", "value = 3").await.ok);
    let malformed = turn.call("Edit", json!({"path": "a.txt"})).await;
    assert_eq!(malformed.error_code, Some(ErrorCode::InvalidArgument));
    let second = turn.edit("./a.txt", "    value = 3", "    value = 4").await;
    assert_eq!(second.runtime, terminate());
    assert_eq!(second.content["terminate"], true);
    let error = second.content["error"].as_str().unwrap();
    assert!(error.contains("whitespace"), "{error}");
    // A turn that goes on with the same prompt goes on counting; a new prompt starts over.
    turn.next(false).await;
    let third = turn.edit("a.txt", "    value = 3", "x").await;
    assert_eq!(third.runtime, terminate());
    turn.next(true).await;
    assert_eq!(turn.edit("a.txt", "    value = 3", "x").await.runtime, None);
    turn.host.shutdown().await;
    drop(turn);

    let store = Store::open(StoreOptions::new(fixture.data())).unwrap();
    let filter = AuditFilter {
        tool: Some("Edit".to_owned()),
        event: Some(AuditEvent::Call),
        ..AuditFilter::newest()
    };
    let mut rows = store.query_audit(&filter).unwrap().rows;
    rows.reverse();
    let recorded: Vec<_> = rows
        .iter()
        .map(|row| {
            let entry = &row.entry;
            let kind = entry.mutation_failure_kind.as_deref();
            (kind, entry.mutation_failure_attempt, entry.terminate)
        })
        .collect();
    let failed = |attempt| (Some("edit"), Some(attempt), Some(attempt > 1));
    let none = (None, None, None);
    let expected = [
        failed(1),
        failed(1),
        none,
        none,
        failed(2),
        failed(3),
        failed(1),
    ];
    assert_eq!(recorded, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_failed_patch_command_ends_the_turn() {
    let fixture = ProjectFixture::new().unwrap();
    let mut turn = Turn::begin(&fixture).await;
    // Only mentioned, and failing: no repair.
    let mentioned = json!({"command": "echo 'git apply x'; false"});
    assert_eq!(turn.call("Bash", mentioned).await.runtime, None);
    let command = |text: &str| json!({ "command": text });
    let first = turn
        .call("Bash", command("git -C . apply missing.diff"))
        .await;
    assert_eq!(first.error_code, Some(ErrorCode::ToolFailed));
    assert_eq!(first.runtime, None);
    let second = turn.call("Bash", command("patch -p1 < missing.diff")).await;
    assert!(!second.ok);
    assert_eq!(second.runtime, terminate());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_starting_host_removes_the_temporary_file_of_a_killed_one() {
    let fixture = ProjectFixture::new().unwrap();
    let name = ".guardian-0123456789abcdef.tmp";
    let content = "half of a change";
    fixture.write(name, content).unwrap();
    let pending = fixture.data().join("pending");
    std::fs::create_dir_all(&pending).unwrap();
    // Process ids end far below this one.
    let hash = blake3::hash(content.as_bytes()).to_hex();
    let note = format!(
        "2147483646:{hash}:{hash}:{}",
        fixture.workspace().canonicalize().unwrap().display()
    );
    std::os::unix::fs::symlink(note, pending.join(name)).unwrap();
    let host = host(&fixture, SessionPermissionMode::Auto, Arc::new(NoEvents)).await;
    assert!(!fixture.workspace().join(name).exists());
    host.shutdown().await;
}

/// A change as a host notes it before it is made.
fn noted(store: &Store, fixture: &ProjectFixture, name: &str, before: Option<&[u8]>) {
    let session = SessionId::new("s").unwrap();
    let before = before.map(
        |bytes| match store.capture_before(&session, bytes).unwrap() {
            Capture::Kept(id) => id,
            Capture::OverQuota => panic!("over quota"),
        },
    );
    let change = NewSnapshot {
        id: format!("c-{name}"),
        turn: None,
        tool_call: name.to_owned(),
        path: name.into(),
        target: fixture.workspace().canonicalize().unwrap().join(name),
        operation: ChangeOperation::Write,
        status: match before {
            Some(_) => ChangeStatus::Modified,
            None => ChangeStatus::Added,
        },
        additions: 0,
        deletions: 0,
        hunks: Vec::new(),
        binary: false,
        truncated: true,
        reversible: true,
        before,
        before_mode: Some(0o644),
        after_hash: Some(blake3::hash(b"NEW\n").to_hex().to_string()),
        created_directories: Vec::new(),
    };
    store.note_pending_change(&session, &change).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_a_killed_host_are_settled_by_what_is_on_the_disk() {
    let fixture = ProjectFixture::new().unwrap();
    let first = host(&fixture, SessionPermissionMode::Auto, Arc::new(NoEvents)).await;
    first.shutdown().await;
    drop(first);
    let store = Store::open(StoreOptions::new(fixture.data())).unwrap();
    for (name, before, now) in [
        ("made", Some("OLD\n"), Some("NEW\n")),
        ("not-made", Some("OLD\n"), Some("OLD\n")),
        ("unclear", Some("OLD\n"), Some("MINE\n")),
        ("added", None, Some("NEW\n")),
        ("not-added", None, None),
    ] {
        noted(&store, &fixture, name, before.map(str::as_bytes));
        if let Some(now) = now {
            fixture.write(name, now).unwrap();
        }
    }
    drop(store);

    let host = Host::open(config(&fixture), Arc::new(NoEvents))
        .await
        .unwrap();
    let listed = host.list_changes("s").await.unwrap();
    let mut ids: Vec<_> = listed
        .iter()
        .map(|change| change["snapshotId"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, ["c-added", "c-made", "c-unclear"]);
    let made = listed
        .iter()
        .find(|change| change["snapshotId"] == "c-made")
        .unwrap();
    assert_eq!(
        (&made["additions"], &made["deletions"]),
        (&json!(1), &json!(1))
    );
    for (id, status) in [
        ("c-made", "rolledBack"),
        ("c-added", "rolledBack"),
        ("c-unclear", "conflict"),
    ] {
        assert_eq!(
            host.rollback_change("s", id).await.unwrap().status,
            status,
            "{id}"
        );
    }
    let read = |name: &str| std::fs::read_to_string(fixture.workspace().join(name)).ok();
    assert_eq!(read("made").as_deref(), Some("OLD\n"));
    assert_eq!(read("unclear").as_deref(), Some("MINE\n"));
    assert_eq!(read("added"), None);
    let artifacts = host.list_artifacts("s").await.unwrap();
    assert_eq!(artifacts.len(), 2);
    host.shutdown().await;
    drop(host);
    let store = Store::open(StoreOptions::new(fixture.data())).unwrap();
    let filter = AuditFilter {
        event: Some(AuditEvent::Interrupted),
        ..AuditFilter::newest()
    };
    let rows = store.query_audit(&filter).unwrap().rows;
    let mut said: Vec<_> = rows
        .iter()
        .map(|row| {
            let detail = row.entry.detail.as_ref().unwrap();
            (
                row.entry.tool_call.clone().unwrap(),
                detail["change"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    said.sort_unstable();
    let expected = [
        ("added", "made"),
        ("made", "made"),
        ("not-added", "not-made"),
        ("not-made", "not-made"),
        ("unclear", "unclear"),
    ];
    assert_eq!(
        said,
        expected.map(|(call, word)| (call.to_owned(), word.to_owned()))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_ended_leaves_nothing_to_settle() {
    let fixture = ProjectFixture::new().unwrap();
    fixture.write("a.txt", "one\n").unwrap();
    let mut turn = Turn::begin(&fixture).await;
    assert!(turn.edit("a.txt", "one", "two").await.ok);
    let closed = json!({"path": "a.txt/b", "content": "x"});
    assert!(!turn.call("Write", closed).await.ok);
    turn.host.shutdown().await;
    drop(turn);
    let store = Store::open(StoreOptions::new(fixture.data())).unwrap();
    let lease = store.lease(&SessionId::new("s").unwrap()).unwrap();
    assert_eq!(store.pending_changes(&lease).unwrap(), []);
}

#[tokio::test]
async fn an_abort_is_heard_before_the_call_is_worked_out() {
    let fixture = ProjectFixture::new().unwrap();
    fixture.write("a.txt", "one\n").unwrap();
    let mut turn = Turn::begin(&fixture).await;
    // Each of them would fail, and would count for the repair guard.
    for _ in 0..3 {
        let id = format!("{}-{}", turn.id, turn.calls + 1);
        turn.host.abort_call("s", &id);
        let aborted = turn.edit("a.txt", "missing", "x").await;
        assert_eq!(aborted.error_code, Some(ErrorCode::ToolAborted));
        assert_eq!(aborted.runtime, None);
    }
}
