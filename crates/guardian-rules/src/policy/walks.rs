//! What walks of file tools leave out, and what a confinement masks.

use std::path::Path;

use guardian_facts::AccessKind;

use super::Policy;
use super::file::RuleEffect;
use super::glob::{Case, PathGlob};
use super::rule::Rule;

/// What a walk goes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkOver {
    /// Names of files (Glob).
    Names,
    /// Contents of files (Grep).
    Contents,
}

impl Policy {
    /// What a walk (Glob, Grep) leaves out besides secret files: this resolved path is one that a
    /// deny or an ask rule is about. Nobody is asked about each file of a walk, so what would be
    /// asked about is left out as well, except by rules that were asked about when the walk began:
    /// those that match `start`, the `path` argument.
    #[must_use]
    pub fn keeps_from_walk(&self, walk: WalkOver, path: &Path, start: Option<&Path>) -> bool {
        // A name that is no text is compared as it is shown: never a way past a denial.
        let text = path.to_string_lossy();
        let start = start.map(Path::to_string_lossy);
        self.walk_rules(walk).any(|rule| {
            let paths = rule.paths.as_deref().unwrap_or_default();
            let unless = rule
                .unless
                .as_ref()
                .and_then(|unless| unless.paths.as_deref());
            let was_asked = rule.effect == RuleEffect::Ask
                && start.as_ref().is_some_and(|start| matches(paths, start));
            matches(paths, &text)
                && !was_asked
                && !unless.is_some_and(|unless| matches(unless, &text))
        })
    }

    /// There is a rule by which [`Self::keeps_from_walk`] may say yes. For walks, which ask of every
    /// file.
    #[must_use]
    pub fn has_walk_rules(&self, walk: WalkOver) -> bool {
        self.walk_rules(walk).next().is_some()
    }

    fn walk_rules(&self, walk: WalkOver) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| {
            let kept = match walk {
                WalkOver::Contents => rule.is_about_files(AccessKind::Read, "Grep"),
                WalkOver::Names => {
                    rule.is_about_files(AccessKind::List, "Glob")
                        || rule.effect == RuleEffect::Deny
                            && rule.is_about_files(AccessKind::Read, "Read")
                }
            };
            rule.effect != RuleEffect::Allow && rule.paths.is_some() && kept
        })
    }

    /// A deny rule keeps this resolved path from being read, by whatever tool: what a confinement
    /// masks.
    #[must_use]
    pub fn denies_read(&self, path: &Path) -> bool {
        let text = path.to_string_lossy();
        self.rules
            .iter()
            .filter(|rule| {
                rule.effect == RuleEffect::Deny && rule.is_about_files(AccessKind::Read, "Read")
            })
            .filter_map(|rule| rule.paths.as_deref())
            .any(|paths| matches(paths, &text))
    }
}

fn matches(globs: &[PathGlob], text: &str) -> bool {
    globs
        .iter()
        .any(|glob| glob.matches(text, Case::Fold).is_some())
}

impl Rule {
    /// It is about this access to files, by this file tool or any.
    fn is_about_files(&self, kind: AccessKind, tool: &str) -> bool {
        let by_access = self
            .access
            .as_ref()
            .is_none_or(|kinds| kinds.contains(&kind));
        let by_tool = self.tools.as_ref().is_none_or(|tools| {
            self.tool_kinds.contains(&kind)
                || tools.iter().any(|name| name.matches(tool, Case::Exact))
        });
        by_access && by_tool && !self.needs_command() && self.when.is_none()
    }
}
