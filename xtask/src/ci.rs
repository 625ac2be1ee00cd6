//! `cargo xtask ci`: everything CI does, in order, with the time each step took.
//!
//! Every step runs even when an earlier one failed, so that one run shows all there is to mend.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::bail;

use crate::workspace::{cargo, root, run as run_command};
use crate::{codegen, test, tidy};

/// One step.
struct Step {
    name: &'static str,
    run: fn() -> anyhow::Result<()>,
}

const TESTS: Step = Step {
    name: "test",
    run: || test::run(&[]),
};

/// What comes after the tests.
const CHECKS: &[Step] = &[
    Step {
        name: "fmt",
        run: || run_command(cargo().args(["fmt", "--all", "--check"])),
    },
    Step {
        name: "clippy",
        run: clippy,
    },
    Step {
        name: "tidy",
        run: || tidy::run(&[]),
    },
    Step {
        name: "codegen --check",
        run: || codegen::run(&["--check".to_owned()]),
    },
    Step {
        name: "deny",
        run: deny,
    },
    Step {
        name: "doc",
        run: doc,
    },
];

/// Runs the steps; `--after-tests` leaves the tests out.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let steps: Vec<&Step> = match arguments {
        [] => std::iter::once(&TESTS).chain(CHECKS).collect(),
        [one] if one == "--after-tests" => CHECKS.iter().collect(),
        _ => bail!("usage: cargo xtask ci [--after-tests]"),
    };
    let mut took: Vec<(&str, Duration, bool)> = Vec::new();
    for step in steps {
        println!("== {}", step.name);
        let start = Instant::now();
        let result = (step.run)();
        if let Err(error) = &result {
            println!("{}: {error:#}", step.name);
        }
        took.push((step.name, start.elapsed(), result.is_ok()));
    }
    for (name, time, ok) in &took {
        let word = if *ok { "ok" } else { "FAILED" };
        println!("{word:<6} {name:<16} {:>6.1} s", time.as_secs_f64());
    }
    let failed: Vec<&str> = took
        .iter()
        .filter(|(_, _, ok)| !ok)
        .map(|(name, _, _)| *name)
        .collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

fn clippy() -> anyhow::Result<()> {
    run_command(cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ]))
}

fn doc() -> anyhow::Result<()> {
    run_command(
        cargo()
            .args(["doc", "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "--deny warnings"),
    )
}

/// Licences, bans and sources. `.ci/run` provides cargo-deny where it is not installed.
fn deny() -> anyhow::Result<()> {
    let provided = root().join("target/ci-tools/bin/cargo-deny");
    let program = if provided.is_file() {
        provided
    } else {
        PathBuf::from("cargo-deny")
    };
    run_command(
        Command::new(program)
            .current_dir(root())
            .args(["check", "licenses", "bans", "sources"]),
    )
}
