//! `cargo xtask counts [--update]`: instructions of the hot paths of the file tools, and of whole
//! calls through the gate, against the committed figures. Times say little on a shared machine; a count that grew is a regression.
//!
//! Each path runs under callgrind twice, a few times and more often, so that what comes before it
//! cancels out. Time in the kernel is not counted.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::workspace::{cargo, root, run as run_command};

/// What is counted: the example of a crate that runs the paths, with their figures.
struct Counted {
    package: &'static str,
    example: &'static str,
    /// `name instructions`, one a line; `-` where none was counted yet.
    figures: &'static str,
}

const COUNTED: &[Counted] = &[
    Counted {
        package: "guardian-tools",
        example: "hot_paths",
        figures: "crates/guardian-tools/hot-paths.txt",
    },
    Counted {
        package: "guardian-host",
        example: "host_paths",
        figures: "crates/guardian-host/hot-paths.txt",
    },
];

/// What a count may grow to, in per cent: allocators and hash seeds differ a little between runs.
const MAY_GROW_TO: u64 = 105;
const FEW: u64 = 2;
const MANY: u64 = 7;

/// Counts and compares, or writes the figures anew.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let update = match arguments {
        [] => false,
        [one] if one == "--update" => true,
        _ => bail!("usage: cargo xtask counts [--update]"),
    };
    let mut grown = Vec::new();
    for counted in COUNTED {
        grown.extend(count(counted, update)?);
    }
    if !grown.is_empty() && !update {
        bail!(
            "more instructions than the figures say: {}",
            grown.join(", ")
        );
    }
    Ok(())
}

/// Counts the paths of one example; returns those that grew.
fn count(counted: &Counted, update: bool) -> anyhow::Result<Vec<String>> {
    run_command(
        cargo()
            .args(["build", "--release", "--package", counted.package])
            .args(["--example", counted.example]),
    )?;
    let file = root().join(counted.figures);
    let text = std::fs::read_to_string(&file).with_context(|| counted.figures.to_owned())?;
    let mut lines = Vec::new();
    let mut grown = Vec::new();
    for (name, before) in parse(&text)? {
        let now = per_round(counted, &name)?;
        match before {
            Some(before) => {
                println!("{name:<26} {now:>14}  {:>4} %", now * 100 / before.max(1));
                if now * 100 > before * MAY_GROW_TO {
                    grown.push(name.clone());
                }
            }
            None => println!("{name:<26} {now:>14}  no figure yet"),
        }
        lines.push(format!("{name} {now}\n"));
    }
    if update {
        std::fs::write(&file, lines.concat())?;
    }
    Ok(grown)
}

/// Names with their figures; `-` is one that was not counted yet.
fn parse(text: &str) -> anyhow::Result<Vec<(String, Option<u64>)>> {
    let one = |line: &str| {
        let (name, count) = line.split_once(' ').context("a line is `name count`")?;
        let count = match count {
            "-" => None,
            count => Some(count.parse()?),
        };
        Ok((name.to_owned(), count))
    };
    text.lines().map(one).collect()
}

fn per_round(counted: &Counted, name: &str) -> anyhow::Result<u64> {
    let more = instructions(counted, name, MANY)?.saturating_sub(instructions(counted, name, FEW)?);
    Ok(more / (MANY - FEW))
}

fn instructions(counted: &Counted, name: &str, times: u64) -> anyhow::Result<u64> {
    let program: PathBuf = root().join("target/release/examples").join(counted.example);
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .arg(name)
        .arg(times.to_string())
        .stdin(Stdio::null())
        .output()
        .context("valgrind is needed to count instructions")?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{name}: {text}");
    }
    collected(&text).with_context(|| format!("{name}: no count in {text}"))
}

/// The figure in callgrind's line `==1== Collected : 123`.
fn collected(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("Collected :")?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_and_the_figures_are_well_formed() {
        assert_eq!(collected("==9== \n==9== Collected : 1234 \n"), Some(1234));
        for counted in COUNTED {
            let text = std::fs::read_to_string(root().join(counted.figures)).unwrap();
            assert!(!parse(&text).unwrap().is_empty(), "{}", counted.figures);
        }
    }
}
