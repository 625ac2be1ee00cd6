//! Files that a command names for another one (`find src | xargs …`, `git ls-files`): which of them
//! could be more than ordinary files.

use std::path::{Path, PathBuf};

use super::pattern::{matcher, wider};
use crate::{FactContext, FileKind, PathFact, Scope, Sensitivity, Target};

/// Entries of one look (SPEC §7.4).
const MAX_ENTRIES: usize = 20_000;
/// Special files that are placed one by one.
const MAX_SPECIAL: usize = 64;
/// Directories that hold what is made, not what is kept.
const MADE: &[&str] = &[
    "node_modules",
    "target",
    ".venv",
    "venv",
    "dist",
    "build",
    "__pycache__",
    ".next",
    ".turbo",
    ".cache",
];

/// Which files a list of names is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    /// All that there are.
    All,
    /// What version control keeps: nothing in `.git` and in directories of what is made.
    Kept,
    /// What version control knew once, whatever lies there now: a directory may have become a link.
    Tracked,
}

impl FactContext<'_> {
    /// The target for one of the files beneath `base` whose last component fits `name`, after a
    /// bounded look at them. `None` where the look does not tell: too many files, or names that a
    /// shell would split into other paths.
    pub(crate) fn files_beneath(
        &self,
        written: &str,
        base: &Path,
        name: &str,
        listed: Listed,
    ) -> Option<Target> {
        let mut base = self.locate(base.to_str()?, Path::new("/")).ok()?;
        if base.kind == Some(FileKind::File) {
            written.clone_into(&mut base.written);
            return Some(Target::Exact(base));
        }
        let may_match = match self.look_at_files(&base, name, listed) {
            Look::Seen(scope, sensitivity) => {
                base.scope = wider(base.scope, scope);
                sensitivity
            }
            Look::Odd => return None,
            Look::TooMany if base.scope == Scope::Workspace && is_telling(name) => {
                let path = base.path.join(name.replace(['*', '?'], "x"));
                self.classes
                    .classify(&path, &self.roots.home)
                    .union(self.classes_of_links_into(&base.path))
            }
            Look::TooMany => return None,
        };
        Some(Target::Pattern {
            written: written.to_owned(),
            pattern: format!(
                "{}/**/{name}",
                base.path.to_string_lossy().trim_end_matches('/')
            ),
            may_match: may_match.union(base.sensitivity),
            base,
        })
    }

    /// A name in the directory or beneath it ends in a blank: a shell that splits the path goes on
    /// with another one. True as well where not all could be seen.
    pub(crate) fn has_split_names(&self, directory: &Path) -> bool {
        let is_odd = |path: &Path| path.file_name().is_some_and(splits);
        match self.probe.resolve(directory).kind {
            Some(FileKind::Directory) => {
                self.probe.look_for_secrets(directory, MAX_ENTRIES, &is_odd)
                    != crate::probe::SecretLook::Clean
            }
            Some(_) | None => false,
        }
    }

    /// The name is no single path to a shell or to `xargs`, and what they make of it could be more
    /// than an ordinary file: blanks in front of a slash, a dot or a well-known name, quotes, or
    /// a pattern of hidden files.
    fn is_odd(&self, directory: &Path, name: &str) -> bool {
        if name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        {
            return false;
        }
        let is_known = |piece: &str| {
            piece.starts_with(['.', '~'])
                || !self
                    .classes
                    .explain(&directory.join(piece), &self.roots.home)
                    .is_empty()
        };
        // A piece behind a blank may be a flag, too.
        let is_flag = |piece: &str| piece.starts_with('-');
        let is_split = name.contains(char::is_whitespace)
            && (splits(std::ffi::OsStr::new(name))
                || name.split_whitespace().any(is_known)
                || name.split_whitespace().skip(1).any(is_flag)
                || name.starts_with(char::is_whitespace) && name.split_whitespace().any(is_flag));
        let is_quoted = name.contains(['\'', '"', '\\']);
        let is_pattern = name.contains(['*', '?', '['])
            && (name.starts_with('.')
                || ["[:", "[]", "[!]", "[^]"]
                    .iter()
                    .any(|sign| name.contains(sign))
                || !self
                    .classes
                    .classify_pattern(
                        &directory.join(without_brackets(name)).to_string_lossy(),
                        &self.roots.home,
                    )
                    .is_ordinary());
        is_split || is_quoted || is_pattern
    }

    /// A tracked file whose last component fits `name` is odd, or lies where nobody looks and is of
    /// a class.
    pub(crate) fn is_odd_tracked(&self, path: &Path, name: &str) -> bool {
        let fits = path
            .file_name()
            .is_some_and(|last| matcher(name).is_none_or(|pattern| pattern.is_match(last)));
        if !fits {
            return false;
        }
        let mut unseen = false;
        for (directory, last) in path
            .ancestors()
            .filter_map(|above| Some((above.parent()?, above.file_name()?.to_str()?)))
        {
            unseen |= MADE.contains(&last);
            if self
                .roots
                .workspace
                .as_deref()
                .is_some_and(|workspace| directory.starts_with(workspace))
                && self.is_odd(directory, last)
            {
                return true;
            }
        }
        unseen && !self.classes.explain(path, &self.roots.home).is_empty()
    }

    fn look_at_files(&self, base: &PathFact, name: &str, listed: Listed) -> Look {
        let Some(fits) = matcher(name) else {
            return Look::TooMany;
        };
        let mut special: Vec<PathBuf> = Vec::new();
        let mut open = vec![base.path.clone()];
        let mut seen = 0;
        let others = self.other_names(&base.path);
        if others.is_incomplete() {
            return Look::TooMany;
        }
        while let Some(directory) = open.pop() {
            if self.roots.is_guardian_file(&directory) || special.len() > MAX_SPECIAL {
                return Look::TooMany;
            }
            let left = MAX_ENTRIES - seen;
            let Some(names) = self.probe.list(&directory, left + 1) else {
                if base.kind.is_none() && directory == base.path {
                    break;
                }
                return Look::TooMany;
            };
            seen += names.len();
            if seen > MAX_ENTRIES {
                return Look::TooMany;
            }
            for entry in names {
                if self.is_odd(&directory, &entry) {
                    return Look::Odd;
                }
                if listed != Listed::All && (entry == ".git" || MADE.contains(&entry.as_str())) {
                    continue;
                }
                let path = directory.join(&entry);
                let found = self.probe.resolve(&path);
                let is_link = found.path != path;
                let has_class = || {
                    !self.classes.explain(&path, &self.roots.home).is_empty()
                        || others.of(&path).next().is_some()
                };
                if is_link || (fits.is_match(&entry) && has_class()) {
                    let leads_on = listed == Listed::Tracked && found.kind != Some(FileKind::File);
                    if is_link && !leads_on && !fits.is_match(&entry) {
                        continue;
                    }
                    special.push(path);
                    continue;
                }
                if found.kind == Some(FileKind::Directory) {
                    open.push(path);
                }
            }
        }
        let mut scope = Scope::Scratch;
        let mut sensitivity = Sensitivity::default();
        for path in special {
            let Some(fact) = path
                .to_str()
                .and_then(|path| self.locate(path, Path::new("/")).ok())
            else {
                return Look::TooMany;
            };
            scope = wider(scope, fact.scope);
            sensitivity = sensitivity.union(fact.sensitivity);
        }
        Look::Seen(scope, sensitivity)
    }
}

enum Look {
    /// All was seen: the widest scope and the classes of what is special.
    Seen(Scope, Sensitivity),
    /// A name that a shell splits.
    Odd,
    /// Not all was seen.
    TooMany,
}

/// `*.rs` says what it finds, `*` does not.
fn is_telling(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, extension)| !extension.is_empty() && !extension.contains(['*', '?', '[']))
}

/// `[slug].tsx` as `?.tsx`.
fn without_brackets(name: &str) -> String {
    let mut plain = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('[') {
        plain.push_str(before);
        let Some((_, behind)) = after.split_once(']') else {
            plain.push('*');
            return plain;
        };
        plain.push('?');
        rest = behind;
    }
    plain.push_str(rest);
    plain
}

fn splits(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    let rest = name.strip_suffix("..").unwrap_or(&name);
    rest.ends_with(char::is_whitespace)
}
