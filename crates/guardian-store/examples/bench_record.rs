//! What it costs to make durable that a call is about to run: against one commit with
//! `synchronous = FULL` of a row of the same size (issue F: at most 1.5 ×).
//!
//! `cargo xtask bench record`

use std::time::Duration;

use guardian_store::{AuditEntry, AuditEvent, Store, StoreOptions};
use guardian_testkit::measure::{Contest, timed};
use rusqlite::Connection;
use serde_json::json;

/// Rows of one run.
const ROWS: usize = 40;

fn entry(call: usize) -> AuditEntry {
    AuditEntry {
        turn: Some("t-1".to_owned()),
        tool_call: Some(format!("call-{call}")),
        tool: Some("Bash".to_owned()),
        args_hash: Some("0f".repeat(32)),
        args_preview: Some(json!({ "command": "cargo test -p guardian-store --test it" })),
        facts_summary: Some("builds and tests the workspace with cargo".to_owned()),
        decided_by: Some("policy".to_owned()),
        rule_ids: vec!["mode-table".to_owned()],
        policy_version: Some("3b".repeat(32)),
        prompted: Some(false),
        ..AuditEntry::new(AuditEvent::AboutToRun)
    }
}

#[expect(clippy::print_stdout, reason = "a measurement shows its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let store = Store::open(StoreOptions::new(directory.path().join("data")))?;
    let plain = Connection::open(directory.path().join("plain.db"))?;
    plain.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE audit (seq INTEGER PRIMARY KEY, hash BLOB NOT NULL, body TEXT NOT NULL) STRICT;",
    )?;
    let body = "x".repeat(700);
    let floor = || {
        timed(|| {
            for _ in 0..ROWS {
                let inserted = plain
                    .prepare_cached("INSERT INTO audit (hash, body) VALUES (zeroblob(32), ?1)")
                    .and_then(|mut statement| statement.execute([&body]));
                assert!(inserted.is_ok(), "{inserted:?}");
            }
        })
    };
    let mut call = 0;
    let ours = || -> Duration {
        timed(|| {
            for _ in 0..ROWS {
                call += 1;
                let written = store.record_about_to_run(entry(call));
                assert!(written.is_ok(), "{written:?}");
            }
        })
    };
    let report = Contest::new(
        &format!("{ROWS} decisions made durable, one after the other"),
        "one FULL commit of a row of the same size",
        floor,
    )
    .against("Store::record_about_to_run", Some(1.5), ours)
    .run(15);
    println!("{report}");
    Ok(())
}
