//! Transcripts of Claude Code: `~/.claude/projects/<project>/<session>.jsonl`.

use serde_json::Value;

use super::{Found, Record, Unread, edits, renamed, text};

const REPLACEMENT: [(&str, &str); 2] = [("old_string", "old_string"), ("new_string", "new_string")];

/// Kinds of lines that hold no call of the session. `progress` repeats what a subagent did, which
/// has a transcript of its own.
const WITHOUT_CALLS: &[&str] = &[
    "user",
    "system",
    "summary",
    "attachment",
    "file-history-snapshot",
    "file-history-delta",
    "queue-operation",
    "progress",
    "last-prompt",
    "custom-title",
    "ai-title",
    "agent-name",
    "agent-color",
    "agent-setting",
    "permission-mode",
    "mode",
    "tag",
    "pr-link",
    "frame-link",
    "fork-context-ref",
    "worktree-state",
    "started",
    "result",
];

/// What a line of such a transcript says; `None` for the lines of others.
pub(super) fn record(entry: &Value) -> Option<Record> {
    let kind = text(entry, "type")?;
    if WITHOUT_CALLS.contains(&kind) {
        return Some(Record::new());
    }
    if kind != "assistant" {
        return None;
    }
    let content = entry
        .get("message")
        .and_then(|message| message.get("content"));
    Some(match content {
        Some(Value::String(_)) => Record::new(),
        Some(Value::Array(blocks)) => blocks
            .iter()
            .filter(|block| text(block, "type") == Some("tool_use"))
            .map(|block| call(block).ok_or(Unread::IncompleteCall))
            .collect(),
        _ => vec![Err(Unread::IncompleteCall)],
    })
}

fn call(block: &Value) -> Option<Found> {
    let args = block.get("input").filter(|args| args.is_object())?;
    let (tool, args) = translated(text(block, "name")?, args);
    Some(Found {
        id: text(block, "id").map(str::to_owned),
        tool,
        args,
    })
}

fn translated(name: &str, args: &Value) -> (String, Value) {
    let args = match name {
        "Bash" => renamed(args, &[("command", "command")]),
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
