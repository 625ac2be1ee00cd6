//! What `/proc` says about processes. Every answer may be outdated by the time it is used; callers
//! that signal a process hold a pidfd first and ask again.

use std::fs;
use std::io::Read;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

/// A process as it is shown to people: which one, and what it was running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessInfo {
    /// Process id in the host's PID namespace.
    pub pid: i32,
    /// Its command line, at most 200 characters, control characters replaced by spaces.
    pub command: String,
}

/// One line of `/proc/<pid>/stat`, the fields that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Parent.
    pub parent: i32,
    /// Process group.
    pub group: i32,
    /// Session.
    pub session: i32,
    /// State letter (`R`, `S`, `T`, `Z` …).
    pub state: u8,
}

impl Stat {
    /// Has it ended, waiting only to be reaped?
    #[must_use]
    pub fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Is it stopped (it cannot fork)?
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }
}

/// Reads the state of a process; `None` when it does not exist.
#[must_use]
pub fn stat(pid: Pid) -> Option<Stat> {
    let mut buffer = [0_u8; 1024];
    let mut file = fs::File::open(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let length = file.read(&mut buffer).ok()?;
    parse_stat(buffer.get(..length)?)
}

/// The command name in the second field may contain anything, also `) R 1`: the fields begin after
/// the *last* parenthesis.
fn parse_stat(line: &[u8]) -> Option<Stat> {
    let close = line.iter().rposition(|&byte| byte == b')')?;
    let text = std::str::from_utf8(line.get(close + 1..)?).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    Some(Stat {
        parent,
        group,
        session,
        state,
    })
}

/// Appends the direct children of a process (of all its threads).
pub fn children(pid: Pid, into: &mut Vec<Pid>) {
    let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())) else {
        return;
    };
    for task in tasks.flatten() {
        let Ok(text) = fs::read_to_string(task.path().join("children")) else {
            continue;
        };
        into.extend(
            text.split_ascii_whitespace()
                .filter_map(|word| Pid::from_raw(word.parse().ok()?)),
        );
    }
}

/// All descendants of a process, breadth first, without itself. Zombies are included.
#[must_use]
pub fn descendants(root: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    children(root, &mut found);
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        next += 1;
        children(pid, &mut found);
    }
    found
}

/// Every process of the machine that this one may see.
#[must_use]
pub fn all() -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .collect()
}

/// Does the process carry `NAME=value` (given whole) in the environment it was started with?
///
/// A process in the middle of an `exec` shows an empty environment for some microseconds; so an
/// empty one is looked at again before it counts.
#[must_use]
pub fn has_environment_entry(pid: Pid, entry: &[u8]) -> bool {
    for _ in 0..5 {
        match fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())) {
            Ok(bytes) if bytes.is_empty() && !is_kernel_thread(pid) => {
                std::thread::sleep(std::time::Duration::from_micros(100));
            }
            Ok(bytes) => {
                return bytes
                    .split(|&byte| byte == 0)
                    .any(|variable| variable == entry);
            }
            Err(_) => return false,
        }
    }
    false
}

fn is_kernel_thread(pid: Pid) -> bool {
    const KTHREADD: i32 = 2;
    pid.as_raw_nonzero().get() == KTHREADD
        || stat(pid).is_none_or(|stat| stat.parent == KTHREADD || stat.is_dead())
}

/// Bytes of memory the process holds (shared pages included); 0 when it is gone.
#[must_use]
pub fn resident_bytes(pid: Pid) -> u64 {
    let Ok(text) = fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_nonzero())) else {
        return 0;
    };
    let pages: u64 = text
        .split_ascii_whitespace()
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

/// What the process is running, for people: its arguments, or its name when they are gone.
#[must_use]
pub fn describe(pid: Pid) -> ProcessInfo {
    let raw = pid.as_raw_nonzero();
    let mut bytes = Vec::new();
    if let Ok(file) = fs::File::open(format!("/proc/{raw}/cmdline")) {
        let _ = file.take(1024).read_to_end(&mut bytes);
    }
    if bytes.is_empty() {
        bytes = fs::read(format!("/proc/{raw}/comm")).unwrap_or_default();
    }
    let text: String = String::from_utf8_lossy(&bytes)
        .chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .take(200)
        .collect();
    ProcessInfo {
        pid: raw.get(),
        command: text.trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_name_cannot_forge_the_fields_after_it() {
        let stat = parse_stat(b"42 (x) Z 1 1 1 (y) S 7 8 9 0 -1").unwrap();
        assert_eq!(
            stat,
            Stat {
                parent: 7,
                group: 8,
                session: 9,
                state: b'S'
            }
        );
    }

    #[test]
    fn a_child_is_found_by_ancestry_and_by_its_environment() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .env("GUARDIAN_PROCFS_TEST", "yes")
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        assert!(descendants(rustix::process::getpid()).contains(&pid));
        assert!(has_environment_entry(pid, b"GUARDIAN_PROCFS_TEST=yes"));
        assert!(!has_environment_entry(pid, b"GUARDIAN_PROCFS_TEST=y"));
        assert_eq!(describe(pid).command, "sleep 60");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(stat(pid), None);
    }
}
