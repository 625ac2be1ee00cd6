use std::path::{Component, Path, PathBuf};

use guardian_facts::{
    Access, AccessDetail, AccessKind, AccessSource, CommandFact, RootPaths, Word,
};

use super::{FloorHit, floor_rule};
use crate::evaluate::View;
use crate::evaluate::cover::{target_text, verb};
use crate::policy::command_of;
use crate::verdict::{Cause, Decision};

floor_rule! {
    /// Asks a human before a command reads, moves, links or lists everything beneath a directory that
    /// holds the home directory, or guardian's own files, or gives it to a container: `~/.ssh` and the
    /// like lie in it.
    ///
    /// The command would read what is denied by name. Name the directories that are needed instead.
    /// A search for names (`find ~ -name '*.pdf'`) prints those only and is not asked about. All of a
    /// directory of keys (`~/.ssh`, `~/.gnupg`, `~/.aws`, `~/.kube`) is denied.
    ///
    /// To lift it: `overrides = ["floor.sensitive-beneath"]` in the managed or the user's file.
    "floor.sensitive-beneath", "reading all of home", AskHuman, judge,
    examples: [
        ("tar cf - ~ | wc -c", Some(Decision::Ask)),
        ("grep -r BEGIN ~/.ssh", Some(Decision::Deny)),
        ("mv ~/.ssh x", Some(Decision::Deny)),
        ("zip -r x.zip ~/.ssh", Some(Decision::Deny)),
        ("ln -s ~ x", Some(Decision::Ask)),
        ("ls -R ~", Some(Decision::Ask)),
        ("find ~ -name '*.pdf'", None),
        ("docker run -v /:/host image", Some(Decision::Ask)),
        ("tar cf - src | wc -c", None),
    ]
}

fn judge(view: &View<'_>) -> Vec<FloorHit> {
    let roots = &view.situation.roots;
    let given = view.facts.commands.iter().flat_map(|command| {
        mounts(command)
            .into_iter()
            .filter(|source| holds_all(source, roots) || is_key_directory(source))
            .map(|source| {
                FloorHit::ask(format!(
                    "`{}` gives a container everything beneath `{}`",
                    command.display(),
                    source.display()
                ))
            })
    });
    let reached = view
        .facts
        .accesses
        .iter()
        .filter(|access| reaches_all(view, access))
        .filter_map(|access| {
            let path = &access.exact()?.path;
            if is_key_directory(path) {
                let reason = format!(
                    "it {} all of `{}`, a directory of keys",
                    verb(access),
                    target_text(access)
                );
                return Some(FloorHit::deny(reason).because(Cause::SensitivePath));
            }
            holds_all(path, roots).then(|| {
                FloorHit::ask(format!(
                    "it {} everything beneath `{}`, sensitive paths included",
                    verb(access),
                    target_text(access)
                ))
            })
        });
    reached.chain(given).collect()
}

/// Home, or guardian's own files, lie beneath it.
fn holds_all(path: &Path, roots: &RootPaths) -> bool {
    roots.home.starts_with(path)
        || roots.guardian_data.starts_with(path)
        || roots
            .guardian_config
            .iter()
            .any(|config| config.starts_with(path))
}

/// It reads the whole tree, takes it away, or makes it reachable under another name.
fn reaches_all(view: &View<'_>, access: &Access) -> bool {
    let links = || {
        command_of(view.facts, access.source)
            .is_some_and(|command| command.program.name.as_deref() == Some("ln"))
    };
    match access.kind {
        AccessKind::Read => access.recursive && access.source != AccessSource::Walk || links(),
        AccessKind::List => {
            links()
                || access.recursive
                    && command_of(view.facts, access.source).is_some_and(prints_all_names)
        }
        AccessKind::Delete => access.recursive || access.detail == AccessDetail::Rename,
        AccessKind::Write => access.recursive && access.detail == AccessDetail::Permissions,
        AccessKind::Execute => false,
    }
}

fn is_key_directory(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| [".ssh", ".gnupg", ".aws", ".kube"].contains(&name))
}

/// A walk of this command prints every name that it meets.
fn prints_all_names(command: &CommandFact) -> bool {
    let words: Vec<String> = command.argv.iter().skip(1).map(Word::display).collect();
    let value_of = |flags: &[&str]| {
        let behind = words.iter().zip(words.iter().skip(1));
        behind
            .filter(|(word, _)| flags.contains(&word.as_str()))
            .map(|(_, value)| value.as_str())
            .next()
    };
    let narrows = |pattern: &str| pattern.contains(|c: char| c.is_alphanumeric());
    match command.program.name.as_deref().unwrap_or_default() {
        "find" | "gfind" => {
            let names = ["-name", "-iname", "-path", "-ipath", "-wholename", "-regex"];
            let searches = value_of(&names).is_some_and(narrows);
            let negated = words.iter().any(|word| word == "!" || word == "-not");
            let one_level = matches!(value_of(&["-maxdepth"]), Some("0" | "1"));
            !(searches && !negated || one_level)
        }
        "fd" | "fdfind" => !words
            .iter()
            .any(|word| !word.starts_with('-') && !word.contains('/') && narrows(word)),
        "tree" => !matches!(value_of(&["-L"]), Some("1")),
        "du" => {
            let totals = |word: &String| {
                word == "--summarize"
                    || word
                        .strip_prefix('-')
                        .is_some_and(|short| !short.starts_with('-') && short.contains('s'))
            };
            let shallow = words.iter().any(|word| {
                matches!(
                    word.as_str(),
                    "-d0" | "-d1" | "--max-depth=0" | "--max-depth=1"
                )
            }) || matches!(value_of(&["-d", "--max-depth"]), Some("0" | "1"));
            !(words.iter().any(totals) || shallow)
        }
        _ => true,
    }
}

/// Directories of this machine that a container gets.
fn mounts(command: &CommandFact) -> Vec<PathBuf> {
    let name = command.program.name.as_deref().unwrap_or_default();
    if !["docker", "podman", "nerdctl"].contains(&name) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut before = String::new();
    for word in command.argv.iter().skip(1).map(Word::display) {
        let volume = match before.as_str() {
            "-v" | "--volume" => Some(word.as_str()),
            _ => word
                .strip_prefix("--volume=")
                .or_else(|| word.strip_prefix("-v").filter(|rest| !rest.is_empty())),
        };
        let mount = match before.as_str() {
            "--mount" => Some(word.as_str()),
            _ => word.strip_prefix("--mount="),
        };
        let of_volume = volume.and_then(|volume| volume.split(':').next());
        let of_mount = mount.into_iter().flat_map(|mount| {
            mount.split(',').filter_map(|part| {
                part.strip_prefix("source=")
                    .or_else(|| part.strip_prefix("src="))
            })
        });
        let sources = of_volume.into_iter().chain(of_mount);
        found.extend(sources.filter_map(|source| placed(source, command.cwd.as_deref())));
        before = word;
    }
    found
}

/// Where a source lies, by its text: `..` takes the name before it away. A name without a slash is
/// a volume of the engine.
fn placed(source: &str, cwd: Option<&Path>) -> Option<PathBuf> {
    let source = source.trim_start_matches('=');
    let is_path = source.starts_with(['/', '.']);
    let whole = cwd.unwrap_or(Path::new("/")).join(source);
    let mut path = PathBuf::new();
    for part in whole.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                path.pop();
            }
            part => path.push(part),
        }
    }
    is_path.then_some(path)
}
