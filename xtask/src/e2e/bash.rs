//! `cargo xtask e2e bash [FILTER]`: processes, limits, leaks, output and confinement of commands,
//! each test in the long form that takes minutes.

use crate::workspace::{cargo, run as run_command};

/// Tells the tests to run in their long form.
const LONG: &str = "GUARDIAN_E2E";

/// One test at a time: the storms of several at once would be one large one.
pub(super) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let filter = arguments.first().map_or("bash::", String::as_str);
    let test = [
        "test",
        "--package",
        "guardian-tools",
        "--test",
        "it",
        filter,
    ];
    run_command(
        cargo()
            .args(test)
            .args(["--", "--test-threads=1"])
            .env(LONG, "1"),
    )
}
