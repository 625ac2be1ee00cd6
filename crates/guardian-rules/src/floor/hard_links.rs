use guardian_facts::{AccessKind, Target};

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::target_text;

floor_rule! {
    /// Asks before a file with several names (hard links) is written: all of them change, and the
    /// others may lie anywhere on the file system, a start file of the shell or a file of another
    /// project among them. Nothing tells where.
    ///
    /// A link that a command made in scratch would otherwise be a way out of it.
    ///
    /// To lift it: `overrides = ["floor.hard-link"]` in the managed or the user's file.
    "floor.hard-link", "files with several names", AskHuman, judge,
    examples: [
        ("echo x > notes.txt", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .accesses
        .iter()
        .filter(|access| access.kind == AccessKind::Write)
        .filter_map(|access| match &access.target {
            Target::Exact(path) if path.links > 1 => Some(FloorHit::ask(format!(
                "`{}` has {} names (hard links); writing it changes the file under all of them",
                target_text(access),
                path.links
            ))),
            _ => None,
        })
        .collect()
}
