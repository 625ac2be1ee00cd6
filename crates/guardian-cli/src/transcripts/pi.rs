//! Sessions of pi: `<agent dir>/sessions/--<cwd>--/<time>_<id>.jsonl`.

use serde_json::Value;

use super::{Found, Record, Unread, edits, renamed, text};

const REPLACEMENT: [(&str, &str); 2] = [("oldText", "old_string"), ("newText", "new_string")];

/// Entries that hold no call.
const WITHOUT_CALLS: &[&str] = &[
    "session",
    "model_change",
    "thinking_level_change",
    "compaction",
    "branch_summary",
    "custom",
    "custom_message",
    "label",
    "session_info",
    "usage",
];

/// What an entry says; `None` for the lines of others.
pub(super) fn record(entry: &Value) -> Option<Record> {
    let kind = text(entry, "type")?;
    if WITHOUT_CALLS.contains(&kind) {
        return Some(Record::new());
    }
    let message = entry.get("message").filter(|_| kind == "message")?;
    let id = text(entry, "id").unwrap_or_default();
    Some(match text(message, "role")? {
        "assistant" => match message.get("content") {
            Some(Value::String(_)) => Record::new(),
            Some(Value::Array(blocks)) => blocks
                .iter()
                .filter(|block| text(block, "type") == Some("toolCall"))
                .map(|block| call(block, id))
                .collect(),
            _ => vec![Err(Unread::IncompleteCall)],
        },
        // A tool that calls tools: its own calls are what is judged.
        "toolResult" => {
            let nested = message.get("nestedCalls").and_then(Value::as_array);
            nested
                .into_iter()
                .flatten()
                .map(|block| call(block, id))
                .collect()
        }
        _ => Record::new(),
    })
}

/// A call of the message with this id: ids of calls are the model's own and may come again.
fn call(block: &Value, message: &str) -> Result<Found, Unread> {
    let name = text(block, "name").or_else(|| text(block, "toolName"));
    let args = block.get("arguments").or_else(|| block.get("input"));
    let (Some(name), Some(args @ Value::Object(_))) = (name, args) else {
        return Err(Unread::IncompleteCall);
    };
    let (tool, args) = translated(name, args);
    Ok(Found {
        id: text(block, "id").map(|id| format!("{message}/{id}")),
        tool,
        args,
    })
}

fn translated(name: &str, args: &Value) -> (String, Value) {
    let (tool, args) = match name {
        "bash" => ("Bash", renamed(args, &[("command", "command")])),
        "read" => (
            "Read",
            renamed(
                args,
                &[("path", "path"), ("offset", "offset"), ("limit", "limit")],
            ),
        ),
        "write" => (
            "Write",
            renamed(args, &[("path", "path"), ("content", "content")]),
        ),
        "edit" => {
            let mut new = renamed(args, &[("path", "path")]);
            let edits = edits(args, &REPLACEMENT);
            if edits.is_empty() {
                new.extend(renamed(args, &REPLACEMENT));
            } else {
                new.insert("edits".to_owned(), edits.into());
            }
            ("Edit", new)
        }
        "grep" => (
            "Grep",
            renamed(
                args,
                &[
                    ("pattern", "pattern"),
                    ("path", "path"),
                    ("glob", "include"),
                    ("ignoreCase", "caseInsensitive"),
                    ("literal", "fixedStrings"),
                ],
            ),
        ),
        "find" => (
            "Glob",
            renamed(args, &[("pattern", "pattern"), ("path", "path")]),
        ),
        "ls" => {
            let mut new = renamed(args, &[("path", "path")]);
            new.insert("pattern".to_owned(), "*".into());
            ("Glob", new)
        }
        other => return (other.to_owned(), args.clone()),
    };
    (tool.to_owned(), Value::Object(args))
}
