//! A workspace, a scratch directory and a context to run commands in.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use guardian_tools::bash::{
    Abort, BashContext, BashLimits, BashRequest, BashResult, OutputSink, OutputStream,
    SandboxRequest, Shell, ShellId, SupervisorProgram, run_bash_blocking,
};

/// Temporary directories of one test.
pub(crate) struct World {
    directory: tempfile::TempDir,
    pub(crate) context: BashContext,
    pub(crate) sink: Arc<Recorder>,
}

/// Keeps what was streamed.
#[derive(Default)]
pub(crate) struct Recorder(pub(crate) Mutex<Vec<(OutputStream, u64, String)>>);

impl OutputSink for Recorder {
    fn chunk(&self, stream: OutputStream, seq: u64, chunk: String) {
        self.0.lock().unwrap().push((stream, seq, chunk));
    }
}

impl Recorder {
    pub(crate) fn text(&self, wanted: OutputStream) -> String {
        let chunks = self.0.lock().unwrap();
        chunks
            .iter()
            .filter(|(stream, ..)| *stream == wanted)
            .map(|(.., text)| &**text)
            .collect()
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let workspace_path = directory.path().canonicalize().unwrap().join("proj");
        std::fs::create_dir(&workspace_path).unwrap();
        let workspace = std::fs::File::open(&workspace_path).unwrap().into();
        let environment: BTreeMap<OsString, OsString> = [
            (
                "PATH",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            ),
            ("HOME", directory.path().to_str().unwrap()),
            ("LC_ALL", "C.UTF-8"),
        ]
        .into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
        let sink = Arc::new(Recorder::default());
        let context = BashContext {
            workspace: Arc::new(workspace),
            scratch: directory.path().join("scratch"),
            workspace_path,
            environment: Arc::new(environment),
            shell: Shell {
                id: ShellId::Bash,
                executable: PathBuf::from("/bin/bash"),
            },
            abort: Abort::new().unwrap(),
            sink: sink.clone(),
            limits: BashLimits::standard(),
            supervisor: None,
            sandbox: SandboxRequest::off(),
        };
        Self {
            directory,
            context,
            sink,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    #[track_caller]
    pub(crate) fn run(&self, command: &str) -> BashResult {
        self.run_for(command, Duration::from_secs(30))
    }

    #[track_caller]
    pub(crate) fn run_for(&self, command: &str, timeout: Duration) -> BashResult {
        run_bash_blocking(&request(command, timeout), &self.context).unwrap()
    }
}

pub(crate) fn request(command: &str, timeout: Duration) -> BashRequest {
    BashRequest {
        command: command.to_owned(),
        timeout: Some(timeout),
        tool_call_id: "call-1".to_owned(),
    }
}

/// An example of a package of the workspace, built as it is now.
pub(crate) fn example(package: &str, name: &str) -> PathBuf {
    let status = std::process::Command::new(env!("CARGO"))
        .args(["build", "--quiet", "-p", package, "--example", name])
        .status()
        .unwrap();
    assert!(status.success());
    let this = std::env::current_exe().unwrap();
    this.parent()
        .unwrap()
        .parent()
        .unwrap()
        .join("examples")
        .join(name)
}

/// The supervisor executable: the real one is built with guardian-cli, above this crate; the same
/// `main` is an example of guardian-supervisor.
pub(crate) fn supervisor_path() -> PathBuf {
    static BUILT: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    BUILT
        .get_or_init(|| match std::env::var_os("GUARDIAN_TEST_SUPERVISOR") {
            // Another user's run, which cannot build.
            Some(path) => path.into(),
            None => example("guardian-supervisor", "supervisor"),
        })
        .clone()
}

pub(crate) fn supervisor() -> Arc<SupervisorProgram> {
    static OPENED: std::sync::OnceLock<Arc<SupervisorProgram>> = std::sync::OnceLock::new();
    OPENED
        .get_or_init(|| Arc::new(SupervisorProgram::open(&supervisor_path(), None).unwrap()))
        .clone()
}
