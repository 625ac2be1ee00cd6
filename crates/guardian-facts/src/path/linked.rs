//! Ordinary names behind well-known ones: a link `.vscode -> vs` makes `vs/tasks.json` what an
//! editor runs, and `.env -> e.txt` makes `e.txt` the secret.
//!
//! A path is judged by its canonical name, and a repository may ship links (SPEC §3: protected
//! files "are always asked about"). So each directory from the workspace down to the path is
//! looked at once per extraction: its links, and the links in those of its directories in which
//! well-known names lie (`.vscode`, `.claude`). The same holds for what the workspace's git says
//! about itself: a `.git` *file* and `core.hooksPath`.
//!
//! Not seen: a link in a directory that is not above the path (`a/.env -> ../b/e.txt` for
//! `b/e.txt`); docs/threat-model.md names it.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::normalise::collapse;
use crate::{FactContext, FileKind, Sensitivity};

/// Entries of one directory that are looked at.
const MAX_ENTRIES: usize = 1_000_000;
/// Levels of a well-known directory that are looked at for links.
const MAX_DEPTH: usize = 4;
/// Well-known directories that are looked at beneath one directory.
const MAX_DIRECTORIES: usize = 1_000;
/// How much of `.git` and of its config is read, in bytes.
const MAX_GIT_FILE: usize = 64 * 1024;

/// What was learned about links while one call was read; clones share it. A new one for each
/// extraction: the answer must not be older than the call.
#[derive(Debug, Clone, Default)]
pub struct LinkedNames(Arc<Mutex<BTreeMap<PathBuf, Arc<DirectoryLinks>>>>);

impl LinkedNames {
    /// Nothing learned yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// The other names of what lies in and beneath one directory.
#[derive(Debug, Default)]
struct DirectoryLinks {
    links: Vec<Link>,
    /// Not all of it could be seen: anything may be linked from here.
    unseen: bool,
}

/// `leads_to` (canonical), and all beneath it, is also known as `name`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Link {
    leads_to: PathBuf,
    name: PathBuf,
}

/// The other names of paths in some part of the workspace, for a caller that asks about many.
#[derive(Debug, Clone, Default)]
pub struct OtherNames {
    above: Vec<Arc<DirectoryLinks>>,
}

impl OtherNames {
    /// Other names of a canonical path.
    pub fn of<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
        self.above
            .iter()
            .flat_map(|directory| &directory.links)
            .filter_map(move |link| {
                let rest = path.strip_prefix(&link.leads_to).ok()?;
                Some(if rest.as_os_str().is_empty() {
                    link.name.clone()
                } else {
                    link.name.join(rest)
                })
            })
    }

    /// Some links could not be seen: any path may have other names.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.above.iter().any(|directory| directory.unseen)
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.above
            .iter()
            .all(|directory| directory.links.is_empty() && !directory.unseen)
    }

    /// Canonical places beneath `directory`, or it itself, that have another name.
    fn within<'a>(&'a self, directory: &'a Path) -> impl Iterator<Item = &'a Link> + 'a {
        self.above
            .iter()
            .flat_map(|above| &above.links)
            .filter(move |link| link.leads_to.starts_with(directory))
    }
}

