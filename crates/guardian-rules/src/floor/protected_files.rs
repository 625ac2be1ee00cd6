use std::path::Path;

use guardian_facts::{Access, AccessDetail, AccessKind, Scope, Target};

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::{scope_of, target_text, verb};
use crate::policy::command_of;
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
        ("cp -r v .vscode", Some(Decision::Ask)),
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
                    if path.sensitivity.protected
                        || takes_protected_along(view, access, &path.path) =>
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

/// Directories of protected files.
const DIRECTORIES: &[&str] = &[
    ".git",
    ".husky",
    ".githooks",
    ".vscode",
    ".claude",
    ".pi",
    ".cargo",
];

/// A directory of protected files that is deleted, moved or filled as a whole.
fn takes_protected_along(view: &View<'_>, access: &Access, path: &Path) -> bool {
    let holds_protected = path
        .file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| DIRECTORIES.contains(&name));
    match access.kind {
        AccessKind::Delete => {
            holds_protected && (access.recursive || access.detail == AccessDetail::Rename)
        }
        // What is copied or moved over it brings names of its own along: `cp x/* .vscode`. Into the
        // home directory it may bring the start files of shells.
        AccessKind::Write => {
            let fills = access.recursive || FILLS.iter().any(|name| runs(view, access, name));
            fills && (holds_protected || path == view.situation.roots.home)
        }
        _ => false,
    }
}

/// Programs that put files under their own names into a directory.
const FILLS: &[&str] = &["cp", "mv", "install", "ln", "rsync"];

fn runs(view: &View<'_>, access: &Access, name: &str) -> bool {
    command_of(view.facts, access.source)
        .is_some_and(|command| command.program.name.as_deref() == Some(name))
}
