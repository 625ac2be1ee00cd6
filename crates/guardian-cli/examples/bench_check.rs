//! Measures a whole `guardian check --no-audit` against the start of an empty static Rust program,
//! interleaved in one run (SPEC §18: at most 3 ×).
//!
//! `cargo xtask bench check [-- ROUNDS]`

#![expect(clippy::print_stdout, reason = "a measurement prints its figures")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use guardian_testkit::ProjectFixture;
use guardian_testkit::measure::{Contest, timed};

type Failure = Box<dyn std::error::Error>;

/// Starts in one run: one is too short to be measured.
const STARTS: u32 = 8;

const POLICY: &str = "version = 1
preset = \"balanced\"

[[rule]]
id = \"cargo-dev\"
effect = \"allow\"
command = [\"cargo\", [\"check\", \"test\", \"clippy\", \"fmt\"]]

[[rule]]
id = \"no-push\"
effect = \"deny\"
command = [\"git\", \"push\"]

[[rule]]
id = \"docs\"
effect = \"allow\"
tool = [\"Write\", \"Edit\"]
paths = [\"docs/**\"]
";

fn main() -> Result<(), Failure> {
    let rounds = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 60,
    };
    let guardian = executable()?;
    let fixture = ProjectFixture::new()?;
    let directory = fixture.home().join(".config/guardian");
    std::fs::create_dir_all(&directory)?;
    std::fs::write(directory.join("policy.toml"), POLICY)?;
    let empty = empty_program(fixture.root())?;

    let check = |arguments: &'static [&'static str], data: PathBuf| {
        let (guardian, fixture) = (guardian.clone(), &fixture);
        move || {
            starts(&guardian, arguments, |command| {
                command
                    .current_dir(fixture.workspace())
                    .env("HOME", fixture.home())
                    .env("GUARDIAN_DATA_DIR", &data);
            })
        }
    };
    let nothing = fixture.root().join("no-data");
    let kept = fixture.root().join("data-of-a-user");
    // A first check with a record leaves a store behind, as users have one.
    run_once(&guardian, &["check", "--bash", "true"], &fixture, &kept)?;

    let report = Contest::new("a whole process", "an empty static program", || {
        starts(&empty, &[], |_| {})
    })
    .against(
        "check --bash 'git status', a store there",
        Some(3.0),
        check(
            &["check", "--no-audit", "--bash", "git status"],
            kept.clone(),
        ),
    )
    .against(
        "check --bash 'git status', no store",
        Some(3.0),
        check(
            &["check", "--no-audit", "--bash", "git status"],
            nothing.clone(),
        ),
    )
    .against(
        "check of a pipeline",
        Some(3.0),
        check(
            &[
                "check",
                "--no-audit",
                "--bash",
                "cd src && rg -n 'fn main' . | head -20 > /dev/null",
            ],
            nothing.clone(),
        ),
    )
    .against(
        "check Read",
        Some(3.0),
        check(
            &["check", "--no-audit", "Read", "{\"path\":\"README.md\"}"],
            nothing.clone(),
        ),
    )
    .against("--version", None, check(&["--version"], nothing))
    .run(rounds);
    println!("{report}");
    Ok(())
}

/// `guardian` of the same build: examples stand one directory below it.
fn executable() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe()?;
    let found = own
        .ancestors()
        .skip(1)
        .take(3)
        .map(|directory| directory.join("guardian"))
        .find(|file| file.is_file());
    found.ok_or_else(|| "build the executables of guardian-cli first".into())
}

/// Builds the floor.
fn empty_program(directory: &Path) -> Result<PathBuf, Failure> {
    let source = directory.join("empty.rs");
    let program = directory.join("empty");
    std::fs::write(&source, "fn main() {}\n")?;
    let built = Command::new("rustc")
        .args(["-O", "-C", "target-feature=+crt-static", "-o"])
        .arg(&program)
        .arg(&source)
        .status()?;
    if !built.success() {
        return Err("the empty program could not be built".into());
    }
    Ok(program)
}

fn starts(program: &Path, arguments: &[&str], place: impl Fn(&mut Command)) -> Duration {
    timed(|| {
        for _ in 0..STARTS {
            let mut command = Command::new(program);
            command
                .args(arguments)
                .env_clear()
                .env("PATH", "/usr/bin:/bin")
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            place(&mut command);
            // A program that cannot be started would look fast.
            if let Err(error) = command.status() {
                eprintln!("{}: {error}", program.display());
                std::process::exit(1);
            }
        }
    })
}

/// Runs a check once; a wrong command line would be measured otherwise.
fn run_once(
    guardian: &Path,
    arguments: &[&str],
    fixture: &ProjectFixture,
    data: &Path,
) -> Result<(), Failure> {
    let out = Command::new(guardian)
        .args(arguments)
        .current_dir(fixture.workspace())
        .env("HOME", fixture.home())
        .env("GUARDIAN_DATA_DIR", data)
        .output()?;
    if out.status.code() != Some(0) {
        return Err(format!("{}", String::from_utf8_lossy(&out.stderr)).into());
    }
    Ok(())
}
