//! One line for people: the most important things that a call does.

use crate::{
    Access, AccessDetail, AccessKind, AccessSource, CommandFact, Effect, Effects, FactContext,
    Facts, FileKind, Reading, Scope, Target,
};

/// Parts that fit on the line.
const MAX_PARTS: usize = 4;
/// Accesses that are compared with each other.
const MAX_COMPARED: usize = 64;
/// Characters of a name on the line.
const MAX_NAME: usize = 60;

/// The line.
pub(super) fn summary(facts: &Facts, cx: &FactContext<'_>) -> String {
    if facts.commands.is_empty() {
        return match facts.reading {
            Reading::Complete => "does nothing".to_owned(),
            Reading::Partial => "runs text that could not be read".to_owned(),
        };
    }
    let mut parts: Vec<String> = Vec::new();
    let mut add = |part: String| {
        if !parts.contains(&part) {
            parts.push(part);
        }
    };
    for (index, command) in facts.commands.iter().enumerate() {
        if let Some(part) = grave(index, command, facts, cx) {
            add(part);
        }
    }
    for (kind, verb) in [
        (AccessKind::Delete, "deletes"),
        (AccessKind::Write, "writes"),
    ] {
        for access in facts.accesses.iter().filter(|access| access.kind == kind) {
            if is_told_otherwise(access, facts) {
                continue;
            }
            let verb = match access.detail {
                AccessDetail::Rename => "moves",
                AccessDetail::Permissions => "changes permissions of",
                AccessDetail::Device => "writes raw bytes to",
                _ => verb,
            };
            add(format!("{verb} {}", target(access, cx)));
        }
    }
    for access in facts
        .accesses
        .iter()
        .filter(|access| access.kind == AccessKind::Read)
    {
        if let Target::Exact(path) = &access.target
            && (path.sensitivity.secret || path.sensitivity.sensitive)
        {
            add(format!("reads {}", target(access, cx)));
        }
    }
    for command in &facts.commands {
        if let Some(part) = ordinary(command) {
            add(part);
        }
    }
    let quiet = facts
        .commands
        .iter()
        .filter(|command| is_quiet(command))
        .count();
    if parts.is_empty() {
        parts.push(match quiet {
            1 => format!(
                "runs {}",
                shorten(
                    &facts
                        .commands
                        .first()
                        .map(CommandFact::display)
                        .unwrap_or_default()
                )
            ),
            count => format!("runs {count} read-only commands"),
        });
    }
    let more = parts.len().saturating_sub(MAX_PARTS);
    parts.truncate(MAX_PARTS);
    let mut line = parts.join(", ");
    if more > 0 {
        line.push_str(&format!(", and {more} more"));
    }
    if facts.reading == Reading::Partial {
        line.push_str("; part of the text could not be read");
    }
    line
}

/// A write that another part of the line tells better, or that hardly is one: what a branch is
/// called is no file, and a destination is either a file or a directory.
fn is_told_otherwise(access: &Access, facts: &Facts) -> bool {
    let (Target::Exact(path), AccessSource::Command(index)) = (&access.target, access.source)
    else {
        return false;
    };
    let few = facts.accesses.len() <= MAX_COMPARED;
    if access.kind != AccessKind::Write || !path.sensitivity.is_ordinary() || !few {
        return false;
    }
    let is_git = facts.commands.get(index).is_some_and(|command| {
        command.program.name.as_deref() == Some("git") && command.has(Effect::GitChange)
    });
    if is_git && path.kind.is_none() {
        return true;
    }
    let mut others = facts.accesses.iter().filter_map(|other| {
        let same = other.kind == AccessKind::Write && other.source == access.source;
        other.exact().filter(|_| same)
    });
    others.any(|other| {
        let beneath = other.path.parent() == Some(path.path.as_path());
        let above = path.path.parent() == Some(other.path.as_path());
        let is_directory = |kind: Option<FileKind>| kind == Some(FileKind::Directory);
        (beneath && is_directory(path.kind)) || (above && !is_directory(other.kind))
    })
}

