//! The bounded look: could a recursive read open secret files?

use std::path::{Path, PathBuf};

use super::linked::OtherNames;
use crate::command::WalkFilter;
use crate::probe::SecretLook;
use crate::{FactContext, Scope, Sensitivity};

/// Entries of one look (SPEC §7.4).
const MAX_LOOK: usize = 20_000;
/// How much of an ignore file is read, in bytes.
const MAX_IGNORE_FILE: usize = 64 * 1024;

/// Files whose `!` lines let a search into hidden names.
const IGNORE_FILES: &[&str] = &[".gitignore", ".ignore", ".rgignore"];

impl FactContext<'_> {
    /// Could a recursive read beneath `directory` meet a secret or sensitive file? Looks at most at
    /// `max` entries through the probe; what could not be seen counts as yes.
    #[must_use]
    pub fn could_contain_secret(&self, directory: &Path, max: usize) -> bool {
        self.could_open_secret(directory, max, &WalkFilter::default())
    }

    /// [`Self::could_contain_secret`] for a read that leaves some files out. A link that it follows
    /// counts when it leads to a secret file or out of `directory`.
    #[must_use]
    pub fn could_open_secret(&self, directory: &Path, max: usize, filter: &WalkFilter) -> bool {
        let beneath = self.classes_beneath(directory);
        let others = self.other_names(directory);
        if beneath.sensitive || beneath.guardian || others.is_incomplete() {
            return true;
        }
        let in_scratch = directory.starts_with(&self.roots.scratch);
        if in_scratch && !filter.follows_links {
            return false;
        }
        let without_hidden = filter.skips_hidden && !self.ignore_files_above_reveal(directory);
        let filter = WalkFilter {
            skips_hidden: without_hidden,
            ..filter.clone()
        };
        let looks_clean = |filter: &WalkFilter| {
            let opens = |path: &Path| {
                self.opens_secret(path, directory, in_scratch, filter)
                    || (filter.may_open(path.strip_prefix(directory).unwrap_or(path))
                        && self.is_hidden_by_other_name(path, &others))
            };
            self.probe.look_for_secrets(directory, max, &opens) == SecretLook::Clean
        };
        if looks_clean(&filter) {
            return false;
        }
        // It may only have been an ignore file that reveals hidden names.
        !without_hidden
            || !looks_clean(&WalkFilter {
                skips_hidden: false,
                ..filter
            })
    }

    fn opens_secret(
        &self,
        path: &Path,
        directory: &Path,
        in_scratch: bool,
        filter: &WalkFilter,
    ) -> bool {
        if filter.skips_hidden && self.reveals_hidden(path) {
            return true;
        }
        let opened = path
            .strip_prefix(directory)
            .map_or(true, |beneath| filter.may_open(beneath));
        let by_name = opened
            && !in_scratch
            && self.classes.is_hidden_from_walks(path, &self.roots.home)
            && !self.is_public_key_file(path);
        by_name || (filter.follows_links && self.leads_out(path, directory))
    }

    /// A link gives the path the name of a secret or sensitive file.
    fn is_hidden_by_other_name(&self, path: &Path, others: &OtherNames) -> bool {
        others.of(path).any(|name| {
            self.classes.is_hidden_from_walks(&name, &self.roots.home)
                && !self.is_public_key_file(path)
        })
    }

    /// The entry is a link to a secret or sensitive file, or to something outside the directory.
    fn leads_out(&self, entry: &Path, directory: &Path) -> bool {
        let resolved = self.probe.resolve(entry);
        resolved.error.is_some()
            || (resolved.path != entry
                && (!resolved.path.starts_with(directory)
                    || self
                        .classes
                        .is_hidden_from_walks(&resolved.path, &self.roots.home)))
    }

    /// An ignore file of a directory above, up to the workspace, reveals hidden names.
    fn ignore_files_above_reveal(&self, directory: &Path) -> bool {
        let workspace = self.roots.workspace.as_deref();
        directory
            .ancestors()
            .skip(1)
            .take_while(|above| workspace.is_some_and(|workspace| above.starts_with(workspace)))
            .any(|above| {
                IGNORE_FILES
                    .iter()
                    .any(|name| self.reveals_hidden(&above.join(name)))
            })
    }

    /// The path is an ignore file with a line that takes hidden names back in (`!.env`), so that a
    /// search which leaves hidden files out opens them after all.
    fn reveals_hidden(&self, path: &Path) -> bool {
        let is_ignore_file = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| IGNORE_FILES.contains(&name));
        if !is_ignore_file {
            return false;
        }
        let Some(content) = self.probe.read_file(path, MAX_IGNORE_FILE) else {
            return false;
        };
        let directory = path.parent().unwrap_or(path);
        content.size > MAX_IGNORE_FILE as u64
            || String::from_utf8_lossy(&content.head)
                .lines()
                .filter_map(|line| line.trim().strip_prefix('!'))
                .any(|pattern| self.pattern_reveals(pattern, directory))
    }

    fn pattern_reveals(&self, pattern: &str, directory: &Path) -> bool {
        let is_directory = pattern.ends_with('/');
        let name = pattern.trim_end_matches('/');
        let name = name.rsplit('/').next().unwrap_or(name);
        if name.contains(['*', '?', '[', '\\']) {
            return true;
        }
        name.starts_with('.')
            && (is_directory
                || self
                    .classes
                    .is_hidden_from_walks(&directory.join(name), &self.roots.home))
    }

    /// Scope and classes of everything beneath `base` whose name matches, as `find base -name` finds
    /// it; `None` when not all of it could be seen.
    pub(super) fn look_by_name(
        &self,
        base: &Path,
        name: &globset::GlobMatcher,
    ) -> Option<(Scope, Sensitivity)> {
        let found = std::cell::RefCell::new(Vec::<PathBuf>::new());
        let others = self.other_names(base);
        let matches = |path: &Path| {
            let is_named = path.file_name().is_some_and(|file| name.is_match(file));
            // Only what has a class of its own, or is a link, needs a closer look.
            if is_named
                && (!self.classes.explain(path, &self.roots.home).is_empty()
                    || self.roots.is_guardian_file(path)
                    || others.of(path).next().is_some()
                    || self.probe.resolve(path).path != path)
            {
                found.borrow_mut().push(path.to_owned());
            }
            found.borrow().len() > 64
        };
        let look = self.probe.look_for_secrets(base, MAX_LOOK, &matches);
        if look != SecretLook::Clean || others.is_incomplete() {
            return None;
        }
        let mut seen = (Scope::Scratch, Sensitivity::default());
        for path in found.into_inner() {
            let fact = self.locate(path.to_str()?, Path::new("/")).ok()?;
            seen = (
                super::pattern::wider(seen.0, fact.scope),
                seen.1.union(fact.sensitivity),
            );
        }
        Some(seen)
    }
}
