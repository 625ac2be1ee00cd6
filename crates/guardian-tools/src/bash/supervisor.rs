//! The host's side of `guardian-supervisor`: finding the executable, holding on to exactly its
//! bytes, and speaking with the one process of each call.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use guardian_supervisor::cgroup::{self, CallGroup};
use guardian_supervisor::protocol::{Event, ExitStatus, Launch, Limits, Order, PROTOCOL};
use guardian_supervisor::{ByMarker, Sweep};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::process::Pid;

use super::BashError;
use super::group::Finished;
use super::launch::{is_exhaustion, spawn_with_retry};
use super::limits::BashLimits;
use super::result::{Exit, Ownership};
use super::sandbox::Plan;

/// How long what was killed may take to disappear.
const KILL_PATIENCE: Duration = Duration::from_secs(2);
/// How much later than promised a supervisor may report before the host ends the call itself.
const OVERDUE: Duration = Duration::from_secs(1);

/// The supervisor executable, as it was when the host started.
///
/// Its bytes are copied into sealed memory, and that is what runs: a file replaced or rewritten
/// later, by a command or by an update, changes nothing for this host.
#[derive(Debug)]
pub struct SupervisorProgram {
    image: OwnedFd,
    hash: String,
    landlock: u32,
    cgroup: Option<PathBuf>,
}

/// No supervisor: commands then run with the weaker ownership of [`Ownership::Group`].
#[derive(Debug, thiserror::Error)]
pub enum SupervisorError {
    /// There is no executable.
    #[error("no guardian-supervisor at `{}`: {error}", path.display())]
    NotFound {
        /// Where it was looked for.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Its content is not what was expected.
    #[error("guardian-supervisor at `{}` has another hash than the configured one", .0.display())]
    WrongHash(PathBuf),
    /// It does not run, or is of another version.
    #[error("guardian-supervisor at `{}` does not answer as this version of guardian needs it", .0.display())]
    Unusable(PathBuf),
}

impl SupervisorProgram {
    /// Looks for the executable: the configured path, `GUARDIAN_SUPERVISOR` in the host's own
    /// environment, beside the running executable.
    ///
    /// # Errors
    /// There is none, or it cannot be used.
    pub fn find(configured: Option<&Path>) -> Result<Self, SupervisorError> {
        let named = std::env::var_os("GUARDIAN_SUPERVISOR").map(PathBuf::from);
        let path = configured
            .map(Path::to_owned)
            .or_else(|| named.filter(|path| path.is_absolute()))
            .or_else(|| {
                Some(
                    std::env::current_exe()
                        .ok()?
                        .with_file_name("guardian-supervisor"),
                )
            })
            .unwrap_or_default();
        Self::open(&path, None)
    }

    /// Takes the executable at `path`; its BLAKE3 hash (lower-case hex) must be `expected`, when
    /// that is given. Runs it once to see that it answers.
    ///
    /// # Errors
    /// It is not there, has another hash, or does not answer.
    pub fn open(path: &Path, expected: Option<&str>) -> Result<Self, SupervisorError> {
        let not_found = |error: io::Error| SupervisorError::NotFound {
            path: path.to_owned(),
            error,
        };
        let mut file = File::open(path).map_err(not_found)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(not_found)?;
        let hash = blake3::hash(&bytes).to_hex().to_string();
        if expected.is_some_and(|expected| expected != hash) {
            return Err(SupervisorError::WrongHash(path.to_owned()));
        }
        // A system may forbid to run memory; the opened file then keeps at least the inode.
        let sealed = sealed_copy(&bytes).ok().and_then(|image| {
            let landlock = landlock_of(image.as_fd())?;
            Some((image, landlock))
        });
        let (image, landlock) = match sealed {
            Some(sealed) => sealed,
            None => {
                file.rewind().map_err(not_found)?;
                let file = OwnedFd::from(file);
                let landlock = landlock_of(file.as_fd())
                    .ok_or_else(|| SupervisorError::Unusable(path.to_owned()))?;
                (file, landlock)
            }
        };
        Ok(Self {
            image,
            hash,
            landlock,
            cgroup: None,
        })
    }

