//! The audit chain.

use guardian_rules::Decision;
use guardian_store::{
    AuditEntry, AuditEvent, AuditFilter, AuditOrder, Durability, ExternalPathPermission, Store,
    Timestamp,
};
use serde_json::json;

use crate::support::{Fixture, id};

fn entry(call: u64) -> AuditEntry {
    AuditEntry {
        session: Some(id("a")),
        tool_call: Some(format!("call-{call}")),
        tool: Some("Bash".to_owned()),
        ..AuditEntry::new(AuditEvent::Call)
    }
}

fn fill(store: &Store, rows: u64) {
    for call in 1..=rows {
        assert_eq!(
            store
                .append_audit(entry(call), Durability::Process)
                .unwrap(),
            call
        );
    }
}

#[track_caller]
fn broken_at(store: &Store, seq: u64) {
    let verification = store.verify_audit(None).unwrap();
    assert_eq!(verification.first_bad.map(|bad| bad.seq), Some(seq));
}

#[test]
fn a_row_comes_back_as_it_went_in_but_for_secrets() {
    let fixture = Fixture::new();
    let given = AuditEntry {
        turn: Some("t".to_owned()),
        delegate: Some("helper".to_owned()),
        args_hash: Some(
            fixture
                .store
                .args_hash("Bash", &json!({"command": "ls"}))
                .unwrap(),
        ),
        args_preview: Some(json!({"command": "TOKEN=abc ls"})),
        facts_summary: Some("runs ls".to_owned()),
        external_path_permission: Some(ExternalPathPermission::Granted),
        decision: Some(Decision::Allow),
        cause: Some("rule:x".to_owned()),
        decided_by: Some("policy".to_owned()),
        rule_ids: vec!["x".to_owned()],
        policy_version: Some("p1".to_owned()),
        reason: Some("password=hunter22".to_owned()),
        ok: Some(true),
        error_code: Some("TOOL_FAILED".to_owned()),
        exit_code: Some(-1),
        bytes: Some(7),
        prompted: Some(true),
        permission_wait_ms: Some(1),
        duration_ms: Some(2),
        overhead_ms: Some(3),
        total_ms: Some(6),
        sandbox: Some("bwrap".to_owned()),
        mutation_failure_kind: Some("edit".to_owned()),
        mutation_failure_attempt: Some(2),
        terminate: Some(true),
        detail: Some(json!({"apiKey": "abc", "n": 1})),
        ..entry(1)
    };
    fixture
        .store
        .append_audit(given.clone(), Durability::Machine)
        .unwrap();
    let row = fixture
        .store
        .query_audit(&AuditFilter::newest())
        .unwrap()
        .rows
        .remove(0);
    let expect = AuditEntry {
        args_preview: Some(json!({"command": "TOKEN=[REDACTED:key] ls"})),
        reason: Some("password=[REDACTED:key]".to_owned()),
        detail: Some(json!({"apiKey": "[REDACTED:key]", "n": 1})),
        ..given
    };
    assert_eq!(row.entry, expect);
    assert_eq!((row.seq, row.at), (1, Timestamp(1_000_000_000_000)));
}

#[test]
fn names_of_events_are_read_back() {
    for event in [
        AuditEvent::AboutToRun,
        AuditEvent::StoreRecovered,
        AuditEvent::Interrupted,
        AuditEvent::Pruned,
        AuditEvent::Other("x".to_owned()),
        AuditEvent::Client("pruned".to_owned()),
    ] {
        assert_eq!(AuditEvent::from_name(&event.to_string()), event);
    }
}

#[test]
fn equal_arguments_have_equal_hashes_and_installations_differ() {
    let (one, other) = (Fixture::new(), Fixture::new());
    let hash = one
        .store
        .args_hash("Write", &json!({"a": 1, "b": {"c": 2, "d": 3}}))
        .unwrap();
    assert_eq!(
        one.reopen()
            .args_hash("Write", &json!({"b": {"d": 3, "c": 2}, "a": 1}))
            .unwrap(),
        hash
    );
    assert_ne!(
        one.store
            .args_hash("Edit", &json!({"a": 1, "b": {"c": 2, "d": 3}}))
            .unwrap(),
        hash
    );
    assert_ne!(
        other
            .store
            .args_hash("Write", &json!({"a": 1, "b": {"c": 2, "d": 3}}))
            .unwrap(),
        hash
    );
}

