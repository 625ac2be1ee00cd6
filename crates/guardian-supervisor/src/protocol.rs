//! What the host and the supervisor of one call say to each other.
//!
//! The host starts `guardian-supervisor <launch> <program> <arguments>…`: the first argument is a
//! [`Launch`] as JSON, the rest is what to run. Environment, working directory, standard output
//! and standard error are the program's own; they are passed on untouched. Standard input is one
//! end of a Unix stream socket: lines of JSON, [`Order`]s from the host, [`Event`]s to it. When
//! the host's end closes, for whatever reason, the supervisor ends everything.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::procfs::ProcessInfo;

/// Version of everything in this module. Both sides are built together; a supervisor of another
/// version refuses.
pub const PROTOCOL: u32 = 2;

/// How to run the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// Milliseconds from `TERM` to the end by force.
    pub grace_ms: u64,
    /// Milliseconds that what was killed may take to disappear before it is reported.
    pub patience_ms: u64,
    /// A directory (does not exist yet) in a cgroup v2 hierarchy for this call; `None`: none.
    pub cgroup: Option<PathBuf>,
    /// Give the program its working directory as descriptor [`DIRECTORY_FD`] as well: a wrapper
    /// then mounts the directory that was judged, not what its path leads to.
    pub directory_fd: bool,
    /// Confine the program by Landlock and seccomp, see [`Confine`].
    pub confine: Option<Confine>,
    /// Bounds of the program and everything it starts.
    pub limits: Limits,
}

/// A confinement that the kernel holds without namespaces: what is not named cannot be opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confine {
    /// Files and trees that can be read and run. Missing ones are skipped.
    pub readable: Vec<PathBuf>,
    /// Trees that can be listed, but whose files cannot be opened.
    pub listable: Vec<PathBuf>,
    /// Files and trees that can be changed too, besides the working directory. Missing ones are
    /// skipped.
    pub writable: Vec<PathBuf>,
    /// The network can be used.
    pub network: bool,
}

/// See [`Launch::directory_fd`].
pub const DIRECTORY_FD: i32 = 40;

/// Bounds of one call. `None` means none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Processes at the same time. More of them end the call.
    pub processes: Option<u64>,
    /// Bytes of memory in all processes together. The largest one is killed when there are more.
    pub memory_bytes: Option<u64>,
}

/// From the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// `TERM`, grace, and force.
    End,
}

/// To the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The program runs.
    Started {
        /// Its process id, which is its process group too.
        pid: i32,
        /// It is in the cgroup that was asked for.
        in_cgroup: bool,
    },
    /// The program could not be started; nothing runs, the supervisor ends.
    Failed {
        /// What failed, for people.
        action: String,
        /// The system's error number, 0 when there is none.
        errno: i32,
    },
    /// The program could not be confined as asked and was not started; the supervisor ends.
    NotConfined {
        /// Why, for people.
        reason: String,
    },
    /// Everything is over; the supervisor ends.
    Finished {
        /// How the program itself ended.
        exit: ExitStatus,
        /// Who was alive when the program ended by itself.
        background: Vec<ProcessInfo>,
        /// How many there were, when the list was cut.
        background_count: usize,
        /// Who could not be ended.
        survivors: Vec<ProcessInfo>,
        /// A bound of [`Limits`] that was exceeded.
        exceeded: Option<Exceeded>,
    },
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitStatus {
    /// With a code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It did not end (it is among the survivors).
    Unknown,
}

/// A bound that was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exceeded {
    /// Too many processes: the call was ended.
    Processes,
    /// Too much memory: the largest process was killed.
    Memory,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_of_another_version_is_not_understood() {
        assert_eq!(serde_json::to_string(&Order::End).unwrap(), "\"end\"");
        assert!(serde_json::from_str::<Order>("\"restart\"").is_err());
        let launch = r#"{"protocol":2,"grace_ms":1,"patience_ms":1,"cgroup":null,"directory_fd":false,"confine":null,"limits":{},"x":1}"#;
        assert!(serde_json::from_str::<Launch>(launch).is_err());
    }
}
