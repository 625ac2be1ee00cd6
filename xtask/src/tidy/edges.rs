//! Which crate may depend on which (ARCHITECTURE.md, "Arrows"), and who may use heavy crates.

use std::path::PathBuf;

use cargo_metadata::{DependencyKind, Metadata, Package};

use super::Problem;

/// What a crate of the workspace may depend on inside the workspace. `ANY` stands for all.
/// A crate that is not listed here has not been thought about, which is a problem of its own.
const EDGES: &[(&str, &[&str])] = &[
    ("guardian-redact", &[]),
    ("guardian-facts", &[]),
    ("guardian-supervisor", &[]),
    ("guardian-rules", &["guardian-facts"]),
    (
        "guardian-review",
        &["guardian-facts", "guardian-redact", "guardian-rules"],
    ),
    (
        "guardian-store",
        &["guardian-facts", "guardian-redact", "guardian-rules"],
    ),
    (
        "guardian-tools",
        &["guardian-facts", "guardian-redact", "guardian-supervisor"],
    ),
    ("guardian-host", ANY),
    ("guardian-cli", ANY),
    ("guardian-testkit", &["guardian-facts", "guardian-tools"]),
    ("xtask", ANY),
];

const ANY: &[&str] = &["*"];

/// Nothing depends on these but what is named.
const ENDS: &[(&str, &[&str])] = &[
    ("guardian-cli", &[]),
    ("xtask", &[]),
    ("guardian-host", &["guardian-cli", "xtask"]),
];

/// Where a crate from outside may be used, and why nowhere else.
const HEAVY: &[Heavy] = &[
    Heavy {
        name: "rusqlite",
        only: &["guardian-store"],
        why: "SQL lives in guardian-store",
    },
    Heavy {
        name: "rusqlite_migration",
        only: &["guardian-store"],
        why: "SQL lives in guardian-store",
    },
    Heavy {
        name: "tokio",
        only: &[
            "guardian-review",
            "guardian-store",
            "guardian-tools",
            "guardian-host",
            "guardian-cli",
            "guardian-testkit",
        ],
        why: "facts, rules, redact and supervisor work without an async runtime",
    },
];

struct Heavy {
    name: &'static str,
    only: &'static [&'static str],
    why: &'static str,
}

/// Checks what the members declare.
pub(crate) fn check(metadata: &Metadata) -> Vec<Problem> {
    let members: Vec<&str> = metadata
        .packages
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    let mut problems = Vec::new();
    for package in &metadata.packages {
        let name = package.name.as_str();
        let mut complain = |rule, message| problems.push(problem(metadata, package, rule, message));
        let Some((_, allowed)) = EDGES.iter().find(|(one, _)| *one == name) else {
            complain(
                "edges",
                format!("crate `{name}` has no line in xtask/src/tidy/edges.rs"),
            );
            continue;
        };
        for dependency in &package.dependencies {
            let target = dependency.name.as_str();
            let in_tests = dependency.kind == DependencyKind::Development;
            if members.contains(&target) {
                let end = ENDS.iter().find(|(one, _)| *one == target);
                let may_enter = end.is_none_or(|(_, users)| users.contains(&name));
                let listed = *allowed == ANY || allowed.contains(&target);
                let testkit = target == "guardian-testkit";
                // testkit is for tests only, and not for those it is built from.
                let fine = if testkit {
                    in_tests
                        && !matches!(
                            name,
                            "guardian-facts" | "guardian-tools" | "guardian-redact"
                        )
                } else {
                    listed && may_enter
                };
                if !fine {
                    complain("edges", format!("`{name}` must not depend on `{target}`"));
                }
            } else if let Some(heavy) = HEAVY.iter().find(|heavy| heavy.name == target)
                && !in_tests
                && !heavy.only.contains(&name)
            {
                complain(
                    "heavy",
                    format!("`{name}` must not use `{target}`: {}", heavy.why),
                );
            }
        }
    }
    problems
}

fn problem(metadata: &Metadata, package: &Package, rule: &'static str, message: String) -> Problem {
    let manifest = package.manifest_path.as_std_path();
    let path = manifest
        .strip_prefix(metadata.workspace_root.as_std_path())
        .map_or_else(|_| manifest.to_path_buf(), PathBuf::from);
    Problem {
        path,
        line: 0,
        rule,
        message,
    }
}
