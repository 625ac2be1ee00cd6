//! `cargo xtask bench [NAME…]`: the measurements of SPEC §18, each in a release build.
//!
//! A bench is an example named `bench_NAME` of some crate; it prints ratios to its floors, measured
//! in turn (see `guardian_testkit::measure`). They are not part of CI: the machine there is shared.

use std::process::Command;

use anyhow::{Context, bail};

use crate::workspace::{cargo, members, root, run as run_command};

/// What the name of an example begins with when it is a bench.
pub(crate) const PREFIX: &str = "bench_";

/// Runs the named benches, or all of them. What follows `--` goes to the bench.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let (names, rest) = match arguments.iter().position(|argument| argument == "--") {
        Some(at) => (
            &arguments[..at],
            arguments.get(at + 1..).unwrap_or_default(),
        ),
        None => (arguments, &[][..]),
    };
    let benches = benches()?;
    let known = || {
        let names: Vec<&str> = benches.iter().map(|(_, name)| name.as_str()).collect();
        names.join(" ")
    };
    for name in names {
        if !benches.iter().any(|(_, bench)| bench == name) {
            bail!("there is no bench `{name}`; there are: {}", known());
        }
    }
    let chosen: Vec<String> = benches
        .iter()
        .filter(|(_, name)| names.is_empty() || names.contains(name))
        .map(|(_, name)| format!("{PREFIX}{name}"))
        .collect();
    // In one go, with the features of the whole workspace: package by package, dependencies would
    // be built anew for each. The executables are what some benches start.
    let mut build = cargo();
    build.args(["build", "--release", "--workspace", "--bins"]);
    for example in &chosen {
        build.args(["--example", example]);
    }
    run_command(&mut build)?;
    let directory = members(&root())?
        .target_directory
        .join("release/examples")
        .into_std_path_buf();
    for example in &chosen {
        println!("== {example}");
        let mut bench = Command::new(directory.join(example));
        run_command(bench.current_dir(root()).args(rest))
            .with_context(|| format!("bench {example}"))?;
    }
    Ok(())
}

/// Every bench, as `(package, name)`.
fn benches() -> anyhow::Result<Vec<(String, String)>> {
    let metadata = members(&root())?;
    let mut benches = Vec::new();
    for package in &metadata.packages {
        for target in package.targets.iter().filter(|target| target.is_example()) {
            if let Some(name) = target.name.strip_prefix(PREFIX) {
                benches.push((package.name.to_string(), name.to_owned()));
            }
        }
    }
    benches.sort();
    Ok(benches)
}