fn is_quiet(command: &CommandFact) -> bool {
    command.effects_known == Effects::Known
}

/// Things that are told first.
fn grave(
    index: usize,
    command: &CommandFact,
    facts: &Facts,
    cx: &FactContext<'_>,
) -> Option<String> {
    let name = shorten(&command.display());
    if command.has(Effect::ForkBomb) {
        return Some("multiplies itself without end".to_owned());
    }
    if command.has(Effect::RunsRemoteCode) {
        return Some(format!("runs code from the network with `{name}`"));
    }
    if command.has(Effect::Privilege) {
        return Some(format!("gains privilege with `{name}`"));
    }
    if command.has(Effect::Network) {
        let host = facts
            .endpoints
            .iter()
            .find(|endpoint| endpoint.command == Some(index))
            .and_then(|endpoint| endpoint.host.clone())
            .unwrap_or_else(|| "the network".to_owned());
        let sent = facts.accesses.iter().find(|access| {
            access.kind == AccessKind::Read
                && matches!(&access.target, Target::Exact(path) if path.sensitivity.secret || path.sensitivity.sensitive)
        });
        return Some(match sent {
            Some(access) => format!("sends {} to {host}", target(access, cx)),
            None => format!("reaches {host}"),
        });
    }
    if command.has(Effect::Destructive) {
        return Some(format!("throws away work with `{name}`"));
    }
    None
}

fn ordinary(command: &CommandFact) -> Option<String> {
    if command.wrapper {
        return None;
    }
    let name = shorten(&command.display());
    let verb = if command.has(Effect::Installs) {
        "installs or removes packages with"
    } else if command.has(Effect::Publishes) {
        "publishes with"
    } else if command.has(Effect::HistoryRewrite) {
        "rewrites history with"
    } else if command.has(Effect::GitRecord) {
        "records changes with"
    } else if command.has(Effect::GitChange) {
        "changes the repository with"
    } else if command.has(Effect::Persistence) {
        "makes code run later with"
    } else if command.has(Effect::SystemChange) {
        "changes the system with"
    } else if command.has(Effect::RemoteHost) {
        "acts elsewhere with"
    } else if command.has(Effect::RunsProjectCode) {
        "runs code of the project with"
    } else if command.has(Effect::RunsCode) {
        "runs code with"
    } else if command.has(Effect::BulkWrite) {
        "changes many files with"
    } else if command.has(Effect::ReadsEnvironment) {
        "lists the environment with"
    } else if command.effects_known == Effects::Opaque {
        "runs unknown program"
    } else {
        return None;
    };
    Some(format!("{verb} `{name}`"))
}

fn target(access: &Access, cx: &FactContext<'_>) -> String {
    let name = match &access.target {
        Target::Exact(path) => {
            let shown = shorten(&cx.roots.display(&path.path));
            let is_tree = match path.kind {
                Some(FileKind::Directory) => true,
                Some(_) => false,
                None => access.kind == AccessKind::Delete && access.detail == AccessDetail::Plain,
            };
            let slash = if access.recursive && is_tree && !shown.ends_with('/') {
                "/"
            } else {
                ""
            };
            let place = match path.scope {
                Scope::Workspace => " in the workspace",
                Scope::Scratch => " in scratch",
                Scope::Outside | Scope::ScratchEscape => "",
            };
            return format!("{shown}{slash}{place}");
        }
        Target::Pattern { written, .. } => shorten(written),
        Target::Unknown {
            temporary: true, ..
        } => return "a temporary path".to_owned(),
        Target::Unknown { written, .. } => shorten(written),
    };
    format!("`{name}`")
}

fn shorten(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .take(MAX_NAME)
        .collect();
    if text.chars().count() > MAX_NAME {
        format!("{line}…")
    } else {
        line
    }
}
