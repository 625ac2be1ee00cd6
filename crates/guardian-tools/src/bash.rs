//! `Bash`: running a command so that nothing survives it, nothing it printed is lost, and it
//! cannot hold up the host (SPEC §10).
//!
//! A [`BashRequest`] and a [`BashContext`] go into [`run_bash`]; a [`BashResult`] comes out when
//! the shell *and everything it started* are gone. A command that fails, is aborted or runs out of
//! time is still a result: what it printed is kept. [`BashError`] means that nothing ran.

mod abort;
mod call;
mod capture;
pub mod environment;
mod group;
mod jobs;
mod launch;
mod limits;
mod login;
mod process;
mod result;
pub mod sandbox;
mod shells;
mod spill;
mod stream;
mod supervisor;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use abort::Abort;
pub use capture::CapturedText;
pub use guardian_supervisor::ProcessInfo;
pub use guardian_supervisor::protocol::Exceeded;
pub use jobs::{Jobs, NoSuchJob};
pub use limits::BashLimits;
pub use login::LoginEnvironment;
pub use result::{BashResult, Ending, Exit, Ownership};
pub use sandbox::{SandboxMechanism, SandboxReport, SandboxRequest};
pub use shells::{
    EffectiveShell, Machine, Platform, Shell, ShellCatalogue, ShellDialect, ShellId, ShellInvalid,
    ShellNotFound, ThisMachine,
};
pub use stream::OutputStream;
pub use supervisor::{SupervisorError, SupervisorProgram};

/// The variable by which the processes of a call are found again, and by which guardian knows
/// that it was started inside one (its value is random for each call).
pub const MARKER_NAME: &str = "GUARDIAN_INSIDE_CALL";

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BashRequest {
    /// The command text, exactly as judged.
    pub command: String,
    /// When it is ended; `None` for a background job.
    pub timeout: Option<Duration>,
    /// Id of the call: names the full copies of its output.
    pub tool_call_id: String,
}

/// Where and how to run it. Everything here is decided by the host, nothing by the model.
#[derive(Clone)]
pub struct BashContext {
    /// The workspace: the command starts in the directory behind this handle.
    pub workspace: Arc<OwnedFd>,
    /// Its canonical path, for `PWD` and the result.
    pub workspace_path: PathBuf,
    /// The session's scratch directory; created when an output is too long to return.
    pub scratch: PathBuf,
    /// The whole environment of the command.
    pub environment: Arc<BTreeMap<OsString, OsString>>,
    /// The shell that the turn pinned.
    pub shell: Shell,
    /// Ends the command from outside.
    pub abort: Abort,
    /// Receives the output while the command runs.
    pub sink: Arc<dyn OutputSink>,
    /// Bounds.
    pub limits: BashLimits,
    /// Owns the processes of the command; without one the ownership is weaker and the result says
    /// so.
    pub supervisor: Option<Arc<SupervisorProgram>>,
    /// The confinement to run under.
    pub sandbox: SandboxRequest,
}

/// Receives the output of a running command.
pub trait OutputSink: Send + Sync {
    /// The next piece of a stream. `seq` counts the pieces of both streams from 0.
    ///
    /// Called from the command's thread: it must return at once. A sink that cannot keep up drops
    /// pieces (the gap in `seq` shows it); it never waits.
    fn chunk(&self, stream: OutputStream, seq: u64, chunk: String);

    /// Both streams have ended; called once. A sink that held something back sends it now, with
    /// numbers from `next_seq`.
    fn finished(&self, next_seq: u64) {
        let _ = next_seq;
    }
}

/// Nobody is listening.
#[derive(Debug, Clone, Copy)]
pub struct NoSink;

impl OutputSink for NoSink {
    fn chunk(&self, _stream: OutputStream, _seq: u64, _chunk: String) {}
}

/// Nothing ran, and why.
#[derive(Debug, thiserror::Error)]
pub enum BashError {
    /// The command itself is not acceptable.
    #[error("{0}")]
    InvalidArgument(String),
    /// The shell is not there (any more).
    #[error(
        "no shell at `{}`; install bash, or name one with the variable GUARDIAN_BASH",
        .0.display()
    )]
    ShellNotFound(PathBuf),
    /// The system had no process, memory or file descriptor to give, also after waiting.
    #[error("the system has no resources for another process: {0}")]
    Exhausted(io::Error),
    /// The user's setting requires a confinement that cannot be put in force.
    #[error("the required sandbox cannot be put in force: {0}")]
    SandboxUnavailable(String),
    /// The workspace's path leads to another directory than the one that was judged.
    #[error("the workspace is another directory now than when the call was judged; try again")]
    Stale,
    /// Something else went wrong in guardian.
    #[error("{0}")]
    Internal(String),
}

impl BashError {
    /// The code of SPEC §17.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidArgument(_) => "INVALID_ARGUMENT",
            Self::ShellNotFound(_) => "SHELL_NOT_FOUND",
            Self::Exhausted(_) => "PROCESS_RESOURCE_EXHAUSTED",
            Self::SandboxUnavailable(_) => "SANDBOX_UNAVAILABLE",
            Self::Stale => "STALE_APPROVAL",
            Self::Internal(_) => "INTERNAL",
        }
    }
}

/// Runs a command to its end. Dropping the future aborts the command.
///
/// Must be called within a tokio runtime; the work is done on one of its blocking threads.
///
/// # Errors
/// Nothing was started, see [`BashError`].
pub async fn run_bash(request: BashRequest, context: BashContext) -> Result<BashResult, BashError> {
    let mut guard = AbortOnDrop(Some(context.abort.clone()));
    let joined = tokio::task::spawn_blocking(move || run_bash_blocking(&request, &context)).await;
    guard.0 = None;
    joined.unwrap_or_else(|error| Err(BashError::Internal(format!("the call failed: {error}"))))
}

/// The same on the calling thread, for embedders without a runtime.
///
/// # Errors
/// Nothing was started, see [`BashError`].
pub fn run_bash_blocking(
    request: &BashRequest,
    context: &BashContext,
) -> Result<BashResult, BashError> {
    check(request, context)?;
    let program = Program::Command(request.command.clone());
    call::run(&program, request.timeout, &request.tool_call_id, context)
}

fn check(request: &BashRequest, context: &BashContext) -> Result<(), BashError> {
    if request.command.len() > context.limits.command_bytes {
        return Err(BashError::InvalidArgument(format!(
            "`command` has {} bytes, the limit is {}; put a long script into a file in scratch",
            request.command.len(),
            context.limits.command_bytes
        )));
    }
    if request.command.contains('\0') {
        return Err(BashError::InvalidArgument(
            "`command` contains a NUL character".to_owned(),
        ));
    }
    Ok(())
}

/// What the shell is asked to do.
enum Program {
    /// A command of the model.
    Command(String),
    /// guardian's own arguments.
    Arguments(Vec<OsString>),
}

impl Program {
    fn arguments(&self) -> Vec<OsString> {
        match self {
            Self::Command(text) => launch::bash_arguments(text),
            Self::Arguments(arguments) => arguments.clone(),
        }
    }
}

struct AbortOnDrop(Option<Abort>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(abort) = &self.0 {
            abort.abort();
        }
    }
}

/// A value that no other call has.
fn marker() -> String {
    let mut bytes = [0_u8; 16];
    // A kernel without randomness does not start processes either; uniqueness is what matters.
    if getrandom::fill(&mut bytes).is_err() {
        let unique = std::time::Instant::now();
        return format!("{:?}-{}", unique, std::process::id());
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
