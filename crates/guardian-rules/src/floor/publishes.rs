use guardian_facts::Effect;

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::verdict::Decision;

/// Programs whose plain push or commit is an ordinary question.
const VERSION_CONTROL: &[&str] = &["git", "hg", "jj", "sl", "svn", "fossil"];

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
        ("cargo +nightly publish", Some(Decision::Ask)),
        ("python3 -m twine upload dist/x", Some(Decision::Ask)),
        ("npx semantic-release", Some(Decision::Ask)),
        ("mvn clean deploy", Some(Decision::Ask)),
        ("mvn test", None),
        ("npm pack --dry-run", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .commands
        .iter()
        .filter(|command| {
            let name = command.program.name.as_deref().unwrap_or_default();
            command.has(Effect::Publishes) && !VERSION_CONTROL.contains(&name)
        })
        .map(|command| FloorHit::ask(format!("`{}` publishes", command.display())))
        .collect()
}
