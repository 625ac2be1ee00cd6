//! `guardian audit`: what happened, where time went, and whether the record is whole.

use std::time::Duration;

use guardian_host::audit_head::last_published;
use guardian_host::audit_timing::{StageTimes, Timing};
use guardian_host::audit_view::row_view;
use guardian_host::rules::Decision;
use guardian_host::store::{
    AuditEvent, AuditFilter, AuditOrder, AuditRow, Head, SessionId, Store, Timestamp,
};
use guardian_host::{HostError, words};
use guardian_redact::one_line_of;
use serde_json::json;

use crate::arguments::{AuditCommand, AuditOptions, AuditVerifyOptions};
use crate::commands::sessions::open;
use crate::exit::ExitCode;
use crate::output::{self, time};
use crate::places;

/// Rows read at once.
const PAGE: usize = 1000;
/// How often `--follow` looks for new rows.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);
const HEADINGS: [&str; 8] = [
    "SEQ", "WHEN", "EVENT", "TOOL", "DECISION", "BY", "RESULT", "WHAT",
];

/// Shows rows, newest last, or verifies the chain.
pub(crate) fn run(options: &AuditOptions) -> Result<ExitCode, HostError> {
    let places = places::find(options.store.data.data_dir.as_deref())?;
    let store = open(&places.data_dir)?;
    if let Some(AuditCommand::Verify(verify_options)) = &options.command {
        return verify(&store, verify_options, options.store.json.json);
    }
    let filter = match filter(options) {
        Ok(filter) => filter,
        Err(problem) => {
            output::complain(&problem);
            return Ok(ExitCode::Usage);
        }
    };
    match &options.command {
        Some(AuditCommand::Head) => {
            let head = store.audit_head().map_err(HostError::internal)?;
            output::line(&head.to_line());
            Ok(ExitCode::Done)
        }
        Some(AuditCommand::Timing) => timing(&store, filter, options.store.json.json),
        Some(AuditCommand::Verify(_)) | None => show(&store, filter, options),
    }
}

