//! Recorded sessions of coding agents: which tool calls they made.
//!
//! One line is read at a time, and told apart by its own shape, so that a file need not say which
//! client wrote it. What a client calls its tools is translated into guardian's names and
//! arguments, and a tool that guardian does not have keeps its name. What cannot be read is told:
//! a line without calls and a line that was not understood are not the same.

mod claude_code;
mod codex;
mod pi;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value};

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

/// Why something in a line is not among the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unread {
    /// Bytes that are no text.
    NotUtf8,
    /// Text that is not JSON; the last line of a session that is still being written is one.
    NotJson,
    /// A record of a kind that is not known here, with something in it that looks like a call.
    UnknownRecord,
    /// A call without its name, or without its arguments.
    IncompleteCall,
}

/// What a line of a transcript says.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Line {
    /// One of the clients writes such lines.
    pub(crate) is_known: bool,
    /// The calls in it.
    pub(crate) calls: Vec<RecordedCall>,
    /// What else is in it.
    pub(crate) unread: Vec<Unread>,
}

impl Line {
    fn unread(why: Unread) -> Self {
        Self {
            unread: vec![why],
            ..Self::default()
        }
    }
}

/// Reads the lines of one transcript, in order.
#[derive(Debug, Default)]
pub(crate) struct TranscriptReader {
    cwd: Option<String>,
    /// Calls by id and content: clients write a message again when it grew.
    seen: HashSet<u64>,
}

impl TranscriptReader {
    /// Reads a line; of a blank one nothing is known.
    pub(crate) fn line(&mut self, line: &[u8]) -> Line {
        let Ok(text) = std::str::from_utf8(line) else {
            return Line::unread(Unread::NotUtf8);
        };
        if text.trim().is_empty() {
            return Line::default();
        }
        let Ok(entry) = serde_json::from_str::<Value>(text) else {
            return Line::unread(Unread::NotJson);
        };
        let record = pi::record(&entry)
            .or_else(|| claude_code::record(&entry))
            .or_else(|| codex::record(&entry));
        let Some(record) = record else {
            return match may_hold_call(&entry) {
                true => Line::unread(Unread::UnknownRecord),
                false => Line::default(),
            };
        };
        if let Some(cwd) = cwd_of(&entry) {
            self.cwd = Some(cwd.to_owned());
        }
        let mut found = Line {
            is_known: true,
            ..Line::default()
        };
        for call in record {
            match call {
                Ok(call) if self.is_new(&call) => found.calls.push(RecordedCall {
                    cwd: self.cwd.clone(),
                    tool: call.tool,
                    args: call.args,
                }),
                Ok(_) => {}
                Err(why) => found.unread.push(why),
            }
        }
        found
    }

    /// The same id with other arguments is another call: some models count from zero in each
    /// message.
    fn is_new(&mut self, call: &Found) -> bool {
        let Some(id) = &call.id else {
            return true;
        };
        let mut hasher = DefaultHasher::new();
        (id, &call.tool, call.args.to_string()).hash(&mut hasher);
        self.seen.insert(hasher.finish())
    }
}

/// A call as a client's line has it, translated.
struct Found {
    id: Option<String>,
    tool: String,
    args: Value,
}

/// The calls of a line that a client wrote; those that cannot be told with the reason.
type Record = Vec<Result<Found, Unread>>;

