//! Transcripts of Claude Code: `~/.claude/projects/<project>/<session>.jsonl`.

use serde_json::{Value, json};

use super::{Found, bash, edits, renamed, text};

const REPLACEMENT: [(&str, &str); 2] = [("old_string", "old_string"), ("new_string", "new_string")];

pub(super) fn calls(entry: &Value) -> Option<Vec<Found>> {
    if text(entry, "type")? != "assistant" {
        return None;
    }
    let blocks = entry.get("message")?.get("content")?.as_array()?;
    let calls = blocks
        .iter()
        .filter(|block| text(block, "type") == Some("tool_use"));
    Some(
        calls
            .filter_map(|block| {
                let args = block.get("input").cloned().unwrap_or_else(|| json!({}));
                let (tool, args) = translated(text(block, "name")?, &args);
                Some(Found {
                    id: text(block, "id").map(str::to_owned),
                    tool,
                    args,
                })
            })
            .collect(),
    )
}

fn translated(name: &str, args: &Value) -> (String, Value) {
    let args = match name {
        "Bash" => return bash(text(args, "command").unwrap_or_default()),
        "Read" => renamed(
            args,
            &[
                ("file_path", "path"),
                ("offset", "offset"),
                ("limit", "limit"),
            ],
        ),
        "Write" => renamed(args, &[("file_path", "path"), ("content", "content")]),
        "Edit" => {
            let mut new = renamed(args, &[("file_path", "path")]);
            new.extend(renamed(args, &REPLACEMENT));
            new
        }
        "MultiEdit" => {
            let mut new = renamed(args, &[("file_path", "path")]);
            let edits = edits(args, &REPLACEMENT);
            new.insert("edits".to_owned(), edits.into());
            return ("Edit".to_owned(), Value::Object(new));
        }
        "Glob" => renamed(args, &[("pattern", "pattern"), ("path", "path")]),
        "Grep" => renamed(
            args,
            &[
                ("pattern", "pattern"),
                ("path", "path"),
                ("glob", "include"),
                ("-i", "caseInsensitive"),
                ("multiline", "multiline"),
            ],
        ),
        "LS" => {
            let mut new = renamed(args, &[("path", "path")]);
            new.insert("pattern".to_owned(), "*".into());
            return ("Glob".to_owned(), Value::Object(new));
        }
        other => return (other.to_owned(), args.clone()),
    };
    (name.to_owned(), Value::Object(args))
}
