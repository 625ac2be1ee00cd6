//! The repair guard (SPEC §12.3): an agent that fails twice at the same repair within one prompt is
//! told to stop, with the exact mismatch, before it damages the file by hand.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::json;

use crate::error::ErrorCode;
use crate::gate::{Passage, changed_path};
use crate::outcome::ToolOutcome;
use guardian_facts::{CommandFact, Facts};

/// The failure with this number ends the turn.
const LAST_ATTEMPT: u64 = 2;

/// What a call repairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Repair {
    /// An Edit of this file.
    Edit(PathBuf),
    /// A command that applies a patch.
    Patch,
}

impl Repair {
    /// What the call repairs, if it is a repair at all. By its facts: a patch program that is only
    /// mentioned in a text is none.
    pub(crate) fn of(facts: &Facts) -> Option<Self> {
        match facts.tool.as_str() {
            "Edit" => changed_path(facts).map(Self::Edit),
            "Bash" => facts
                .commands
                .iter()
                .any(applies_a_patch)
                .then_some(Self::Patch),
            _ => None,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Edit(_) => "edit",
            Self::Patch => "patch",
        }
    }
}

fn applies_a_patch(command: &CommandFact) -> bool {
    match command.program.name.as_deref() {
        Some("apply_patch" | "patch") => true,
        Some("git") => git_subcommand(command).as_deref() == Some("apply"),
        _ => false,
    }
}

/// The first word that is neither an option of git itself nor the value of one.
fn git_subcommand(command: &CommandFact) -> Option<String> {
    let mut words = command.argv.iter().skip(1).map(|word| word.display());
    while let Some(word) = words.next() {
        match word.as_str() {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" => drop(words.next()),
            option if option.starts_with('-') => {}
            _ => return Some(word),
        }
    }
    None
}

/// The failures of one prompt.
#[derive(Debug, Default)]
pub(crate) struct RepairGuard {
    edits: HashMap<PathBuf, u64>,
    patches: u64,
}

impl RepairGuard {
    /// Counts a failure and says which one it is. A success does not reset the count.
    fn failed(&mut self, repair: &Repair) -> u64 {
        let count = match repair {
            Repair::Edit(path) => self.edits.entry(path.clone()).or_default(),
            Repair::Patch => &mut self.patches,
        };
        *count += 1;
        *count
    }
}

/// A failed repair, as it goes on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RepairFailure {
    /// `edit` or `patch`.
    pub(crate) kind: &'static str,
    /// Which failure of the prompt.
    pub(crate) attempt: u64,
    /// The turn is told to end.
    pub(crate) terminate: bool,
}

/// Did the repair itself fail? What was denied, aborted, stale or malformed proves nothing about
/// it.
fn is_failed_repair(outcome: &ToolOutcome) -> bool {
    let failed = matches!(
        outcome.error_code,
        Some(
            ErrorCode::ToolFailed
                | ErrorCode::ToolTimeout
                | ErrorCode::ToolBinaryContent
                | ErrorCode::NotFound
        )
    );
    failed && !outcome.denied
}

/// Counts the call when it is a repair that failed, and ends the turn when it failed again.
/// Outside a turn there is no prompt, and nothing is counted.
pub(crate) fn watch(passage: &mut Passage, outcome: &mut ToolOutcome) {
    let Some(repair) = &passage.repair else {
        return;
    };
    if passage.session.running_turn.is_none() || !is_failed_repair(outcome) {
        return;
    }
    let attempt = passage.runtime.repairs(|guard| guard.failed(repair));
    let terminate = attempt >= LAST_ATTEMPT;
    passage.record.repair = Some(RepairFailure {
        kind: repair.kind(),
        attempt,
        terminate,
    });
    if !terminate {
        return;
    }
    let what = match repair {
        Repair::Edit(_) => "Edit of this file",
        Repair::Patch => "patch command",
    };
    outcome.runtime = Some(Box::new(json!({ "terminate": true })));
    outcome.content["terminate"] = true.into();
    outcome.content["notice"] = format!(
        "this is failed {what} number {attempt} for the same prompt: stop here, and tell the user \
         what does not match"
    )
    .into();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(path: &str) -> Repair {
        Repair::Edit(PathBuf::from(path))
    }

    #[test]
    fn failures_are_counted_per_file_and_patches_together() {
        let mut guard = RepairGuard::default();
        assert_eq!(guard.failed(&edit("/w/a")), 1);
        assert_eq!(guard.failed(&edit("/w/b")), 1);
        assert_eq!(guard.failed(&Repair::Patch), 1);
        assert_eq!(guard.failed(&edit("/w/a")), 2);
        assert_eq!(guard.failed(&Repair::Patch), 2);
    }

    #[test]
    fn what_says_nothing_about_the_repair_does_not_count() {
        let outcome = |code| ToolOutcome::failure("c", code, "no");
        assert!(is_failed_repair(&outcome(ErrorCode::ToolFailed)));
        for code in [
            ErrorCode::StaleFile,
            ErrorCode::StaleApproval,
            ErrorCode::ToolAborted,
            ErrorCode::InvalidArgument,
            ErrorCode::HostOverloaded,
        ] {
            assert!(!is_failed_repair(&outcome(code)), "{code:?}");
        }
        assert!(!is_failed_repair(&ToolOutcome::denied("c", "user", "no")));
        assert!(!is_failed_repair(&ToolOutcome::success("c", json!({}))));
    }
}
