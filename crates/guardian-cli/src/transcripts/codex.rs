//! Rollouts of Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`. Newer
//! ones wrap each item in a `response_item`.

use serde_json::{Value, json};

use super::{Found, Record, Unread, bash, may_hold_call, quoted, text};

/// Lines around the items of the conversation. What `event_msg` tells of calls, items tell too.
const WITHOUT_CALLS: &[&str] = &["session_meta", "turn_context", "event_msg", "compacted"];

/// Items that are no call of a tool here: what was said and answered, and what ran at the provider.
const ITEMS_WITHOUT_CALLS: &[&str] = &[
    "message",
    "reasoning",
    "function_call_output",
    "custom_tool_call_output",
    "local_shell_call_output",
    "web_search_call",
    "image_generation_call",
    "ghost_snapshot",
    "compaction",
    "compaction_summary",
];

/// What a line says; `None` for the lines of others.
pub(super) fn record(entry: &Value) -> Option<Record> {
    let Some(kind) = text(entry, "type") else {
        // The first line and the states of older rollouts.
        let is_first = ["id", "timestamp", "instructions"]
            .iter()
            .all(|name| entry.get(*name).is_some());
        let is_state = text(entry, "record_type") == Some("state");
        return (is_first || is_state).then(Record::new);
    };
    if WITHOUT_CALLS.contains(&kind) {
        return Some(Record::new());
    }
    let (item, wrapped) = match kind {
        "response_item" => (entry.get("payload")?, true),
        _ => (entry, false),
    };
    let kind = text(item, "type")?;
    if ITEMS_WITHOUT_CALLS.contains(&kind) {
        return Some(Record::new());
    }
    let calls = match kind {
        "function_call" => function(item),
        "local_shell_call" => local_shell(item).map(|call| vec![call]),
        "custom_tool_call" => custom(item),
        _ if !wrapped => return None,
        _ if may_hold_call(item) => return Some(vec![Err(Unread::UnknownRecord)]),
        _ => return Some(Record::new()),
    };
    let Some(calls) = calls else {
        return Some(vec![Err(Unread::IncompleteCall)]);
    };
    let id = text(item, "call_id").or_else(|| text(item, "id"));
    let found = calls.into_iter().enumerate().map(|(index, (tool, args))| {
        Ok(Found {
            id: id.map(|id| format!("{id}/{index}")),
            tool,
            args,
        })
    });
    Some(found.collect())
}

/// The calls of guardian's tools that an item stands for; `None` when it does not say all of it.
type Calls = Option<Vec<(String, Value)>>;

fn function(item: &Value) -> Calls {
    let name = text(item, "name")?;
    let args: Value = serde_json::from_str(text(item, "arguments")?).ok()?;
    let directory = text(&args, "workdir").or_else(|| text(&args, "cwd"));
    match name {
        "shell" | "container.exec" | "shell_command" | "exec_command" => {
            let command = args.get("command").or_else(|| args.get("cmd"))?;
            Some(vec![bash(&in_directory(&shell_text(command)?, directory))])
        }
        "apply_patch" => patch(text(&args, "input").or_else(|| text(&args, "patch"))?),
        other => args.is_object().then(|| vec![(other.to_owned(), args)]),
    }
}

fn local_shell(item: &Value) -> Option<(String, Value)> {
    let action = item.get("action")?;
    let command = shell_text(action.get("command")?)?;
    Some(bash(&in_directory(
        &command,
        text(action, "working_directory"),
    )))
}

fn custom(item: &Value) -> Calls {
    let input = item.get("input")?;
    match text(item, "name")? {
        "apply_patch" => patch(input.as_str()?),
        name => Some(vec![(name.to_owned(), json!({ "input": input }))]),
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

/// The files of a patch as the calls that would do the same; `None` when it names none.
fn patch(text: &str) -> Calls {
    let calls: Vec<_> = text
        .lines()
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
        .collect();
    (!calls.is_empty()).then_some(calls)
}
