//! `guardian policy`: check, test, format and show policy files.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};

use guardian_host::HostError;
use guardian_host::policies::{
    LayerState, PolicyLayer, check_policy_text, format_policy, is_policy_file_there, not_utf8,
    read_policy_file, write_policy_file,
};
use guardian_host::rules::{Layer, PolicyErrors};
use serde_json::{Value, json};

use super::check::checker_for;
use crate::arguments::{
    LayerOption, PolicyCommand, PolicyFileOptions, PolicyFmtOptions, PolicyOptions,
    PolicyShowOptions, PolicyTestOptions,
};
use crate::exit::ExitCode;
use crate::policy_notes::{PolicyNotes, problem_values};
use crate::{output, places, policy_errors};

/// Runs one of the subcommands.
pub(crate) fn run(options: &PolicyOptions) -> Result<ExitCode, HostError> {
    match &options.command {
        PolicyCommand::Check(options) => check(options),
        PolicyCommand::Test(options) => test(options),
        PolicyCommand::Fmt(options) => format(options),
        PolicyCommand::Show(options) => show(options),
        PolicyCommand::Suggest(options) => super::policy_suggest::run(options),
        PolicyCommand::Accept(options) => super::policy_accept::run(options),
    }
}

/// The file that is meant, and the layer that it is read as.
fn meant(options: &PolicyFileOptions) -> Result<(PathBuf, Layer), HostError> {
    let places = places::find(options.place.data.data_dir.as_deref())?;
    let layer = match (&options.layer, options.named()) {
        (Some(layer), _) => *layer,
        // Where a repository's file lies, it is read as one.
        (None, Some(file)) if file.ends_with(".guardian/policy.toml") => LayerOption::Workspace,
        (None, Some(file)) if *file == places.managed_policy => LayerOption::Managed,
        (None, _) => LayerOption::User,
    };
    let file = match (options.named(), layer) {
        (Some(file), _) => file.clone(),
        (None, LayerOption::User) => places.config_dir.join("policy.toml"),
        (None, LayerOption::Managed) => places.managed_policy,
        (None, LayerOption::Workspace) => workspace(options)?.join(".guardian/policy.toml"),
    };
    let layer = match layer {
        LayerOption::User => Layer::User,
        LayerOption::Managed => Layer::Managed,
        LayerOption::Workspace => Layer::Workspace,
    };
    Ok((file, layer))
}

fn workspace(options: &PolicyFileOptions) -> Result<PathBuf, HostError> {
    options.place.workspace_directory()
}

/// Reads and checks the file; `None` when it is right.
fn errors_of(options: &PolicyFileOptions) -> Result<(PathBuf, Option<PolicyErrors>), HostError> {
    let places = places::find(options.place.data.data_dir.as_deref())?;
    let (file, layer) = meant(options)?;
    let text = match read_policy_file(layer, &file) {
        Ok(text) => text,
        Err(error) => {
            return match not_utf8(&file) {
                Some(errors) => Ok((file, Some(errors))),
                None => Err(error),
            };
        }
    };
    let workspace = workspace(options)?;
    let checked = check_policy_text(layer, &file, &text, Some(&workspace), &places.home);
    Ok((file, checked.err()))
}

/// Says that there is no file yet, where none was named and none is there.
fn says_absent(options: &PolicyFileOptions) -> Result<bool, HostError> {
    let (file, layer) = meant(options)?;
    if options.named().is_some() || is_policy_file_there(layer, &file) {
        return Ok(false);
    }
    if options.json.json {
        output::json(&json!({ "file": file, "ok": true, "absent": true, "errors": [] }));
    } else {
        let first = "it begins with `version = 1`, and docs/rules.md has a first one";
        output::line(&format!("{}: no file", file.display()));
        output::notice(&format!(
            "without a {} policy the built-in rules hold; to write one: {first}",
            layer.name()
        ));
    }
    Ok(true)
}

fn check(options: &PolicyFileOptions) -> Result<ExitCode, HostError> {
    if says_absent(options)? {
        return Ok(ExitCode::Done);
    }
    let (file, errors) = errors_of(options)?;
    report(&file, errors.as_ref(), options.json.json);
    Ok(match errors {
        None => ExitCode::Done,
        Some(_) => ExitCode::Invalid,
    })
}

