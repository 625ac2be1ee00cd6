//! Which deleted directories git ignores: the floor exempts regenerable ones (SPEC §7.3).
//!
//! Read from the root `.gitignore` alone, and only lines that are a plain name or path. Everything
//! else (patterns, other ignore files, lines that take something back in) leaves a directory not
//! ignored, so that it is asked about.

use std::path::{Path, PathBuf};

use crate::{AccessKind, FactContext, Facts, Scope};

/// Largest ignore file that is read, in bytes.
const MAX_IGNORE_FILE: usize = 64 * 1024;

/// Fills [`Facts::git_ignored`] with the targets of recursive deletes that git ignores.
pub(super) fn fill(facts: &mut Facts, cx: &FactContext<'_>) {
    let Some(workspace) = cx.roots.workspace.as_deref() else {
        return;
    };
    let targets: Vec<PathBuf> = facts
        .accesses
        .iter()
        .filter(|access| access.kind == AccessKind::Delete && access.recursive)
        .filter_map(|access| access.exact())
        .filter(|path| path.scope == Scope::Workspace && path.path != workspace)
        .map(|path| path.path.clone())
        .collect();
    if targets.is_empty() || changes_ignore_file(facts, workspace) {
        return;
    }
    let Some(content) = cx
        .probe
        .read_file(&workspace.join(".gitignore"), MAX_IGNORE_FILE)
        .filter(|content| content.size <= MAX_IGNORE_FILE as u64)
    else {
        return;
    };
    let text = String::from_utf8_lossy(&content.head);
    for target in targets {
        let is_ignored = target
            .strip_prefix(workspace)
            .is_ok_and(|beneath| ignores(&text, beneath));
        if is_ignored && !facts.git_ignored.contains(&target) {
            facts.git_ignored.push(target);
        }
    }
}

/// The text itself may write the ignore file, so what is in it now says nothing.
fn changes_ignore_file(facts: &Facts, workspace: &Path) -> bool {
    let file = workspace.join(".gitignore");
    facts
        .accesses
        .iter()
        .filter(|access| access.kind == AccessKind::Write)
        .any(|access| match access.exact() {
            Some(path) => path.path == file || (access.recursive && file.starts_with(&path.path)),
            None => true,
        })
}

/// The ignore file's lines name this path (relative to where the file lies) or one above it.
fn ignores(text: &str, beneath: &Path) -> bool {
    let lines = || {
        text.lines()
            .map(|line| line.trim_end())
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
    };
    // What is taken back in may be anything beneath.
    if lines().any(|line| line.starts_with('!')) {
        return false;
    }
    lines().any(|line| names(line, beneath))
}

fn names(line: &str, beneath: &Path) -> bool {
    if line.contains(['*', '?', '[', '\\']) {
        return false;
    }
    let pattern = line.strip_suffix('/').unwrap_or(line);
    let anchored = pattern.contains('/');
    let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
    if pattern.is_empty() {
        return false;
    }
    if anchored {
        return beneath.starts_with(pattern);
    }
    beneath.iter().any(|name| name == pattern)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::ignores;

    #[track_caller]
    fn check(text: &str, path: &str, expected: bool) {
        assert_eq!(
            ignores(text, Path::new(path)),
            expected,
            "{path} in {text:?}"
        );
    }

    #[test]
    fn plain_names_count_at_any_depth_and_paths_from_the_root() {
        check("node_modules/\ntarget\n", "target", true);
        check("node_modules/\ntarget\n", "crates/a/target/debug", true);
        check("/dist\n", "dist", true);
        check("/dist\n", "web/dist", false);
        check("web/out/\n", "web/out/x", true);
        check("web/out/\n", "out", false);
    }

    #[test]
    fn what_is_not_plain_ignores_nothing() {
        check("*.log\nbuild*\n", "build", false);
        check("target\n!target/keep\n", "target", false);
        check("# target\n", "target", false);
        check("\\target\n/\n", "target", false);
        check("", "target", false);
    }
}
