//! Names of files that git prints, and who makes words of them. Git prints a blank as it is: a shell
//! that splits `src/b ../x` goes on with another path, so it matters where the names come from.

use std::path::Path;

use super::outputs::{Bound, Files, files, literals};
use super::reader::Reader;
use super::values::{self, Part, Text};
use crate::path::Listed;
use crate::{FileKind, Word};

/// Names of one directory that are looked at.
const MAX_NAMES: usize = 20_000;
/// Largest list of packed refs that is looked at, in bytes.
const MAX_PACKED: usize = 1024 * 1024;

/// Where the names come from, and so where one could lie that a shell would split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamesFrom {
    /// The disk.
    Disk,
    /// The index of the repository.
    Index,
    /// Commits, which are not read.
    History,
}

/// How `xargs` finds the items of its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Items {
    /// By blanks, quotes and backslashes.
    Words,
    /// By lines or NULs: whole names.
    Whole,
    /// `read` takes lines; the shell may split them later.
    Lines,
}

impl Items {
    pub(super) fn begins(self) -> &'static str {
        match self {
            Self::Words => "<words of `",
            Self::Whole => "<an item of `",
            Self::Lines => "<a line of `",
        }
    }

    /// How a command's words say that its input is to be taken apart.
    pub(super) fn of(words: &[Word]) -> Self {
        let literal = |word: Option<&Word>| word.and_then(Word::as_literal).map(str::to_owned);
        let whole = words.iter().enumerate().any(|(at, word)| {
            match word.as_literal().unwrap_or_default() {
                "-0" | "--null" | "-d\\n" | "--delimiter=\\n" => true,
                "-d" | "--delimiter" => literal(words.get(at + 1)).as_deref() == Some("\\n"),
                _ => false,
            }
        });
        if whole { Self::Whole } else { Self::Words }
    }
}

/// The shell, or `xargs`, makes words of what the part stands for.
pub(super) fn part_splits(part: &Part, text: &Text) -> bool {
    let Part::Unknown { written, .. } = part else {
        return false;
    };
    if written.starts_with(Items::Whole.begins()) {
        false
    } else if written.starts_with(Items::Lines.begins()) {
        values::may_split(text)
    } else {
        true
    }
}

impl Reader<'_> {
    /// A name of the index, or one that nobody can look at, is no single path to a shell that splits
    /// it: it goes on with another one.
    pub(super) fn has_split_tracked_names(&self, found: &Files) -> bool {
        match found.from {
            NamesFrom::Disk => false,
            NamesFrom::History => true,
            NamesFrom::Index => {
                let Some(Ok(repository)) = self.repositories.get(&found.base) else {
                    return true;
                };
                repository.index.entries.iter().any(|entry| {
                    let path = repository.workspace.join(&entry.path);
                    path.starts_with(&found.base) && self.cx.is_odd_tracked(&path, &found.name)
                })
            }
        }
    }

    /// No name among the files could be taken for a flag by the program that gets it as a word.
    pub(super) fn begins_no_dash(&self, found: &Files) -> bool {
        if found.is_prefixed {
            return true;
        }
        match found.from {
            NamesFrom::History => false,
            NamesFrom::Index => match self.repositories.get(&found.base) {
                Some(Ok(repository)) => !repository.index.entries.iter().any(|entry| {
                    let path = repository.workspace.join(&entry.path);
                    path.strip_prefix(&found.base)
                        .is_ok_and(|rest| rest.to_string_lossy().starts_with('-'))
                }),
                _ => false,
            },
            NamesFrom::Disk => self
                .cx
                .probe
                .list(&found.base, MAX_NAMES)
                .is_some_and(|names| !names.iter().any(|name| name.starts_with('-'))),
        }
    }

    /// Some branch or tag of the workspace's repository is called like a flag, or not all could be
    /// seen. Git makes none itself; who writes its files can.
    pub(super) fn has_dashed_refs(&self) -> bool {
        let Some(workspace) = &self.cx.roots.workspace else {
            return true;
        };
        let probe = self.cx.probe;
        let git = workspace.join(".git");
        if probe.resolve(&git).kind != Some(FileKind::Directory)
            || probe.resolve(&git.join("reftable")).kind.is_some()
        {
            return true;
        }
        // A branch that is not born yet has no other place.
        let head = probe.read_file(&git.join("HEAD"), MAX_PACKED);
        let is_plain = head.is_some_and(|content| {
            content.size <= MAX_PACKED as u64
                && !String::from_utf8_lossy(&content.head).contains("refs/heads/-")
        });
        if !is_plain {
            return true;
        }
        let is_dashed = |name: &String| name.starts_with('-');
        let in_directory = ["refs/heads", "refs/tags"].iter().any(|directory| {
            let directory = git.join(directory);
            match probe.list(&directory, MAX_NAMES) {
                Some(names) => names.len() >= MAX_NAMES || names.iter().any(is_dashed),
                None => probe.resolve(&directory).kind.is_some(),
            }
        });
        let packed = git.join("packed-refs");
        in_directory
            || match probe.read_file(&packed, MAX_PACKED) {
                Some(content) => {
                    let text = String::from_utf8_lossy(&content.head);
                    content.size > MAX_PACKED as u64
                        || text.contains("refs/heads/-")
                        || text.contains("refs/tags/-")
                }
                None => probe.resolve(&packed).kind.is_some(),
            }
    }

    /// What a git command prints.
    pub(super) fn git(&self, words: &[Word], cwd: Option<&Path>) -> Option<Bound> {
        let words = literals(words)?;
        let (command, rest) = words.split_first()?;
        if let Some(revisions) = super::revisions::printed(&words) {
            return Some(Bound::Revisions(revisions));
        }
        match *command {
            "rev-parse" if rest == ["--abbrev-ref", "HEAD"] => Some(Bound::Branch),
            "branch" if rest == ["--show-current"] => Some(Bound::Branch),
            // Not `describe`: before 2.26 it prints the name that stands in the tag, which may be any.
            "ls-files" | "diff" | "grep" => {
                let cwd = cwd?;
                // Of a word that could be a path and a revision git does not take either.
                let is_path = |word: &str| self.cx.probe.resolve(&cwd.join(word)).kind.is_some();
                git_names(command, rest, cwd, &is_path).map(Bound::Files)
            }
            _ => None,
        }
    }
}

