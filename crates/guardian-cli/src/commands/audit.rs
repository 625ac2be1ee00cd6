//! `guardian audit`: what happened, and whether the record is whole.

use guardian_host::HostError;
use guardian_host::audit_view::row_view;
use guardian_host::rules::Decision;
use guardian_host::store::{AuditFilter, AuditRow, SessionId, Store};
use guardian_host::words;
use serde_json::json;

use crate::arguments::{AuditCommand, AuditOptions};
use crate::commands::sessions::open;
use crate::exit::ExitCode;
use crate::output::{self, time};
use crate::places;

/// Shows rows, newest last, or verifies the chain.
pub(crate) fn run(options: &AuditOptions) -> Result<ExitCode, HostError> {
    let places = places::find(options.data.data_dir.as_deref())?;
    let store = open(&places.data_dir)?;
    match options.command {
        Some(AuditCommand::Verify) => verify(&store, options.json.json),
        None => show(&store, options),
    }
}

fn verify(store: &Store, json: bool) -> Result<ExitCode, HostError> {
    let verification = store.verify_audit(None).map_err(HostError::internal)?;
    if json {
        output::json(&json!({
            "ok": verification.is_ok(),
            "rows": verification.rows,
            "head": verification.head.to_line(),
            "firstBad": verification.first_bad.as_ref().map(|bad| bad.seq),
        }));
    } else {
        match &verification.first_bad {
            None => output::line(&format!(
                "the record is whole: {} rows, head {}",
                verification.rows,
                verification.head.to_line()
            )),
            Some(bad) => output::complain(&format!(
                "the record was changed: row {} does not fit ({})",
                bad.seq, bad.reason
            )),
        }
    }
    Ok(if verification.is_ok() {
        ExitCode::Done
    } else {
        ExitCode::Broken
    })
}

fn show(store: &Store, options: &AuditOptions) -> Result<ExitCode, HostError> {
    let session = match &options.session {
        None => None,
        Some(text) => match SessionId::new(text.clone()) {
            Ok(id) => Some(id),
            Err(error) => {
                output::complain(&error);
                return Ok(ExitCode::Usage);
            }
        },
    };
    let decision = match options.decision.as_deref() {
        None => None,
        Some(word) => {
            let known = [Decision::Allow, Decision::Ask, Decision::Deny];
            let Some(decision) = known.into_iter().find(|one| words::decision(*one) == word) else {
                output::complain(&"--decision takes allow, ask or deny");
                return Ok(ExitCode::Usage);
            };
            Some(decision)
        }
    };
    let filter = AuditFilter {
        session,
        tool: options.tool.clone(),
        decision,
        limit: options.limit as usize,
        ..AuditFilter::newest()
    };
    let mut rows = store
        .query_audit(&filter)
        .map_err(HostError::internal)?
        .rows;
    rows.reverse();
    if options.json.json {
        for row in &rows {
            output::json(&row_view(row));
        }
        return Ok(ExitCode::Done);
    }
    let cells: Vec<_> = rows.iter().map(cells).collect();
    if cells.is_empty() {
        output::notice("nothing on record");
    } else {
        let headings = [
            "SEQ", "WHEN", "EVENT", "TOOL", "DECISION", "BY", "RESULT", "WHAT",
        ];
        output::table(&headings, &cells);
    }
    Ok(ExitCode::Done)
}

fn cells(row: &AuditRow) -> Vec<String> {
    let entry = &row.entry;
    let result = match (entry.ok, &entry.error_code) {
        (Some(true), _) => "ok".to_owned(),
        (_, Some(code)) => code.clone(),
        _ => String::new(),
    };
    let what: String = entry
        .facts_summary
        .clone()
        .unwrap_or_default()
        .chars()
        .take(80)
        .collect();
    vec![
        row.seq.to_string(),
        time(row.at.0),
        entry.event.to_string(),
        entry.tool.clone().unwrap_or_default(),
        entry
            .decision
            .map(words::decision)
            .unwrap_or_default()
            .to_owned(),
        entry.decided_by.clone().unwrap_or_default(),
        result,
        what,
    ]
}
