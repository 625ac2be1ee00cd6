use guardian_facts::Effect;

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::verdict::Decision;

floor_rule! {
    /// Denies a function that starts itself twice, without end.
    ///
    /// It takes the machine down, and nothing else is ever meant by it.
    ///
    /// To lift it: not possible.
    "floor.fork-bomb", "fork bombs", Deny, judge,
    examples: [
        (":(){ :|:& };:", Some(Decision::Deny)),
        ("f() { echo x; }; f", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    let found = view
        .facts
        .commands
        .iter()
        .any(|command| command.has(Effect::ForkBomb));
    found
        .then(|| FloorHit::deny("it is a fork bomb"))
        .into_iter()
        .collect()
}
