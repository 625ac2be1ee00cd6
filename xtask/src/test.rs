//! `cargo xtask test`: plain `cargo test` over the workspace, then every example.
//!
//! Nothing has to be installed first. The last line is `N passed, N failed`, added up over all
//! test binaries; the same line is left in `target/xtask/test-summary` for `.ci/run`.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::bench::PREFIX;
use crate::workspace::{cargo, members, root};

/// Time that an example may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// What was counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
}

/// Runs everything. Further arguments go to `cargo test` (`-p CRATE`, a filter); with any, the
/// examples are not run.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let directory = root().join("target/xtask");
    std::fs::create_dir_all(&directory)?;
    let mut counts = cargo_tests(arguments)?;
    if arguments.is_empty() {
        let target_directory = members(&root())?.target_directory.into_std_path_buf();
        for (package, example) in examples()? {
            if run_example(&target_directory, &example)? {
                counts.passed += 1;
            } else {
                println!("example {example} of {package} failed");
                counts.failed += 1;
            }
        }
    }
    let summary = format!("{} passed, {} failed", counts.passed, counts.failed);
    std::fs::write(directory.join("test-summary"), format!("{summary}\n"))?;
    println!("{summary}");
    if counts.failed > 0 || counts.passed == 0 {
        bail!("tests failed");
    }
    Ok(())
}

/// `cargo test --workspace`, passed through and counted.
fn cargo_tests(arguments: &[String]) -> anyhow::Result<Counts> {
    let mut command = cargo();
    command.args(["test", "--no-fail-fast"]);
    if arguments.is_empty() {
        command.arg("--workspace");
    }
    command.args(arguments).stdout(Stdio::piped());
    let mut child = command.spawn().context("cargo test did not start")?;
    let output = child.stdout.take().context("cargo test has no output")?;
    let mut counts = Counts::default();
    let mut stdout = std::io::stdout();
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        stdout.write_all(&line)?;
        stdout.write_all(b"\n")?;
        if let Some(one) = result_line(&String::from_utf8_lossy(&line)) {
            counts.passed += one.passed;
            counts.failed += one.failed;
        }
    }
    // A crate that does not compile, or a test binary that dies, prints no result line.
    if !child.wait()?.success() && counts.failed == 0 {
        counts.failed = 1;
    }
    Ok(counts)
}

/// Reads `test result: ok. 12 passed; 0 failed; 0 ignored; …`.
fn result_line(line: &str) -> Option<Counts> {
    let rest = line.trim().strip_prefix("test result: ")?;
    let (_, rest) = rest.split_once(". ")?;
    let mut parts = rest.split("; ");
    let passed = parts.next()?.strip_suffix(" passed")?.parse().ok()?;
    let failed = parts.next()?.strip_suffix(" failed")?.parse().ok()?;
    Some(Counts { passed, failed })
}

/// Examples that prove nothing by being run: an executable for tests that refuses to be started by
/// hand. Benches are left out by their names: they want a quiet machine and a release build.
const HELPERS: &[&str] = &["supervisor"];

/// Every example of the workspace, as `(package, example)`.
fn examples() -> anyhow::Result<Vec<(String, String)>> {
    let metadata = members(&root())?;
    let mut examples = Vec::new();
    for package in &metadata.packages {
        let built = |target: &&cargo_metadata::Target| {
            // A plain build leaves out what needs a feature (tools behind other tasks).
            target.is_example() && target.required_features.is_empty()
        };
        for target in package.targets.iter().filter(built) {
            if HELPERS.contains(&target.name.as_str()) || target.name.starts_with(PREFIX) {
                continue;
            }
            examples.push((package.name.to_string(), target.name.clone()));
        }
    }
    examples.sort();
    Ok(examples)
}

/// An example runs without arguments and input, and ends with status 0 before [`PATIENCE`] does.
/// What it printed is shown when it does not.
///
/// `cargo test` has built it; `cargo run` would build its dependencies anew with the features of
/// its package alone, which costs CI minutes.
fn run_example(target_directory: &Path, example: &str) -> anyhow::Result<bool> {
    let path = root().join("target/xtask/example-output");
    let output = File::create(&path)?;
    let mut child = Command::new(target_directory.join("debug/examples").join(example))
        .current_dir(root())
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .spawn()
        .with_context(|| format!("example {example} did not start"))?;
    let start = Instant::now();
    let succeeded = loop {
        if let Some(status) = child.try_wait()? {
            break status.success();
        }
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            break false;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    if !succeeded {
        eprintln!("{}", String::from_utf8_lossy(&std::fs::read(&path)?));
    }
    Ok(succeeded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_of_cargo_test_are_read() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s";
        assert_eq!(
            result_line(line),
            Some(Counts {
                passed: 12,
                failed: 3
            })
        );
        assert_eq!(result_line("running 3 tests"), None);
        assert_eq!(result_line("test result: unknown"), None);
    }

    #[test]
    fn the_examples_of_the_workspace_are_found() {
        let examples = examples().unwrap();
        let wanted = ("guardian-review".to_owned(), "ask_a_human".to_owned());
        assert!(examples.contains(&wanted), "{examples:?}");
        // It needs a feature, so that `cargo test` does not build it.
        let unbuilt = ("guardian-testkit".to_owned(), "differential".to_owned());
        assert!(!examples.contains(&unbuilt), "{examples:?}");
    }
}
