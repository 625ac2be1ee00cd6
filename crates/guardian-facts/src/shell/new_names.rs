//! Names that a text makes for what is there already: `ln -s .git/hooks x; echo … > x/pre-commit`.
//!
//! Paths are placed by the disk as it is before the text runs, where `x` leads nowhere yet. So what
//! the commands of a text make is followed once all of it was read: an access at or beneath a new
//! link is an access to what the link leads to as well, and one beneath a moved or copied directory
//! is one through the links that lie in it now. The order is not looked at: a loop or a job in the
//! background may come round.
//!
//! What an archive, a branch or a clone brings is not known: a write that may go through a link from
//! there is noted (docs/adr/0026).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::command::{CommandFact, Effect};
use crate::opacity;
use crate::path::{collapse, matches_component};
use crate::{
    Access, AccessDetail, AccessKind, AccessSource, FactContext, Facts, FileKind, Scope, Target,
};

/// New names that are followed; beyond, a text may lead anywhere.
const MAX_NAMES: usize = 64;
/// Links that one path is followed through.
const MAX_STEPS: usize = 32;
/// Programs that unpack what somebody else packed, links included.
const UNPACKERS: [&str; 12] = [
    "tar", "bsdtar", "gtar", "unzip", "7z", "7za", "7zr", "unrar", "unar", "cpio", "pax", "ar",
];
/// Programs that put no content behind the last component of the path that they are given: they
/// make a directory or a name, or change what is not content.
const NO_CONTENT: [&str; 9] = [
    "mkdir", "touch", "ln", "mv", "chmod", "chown", "rmdir", "rm", "git",
];

/// A name that a command makes.
struct NewName {
    /// Where it lies, by the disk as it is.
    place: PathBuf,
    leads_to: LeadsTo,
    command: usize,
}

enum LeadsTo {
    /// A link leads there.
    Linked(Target),
    /// It is what lies at this path, which is no link by itself unless one lies there.
    Moved(PathBuf),
}

/// Follows the names that the commands make, and adds what the others touch through them.
pub(super) fn follow(facts: &mut Facts, cx: &FactContext<'_>) {
    // Who is alone makes a name for nobody.
    if facts.commands.len() < 2 {
        return;
    }
    let makers = Makers::of(facts);
    if makers.is_empty() {
        return;
    }
    let own = own_accesses(facts);
    let names = new_names(facts, &makers, &own, cx);
    let brought = brought(facts, &makers, &own, cx);
    if !names.is_empty() {
        let mut found = Vec::new();
        for access in &facts.accesses {
            through(access, &names, &makers, facts, cx, &mut found);
        }
        facts.accesses.extend(found);
    }
    if !brought.is_empty() {
        note_brought(facts, &brought);
    }
}

/// Which commands make names.
#[derive(Default)]
struct Makers {
    linking: BTreeSet<usize>,
    moving: BTreeSet<usize>,
    bringing: BTreeSet<usize>,
}

impl Makers {
    fn of(facts: &Facts) -> Self {
        let mut makers = Self::default();
        for opacity in facts
            .opacity
            .iter()
            .filter(|opacity| opacity.code == opacity::LINK)
        {
            makers.linking.extend(opacity.command);
        }
        for access in &facts.accesses {
            if access.detail == AccessDetail::Rename {
                makers.moving.extend(command_index(access));
            }
        }
        for (index, command) in facts.commands.iter().enumerate() {
            let name = command.program.name.as_deref().unwrap_or_default();
            if name == "cp" {
                makers.moving.insert(index);
            }
            let brings = command.has(Effect::BulkWrite) && !command.has(Effect::Installs);
            if brings || name == "git" {
                makers.bringing.insert(index);
            }
        }
        let is_elsewhere = |index: &usize| {
            facts
                .commands
                .get(*index)
                .is_none_or(|command| command.place.elsewhere)
        };
        for set in [
            &mut makers.linking,
            &mut makers.moving,
            &mut makers.bringing,
        ] {
            set.retain(|index| !is_elsewhere(index));
        }
        makers
    }

    fn is_empty(&self) -> bool {
        self.linking.is_empty() && self.moving.is_empty() && self.bringing.is_empty()
    }
}

fn command_index(access: &Access) -> Option<usize> {
    match access.source {
        AccessSource::Command(index) | AccessSource::Redirect(index) => Some(index),
        AccessSource::PathArgument | AccessSource::Walk | AccessSource::Declared => None,
    }
}

