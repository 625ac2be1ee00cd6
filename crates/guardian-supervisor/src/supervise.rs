//! The supervisor's life: set up, start the program, watch, end everything, report.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus};
use signal_hook::consts::{SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM};
use signal_hook::consts::{SIGUSR1, SIGUSR2};

use crate::cgroup::CallGroup;
use crate::confine;
use crate::procfs::{self, ProcessInfo};
use crate::protocol::{DIRECTORY_FD, Event, Exceeded, ExitStatus, Launch, Limits, Order, PROTOCOL};
use crate::sweep::{Descendants, Sweep};

/// At most this many background processes are named in the report.
const NAMED: usize = 50;
/// How often the bounds are looked at.
const WATCH: Duration = Duration::from_millis(100);
/// How often the end is looked for after `TERM`, besides at every death.
const TICK: Duration = Duration::from_millis(5);

/// The whole program `guardian-supervisor`. Started by the host only, see [`crate::protocol`].
#[must_use]
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(launch) = arguments.next().and_then(|text| text.into_string().ok()) else {
        return usage();
    };
    let (Ok(launch), Some(program)) = (serde_json::from_str::<Launch>(&launch), arguments.next())
    else {
        return usage();
    };
    if launch.protocol != PROTOCOL {
        return usage();
    }
    match Supervisor::start(launch, &program, arguments.collect()) {
        Ok(Some(supervisor)) => {
            supervisor.run();
            ExitCode::SUCCESS
        }
        Ok(None) => ExitCode::FAILURE,
        // The host sees the closed socket.
        Err(_) => ExitCode::FAILURE,
    }
}

fn usage() -> ExitCode {
    let _ = writeln!(
        io::stderr(),
        "guardian-supervisor {} is started by guardian, not by hand (protocol {PROTOCOL}, landlock {})",
        env!("CARGO_PKG_VERSION"),
        confine::kernel_support()
    );
    ExitCode::from(2)
}

struct Supervisor {
    launch: Launch,
    host: UnixStream,
    /// The host's end is closed.
    host_gone: bool,
    received: Vec<u8>,
    deaths: UnixStream,
    program: Pid,
    /// File name of the program.
    wrapper: Option<String>,
    group: Option<CallGroup>,
    sweep: Sweep<Descendants>,
    exit: Option<ExitStatus>,
    background: Vec<ProcessInfo>,
    background_count: usize,
    exceeded: Option<Exceeded>,
    /// Set from `TERM` on: when force begins.
    force_at: Option<Instant>,
}

impl Supervisor {
    /// `None`: the program could not be started, the host knows.
    fn start(
        launch: Launch,
        program: &OsString,
        arguments: Vec<OsString>,
    ) -> io::Result<Option<Self>> {
        let host = take_host_socket()?;
        let deaths = ignore_signals()?;
        // Not the leader of a group (the host starts it in its own): a new session, without a
        // terminal. Fails only when it leads one already, and then it has one.
        let _ = rustix::process::setsid();
        let own = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(own))?;
        let _ = rustix::thread::set_name(c"guardian-superv");
        let mut group = launch
            .cgroup
            .clone()
            .and_then(|path| CallGroup::create(path).ok());
        if group.as_ref().is_some_and(|group| group.join().is_err()) {
            group.take().map(|group| group.remove());
        }
        let mut command = Command::new(program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .process_group(0);
        let directory = launch
            .directory_fd
            .then(inheritable_directory)
            .transpose()?;
        let started = match &launch.confine {
            None => Ok(command.spawn()),
            Some(wanted) => confine::spawn(command, wanted.clone()),
        };
        drop(directory);
        if group.as_ref().is_some_and(|group| group.leave().is_err()) {
            // Killing the group would kill us; the subreaper has to do.
            group = None;
        }
        let child = match started {
            Ok(Ok(child)) => child,
            Err(reason) => {
                group.take().map(|group| group.remove());
                send(&host, &Event::NotConfined { reason });
                return Ok(None);
            }
            Ok(Err(error)) => {
                group.take().map(|group| group.remove());
                let event = Event::Failed {
                    action: format!("cannot start `{}`: {error}", program.to_string_lossy()),
                    errno: error.raw_os_error().unwrap_or(0),
                };
                send(&host, &event);
                return Ok(None);
            }
        };
        let pid = Pid::from_child(&child);
        // From here on the deaths are collected by `reap`.
        drop(child);
        release_output()?;
        // Nobody of the call may trace us or read our memory.
        let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
        send(
            &host,
            &Event::Started {
                pid: pid.as_raw_nonzero().get(),
                in_cgroup: group.is_some(),
            },
        );
        host.set_nonblocking(true)?;
        Ok(Some(Self {
            launch,
            host,
            host_gone: false,
            received: Vec::new(),
            deaths,
            program: pid,
            wrapper: std::path::Path::new(program)
                .file_name()
                .map(|name| name.to_string_lossy().into_owned()),
            group,
            sweep: Sweep::new(Descendants::of(own)),
            exit: None,
            background: Vec::new(),
            background_count: 0,
            exceeded: None,
            force_at: None,
        }))
    }

