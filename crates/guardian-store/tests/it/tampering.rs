//! What `verify` must see: every way to falsify the record that a table of changes can name.

use guardian_store::{AuditEntry, AuditEvent, Durability, Head, Timestamp};
use serde_json::{Value, json};

use crate::support::Fixture;

const ROWS: u64 = 12;

fn filled() -> (Fixture, Head) {
    let fixture = Fixture::new();
    for call in 1..=ROWS {
        let entry = AuditEntry {
            tool_call: Some(format!("call-{call}")),
            tool: Some("Bash".to_owned()),
            facts_summary: Some("runs cargo test".to_owned()),
            decided_by: Some("human".to_owned()),
            ok: Some(true),
            total_ms: Some(call),
            detail: Some(json!({ "n": call })),
            ..AuditEntry::new(AuditEvent::Call)
        };
        fixture
            .store
            .append_audit(entry, Durability::Process)
            .unwrap();
    }
    let head = fixture.store.audit_head().unwrap();
    (fixture, head)
}

#[track_caller]
fn check(name: &str, sql: &str, shows_without_head: bool) {
    let (fixture, head) = filled();
    fixture.database().execute_batch(sql).unwrap();
    let alone = fixture.store.verify_audit(None).unwrap();
    assert_eq!(alone.is_ok(), !shows_without_head, "{name}: {alone:?}");
    let with_head = fixture.store.verify_audit(Some(&head)).unwrap();
    assert!(
        !with_head.is_ok(),
        "{name} does not show against the published head"
    );
}

fn swap(one: u64, other: u64) -> String {
    format!(
        "UPDATE audit SET seq = -1 WHERE seq = {one}; UPDATE audit SET seq = {one} WHERE seq = {other};
         UPDATE audit SET seq = {other} WHERE seq = -1;"
    )
}

#[test]
fn deleted_swapped_added_and_cut_rows_show() {
    for row in [1, 2, 6, ROWS - 1] {
        check(
            "a deleted row",
            &format!("DELETE FROM audit WHERE seq = {row}"),
            true,
        );
    }
    check(
        "a deleted stretch",
        "DELETE FROM audit WHERE seq BETWEEN 4 AND 7",
        true,
    );
    check(
        "a deleted beginning",
        "DELETE FROM audit WHERE seq < 5",
        true,
    );
    for (one, other) in [(1, 2), (5, 6), (2, 11), (11, 12)] {
        check("swapped rows", &swap(one, other), true);
    }
    let bodies = "UPDATE audit SET body = (SELECT body FROM audit WHERE seq = 9) WHERE seq = 8;";
    check("a row in the place of another", bodies, true);
    let added =
        "INSERT INTO audit (seq, hash, body) SELECT seq + 1, hash, body FROM audit WHERE seq = 12;";
    let (fixture, _) = filled();
    fixture.database().execute_batch(added).unwrap();
    assert!(
        !fixture.store.verify_audit(None).unwrap().is_ok(),
        "an added row"
    );
    // A cut tail alone is a shorter record; only the published head tells.
    for row in [1, 6, ROWS] {
        check(
            "a cut tail",
            &format!("DELETE FROM audit WHERE seq >= {row}"),
            false,
        );
    }
    check("everything gone", "DELETE FROM audit", false);
}

#[test]
fn every_changed_field_of_every_row_shows() {
    let (fixture, _) = filled();
    let database = fixture.database();
    for seq in [1, 5, ROWS] {
        let body: String = database
            .query_row("SELECT body FROM audit WHERE seq = ?1", [seq], |row| {
                row.get(0)
            })
            .unwrap();
        let fields: serde_json::Map<String, Value> = serde_json::from_str(&body).unwrap();
        assert!(fields.len() >= 8, "{body}");
        for name in fields.keys() {
            let mut changed = fields.clone();
            match changed[name].clone() {
                Value::String(text) => changed[name] = format!("{text}x").into(),
                Value::Number(_) => changed[name] = 77.into(),
                Value::Bool(value) => changed[name] = (!value).into(),
                _ => drop(changed.remove(name)),
            }
            let text = Value::Object(changed).to_string();
            database
                .execute("UPDATE audit SET body = ?1 WHERE seq = ?2", (&text, seq))
                .unwrap();
            let verification = fixture.store.verify_audit(None).unwrap();
            assert_eq!(
                verification.first_bad.map(|bad| bad.seq),
                Some(seq),
                "{name} of row {seq}"
            );
            database
                .execute("UPDATE audit SET body = ?1 WHERE seq = ?2", (&body, seq))
                .unwrap();
        }
    }
    assert!(fixture.store.verify_audit(None).unwrap().is_ok());
}

#[test]
fn a_forged_note_of_a_pruning_does_not_stand_against_a_published_head() {
    let (fixture, head) = filled();
    // What whoever can write the file could do: cut everything, and begin again behind a note.
    fixture
        .database()
        .execute_batch("DELETE FROM audit")
        .unwrap();
    for through in [ROWS, ROWS + 5] {
        let note = AuditEntry {
            detail: Some(
                json!({ "throughSeq": through, "throughHash": "00".repeat(32), "rows": 1 }),
            ),
            ..AuditEntry::new(AuditEvent::Pruned)
        };
        fixture
            .store
            .append_audit(note, Durability::Process)
            .unwrap();
        assert!(
            !fixture.store.verify_audit(Some(&head)).unwrap().is_ok(),
            "{through}"
        );
    }
}

#[test]
fn a_true_pruning_stands_against_the_head_that_it_began_at_and_every_later_one() {
    let (fixture, head) = filled();
    fixture.clock.advance(1_000_000);
    fixture
        .store
        .append_audit(AuditEntry::new(AuditEvent::Session), Durability::Process)
        .unwrap();
    let removed = fixture
        .store
        .prune_audit(Timestamp(fixture.store.now().0 - 10))
        .unwrap();
    assert_eq!(removed, ROWS);
    assert!(fixture.store.verify_audit(Some(&head)).unwrap().is_ok());
    let later = fixture.store.audit_head().unwrap();
    assert!(fixture.store.verify_audit(Some(&later)).unwrap().is_ok());
}
