use guardian_facts::Effect;

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::verdict::Decision;

floor_rule! {
    /// Asks a human before a command makes code run later: `crontab`, `at`, `systemctl enable`,
    /// `launchctl load`, git hooks.
    ///
    /// What runs later runs without a question and without anybody watching.
    ///
    /// To lift it: `overrides = ["floor.persistence"]` in the managed or the user's file.
    "floor.persistence", "making code run later", AskHuman, judge,
    examples: [
        ("crontab -e", Some(Decision::Ask)),
        ("systemctl --user enable x.service", Some(Decision::Ask)),
        ("echo crontab", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .commands
        .iter()
        .filter(|command| command.has(Effect::Persistence))
        .map(|command| FloorHit::ask(format!("`{}` makes code run later", command.display())))
        .collect()
}
