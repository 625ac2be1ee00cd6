//! The directories in which the patterns that hold at any depth find their names.

use std::collections::HashSet;

use super::pattern_set::is_anchored;

/// Relative, lower-case paths of directories.
#[derive(Debug, Clone, Default)]
pub(super) struct NamedDirectories {
    /// Named on the way to a file: `.yarn` and `.yarn/plugins`.
    on_the_way: HashSet<String>,
    /// Wholly of a class: `.claude`.
    trees: HashSet<String>,
}

impl NamedDirectories {
    /// Takes the directories from patterns. Those that begin at `/` or `~` name one place, which is
    /// no matter of a relative path; a component with a wildcard ends what can be looked up.
    pub(super) fn new<'a>(patterns: impl Iterator<Item = &'a str>) -> Self {
        let mut named = Self::default();
        for pattern in patterns {
            if is_anchored(pattern) {
                continue;
            }
            let lower = pattern.to_lowercase();
            let (rest, is_tree) = match lower.strip_suffix("/**") {
                Some(rest) => (rest, true),
                None => (lower.as_str(), false),
            };
            let rest = rest.strip_prefix("**/").unwrap_or(rest);
            let literal = match rest.find(['*', '?', '[']) {
                Some(wild) => rest[..wild].rfind('/').map_or("", |slash| &rest[..slash]),
                None if is_tree => {
                    named.trees.insert(rest.to_owned());
                    rest
                }
                None => rest.rfind('/').map_or("", |slash| &rest[..slash]),
            };
            let ends = literal.match_indices('/').map(|(at, _)| at);
            for end in ends.chain([literal.len()]) {
                if end > 0 {
                    named.on_the_way.insert(literal[..end].to_owned());
                }
            }
        }
        named
    }

    /// The directory (lower-case, relative) is on the way to a name, or within a tree.
    pub(super) fn may_hold(&self, directory: &str) -> bool {
        let ends = directory.match_indices('/').map(|(at, _)| at);
        self.on_the_way.contains(directory)
            || ends
                .chain([directory.len()])
                .any(|end| self.trees.contains(&directory[..end]))
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
        let named = NamedDirectories::new(patterns.into_iter());
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