#[test]
fn an_untouched_chain_verifies() {
    let fixture = Fixture::new();
    assert!(fixture.store.verify_audit(None).unwrap().is_ok());
    fill(&fixture.store, 20);
    let verification = fixture.store.verify_audit(None).unwrap();
    assert!(verification.is_ok());
    assert_eq!(verification.rows, 20);
    assert_eq!(verification.head, fixture.reopen().audit_head().unwrap());
}

#[test]
fn a_changed_field_shows() {
    let fixture = Fixture::new();
    fill(&fixture.store, 5);
    fixture
        .database()
        .execute(
            "UPDATE audit SET body = replace(body, 'call-3', 'call-9') WHERE seq = 3",
            [],
        )
        .unwrap();
    broken_at(&fixture.store, 3);
}

#[test]
fn a_changed_hash_shows() {
    let fixture = Fixture::new();
    fill(&fixture.store, 5);
    fixture
        .database()
        .execute("UPDATE audit SET hash = zeroblob(32) WHERE seq = 3", [])
        .unwrap();
    broken_at(&fixture.store, 3);
}

#[test]
fn a_deleted_row_shows() {
    let fixture = Fixture::new();
    fill(&fixture.store, 5);
    fixture
        .database()
        .execute("DELETE FROM audit WHERE seq = 2", [])
        .unwrap();
    broken_at(&fixture.store, 3);
    fixture
        .database()
        .execute("DELETE FROM audit WHERE seq = 1", [])
        .unwrap();
    broken_at(&fixture.store, 3);
}

#[test]
fn swapped_rows_show() {
    let fixture = Fixture::new();
    fill(&fixture.store, 5);
    fixture
        .database()
        .execute_batch(
            "UPDATE audit SET seq = 100 WHERE seq = 2; UPDATE audit SET seq = 2 WHERE seq = 3;
             UPDATE audit SET seq = 3 WHERE seq = 100;",
        )
        .unwrap();
    broken_at(&fixture.store, 2);
}

#[test]
fn a_cut_tail_shows_against_a_published_head() {
    let fixture = Fixture::new();
    fill(&fixture.store, 5);
    let published = fixture.store.audit_head().unwrap();
    fill_more(&fixture.store, 6..=8);
    assert!(
        fixture
            .store
            .verify_audit(Some(&published))
            .unwrap()
            .is_ok()
    );
    fixture
        .database()
        .execute("DELETE FROM audit WHERE seq > 4", [])
        .unwrap();
    assert!(fixture.store.verify_audit(None).unwrap().is_ok());
    let verification = fixture.store.verify_audit(Some(&published)).unwrap();
    assert_eq!(verification.first_bad.unwrap().seq, 5);
    // Writing other rows in their place does not help.
    fill_more(&fixture.store, 15..=18);
    let verification = fixture.store.verify_audit(Some(&published)).unwrap();
    assert_eq!(verification.first_bad.unwrap().seq, 5);
}

fn fill_more(store: &Store, calls: std::ops::RangeInclusive<u64>) {
    for call in calls {
        store
            .append_audit(entry(call), Durability::Process)
            .unwrap();
    }
}

#[test]
fn pruning_keeps_the_chain_verifiable_and_says_so() {
    let fixture = Fixture::new();
    fill(&fixture.store, 5);
    let published = fixture.store.audit_head().unwrap();
    fixture.clock.advance(1000);
    fill_more(&fixture.store, 6..=8);
    assert_eq!(
        fixture
            .store
            .prune_audit(Timestamp(1_000_000_000_500))
            .unwrap(),
        5
    );
    let verification = fixture.store.verify_audit(Some(&published)).unwrap();
    assert!(verification.is_ok(), "{verification:?}");
    assert_eq!(verification.rows, 4);
    assert_eq!(
        fixture
            .store
            .prune_audit(Timestamp(1_000_000_000_500))
            .unwrap(),
        0
    );
    // More than the note says is gone.
    fixture
        .database()
        .execute("DELETE FROM audit WHERE seq = 6", [])
        .unwrap();
    broken_at(&fixture.store, 7);
}

