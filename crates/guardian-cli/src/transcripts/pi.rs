//! Sessions of pi: `<agent dir>/sessions/--<cwd>--/<time>_<id>.jsonl`.

use serde_json::{Value, json};

use super::{Found, bash, edits, renamed, text};

const REPLACEMENT: [(&str, &str); 2] = [("oldText", "old_string"), ("newText", "new_string")];

pub(super) fn calls(entry: &Value) -> Option<Vec<Found>> {
    if text(entry, "type")? != "message" {
        return None;
    }
    let message = entry.get("message")?;
    match text(message, "role")? {
        "assistant" => {
            let blocks = message.get("content")?.as_array()?;
            let calls = blocks
                .iter()
                .filter(|block| text(block, "type") == Some("toolCall"));
            Some(calls.filter_map(call).collect())
        }
        // A tool that calls tools: its own calls are what is judged.
        "toolResult" => {
            let nested = message.get("nestedCalls").and_then(Value::as_array);
            Some(nested.into_iter().flatten().filter_map(call).collect())
        }
        _ => Some(Vec::new()),
    }
}

fn call(block: &Value) -> Option<Found> {
    let name = text(block, "name").or_else(|| text(block, "toolName"))?;
    let args = block
        .get("arguments")
        .or_else(|| block.get("input"))
        .cloned()
        .unwrap_or_else(|| json!({}));
    let (tool, args) = translated(name, &args);
    Some(Found {
        id: text(block, "id").map(str::to_owned),
        tool,
        args,
    })
}

fn translated(name: &str, args: &Value) -> (String, Value) {
    let (tool, args) = match name {
        "bash" => return bash(text(args, "command").unwrap_or_default()),
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
