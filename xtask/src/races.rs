//! `cargo xtask races [SECONDS]`: the race tests of the file tools, 5 seconds each (in `test` they
//! run for one).

use anyhow::Context;

use crate::workspace::{cargo, run as run_command};

/// Runs them.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let seconds = arguments.first().map_or("5", String::as_str);
    seconds
        .parse::<u64>()
        .context("usage: cargo xtask races [SECONDS]")?;
    run_command(
        cargo()
            .args(["test", "--package", "guardian-tools", "--test", "it", "--"])
            .args(["files::races", "race"])
            .env("GUARDIAN_RACE_SECONDS", seconds),
    )
}
