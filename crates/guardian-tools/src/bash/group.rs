//! Owning a command's processes without a supervisor: by process group, and by the marker that
//! they inherited.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use guardian_supervisor::protocol::Exceeded;
use guardian_supervisor::{ByMarker, ProcessInfo, Sweep};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::launch::spawn_with_retry;
use super::result::Exit;

/// How long what was killed may take to disappear.
const KILL_PATIENCE: Duration = Duration::from_secs(3);

/// How often the end of the group is looked for after `TERM`.
const TICK: Duration = Duration::from_millis(5);

/// A shell in a process group of its own.
#[derive(Debug)]
pub(super) struct GroupProcess {
    child: Child,
    handle: OwnedFd,
    sweep: Sweep<ByMarker>,
    exit: Option<Exit>,
    grace: Duration,
    background_killed: Vec<ProcessInfo>,
    /// Set from `TERM` on: when force begins.
    force_at: Option<Instant>,
}

/// Everything is gone, or could not be ended.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) exit: Exit,
    pub(super) background_killed: Vec<ProcessInfo>,
    pub(super) background_count: usize,
    pub(super) survivors: Vec<ProcessInfo>,
    pub(super) exceeded: Option<Exceeded>,
}

impl GroupProcess {
    /// Starts the prepared command. `marker` is the environment entry that it carries.
    pub(super) fn start(
        mut command: Command,
        marker: Vec<u8>,
        grace: Duration,
    ) -> std::io::Result<Self> {
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = spawn_with_retry(&mut command)?;
        let pid = Pid::from_child(&child);
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error.into());
            }
        };
        let census = ByMarker {
            entry: marker,
            group: Some(pid),
            session: None,
        };
        Ok(Self {
            child,
            handle,
            sweep: Sweep::new(census),
            exit: None,
            grace,
            background_killed: Vec::new(),
            force_at: None,
        })
    }

    /// Becomes readable when the shell ends.
    pub(super) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.exit.is_none().then(|| self.handle.as_fd())
    }

    /// When [`Self::advance`] wants to be called even if nothing happens.
    pub(super) fn next_tick(&self, now: Instant) -> Option<Instant> {
        self.force_at.map(|force_at| force_at.min(now + TICK))
    }

    /// Begins to end everything.
    pub(super) fn begin_end(&mut self, now: Instant) {
        if self.force_at.is_none() {
            self.sweep.terminate();
            self.force_at = Some(now + self.grace);
        }
    }

    /// Looks at what has happened.
    pub(super) fn advance(&mut self, now: Instant) -> Option<Finished> {
        self.reap();
        if self.exit.is_some() && self.force_at.is_none() {
            self.background_killed = self.sweep.members();
            if self.background_killed.is_empty() {
                return Some(self.finished(Vec::new()));
            }
            self.begin_end(now);
        }
        let force_at = self.force_at?;
        if self.sweep.terminate() && self.exit.is_some() {
            return Some(self.finished(Vec::new()));
        }
        if now < force_at {
            return None;
        }
        if self.exit.is_none() {
            // All at once, those being forked too; not reaped yet, so the id is still its own.
            let _ = rustix::process::kill_process_group(
                Pid::from_child(&self.child),
                rustix::process::Signal::KILL,
            );
        }
        let (child, exit) = (&mut self.child, &mut self.exit);
        let survivors = self
            .sweep
            .kill_all(now + KILL_PATIENCE, || reap(child, exit));
        // The shell was a member; unless it is in an uninterruptible wait it is a zombie by now.
        if self.exit.is_none() && survivors.is_empty() {
            let _ = self.child.kill();
            if let Ok(status) = self.child.wait() {
                self.exit = Some(exit_of(status));
            }
        }
        Some(self.finished(survivors))
    }

    fn reap(&mut self) {
        reap(&mut self.child, &mut self.exit);
    }

    fn finished(&mut self, survivors: Vec<ProcessInfo>) -> Finished {
        Finished {
            exit: self.exit.unwrap_or(Exit::Unknown),
            background_count: self.background_killed.len(),
            background_killed: std::mem::take(&mut self.background_killed),
            survivors,
            exceeded: None,
        }
    }
}

impl Drop for GroupProcess {
    /// A panic between start and end leaves nothing behind either.
    fn drop(&mut self) {
        if self.exit.is_none() {
            let (child, exit) = (&mut self.child, &mut self.exit);
            self.sweep
                .kill_all(Instant::now() + KILL_PATIENCE, || reap(child, exit));
        }
    }
}

fn reap(child: &mut Child, exit: &mut Option<Exit>) {
    if exit.is_none()
        && let Ok(Some(status)) = child.try_wait()
    {
        *exit = Some(exit_of(status));
    }
}

fn exit_of(status: std::process::ExitStatus) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}
