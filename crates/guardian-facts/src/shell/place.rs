//! From operands to accesses: where a field's path lies.

use std::path::PathBuf;

use super::reader::Reader;
use super::values::{self, Part, State, Text};
use crate::command::WalkFilter;
use crate::{Access, AccessDetail, AccessKind, AccessSource, CodeFile, Target};

/// How much of a code file is looked at loosely, in bytes.
const MAX_CODE: usize = 64 * 1024;
/// Entries of the bounded look for secret files beneath a directory (SPEC §7.4).
const MAX_LOOK: usize = 20_000;

impl Reader<'_> {
    /// Where a field's path lies; `None` for a field that is no path (empty, a descriptor).
    pub(super) fn place(&self, text: &Text, state: &State) -> Option<Target> {
        let written = values::to_word(text, crate::Span { start: 0, end: 0 }).display();
        if text.is_empty() {
            return None;
        }
        if text
            .iter()
            .any(|part| matches!(part, Part::Unknown { .. } | Part::Temporary))
        {
            return Some(
                self.place_bound(text, &written, state)
                    .unwrap_or_else(|| self.unknown_target(text, written, state)),
            );
        }
        let pattern = text.iter().any(|part| matches!(part, Part::Glob(_)));
        let Some(cwd) = state
            .cwd
            .as_deref()
            .or_else(|| written.starts_with('/').then(|| std::path::Path::new("/")))
        else {
            if !pattern && let Some(target) = self.place_in_each(&written, state) {
                return Some(target);
            }
            return Some(Target::Unknown {
                reason: "the working directory is not known".to_owned(),
                when_empty: None,
                temporary: state.cwd_is_temporary && !written.split('/').any(|part| part == ".."),
                written,
            });
        };
        Some(if pattern {
            let wider = without_groups(&written);
            super::outputs::renamed(self.place_pattern(&wider, cwd), &written)
        } else {
            self.cx.target(&written, cwd)
        })
    }

    /// Where a pattern leads. To a shell `**` is `*`, unless `globstar` may be on; in what the
    /// catalogue makes of `find` it is any depth.
    fn place_pattern(&self, written: &str, cwd: &std::path::Path) -> Target {
        if self.scope.beneath.is_some() {
            return self.cx.pattern(written, cwd);
        }
        let deep = self.cx.shell_pattern(written, cwd);
        if !written.contains("**") {
            return deep;
        }
        let mut plain = written.to_owned();
        while plain.contains("**") {
            plain = plain.replace("**", "*");
        }
        let (Target::Pattern { mut base, .. }, plain) =
            (deep.clone(), self.cx.shell_pattern(&plain, cwd))
        else {
            return deep;
        };
        // What stands behind `**/` may lead through links that no look follows.
        let behind = written.split_once("**/").map_or("", |(_, behind)| behind);
        if self.globstar && behind.contains('/') {
            base.scope = crate::path::wider(base.scope, crate::Scope::Outside);
        }
        let deep = match deep {
            Target::Pattern {
                written,
                pattern,
                may_match,
                ..
            } => Target::Pattern {
                written,
                pattern,
                may_match,
                base,
            },
            other => other,
        };
        super::outputs::either(deep.clone(), plain).unwrap_or(deep)
    }

    /// The shell lists the directory of a pattern, whatever it does with the names: outside the
    /// roots they are not its business.
    pub(super) fn note_listing(&mut self, field: &Text, state: &State) {
        if !field.iter().any(|part| matches!(part, Part::Glob(_))) {
            return;
        }
        let Some(target) = self.place(field, state) else {
            return;
        };
        // `.*` is found in the directory itself, whatever it stands for.
        if let Target::Pattern { written, .. } = &target
            && let Some(cwd) = state.cwd.as_deref()
        {
            let (directory, last) = written.rsplit_once('/').unwrap_or((".", written));
            let inside = match self.cx.shell_pattern(directory, cwd) {
                Target::Exact(fact) | Target::Pattern { base: fact, .. } => {
                    fact.scope != crate::Scope::Outside
                }
                _ => false,
            };
            if crate::path::may_be_parent(last) && inside {
                return;
            }
        }
        // Where it is not known which, whoever uses the names is asked about.
        if let Target::Pattern { base, pattern, .. } = &target
            && base.scope == crate::Scope::Outside
        {
            let before = self.facts.commands.len();
            self.listings
                .entry(pattern.clone())
                .or_insert((before, target));
        }
    }

    /// Adds what patterns listed to the accesses of the commands that they stand in or before.
    pub(super) fn listing_accesses(&mut self) {
        let Some(last) = self.facts.commands.len().checked_sub(1) else {
            return;
        };
        for (before, target) in std::mem::take(&mut self.listings).into_values() {
            let index = before.min(last);
            self.add_access(index, target, AccessKind::List, AccessDetail::Plain, false);
        }
    }

    /// A relative path where the working directory is one of a few.
    fn place_in_each(&self, written: &str, state: &State) -> Option<Target> {
        let mut cwds = state.possible_cwds.iter();
        let first = cwds.next()?;
        let mut common = first.as_path();
        let mut all = self.cx.locate(written, first).ok()?;
        for cwd in cwds {
            let fact = self.cx.locate(written, cwd).ok()?;
            all.sensitivity = all.sensitivity.union(fact.sensitivity);
            all.scope = crate::path::wider(all.scope, fact.scope);
            common = common.ancestors().find(|above| cwd.starts_with(above))?;
        }
        let mut base = self
            .cx
            .locate(common.to_str()?, std::path::Path::new("/"))
            .ok()?;
        base.scope = all.scope;
        Some(Target::Pattern {
            written: written.to_owned(),
            pattern: format!(
                "{}/**/{}",
                base.path.to_string_lossy().trim_end_matches('/'),
                written.trim_start_matches("./")
            ),
            may_match: all.sensitivity.union(base.sensitivity),
            base,
        })
    }

    /// [`Self::place`] for what is taken away with all beneath it: an unknown text is unknown here
    /// whatever bound it has, because what an empty one means is asked about.
    pub(super) fn place_whole(&self, text: &Text, state: &State) -> Option<Target> {
        let is_unknown = |part: &Part| matches!(part, Part::Unknown { .. } | Part::Temporary);
        if text.iter().any(is_unknown) {
            let written = values::to_word(text, crate::Span { start: 0, end: 0 }).display();
            return Some(self.unknown_target(text, written, state));
        }
        let mut state = state.clone();
        state.possible_cwds = std::rc::Rc::default();
        state.cwd_is_temporary = false;
        self.place(text, &state)
    }

    fn unknown_target(&self, text: &Text, written: String, state: &State) -> Target {
        let temporary = matches!(text.first(), Some(Part::Temporary))
            && text.iter().skip(1).all(|part| match part {
                Part::Literal(rest) => !rest.contains(".."),
                _ => false,
            });
        let known: String = text
            .iter()
            .map(|part| match part {
                Part::Literal(text) | Part::Glob(text) => text.as_str(),
                Part::Unknown { .. } | Part::Temporary => "",
            })
            .collect();
        Target::Unknown {
            reason: format!("`{written}` is not known before it runs"),
            written,
            when_empty: if temporary {
                None
            } else {
                self.root_when_empty(&known, state)
            },
            temporary,
        }
    }

    /// The path that is left when all unknown parts are empty, if it is one that matters.
    fn root_when_empty(&self, known: &str, state: &State) -> Option<PathBuf> {
        let trimmed = known.trim_end_matches('*');
        if trimmed.is_empty() && !known.is_empty() {
            return state.cwd.as_ref().map(|cwd| cwd.to_path_buf());
        }
        if trimmed.is_empty() {
            return None;
        }
        let base = state
            .cwd
            .as_deref()
            .unwrap_or_else(|| std::path::Path::new("/"));
        let path = self.cx.locate(trimmed, base).ok()?.path;
        let roots = self.cx.roots;
        let matters = path.parent().is_none()
            || roots.home.starts_with(&path)
            || roots
                .workspace
                .as_ref()
                .is_some_and(|workspace| workspace.starts_with(&path))
            || crate::defaults::SystemPaths::embedded().is_system_directory(&path);
        matters.then_some(path)
    }

    /// Adds an access of a command.
    #[expect(clippy::too_many_arguments, reason = "an access has this many sides")]
    pub(super) fn access(
        &mut self,
        index: usize,
        text: &Text,
        kind: AccessKind,
        detail: AccessDetail,
        recursive: bool,
        state: &State,
    ) {
        if let Some(target) = self.place(text, state) {
            self.add_access(index, target, kind, detail, recursive);
        }
    }

    pub(super) fn add_access(
        &mut self,
        index: usize,
        target: Target,
        kind: AccessKind,
        detail: AccessDetail,
        recursive: bool,
    ) {
        if kind == AccessKind::Write
            && self.downloads(index)
            && let Target::Exact(path) = &target
        {
            self.downloaded.insert(path.path.clone());
        }
        let access = Access {
            kind,
            detail,
            target,
            recursive,
            source: AccessSource::Command(index),
        };
        self.facts.accesses.push(access);
    }

    /// A recursive read could open secret files beneath this target.
    pub(super) fn could_meet_secrets(&self, target: &Target, filter: &WalkFilter) -> bool {
        match target {
            Target::Exact(path) => {
                path.kind != Some(crate::FileKind::File)
                    && path.kind.is_some()
                    && self.cx.could_open_secret(&path.path, MAX_LOOK, filter)
            }
            Target::Pattern { base, .. } => self.cx.could_open_secret(&base.path, MAX_LOOK, filter),
            Target::Unknown { .. } => true,
        }
    }

    /// Adds a file that is run as code. False when which file it is is not known.
    pub(super) fn code_file(&mut self, index: usize, text: &Text, state: &State) -> bool {
        let Some(Target::Exact(path)) = self.place(text, state) else {
            return false;
        };
        let remote = self.downloaded.contains(&path.path);
        let content = self.cx.probe.read_file(&path.path, MAX_CODE);
        if let Some(content) = &content {
            let code = String::from_utf8_lossy(&content.head).into_owned();
            self.scan_opaque(&code, index);
            self.scan_inline_paths(&code, index);
        }
        let hash = content
            .map(|content| content.hash)
            .filter(|hash| !hash.is_empty());
        self.facts.code_files.push(CodeFile {
            path,
            hash,
            command: index,
        });
        if remote {
            self.add_effect(index, crate::Effect::RunsRemoteCode);
        }
        true
    }
}