#[test]
fn pruning_everything_leaves_the_last_row() {
    let fixture = Fixture::new();
    fill(&fixture.store, 5);
    fixture.clock.advance(1_000_000);
    assert_eq!(fixture.store.prune_audit(fixture.store.now()).unwrap(), 4);
    assert!(fixture.store.verify_audit(None).unwrap().is_ok());
    fill_more(&fixture.store, 9..=9);
    assert!(fixture.store.verify_audit(None).unwrap().is_ok());
}

#[test]
fn heads_are_read_back_from_their_line() {
    let fixture = Fixture::new();
    fill(&fixture.store, 2);
    let head = fixture.store.audit_head().unwrap();
    assert_eq!(guardian_store::Head::from_line(&head.to_line()), Some(head));
    assert_eq!(guardian_store::Head::from_line("2 abc"), None);
}

#[test]
fn queries_filter_and_page() {
    let fixture = Fixture::new();
    for call in 1..=7 {
        let mut entry = entry(call);
        entry.session = Some(id(if call % 2 == 0 { "even" } else { "odd" }));
        entry.decision = Some(if call < 4 {
            Decision::Allow
        } else {
            Decision::Deny
        });
        fixture
            .store
            .append_audit(entry, Durability::Process)
            .unwrap();
        fixture.clock.advance(10);
    }
    let seqs = |filter: AuditFilter| -> (Vec<u64>, Option<u64>) {
        let page = fixture.store.query_audit(&filter).unwrap();
        (
            page.rows.iter().map(|row| row.seq).collect(),
            page.next_cursor,
        )
    };
    let newest = AuditFilter::newest;
    assert_eq!(
        seqs(AuditFilter {
            session: Some(id("even")),
            ..newest()
        }),
        (vec![6, 4, 2], None)
    );
    assert_eq!(
        seqs(AuditFilter {
            decision: Some(Decision::Deny),
            ..newest()
        }),
        (vec![7, 6, 5, 4], None)
    );
    assert_eq!(
        seqs(AuditFilter {
            tool_call: Some("call-5".to_owned()),
            ..newest()
        }),
        (vec![5], None)
    );
    assert_eq!(
        seqs(AuditFilter {
            event: Some(AuditEvent::Grant),
            ..newest()
        }),
        (vec![], None)
    );
    let since = Some(Timestamp(1_000_000_000_020));
    let until = Some(Timestamp(1_000_000_000_040));
    assert_eq!(
        seqs(AuditFilter {
            since,
            until,
            ..newest()
        }),
        (vec![4, 3], None)
    );
    let oldest = AuditFilter {
        order: AuditOrder::OldestFirst,
        limit: 3,
        ..newest()
    };
    assert_eq!(seqs(oldest.clone()), (vec![1, 2, 3], Some(3)));
    assert_eq!(
        seqs(AuditFilter {
            cursor: Some(6),
            ..oldest
        }),
        (vec![7], None)
    );
    assert_eq!(
        seqs(AuditFilter {
            limit: 2,
            cursor: Some(6),
            ..newest()
        }),
        (vec![5, 4], Some(4))
    );
}

#[test]
fn the_head_is_published_after_each_commit() {
    let directory = tempfile::tempdir().unwrap();
    let (sender, heads) = std::sync::mpsc::channel();
    let options = guardian_store::StoreOptions::new(directory.path())
        .publish_head(move |head| sender.send(*head).unwrap());
    let store = Store::open(options).unwrap();
    fill(&store, 2);
    let head = store.audit_head().unwrap();
    drop(store);
    assert_eq!(heads.iter().last(), Some(head));
}
