//! The tasks of this repository: `cargo xtask NAME`.
//!
//! One file per task; a new one is a module and a line in [`TASKS`].

#![expect(clippy::print_stdout, reason = "printing is what tasks are for")]

mod bench;
mod ci;
mod codegen;
mod counts;
mod e2e;
mod fuzz;
mod races;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

/// One task.
struct Task {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> anyhow::Result<()>,
}

/// All tasks, in the order in which a developer meets them.
const TASKS: &[Task] = &[
    Task {
        name: "test",
        about: "run every test, doctest and example",
        run: test::run,
    },
    Task {
        name: "tidy",
        about: "check what rustc and clippy cannot",
        run: tidy::run,
    },
    Task {
        name: "codegen",
        about: "write generated files (--check: compare only)",
        run: codegen::run,
    },
    Task {
        name: "bench",
        about: "measure against floors, in release (names of benches; -- arguments of the bench)",
        run: bench::run,
    },
    Task {
        name: "e2e",
        about: "tests against real clients, and the long form of what CI runs in short (a name)",
        run: e2e::run,
    },
    Task {
        name: "counts",
        about: "count instructions of hot paths (--update: write the figures anew)",
        run: counts::run,
    },
    Task {
        name: "races",
        about: "run the race tests of the file tools for 5 seconds each",
        run: races::run,
    },
    Task {
        name: "fuzz",
        about: "bash against the reading of shell text, with fresh seeds (shell [--short] [--seed N])",
        run: fuzz::run,
    },
    Task {
        name: "ci",
        about: "everything CI does (--after-tests: all but the tests)",
        run: ci::run,
    },
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let rest: Vec<String> = arguments.collect();
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprintln!("usage: cargo xtask TASK");
        for task in TASKS {
            eprintln!("  {:<8} {}", task.name, task.about);
        }
        return ExitCode::from(2);
    };
    match (task.run)(&rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {}: {error:#}", task.name);
            ExitCode::FAILURE
        }
    }
}
