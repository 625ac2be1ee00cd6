use std::path::Path;

use guardian_facts::{Access, AccessDetail, AccessKind, Scope, Target};

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::{scope_of, target_text, verb};
use crate::verdict::{Cause, Decision};

floor_rule! {
    /// Asks before a file is written, deleted or renamed that makes code run later: git hooks and
    /// configuration, shell start files, editor tasks, package-manager configuration, other
    /// agents' hook and policy files.
    ///
    /// Such a change looks like an edit and acts like a command that runs when nobody watches.
    /// It is asked about also under `auto`, also when the file does not exist yet.
    ///
    /// To lift it: `overrides = ["floor.protected-file"]` in the managed or the user's file.
    "floor.protected-file", "files that make code run later", AskHuman, judge,
    examples: [
        ("echo x > .git/hooks/pre-commit", Some(Decision::Ask)),
        ("echo x >> ~/.bashrc", Some(Decision::Ask)),
        ("cat .git/config", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .accesses
        .iter()
        .filter(|access| access.is_change() && scope_of(access) != Some(Scope::Scratch))
        .filter_map(|access| {
            let reason = match &access.target {
                Target::Exact(path)
                    if path.sensitivity.protected || takes_protected_along(access, &path.path) =>
                {
                    format!(
                        "it {} `{}`, which makes code run later",
                        verb(access),
                        target_text(access)
                    )
                }
                Target::Pattern {
                    base, may_match, ..
                } if base.sensitivity.protected || may_match.protected => {
                    format!(
                        "it {} `{}`, which could match a file that makes code run later",
                        verb(access),
                        target_text(access)
                    )
                }
                _ => return None,
            };
            Some(FloorHit::ask(reason).because(Cause::ProtectedFile))
        })
        .collect()
}

/// A directory of protected files that is deleted or moved as a whole.
fn takes_protected_along(access: &Access, path: &Path) -> bool {
    const DIRECTORIES: &[&str] = &[
        ".git",
        ".husky",
        ".githooks",
        ".vscode",
        ".claude",
        ".pi",
        ".cargo",
    ];
    (access.recursive || access.detail == AccessDetail::Rename)
        && access.kind == AccessKind::Delete
        && path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| DIRECTORIES.contains(&name))
}
