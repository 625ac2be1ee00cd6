//! Project commands that the user accepted once: what such an answer is bound to (SPEC §7.4).

use std::path::Path;

use guardian_facts::command::Effect;
use guardian_facts::{CommandFact, Facts, ProgramForm, Reading, Scope};

use crate::policy::is_known_by_name;
use crate::{Policy, Situation};

/// Longest text of a definition that is written into a policy file, in bytes.
const MAX_DEFINITION: usize = 4 * 1024;

/// Most lines of a difference that are told.
const MAX_LINES: usize = 24;

/// The key under which a project command is accepted: its words, its directory, and what defines
/// what it runs (the script of `package.json`, the rules of the Makefile, the bytes of the script
/// file, the settings of the build tool), so that a change of the definition asks again.
///
/// `None` for a command that cannot be accepted: not a build, test or lint command nor a script of
/// the workspace, a word that is not known, an assignment in front, an environment that is not the
/// session's own, a definition that could not be told for certain.
#[must_use]
pub fn accepted_key(facts: &Facts, command: usize) -> Option<String> {
    let fact = facts.commands.get(command)?;
    if facts.reading == Reading::Partial
        || fact.place.elsewhere
        || !fact.assignments.is_empty()
        || fact.environment.is_some()
        || !(is_project_tool(fact) || is_script(facts, command, fact))
    {
        return None;
    }
    let refused = [
        Effect::Privilege,
        Effect::Publishes,
        Effect::RunsRemoteCode,
        Effect::Destructive,
        Effect::Persistence,
        Effect::RemoteHost,
        Effect::RunsGuardian,
    ];
    if fact.effects.iter().any(|effect| refused.contains(effect)) {
        return None;
    }
    let words: Vec<&str> = fact
        .argv
        .iter()
        .map(|word| word.as_literal())
        .collect::<Option<_>>()?;
    let mut defined = facts
        .code_files
        .iter()
        .filter(|file| file.command == command)
        .map(|file| {
            Some(format!(
                "{}={}",
                file.path.path.to_str()?,
                file.hash.as_ref()?
            ))
        })
        .chain(
            facts
                .definitions
                .iter()
                .filter(|definition| definition.command == command)
                .map(|definition| {
                    let file = definition.file.to_str()?;
                    let hash = definition.hash.as_ref()?;
                    Some(format!("{file}|{}={hash}", definition.part))
                }),
        )
        .collect::<Option<Vec<_>>>()?;
    defined.sort();
    let mut hasher = blake3::Hasher::new();
    let cwd = fact.cwd.as_ref()?.to_str()?;
    for part in words
        .iter()
        .copied()
        .chain([cwd])
        .chain(defined.iter().map(String::as_str))
    {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    Some(hasher.finalize().to_hex().to_string())
}

/// A tool that builds, tests or lints, called by its name.
fn is_project_tool(fact: &CommandFact) -> bool {
    fact.has(Effect::RunsProjectCode) && is_known_by_name(&fact.program)
}

/// A file of the workspace that is run by its path, its bytes known.
fn is_script(facts: &Facts, command: usize, fact: &CommandFact) -> bool {
    let in_workspace = |path: &guardian_facts::PathFact| path.scope == Scope::Workspace;
    fact.program.form == ProgramForm::Relative
        && fact.program.path.as_ref().is_some_and(in_workspace)
        && facts
            .code_files
            .iter()
            .any(|file| file.command == command && in_workspace(&file.path))
}

/// What defines a command, for people and for the policy file: one line per file, with the text
/// beneath it where it is known.
pub(crate) fn definition_text(facts: &Facts, command: usize, project: &Path) -> String {
    let shown = |file: &Path| {
        file.strip_prefix(project)
            .unwrap_or(file)
            .display()
            .to_string()
    };
    let mut text = String::new();
    for definition in facts
        .definitions
        .iter()
        .filter(|one| one.command == command)
    {
        let Some(hash) = &definition.hash else {
            continue;
        };
        let file = shown(&definition.file);
        match (&definition.text, definition.part.as_str()) {
            // Of a whole file a reader needs to know that it changed.
            (Some(body), part) if !part.is_empty() => {
                text.push_str(&format!("{file}, {part}:\n{}\n", body.trim_end()));
            }
            _ => text.push_str(&format!("{file}: {}\n", short(hash))),
        }
    }
    for file in facts.code_files.iter().filter(|one| one.command == command) {
        let hash = file.hash.as_deref().unwrap_or_default();
        text.push_str(&format!("{}: {}\n", shown(&file.path.path), short(hash)));
    }
    if text.len() > MAX_DEFINITION {
        let whole = blake3::hash(text.as_bytes()).to_hex();
        let end = (0..=MAX_DEFINITION)
            .rev()
            .find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        text.push_str(&format!("…\nall of it: {}\n", short(&whole)));
    }
    text
}

fn short(hash: &str) -> &str {
    hash.get(..16).unwrap_or(hash)
}

/// A command that was accepted for this project when it was defined differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedCommand {
    /// The command, as it was accepted.
    pub command: String,
    /// What defined it then; `None` when that was not kept.
    pub before: Option<String>,
    /// What defines it now.
    pub now: String,
}

impl ChangedCommand {
    /// The change as lines for a card: a sentence, then what is gone (`-`) and what is new (`+`).
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "`{}` was accepted for this project; what it runs has changed since",
            self.command
        )];
        let before: Vec<&str> = self.before.as_deref().unwrap_or_default().lines().collect();
        let now: Vec<&str> = self.now.lines().collect();
        let first = before
            .iter()
            .zip(&now)
            .take_while(|(old, new)| old == new)
            .count();
        let last = before[first..]
            .iter()
            .rev()
            .zip(now[first..].iter().rev())
            .take_while(|(old, new)| old == new)
            .count();
        let gone = &before[first..before.len() - last];
        let new = &now[first..now.len() - last];
        let changes: Vec<String> = gone
            .iter()
            .map(|line| format!("- {line}"))
            .chain(new.iter().map(|line| format!("+ {line}")))
            .collect();
        let more = changes.len().saturating_sub(MAX_LINES);
        lines.extend(changes.into_iter().take(MAX_LINES));
        if more > 0 {
            lines.push(format!("… and {more} more lines"));
        }
        lines
    }
}

/// Commands of the call that were accepted for this project, but not as they are defined now.
#[must_use]
pub fn changed_commands(
    facts: &Facts,
    situation: &Situation,
    policy: &Policy,
) -> Vec<ChangedCommand> {
    let Some(project) = situation.roots.workspace.as_deref() else {
        return Vec::new();
    };
    let mut found: Vec<ChangedCommand> = Vec::new();
    for (index, command) in facts.commands.iter().enumerate() {
        let shown = command.display();
        // What defines it is the same: it is the environment that the text has changed.
        if command.environment.is_some() {
            continue;
        }
        if found.iter().any(|known| known.command == shown) {
            continue;
        }
        let key = accepted_key(facts, index);
        let Some(known) = policy.accepted_before(project, &shown) else {
            continue;
        };
        if key.is_some_and(|key| situation.accepted_commands.contains(&key)) {
            continue;
        }
        found.push(ChangedCommand {
            command: shown,
            before: known.map(str::to_owned),
            now: definition_text(facts, index, project),
        });
    }
    found
}
