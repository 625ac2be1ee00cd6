//! What the preset `balanced` proves: code over facts, with data from the preset's file (SPEC §7.4).

use guardian_facts::command::{Effect, Effects};
use guardian_facts::{
    Access, AccessKind, AccessSource, CommandFact, Facts, PathFact, Reading, Scope, Target,
};

use super::accepted::accepted_key;
use super::cover::climbs;
use super::hits::View;
use super::items::Item;
use crate::policy::{Certainty, PresetData, Proof, command_of, has_flag, is_known_by_name};
use crate::{SandboxState, ToolKind};

/// How a preset covers an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Proven {
    /// Whatever confines the call.
    Anyway,
    /// Only while the sandbox is in force.
    Confined,
}

/// The preset proves this item harmless.
pub(crate) fn proof_of(item: Item, view: &View<'_>) -> Option<Proven> {
    let facts = view.facts;
    let preset = view.policy.preset().data();
    if view.situation.tool_kind != ToolKind::Shell || facts.reading == Reading::Partial {
        return None;
    }
    match item {
        // a text of blanks and comments
        Item::Call => {
            (preset.proves(Proof::Inert) && facts.opacity.is_empty()).then_some(Proven::Anyway)
        }
        Item::Command(index) => command_proof(view, preset, index),
        Item::Access(index) => {
            let access = &facts.accesses[index];
            let accepted = match access.source {
                AccessSource::Command(command) => is_accepted(view, preset, command),
                _ => false,
            };
            if access_is_proven(access, facts, preset) {
                Some(Proven::Anyway)
            } else {
                (accepted && lies_in_roots(access)).then_some(Proven::Confined)
            }
        }
        Item::Redirect { .. } | Item::Endpoint(_) | Item::Assignment { .. } => None,
    }
}

fn command_proof(view: &View<'_>, preset: &PresetData, index: usize) -> Option<Proven> {
    let command = &view.facts.commands[index];
    if command.place.elsewhere {
        return None;
    }
    if is_accepted(view, preset, index) {
        return Some(Proven::Confined);
    }
    let known_program = is_known_by_name(&command.program)
        || command.program.form == guardian_facts::ProgramForm::Function
        || command.program.written.is_empty();
    if command.effects_known == Effects::Opaque || !known_program {
        return None;
    }
    if !command
        .effects
        .iter()
        .all(|effect| effect_is_proven(*effect, command, preset))
    {
        return None;
    }
    if command.effects.is_empty() && !preset.proves(Proof::ReadsInRoots) {
        return None;
    }
    if !command.walks {
        return Some(Proven::Anyway);
    }
    // a walk that could meet secret files, which the sandbox would mask
    (preset.proves(Proof::MaskedWalks) && view.situation.sandbox == SandboxState::Available)
        .then_some(Proven::Confined)
}

fn effect_is_proven(effect: Effect, command: &CommandFact, preset: &PresetData) -> bool {
    match effect {
        Effect::Inert | Effect::ShellState => preset.proves(Proof::Inert),
        Effect::SystemQuery => preset.proves(Proof::SystemQueries),
        Effect::GitRecord => preset.proves(Proof::GitRecord) && is_plain_record(command),
        _ => false,
    }
}

/// `git add` without force, `git commit` without `--amend` and `--no-verify`, every word known.
fn is_plain_record(command: &CommandFact) -> bool {
    let risky: Vec<String> = ["--force", "--amend", "--no-verify"]
        .iter()
        .map(|&flag| flag.to_owned())
        .collect();
    let is_add = command
        .argv
        .iter()
        .any(|word| word.as_literal() == Some("add"));
    let short_risk = command
        .argv
        .iter()
        .skip(1)
        .filter_map(|word| word.as_literal())
        .any(|word| has_short_flag(word, if is_add { 'f' } else { 'n' }));
    has_flag(command, &risky) != Certainty::Yes && !short_risk
}

/// The letter stands in a cluster of short flags, before one that takes a value (`-nm text`).
fn has_short_flag(word: &str, letter: char) -> bool {
    let Some(cluster) = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
        return false;
    };
    cluster
        .chars()
        .take_while(|c| !"mFCctSu".contains(*c))
        .any(|c| c == letter)
}

fn access_is_proven(access: &Access, facts: &Facts, preset: &PresetData) -> bool {
    let from_known_command = command_of(facts, access.source)
        .is_some_and(|command| command.effects_known == Effects::Known && !command.place.elsewhere);
    // the redirect of an opaque command is known all the same
    let is_redirect = matches!(access.source, AccessSource::Redirect(_));
    if !from_known_command && !is_redirect {
        return false;
    }
    match access.kind {
        AccessKind::Read | AccessKind::List => {
            preset.proves(Proof::ReadsInRoots) && lies_in_roots(access)
                || preset.proves(Proof::PublicSystemReads)
                    && exact_text(access).is_some_and(|path| preset.is_public(path))
                || is_inert_device(access, preset)
        }
        AccessKind::Write => is_inert_device(access, preset),
        AccessKind::Delete | AccessKind::Execute => false,
    }
}

fn is_inert_device(access: &Access, preset: &PresetData) -> bool {
    preset.proves(Proof::InertDevices)
        && access.exact().is_some_and(|path| {
            path.path
                .to_str()
                .is_some_and(|path| preset.is_inert_device(path))
        })
}

fn exact_text(access: &Access) -> Option<&str> {
    match &access.target {
        Target::Exact(path) => path.path.to_str(),
        // a pattern is proven when all beneath its directory is public
        Target::Pattern { base, pattern, .. } if !climbs(pattern) => base.path.to_str(),
        Target::Pattern { .. } => None,
        Target::Unknown { .. } => None,
    }
}

fn lies_in_roots(access: &Access) -> bool {
    let inside = |path: &PathFact| matches!(path.scope, Scope::Workspace | Scope::Scratch);
    match &access.target {
        Target::Exact(path) => inside(path),
        Target::Pattern { base, pattern, .. } => inside(base) && !climbs(pattern),
        Target::Unknown { .. } => false,
    }
}

fn is_accepted(view: &View<'_>, preset: &PresetData, index: usize) -> bool {
    preset.proves(Proof::AcceptedCommands)
        && view.situation.sandbox == SandboxState::Available
        && !view.situation.accepted_commands.is_empty()
        && accepted_key(view.facts, index)
            .is_some_and(|key| view.situation.accepted_commands.contains(&key))
}
