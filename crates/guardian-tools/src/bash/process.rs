//! Whoever owns the processes of a call: a supervisor, or without one the process group.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::group::{Finished, GroupProcess};
use super::launch::is_exhaustion;
use super::result::Ownership;
use super::sandbox::Plan;
use super::supervisor::SupervisedProcess;
use super::{BashContext, BashError, Program};

/// The owner of a started command.
#[derive(Debug)]
pub(super) enum Process {
    /// By group and marker.
    Group(GroupProcess),
    /// Under its own supervisor.
    Supervised(SupervisedProcess),
}

impl Process {
    /// Starts the program in the context's directory with the context's environment.
    pub(super) fn start(
        program: &Program,
        context: &BashContext,
        plan: &Plan,
        (stdout, stderr): (OwnedFd, OwnedFd),
    ) -> Result<Self, BashError> {
        use std::os::fd::AsRawFd;
        let executable = &context.shell.executable;
        if !executable.exists() {
            return Err(BashError::ShellNotFound(executable.clone()));
        }
        let marker = super::marker();
        let mut command = match &plan.wrapper {
            Some((wrapper, arguments)) => {
                let mut command = Command::new(wrapper);
                command.args(arguments).arg(executable);
                command
            }
            None => Command::new(executable),
        };
        command
            .args(program.arguments())
            .env_clear()
            .envs(&*context.environment)
            .envs(plan.variables.iter().map(|(name, value)| (name, value)))
            .env("PWD", &context.workspace_path)
            .env(super::MARKER_NAME, &marker)
            // The directory that was judged, not whatever its path leads to now.
            .current_dir(format!("/proc/self/fd/{}", context.workspace.as_raw_fd()));
        let marker = format!("{}={marker}", super::MARKER_NAME).into_bytes();
        let started = match &context.supervisor {
            Some(supervisor) => SupervisedProcess::start(
                supervisor,
                &command,
                (stdout, stderr),
                marker,
                &context.limits,
                plan,
            )
            .map(Self::Supervised),
            None => {
                command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
                GroupProcess::start(command, marker, context.limits.grace).map(Self::Group)
            }
        };
        started.map_err(|error| {
            if is_exhaustion(&error) {
                BashError::Exhausted(error)
            } else {
                BashError::Internal(format!("cannot start the shell: {error}"))
            }
        })
    }

    /// Becomes readable when something has happened to the process.
    pub(super) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Group(process) => process.as_fd(),
            Self::Supervised(process) => Some(process.as_fd()),
        }
    }

    /// When [`Self::advance`] wants to be called even if nothing happens.
    pub(super) fn next_tick(&self, now: Instant) -> Option<Instant> {
        match self {
            Self::Group(process) => process.next_tick(now),
            Self::Supervised(process) => process.next_tick(),
        }
    }

    /// Begins to end everything.
    pub(super) fn begin_end(&mut self, now: Instant) {
        match self {
            Self::Group(process) => process.begin_end(now),
            Self::Supervised(process) => process.begin_end(now),
        }
    }

    /// Looks at what has happened; `Some` when everything is over.
    pub(super) fn advance(&mut self, now: Instant) -> Option<Result<Finished, BashError>> {
        match self {
            Self::Group(process) => process.advance(now).map(Ok),
            Self::Supervised(process) => process.advance(now),
        }
    }

    /// Who makes sure that nothing lives on.
    pub(super) fn ownership(&self) -> Ownership {
        match self {
            Self::Group(_) => Ownership::Group,
            Self::Supervised(process) => process.ownership(),
        }
    }
}