fn report(file: &Path, errors: Option<&PolicyErrors>, json: bool) {
    if json {
        let errors = error_values(errors);
        output::json(&json!({ "file": file, "ok": errors.is_empty(), "errors": errors }));
        return;
    }
    match errors {
        None => output::line(&format!("{}: right", file.display())),
        Some(errors) => {
            output::text(&policy_errors::render(errors));
            let many = if errors.0.len() == 1 {
                "error"
            } else {
                "errors"
            };
            output::line(&format!("{}: {} {many}", file.display(), errors.0.len()));
        }
    }
}

fn error_values(errors: Option<&PolicyErrors>) -> Vec<Value> {
    let errors = errors.iter().flat_map(|errors| &errors.0);
    errors.map(policy_errors::to_value).collect()
}

/// Checks the file with its own examples, then the cases.
fn test(options: &PolicyTestOptions) -> Result<ExitCode, HostError> {
    let (file, errors) = errors_of(&options.file)?;
    if errors.is_some() {
        report(&file, errors.as_ref(), options.file.json.json);
        return Ok(ExitCode::Invalid);
    }
    let mut failed = 0;
    let mut passed = 0;
    let mut notes = PolicyNotes::default();
    if let Some(cases) = &options.cases {
        let checker = checker_for(&options.file.place, Some(file.clone()))?;
        notes = PolicyNotes::of(&checker);
        notes.tell();
        let text = super::check::open_input(cases)?;
        for (number, line) in text.lines().enumerate() {
            let line = line.map_err(HostError::internal)?;
            if line.trim().is_empty() {
                continue;
            }
            match one_case(&checker, &line) {
                Ok(None) => passed += 1,
                Ok(Some(fault)) | Err(fault) => {
                    failed += 1;
                    let place = format!("{}:{}", cases.display(), number + 1);
                    report_case(&place, &fault, options.file.json.json);
                }
            }
        }
        if passed + failed == 0 {
            failed = 1;
            let place = cases.display().to_string();
            report_case(&place, "there is no case in it", options.file.json.json);
        }
    }
    if options.file.json.json {
        let mut value = json!({ "file": file, "passed": passed, "failed": failed });
        notes.put_into(&mut value);
        output::json(&value);
    } else {
        output::line(&format!(
            "{}: examples hold; {passed} cases right, {failed} wrong",
            file.display()
        ));
    }
    Ok(if failed == 0 {
        ExitCode::Done
    } else {
        ExitCode::Invalid
    })
}

fn report_case(place: &str, fault: &str, json: bool) {
    if json {
        output::json(&json!({ "case": place, "ok": false, "problem": fault }));
    } else {
        output::line(&format!("{place}: {fault}"));
    }
}

/// A case as it stands in a file; modes are options of the command and the same for all.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    command: Option<String>,
    tool: Option<String>,
    args: Option<serde_json::Map<String, Value>>,
    expect: Expected,
}

#[derive(Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Expected {
    Allow,
    Ask,
    Deny,
}

