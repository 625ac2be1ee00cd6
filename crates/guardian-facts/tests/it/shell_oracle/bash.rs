//! bash with nothing but stubs on its PATH.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Stub programs. Those that begin with `no` fail.
pub(crate) const STUBS: &[&str] = &[
    "foo", "bar", "baz", "nope", "rm", "touch", "ls", "cat", "git", "curl", "echo2", "sudo",
    "grep", "sed", "awk", "wc", "head", "tail", "tee", "sort", "find", "python3", "node", "npm",
    "cargo", "make", "cp", "mv", "mkdir", "date", "diff", "jq", "rg", "uniq", "tr", "cut", "ps",
    "id", "stat", "mktemp", "chmod", "wget", "ssh", "docker", "sleep",
];

/// Programs that run as they are: shells and wrappers, and what the reading knows the output of.
const REAL: &[(&str, &str)] = &[
    ("bash", "/bin/bash"),
    ("sh", "/bin/bash"),
    ("env", "/usr/bin/env"),
    ("xargs", "/usr/bin/xargs"),
    ("basename", "/usr/bin/basename"),
    ("dirname", "/usr/bin/dirname"),
    ("seq", "/usr/bin/seq"),
];

pub(crate) struct Bash {
    directory: tempfile::TempDir,
}

impl Bash {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let bin = directory.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let stub = directory.path().join("stub");
        // One log file per process: bash writes a file line by line, so the members of a pipeline
        // would write into each other's records.
        let script = "#!/bin/bash\nprintf '%s\\037' \"$PWD\" \"${0##*/}\" \"$@\" $'\\036' >>\"$ORACLE_LOG/$$\"\nif [[ ${0##*/} == git && $* == 'rev-parse --show-toplevel' ]]; then echo \"$HOME/proj\"; else echo \"out ${0##*/}\"; fi\n[[ ${0##*/} != no* ]]\n";
        std::fs::write(&stub, script).unwrap();
        std::fs::set_permissions(&stub, PermissionsExt::from_mode(0o755)).unwrap();
        for name in STUBS {
            std::os::unix::fs::symlink(&stub, bin.join(name)).unwrap();
        }
        for (name, target) in REAL {
            std::os::unix::fs::symlink(target, bin.join(name)).unwrap();
        }
        Self { directory }
    }

    /// Runs a program in an empty directory tree and returns every stub that ran.
    ///
    /// The caller keeps programs harmless: only builtins and stubs are within reach.
    pub(crate) fn run(&self, program: &str) -> Vec<Logged> {
        let work = tempfile::tempdir_in(self.directory.path()).unwrap();
        // Logs of its own: what an earlier program left in the background may still write.
        let logs = work.path().join("logs");
        std::fs::create_dir(&logs).unwrap();
        let home = work.path().join("a/b/c/d/e/dev");
        let inner = home.join("proj");
        std::fs::create_dir_all(inner.join("src/sub")).unwrap();
        std::fs::create_dir_all(inner.join("docs")).unwrap();
        // The directories above stand for `/home` and, beyond which nothing goes up, `/`.
        let above: Vec<&Path> = home.ancestors().skip(1).take(5).collect();
        let scratch = work.path().join("scratch");
        std::fs::create_dir(&scratch).unwrap();
        std::fs::write(inner.join("data.txt"), "one two\nthree\n").unwrap();
        let mut shell = Command::new("/usr/bin/timeout")
            .args([
                "-s",
                "KILL",
                "5",
                "/bin/bash",
                "--norc",
                "--noprofile",
                "-c",
                program,
            ])
            .env_clear()
            .env("PATH", self.directory.path().join("bin"))
            .env("HOME", &home)
            .env("ORACLE_LOG", &logs)
            .env("PI_SCRATCH_DIR", &scratch)
            .env("GUARDIAN_SCRATCH_DIR", &scratch)
            .env("LC_ALL", "C.UTF-8")
            .current_dir(&inner)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        end_group(&mut shell);
        std::fs::read_dir(&logs)
            .unwrap()
            .flat_map(|entry| {
                let log = std::fs::read(entry.unwrap().path()).unwrap();
                let mut log = String::from_utf8_lossy(&log)
                    .replace(home.to_str().unwrap(), "/home/dev")
                    .replace(scratch.to_str().unwrap(), "/data/scratch/s1");
                for (index, directory) in above.iter().enumerate() {
                    let name = if index == 0 { "/home" } else { "/" };
                    log = log.replace(directory.to_str().unwrap(), name);
                }
                records(&log)
            })
            .collect()
    }
}

/// Waits for `timeout`, which leads a group of its own, and ends what the program left in the
/// background: a loop there would run for ever.
fn end_group(leader: &mut Child) {
    let pid = Pid::from_child(leader);
    // Not reaped yet, so that the number still is its own.
    waitid(
        WaitId::Pid(pid),
        WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
    )
    .unwrap();
    kill_process_group(pid, Signal::KILL).unwrap();
    leader.wait().unwrap();
}

/// A stub that ran.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Logged {
    pub(crate) argv: Vec<String>,
    /// Its working directory, with the home of the case files.
    pub(crate) cwd: String,
}

/// The commands in the log of one process.
///
/// A record without its end is one that a background process is still writing.
fn records(log: &str) -> Vec<Logged> {
    let mut records: Vec<&str> = log.split("\u{1f}\u{1e}\u{1f}").collect();
    records.pop();
    records
        .into_iter()
        .map(|record| {
            let mut fields = record.split('\u{1f}').map(str::to_owned);
            let cwd = fields.next().unwrap_or_default();
            Logged {
                argv: fields.collect(),
                cwd,
            }
        })
        .collect()
}
