use guardian_facts::Effect;

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::verdict::Decision;

floor_rule! {
    /// Asks before something is published: a package, a release, a container image.
    ///
    /// What others have downloaded cannot be taken back. A plain `git push` is an ordinary
    /// question that a rule may answer; a forced one is destructive.
    ///
    /// To lift it: `overrides = ["floor.publishes"]` in the managed or the user's file.
    "floor.publishes", "publishing", Ask, judge,
    examples: [
        ("npm publish", Some(Decision::Ask)),
        ("cargo publish", Some(Decision::Ask)),
        ("npm pack --dry-run", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .commands
        .iter()
        .filter(|command| {
            command.has(Effect::Publishes) && command.program.name.as_deref() != Some("git")
        })
        .map(|command| FloorHit::ask(format!("`{}` publishes", command.display())))
        .collect()
}