impl Expected {
    fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// What is wrong with a case; an error is one that says nothing about the policy.
fn one_case(checker: &guardian_host::check::Checker, line: &str) -> Result<Option<String>, String> {
    let case: Case = serde_json::from_str(line).map_err(|error| {
        // Each line is a document of its own, so the parser's line is always the first.
        let reason = error
            .to_string()
            .replace(" at line 1 column ", " at column ");
        format!("not a case: {reason}; {CASE}")
    })?;
    let (tool, args) = match (case.command, case.tool, case.args) {
        (Some(command), None, None) => ("Bash".to_owned(), json!({ "command": command })),
        (None, Some(tool), Some(args)) => (tool, Value::Object(args)),
        _ => return Err(format!("not a case: {CASE}")),
    };
    let report = checker.check(&tool, &args);
    if report.cause == "arguments" {
        return Err(format!("not a call of {tool}: {}", report.summary));
    }
    if report.decision == case.expect.name() {
        return Ok(None);
    }
    Ok(Some(format!(
        "expected {}, got {} by {}: {}",
        case.expect.name(),
        report.decision,
        report.decided_by.join(", "),
        report.summary
    )))
}

/// What a case is made of.
const CASE: &str = "a case has a `command`, or a `tool` with its `args`, and what to `expect` \
(`allow`, `ask`, `deny`); modes are options of the command line and hold for all cases";

/// Lays the file out, also one that does not load as long as it is TOML; then says what else is
/// wrong with it.
fn format(options: &PolicyFmtOptions) -> Result<ExitCode, HostError> {
    if says_absent(&options.file)? {
        return Ok(ExitCode::Done);
    }
    let (file, errors) = errors_of(&options.file)?;
    let (_, layer) = meant(&options.file)?;
    let formatted = read_policy_file(layer, &file)
        .and_then(|text| format_policy(&text).map(|formatted| (formatted != text, formatted)));
    let (changed, formatted) = match (formatted, &errors) {
        (Ok(formatted), _) => formatted,
        (Err(_), Some(_)) => {
            report(&file, errors.as_ref(), options.file.json.json);
            return Ok(ExitCode::Invalid);
        }
        (Err(error), None) => return Err(error),
    };
    let written = changed && !options.check;
    let errors = if written {
        write_policy_file(&file, &formatted)?;
        // Lines have moved.
        errors_of(&options.file)?.1
    } else {
        errors
    };
    if options.file.json.json {
        output::json(&json!({
            "file": file,
            "changed": changed,
            "written": written,
            "ok": errors.is_none(),
            "errors": error_values(errors.as_ref()),
        }));
    } else {
        let word = match (changed, options.check) {
            (false, _) => "already formatted",
            (true, false) => "formatted",
            (true, true) => "would be formatted",
        };
        output::line(&format!("{}: {word}", file.display()));
        if errors.is_some() {
            report(&file, errors.as_ref(), false);
        }
    }
    Ok(if errors.is_some() || (changed && options.check) {
        ExitCode::Invalid
    } else {
        ExitCode::Done
    })
}

fn show(options: &PolicyShowOptions) -> Result<ExitCode, HostError> {
    let checker = checker_for(&options.place, None)?;
    let layers = checker.policy_layers();
    let policy = checker.policy();
    let current = policy.current();
    let passed_over = checker.policy_passed_over();
    if options.json.json {
        let layers: Vec<Value> = layers.iter().map(layer_value).collect();
        output::json(&json!({
            "passedOver": passed_over.map(|(file, _)| file),
            "version": policy.version(),
            "preset": current.preset().name(),
            "rules": current.rule_count(),
            "ignoredAllowRules": current.ignored_allow_rules(),
            "layers": layers,
        }));
        return Ok(ExitCode::Done);
    }
    output::line(&format!(
        "preset {}, {} rules",
        current.preset().name(),
        current.rule_count()
    ));
    for layer in layers {
        let state = match (layer.state, layer.is_trusted()) {
            (LayerState::Absent, _) => "no file",
            (LayerState::InForce, true) => "in force",
            (LayerState::InForce, false) => "in force, tightening only: not trusted",
            (LayerState::LastGood, _) => "does not load; its last good version is in force",
            (LayerState::Unreadable, _) => "does not load; everything is asked about",
        };
        output::line(&format!(
            "{:<10}{}: {state}",
            layer.layer.name(),
            layer.file.display()
        ));
        for problem in &layer.problems {
            output::line(&format!("          {}", problem.sentence()));
            output::line(&format!("          hint: {}", problem.hint));
        }
        if let (Some(text), true) = (&layer.text, options.text) {
            output::line("");
            output::text(text);
            output::line("");
        }
    }
    if let Some((_, sentence)) = passed_over {
        output::line(&sentence);
    }
    if !current.ignored_allow_rules().is_empty() {
        output::line(&format!(
            "rules of the workspace that do not count before `guardian trust`: {}",
            current.ignored_allow_rules().join(", ")
        ));
    }
    Ok(ExitCode::Done)
}

fn layer_value(layer: &PolicyLayer) -> Value {
    json!({
        "layer": layer.layer.name(),
        "file": layer.file,
        "state": layer.state.name(),
        "hash": layer.hash,
        "trusted": layer.is_trusted(),
        "text": layer.text.as_deref(),
        "problems": problem_values(layer),
    })
}
