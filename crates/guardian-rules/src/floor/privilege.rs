use guardian_facts::Effect;

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::verdict::Decision;

floor_rule! {
    /// Asks a human before a command gains other rights (`sudo`, `doas`, `su`, `pkexec`).
    ///
    /// With other rights a command can do what this account cannot undo, and the walls that
    /// guardian builds do not hold.
    ///
    /// To lift it: `overrides = ["floor.privilege"]` in the managed or the user's file; a rule
    /// then has to allow the command.
    "floor.privilege", "gaining other rights", AskHuman, judge,
    examples: [
        ("sudo ls /root", Some(Decision::Ask)),
        ("man sudo", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .commands
        .iter()
        .filter(|command| command.has(Effect::Privilege))
        .map(|command| FloorHit::ask(format!("`{}` runs with other rights", command.display())))
        .collect()
}
