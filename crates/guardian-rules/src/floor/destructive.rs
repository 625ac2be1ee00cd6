use guardian_facts::{Access, AccessDetail, AccessKind, AccessSource, Effect, Scope, Target};

use super::targets::is_regenerable;
use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::{scope_of, target_text};
use crate::policy::command_of;
use crate::verdict::Decision;

floor_rule! {
    /// Asks before something is thrown away that cannot be had back: `git reset --hard`, `clean`,
    /// forced pushes, deleted branches and tags, rewritten history; recursive deletes outside
    /// scratch; truncated files; dropped tables; destroyed infrastructure.
    ///
    /// Directories of the workspace that a build or an install makes again (`node_modules`,
    /// `.venv`, a git-ignored `target` …) are exempt.
    ///
    /// To lift it: `overrides = ["floor.destructive"]` in the managed or the user's file; the
    /// permission mode, a grant or a rule then decides.
    "floor.destructive", "throwing things away", Ask, judge,
    examples: [
        ("git reset --hard HEAD~1", Some(Decision::Ask)),
        ("git push --force", Some(Decision::Ask)),
        ("rm -rf src/legacy", Some(Decision::Ask)),
        ("find . -name '*.tmp' -delete", Some(Decision::Ask)),
        ("truncate -s 0 data.json", Some(Decision::Ask)),
        ("rm -rf node_modules", None),
        ("rm -rf \"$PI_SCRATCH_DIR/x\"", None),
        ("git log --oneline", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    let commands = view.facts.commands.iter().filter_map(|command| {
        if command.has(Effect::Destructive) {
            Some(FloorHit::ask(format!(
                "`{}` throws away what cannot be had back",
                command.display()
            )))
        } else if command.has(Effect::HistoryRewrite) {
            Some(FloorHit::ask(format!(
                "`{}` rewrites history",
                command.display()
            )))
        } else {
            None
        }
    });
    let accesses = view
        .facts
        .accesses
        .iter()
        .filter(|access| scope_of(access) != Some(Scope::Scratch))
        .filter_map(|access| access_hit(view, access));
    commands.chain(accesses).collect()
}

fn access_hit(view: &View<'_>, access: &Access) -> Option<FloorHit> {
    let text = target_text(access);
    if access.kind == AccessKind::Delete
        && access.recursive
        && access.detail != AccessDetail::Rename
    {
        let temporary = matches!(
            &access.target,
            Target::Unknown {
                temporary: true,
                ..
            }
        );
        return (!temporary && !is_regenerable(access, view.facts))
            .then(|| FloorHit::ask(format!("it deletes `{text}` and everything beneath it")));
    }
    let empties = access.detail == AccessDetail::Truncate && empties_a_file(view, access);
    empties.then(|| FloorHit::ask(format!("it cuts away the content of `{text}`")))
}

/// `truncate f`, or a redirect without anything to write (`> f`, `: > f`) over an existing file.
fn empties_a_file(view: &View<'_>, access: &Access) -> bool {
    let Some(command) = command_of(view.facts, access.source) else {
        return false;
    };
    let name = command.program.name.as_deref().unwrap_or("");
    match access.source {
        AccessSource::Command(_) => name == "truncate",
        AccessSource::Redirect(_) => {
            matches!(name, "" | ":" | "true")
                && access
                    .exact()
                    .is_none_or(|path| path.kind == Some(guardian_facts::FileKind::File))
        }
        AccessSource::PathArgument | AccessSource::Walk | AccessSource::Declared => false,
    }
}
