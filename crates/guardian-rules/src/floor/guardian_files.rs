use guardian_facts::{Access, AccessDetail, AccessKind, Effect, FileKind, Target};

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::{target_text, verb};
use crate::policy::command_of;
use crate::verdict::{Cause, Decision};

floor_rule! {
    /// Denies every access to guardian's own data, configuration, policy files and executables,
    /// wherever they lie, also inside a workspace.
    ///
    /// A call that could change what judges it would end the protection of every later call, and
    /// the data directory holds what other sessions said and did. The session's own scratch
    /// directory is exempt. So does a delete, a move or a change of rights of a directory above
    /// them. What unpacks or copies trees into such a directory is asked about.
    ///
    /// To lift it: not possible. Change guardian's files yourself, outside a tool call.
    "floor.guardian-files", "guardian's own files", Deny, judge,
    examples: [
        ("cat /home/dev/.local/share/guardian/guardian.db", Some(Decision::Deny)),
        ("echo x >> /home/dev/.config/guardian/policy.toml", Some(Decision::Deny)),
        ("mv ~/.config ~/old", Some(Decision::Deny)),
        ("chmod -R 755 ~/.config", Some(Decision::Deny)),
        ("tar xf x.tar -C ~/.config", Some(Decision::Ask)),
        ("cp notes.txt ~", None),
        ("cat README.md", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .accesses
        .iter()
        // running guardian is the business of `floor.runs-guardian`
        .filter(|access| access.kind != AccessKind::Execute)
        .filter_map(|access| {
            let reason = format!(
                "it {} `{}`, which belongs to guardian",
                verb(access),
                target_text(access)
            );
            let hit = match &access.target {
                Target::Exact(path) if path.sensitivity.guardian => FloorHit::deny(reason),
                Target::Exact(path) if view.situation.roots.holds_guardian_files(&path.path) => {
                    match reach(view, access, path.kind) {
                        Reach::TakesAlong => FloorHit::deny(format!(
                            "it {} `{}`, in which files of guardian lie",
                            verb(access),
                            target_text(access)
                        )),
                        Reach::Might => FloorHit::ask(format!(
                            "it {} `{}`, in which files of guardian lie: it might replace them",
                            verb(access),
                            target_text(access)
                        )),
                        Reach::Beside => return None,
                    }
                }
                Target::Pattern { base, .. } if base.sensitivity.guardian => FloorHit::deny(reason),
                Target::Pattern { may_match, .. } if may_match.guardian => FloorHit::ask(format!(
                    "`{}` could match guardian's own files",
                    target_text(access)
                )),
                _ => return None,
            };
            Some(hit.because(Cause::SensitivePath))
        })
        .collect()
}

/// What a change of a directory above guardian's own files does to them.
enum Reach {
    /// They go where it goes.
    TakesAlong,
    /// It may write over them.
    Might,
    /// It leaves them alone.
    Beside,
}

fn reach(view: &View<'_>, access: &Access, kind: Option<FileKind>) -> Reach {
    let command = command_of(view.facts, access.source);
    let is_named =
        |name: &str| command.is_some_and(|command| command.program.name.as_deref() == Some(name));
    match access.kind {
        AccessKind::Read | AccessKind::List | AccessKind::Execute => Reach::Beside,
        AccessKind::Delete => Reach::TakesAlong,
        AccessKind::Write if access.detail == AccessDetail::Permissions => {
            if access.recursive {
                Reach::TakesAlong
            } else {
                Reach::Might
            }
        }
        // the move of `x` to an existing directory ends at `directory/x`, a target of its own
        AccessKind::Write if is_named("mv") && kind == Some(FileKind::Directory) => Reach::Beside,
        AccessKind::Write => {
            let unpacks = command.is_some_and(|command| command.has(Effect::BulkWrite));
            let replaces = kind != Some(FileKind::Directory) && !is_named("mkdir");
            if access.recursive || unpacks || replaces {
                Reach::Might
            } else {
                Reach::Beside
            }
        }
    }
}
