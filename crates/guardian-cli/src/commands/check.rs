//! `guardian check`: what would be decided, by the very code path of the host, without running
//! anything.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use guardian_host::check::{CheckReport, Checker, CheckerOptions};
use guardian_host::rules::Preset;
use guardian_host::{HostConfig, HostError};
use serde_json::{Value, json};

use crate::arguments::{CheckOptions, PlaceOptions, PresetOption};
use crate::exit::ExitCode;
use crate::policy_notes::PolicyNotes;
use crate::{output, places};

/// Checks one call, or many.
pub(crate) fn run(options: &CheckOptions) -> Result<ExitCode, HostError> {
    let audience = if options.headless {
        Audience::Headless
    } else {
        Audience::Attended
    };
    let recording = if options.no_audit {
        Recording::Off
    } else {
        Recording::On
    };
    let checker = checker(&options.place, None, audience, recording)?;
    let notes = PolicyNotes::of(&checker);
    notes.tell();
    let code = run_with(&checker, &notes, options);
    if recording == Recording::Off {
        // The process ends here: a thousand patterns need not be given back one by one. With a
        // record the store ends in order.
        std::mem::forget(checker);
    }
    code
}

fn run_with(
    checker: &Checker,
    notes: &PolicyNotes,
    options: &CheckOptions,
) -> Result<ExitCode, HostError> {
    let json = options.json.json;
    match (&options.tool, &options.args, &options.bash, &options.batch) {
        (_, _, _, Some(batch)) => check_batch(checker, notes, batch),
        (_, _, Some(command), None) => {
            let report = checker.check("Bash", &json!({ "command": command }));
            Ok(show(&report, notes, json))
        }
        (Some(tool), Some(args), None, None) => match serde_json::from_str::<Value>(args) {
            Ok(args) => Ok(show(&checker.check(tool, &args), notes, json)),
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

/// A checker that leaves no audit row, with another policy file where one is given.
pub(super) fn checker_for(
    place: &PlaceOptions,
    policy: Option<PathBuf>,
) -> Result<Checker, HostError> {
    checker(place, policy, Audience::Attended, Recording::Off)
}

/// Is somebody there to ask?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    Attended,
    Headless,
}

/// Is a check put on record?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Recording {
    On,
    Off,
}

fn checker(
    place: &PlaceOptions,
    policy: Option<PathBuf>,
    audience: Audience,
    recording: Recording,
) -> Result<Checker, HostError> {
    let places = places::find(place.data.data_dir.as_deref())?;
    let absolute = |path: PathBuf| {
        std::path::absolute(&path)
            .map_err(|error| HostError::invalid_params(format!("`{}`: {error}", path.display())))
    };
    Checker::new(
        HostConfig::at(places)?,
        CheckerOptions {
            workspace: place.workspace_directory()?,
            home: place.home.clone().map(absolute).transpose()?,
            scratch: place.scratch.clone().map(absolute).transpose()?,
            policy: policy.or_else(|| place.policy.clone()),
            preset: place.preset.map(|preset| match preset {
                PresetOption::Standard => Preset::Standard,
                PresetOption::Balanced => Preset::Balanced,
                PresetOption::Strict => Preset::Strict,
            }),
            mode: place.mode.into(),
            permission_mode: place.permission_mode.into(),
            sandbox: None,
            headless: audience == Audience::Headless,
            audit: recording == Recording::On,
        },
    )
}

/// A file that was named, or stdin for `-`.
pub(super) fn open_input(file: &Path) -> Result<Box<dyn BufRead>, HostError> {
    if file.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(std::io::stdin())));
    }
    let opened = std::fs::File::open(file)
        .map_err(|error| HostError::invalid_params(format!("`{}`: {error}", file.display())))?;
    Ok(Box::new(BufReader::new(opened)))
}

fn check_batch(
    checker: &Checker,
    notes: &PolicyNotes,
    batch: &Path,
) -> Result<ExitCode, HostError> {
    let input = open_input(batch)?;
    let mut code = ExitCode::Done;
    for (number, line) in input.lines().enumerate() {
        let line = line.map_err(HostError::internal)?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = match serde_json::from_str::<Value>(&line) {
            Ok(call) => {
                let tool = call.get("tool").and_then(Value::as_str).unwrap_or_default();
                let args = call.get("args").cloned().unwrap_or(Value::Null);
                let mut answer = checker.check(tool, &args).to_value();
                notes.put_into(&mut answer);
                if let (Value::Object(answer), Some(id)) = (&mut answer, call.get("id")) {
                    answer.shift_insert(0, "id".to_owned(), id.clone());
                }
                answer
            }
            Err(error) => {
                // A line that cannot be read must not look like a verdict.
                code = ExitCode::Usage;
                let reason = error.to_string();
                // Each line is a document of its own, so the parser's line is always the first.
                let reason = reason.replace(" at line 1 column ", " at column ");
                json!({ "line": number + 1, "error": format!("not JSON: {reason}") })
            }
        };
        output::json(&answer);
    }
    Ok(code)
}

fn show(report: &CheckReport, notes: &PolicyNotes, json: bool) -> ExitCode {
    if json {
        let mut value = report.to_value();
        notes.put_into(&mut value);
        output::json(&value);
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
