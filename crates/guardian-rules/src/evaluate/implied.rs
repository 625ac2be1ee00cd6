//! What commands touch beyond the facts that name it: sets of files that nobody can list. Hosts that
//! are not on the command line are in `implied_hosts`.
//!
//! Only deny and ask rules hear of it, and they answer "might" at most: `git stash` may rewrite the
//! file that a rule protects, `pip install` may talk to the host that a rule denies. An allow never
//! rests on any of it.

use std::path::{Path, PathBuf};

use guardian_facts::command::Effect;
use guardian_facts::{
    Access, AccessDetail, AccessKind, AccessSource, CommandFact, Facts, PathFact, RootPaths, Scope,
    Sensitivity, Target,
};

/// Programs that pack whatever lies in a directory.
const PACKERS: &[&str] = &[
    "zip",
    "7z",
    "7za",
    "7zr",
    "rar",
    "cpio",
    "pax",
    "squashfs",
    "mksquashfs",
];

/// Files that commands may read or rewrite without naming them.
pub(crate) fn accesses(facts: &Facts, roots: &RootPaths) -> Vec<Access> {
    let mut found: Vec<Access> = facts
        .maybe_linked
        .iter()
        .filter_map(|at| facts.accesses.get(*at))
        .map(|access| Access {
            target: Target::Unknown {
                written: access
                    .exact()
                    .map_or_else(String::new, |fact| fact.written.clone()),
                reason: "an earlier command may bring a link of that name".to_owned(),
                when_empty: None,
                temporary: false,
            },
            ..access.clone()
        })
        .collect();
    for (index, command) in facts.commands.iter().enumerate() {
        if command.place.elsewhere {
            continue;
        }
        let mut add = |kind: AccessKind, path: Option<PathBuf>, recursive: bool| {
            found.push(Access {
                kind,
                detail: AccessDetail::Plain,
                target: target(path, roots, command),
                recursive,
                source: AccessSource::Command(index),
            });
        };
        let own: Vec<&Access> = facts
            .accesses
            .iter()
            .filter(|access| access.source == AccessSource::Command(index))
            .collect();
        let name = command.program.name.as_deref().unwrap_or_default();
        // package managers write to directories of their own
        if command.has(Effect::BulkWrite) && !command.has(Effect::Installs) {
            let written: Vec<PathBuf> = own
                .iter()
                .filter(|access| access.kind == AccessKind::Write)
                .filter_map(|access| Some(access.exact()?.path.clone()))
                .collect();
            if written.is_empty() {
                let place = tree_of(command, name, roots);
                add(AccessKind::Write, place.clone(), true);
                add(AccessKind::Delete, place, true);
            }
            for path in written {
                add(AccessKind::Write, Some(path), true);
            }
        }
        if reads_unnamed(command, name) {
            add(AccessKind::Read, tree_of(command, name, roots), true);
        }
        // under another name it can be read
        for access in own {
            let renames = access.detail == AccessDetail::Rename || name == "ln";
            if renames && let Some(path) = access.exact() {
                add(AccessKind::Read, Some(path.path.clone()), true);
            }
        }
    }
    for named in &facts.named_paths {
        for kind in [AccessKind::Read, AccessKind::Write] {
            found.push(Access {
                kind,
                detail: AccessDetail::Plain,
                target: named.target.clone(),
                recursive: true,
                source: AccessSource::Command(named.command),
            });
        }
    }
    found
}

/// The tree that a command works on: all of the workspace for git, else its working directory.
fn tree_of(command: &CommandFact, name: &str, roots: &RootPaths) -> Option<PathBuf> {
    let cwd = command.cwd.as_ref()?;
    match &roots.workspace {
        Some(workspace) if name == "git" && cwd.starts_with(workspace) => Some(workspace.clone()),
        _ => Some(cwd.clone()),
    }
}

/// It reads a set of files that its words do not name.
fn reads_unnamed(command: &CommandFact, name: &str) -> bool {
    let words: Vec<&str> = command
        .argv
        .iter()
        .skip(1)
        .filter_map(|word| word.as_literal())
        .collect();
    let first = words.iter().find(|word| !word.starts_with('-')).copied();
    match name {
        "git" => {
            words
                .iter()
                .any(|word| matches!(*word, "grep" | "archive" | "bundle" | "fast-export"))
                || words.contains(&"show") && words.iter().any(|word| word.contains(':'))
        }
        "docker" | "podman" | "nerdctl" | "buildah" => {
            matches!(first, Some("build" | "buildx" | "image" | "compose"))
                && words
                    .iter()
                    .any(|word| matches!(*word, "build" | "bake" | "--build"))
        }
        _ => PACKERS.contains(&name),
    }
}

fn target(path: Option<PathBuf>, roots: &RootPaths, command: &CommandFact) -> Target {
    let Some(path) = path else {
        return Target::Unknown {
            written: command.display(),
            reason: "which files it works on is not known".to_owned(),
            when_empty: None,
            temporary: false,
        };
    };
    Target::Exact(PathFact {
        written: roots.display(&path),
        scope: scope(&path, roots),
        path,
        sensitivity: Sensitivity::default(),
        kind: None,
        links: 1,
        identity: None,
    })
}

fn scope(path: &Path, roots: &RootPaths) -> Scope {
    if path.starts_with(&roots.scratch) {
        return Scope::Scratch;
    }
    match &roots.workspace {
        Some(workspace) if path.starts_with(workspace) => Scope::Workspace,
        _ => Scope::Outside,
    }
}
