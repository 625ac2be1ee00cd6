//! Rollouts of Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`. Newer
//! ones wrap each item in a `response_item`.

use serde_json::{Value, json};

use super::{Found, bash, quoted, text};

pub(super) fn calls(entry: &Value) -> Option<Vec<Found>> {
    let item = match text(entry, "type")? {
        "response_item" => entry.get("payload")?,
        _ => entry,
    };
    let id = text(item, "call_id")
        .or_else(|| text(item, "id"))
        .map(str::to_owned);
    let found = match text(item, "type")? {
        "function_call" => {
            let name = text(item, "name")?;
            let args = text(item, "arguments")
                .and_then(|args| serde_json::from_str(args).ok())
                .unwrap_or_else(|| json!({}));
            function(name, &args)
        }
        "local_shell_call" => {
            let action = item.get("action")?;
            vec![bash(&in_directory(
                &shell_text(action.get("command")?)?,
                text(action, "working_directory"),
            ))]
        }
        "custom_tool_call" => match text(item, "name")? {
            "apply_patch" => patch(text(item, "input")?),
            name => vec![(
                name.to_owned(),
                json!({ "input": item.get("input").cloned().unwrap_or_default() }),
            )],
        },
        _ => return None,
    };
    Some(
        found
            .into_iter()
            .enumerate()
            .map(|(index, (tool, args))| Found {
                id: id.as_ref().map(|id| format!("{id}/{index}")),
                tool,
                args,
            })
            .collect(),
    )
}

fn function(name: &str, args: &Value) -> Vec<(String, Value)> {
    let directory = text(args, "workdir").or_else(|| text(args, "cwd"));
    match name {
        "shell" | "container.exec" | "shell_command" | "exec_command" => {
            let command = args.get("command").or_else(|| args.get("cmd"));
            match command.and_then(shell_text) {
                Some(text) => vec![bash(&in_directory(&text, directory))],
                None => vec![(name.to_owned(), args.clone())],
            }
        }
        "apply_patch" => match text(args, "input").or_else(|| text(args, "patch")) {
            Some(text) => patch(text),
            None => vec![(name.to_owned(), args.clone())],
        },
        other => vec![(other.to_owned(), args.clone())],
    }
}

/// The text that a shell ran: given as such, behind `bash -lc`, or as words.
fn shell_text(command: &Value) -> Option<String> {
    let words: Vec<&str> = match command {
        Value::String(text) => return Some(text.clone()),
        Value::Array(words) => words.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    let is_shell =
        |word: &str| ["bash", "sh", "zsh"].contains(&word.rsplit('/').next().unwrap_or(word));
    Some(match words.as_slice() {
        [shell, "-lc" | "-c", text] if is_shell(shell) => (*text).to_owned(),
        words => words
            .iter()
            .map(|word| quoted(word))
            .collect::<Vec<_>>()
            .join(" "),
    })
}

/// Relative directories only: an absolute one is the session's own, nearly always.
fn in_directory(text: &str, directory: Option<&str>) -> String {
    match directory {
        Some(directory)
            if !directory.is_empty() && directory != "." && !directory.starts_with('/') =>
        {
            format!("cd {} && {text}", quoted(directory))
        }
        _ => text.to_owned(),
    }
}

/// The files of a patch as the calls that would do the same.
fn patch(text: &str) -> Vec<(String, Value)> {
    text.lines()
        .filter_map(|line| {
            let (verb, path) = line.strip_prefix("*** ")?.split_once(" File: ")?;
            let path = path.trim();
            Some(match verb {
                "Add" => ("Write".to_owned(), json!({ "path": path, "content": "" })),
                "Update" => (
                    "Edit".to_owned(),
                    json!({ "path": path, "old_string": "a", "new_string": "b" }),
                ),
                "Delete" => bash(&format!("rm -- {}", quoted(path))),
                _ => return None,
            })
        })
        .collect()
}