    fn run(mut self) {
        let mut watched = Instant::now();
        loop {
            let now = Instant::now();
            self.reap();
            if self.exit.is_some() && self.force_at.is_none() {
                let members = self.sweep.members();
                if members.is_empty() {
                    return self.finish(Vec::new());
                }
                let left: Vec<ProcessInfo> = members
                    .into_iter()
                    .filter(|member| !self.is_wrapper(member))
                    .collect();
                self.background_count = left.len();
                self.background = left.into_iter().take(NAMED).collect();
                self.begin_end(now);
            }
            if let Some(force_at) = self.force_at {
                if now >= force_at {
                    let survivors = self.force(now);
                    return self.finish(survivors);
                }
                if self.sweep.terminate() && self.exit.is_some() {
                    return self.finish(Vec::new());
                }
            } else if now.duration_since(watched) >= WATCH {
                watched = now;
                self.watch(now);
            }
            self.wait(now);
            self.listen();
        }
    }

    /// The wrapper's own helper, which the kernel ends with the wrapper: nobody left it behind.
    fn is_wrapper(&self, member: &ProcessInfo) -> bool {
        let program = member.command.split(' ').next().unwrap_or_default();
        self.launch.directory_fd && program.rsplit('/').next() == self.wrapper.as_deref()
    }

    fn begin_end(&mut self, now: Instant) {
        self.force_at
            .get_or_insert(now + Duration::from_millis(self.launch.grace_ms));
    }

    /// Ends everybody who is left.
    fn force(&mut self, now: Instant) -> Vec<ProcessInfo> {
        if let Some(group) = &self.group {
            let _ = group.kill();
        }
        let deadline = now + Duration::from_millis(self.launch.patience_ms);
        let (program, exit) = (self.program, &mut self.exit);
        self.sweep.kill_all(deadline, || reap(program, exit))
    }

    fn finish(mut self, survivors: Vec<ProcessInfo>) {
        self.reap();
        if let Some(group) = &self.group {
            // Who left the tree (there is no known way) did not leave the group.
            if group.is_populated() {
                let _ = group.kill();
            }
            let deadline = Instant::now() + Duration::from_millis(self.launch.patience_ms);
            while group.remove().is_err() && group.is_populated() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            let _ = group.remove();
        }
        let event = Event::Finished {
            exit: self.exit.unwrap_or(ExitStatus::Unknown),
            background: std::mem::take(&mut self.background),
            background_count: self.background_count,
            survivors,
            exceeded: self.exceeded,
        };
        let _ = self.host.set_nonblocking(false);
        send(&self.host, &event);
    }

    /// Sleeps until a death, a word of the host, or the next look.
    fn wait(&self, now: Instant) {
        let limited = self.launch.limits != Limits::default();
        let next = match self.force_at {
            Some(force_at) => Some(force_at.saturating_duration_since(now).min(TICK)),
            None => limited.then_some(WATCH),
        };
        let timeout = next.map(|duration| Timespec {
            tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(duration.subsec_nanos()),
        });
        let mut fds = vec![PollFd::from_borrowed_fd(self.deaths.as_fd(), PollFlags::IN)];
        if !self.host_gone {
            fds.push(PollFd::from_borrowed_fd(self.host.as_fd(), PollFlags::IN));
        }
        // Interrupted: the loop looks at everything anyway.
        let _ = poll(&mut fds, timeout.as_ref());
    }

