//! How fast the chain is verified (issue F: at least 500 000 rows a second).
//!
//! `cargo xtask bench audit_verify`

use std::time::Instant;

use guardian_store::{AuditEntry, AuditEvent, Durability, Store, StoreOptions};
use serde_json::json;

/// Rows of the record.
const ROWS: usize = 200_000;
/// Rows written before they are waited for.
const AT_ONCE: usize = 1_000;
const ROUNDS: usize = 5;

fn entry(call: usize) -> AuditEntry {
    AuditEntry {
        turn: Some("t-1".to_owned()),
        tool_call: Some(format!("call-{call}")),
        tool: Some("Bash".to_owned()),
        args_hash: Some("0f".repeat(32)),
        args_preview: Some(json!({ "command": "cargo test -p guardian-store" })),
        facts_summary: Some("builds and tests the workspace with cargo".to_owned()),
        decided_by: Some("policy".to_owned()),
        policy_version: Some("3b".repeat(32)),
        ok: Some(true),
        total_ms: Some(12),
        ..AuditEntry::new(AuditEvent::Call)
    }
}

#[expect(clippy::print_stdout, reason = "a measurement shows its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let store = Store::open(StoreOptions::new(directory.path().join("data")))?;
    let began = Instant::now();
    for start in (0..ROWS).step_by(AT_ONCE) {
        let pending: Vec<_> = (start..start + AT_ONCE)
            .map(|call| store.append_audit_later(entry(call), Durability::Process))
            .collect();
        for one in pending {
            one.wait()?;
        }
    }
    let written = began.elapsed();
    let mut rates: Vec<f64> = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let verification = store.verify_audit(None)?;
        assert!(verification.is_ok() && verification.rows == ROWS as u64);
        rates.push(ROWS as f64 / began.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    let median = rates[ROUNDS / 2];
    println!(
        "{ROWS} rows written at {:.0} rows/s, verified at {median:.0} rows/s (goal 500000: {})",
        ROWS as f64 / written.as_secs_f64(),
        if median >= 500_000.0 { "met" } else { "MISSED" },
    );
    Ok(())
}
