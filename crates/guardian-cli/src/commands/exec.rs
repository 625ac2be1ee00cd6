//! `guardian exec`: one call, judged, asked about on the terminal, run, recorded.

use std::sync::Arc;

use guardian_host::{
    EventSink, Host, HostConfig, HostError, NewSession, NoEvents, ToolOutcome, ToolRequest,
};
use guardian_redact::one_line;
use serde_json::Value;

use crate::arguments::ExecOptions;
use crate::exit::ExitCode;
use crate::output::Stream;
use crate::terminal::{self, Answering};
use crate::{output, places};

/// Runs one call in a session of its own.
pub(crate) fn run(options: &ExecOptions) -> Result<ExitCode, HostError> {
    let args: Value = match serde_json::from_str(&options.args) {
        Ok(args) => args,
        Err(error) => {
            output::complain(&format!("the arguments are not JSON: {error}"));
            return Ok(ExitCode::Usage);
        }
    };
    let config = HostConfig::at(places::find(options.store.data.data_dir.as_deref())?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .build()
        .map_err(HostError::internal)?;
    let outcome = runtime.block_on(call(options, args, config));
    runtime.shutdown_background();
    let outcome = outcome?;
    show(&outcome, options.store.json.json);
    Ok(exit_code(&outcome))
}

async fn call(
    options: &ExecOptions,
    args: Value,
    config: HostConfig,
) -> Result<ToolOutcome, HostError> {
    let answering = if options.yes_once {
        Answering::AllowOnce
    } else {
        Answering::Ask
    };
    let terminal = terminal::start(answering);
    let events: Arc<dyn EventSink> = match &terminal {
        Some((terminal, _)) => Arc::clone(terminal) as Arc<dyn EventSink>,
        None => Arc::new(NoEvents),
    };
    let host = Host::open(config, events).await?;
    if let Some((_, slot)) = &terminal {
        let _ = slot.set(Arc::clone(&host));
        host.attach_reviewer();
    }
    let workspace = match &options.workspace {
        Some(path) => std::path::absolute(path),
        None => std::env::current_dir(),
    }
    .map_err(|error| HostError::invalid_params(format!("the workspace is not usable: {error}")))?;
    let session = host
        .create_session(NewSession {
            session_id: None,
            title: Some(format!("guardian exec {}", options.tool)),
            project_path: Some(workspace),
            mode: options.mode.into(),
            permission_mode: options.permission_mode.into(),
        })
        .await?;
    for warning in &session.warnings {
        output::notice(warning);
    }
    let session_id = session.info.session_id.clone();
    let request = ToolRequest::new(session_id.clone(), "exec-1", options.tool.clone(), args);
    let outcome = host.execute(request).await;
    // What it changed can be taken back by `guardian review`, as long as its session is there.
    let changed = !host.list_changes(&session_id).await?.is_empty();
    if changed {
        output::notice(&format!(
            "`guardian review` takes the change back (session {session_id})"
        ));
    } else {
        host.delete_session(&session_id).await?;
    }
    host.shutdown().await;
    outcome
}

fn show(outcome: &ToolOutcome, json: bool) {
    if json {
        return output::json(&outcome.to_value());
    }
    let content = &outcome.content;
    let text = |key: &str| content.get(key).and_then(Value::as_str).unwrap_or_default();
    if content.get("stdout").is_some() {
        output::result(Stream::Stdout, text("stdout"));
        output::result(Stream::Stderr, text("stderr"));
        if !outcome.ok {
            // A command that failed may have printed nothing itself.
            output::complain(&text("error"));
        }
    } else if outcome.ok && content.get("content").is_some_and(Value::is_string) {
        output::result(Stream::Stdout, text("content"));
    } else if outcome.ok {
        output::json_pretty(content);
    } else if outcome.denied {
        // A rule's reason is the text of a file, which may be the repository's.
        output::complain(&one_line(text("error")));
        if text("cause") == "reviewer_required" {
            output::notice("run it on a terminal to be asked, or with --yes-once to allow it now");
        }
    } else {
        output::complain(&text("error"));
    }
}

fn exit_code(outcome: &ToolOutcome) -> ExitCode {
    match (outcome.ok, outcome.denied) {
        (true, _) => ExitCode::Done,
        (false, true) => ExitCode::Denied,
        (false, false) => ExitCode::ToolFailed,
    }
}
