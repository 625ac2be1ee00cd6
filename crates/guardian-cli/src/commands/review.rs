//! `guardian review`: what the agent changed in files, and taking it back.
//!
//! A rollback touches a file only if it still holds what the change left, in one step with the
//! check. While another process has the session, that process is the one to ask (`CONFLICT`).

use std::path::Path;
use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use guardian_host::{Host, HostConfig, HostError, NoEvents, RollbackReport};
use serde_json::{Value, json};

use crate::arguments::{ReviewCommand, ReviewOptions};
use crate::exit::ExitCode;
use crate::output::{self, PLAIN, STRONG, time};
use crate::places;

/// Style of a line that a change added.
const ADDED: Style = AnsiColor::Green.on_default();
/// Style of a line that a change deleted.
const DELETED: Style = AnsiColor::Red.on_default();
/// Style of the place of a hunk.
const PLACE: Style = AnsiColor::Cyan.on_default();

/// Lists, shows or takes back.
pub(crate) fn run(options: &ReviewOptions) -> Result<ExitCode, HostError> {
    let config = HostConfig::at(places::find(options.store.data.data_dir.as_deref())?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .build()
        .map_err(HostError::internal)?;
    let code = runtime.block_on(async {
        let host = Host::open(config, Arc::new(NoEvents)).await?;
        review(options, &host).await
    });
    runtime.shutdown_background();
    code
}

async fn review(options: &ReviewOptions, host: &Arc<Host>) -> Result<ExitCode, HostError> {
    let session = match &options.session {
        Some(id) => id.clone(),
        None => match session_here(host).await? {
            Some(id) => id,
            None => {
                output::complain(
                    &"no session has worked in this directory; name one with --session (see \
                      `guardian sessions`)",
                );
                return Ok(ExitCode::Usage);
            }
        },
    };
    let json = options.store.json.json;
    match &options.command {
        ReviewCommand::List => {
            list(&host.list_changes(&session).await?, json);
            Ok(ExitCode::Done)
        }
        ReviewCommand::Show { change } => {
            show(host.list_changes(&session).await?, change.as_deref(), json)
        }
        ReviewCommand::Rollback { change } => {
            let report = host.rollback_change(&session, change).await?;
            if json {
                output::json(&report_view(&report));
            } else {
                say(&report);
            }
            Ok(exit_code(&[report]))
        }
        ReviewCommand::RollbackTurn { turn } => {
            let reports = host.rollback_turn(&session, turn).await?;
            let not_covered = host.not_covered_by_rollback(&session, turn).await?;
            if json {
                let results: Vec<Value> = reports.iter().map(report_view).collect();
                output::json(&json!({ "results": results, "notCovered": not_covered }));
            } else {
                reports.iter().for_each(say);
                if reports.is_empty() {
                    output::notice("no change of this turn is on record");
                }
                for sentence in &not_covered {
                    output::notice(sentence);
                }
            }
            Ok(exit_code(&reports))
        }
    }
}

/// The session that was used last whose project is the current directory or above it.
async fn session_here(host: &Host) -> Result<Option<String>, HostError> {
    let here = std::env::current_dir()
        .and_then(|path| path.canonicalize())
        .map_err(|error| {
            HostError::invalid_params(format!("the current directory is not usable: {error}"))
        })?;
    let of_here = |project: Option<&Path>| project.is_some_and(|project| here.starts_with(project));
    let sessions = host.list_sessions().await?;
    Ok(sessions
        .into_iter()
        .filter(|session| of_here(session.project_path.as_deref()))
        .max_by_key(|session| session.updated_at)
        .map(|session| session.session_id))
}

fn list(changes: &[Value], json: bool) {
    if json {
        changes.iter().for_each(output::json);
        return;
    }
    if changes.is_empty() {
        output::notice("nothing was changed");
        return;
    }
    let rows: Vec<Vec<String>> = changes.iter().map(cells).collect();
    let headings = ["CHANGE", "WHEN", "TURN", "WHAT", "LINES", "STATE", "PATH"];
    output::table(&headings, &rows);
}

fn cells(change: &Value) -> Vec<String> {
    let state = match (text(change, "state"), change["reversible"].as_bool()) {
        ("active", Some(false)) => "cannot be taken back",
        ("active", _) => "active",
        _ => "taken back",
    };
    vec![
        text(change, "snapshotId").to_owned(),
        time(change["at"].as_i64().unwrap_or_default()),
        text(change, "turnId").to_owned(),
        text(change, "status").to_owned(),
        format!("+{} -{}", change["additions"], change["deletions"]),
        state.to_owned(),
        shown(text(change, "path")),
    ]
}

fn show(mut changes: Vec<Value>, wanted: Option<&str>, json: bool) -> Result<ExitCode, HostError> {
    if let Some(id) = wanted {
        changes.retain(|change| text(change, "snapshotId") == id);
        if changes.is_empty() {
            output::complain(&format!("the session has no change `{id}`"));
            return Ok(ExitCode::Usage);
        }
    }
    // As they were made.
    changes.reverse();
    for change in &changes {
        if json {
            output::json(change);
        } else {
            diff(change);
        }
    }
    Ok(ExitCode::Done)
}

fn diff(change: &Value) {
    let title = format!("{} {}", text(change, "status"), shown(text(change, "path")));
    let rest = format!(
        " ({}, {})",
        text(change, "snapshotId"),
        text(change, "state")
    );
    output::styled_line(&[(STRONG, &title), (PLAIN, &rest)]);
    if change["binary"].as_bool() == Some(true) {
        output::line("binary content");
    }
    for hunk in change["hunks"].as_array().into_iter().flatten() {
        output::styled_line(&[(PLACE, text(hunk, "header"))]);
        for line in hunk["lines"].as_array().into_iter().flatten() {
            let content = shown(text(line, "text"));
            let (style, mark) = match text(line, "type") {
                "add" => (ADDED, '+'),
                "del" => (DELETED, '-'),
                _ => (PLAIN, ' '),
            };
            output::styled_line(&[(style, &format!("{mark}{content}"))]);
        }
    }
    if change["truncated"].as_bool() == Some(true) {
        output::line("(the rest of the diff is left out)");
    }
}

fn say(report: &RollbackReport) {
    let path = shown(&report.path);
    output::line(&match report.status {
        "rolledBack" => format!("{path}: taken back"),
        "alreadyRolledBack" => format!("{path}: was taken back already"),
        "conflict" => format!("{path}: not taken back, somebody changed it since"),
        _ => match &report.reason {
            Some(reason) => format!("{path}: not taken back, {}", shown(reason)),
            None => format!("{path}: not taken back"),
        },
    });
}

fn report_view(report: &RollbackReport) -> Value {
    let mut view =
        json!({ "snapshotId": report.snapshot_id, "path": report.path, "status": report.status });
    if let Some(reason) = &report.reason {
        view["reason"] = reason.clone().into();
    }
    view
}

fn exit_code(reports: &[RollbackReport]) -> ExitCode {
    let done =
        |report: &RollbackReport| matches!(report.status, "rolledBack" | "alreadyRolledBack");
    if reports.iter().all(done) {
        ExitCode::Done
    } else {
        ExitCode::NotTakenBack
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Text of a file with its tabs as blanks.
fn shown(text: &str) -> String {
    text.replace('\t', "    ")
}
