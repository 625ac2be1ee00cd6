//! A real `guardian serve` in a temporary world.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
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

impl Drop for HostProcess {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
