//! What Rust code must not do where.

use std::path::Path;

use super::Problem;
use super::text::Source;

/// Something that only some files may use.
struct Ban {
    rule: &'static str,
    /// Paths of items. A segment list in braces counts too: `std::{fs, io}` is `std::fs`.
    items: &'static [&'static str],
    /// Beginnings of paths of files that may.
    may: &'static [&'static str],
    why: &'static str,
}

const BANS: &[Ban] = &[
    Ban {
        rule: "spawn",
        items: &["process::Command", "tokio::process", "process::*"],
        may: &[
            "crates/guardian-tools/",
            "crates/guardian-supervisor/",
            // Measures spawns against plain ones.
            "crates/guardian-host/examples/bench_bash.rs",
            "xtask/",
        ],
        why: "every spawn goes through guardian-tools",
    },
    Ban {
        rule: "files",
        items: &["std::fs", "tokio::fs", "rustix::fs", "cap_std", "std::*"],
        may: &[
            "crates/guardian-tools/",
            "crates/guardian-supervisor/",
            // Its own data directory.
            "crates/guardian-store/",
            // By name: configuration files, scratch directories beneath the data directory, and
            // resolving the data directory or a workspace that the operator named.
            "crates/guardian-host/src/config.rs",
            "crates/guardian-host/src/scratch.rs",
            "crates/guardian-host/src/host.rs",
            "crates/guardian-host/src/sessions.rs",
            "crates/guardian-host/src/check.rs",
            // The file that heads of the record are published to, named by the user.
            "crates/guardian-host/src/audit_head.rs",
            // The request of a review command in the data directory, and the program itself.
            "crates/guardian-host/src/reviewers.rs",
            // The policy files, looked at before every decision.
            "crates/guardian-host/src/policies/file.rs",
            // The user's policy file, when an answer is to be remembered.
            "crates/guardian-host/src/policies/remember.rs",
            // The terminal, and the files that `check --batch` and `audit verify` name.
            "crates/guardian-cli/src/terminal.rs",
            "crates/guardian-cli/src/commands/audit.rs",
            "crates/guardian-cli/src/commands/check.rs",
            // The transcripts that `replay` names.
            "crates/guardian-cli/src/commands/replay.rs",
            // Runs when guardian is built, over `config/`.
            "crates/guardian-facts/build.rs",
            // Looks at guardian's own data directory and configuration.
            "crates/guardian-cli/src/commands/doctor.rs",
            "xtask/",
        ],
        why: "only guardian-tools touches the user's files",
    },
    Ban {
        rule: "assume-checked",
        items: &["assume_checked"],
        may: &[
            // Where it is defined.
            "crates/guardian-tools/src/",
            "crates/guardian-host/src/gate.rs",
            "crates/guardian-host/src/gate/",
        ],
        why: "only the gate may say that a call was permitted",
    },
    Ban {
        rule: "stdout",
        items: &["println!", "print!", "io::stdout"],
        may: &[
            "crates/guardian-cli/",
            // Talks to cargo.
            "crates/guardian-facts/build.rs",
            "xtask/",
        ],
        why: "the host's stdout carries only protocol",
    },
    Ban {
        rule: "one-writer",
        items: &[
            "println!",
            "print!",
            "eprintln!",
            "eprint!",
            "io::stdout",
            "io::stderr",
            "stdout()",
            "stderr()",
            "anstream",
            "io::Write",
            "dbg!",
        ],
        may: &[
            "crates/guardian-cli/src/output.rs",
            // The protocol.
            "crates/guardian-cli/src/commands/serve.rs",
            "crates/guardian-facts/",
            "crates/guardian-host/",
            "crates/guardian-redact/",
            "crates/guardian-review/",
            "crates/guardian-rules/",
            "crates/guardian-store/",
            "crates/guardian-supervisor/",
            "crates/guardian-testkit/",
            "crates/guardian-tools/",
            "xtask/",
        ],
        why: "what guardian prints goes through `output`, which escapes what a terminal obeys",
    },
];

/// Lines of code (without blank lines, comments and tests) after which a module is to be split.
const MODULE_LINES: usize = 600;

/// Modules that are longer and still have to be split: how long each may be. A line goes when its
/// module is split; none is added.
const TO_SPLIT: &[(&str, usize)] = &[
    ("crates/guardian-facts/src/shell/builtins.rs", 800),
    ("crates/guardian-facts/src/shell/control.rs", 700),
];

/// Modules that are data in the form of code.
const CATALOGUES: &[&str] = &["crates/guardian-facts/src/catalogue"];

