use std::path::Path;

use guardian_facts::{Access, AccessDetail, AccessKind, AccessSource};

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::{target_text, verb};
use crate::policy::command_of;
use crate::verdict::{Cause, Decision};

floor_rule! {
    /// Asks a human before a command reads, moves or links everything beneath a directory that holds
    /// the home directory, or guardian's own files: `~/.ssh` and the like lie in it.
    ///
    /// The command would read what is denied by name. Name the directories that are needed instead.
    /// All of a directory of keys (`~/.ssh`, `~/.gnupg`, `~/.aws`, `~/.kube`) is denied.
    ///
    /// To lift it: `overrides = ["floor.sensitive-beneath"]` in the managed or the user's file.
    "floor.sensitive-beneath", "reading all of home", AskHuman, judge,
    examples: [
        ("tar cf - ~ | wc -c", Some(Decision::Ask)),
        ("grep -r BEGIN ~/.ssh", Some(Decision::Deny)),
        ("mv ~/.ssh x", Some(Decision::Deny)),
        ("zip -r x.zip ~/.ssh", Some(Decision::Deny)),
        ("ln -s ~ x", Some(Decision::Ask)),
        ("tar cf - src | wc -c", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    let roots = &view.situation.roots;
    view.facts
        .accesses
        .iter()
        .filter(|access| reaches_all(view, access))
        .filter_map(|access| {
            let path = &access.exact()?.path;
            if is_key_directory(path) {
                let reason = format!(
                    "it {} all of `{}`, a directory of keys",
                    verb(access),
                    target_text(access)
                );
                return Some(FloorHit::deny(reason).because(Cause::SensitivePath));
            }
            let holds = roots.home.starts_with(path)
                || roots.guardian_data.starts_with(path)
                || roots
                    .guardian_config
                    .iter()
                    .any(|config| config.starts_with(path));
            holds.then(|| {
                FloorHit::ask(format!(
                    "it {} everything beneath `{}`, sensitive paths included",
                    verb(access),
                    target_text(access)
                ))
            })
        })
        .collect()
}

/// It reads the whole tree, takes it away, or makes it reachable under another name.
fn reaches_all(view: &View<'_>, access: &Access) -> bool {
    let links = || {
        command_of(view.facts, access.source)
            .is_some_and(|command| command.program.name.as_deref() == Some("ln"))
    };
    match access.kind {
        AccessKind::Read => access.recursive && access.source != AccessSource::Walk || links(),
        AccessKind::List => links(),
        AccessKind::Delete => access.recursive || access.detail == AccessDetail::Rename,
        AccessKind::Write => access.recursive && access.detail == AccessDetail::Permissions,
        AccessKind::Execute => false,
    }
}

fn is_key_directory(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| [".ssh", ".gnupg", ".aws", ".kube"].contains(&name))
}
