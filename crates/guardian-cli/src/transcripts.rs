//! Recorded sessions of coding agents: which tool calls they made.
//!
//! One line is read at a time, and told apart by its own shape, so that a file need not say which
//! client wrote it. A line that is not understood has no calls; what a client calls its tools is
//! translated into guardian's names and arguments, and a tool that guardian does not have keeps
//! its name.

mod claude_code;
mod codex;
mod pi;

use std::collections::HashSet;

use serde_json::{Map, Value, json};

/// A tool call of a recorded session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedCall {
    /// The directory of the session, as far as the transcript said.
    pub(crate) cwd: Option<String>,
    /// Tool, by guardian's name where it has one.
    pub(crate) tool: String,
    /// Its arguments.
    pub(crate) args: Value,
}

/// Reads the lines of one transcript, in order.
#[derive(Debug, Default)]
pub(crate) struct TranscriptReader {
    cwd: Option<String>,
    /// Ids of calls: clients write a message again when it grew.
    seen: HashSet<String>,
}

impl TranscriptReader {
    /// The calls of a line.
    pub(crate) fn line(&mut self, line: &str) -> Vec<RecordedCall> {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            return Vec::new();
        };
        let calls = pi::calls(&entry)
            .or_else(|| claude_code::calls(&entry))
            .or_else(|| codex::calls(&entry))
            .unwrap_or_default();
        if let Some(cwd) = cwd_of(&entry) {
            self.cwd = Some(cwd.to_owned());
        }
        calls
            .into_iter()
            .filter(|call| {
                call.id
                    .as_ref()
                    .is_none_or(|id| self.seen.insert(id.clone()))
            })
            .map(|call| RecordedCall {
                cwd: self.cwd.clone(),
                tool: call.tool,
                args: call.args,
            })
            .collect()
    }
}

/// A call as a client's line has it, translated.
struct Found {
    id: Option<String>,
    tool: String,
    args: Value,
}

/// Where the session works: on a line of its own, or on every line.
fn cwd_of(entry: &Value) -> Option<&str> {
    let payload = entry.get("payload");
    entry
        .get("cwd")
        .or_else(|| payload.and_then(|payload| payload.get("cwd")))
        .and_then(Value::as_str)
}

fn text<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name).and_then(Value::as_str)
}

/// The members that are there, under guardian's names.
fn renamed(args: &Value, names: &[(&str, &str)]) -> Map<String, Value> {
    names
        .iter()
        .filter_map(|(theirs, ours)| {
            let value = args.get(*theirs).filter(|value| !value.is_null())?;
            Some(((*ours).to_owned(), value.clone()))
        })
        .collect()
}

/// The replacements of an edit, under guardian's names.
fn edits(args: &Value, names: &[(&str, &str)]) -> Vec<Value> {
    let edits = args.get("edits").and_then(Value::as_array);
    edits
        .into_iter()
        .flatten()
        .map(|edit| Value::Object(renamed(edit, names)))
        .collect()
}

fn bash(command: &str) -> (String, Value) {
    ("Bash".to_owned(), json!({ "command": command }))
}

