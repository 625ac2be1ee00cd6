//! Measures running commands against their floors (SPEC §18, issue "running commands").
//!
//! `cargo xtask bench bash [-- ROUNDS]`
//!
//! Confined calls are measured where bubblewrap works; what is missing is said.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use guardian_host::rules::{OperatingMode, SessionPermissionMode};
use guardian_host::store::{AuditEntry, AuditEvent, Durability, Store, StoreOptions};
use guardian_host::{CommandsConfig, Host, HostConfig, NewSession, NoEvents, Places, ToolRequest};
use guardian_testkit::measure::{Contest, timed};
use guardian_tools::bash::{
    Abort, BashContext, BashLimits, BashRequest, BashResult, NoSink, SandboxRequest, Shell,
    ShellId, SupervisorProgram, run_bash_blocking,
};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let rounds = std::env::args()
        .nth(1)
        .map_or(Ok(40), |text| text.parse::<usize>())?;
    let place = tempfile::tempdir()?;
    let supervisor = std::env::current_exe()?
        .parent()
        .and_then(Path::parent)
        .map(|build| build.join("guardian-supervisor"))
        .ok_or("no build directory")?;
    calls(place.path(), &supervisor, rounds)?;
    let program = Arc::new(SupervisorProgram::open(&supervisor, None)?);
    killing(place.path(), &program)?;
    printing(place.path(), &program, (rounds / 4).max(3))?;
    large_host(place.path(), &program, rounds)?;
    Ok(())
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The floor of a call: the shell, one more spawn, one durable commit.
fn floor(store: &Store) {
    let _ = Command::new("/bin/bash").args(["-c", "true"]).status();
    let _ = Command::new("/bin/true").status();
    let entry = AuditEntry::new(AuditEvent::AboutToRun);
    let _ = store.append_audit(entry, Durability::Machine);
}

fn bwrap_true() {
    let _ = Command::new("bwrap")
        .args([
            "--unshare-user-try",
            "--unshare-pid",
            "--unshare-net",
            "--unshare-ipc",
        ])
        .args([
            "--unshare-uts",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
        ])
        .args(["--", "/bin/true"])
        .status();
}

struct Session {
    runtime: tokio::runtime::Runtime,
    host: Arc<Host>,
    next: usize,
}

impl Session {
    fn call(&mut self, session: &str, command: &str) -> Value {
        self.next += 1;
        let id = format!("c{}", self.next);
        let request = ToolRequest::new(session, id, "Bash", json!({ "command": command }));
        let outcome = self.runtime.block_on(self.host.execute(request));
        outcome.map_or(Value::Null, |outcome| outcome.to_value())
    }
}

fn calls(place: &Path, supervisor: &Path, rounds: usize) -> Result<(), Failure> {
    let project = place.join("project");
    std::fs::create_dir_all(&project)?;
    let config_dir = place.join("config");
    std::fs::create_dir_all(&config_dir)?;
    std::fs::write(
        config_dir.join("policy.toml"),
        "version = 1\npreset = \"balanced\"\n",
    )?;
    let mut config = HostConfig::at(Places {
        data_dir: place.join("data"),
        config_dir,
        managed_policy: place.join("no-policy.toml"),
        home: place.to_owned(),
        executables: Vec::new(),
    })?;
    config.user.commands = CommandsConfig {
        supervisor: Some(supervisor.to_owned()),
        ..CommandsConfig::default()
    };
    let runtime = tokio::runtime::Runtime::new()?;
    let host = runtime.block_on(Host::open(config, Arc::new(NoEvents)))?;
    for (name, mode) in [
        ("auto", SessionPermissionMode::Auto),
        ("ask", SessionPermissionMode::Ask),
    ] {
        runtime.block_on(host.create_session(NewSession {
            session_id: Some(name.to_owned()),
            title: None,
            project_path: Some(project.clone()),
            mode: OperatingMode::Agent,
            permission_mode: mode,
        }))?;
    }
    let mut session = Session {
        runtime,
        host,
        next: 0,
    };
    let plain = session.call("auto", "true");
    let confined = session.call("ask", "true");
    let store = Store::open(StoreOptions::new(place.join("floor")))?;
    let session = std::cell::RefCell::new(session);
    let report = Contest::new(
        "a whole call of `true`",
        "bash -c true + a spawn + a durable commit",
        || timed(|| floor(&store)),
    )
    .against("unconfined call", Some(1.3), || {
        timed(|| drop(session.borrow_mut().call("auto", "true")))
    })
    .run(rounds);
    say(&format!("{plain}\n{report}"));
    if confined["content"]["sandbox"]["mechanism"] == "bubblewrap" {
        let report = Contest::new(
            "a whole confined call of `true`",
            "the same + bwrap true",
            || {
                timed(|| {
                    floor(&store);
                    bwrap_true();
                })
            },
        )
        .against("confined call", Some(1.3), || {
            timed(|| drop(session.borrow_mut().call("ask", "true")))
        })
        .run(rounds);
        say(&format!("{report}"));
    } else {
        say(&format!("no bubblewrap: {confined}"));
    }
    let Session { runtime, host, .. } = session.into_inner();
    runtime.block_on(host.shutdown());
    Ok(())
}

fn context(place: &Path, program: &Arc<SupervisorProgram>) -> Result<BashContext, Failure> {
    let workspace_path: PathBuf = place.canonicalize()?;
    Ok(BashContext {
        workspace: Arc::new(std::fs::File::open(&workspace_path)?.into()),
        workspace_path,
        scratch: place.join("scratch"),
        environment: Arc::new(std::env::vars_os().collect()),
        shell: Shell {
            id: ShellId::Bash,
            executable: "/bin/bash".into(),
        },
        abort: Abort::new()?,
        sink: Arc::new(NoSink),
        limits: BashLimits::standard(),
        supervisor: Some(Arc::clone(program)),
        sandbox: SandboxRequest::off(),
    })
}