/// Something in it looks like a tool call of some client.
fn may_hold_call(value: &Value) -> bool {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(values) => waiting.extend(values),
            Value::Object(members) => {
                let kind = text(value, "type").unwrap_or_default().to_lowercase();
                let is_answer = ["result", "output", "response"]
                    .iter()
                    .any(|end| kind.ends_with(end));
                let is_call = !is_answer
                    && (kind.contains("call") || kind.contains("tool"))
                    && ["name", "input", "arguments", "action", "command"]
                        .iter()
                        .any(|name| members.contains_key(*name));
                let lists_calls = ["tool_calls", "toolCalls"]
                    .iter()
                    .filter_map(|name| members.get(*name)?.as_array())
                    .any(|calls| !calls.is_empty());
                if is_call || lists_calls {
                    return true;
                }
                waiting.extend(members.values());
            }
            _ => {}
        }
    }
    false
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
    ("Bash".to_owned(), serde_json::json!({ "command": command }))
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
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn calls(lines: &[Value]) -> Vec<(Option<String>, String, Value)> {
        let mut reader = TranscriptReader::default();
        lines
            .iter()
            .flat_map(|line| {
                let found = reader.line(line.to_string().as_bytes());
                assert_eq!((found.is_known, found.unread), (true, Vec::new()), "{line}");
                found.calls
            })
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

    #[track_caller]
    fn unread(line: &[u8]) -> (bool, Vec<Unread>) {
        let found = TranscriptReader::default().line(line);
        assert_eq!(found.calls, []);
        (found.is_known, found.unread)
    }

    #[test]
    fn what_cannot_be_read_is_told_from_what_holds_no_calls() {
        for silent in [
            "",
            " \n",
            "[]",
            "3",
            "{}",
            r#"{"type": "news", "name": "x"}"#,
        ] {
            assert_eq!(unread(silent.as_bytes()), (false, Vec::new()), "{silent}");
        }
        for known in [
            r#"{"type": "session", "version": 3, "cwd": "/p"}"#,
            r#"{"type": "model_change", "id": "1"}"#,
            r#"{"type": "user", "message": {"role": "user", "content": "go"}}"#,
            r#"{"type": "file-history-snapshot", "snapshot": {}}"#,
            r#"{"type": "event_msg", "payload": {"type": "mcp_tool_call_begin", "name": "x"}}"#,
            r#"{"type": "response_item", "payload": {"type": "web_search_call", "action": {}}}"#,
            r#"{"type": "response_item", "payload": {"type": "function_call_output", "call_id": "1"}}"#,
        ] {
            assert_eq!(unread(known.as_bytes()), (true, Vec::new()), "{known}");
        }
        assert_eq!(unread(b"{\"a\": \"\xff\"}"), (false, vec![Unread::NotUtf8]));
        for torn in ["x", r#"{"type": "message", "mess"#] {
            assert_eq!(unread(torn.as_bytes()), (false, vec![Unread::NotJson]));
        }
        for (strange, is_known) in [
            (
                r#"{"kind": "new", "content": [{"type": "tool_use", "name": "Bash", "input": {}}]}"#,
                false,
            ),
            (
                r#"{"role": "assistant", "tool_calls": [{"function": {"name": "x"}}]}"#,
                false,
            ),
            (
                r#"{"type": "response_item", "payload": {"type": "new_call", "name": "x"}}"#,
                true,
            ),
        ] {
            let expected = (is_known, vec![Unread::UnknownRecord]);
            assert_eq!(unread(strange.as_bytes()), expected, "{strange}");
        }
    }

    #[test]
    fn a_call_without_its_name_or_arguments_is_told_and_not_made_up() {
        for line in [
            json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "1", "name": "Bash"}]}}),
            json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "1", "input": {}}]}}),
            json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash", "input": "ls"}]}}),
            json!({"type": "assistant", "message": 3}),
            json!({"type": "message", "message": {"role": "assistant", "content": [{"type": "toolCall", "name": "bash"}]}}),
            json!({"type": "message", "message": {"role": "assistant", "content": [{"type": "toolCall", "arguments": {}}]}}),
            json!({"type": "message", "message": {"role": "assistant"}}),
            json!({"type": "response_item", "payload": {"type": "function_call", "name": "shell"}}),
            json!({"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "{"}}),
            json!({"type": "response_item", "payload": {"type": "function_call", "name": "shell", "arguments": "{}"}}),
            json!({"type": "response_item", "payload": {"type": "local_shell_call", "action": {}}}),
            json!({"type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch", "input": "none"}}),
            json!({"type": "response_item", "payload": {"type": "custom_tool_call", "name": "x"}}),
        ] {
            let expected = (true, vec![Unread::IncompleteCall]);
            assert_eq!(unread(line.to_string().as_bytes()), expected, "{line}");
        }
    }

    #[test]
    fn an_id_that_comes_again_with_other_arguments_is_another_call() {
        let call = |message: &str, command: &str| {
            json!({"type": "message", "id": message, "message": {"role": "assistant", "content": [
                {"type": "toolCall", "id": "bash:0", "name": "bash", "arguments": {"command": command}},
            ]}})
        };
        let found = calls(&[
            call("1", "ls"),
            call("2", "make"),
            call("3", "make"),
            call("3", "make"),
        ]);
        assert_eq!(found.len(), 3);
    }
}
