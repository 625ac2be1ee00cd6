use guardian_facts::{AccessKind, AccessSource};

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::target_text;
use crate::verdict::Decision;

floor_rule! {
    /// Asks a human before a command reads everything beneath a directory that holds the home
    /// directory, or guardian's own files: `~/.ssh` and the like lie in it.
    ///
    /// The walk would read what is denied by name. Name the directories that are needed instead.
    ///
    /// To lift it: `overrides = ["floor.sensitive-beneath"]` in the managed or the user's file.
    "floor.sensitive-beneath", "reading all of home", AskHuman, judge,
    examples: [
        ("tar cf - ~ | wc -c", Some(Decision::Ask)),
        ("tar cf - src | wc -c", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    let roots = &view.situation.roots;
    view.facts
        .accesses
        .iter()
        .filter(|access| {
            access.kind == AccessKind::Read
                && access.recursive
                && access.source != AccessSource::Walk
        })
        .filter_map(|access| {
            let path = &access.exact()?.path;
            let holds = roots.home.starts_with(path)
                || roots.guardian_data.starts_with(path)
                || roots
                    .guardian_config
                    .iter()
                    .any(|config| config.starts_with(path));
            holds.then(|| {
                FloorHit::ask(format!(
                    "it reads everything beneath `{}`, sensitive paths included",
                    target_text(access)
                ))
            })
        })
        .collect()
}