/// A word that a shell reads as itself.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn calls(lines: &[Value]) -> Vec<(Option<String>, String, Value)> {
        let mut reader = TranscriptReader::default();
        lines
            .iter()
            .flat_map(|line| reader.line(&line.to_string()))
            .map(|call| (call.cwd, call.tool, call.args))
            .collect()
    }

    #[test]
    fn a_pi_session_is_read_with_its_nested_calls() {
        let found = calls(&[
            json!({"type": "session", "version": 3, "id": "x", "cwd": "/p"}),
            json!({"type": "message", "id": "1", "message": {"role": "user", "content": [{"type": "text", "text": "go"}]}}),
            json!({"type": "message", "id": "2", "message": {"role": "assistant", "content": [
                {"type": "toolCall", "id": "a", "name": "bash", "arguments": {"command": "ls", "timeout": 5}},
                {"type": "toolCall", "id": "b", "name": "edit", "arguments": {"path": "x", "edits": [{"oldText": "a", "newText": "b"}]}},
                {"type": "toolCall", "id": "c", "name": "codemode", "arguments": {"code": "…"}},
            ]}}),
            json!({"type": "message", "id": "3", "message": {"role": "toolResult", "toolCallId": "c", "toolName": "codemode", "content": [],
                "nestedCalls": [{"id": "c/1", "name": "read", "arguments": {"path": "y"}}]}}),
        ]);
        let p = || Some("/p".to_owned());
        assert_eq!(
            found,
            [
                (p(), "Bash".to_owned(), json!({"command": "ls"})),
                (
                    p(),
                    "Edit".to_owned(),
                    json!({"path": "x", "edits": [{"old_string": "a", "new_string": "b"}]})
                ),
                (p(), "codemode".to_owned(), json!({"code": "…"})),
                (p(), "Read".to_owned(), json!({"path": "y"})),
            ]
        );
    }

    #[test]
    fn a_claude_code_transcript_is_read_and_a_repeated_message_counts_once() {
        let message = json!({"type": "assistant", "cwd": "/p", "sessionId": "s", "message": {"role": "assistant", "content": [
            {"type": "text", "text": "…"},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls", "description": "look"}},
            {"type": "tool_use", "id": "t2", "name": "Edit", "input": {"file_path": "/p/a", "old_string": "a", "new_string": "b", "replace_all": false}},
            {"type": "tool_use", "id": "t3", "name": "WebFetch", "input": {"url": "https://example.com"}},
        ]}});
        let found = calls(&[
            json!({"type": "summary", "summary": "x"}),
            message.clone(),
            message,
        ]);
        let p = || Some("/p".to_owned());
        assert_eq!(
            found,
            [
                (p(), "Bash".to_owned(), json!({"command": "ls"})),
                (
                    p(),
                    "Edit".to_owned(),
                    json!({"path": "/p/a", "old_string": "a", "new_string": "b"})
                ),
                (
                    p(),
                    "WebFetch".to_owned(),
                    json!({"url": "https://example.com"})
                ),
            ]
        );
    }

    #[test]
    fn a_codex_rollout_is_read_in_its_older_and_newer_forms() {
        let item =
            |payload: Value| json!({"timestamp": "…", "type": "response_item", "payload": payload});
        let found = calls(&[
            json!({"timestamp": "…", "type": "session_meta", "payload": {"id": "x", "cwd": "/p"}}),
            item(
                json!({"type": "function_call", "name": "shell", "call_id": "1",
                "arguments": r#"{"command": ["bash", "-lc", "ls | wc"], "workdir": "/p"}"#}),
            ),
            item(
                json!({"type": "function_call", "name": "shell", "call_id": "2",
                "arguments": r#"{"command": ["git", "commit", "-m", "a b"]}"#}),
            ),
            item(
                json!({"type": "function_call", "name": "exec_command", "call_id": "3",
                "arguments": r#"{"cmd": "make", "workdir": "api"}"#}),
            ),
            item(json!({"type": "local_shell_call", "call_id": "4",
                "action": {"type": "exec", "command": ["ls"]}})),
            item(
                json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "5",
                "input": "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** Update File: c\n@@\n-x\n+y\n*** End Patch"}),
            ),
            json!({"type": "function_call", "name": "shell", "call_id": "6", "arguments": r#"{"command": ["pwd"]}"#}),
        ]);
        let texts: Vec<String> = found
            .iter()
            .map(|(_, tool, args)| format!("{tool} {args}"))
            .collect();
        assert_eq!(
            texts,
            [
                r#"Bash {"command":"ls | wc"}"#,
                r#"Bash {"command":"git commit -m 'a b'"}"#,
                r#"Bash {"command":"cd api && make"}"#,
                r#"Bash {"command":"ls"}"#,
                r#"Write {"path":"a","content":""}"#,
                r#"Bash {"command":"rm -- b"}"#,
                r#"Edit {"path":"c","old_string":"a","new_string":"b"}"#,
                r#"Bash {"command":"pwd"}"#,
            ]
        );
    }

    #[test]
    fn lines_that_are_not_understood_have_no_calls() {
        let mut reader = TranscriptReader::default();
        for line in [
            "",
            "x",
            "[]",
            "3",
            "{}",
            r#"{"type": "message"}"#,
            r#"{"type": "assistant", "message": 3}"#,
        ] {
            assert_eq!(reader.line(line), [], "{line}");
        }
    }
}
