//! A real `guardian serve` in a temporary world.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a test waits for a message. Generous: the machine may be busy, and nothing is proven
/// by how long it took.
const PATIENCE: Duration = Duration::from_secs(30);

/// Workspace, outside directory, home and data directory, all temporary.
pub(crate) struct World {
    _top: TempDir,
    pub(crate) workspace: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) home: PathBuf,
}

impl World {
    pub(crate) fn new() -> Self {
        let top = tempfile::tempdir().unwrap();
        let real = top.path().canonicalize().unwrap();
        let make = |name: &str| {
            let path = real.join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        let (workspace, outside, home) = (make("ws"), make("out"), make("home"));
        Self {
            _top: top,
            workspace,
            outside,
            home,
        }
    }

    pub(crate) fn write_config(&self, text: &str) {
        let directory = self.home.join(".config/guardian");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("config.toml"), text).unwrap();
    }

    /// Entries of the user's for programs.
    pub(crate) fn write_entries(&self, text: &str) {
        let directory = self.home.join(".config/guardian/commands");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("own.toml"), text).unwrap();
    }

    /// The `guardian` executable with a scrubbed environment.
    pub(crate) fn guardian(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_guardian"));
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", &self.home)
            .env("LANG", "C.UTF-8")
            .current_dir(&self.workspace);
        command
    }
}

/// A running `guardian serve`.
pub(crate) struct HostProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: mpsc::Receiver<Value>,
    /// Messages that came and were not taken yet.
    pub(crate) waiting: Vec<Value>,
}

impl HostProcess {
    fn spawn(world: &World) -> Child {
        world
            .guardian()
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap()
    }

    /// A host whose output stays open and is never read.
    pub(crate) fn start_unread(world: &World) -> Self {
        let mut child = Self::spawn(world);
        Self {
            stdin: child.stdin.take(),
            child,
            messages: mpsc::channel().1,
            waiting: Vec::new(),
        }
    }

    pub(crate) fn start(world: &World) -> Self {
        let mut child = Self::spawn(world);
        let (sender, messages) = mpsc::channel();
        let stdout = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let line = line.unwrap();
                let message: Value = serde_json::from_str(&line)
                    .unwrap_or_else(|error| panic!("stdout carries `{line}`: {error}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            messages,
            waiting: Vec::new(),
        }
    }

    /// False when the host no longer takes lines.
    pub(crate) fn try_send_line(&mut self, line: &[u8]) -> bool {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(&[line, b"\n"].concat()).is_ok()
    }

    pub(crate) fn send_line(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn send(&mut self, mut request: Value) {
        request["jsonrpc"] = "2.0".into();
        self.send_line(request.to_string().as_bytes());
    }

    /// Takes the first message for which `accept` answers true.
    #[track_caller]
    pub(crate) fn take(
        &mut self,
        what: &dyn std::fmt::Display,
        mut accept: impl FnMut(&Value) -> bool,
    ) -> Value {
        if let Some(index) = self.waiting.iter().position(&mut accept) {
            return self.waiting.remove(index);
        }
        loop {
            match self.messages.recv_timeout(PATIENCE) {
                Ok(message) if accept(&message) => return message,
                Ok(message) => self.waiting.push(message),
                Err(error) => {
                    panic!(
                        "no message like {what} ({error}); came: {:#?}",
                        self.waiting
                    )
                }
            }
        }
    }

    /// Ends the input and returns the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().unwrap().code()
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next message; `None` when the host is gone.
    pub(crate) fn next_message(&mut self) -> Option<Value> {
        self.messages.recv_timeout(PATIENCE).ok()
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args(["-s", name, &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
    }

    /// Kills the host as a crash would, and says which process that was.
    pub(crate) fn kill(mut self) -> u32 {
        let pid = self.child.id();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        pid
    }
}

/// A host whose calls are made one after the other, in the session `s`.
pub(crate) struct Served {
    pub(crate) host: HostProcess,
    calls: u32,
}

impl Served {
    /// Starts it, up to the handshake.
    pub(crate) fn start(world: &World) -> Self {
        let mut host = HostProcess::start(world);
        host.send(json!({"id": 0, "method": "app.handshake",
            "params": {"protocolVersion": 1, "client": {"name": "t"}}}));
        host.take(&"handshake", |message| message["id"] == 0);
        Self { host, calls: 0 }
    }

    /// Makes the session, where nothing needs a card.
    pub(crate) fn create_session(&mut self, world: &World) {
        let params = json!({
            "sessionId": "s", "projectPath": world.workspace, "permissionMode": "auto"});
        self.call("session.create", &params);
    }

    /// Sends a request and returns its id.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u32 {
        self.calls += 1;
        self.host
            .send(json!({"id": self.calls, "method": method, "params": params}));
        self.calls
    }

    /// The result of a request.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.host.take(&method, |message| message["id"] == id)["result"].take()
    }

    /// The result of a tool.
    #[track_caller]
    pub(crate) fn tool(&mut self, tool: &str, args: &Value) -> Value {
        self.call("tools.execute", &self.tool_call(tool, args))
    }

    /// The parameters of a tool call.
    pub(crate) fn tool_call(&self, tool: &str, args: &Value) -> Value {
        let call = format!("{tool}-{}", self.calls);
        json!({"sessionId": "s", "toolCallId": call, "toolName": tool, "args": args})
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
