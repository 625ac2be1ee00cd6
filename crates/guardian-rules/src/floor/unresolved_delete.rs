use guardian_facts::{AccessDetail, AccessKind, Target};

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::verdict::Decision;

floor_rule! {
    /// Asks a human before a recursive delete whose target depends on something that is not known
    /// before it runs. Where an empty variable would make it the root of the file system, the home
    /// directory or a session root, the question says so.
    ///
    /// `rm -rf "$DIR/"` with an empty `DIR` has cost many people their disk. A fresh directory
    /// that `mktemp` made in the same call is known well enough.
    ///
    /// To lift it: `overrides = ["floor.unresolved-delete"]` in the managed or the user's file.
    "floor.unresolved-delete", "deleting a target that is not known", AskHuman, judge,
    examples: [
        ("rm -rf \"$BUILD_DIR\"/*", Some(Decision::Ask)),
        ("rm -rf \"$(cat list.txt)\"", Some(Decision::Ask)),
        ("D=$(mktemp -d); rm -rf \"$D\"", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .accesses
        .iter()
        .filter(|access| {
            access.recursive
                && (access.kind == AccessKind::Delete || access.detail == AccessDetail::Permissions)
        })
        .filter_map(|access| {
            let Target::Unknown {
                written,
                reason,
                when_empty,
                temporary: false,
            } = &access.target
            else {
                return None;
            };
            let mut text =
                format!("what `{written}` stands for is not known before it runs: {reason}");
            if let Some(path) = when_empty {
                text.push_str(&format!(
                    "; when the unknown part is empty it is `{}`",
                    path.display()
                ));
            }
            Some(FloorHit::ask(text))
        })
        .collect()
}