/// The accesses of each command, without its redirects.
fn own_accesses(facts: &Facts) -> BTreeMap<usize, Vec<&Access>> {
    let mut own: BTreeMap<usize, Vec<&Access>> = BTreeMap::new();
    for access in &facts.accesses {
        if let AccessSource::Command(index) = access.source {
            own.entry(index).or_default().push(access);
        }
    }
    own
}

fn new_names(
    facts: &Facts,
    makers: &Makers,
    own: &BTreeMap<usize, Vec<&Access>>,
    cx: &FactContext<'_>,
) -> Vec<NewName> {
    let mut names = Vec::new();
    for &index in makers.linking.union(&makers.moving) {
        if names.len() > MAX_NAMES {
            break;
        }
        let (Some(command), Some(own)) = (facts.commands.get(index), own.get(&index)) else {
            continue;
        };
        let links = makers.linking.contains(&index);
        let kept = has_letter(command, &['n', 'T']);
        for access in own.iter().filter(|access| access.kind == AccessKind::Write) {
            let (place, is_pattern) = match &access.target {
                // A link into a directory lies in it.
                Target::Exact(fact) if fact.kind == Some(FileKind::Directory) && !kept && links => {
                    continue;
                }
                Target::Exact(fact) => (fact.path.clone(), false),
                Target::Pattern { base, .. } => (base.path.clone(), true),
                // Such a write is asked about by itself.
                Target::Unknown { .. } => continue,
            };
            for source in own {
                if names.len() > MAX_NAMES {
                    break;
                }
                let leads_to = if links && source.kind == AccessKind::Read {
                    LeadsTo::Linked(leads_to(source, command, &place, is_pattern, cx))
                } else if let Some(from) = source.exact().filter(|_| {
                    source.kind == AccessKind::Read || source.detail == AccessDetail::Rename
                }) {
                    LeadsTo::Moved(entry(from, command, cx))
                } else {
                    continue;
                };
                names.push(NewName {
                    place: place.clone(),
                    leads_to,
                    command: index,
                });
            }
        }
    }
    names
}

/// A flag of one letter, alone or with others.
fn has_letter(command: &CommandFact, letters: &[char]) -> bool {
    command.argv.iter().skip(1).any(|word| {
        let text = word.literal_prefix();
        text.strip_prefix('-')
            .is_some_and(|flags| !flags.starts_with('-') && flags.contains(letters))
    })
}

/// Where a link leads. The text of a symbolic link means what it means where the link lies.
fn leads_to(
    source: &Access,
    command: &CommandFact,
    place: &Path,
    is_pattern: bool,
    cx: &FactContext<'_>,
) -> Target {
    let Target::Exact(fact) = &source.target else {
        return source.target.clone();
    };
    let relative = has_letter(command, &['r'])
        || command
            .argv
            .iter()
            .any(|word| word.literal_prefix().starts_with("--r"));
    let symbolic = has_letter(command, &['s'])
        || command
            .argv
            .iter()
            .any(|word| word.literal_prefix().starts_with("--s"));
    if !symbolic || relative || fact.written.starts_with('/') {
        return source.target.clone();
    }
    let directory = if is_pattern {
        Some(place)
    } else {
        place.parent()
    };
    let Some(directory) = directory else {
        return source.target.clone();
    };
    match cx.target(&fact.written, directory) {
        // A directory that the text makes is none yet.
        Target::Unknown { .. } => cx.target(
            &collapse(&directory.join(&fact.written)).to_string_lossy(),
            Path::new("/"),
        ),
        target => target,
    }
}

/// The entry of the directory that is moved or copied, a link as the link that it is.
fn entry(fact: &crate::PathFact, command: &CommandFact, cx: &FactContext<'_>) -> PathBuf {
    let base = command.cwd.as_deref().unwrap_or_else(|| Path::new("/"));
    let written = fact.written.trim_end_matches('/');
    let placed = cx.place_entry(written, base);
    // The words may mean another directory than the command's (`git -C`).
    if cx.probe.resolve(&placed.path).path == fact.path {
        placed.path
    } else {
        fact.path.clone()
    }
}

