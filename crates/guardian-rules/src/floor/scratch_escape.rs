use guardian_facts::Scope;

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::{scope_of, target_text};
use crate::verdict::{Cause, Decision};

floor_rule! {
    /// Denies a path that is addressed through the session's scratch directory and leaves it
    /// through a link or `..`.
    ///
    /// Scratch needs no permission, so it must never be a way out: neither into the workspace
    /// nor to anywhere else.
    ///
    /// To lift it: not possible. Name the file by its own path.
    "floor.scratch-escape", "paths that leave scratch", Deny, judge,
    examples: [
        ("cat $PI_SCRATCH_DIR/link-to-etc/passwd", Some(Decision::Deny)),
        ("cat $PI_SCRATCH_DIR/notes.md", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .accesses
        .iter()
        .filter(|access| scope_of(access) == Some(Scope::ScratchEscape))
        .map(|access| {
            FloorHit::deny(format!(
                "`{}` is addressed through the scratch directory but leads out of it; name the file by its own path",
                target_text(access)
            ))
            .because(Cause::PathOutsideWorkspace)
        })
        .collect()
}
