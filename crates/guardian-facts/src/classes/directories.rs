//! The directories in which the patterns that hold at any depth find their names.

use std::collections::HashSet;

use super::pattern::directories_of;

/// Directories of embedded patterns, each list sorted.
#[derive(Debug)]
pub(crate) struct EmbeddedDirectories {
    /// See [`super::pattern::DirectoriesOfPattern`].
    pub(crate) on_the_way: &'static [&'static str],
    pub(crate) trees: &'static [&'static str],
}

impl EmbeddedDirectories {
    /// No directories.
    pub(crate) const NONE: &'static Self = &Self {
        on_the_way: &[],
        trees: &[],
    };
}

/// Relative, lower-case paths of directories.
#[derive(Debug, Clone)]
pub(super) struct NamedDirectories {
    embedded: &'static EmbeddedDirectories,
    /// Named on the way to a file: `.yarn` and `.yarn/plugins`.
    on_the_way: HashSet<String>,
    /// Wholly of a class: `.claude`.
    trees: HashSet<String>,
}

impl NamedDirectories {
    /// Embedded ones, to which [`Self::add`] adds.
    pub(super) fn of(embedded: &'static EmbeddedDirectories) -> Self {
        Self {
            embedded,
            on_the_way: HashSet::new(),
            trees: HashSet::new(),
        }
    }

    /// Adds the directories of a pattern.
    pub(super) fn add(&mut self, pattern: &str) {
        let found = directories_of(pattern);
        self.on_the_way.extend(found.on_the_way);
        self.trees.extend(found.tree);
    }

    /// The directory (lower-case, relative) is on the way to a name, or within a tree.
    pub(super) fn may_hold(&self, directory: &str) -> bool {
        let ends = directory.match_indices('/').map(|(at, _)| at);
        self.embedded.on_the_way.binary_search(&directory).is_ok()
            || self.on_the_way.contains(directory)
            || ends
                .chain([directory.len()])
                .map(|end| &directory[..end])
                .any(|above| {
                    self.embedded.trees.binary_search(&above).is_ok() || self.trees.contains(above)
                })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_on_the_way_and_whole_trees_are_known() {
        let patterns = [
            ".yarn/plugins/**",
            ".vscode/tasks.json",
            ".env",
            "~/.ssh/**",
            ".run/*.xml",
        ];
        let mut named = NamedDirectories::of(EmbeddedDirectories::NONE);
        patterns.into_iter().for_each(|pattern| named.add(pattern));
        for known in [
            ".yarn",
            ".yarn/plugins",
            ".yarn/plugins/a/b",
            ".vscode",
            ".run",
        ] {
            assert!(named.may_hold(known), "{known}");
        }
        for unknown in [".yarn/cache", ".vscode/x", ".env", ".ssh", "src", ""] {
            assert!(!named.may_hold(unknown), "{unknown}");
        }
    }
}
