//! The floor: what is denied or asked about in every mode, whatever the policy files say
//! (SPEC §3, §7.3). One rule per file, named by its id; the documentation of each rule is on the
//! rule itself and harvested into [`FloorRule::docs`].

mod destructive;
mod devices;
mod fork_bomb;
mod guardian_files;
mod hard_links;
mod persistence;
mod privilege;
mod protected_files;
mod publishes;
mod remote_code;
mod runs_guardian;
mod scratch_escape;
mod secret_files;
mod secrets_with_network;
mod sensitive_beneath;
mod sensitive_paths;
mod system_delete;
mod targets;
mod unknown_path;
mod unread_overwrite;
mod unresolved_delete;

use crate::evaluate::View;
use crate::verdict::{Cause, Decision};

/// How strong a floor rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FloorEffect {
    /// Denies; nothing lifts it.
    Deny,
    /// Asks a human in every mode; never remembered. Liftable by id in a managed or user file.
    AskHuman,
    /// Asks in every mode. Liftable by id in a managed or user file.
    Ask,
}

/// A call that shows what a rule does, as the shell text of a Bash call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FloorExample {
    /// The command.
    pub command: &'static str,
    /// What the rule alone makes of it; `None` = the rule does not apply.
    pub decision: Option<Decision>,
}

/// One rule of the floor.
#[derive(Debug)]
pub struct FloorRule {
    /// Stable id, `floor.…`.
    pub id: &'static str,
    /// One line.
    pub title: &'static str,
    /// What it does, why, and how to lift it; Markdown.
    pub docs: &'static str,
    /// How strong it is.
    pub effect: FloorEffect,
    /// Examples, run as tests.
    pub examples: &'static [FloorExample],
    /// Finds what the rule is about.
    pub(crate) judge: fn(&View<'_>) -> Vec<FloorHit>,
}

/// What a floor rule found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FloorHit {
    pub(crate) decision: Decision,
    pub(crate) reason: String,
    /// The cause of the verdict, where it is not the rule's id.
    pub(crate) cause: Option<Cause>,
}

impl FloorHit {
    pub(crate) fn deny(reason: impl Into<String>) -> Self {
        Self {
            decision: Decision::Deny,
            reason: reason.into(),
            cause: None,
        }
    }

    pub(crate) fn ask(reason: impl Into<String>) -> Self {
        Self {
            decision: Decision::Ask,
            reason: reason.into(),
            cause: None,
        }
    }

    pub(crate) fn because(self, cause: Cause) -> Self {
        Self {
            cause: Some(cause),
            ..self
        }
    }
}

/// Declares a [`FloorRule`] and takes its documentation from the doc comment.
macro_rules! floor_rule {
    (
        $(#[doc = $doc:literal])+
        $id:literal, $title:literal, $effect:ident, $judge:ident,
        examples: [$(($command:literal, $decision:expr)),* $(,)?]
    ) => {
        $(#[doc = $doc])+
        pub(crate) static RULE: $crate::floor::FloorRule = $crate::floor::FloorRule {
            id: $id,
            title: $title,
            docs: concat!($($doc, "\n"),+),
            effect: $crate::floor::FloorEffect::$effect,
            examples: &[$($crate::floor::FloorExample { command: $command, decision: $decision }),*],
            judge: $judge,
        };
    };
}
pub(crate) use floor_rule;

/// All floor rules, the most telling first.
static FLOOR: &[&FloorRule] = &[
    &guardian_files::RULE,
    &runs_guardian::RULE,
    &system_delete::RULE,
    &devices::RULE,
    &fork_bomb::RULE,
    &sensitive_paths::RULE,
    &scratch_escape::RULE,
    &secrets_with_network::RULE,
    &remote_code::RULE,
    &privilege::RULE,
    &persistence::RULE,
    &protected_files::RULE,
    &hard_links::RULE,
    &unresolved_delete::RULE,
    &sensitive_beneath::RULE,
    &destructive::RULE,
    &publishes::RULE,
    &secret_files::RULE,
    &unknown_path::RULE,
    &unread_overwrite::RULE,
];

/// All floor rules, the most telling first.
#[must_use]
pub fn floor_rules() -> &'static [&'static FloorRule] {
    FLOOR
}
