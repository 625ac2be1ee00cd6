//! Makes a session, grants it a tool, records a call, and checks the chain.
//!
//! `cargo run -p guardian-store --example remember`

use std::io::Write as _;

use guardian_rules::{Decision, Grant, GrantScope};
use guardian_store::{
    AuditEntry, AuditEvent, AuditFilter, Durability, NewSession, SessionId, Store, StoreOptions,
};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory =
        std::env::temp_dir().join(format!("guardian-store-example-{}", std::process::id()));
    let store = Store::open(StoreOptions::new(&directory))?;

    let session = store.create_session(NewSession::new(
        SessionId::new("demo")?,
        Some("/tmp".into()),
    ))?;
    store.add_grant(
        &session.id,
        Grant {
            tool_name: "Write".to_owned(),
            scope: GrantScope::Roots,
        },
        "human",
    )?;

    let args = json!({ "command": "API_TOKEN=abcdef deploy" });
    store.append_audit(
        AuditEntry {
            session: Some(session.id.clone()),
            tool: Some("Bash".to_owned()),
            args_hash: Some(store.args_hash("Bash", &args)?),
            args_preview: Some(args),
            decision: Some(Decision::Deny),
            cause: Some("user".to_owned()),
            ..AuditEntry::new(AuditEvent::Call)
        },
        Durability::Process,
    )?;

    let mut out = std::io::stdout().lock();
    for row in store.query_audit(&AuditFilter::newest())?.rows {
        writeln!(
            out,
            "{} {} {:?}",
            row.seq, row.entry.event, row.entry.args_preview
        )?;
    }
    let verification = store.verify_audit(None)?;
    writeln!(
        out,
        "{} grants, chain ok: {}",
        store.grants(&session.id)?.len(),
        verification.is_ok()
    )?;
    drop(store);
    std::fs::remove_dir_all(&directory)?;
    Ok(())
}
