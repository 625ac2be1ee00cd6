use guardian_facts::{AccessKind, AccessSource, Scope};

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::{scope_of, target_text};
use crate::verdict::Cause;

floor_rule! {
    /// Asks before Write replaces an existing file that this session never read, when no
    /// reversible snapshot of it can be taken.
    ///
    /// The model writes over content it does not know, and nothing could bring it back. Where a
    /// snapshot can be taken the call runs as usual.
    ///
    /// To lift it: `overrides = ["floor.unread-overwrite"]` in the managed or the user's file.
    "floor.unread-overwrite", "overwriting an unread file for good", Ask, judge,
    examples: []
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    if view.tool != "Write" || !view.situation.overwrites_unread || view.situation.snapshot_possible
    {
        return Vec::new();
    }
    view.facts
        .accesses
        .iter()
        .filter(|access| {
            access.kind == AccessKind::Write
                && access.source == AccessSource::PathArgument
                && scope_of(access) != Some(Scope::Scratch)
        })
        .map(|access| {
            FloorHit::ask(format!(
                "`{}` exists, was never read in this session, and no snapshot of it can be taken",
                target_text(access)
            ))
            .because(Cause::UnreadOverwrite)
        })
        .collect()
}