/// The pattern with `*` for each component that has a group (`!(*.md)`, `@(a|b).rs`). What a group
/// stands for begins with no dot unless the text of the group does; such a component stays, and
/// counts as one that may match anything.
fn without_groups(pattern: &str) -> String {
    if !pattern.contains('(') {
        return pattern.to_owned();
    }
    let visible = |component: &str| {
        let opens = component.matches('(').count();
        // A group that may stand for nothing lets what follows begin the name.
        let may_be_empty = ["(|", "||", "|)", "()"]
            .iter()
            .any(|sign| component.contains(sign))
            || component.starts_with(['?', '*', '!']);
        let names_hidden = component.contains("(.")
            || component.contains("|.")
            || may_be_empty && component.contains(").");
        opens > 0
            && opens == component.matches(')').count()
            && !component.starts_with('.')
            && !names_hidden
            && !component.contains(['[', '\\'])
    };
    let widened: Vec<&str> = pattern
        .split('/')
        .map(|component| if visible(component) { "*" } else { component })
        .collect();
    widened.join("/")
}

#[cfg(test)]
mod tests {
    use super::without_groups;

    #[test]
    fn a_group_may_be_any_visible_name_and_a_hidden_one_stays() {
        for (pattern, wider) in [
            ("!(*.md)", "*"),
            ("src/@(a|b).rs", "src/*"),
            ("x+(a)/*.rs", "*/*.rs"),
            ("*.rs", "*.rs"),
            // these may match `.env`
            ("@(.env|x)", "@(.env|x)"),
            ("?(x).env", "?(x).env"),
            ("@(|x).env", "@(|x).env"),
            (".@(env)", ".@(env)"),
            ("@(a/b)", "@(a/b)"),
        ] {
            assert_eq!(without_groups(pattern), wider, "{pattern}");
        }
    }
}
