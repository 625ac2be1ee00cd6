//! A real `guardian serve`, one question at a time.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

/// What is read of an answer; the rest is skipped.
#[derive(Deserialize)]
struct Answer {
    id: Option<u64>,
    result: Option<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    ok: Option<bool>,
}

/// An answer's id, and whether it is a result that does not say `ok: false`.
pub(crate) fn read_answer(line: &str) -> (Option<u64>, bool) {
    let answer: Answer = serde_json::from_str(line).unwrap();
    let ok = answer.result.is_some_and(|result| result.ok != Some(false));
    (answer.id, ok)
}

pub(crate) struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    line: String,
    next_id: u64,
}

impl Host {
    /// Starts the `guardian` that was built with this example.
    pub(crate) fn start(data_dir: &Path) -> Self {
        let own = std::env::current_exe().unwrap();
        let program = own.ancestors().nth(2).unwrap().join("guardian");
        let mut child = Command::new(program)
            .arg("serve")
            .arg("--data-dir")
            .arg(data_dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut host = Self {
            stdin: child.stdin.take(),
            stdout: BufReader::with_capacity(256 * 1024, child.stdout.take().unwrap()),
            child,
            line: String::new(),
            next_id: 0,
        };
        let handshake = json!({"protocolVersion": 1, "client": {"name": "bench", "version": "1"}});
        host.call("app.handshake", &handshake);
        host
    }

    pub(crate) fn create_session(&mut self, id: &str, project: &Path) {
        let params = json!({"sessionId": id, "projectPath": project, "permissionMode": "auto"});
        self.call("session.create", &params);
    }

    /// Sends a request and returns its id.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next_id += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{request}\n").as_bytes()).unwrap();
        self.next_id
    }

    /// Sends a tool call and returns its id, which is its call id too.
    pub(crate) fn send_tool(&mut self, session: &str, tool: &str, args: &Value) -> u64 {
        let call = (self.next_id + 1).to_string();
        let params = json!({
            "sessionId": session, "toolCallId": call, "toolName": tool, "args": args,
        });
        self.send("tools.execute", &params)
    }

    /// The id of the next answer, and whether it is a good one.
    pub(crate) fn next_answer(&mut self) -> (u64, bool) {
        loop {
            self.line.clear();
            assert!(
                self.stdout.read_line(&mut self.line).unwrap() > 0,
                "the host ended"
            );
            if let (Some(id), ok) = read_answer(&self.line) {
                return (id, ok);
            }
        }
    }

    pub(crate) fn call(&mut self, method: &str, params: &Value) {
        let id = self.send(method, params);
        let (answered, ok) = self.next_answer();
        assert!(answered == id && ok, "{method}: {}", self.line);
    }

    pub(crate) fn tool(&mut self, session: &str, tool: &str, args: &Value) {
        let id = self.send_tool(session, tool, args);
        let (answered, ok) = self.next_answer();
        assert!(answered == id && ok, "{tool}: {:.500}", self.line);
    }

    /// Ends the input, and waits for the host's end.
    pub(crate) fn end(mut self) {
        self.stdin = None;
        self.child.wait().unwrap();
    }
}