/// `git ls-files`, `git diff --name-only`, `git grep -l`.
fn git_names(
    command: &str,
    words: &[&str],
    cwd: &Path,
    is_path: &dyn Fn(&str) -> bool,
) -> Option<Files> {
    let (mut names, mut name) = (command == "ls-files", None);
    let mut several = false;
    let mut behind_dashes = false;
    let mut has_pattern = command != "grep";
    let (mut revisions, mut shows_deleted) = (0, true);
    let (mut others, mut ignores, mut cached) = (false, false, false);
    for word in words {
        match *word {
            "--name-only" | "-l" => names = true,
            "--" if !behind_dashes => behind_dashes = true,
            "--cached" | "--staged" => cached = true,
            "-o" | "--others" => others = true,
            "--exclude-standard" => ignores = true,
            "-z" | "-m" | "--modified" | "-i" | "-E" | "-F" | "-w" => {}
            _ if word.starts_with("--diff-filter=") => {
                let kinds = word.trim_start_matches("--diff-filter=");
                let chosen = kinds.chars().any(char::is_uppercase);
                shows_deleted = kinds.contains(['D', '*']) || !chosen && !kinds.contains('d');
            }
            _ if word.starts_with('-') || word.starts_with(':') => return None,
            _ if !has_pattern => {
                has_pattern = true;
                several = true;
            }
            _ if word.starts_with("*.") && !word.contains(['/', '\\', '{']) => {
                several |= name.is_some();
                name = Some((*word).to_owned());
            }
            _ if behind_dashes || command == "ls-files" => several = true,
            "HEAD" => revisions += 1,
            _ if is_path(word) => several = true,
            // `a..b` are two
            _ => revisions += 1 + usize::from(word.contains("..")),
        }
    }
    if cached && command == "diff" {
        revisions = revisions.max(1);
    }
    let from = match (command, revisions) {
        (_, 0) => NamesFrom::Index,
        // What was not deleted since is in the index.
        ("diff", 1) if !shows_deleted => NamesFrom::Index,
        _ => NamesFrom::History,
    };
    let name = name
        .filter(|_| !several && command != "grep")
        .unwrap_or_else(|| "*".to_owned());
    let listed = if others && !ignores {
        Listed::All
    } else {
        Listed::Tracked
    };
    names
        .then(|| files(&[], name, cwd, listed))
        .flatten()
        .map(|found| Files { from, ..found })
}