    /// Reads what the host says; a closed end is an order to end.
    fn listen(&mut self) {
        let mut buffer = [0_u8; 256];
        while let Ok(1..) = (&self.deaths).read(&mut buffer) {}
        loop {
            match (&self.host).read(&mut buffer) {
                Ok(0) => {
                    self.host_gone = true;
                    break self.begin_end(Instant::now());
                }
                Ok(length) => {
                    self.received
                        .extend_from_slice(buffer.get(..length).unwrap_or_default());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.host_gone = true;
                    break self.begin_end(Instant::now());
                }
            }
        }
        while let Some(end) = self.received.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.received.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(Order::End) => self.begin_end(Instant::now()),
                // Not the host we know: end.
                Err(_) => self.begin_end(Instant::now()),
            }
        }
    }

    /// Holds the call to its bounds.
    fn watch(&mut self, now: Instant) {
        let Limits {
            processes,
            memory_bytes,
        } = self.launch.limits;
        if processes.is_none() && memory_bytes.is_none() {
            return;
        }
        let tree = procfs::descendants(rustix::process::getpid());
        if processes.is_some_and(|limit| tree.len() as u64 > limit) {
            self.exceeded = Some(Exceeded::Processes);
            // No grace: more of them are born than can be asked.
            self.force_at = Some(now);
            let _ = rustix::process::kill_process_group(self.program, Signal::KILL);
            return;
        }
        let Some(limit) = memory_bytes else { return };
        let sizes: Vec<(u64, Pid)> = tree
            .iter()
            .map(|&pid| (procfs::resident_bytes(pid), pid))
            .collect();
        if sizes.iter().map(|(size, _)| size).sum::<u64>() > limit
            && let Some((_, largest)) = sizes.into_iter().max_by_key(|(size, _)| *size)
        {
            self.exceeded = Some(Exceeded::Memory);
            self.sweep.kill_one(largest);
        }
    }

    fn reap(&mut self) {
        reap(self.program, &mut self.exit);
    }
}

/// Collects everybody who has died: the program, and the orphans that came to us.
fn reap(program: Pid, exit: &mut Option<ExitStatus>) {
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if pid == program {
            *exit = Some(exit_status(status));
        }
    }
}

fn exit_status(status: WaitStatus) -> ExitStatus {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => ExitStatus::Code(code),
        (None, Some(signal)) => ExitStatus::Signal(signal),
        (None, None) => ExitStatus::Unknown,
    }
}

/// The working directory as [`DIRECTORY_FD`], open across `exec`.
fn inheritable_directory() -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(".", flags, rustix::fs::Mode::empty())?;
    let fixed = rustix::io::fcntl_dupfd_cloexec(directory, DIRECTORY_FD)?;
    if fixed.as_raw_fd() != DIRECTORY_FD {
        return Err(io::Error::other("the descriptor of the directory is taken"));
    }
    // This process has one thread and starts one program: nobody else inherits it.
    rustix::io::fcntl_setfd(&fixed, rustix::io::FdFlags::empty())?;
    Ok(fixed)
}

/// Standard input becomes a socket of our own; the program gets an empty one.
fn take_host_socket() -> io::Result<UnixStream> {
    let socket = rustix::io::fcntl_dupfd_cloexec(io::stdin().as_fd(), 3)?;
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    Ok(socket.into())
}

/// The program has standard output and error now; ours would keep the pipes open.
fn release_output() -> io::Result<()> {
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

/// What the program sends to its parent, its session or everybody does not end the supervisor.
/// Handlers instead of "ignored", which the program would inherit. Returns what becomes readable
/// when a child dies.
fn ignore_signals() -> io::Result<UnixStream> {
    for signal in [
        SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE,
    ] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(SIGCHLD, write)?;
    Ok(read)
}

fn send(host: &UnixStream, event: &Event) {
    if let Ok(mut line) = serde_json::to_vec(event) {
        line.push(b'\n');
        let mut host = host;
        // A host that is gone needs no report.
        let _ = host.write_all(&line);
    }
}
