use guardian_facts::{Access, AccessKind, AccessSource, Scope, Target};

use super::{FloorHit, floor_rule};
use crate::PermissionMode;
use crate::evaluate::View;
use crate::evaluate::cover::{scope_of, target_text, verb};
use crate::policy::command_of;
use crate::verdict::{Cause, Decision};

floor_rule! {
    /// Asks before a secret file (`.env`, private keys, `.npmrc`, `.netrc`, cloud credentials …)
    /// is read, written or deleted, by a tool that names it or by a command that touches it.
    ///
    /// What a model has read may end up anywhere. Under `auto` a secret file inside the workspace
    /// is not asked about, and none beneath scratch is. Implicit walks (Glob, Grep) leave secret
    /// files out, so they are not asked about either; listing names is not reading.
    ///
    /// To lift it: `overrides = ["floor.secret-file"]` in the managed or the user's file.
    "floor.secret-file", "secret files", Ask, judge,
    examples: [
        ("cat .env", Some(Decision::Ask)),
        ("cat .e*", Some(Decision::Ask)),
        ("ln -s .env \"$PI_SCRATCH_DIR/e\" && cat \"$PI_SCRATCH_DIR/e\"", Some(Decision::Ask)),
        ("cat .env.example", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .accesses
        .iter()
        .filter(|access| touches_content(view, access) && !waved_through(view, access))
        .filter_map(|access| {
            let reason = match &access.target {
                Target::Exact(path) if path.sensitivity.secret => {
                    format!(
                        "it {} the secret file `{}`",
                        verb(access),
                        target_text(access)
                    )
                }
                Target::Pattern {
                    base, may_match, ..
                } if base.sensitivity.secret || may_match.secret => {
                    format!(
                        "it {} `{}`, which could match a secret file",
                        verb(access),
                        target_text(access)
                    )
                }
                _ => return None,
            };
            Some(FloorHit::ask(reason).because(Cause::SecretFile))
        })
        .collect()
}

fn touches_content(view: &View<'_>, access: &Access) -> bool {
    if access.source == AccessSource::Walk {
        return false;
    }
    // listing names is not reading, but a link makes the file readable under another name
    access.kind != AccessKind::List
        || command_of(view.facts, access.source)
            .is_some_and(|command| command.program.name.as_deref() == Some("ln"))
}

fn waved_through(view: &View<'_>, access: &Access) -> bool {
    match scope_of(access) {
        Some(Scope::Scratch) => true,
        Some(Scope::Workspace) => view.situation.permission_mode == PermissionMode::Auto,
        _ => false,
    }
}