/// What an access reaches through the new names.
fn through(
    access: &Access,
    names: &[NewName],
    makers: &Makers,
    facts: &Facts,
    cx: &FactContext<'_>,
    found: &mut Vec<Access>,
) {
    let Some(index) = command_index(access) else {
        return;
    };
    let Some(command) = facts
        .commands
        .get(index)
        .filter(|command| !command.place.elsewhere)
    else {
        return;
    };
    // Where a link is made anew, only links of before can stand in its way.
    let makes_links = makers.linking.contains(&index);
    let mut add = |target: Target| {
        found.push(Access {
            target,
            ..access.clone()
        });
    };
    if names.len() > MAX_NAMES {
        if access.is_change() && !makes_links {
            add(unknown(access, "more links are made than are followed"));
        }
        return;
    }
    let fact = match &access.target {
        Target::Exact(fact) => fact,
        Target::Pattern { pattern, .. } => {
            for name in names.iter().filter(|name| name.command != index) {
                if let Some(target) = matched(pattern, name, cx) {
                    add(target);
                }
            }
            return;
        }
        Target::Unknown { .. } => return,
    };
    // `x/../y` means what `..` means where `x` leads.
    if fact.written.contains("..")
        && names.iter().any(|name| {
            name.command != index
                && name.place.file_name().is_some_and(|last| {
                    Path::new(&fact.written)
                        .components()
                        .any(|component| component.as_os_str() == last)
                })
        })
    {
        add(unknown(
            access,
            "a link that the text makes stands in front of `..`",
        ));
        return;
    }
    // The name itself is taken away, or made anew.
    let is_entry = access.kind == AccessKind::Delete
        || access.kind == AccessKind::Write
            && (makes_links || matches!(command.program.name.as_deref(), Some("mv")));
    let is_before =
        |name: &&NewName| name.command != index && !(makes_links && index < name.command);
    let mut open = vec![fact.path.clone()];
    let mut seen: BTreeSet<PathBuf> = BTreeSet::from([fact.path.clone()]);
    while let Some(path) = open.pop() {
        for name in names.iter().filter(is_before) {
            let Ok(rest) = path.strip_prefix(&name.place) else {
                let walked = access.recursive
                    && access.kind == AccessKind::Read
                    && name.place.starts_with(&path);
                if walked && let LeadsTo::Linked(target) = &name.leads_to {
                    add(target.clone());
                }
                continue;
            };
            if rest.as_os_str().is_empty() && is_entry {
                continue;
            }
            let next = match &name.leads_to {
                LeadsTo::Linked(Target::Exact(target)) => {
                    let next = joined(&target.path, rest);
                    add(placed(&next, fact, cx));
                    next
                }
                LeadsTo::Linked(target) => {
                    add(target.clone());
                    continue;
                }
                LeadsTo::Moved(from) => {
                    let next = joined(from, rest);
                    let resolved = cx.probe.resolve(&next);
                    if resolved.path != next {
                        add(placed(&next, fact, cx));
                        add(unknown(access, "a link that is moved may lead elsewhere"));
                    } else if access.kind == AccessKind::Execute {
                        // What runs is that file.
                        add(placed(&next, fact, cx));
                    }
                    next
                }
            };
            if seen.len() > MAX_STEPS {
                add(unknown(access, "links that the text makes lead too far"));
                return;
            }
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
}

fn joined(directory: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() {
        directory.to_owned()
    } else {
        directory.join(rest)
    }
}

/// The path as a target that is called as the text calls it.
fn placed(path: &Path, fact: &crate::PathFact, cx: &FactContext<'_>) -> Target {
    let mut target = cx.target(&collapse(path).to_string_lossy(), Path::new("/"));
    if let Target::Exact(placed) = &mut target {
        placed.written.clone_from(&fact.written);
    }
    target
}

fn unknown(access: &Access, reason: &str) -> Target {
    let written = match &access.target {
        Target::Exact(fact) => fact.written.clone(),
        Target::Pattern { written, .. } | Target::Unknown { written, .. } => written.clone(),
    };
    Target::Unknown {
        written,
        reason: reason.to_owned(),
        when_empty: None,
        temporary: false,
    }
}

/// What a pattern may reach through a new name that it may match.
fn matched(pattern: &str, name: &NewName, cx: &FactContext<'_>) -> Option<Target> {
    let LeadsTo::Linked(target) = &name.leads_to else {
        return None;
    };
    let components: Vec<&str> = pattern.split('/').filter(|text| !text.is_empty()).collect();
    let mut at = 0;
    for place in name.place.iter().skip(1) {
        match components.get(at) {
            Some(&"**") => {
                at = behind_any_depth(&components, at + 1, &name.place);
                break;
            }
            Some(component) if matches_component(component, &place.to_string_lossy()) => at += 1,
            _ => return None,
        }
    }
    let rest = components.get(at..).unwrap_or_default();
    let Target::Exact(fact) = target else {
        return Some(target.clone());
    };
    let beneath = format!("{}/{}", fact.path.to_string_lossy(), rest.join("/"));
    Some(cx.pattern(beneath.trim_end_matches('/'), Path::new("/")))
}

/// Where the components go on beneath the place when `**` stands for directories above it: behind
/// the one that is the place's own name, or else at the end, which is the place and all beneath it.
fn behind_any_depth(components: &[&str], from: usize, place: &Path) -> usize {
    let fits = |at: &usize| {
        components
            .get(from..=*at)
            .unwrap_or_default()
            .iter()
            .rev()
            .zip(place.iter().rev())
            .all(|(component, name)| matches_component(component, &name.to_string_lossy()))
    };
    (from..components.len())
        .find(fits)
        .map_or(components.len(), |at| at + 1)
}

/// Something is brought from where nothing is known of.
struct Brought {
    /// The first command that does.
    command: usize,
    beneath: PathBuf,
    unpacked: bool,
}

fn brought(
    facts: &Facts,
    makers: &Makers,
    own: &BTreeMap<usize, Vec<&Access>>,
    cx: &FactContext<'_>,
) -> Vec<Brought> {
    let mut found: BTreeMap<(PathBuf, bool), usize> = BTreeMap::new();
    for &index in &makers.bringing {
        let Some(command) = facts.commands.get(index) else {
            continue;
        };
        let name = command.program.name.as_deref().unwrap_or_default();
        let unpacked = UNPACKERS.contains(&name);
        // Git brings what it writes by name, too (`git checkout other -- a`).
        let mut places: Vec<PathBuf> = own
            .get(&index)
            .into_iter()
            .flatten()
            .filter(|access| access.kind == AccessKind::Write)
            .filter_map(|access| Some(access.exact()?.path.clone()))
            .collect();
        let too_many = found.len() + places.len() > MAX_NAMES;
        if too_many || name == "git" && command.has(Effect::BulkWrite) {
            places.extend(cx.roots.workspace.clone());
        } else if name != "git" && places.is_empty() {
            places.extend(command.cwd.clone());
        }
        if too_many {
            places.retain(|place| Some(place) == cx.roots.workspace.as_ref());
        }
        for beneath in places {
            found.entry((beneath, unpacked)).or_insert(index);
        }
    }
    let brought = found.into_iter();
    brought
        .map(|((beneath, unpacked), command)| Brought {
            command,
            beneath,
            unpacked,
        })
        .collect()
}

/// Notes the writes that may go through what was brought.
fn note_brought(facts: &mut Facts, brought: &[Brought]) {
    let in_background = facts
        .commands
        .iter()
        .any(|command| command.place.background);
    let mut unknown_writes = Vec::new();
    for (at, access) in facts.accesses.iter().enumerate() {
        let Some(index) = command_index(access) else {
            continue;
        };
        let puts_content = access.kind == AccessKind::Write
            && access.detail != AccessDetail::Permissions
            && facts.commands.get(index).is_some_and(|command| {
                let name = command.program.name.as_deref().unwrap_or_default();
                matches!(access.source, AccessSource::Redirect(_)) || !NO_CONTENT.contains(&name)
            });
        let Some(fact) = access.exact().filter(|_| puts_content) else {
            continue;
        };
        let mut behind = brought.iter().filter(|brought| {
            let later = brought.command < index || in_background && brought.command != index;
            later && fact.path.starts_with(&brought.beneath)
        });
        let Some(first) = behind.next() else {
            continue;
        };
        if first.unpacked || behind.any(|brought| brought.unpacked) {
            unknown_writes.push(Access {
                target: unknown(access, "a link that was unpacked may lead anywhere"),
                ..access.clone()
            });
        } else if fact.scope == Scope::Workspace {
            facts.maybe_linked.push(at);
        }
    }
    facts.accesses.extend(unknown_writes);
}
