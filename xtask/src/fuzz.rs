//! `cargo xtask fuzz TARGET [--short] [--seed N]`: random input with fresh seeds. CI runs the same
//! with fixed seeds and fewer rounds.
//!
//! - `shell`: bash itself against the reading of shell text. The oracle of `guardian-facts`
//!   generates programs, has bash run them with stub commands and looks for what ran in the reading.
//! - `brush`: another parser of bash against the reading: what it sees must be in a Complete one.
//! - `parse`, `census`, `words`, `work`, `catalogue`: loops inside `guardian-facts` over random
//!   texts and command lines: no panic, no hang, and work in proportion to the text.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};

use crate::workspace::{cargo, run as run_command};

/// Programs of each of the two generators with `--short`: 20 000 in all.
const SHORT: u64 = 10_000;
/// Programs of each without.
const LONG: u64 = 60_000;

/// Rounds of a loop inside `guardian-facts` with `--short`.
const SHORT_ROUNDS: u64 = 20_000;
/// Rounds of one without.
const LONG_ROUNDS: u64 = 200_000;
/// Loops inside `guardian-facts`, by the name of their test behind `fuzz_`.
const LOOPS: [&str; 5] = ["parse", "census", "words", "work", "catalogue"];

/// What a run asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    short: bool,
    seed: Option<u64>,
}

impl Plan {
    /// Programs of each generator.
    fn programs(&self) -> u64 {
        if self.short { SHORT } else { LONG }
    }

    /// Rounds of a loop.
    fn rounds(&self) -> u64 {
        if self.short {
            SHORT_ROUNDS
        } else {
            LONG_ROUNDS
        }
    }
}

/// Runs a target.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let targets = || format!("shell, brush, {}", LOOPS.join(", "));
    let Some((target, rest)) = arguments.split_first() else {
        bail!("what? there are: {}", targets());
    };
    let plan = plan(rest)?;
    let seed = match plan.seed {
        Some(seed) => seed,
        None => fresh_seed()?,
    };
    println!("to repeat: cargo xtask fuzz {target} --seed {seed}");
    let mut command = cargo();
    match target.as_str() {
        "shell" => command
            .args(["test", "--package", "guardian-facts", "--test", "it", "--"])
            .arg("shell_oracle")
            .env("GUARDIAN_ORACLE_SEED", seed.to_string())
            .env("GUARDIAN_ORACLE_PROGRAMS", plan.programs().to_string()),
        "brush" => command
            .args([
                "run",
                "--package",
                "guardian-testkit",
                "--features",
                "brush",
            ])
            .args(["--example", "differential", "--"])
            .args([seed.to_string(), plan.programs().to_string()]),
        target if LOOPS.contains(&target) => command
            .args(["test", "--package", "guardian-facts", "--lib", "--"])
            .arg(format!("fuzz_{target}"))
            .env("GUARDIAN_FUZZ_SEED", seed.to_string())
            .env("GUARDIAN_FUZZ_ROUNDS", plan.rounds().to_string()),
        other => bail!("there is no fuzzing of `{other}`; there are: {}", targets()),
    };
    run_command(&mut command).with_context(|| format!("with seed {seed}"))
}

fn plan(arguments: &[String]) -> anyhow::Result<Plan> {
    let mut plan = Plan {
        short: false,
        seed: None,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--short" => plan.short = true,
            "--seed" => {
                let value = rest.next().context("--seed needs a number")?;
                plan.seed = Some(value.parse().context("--seed needs a number")?);
            }
            other => bail!("`{other}`? there are: --short, --seed N"),
        }
    }
    Ok(plan)
}

/// A seed that no earlier run had.
fn fresh_seed() -> anyhow::Result<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    // Programs of one seed lie 1 000 003 apart: the product must not overflow.
    Ok(u64::try_from(now.as_micros())? % 1_000_000_007)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_short_run_has_twenty_thousand_programs() {
        let plan = plan(&words("--short --seed 7")).unwrap();
        assert!(plan.programs() * 2 >= 20_000);
        assert_eq!(plan.seed, Some(7));
        assert!(super::plan(&words("--sed 7")).is_err());
        assert!(super::plan(&words("--seed x")).is_err());
    }
}
