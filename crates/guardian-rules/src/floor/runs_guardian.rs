use guardian_facts::{CommandFact, Effect, RootPaths};

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
        ("timeout 5 /usr/local/bin/guardian policy accept", Some(Decision::Deny)),
        ("guardian explain floor.sudo", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    view.facts
        .commands
        .iter()
        .filter(|command| {
            command.has(Effect::RunsGuardian) || is_forbidden(command, &view.situation.roots)
        })
        .map(|command| {
            FloorHit::deny(format!(
                "`{}` runs guardian itself; do that in your own terminal",
                command.display()
            ))
        })
        .collect()
}

/// Subcommands that only look.
const READ_ONLY: &[&str] = &[
    "check",
    "explain",
    "doctor",
    "tools",
    "--version",
    "-V",
    "--help",
    "-h",
    "help",
];

fn is_forbidden(command: &CommandFact, roots: &RootPaths) -> bool {
    let by_name = matches!(
        command.program.name.as_deref(),
        Some("guardian" | "guardian-supervisor")
    );
    let by_path = command.program.path.as_ref().is_some_and(|path| {
        roots.guardian_executables.contains(&path.path)
            || path
                .path
                .file_name()
                .is_some_and(|name| name == "guardian" || name == "guardian-supervisor")
    });
    let looks_only = command
        .argv
        .get(1)
        .and_then(|word| word.as_literal())
        .is_some_and(|subcommand| READ_ONLY.contains(&subcommand));
    (by_name || by_path) && !looks_only
}
