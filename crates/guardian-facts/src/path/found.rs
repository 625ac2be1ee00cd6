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
                if splits(std::ffi::OsStr::new(&entry)) {
                    return Look::Odd;
                }
                if listed == Listed::Kept && (entry == ".git" || MADE.contains(&entry.as_str())) {
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
                    if is_link && !fits.is_match(&entry) {
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

fn splits(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    let rest = name.strip_suffix("..").unwrap_or(&name);
    rest.ends_with(char::is_whitespace)
}