impl FactContext<'_> {
    /// The other names of what lies at or beneath a canonical path of the workspace. None outside
    /// it: a place there is never ordinary.
    #[must_use]
    pub fn other_names(&self, path: &Path) -> OtherNames {
        let Some(workspace) = self.roots.workspace.as_deref() else {
            return OtherNames::default();
        };
        if !path.starts_with(workspace) || path.starts_with(&self.roots.scratch) {
            return OtherNames::default();
        }
        OtherNames {
            above: path
                .ancestors()
                .take_while(|above| above.starts_with(workspace))
                .map(|directory| self.links_of(directory, directory == workspace))
                .collect(),
        }
    }

    /// The classes that a canonical path has by its other names.
    pub(super) fn classes_by_other_names(
        &self,
        path: &Path,
        kind: Option<FileKind>,
        classes_of: impl Fn(&Path) -> Sensitivity,
    ) -> Sensitivity {
        // What lies in a file is nothing, and a file is not listed.
        let start = match (kind, path.parent()) {
            (Some(FileKind::File | FileKind::Special), Some(parent)) => parent,
            _ => path,
        };
        let names = self.other_names(start);
        let mut sensitivity = Sensitivity::default();
        if names.is_incomplete() {
            sensitivity.secret = true;
            sensitivity.protected = true;
        }
        for name in names.of(path) {
            sensitivity = sensitivity.union(classes_of(&name));
        }
        sensitivity
    }

    /// The classes of other names of what lies in or beneath a directory: what a pattern or a
    /// walk from there could meet.
    pub(super) fn classes_of_links_into(&self, directory: &Path) -> Sensitivity {
        let names = self.other_names(directory);
        let mut sensitivity = Sensitivity::default();
        for link in names.within(directory) {
            sensitivity = sensitivity.union(self.classes.classify(&link.name, &self.roots.home));
        }
        sensitivity
    }

    fn links_of(&self, directory: &Path, is_workspace: bool) -> Arc<DirectoryLinks> {
        let known = self
            .linked
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(directory)
            .cloned();
        if let Some(known) = known {
            return known;
        }
        let mut found = self.look_at_links(directory);
        if is_workspace {
            self.look_at_git(directory, &mut found);
        }
        let found = Arc::new(found);
        self.linked
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(directory.to_owned(), Arc::clone(&found));
        found
    }

    fn look_at_links(&self, top: &Path) -> DirectoryLinks {
        let mut found = DirectoryLinks::default();
        // Nearest first, so that many directories hide none above them.
        let mut open = VecDeque::from([PathBuf::new()]);
        let mut opened = 0;
        while let Some(beneath) = open.pop_front() {
            opened += 1;
            if opened > MAX_DIRECTORIES {
                found.unseen = true;
                break;
            }
            let directory = top.join(&beneath);
            let Some(entries) = self.links_in(&directory, &mut found) else {
                continue;
            };
            open.extend(
                entries
                    .into_iter()
                    .map(|name| beneath.join(name))
                    .filter(|name| self.may_hold_well_known(name)),
            );
        }
        found
    }

    /// Adds the links of one directory; the names of its directories.
    fn links_in(&self, directory: &Path, found: &mut DirectoryLinks) -> Option<Vec<String>> {
        let Some(entries) = self.probe.links_and_directories(directory, MAX_ENTRIES) else {
            // A directory that is not there yet has no links.
            found.unseen |= self.probe.resolve(directory).kind == Some(FileKind::Directory);
            return None;
        };
        let (links, directories): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|entry| entry.is_link);
        for link in links {
            let name = directory.join(link.name);
            let resolved = self.probe.resolve(&name);
            if resolved.error.is_none() && resolved.path != name {
                found.links.push(Link {
                    leads_to: resolved.path,
                    name,
                });
            }
        }
        Some(directories.into_iter().map(|entry| entry.name).collect())
    }

    /// Worth a look for links: well-known names lie in it. `.git` has a look of its own, and what
    /// a package manager put somewhere is no place of links that a repository ships.
    fn may_hold_well_known(&self, beneath: &Path) -> bool {
        beneath.components().count() <= MAX_DEPTH
            && !beneath.starts_with(".git")
            && !beneath.ends_with("node_modules")
            && self.classes.holds_well_known_names(beneath)
    }

    /// Where the workspace's repository keeps what git runs, if not in `.git`.
    fn look_at_git(&self, workspace: &Path, found: &mut DirectoryLinks) {
        let git = workspace.join(".git");
        let mut directory = self.probe.resolve(&git);
        if directory.kind == Some(FileKind::File)
            && let Some(content) = self.probe.read_file(&git, MAX_GIT_FILE)
            && let Some(leads_to) = String::from_utf8_lossy(&content.head)
                .trim()
                .strip_prefix("gitdir:")
                .map(|path| workspace.join(path.trim()))
        {
            directory = self.probe.resolve(&leads_to);
            found.links.push(Link {
                leads_to: directory.path.clone(),
                name: git.clone(),
            });
        }
        if directory.kind != Some(FileKind::Directory) {
            return;
        }
        for place in [directory.path.clone(), directory.path.join("hooks")] {
            self.links_in(&place, found);
        }
        let hooks = self
            .probe
            .read_file(&directory.path.join("config"), MAX_GIT_FILE)
            .and_then(|config| hooks_path(&String::from_utf8_lossy(&config.head)));
        if let Some(hooks) = hooks {
            let place = match hooks.strip_prefix("~/") {
                Some(rest) => self.roots.home.join(rest),
                None => workspace.join(&hooks),
            };
            let resolved = self.probe.resolve(&collapse(&place));
            found.links.push(Link {
                leads_to: resolved.path,
                name: git.join("hooks"),
            });
        }
    }
}

/// The value of `core.hooksPath`. Reads more than git does (any section): it only tightens.
fn hooks_path(config: &str) -> Option<String> {
    config.lines().rev().find_map(|line| {
        let line = line.rsplit_once(']').map_or(line, |(_, rest)| rest);
        let (key, value) = line.split_once('=')?;
        if !key.trim().eq_ignore_ascii_case("hookspath") {
            return None;
        }
        let value = value.trim();
        let value = match value.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap_or(quoted),
            None => value.split([';', '#']).next().unwrap_or(value).trim(),
        };
        (!value.is_empty()).then(|| value.replace("\\\\", "\\"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hooks_path_is_read_in_every_spelling() {
        let value = |text: &str| hooks_path(text);
        assert_eq!(
            value("[core]\n\thooksPath = my/hooks\n"),
            Some("my/hooks".to_owned())
        );
        assert_eq!(
            value("[core] HOOKSPATH=\"my hooks\" # x\n"),
            Some("my hooks".to_owned())
        );
        assert_eq!(
            value("[core]\nhookspath = a\nhookspath = b ; c\n"),
            Some("b".to_owned())
        );
        assert_eq!(value("[core]\nbare = false\n"), None);
        assert_eq!(value("[core]\nhookspath =\n"), None);
    }
}
