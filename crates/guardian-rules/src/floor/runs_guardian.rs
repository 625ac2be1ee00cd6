use guardian_facts::Effect;

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::verdict::Decision;

floor_rule! {
    /// Denies running guardian itself or its supervisor, by any path, with anything but `check`,
    /// `explain`, `doctor`, `tools`, `--version` and `--help`.
    ///
    /// A call that could answer cards, trust files or accept policies would approve itself.
    ///
    /// To lift it: not possible. Run the command in your own terminal.
    "floor.runs-guardian", "running guardian from a call", Deny, judge,
    examples: [
        ("guardian trust", Some(Decision::Deny)),
        ("guardian explain floor.sudo", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .commands
        .iter()
        .filter(|command| command.has(Effect::RunsGuardian))
        .map(|command| {
            FloorHit::deny(format!(
                "`{}` runs guardian itself; do that in your own terminal",
                command.display()
            ))
        })
        .collect()
}
