//! `cargo xtask fuzz shell [--short] [--seed N]`: bash itself against the reading of shell text,
//! with fresh seeds.
//!
//! The oracle of `guardian-facts` generates programs, has bash run them with stub commands and
//! looks for what ran in the reading. CI runs it with fixed seeds; this task asks for many more.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};

use crate::workspace::{cargo, run as run_command};

/// Programs of each of the two generators with `--short`: 20 000 in all.
const SHORT: u64 = 10_000;
/// Programs of each without.
const LONG: u64 = 60_000;

/// What a run asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    programs: u64,
    seed: Option<u64>,
}

/// Runs the oracle.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let Some((what, rest)) = arguments.split_first() else {
        bail!("what? there is: shell");
    };
    if what != "shell" {
        bail!("there is no fuzzing of `{what}`; there is: shell");
    }
    let plan = plan(rest)?;
    let seed = match plan.seed {
        Some(seed) => seed,
        None => fresh_seed()?,
    };
    println!(
        "2 x {} programs; to repeat: cargo xtask fuzz shell --seed {seed}",
        plan.programs
    );
    run_command(
        cargo()
            .args(["test", "--package", "guardian-facts", "--test", "it", "--"])
            .arg("shell_oracle")
            .env("GUARDIAN_ORACLE_SEED", seed.to_string())
            .env("GUARDIAN_ORACLE_PROGRAMS", plan.programs.to_string()),
    )
    .with_context(|| format!("with seed {seed}"))
}

fn plan(arguments: &[String]) -> anyhow::Result<Plan> {
    let mut plan = Plan {
        programs: LONG,
        seed: None,
    };
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--short" => plan.programs = SHORT,
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
        assert!(plan.programs * 2 >= 20_000);
        assert_eq!(plan.seed, Some(7));
        assert!(super::plan(&words("--sed 7")).is_err());
        assert!(super::plan(&words("--seed x")).is_err());
    }
}