/// Checks one Rust file.
pub(crate) fn check(path: &Path, content: &str, problems: &mut Vec<Problem>) {
    let source = Source::new(content);
    let slashed = path.to_string_lossy().replace('\\', "/");
    markers(path, &source.comments, problems);
    if is_test_code(&slashed) {
        return;
    }
    for ban in BANS {
        if ban.may.iter().any(|start| slashed.starts_with(start)) {
            continue;
        }
        for (line, item) in uses(&source.product_code, ban.items) {
            let message = format!("`{item}` is not for this file: {}", ban.why);
            problems.push(Problem {
                path: path.to_path_buf(),
                line,
                rule: ban.rule,
                message,
            });
        }
    }
    let lines = source
        .product_code
        .lines()
        .filter(|line| !line.trim().is_empty())
        .count();
    let limit = TO_SPLIT
        .iter()
        .find(|(one, _)| *one == slashed)
        .map_or(MODULE_LINES, |(_, limit)| *limit);
    if lines > limit && !CATALOGUES.iter().any(|start| slashed.starts_with(start)) {
        let message = format!("{lines} lines of code; split a module above {limit}");
        problems.push(Problem {
            path: path.to_path_buf(),
            line: 0,
            rule: "long-module",
            message,
        });
    }
}

/// Tests, examples, benches, fuzz targets and the testkit may do what products may not.
fn is_test_code(path: &str) -> bool {
    path.starts_with("crates/guardian-testkit/")
        || path.starts_with("fuzz/")
        || path
            .split('/')
            .any(|part| matches!(part, "tests" | "examples" | "benches" | "tests.rs"))
}

/// Where one of the items is used: `(line, item)`.
fn uses<'a>(code: &str, items: &[&'a str]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    for item in items {
        let (head, tail) = item.rsplit_once("::").unwrap_or(("", item));
        for (at, _) in code.match_indices(tail) {
            let standing_alone = !ends_in_word(&code[..at])
                && (tail.ends_with('!')
                    || tail == "*"
                    || !starts_with_word(&code[at + tail.len()..]));
            if standing_alone && (head.is_empty() || follows(&code[..at], head)) {
                found.push((code[..at].matches('\n').count() + 1, *item));
            }
        }
    }
    found
}

/// The text ends in `head::`, or in an open brace list behind it.
fn follows(before: &str, head: &str) -> bool {
    let before = before.trim_end();
    if let Some(path) = before.strip_suffix("::") {
        return ends_with_item(path, head);
    }
    // In a list: go back to the brace that is still open, and look in front of it.
    let mut depth = 0_usize;
    for (at, byte) in before.bytes().enumerate().rev() {
        match byte {
            b'}' => depth += 1,
            b'{' if depth > 0 => depth -= 1,
            b'{' => {
                let list = before[..at].trim_end();
                return list.strip_suffix("::").is_some_and(|path| ends_with_item(path, head))
                    // `std::{process::{Command}}` is followed outwards by the segments before.
                    && before.ends_with(['{', ',']);
            }
            b';' => return false,
            _ => {}
        }
    }
    false
}

fn ends_with_item(path: &str, head: &str) -> bool {
    let path = path.trim_end();
    path.strip_suffix(head)
        .is_some_and(|rest| !ends_in_word(rest))
}

fn ends_in_word(text: &str) -> bool {
    text.chars()
        .next_back()
        .is_some_and(|one| one.is_alphanumeric() || one == '_')
}

fn starts_with_word(text: &str) -> bool {
    text.chars()
        .next()
        .is_some_and(|one| one.is_alphanumeric() || one == '_')
}

/// Comments that say that something is not done.
fn markers(path: &Path, comments: &str, problems: &mut Vec<Problem>) {
    for (index, line) in comments.lines().enumerate() {
        let text = line.trim().trim_start_matches(['/', '*', '!', ' ']);
        let word: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
        if matches!(word.as_str(), "TODO" | "FIXME" | "XXX" | "HACK") {
            let message = format!("`{word}`: do it, or file it as an issue");
            let path = path.to_path_buf();
            problems.push(Problem {
                path,
                line: index + 1,
                rule: "marker",
                message,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_uses(code: &str, item: &str, expect: bool) {
        assert_eq!(!uses(code, &[item]).is_empty(), expect, "{code}");
    }

    #[test]
    fn items_are_found_however_they_are_written() {
        for code in [
            "std::process::Command::new(a)",
            "use std::process::Command;",
            "use std::process::{Command, Stdio};",
            "use std::process::{Stdio, Command as Start};",
            "use std::{io, process::{Stdio, Command}};",
            "use std::{process::Command, io};",
            "use std::process; process::Command::new(a)",
            "std :: process :: Command",
        ] {
            check_uses(code, "process::Command", true);
        }
        check_uses("use std::{io, fs};", "std::fs", true);
        check_uses("use std::{fs::File, io};", "std::fs", true);
        check_uses("use std::fs as files;", "std::fs", true);
        check_uses("use std::process::*;", "process::*", true);
        check_uses("println!(a)", "println!", true);
    }

    #[test]
    fn other_items_are_not() {
        for code in [
            "clap::Command::new(a)",
            "use clap::{Command, Parser};",
            "use std::process::CommandExt;",
            "use std::process::{ExitCode, Stdio};",
            "use subprocess::Command;",
            "std::process::id(); let x = { Command };",
        ] {
            check_uses(code, "process::Command", false);
        }
        check_uses("eprintln!(a)", "println!", false);
        check_uses("use rustix::{fs, io};", "std::fs", false);
        check_uses("use std::io; mod fs;", "std::fs", false);
        check_uses("reassume_checked(a)", "assume_checked", false);
    }
}
