use guardian_facts::{Access, AccessKind, Target};

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::verb;
use crate::policy::command_of;
use crate::verdict::Decision;

floor_rule! {
    /// Asks before a command reads, changes or deletes a path that depends on something which is
    /// not known before it runs, and that no look has bounded: it might be a key or guardian's own
    /// policy (`cat "$X"`, `cd "$X" && cat id_rsa`).
    ///
    /// Where the unknown part has a bound, what lies within it is looked at, and an ordinary file
    /// is not asked about: `git ls-files '*.rs' | xargs wc -l`, `for f in src/*; do cat "$f"; done`,
    /// `cat "$(find src -name x.rs)"`, numbers, a fresh directory of `mktemp`.
    ///
    /// To lift it: `overrides = ["floor.unknown-path"]` in the managed or the user's file.
    "floor.unknown-path", "paths that are not known", Ask, judge,
    examples: [
        ("cat \"$X\"", Some(Decision::Ask)),
        ("echo x > \"$X/policy.toml\"", Some(Decision::Ask)),
        ("cd \"$X\"; cat id_rsa", Some(Decision::Ask)),
        ("for f in src/*.rs; do cat \"$f\"; done", None),
        ("D=$(mktemp -d); echo x > \"$D/a\"", None),
        ("test -f \"$X\"", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .accesses
        .iter()
        .filter(|access| touches_content(view, access))
        .filter_map(|access| {
            let Target::Unknown {
                written,
                reason,
                temporary: false,
                ..
            } = &access.target
            else {
                return None;
            };
            Some(FloorHit::ask(format!(
                "it {} `{written}`, which might be any path: {reason}",
                verb(access)
            )))
        })
        .collect()
}

fn touches_content(view: &View<'_>, access: &Access) -> bool {
    let elsewhere =
        command_of(view.facts, access.source).is_some_and(|command| command.place.elsewhere);
    matches!(
        access.kind,
        AccessKind::Read | AccessKind::Write | AccessKind::Delete
    ) && !elsewhere
}
