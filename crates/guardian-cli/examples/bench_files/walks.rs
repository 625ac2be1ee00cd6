//! Grep against ripgrep, Glob against fd.

use std::cell::RefCell;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use guardian_testkit::measure::{Contest, timed};
use serde_json::json;

use crate::host::Host;
use crate::verdict;

/// Patterns for a tree: one that few files have, one that many lines have.
pub(crate) struct Patterns {
    rare: &'static str,
    common: &'static str,
}

pub(crate) const GENERATED: Patterns = Patterns {
    rare: "rare_needle_[0-9]+",
    common: "function [a-z]+1",
};
pub(crate) const REGISTRY: Patterns = Patterns {
    rare: "fn [a-z_]*openat2[a-z_]*",
    common: "impl [A-Z][a-z]+ for",
};

/// What guardian leaves out by default, for the others to leave out as well.
const DEFAULTS: &str = ".git\nnode_modules/\nbower_components/\ndist/\nbuild/\ntarget/\n.venv/\n\
    venv/\n__pycache__/\n.mypy_cache/\n.pytest_cache/\n.ruff_cache/\n.tox/\ncoverage/\n\
    .nyc_output/\n.next/\n.nuxt/\n.svelte-kit/\n.turbo/\n.parcel-cache/\n.cache/\n.gradle/\n\
    .terraform/\n*.log\n*.pyc\n*.min.js.map\n";

fn is_there(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok()
}

fn run(program: &str, arguments: &[&str], ignore_file: &Path, tree: &Path) {
    let status = Command::new(program)
        .args(arguments)
        .arg("--ignore-file")
        .arg(ignore_file)
        .arg(tree)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(
        status.code().is_some_and(|code| code < 2),
        "{program}: {status}"
    );
}

pub(crate) fn greps(
    host: &mut Host,
    session: &str,
    tree: &Path,
    what: &str,
    rounds: usize,
    patterns: &Patterns,
) {
    if !is_there("rg") {
        println!("NOT MEASURED: rg is not installed");
        return;
    }
    let ignores = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(ignores.path(), DEFAULTS).unwrap();
    let rg = |arguments: &[&str]| {
        let common = [
            "-j2",
            "--hidden",
            "--no-messages",
            "--no-config",
            "--no-require-git",
        ];
        run("rg", &[&common, arguments].concat(), ignores.path(), tree);
    };
    let host = RefCell::new(host);
    let rare = json!({"pattern": patterns.rare, "outputMode": "filesWithMatches"});
    let report = Contest::new(&format!("Grep, few matches, {what}"), "rg -j2 -l", || {
        timed(|| rg(&["-l", patterns.rare]))
    })
    .against("Grep", Some(1.0), || {
        timed(|| host.borrow_mut().tool(session, "Grep", &rare))
    })
    .against("rg -l --sortr modified", None, || {
        timed(|| rg(&["-l", "--sortr", "modified", patterns.rare]))
    })
    .run(rounds);
    print!("{report}");
    let common = json!({"pattern": patterns.common});
    let report = Contest::new(
        &format!("Grep, many matches, newest first, {what}"),
        "rg -j2 -n",
        || timed(|| rg(&["-n", patterns.common])),
    )
    .against("Grep", Some(1.1), || {
        timed(|| host.borrow_mut().tool(session, "Grep", &common))
    })
    .against("rg -n --sortr modified", None, || {
        timed(|| rg(&["-n", "--sortr", "modified", patterns.common]))
    })
    .run(rounds);
    print!("{report}");
}

pub(crate) fn globs(
    host: &mut Host,
    session: &str,
    tree: &Path,
    what: &str,
    rounds: usize,
    pattern: &str,
) {
    let Some(fd) = ["fdfind", "fd"].into_iter().find(|name| is_there(name)) else {
        println!("NOT MEASURED: fd is not installed");
        return;
    };
    let ignores = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(ignores.path(), DEFAULTS).unwrap();
    // An fd of before 8.7 has ignore files count only in a repository, and does not know the flag.
    let everywhere = Command::new(fd)
        .args(["--no-require-git", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let arguments = [
        "-j2",
        "--hidden",
        if everywhere {
            "--no-require-git"
        } else {
            "--no-follow"
        },
        "--type",
        "f",
        "--glob",
        pattern,
    ];
    let args = json!({ "pattern": pattern });
    let report = Contest::new(&format!("Glob, {what}"), "fd -j2", || {
        timed(|| run(fd, &arguments, ignores.path(), tree))
    })
    .against("Glob", Some(1.2), || {
        timed(|| host.tool(session, "Glob", &args))
    })
    .run(rounds);
    print!("{report}");
}

/// How long an aborted Grep takes to be over.
pub(crate) fn cancellation(host: &mut Host, session: &str, rounds: usize) {
    let mut times = Vec::new();
    for round in 0..rounds {
        let args = json!({"pattern": "no (such|other) line[0-9]{9}"});
        let call = host.send_tool(session, "Grep", &args);
        std::thread::sleep(Duration::from_millis(5 + round as u64));
        let start = Instant::now();
        let abort = json!({"sessionId": session, "toolCallId": call.to_string()});
        let abort = host.send("tools.abort", &abort);
        let mut left = 2;
        while left > 0 {
            let (id, _) = host.next_answer();
            left -= usize::from(id == call || id == abort);
        }
        times.push(start.elapsed());
    }
    times.sort();
    println!("abort of a Grep");
    verdict(
        "  median",
        times[times.len() / 2],
        Duration::from_millis(50),
    );
    verdict(
        "  longest",
        times[times.len() - 1],
        Duration::from_millis(50),
    );
}

/// A tree like a large web project.
pub(crate) fn generate(work: &Path, files: usize) {
    for number in 0..files {
        let directory = work.join(format!("pkg{}/src/mod{}", number / 1000, number / 20 % 50));
        if number % 20 == 0 {
            std::fs::create_dir_all(&directory).unwrap();
        }
        let mut text = format!("export function name{number}(value: number) {{\n");
        for line in 0..(number % 90) {
            text.push_str(&format!(
                "  const item{line} = value * {line} + {number};\n"
            ));
        }
        if number % 5000 == 17 {
            text.push_str(&format!("// rare_needle_{number}\n"));
        }
        text.push_str("}\n");
        std::fs::write(directory.join(format!("file{number}.ts")), text).unwrap();
    }
}