fn run(context: &BashContext, command: &str) -> Result<BashResult, Failure> {
    let request = BashRequest {
        command: command.to_owned(),
        timeout: Some(Duration::from_secs(120)),
        tool_call_id: "bench".to_owned(),
    };
    Ok(run_bash_blocking(&request, context)?)
}

/// From the moment force begins (500 ms of grace after the abort) to the result.
fn killing(place: &Path, program: &Arc<SupervisorProgram>) -> Result<(), Failure> {
    let mut best = Vec::new();
    for round in 0..5 {
        let mut context = context(place, program)?;
        context.limits.grace = Duration::ZERO;
        let ready = place.join(format!("ready-{round}"));
        let command = format!(
            "trap '' TERM; for i in {{1..500}}; do sleep 300 & done; echo x > {}; wait",
            ready.display()
        );
        let abort = context.abort.clone();
        let watched = ready.clone();
        let aborted = std::thread::spawn(move || {
            let give_up = Instant::now() + Duration::from_secs(30);
            while !watched.exists() && Instant::now() < give_up {
                std::thread::sleep(Duration::from_millis(5));
            }
            let at = Instant::now();
            abort.abort();
            at
        });
        let result = run(&context, &command)?;
        let ended = Instant::now();
        let began = aborted.join().map_err(|_| "the aborting thread failed")?;
        if !result.survivors.is_empty() {
            return Err(format!("survivors: {:?}", result.survivors).into());
        }
        best.push(ended.duration_since(began));
    }
    best.sort();
    let median = best.get(best.len() / 2).copied().unwrap_or_default();
    let met = if median <= Duration::from_millis(50) {
        "met"
    } else {
        "MISSED"
    };
    say(&format!(
        "kill of 500 processes that ignore TERM, abort to result: {median:?} (of {best:?})  goal 50 ms  {met}\n"
    ));
    Ok(())
}

/// Bytes of memory that this process holds.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}

fn cat_through_a_pipe(file: &Path) {
    let child = Command::new("cat").arg(file).stdout(Stdio::piped()).spawn();
    if let Ok(mut child) = child {
        if let Some(mut pipe) = child.stdout.take() {
            let mut buffer = vec![0; 64 * 1024];
            while matches!(std::io::Read::read(&mut pipe, &mut buffer), Ok(1..)) {}
        }
        let _ = child.wait();
    }
}

fn printing(place: &Path, program: &Arc<SupervisorProgram>, rounds: usize) -> Result<(), Failure> {
    let text = place.join("text");
    let line = "a line of text as a build prints it, neither short nor very long: 12345678\n";
    std::fs::write(&text, line.repeat(50 * 1024 * 1024 / line.len()))?;
    let (short, random) = (place.join("short"), place.join("random"));
    std::fs::write(&short, line.repeat(20 * 1024 * 1024 / line.len()))?;
    // Not random to anybody, but as invalid as random bytes are.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    })
    .take(20 * 1024 * 1024 / 8)
    .flatten()
    .collect();
    std::fs::write(&random, bytes)?;
    let context = context(place, program)?;
    let cat = |file: &Path| drop(run(&context, &format!("cat {}", file.display())));
    cat(&text);
    let before = resident();
    cat(&text);
    let grown = resident().saturating_sub(before) / 1024;
    let report = Contest::new("50 MB of output", "cat through a pipe", || {
        timed(|| cat_through_a_pipe(&text))
    })
    .against("a call of cat", Some(1.5), || timed(|| cat(&text)))
    .run(rounds);
    say(&format!(
        "{report}  memory grown by {grown} KiB, goal 4096\n"
    ));
    let report = Contest::new("20 MB of output", "text", || timed(|| cat(&short)))
        .against("random bytes", Some(1.0), || timed(|| cat(&random)))
        .run(rounds);
    say(&format!("{report}"));
    Ok(())
}

/// Starting a command must not cost what copying the host's page tables costs.
fn large_host(
    place: &Path,
    program: &Arc<SupervisorProgram>,
    rounds: usize,
) -> Result<(), Failure> {
    let context = context(place, program)?;
    let small = || timed(|| drop(run(&context, "true")));
    let report = Contest::new("a small host", "true", small)
        .against("true again", None, || timed(|| drop(run(&context, "true"))))
        .run(rounds);
    let before = report.figures.first().map(|figures| figures.median);
    // Touched, so that it is there.
    let held: Vec<u8> = vec![1; 1024 * 1024 * 1024];
    let report = Contest::new("a host of 1 GiB", "true", || {
        timed(|| drop(run(&context, "true")))
    })
    .against("true again", None, || timed(|| drop(run(&context, "true"))))
    .run(rounds);
    let after = report.figures.first().map(|figures| figures.median);
    let (Some(before), Some(after)) = (before, after) else {
        return Err("nothing was measured".into());
    };
    let ratio = after.as_secs_f64() / before.as_secs_f64().max(1e-9);
    let met = if ratio <= 1.1 { "met" } else { "MISSED" };
    say(&format!(
        "spawn from a host of {} MiB: {after:?} after {before:?}, {ratio:.2} x  goal 1.1 x  {met}",
        resident() / 1024 / 1024
    ));
    drop(held);
    Ok(())
}
