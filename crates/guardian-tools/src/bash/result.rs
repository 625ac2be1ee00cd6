//! What came of a command.

use std::path::PathBuf;
use std::time::Duration;

use guardian_supervisor::ProcessInfo;
use guardian_supervisor::protocol::Exceeded;
use serde_json::{Map, Value, json};

use super::capture::CapturedText;
use super::sandbox::SandboxReport;

/// Why a command is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The shell ended by itself (or by somebody else's signal).
    Exited,
    /// Its time was over.
    TimedOut,
    /// The call was aborted.
    Aborted,
}

/// How the shell itself ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With a code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// Nobody can say: its supervisor was killed before it could report.
    Unknown,
}

/// Who made sure that nothing of the command lives on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// The process group, and a search of `/proc` for the call's marker: a process that clears its
    /// environment and leaves the group escapes.
    Group,
    /// A supervisor to which every orphan comes back.
    Subreaper,
    /// A supervisor, and a cgroup that the kernel kills as one.
    Cgroup,
    /// A PID namespace that the kernel ends as one.
    PidNamespace,
}

impl Ownership {
    /// Its name in results.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Group => "process-group",
            Self::Subreaper => "subreaper",
            Self::Cgroup => "cgroup",
            Self::PidNamespace => "pid-namespace",
        }
    }
}

/// A command that ran, however it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BashResult {
    /// How the shell ended.
    pub exit: Exit,
    /// Why the call is over.
    pub ending: Ending,
    /// Standard output: its head, and a short end when it was long.
    pub stdout: CapturedText,
    /// Standard error: its tail.
    pub stderr: CapturedText,
    /// From the start to the moment nothing was left.
    pub duration: Duration,
    /// Where it ran.
    pub cwd: PathBuf,
    /// Id of the shell, see the catalogue.
    pub shell_id: &'static str,
    /// Processes that outlived the shell and were ended with the call.
    /// (the first of them, see [`Self::background_count`]).
    pub background_killed: Vec<ProcessInfo>,
    /// How many outlived the shell.
    pub background_count: usize,
    /// Processes that could not be ended (in an uninterruptible wait).
    pub survivors: Vec<ProcessInfo>,
    /// A bound that the command exceeded.
    pub exceeded: Option<Exceeded>,
    /// Which confinement was in force.
    pub sandbox: SandboxReport,
    /// Who owned its processes.
    pub ownership: Ownership,
}

impl BashResult {
    /// The code of SPEC §17 under which the call failed; `None` when it succeeded.
    #[must_use]
    pub fn error_code(&self) -> Option<&'static str> {
        match (self.ending, self.exit) {
            (Ending::TimedOut, _) => Some("TOOL_TIMEOUT"),
            (Ending::Aborted, _) => Some("TOOL_ABORTED"),
            (Ending::Exited, Exit::Code(0)) => None,
            (Ending::Exited, _) => Some("TOOL_FAILED"),
        }
    }

    /// One sentence for the model about a failure; `None` when the call succeeded.
    #[must_use]
    pub fn error_message(&self) -> Option<String> {
        let seconds = self.duration.as_secs_f32();
        match (self.ending, self.exit) {
            (Ending::Exited, Exit::Code(0)) => None,
            (Ending::TimedOut, _) => Some(format!(
                "the command did not end in time and was killed after {seconds:.1} s; what it \
                 printed so far is kept. Pass a longer `timeout` (up to 300), or `background: \
                 true` for something that should go on"
            )),
            (Ending::Aborted, _) => Some(
                "the command was aborted and everything it started was ended; what it printed so \
                 far is kept"
                    .to_owned(),
            ),
            (Ending::Exited, Exit::Code(code)) => {
                Some(format!("the command ended with exit code {code}"))
            }
            (Ending::Exited, Exit::Signal(signal)) => {
                Some(format!("the command was ended by {}", signal_name(signal)))
            }
            (Ending::Exited, Exit::Unknown) => Some(
                "the command killed its supervisor; everything that could be found of it was \
                 ended, its exit code is not known"
                    .to_owned(),
            ),
        }
    }

    /// The result object of SPEC §10.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = Map::new();
        let (code, signal) = match self.exit {
            Exit::Code(code) => (Some(code), None),
            Exit::Signal(signal) => (Some(128 + signal), Some(signal_name(signal))),
            Exit::Unknown => (None, None),
        };
        object.insert("exitCode".into(), json!(code));
        if let Some(signal) = signal {
            object.insert("signal".into(), json!(signal));
        }
        object.insert("stdout".into(), json!(self.stdout.text));
        object.insert("stderr".into(), json!(self.stderr.text));
        object.insert(
            "truncated".into(),
            json!(self.stdout.truncated || self.stderr.truncated),
        );
        object.insert(
            "durationMs".into(),
            json!(u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX)),
        );
        if self.ending == Ending::TimedOut {
            object.insert("timedOut".into(), json!(true));
        }
        object.insert("cwd".into(), json!(self.cwd.display().to_string()));
        object.insert("shellId".into(), json!(self.shell_id));
        let mut spill = Map::new();
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if let Some(path) = &text.spill {
                spill.insert(name.into(), json!(path.display().to_string()));
            }
        }
        if !spill.is_empty() {
            object.insert("spill".into(), Value::Object(spill));
        }
        let mut notices = Vec::new();
        if self.background_count > 0 {
            let list = processes(&self.background_killed, self.background_count);
            object.insert("backgroundKilled".into(), list);
            notices.push(
                "the command left processes in the background; they were ended with the call. Use \
                 `background: true` for something that should go on",
            );
        }
        if !self.survivors.is_empty() {
            let list = processes(&self.survivors, self.survivors.len());
            object.insert("survivors".into(), list);
        }
        match self.exceeded {
            Some(Exceeded::Processes) => {
                notices.push("the command started too many processes and was ended");
            }
            Some(Exceeded::Memory) => notices.push(
                "the command used more memory than a call may have; its largest process was killed",
            ),
            None => {}
        }
        if !notices.is_empty() {
            object.insert("notice".into(), json!(notices.join(". ")));
        }
        object.insert("sandbox".into(), self.sandbox.to_json());
        if self.sandbox.is_suspected() {
            object.insert("sandboxSuspected".into(), json!(true));
        }
        object.insert("ownership".into(), json!(self.ownership.as_str()));
        Value::Object(object)
    }
}

fn processes(list: &[ProcessInfo], count: usize) -> Value {
    // A storm of thousands would be the whole result.
    const SHOWN: usize = 20;
    let mut shown: Vec<Value> = list
        .iter()
        .take(SHOWN)
        .map(|process| json!({"pid": process.pid, "command": process.command}))
        .collect();
    if let Some(more) = count.checked_sub(shown.len()).filter(|&more| more > 0) {
        shown.push(json!({"more": more}));
    }
    Value::Array(shown)
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        10 => "SIGUSR1",
        11 => "SIGSEGV",
        12 => "SIGUSR2",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}
