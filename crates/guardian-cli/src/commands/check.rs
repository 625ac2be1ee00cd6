//! `guardian check`: what would be decided, by the very code path of the host, without running
//! anything.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use guardian_host::check::{CheckReport, Checker, CheckerOptions};
use guardian_host::rules::{Preset, SandboxState};
use guardian_host::{HostConfig, HostError};
use serde_json::{Value, json};

use crate::arguments::{CheckOptions, PresetOption};
use crate::exit::ExitCode;
use crate::{output, places};

/// Checks one call, or many.
pub(crate) fn run(options: &CheckOptions) -> Result<ExitCode, HostError> {
    let checker = checker(options)?;
    match (&options.tool, &options.args, &options.bash, &options.batch) {
        (_, _, _, Some(batch)) => check_batch(&checker, batch),
        (_, _, Some(command), None) => Ok(show(
            &checker.check("Bash", &json!({ "command": command })),
            options.json.json,
        )),
        (Some(tool), Some(args), None, None) => match serde_json::from_str::<Value>(args) {
            Ok(args) => Ok(show(&checker.check(tool, &args), options.json.json)),
            Err(error) => {
                output::complain(&format!("the arguments are not JSON: {error}"));
                Ok(ExitCode::Usage)
            }
        },
        _ => {
            output::complain(&"name a tool with its arguments, or use --bash or --batch");
            Ok(ExitCode::Usage)
        }
    }
}

fn checker(options: &CheckOptions) -> Result<Checker, HostError> {
    let places = places::find(options.data.data_dir.as_deref())?;
    let absolute = |path: PathBuf| {
        std::path::absolute(&path)
            .map_err(|error| HostError::invalid_params(format!("`{}`: {error}", path.display())))
    };
    let workspace = match &options.workspace {
        Some(path) => absolute(path.clone())?,
        None => std::env::current_dir().map_err(HostError::internal)?,
    };
    Checker::new(
        HostConfig::at(places)?,
        CheckerOptions {
            workspace,
            home: options.home.clone().map(absolute).transpose()?,
            scratch: options.scratch.clone().map(absolute).transpose()?,
            policy: options.policy.clone(),
            preset: options.preset.map(|preset| match preset {
                PresetOption::Standard => Preset::Standard,
                PresetOption::Balanced => Preset::Balanced,
                PresetOption::Strict => Preset::Strict,
            }),
            mode: options.mode.into(),
            permission_mode: options.permission_mode.into(),
            sandbox: SandboxState::Unavailable,
            headless: options.headless,
            audit: !options.no_audit,
        },
    )
}

fn check_batch(checker: &Checker, batch: &PathBuf) -> Result<ExitCode, HostError> {
    let input: Box<dyn BufRead> = if batch.as_os_str() == "-" {
        Box::new(BufReader::new(std::io::stdin()))
    } else {
        let file = std::fs::File::open(batch).map_err(|error| {
            HostError::invalid_params(format!("`{}`: {error}", batch.display()))
        })?;
        Box::new(BufReader::new(file))
    };
    let mut code = ExitCode::Done;
    for line in input.lines() {
        let line = line.map_err(HostError::internal)?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = match serde_json::from_str::<Value>(&line) {
            Ok(call) => {
                let tool = call.get("tool").and_then(Value::as_str).unwrap_or_default();
                let args = call.get("args").cloned().unwrap_or(Value::Null);
                let mut answer = checker.check(tool, &args).to_value();
                if let (Value::Object(answer), Some(id)) = (&mut answer, call.get("id")) {
                    answer.shift_insert(0, "id".to_owned(), id.clone());
                }
                answer
            }
            Err(error) => {
                // A line that cannot be read must not look like a verdict.
                code = ExitCode::Usage;
                json!({ "error": format!("not JSON: {error}") })
            }
        };
        output::json(&answer);
    }
    Ok(code)
}

fn show(report: &CheckReport, json: bool) -> ExitCode {
    if json {
        output::json(&report.to_value());
    } else {
        output::line(&format!("{}: {}", report.decision, report.summary));
        for reason in &report.reasons {
            output::line(&format!("  {reason}"));
        }
        if !report.decided_by.is_empty() {
            output::line(&format!("  decided by {}", report.decided_by.join(", ")));
        }
    }
    match report.decision.as_str() {
        "allow" => ExitCode::Done,
        "ask" => ExitCode::Ask,
        _ => ExitCode::Denied,
    }
}