fn verify(store: &Store, options: &AuditVerifyOptions, json: bool) -> Result<ExitCode, HostError> {
    let published = match published(options) {
        Ok(published) => published,
        Err(problem) => {
            output::complain(&problem);
            return Ok(ExitCode::Usage);
        }
    };
    let verification = store
        .verify_audit(published.as_ref())
        .map_err(HostError::internal)?;
    if json {
        output::json(&json!({
            "ok": verification.is_ok(),
            "rows": verification.rows,
            "head": verification.head.to_line(),
            "publishedHead": published.map(Head::to_line),
            "firstBad": verification.first_bad.as_ref().map(|bad| bad.seq),
            "reason": verification.first_bad.as_ref().map(|bad| bad.reason.clone()),
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
        if published.is_none() {
            output::notice("without a published head a cut end of the record does not show");
        }
    }
    Ok(if verification.is_ok() {
        ExitCode::Done
    } else {
        ExitCode::Broken
    })
}

/// The published head to verify against.
fn published(options: &AuditVerifyOptions) -> Result<Option<Head>, String> {
    if let Some(line) = &options.head {
        let head = Head::from_line(line).ok_or("--head takes `<number> <hash>`")?;
        return Ok(Some(head));
    }
    let Some(file) = &options.published else {
        return Ok(None);
    };
    let shown = file.display();
    let bytes = std::fs::read(file).map_err(|error| format!("`{shown}`: {error}"))?;
    // A named file without a head is no reason to look less closely.
    match last_published(&String::from_utf8_lossy(&bytes)) {
        Some(head) => Ok(Some(head)),
        None => Err(format!("`{shown}` holds no published head")),
    }
}

/// The rows that the options ask for, newest first.
fn filter(options: &AuditOptions) -> Result<AuditFilter, String> {
    let session = options.session.clone().map(SessionId::new).transpose();
    let decision = match options.decision.as_deref() {
        None => None,
        Some(word) => {
            let known = [Decision::Allow, Decision::Ask, Decision::Deny];
            let decision = known.into_iter().find(|one| words::decision(*one) == word);
            Some(decision.ok_or("--decision takes allow, ask or deny")?)
        }
    };
    Ok(AuditFilter {
        session: session.map_err(|error| error.to_string())?,
        turn: options.turn.clone(),
        tool_call: options.call.clone(),
        tool: options.tool.clone(),
        decision,
        event: options.event.as_deref().map(AuditEvent::from_name),
        since: options.since.as_deref().map(moment).transpose()?,
        until: options.until.as_deref().map(moment).transpose()?,
        limit: options.limit as usize,
        ..AuditFilter::newest()
    })
}

/// A moment: a timestamp, a day, or a time before now (`90m`, `12h`, `7d`).
fn moment(text: &str) -> Result<Timestamp, String> {
    let bad =
        || format!("`{text}` is no time: use 2026-01-31T12:00:00Z, 2026-01-31, or 90m, 12h, 7d");
    if let Some(number) = text
        .strip_suffix(['m', 'h', 'd'])
        .and_then(|number| number.parse::<i64>().ok())
    {
        let unit = match text.bytes().last() {
            Some(b'm') => 60_000,
            Some(b'h') => 3_600_000,
            _ => 86_400_000,
        };
        let now = jiff::Timestamp::now().as_millisecond();
        return Ok(Timestamp(now.saturating_sub(number.saturating_mul(unit))));
    }
    let parsed = match text.parse::<jiff::Timestamp>() {
        Ok(parsed) => parsed,
        Err(_) => format!("{text}T00:00:00Z").parse().map_err(|_| bad())?,
    };
    Ok(Timestamp(parsed.as_millisecond()))
}

fn show(store: &Store, filter: AuditFilter, options: &AuditOptions) -> Result<ExitCode, HostError> {
    // Looked at before the rows are, so that nothing between is missed by following.
    let head = store.audit_head().map_err(HostError::internal)?;
    let mut rows = Vec::new();
    let mut page = filter.clone();
    let wanted = filter.limit;
    while rows.len() < wanted {
        page.limit = (wanted - rows.len()).min(PAGE);
        let found = store.query_audit(&page).map_err(HostError::internal)?;
        rows.extend(found.rows);
        page.cursor = found.next_cursor;
        if page.cursor.is_none() {
            break;
        }
    }
    rows.retain(|row| row.seq <= head.seq);
    rows.reverse();
    let json = options.store.json.json;
    if json {
        rows.iter().for_each(|row| output::json(&row_view(row)));
    } else if rows.is_empty() && !options.follow {
        output::notice("nothing on record");
    } else {
        let cells: Vec<_> = rows.iter().map(cells).collect();
        output::table(&HEADINGS, &cells);
    }
    if options.follow {
        return follow(store, filter, head.seq, json);
    }
    Ok(ExitCode::Done)
}

/// Prints rows as they are written, until the reader hangs up or the user ends it.
fn follow(
    store: &Store,
    filter: AuditFilter,
    mut seen: u64,
    json: bool,
) -> Result<ExitCode, HostError> {
    loop {
        let next = AuditFilter {
            order: AuditOrder::OldestFirst,
            limit: PAGE,
            cursor: Some(seen),
            ..filter.clone()
        };
        let found = store.query_audit(&next).map_err(HostError::internal)?;
        for row in &found.rows {
            let printed = if json {
                output::try_json(&row_view(row))
            } else {
                output::try_line(&cells(row).join("  "))
            };
            if printed.is_err() {
                return Ok(ExitCode::Done);
            }
            seen = row.seq;
        }
        if found.next_cursor.is_none() {
            std::thread::sleep(FOLLOW_EVERY);
        }
    }
}

/// Where time went, by tool and stage.
fn timing(store: &Store, filter: AuditFilter, json: bool) -> Result<ExitCode, HostError> {
    let mut timing = Timing::default();
    let mut page = AuditFilter {
        event: Some(AuditEvent::Call),
        limit: PAGE,
        ..filter
    };
    loop {
        let found = store.query_audit(&page).map_err(HostError::internal)?;
        found.rows.iter().for_each(|row| timing.add(row));
        page.cursor = found.next_cursor;
        if page.cursor.is_none() {
            break;
        }
    }
    let summary = timing.summary();
    if json {
        output::json(&serde_json::to_value(&summary).map_err(HostError::internal)?);
        return Ok(ExitCode::Done);
    }
    if summary.is_empty() {
        output::notice("no call on record");
        return Ok(ExitCode::Done);
    }
    let stage = |times: &StageTimes| {
        format!(
            "{} / {} / {}",
            span(times.sum),
            span(times.p50),
            span(times.p95)
        )
    };
    let rows: Vec<Vec<String>> = summary
        .iter()
        .map(|tool| {
            vec![
                tool.tool.clone(),
                tool.calls.to_string(),
                tool.prompted.to_string(),
                stage(&tool.approval),
                stage(&tool.tool_time),
                stage(&tool.host),
                stage(&tool.total),
            ]
        })
        .collect();
    output::notice("sum / half of the calls / 95 of 100 calls took at most");
    let headings = [
        "TOOL", "CALLS", "ASKED", "APPROVAL", "RUNNING", "GUARDIAN", "TOTAL",
    ];
    output::table(&headings, &rows);
    Ok(ExitCode::Done)
}

/// Milliseconds for people.
fn span(milliseconds: u64) -> String {
    match milliseconds {
        0..10_000 => format!("{milliseconds} ms"),
        10_000..600_000 => format!("{} s", milliseconds / 1000),
        _ => format!("{} min", milliseconds / 60_000),
    }
}

fn cells(row: &AuditRow) -> Vec<String> {
    let entry = &row.entry;
    let result = match (entry.ok, &entry.error_code) {
        (Some(true), _) => "ok".to_owned(),
        (_, Some(code)) => code.clone(),
        _ => String::new(),
    };
    // Names and summaries are the model's words: nothing of them moves a terminal's cursor.
    let shown = |text: Option<&String>, most: usize| -> String {
        one_line_of(text.map_or("", String::as_str), most)
    };
    vec![
        row.seq.to_string(),
        time(row.at.0),
        entry.event.to_string(),
        shown(entry.tool.as_ref(), 40),
        entry
            .decision
            .map(words::decision)
            .unwrap_or_default()
            .to_owned(),
        entry.decided_by.clone().unwrap_or_default(),
        result,
        shown(entry.facts_summary.as_ref(), 80),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_timestamps_days_or_times_before_now() {
        assert_eq!(moment("1970-01-02").unwrap(), Timestamp(86_400_000));
        assert_eq!(moment("1970-01-01T00:00:01Z").unwrap(), Timestamp(1_000));
        assert!(moment("2h").unwrap() > moment("3h").unwrap());
        assert!(moment("1d").unwrap() < moment("23h").unwrap());
        for bad in ["yesterday", "", "h", "-", "2026-13-01"] {
            assert!(moment(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn spans_are_short() {
        assert_eq!(
            [span(9), span(12_345), span(700_000)],
            ["9 ms", "12 s", "11 min"]
        );
    }
}