    /// The same, with a cgroup for each call where a probe says that this works. Costs some
    /// milliseconds per call on many kernels.
    #[must_use]
    pub fn with_cgroups(mut self) -> Self {
        self.cgroup = cgroup::probe();
        self
    }

    /// BLAKE3 of the executable, lower-case hex.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Version of Landlock that it can confine a command with on this machine; 0 for none.
    #[must_use]
    pub fn landlock(&self) -> u32 {
        self.landlock
    }

    /// Is each call in a cgroup of its own?
    #[must_use]
    pub fn uses_cgroups(&self) -> bool {
        self.cgroup.is_some()
    }
}

fn sealed_copy(bytes: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut image = File::from(rustix::fs::memfd_create("guardian-supervisor", flags)?);
    image.write_all(bytes)?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&image, seals)?;
    // A descriptor that is open for writing cannot be executed.
    let reopened = File::open(format!("/proc/self/fd/{}", image.as_raw_fd()))?;
    Ok(reopened.into())
}

/// Started without arguments, a supervisor of this version says so, and which Landlock it has.
fn landlock_of(image: BorrowedFd<'_>) -> Option<u32> {
    let output = Command::new(executable_path(image))
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .ok()?;
    if output.status.code() != Some(2) {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let (_, said) = text.split_once(&format!("(protocol {PROTOCOL}, landlock "))?;
    said.split_once(')')?.0.parse().ok()
}

fn executable_path(image: BorrowedFd<'_>) -> String {
    // Resolved in the child, whose descriptors are still those of the host at that moment.
    format!("/proc/self/fd/{}", image.as_raw_fd())
}

/// A command under its own supervisor.
#[derive(Debug)]
pub(super) struct SupervisedProcess {
    supervisor: Child,
    socket: UnixStream,
    received: Vec<u8>,
    marker: Vec<u8>,
    program: Option<Pid>,
    cgroup: Option<PathBuf>,
    in_cgroup: bool,
    in_namespace: bool,
    grace: Duration,
    /// When the host stops waiting for the supervisor's report.
    overdue_at: Option<Instant>,
    over: bool,
}

impl SupervisedProcess {
    /// Starts the prepared command (program, arguments, environment, directory, standard output
    /// and error) under a supervisor. `marker` is the environment entry that it carries.
    pub(super) fn start(
        program: &SupervisorProgram,
        prepared: &Command,
        streams: (OwnedFd, OwnedFd),
        marker: Vec<u8>,
        limits: &BashLimits,
        plan: &Plan,
    ) -> io::Result<Self> {
        let (socket, theirs) = UnixStream::pair()?;
        let cgroup = program.cgroup.as_ref().map(|above| {
            above.join(format!(
                "guardian-call-{}-{}",
                std::process::id(),
                super::marker()
            ))
        });
        let launch = Launch {
            protocol: PROTOCOL,
            grace_ms: milliseconds(limits.grace),
            patience_ms: milliseconds(KILL_PATIENCE),
            cgroup: cgroup.clone(),
            directory_fd: plan.wrapper.is_some(),
            confine: plan.confine.clone(),
            limits: Limits {
                processes: limits.processes,
                memory_bytes: limits.memory_bytes,
            },
        };
        let mut command = Command::new(executable_path(program.image.as_fd()));
        command
            .arg0("guardian-supervisor")
            .arg(serde_json::to_string(&launch)?)
            .arg(prepared.get_program())
            .args(prepared.get_args())
            .env_clear()
            .envs(
                prepared
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .stdin(OwnedFd::from(theirs))
            .stdout(streams.0)
            .stderr(streams.1);
        if let Some(directory) = prepared.get_current_dir() {
            command.current_dir(directory);
        }
        let supervisor = spawn_with_retry(&mut command)?;
        // Our copies of the command's ends.
        drop(command);
        socket.set_nonblocking(true)?;
        Ok(Self {
            supervisor,
            socket,
            received: Vec::new(),
            marker,
            program: None,
            cgroup,
            in_cgroup: false,
            in_namespace: plan.wrapper.is_some(),
            grace: limits.grace,
            overdue_at: None,
            over: false,
        })
    }

    /// Becomes readable when the supervisor reports, or dies.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(super) fn next_tick(&self) -> Option<Instant> {
        self.overdue_at
    }

    pub(super) fn ownership(&self) -> Ownership {
        match (self.in_namespace, self.in_cgroup) {
            (true, _) => Ownership::PidNamespace,
            (false, true) => Ownership::Cgroup,
            (false, false) => Ownership::Subreaper,
        }
    }

    /// Begins to end everything.
    pub(super) fn begin_end(&mut self, now: Instant) {
        if self.overdue_at.is_none() {
            self.overdue_at = Some(now + self.grace + KILL_PATIENCE + OVERDUE);
            if let Ok(mut line) = serde_json::to_vec(&Order::End) {
                line.push(b'\n');
                // A supervisor that is gone is seen by its closed socket.
                let _ = (&self.socket).write_all(&line);
            }
        }
    }

    /// Looks at what has happened.
    pub(super) fn advance(&mut self, now: Instant) -> Option<Result<Finished, BashError>> {
        let closed = self.receive();
        while let Some(end) = self.received.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.received.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(Event::Started { pid, in_cgroup }) => {
                    self.program = Pid::from_raw(pid);
                    self.in_cgroup = in_cgroup;
                }
                Ok(Event::Finished {
                    exit,
                    background,
                    background_count,
                    survivors,
                    exceeded,
                }) => {
                    self.bury();
                    return Some(Ok(Finished {
                        exit: match exit {
                            ExitStatus::Code(code) => Exit::Code(code),
                            ExitStatus::Signal(signal) => Exit::Signal(signal),
                            ExitStatus::Unknown => Exit::Unknown,
                        },
                        background_killed: background,
                        background_count,
                        survivors,
                        exceeded,
                    }));
                }
                Ok(Event::Failed { action, errno }) => {
                    self.bury();
                    return Some(Err(start_error(action, errno)));
                }
                Ok(Event::NotConfined { reason }) => {
                    self.bury();
                    return Some(Err(BashError::SandboxUnavailable(reason)));
                }
                // Not our supervisor any more.
                Err(_) => return Some(Ok(self.end_without_supervisor())),
            }
        }
        (closed || self.overdue_at.is_some_and(|at| now >= at))
            .then(|| Ok(self.end_without_supervisor()))
    }

    /// Reads what is there; true when the other end is closed.
    fn receive(&mut self) -> bool {
        let mut buffer = [0_u8; 4096];
        loop {
            match (&self.socket).read(&mut buffer) {
                Ok(0) => return true,
                Ok(length) => {
                    self.received
                        .extend_from_slice(buffer.get(..length).unwrap_or_default());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Err(_) => return true,
            }
        }
    }

    /// The supervisor has said its last word.
    fn bury(&mut self) {
        self.over = true;
        let _ = self.supervisor.kill();
        let _ = self.supervisor.wait();
    }

    /// The backstop: the command killed or stopped its supervisor. Ends whoever is in the call's
    /// cgroup, in its session or group, or carries its marker.
    fn end_without_supervisor(&mut self) -> Finished {
        let session = Pid::from_child(&self.supervisor);
        self.bury();
        let mut sweep = Sweep::new(ByMarker {
            entry: self.marker.clone(),
            group: self.program,
            session: Some(session),
        });
        let group = self.cgroup.clone().map(CallGroup::at);
        if let Some(group) = &group {
            let _ = group.kill();
        }
        let survivors = sweep.kill_all(Instant::now() + KILL_PATIENCE, || {});
        if let Some(group) = &group {
            let deadline = Instant::now() + KILL_PATIENCE;
            while group.is_populated() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            let _ = group.remove();
        }
        Finished {
            exit: Exit::Unknown,
            background_killed: Vec::new(),
            background_count: 0,
            survivors,
            exceeded: None,
        }
    }
}

impl Drop for SupervisedProcess {
    /// A panic between start and end leaves nothing behind either.
    fn drop(&mut self) {
        if !self.over {
            let _ = self.end_without_supervisor();
        }
    }
}

fn start_error(action: String, errno: i32) -> BashError {
    let error = io::Error::from_raw_os_error(errno);
    if is_exhaustion(&error) {
        BashError::Exhausted(error)
    } else {
        BashError::Internal(action)
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
