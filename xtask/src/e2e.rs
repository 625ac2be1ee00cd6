//! `cargo xtask e2e NAME [arguments]`: tests against programs that this repository does not have,
//! such as real coding agents. What they need is installed beneath `target/e2e/`.
//!
//! One file per test; a new one is a module and a line in [`TESTS`].

use anyhow::{Context, bail};

mod bash;
mod pi;

/// One test.
struct Test {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> anyhow::Result<()>,
}

/// All tests.
const TESTS: &[Test] = &[
    Test {
        name: "bash",
        about: "the long form of the tests of commands: every way to hide, 1 000 calls in a row",
        run: bash::run,
    },
    Test {
        name: "pi",
        about: "bridges/pi against real pi (--short: what CI runs; else names of scenarios)",
        run: pi::run,
    },
];

/// Runs one test.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let (name, rest) = match arguments {
        [name, rest @ ..] => (name.as_str(), rest),
        [] => ("", &[][..]),
    };
    let Some(test) = TESTS.iter().find(|test| test.name == name) else {
        let known: Vec<String> = TESTS
            .iter()
            .map(|test| format!("  {:<8} {}", test.name, test.about))
            .collect();
        bail!("usage: cargo xtask e2e NAME\n{}", known.join("\n"));
    };
    (test.run)(rest).with_context(|| format!("e2e {name}"))
}
