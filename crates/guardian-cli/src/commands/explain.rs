//! `guardian explain`: why a call is decided as it is, or what a rule says.

use std::sync::Arc;

use guardian_host::HostError;
use guardian_host::check::Checker;
use guardian_host::rules::{explain_floor_rule, floor_rules};
use serde_json::{Value, json};

use super::check::checker_for;
use crate::arguments::ExplainOptions;
use crate::exit::ExitCode;
use crate::output;
use crate::policy_errors::{Mark, marked};
use crate::policy_notes::PolicyNotes;

/// Explains a call or a rule.
pub(crate) fn run(options: &ExplainOptions) -> Result<ExitCode, HostError> {
    match (&options.subject, &options.args, &options.bash) {
        (None, None, Some(command)) => {
            let checker = checker_for(&options.place, None)?;
            let args = json!({ "command": command });
            show(&checker, "Bash", &args, options.json.json);
            Ok(ExitCode::Done)
        }
        (Some(tool), Some(args), None) => {
            let args: Value = match serde_json::from_str(args) {
                Ok(args) => args,
                Err(error) => {
                    output::complain(&format!("the arguments are not JSON: {error}"));
                    return Ok(ExitCode::Usage);
                }
            };
            let checker = checker_for(&options.place, None)?;
            show(&checker, tool, &args, options.json.json);
            Ok(ExitCode::Done)
        }
        (Some(rule), None, None) => explain_rule(rule, options),
        _ => {
            list_floor(options.json.json);
            Ok(ExitCode::Done)
        }
    }
}

fn show(checker: &Checker, tool: &str, args: &Value, json: bool) {
    let notes = PolicyNotes::of(checker);
    notes.tell();
    let explanation = checker.explain(tool, args);
    let command = args.get("command").and_then(Value::as_str);
    if json {
        let mut value = explanation.report.to_value();
        notes.put_into(&mut value);
        value["verdict"] = explanation.verdict.clone().unwrap_or_default();
        value["facts"] = explanation.report.facts.clone().unwrap_or_default();
        value["unknown"] = explanation
            .unknowns
            .iter()
            .map(|unknown| {
                json!({
                    "start": unknown.span.map(|span| span.0),
                    "end": unknown.span.map(|span| span.1),
                    "code": unknown.code,
                    "reason": unknown.reason,
                })
            })
            .collect();
        output::json(&value);
        return;
    }
    for line in &explanation.lines {
        output::line(line);
    }
    let marks: Vec<Mark> = explanation
        .unknowns
        .iter()
        .filter_map(|unknown| {
            let (start, end) = unknown.span?;
            Some(Mark {
                start,
                end,
                label: unknown.reason.clone(),
            })
        })
        .collect();
    if let (Some(command), false) = (command, marks.is_empty()) {
        output::line("");
        let source: Arc<str> = command.into();
        output::text(&marked("not understood", None, "command", &source, &marks));
    }
}

fn explain_rule(id: &str, options: &ExplainOptions) -> Result<ExitCode, HostError> {
    if let Some(text) = explain_floor_rule(id) {
        if options.json.json {
            output::json(&json!({ "id": id, "layer": "floor", "text": text }));
        } else {
            output::text(&text);
        }
        return Ok(ExitCode::Done);
    }
    let checker = checker_for(&options.place, None)?;
    PolicyNotes::of(&checker).tell();
    let found = rules_named(&checker, id);
    if found.is_empty() {
        let message = format!(
            "there is no rule `{id}`, neither built in nor in a policy file; \
             `guardian explain` lists the built-in ones"
        );
        output::complain(&message);
        return Ok(ExitCode::Usage);
    }
    for (layer, file, text) in found {
        if options.json.json {
            output::json(&json!({ "id": id, "layer": layer, "file": file, "text": text }));
        } else {
            output::line(&format!("{id} of the {layer} policy ({file})"));
            output::line("");
            output::text(&text);
        }
    }
    Ok(ExitCode::Done)
}

/// The rules of policy files with this id: layer, file, text.
fn rules_named(checker: &Checker, id: &str) -> Vec<(&'static str, String, String)> {
    let mut found = Vec::new();
    for layer in checker.policy_layers() {
        let Some(text) = &layer.text else { continue };
        if let Some(rule) = guardian_host::policies::rule_text(text, id) {
            found.push((layer.layer.name(), layer.file.display().to_string(), rule));
        }
    }
    found
}

fn list_floor(json: bool) {
    if json {
        for rule in floor_rules() {
            output::json(&json!({ "id": rule.id, "title": rule.title }));
        }
        return;
    }
    let rows: Vec<_> = floor_rules()
        .iter()
        .map(|rule| vec![rule.id.to_owned(), rule.title.to_owned()])
        .collect();
    output::table(&["RULE", "WHAT IT IS ABOUT"], &rows);
}
