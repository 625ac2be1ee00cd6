//! Commands that a program may run from something else than its words: variables that name programs,
//! text on its standard input, and its own file under another name (`ln -s /usr/bin/git g; ./g push`).
//!
//! As in `tails`, only deny and ask rules hear of it, and they answer "might" at most.

use guardian_facts::command::{Effect, Effects};
use guardian_facts::{
    AccessKind, AccessSource, CommandFact, Facts, PathFact, ProgramForm, RedirectKind, Word,
};

use super::tails::{Tail, inside, made, unknown};

/// Adds what the command may run.
pub(super) fn add(facts: &Facts, index: usize, command: &CommandFact, found: &mut Vec<Tail>) {
    let changing = command
        .assignments
        .iter()
        .filter(|assignment| assignment.changes_execution);
    for assignment in changing {
        match assignment.value.as_literal() {
            Some(text) => inside(command, text, found),
            // `BASH_ENV=<(…) bash -c :` runs what the file says
            None => found.push(Tail {
                command: made(command, vec![unknown(command.span)]),
                needs_words: false,
            }),
        }
    }
    if command.effects_known == Effects::Opaque && !has_prose(command) {
        let texts = [RedirectKind::Heredoc, RedirectKind::HereString];
        for redirect in &command.redirects {
            if texts.contains(&redirect.kind) {
                inside(command, &redirect.target.display(), found);
            }
        }
    }
    for name in other_names(facts, index, command) {
        let mut argv = vec![Word::literal(name, command.span)];
        argv.extend(command.argv.iter().skip(1).cloned());
        found.push(Tail {
            command: made(command, argv),
            needs_words: false,
        });
    }
}

/// Its input is a message, not code.
fn has_prose(command: &CommandFact) -> bool {
    let name = command.program.name.as_deref().unwrap_or_default();
    matches!(
        name,
        "git" | "gh" | "glab" | "hub" | "tea" | "cat" | "tee" | "mail"
    ) && !command.has(Effect::RunsCode)
}

/// What the file of a program that is written as a path is called where its links lead.
fn other_names(facts: &Facts, index: usize, command: &CommandFact) -> Vec<String> {
    if !matches!(
        command.program.form,
        ProgramForm::Relative | ProgramForm::Absolute
    ) {
        return Vec::new();
    }
    let own = command.program.name.as_deref();
    let executed = facts
        .accesses
        .iter()
        .filter(|access| {
            access.kind == AccessKind::Execute && access.source == AccessSource::Command(index)
        })
        .filter_map(|access| access.exact());
    let mut names: Vec<String> = command
        .program
        .path
        .iter()
        .chain(executed)
        .filter_map(|path: &PathFact| Some(path.path.file_name()?.to_str()?.to_owned()))
        .filter(|name| Some(name.as_str()) != own)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
