//! Placing a shell pattern: what could its matches be?

use std::path::{Path, PathBuf};

use crate::{FactContext, PathFact, Scope, Sensitivity, Target};

/// Names looked at while a pattern is expanded through the probe; past it the answer is by names
/// alone.
const MAX_NAMES: usize = 2_000;
/// Matches that are resolved one by one.
const MAX_MATCHES: usize = 500;
/// Components of one pattern that may stand for `..`.
const MAX_CLIMBING: usize = 3;

impl FactContext<'_> {
    /// Places a shell pattern (`src/*.rs`) relative to `base`.
    ///
    /// `Target::Pattern::base` is the longest directory without a pattern character, with the
    /// widest scope of the base and everything that matches now. `may_match` is the union of the
    /// classes of all matches when the pattern could be expanded through the probe (`**/name` by a
    /// bounded look), and otherwise every class that some matching name could belong to. Where
    /// nothing matches now, it is what the pattern itself spells out: `*.pem` asks for keys, `*.rs`
    /// does not.
    #[must_use]
    pub fn pattern(&self, written: &str, base: &Path) -> Target {
        let Some(first) = written.find(is_pattern_character) else {
            return self.target(written, base);
        };
        let literal = written[..first]
            .rfind('/')
            .map_or("", |slash| &written[..=slash]);
        let directory = if literal.is_empty() { "." } else { literal };
        let mut base_fact = match self.locate(directory, base) {
            Ok(fact) => fact,
            Err(error) => {
                return Target::Unknown {
                    written: written.to_owned(),
                    reason: error.to_string(),
                    when_empty: None,
                    temporary: false,
                };
            }
        };
        let rest = &written[literal.len()..];
        let pattern = format!(
            "{}/{rest}",
            base_fact.path.to_string_lossy().trim_end_matches('/')
        );
        let may_match = match self.expand(&base_fact, rest) {
            Some(expansion) => {
                base_fact.scope = wider(base_fact.scope, expansion.scope);
                expansion.sensitivity
            }
            None => {
                let mut sensitivity = Sensitivity::default();
                if base_fact.scope != Scope::Scratch {
                    sensitivity = self
                        .classes
                        .classify_pattern(&pattern, &self.roots.home)
                        .union(self.classes_of_links_into(&base_fact.path));
                }
                // `..` in the rest, or a directory that holds guardian's files.
                sensitivity.guardian = self.roots.holds_guardian_files(&base_fact.path)
                    || self.roots.is_guardian_file(&base_fact.path);
                if rest.split('/').any(|component| component == "..") {
                    base_fact.scope = wider(base_fact.scope, Scope::Outside);
                }
                sensitivity
            }
        };
        Target::Pattern {
            written: written.to_owned(),
            pattern,
            may_match: may_match.union(base_fact.sensitivity),
            base: base_fact,
        }
    }

    /// [`Self::pattern`] as a shell expands it: dash, and bash before 5.2, let `.?` and `.*` stand
    /// for `..`, so such a component is that directory as well as what it matches.
    pub(crate) fn shell_pattern(&self, written: &str, base: &Path) -> Target {
        let components: Vec<&str> = written.split('/').collect();
        let climbing: Vec<usize> = (0..components.len())
            .filter(|at| may_be_parent(components[*at]))
            .collect();
        if climbing.is_empty() {
            return self.pattern(written, base);
        }
        let unknown = |reason: &str| Target::Unknown {
            written: written.to_owned(),
            reason: reason.to_owned(),
            when_empty: None,
            temporary: false,
        };
        if climbing.len() > MAX_CLIMBING {
            return unknown("its patterns may stand for `..`");
        }
        let mut scope = Scope::Scratch;
        let mut may_match = Sensitivity::default();
        let mut above: Option<PathBuf> = None;
        for chosen in 0..1_usize << climbing.len() {
            let mut variant = components.clone();
            for (bit, at) in climbing.iter().enumerate() {
                if chosen >> bit & 1 == 1 {
                    variant[*at] = "..";
                }
            }
            let (fact, classes) = match self.pattern(&variant.join("/"), base) {
                Target::Exact(fact) => {
                    let classes = fact.sensitivity;
                    (fact, classes)
                }
                Target::Pattern {
                    base, may_match, ..
                } => (base, may_match),
                _ => return unknown("its patterns may stand for `..`"),
            };
            scope = wider(scope, fact.scope);
            may_match = may_match.union(classes);
            above = Some(match above {
                None => fact.path,
                Some(known) => common(&known, &fact.path),
            });
        }
        let found = above
            .as_deref()
            .and_then(Path::to_str)
            .and_then(|path| self.locate(path, Path::new("/")).ok());
        let Some(mut fact) = found else {
            return unknown("its patterns may stand for `..`");
        };
        fact.scope = wider(fact.scope, scope);
        Target::Pattern {
            written: written.to_owned(),
            pattern: format!("{}/**", fact.path.to_string_lossy().trim_end_matches('/')),
            may_match,
            base: fact,
        }
    }

    /// Expands `rest` beneath the directory as the shell would, through the probe. `None` when it
    /// cannot be expanded exactly (missing directory, too many names, `**`, extglob).
    fn expand(&self, base: &PathFact, rest: &str) -> Option<Expansion> {
        if let Some(name) = rest.strip_prefix("**/") {
            return self.expand_deep(base, name);
        }
        if rest.contains("**") || rest.contains(['(', '{', '\\']) {
            return None;
        }
        let mut directories = vec![base.path.clone()];
        let mut seen = 0;
        let components: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        if components.contains(&"..") {
            return None;
        }
        let mut expansion = Expansion {
            scope: base.scope,
            sensitivity: self.spelled_out(base, rest),
        };
        for (depth, component) in components.iter().enumerate() {
            let is_last = depth + 1 == components.len();
            let glob = matcher(component)?;
            let mut next = Vec::new();
            for directory in &directories {
                let names = match self.probe.list(directory, MAX_NAMES + 1) {
                    Some(names) => names,
                    // A file in the middle of the pattern has no names beneath it, nor has what is
                    // not there.
                    None if depth > 0 || base.kind.is_none() => continue,
                    None => return None,
                };
                seen += names.len();
                if seen > MAX_NAMES {
                    return None;
                }
                for name in names {
                    if (name.starts_with('.') && !component.starts_with('.'))
                        || !glob.is_match(&name)
                    {
                        continue;
                    }
                    next.push(directory.join(&name));
                }
                // The shell's `.*` also gives `.` and `..`.
                if is_last && component.starts_with('.') && glob.is_match("..") {
                    return None;
                }
            }
            if next.len() > MAX_MATCHES {
                return None;
            }
            directories = next;
        }
        if directories.is_empty() && components.iter().any(|component| aims_at_hidden(component)) {
            return None;
        }
        for path in &directories {
            let fact = self.locate(path.to_str()?, Path::new("/")).ok()?;
            expansion.scope = wider(expansion.scope, fact.scope);
            expansion.sensitivity = expansion.sensitivity.union(fact.sensitivity);
        }
        Some(expansion)
    }

    /// [`Self::expand`] for `**/name`.
    fn expand_deep(&self, base: &PathFact, name: &str) -> Option<Expansion> {
        if name.contains(['/', '(', '{', '\\']) || name.contains("**") {
            return None;
        }
        if aims_at_hidden(name) {
            return None;
        }
        let (scope, sensitivity) = self.look_by_name(&base.path, &matcher(name)?)?;
        Some(Expansion {
            scope: wider(base.scope, scope),
            sensitivity: sensitivity.union(self.spelled_out(base, name)),
        })
    }

    /// Classes that the pattern spells out: of its text with nothing, or a letter, for `*` and `?`.
    fn spelled_out(&self, base: &PathFact, rest: &str) -> Sensitivity {
        let mut sensitivity = Sensitivity::default();
        if base.scope == Scope::Scratch {
            return sensitivity;
        }
        for by in ["", "x"] {
            let name = rest.replace("**", "x").replace(['*', '?'], by);
            let path = base.path.join(name.trim_start_matches('/'));
            sensitivity = sensitivity.union(self.classes.classify(&path, &self.roots.home));
        }
        sensitivity
    }
}

/// A pattern for hidden names (`.e*`): there is little else to find than secrets and configuration.
fn aims_at_hidden(component: &str) -> bool {
    component.starts_with('.') && component.contains(['*', '?', '['])
}

/// The component is a pattern that can stand for `..` as a whole in a shell that does not leave
/// that name out. A leading dot has to be written; within a group it may be anywhere.
pub(crate) fn may_be_parent(component: &str) -> bool {
    if component.contains('(') {
        return component.starts_with('.') || component.contains("(.") || component.contains("|.");
    }
    if !component.starts_with('.') || !component.contains(['*', '?', '[']) {
        return false;
    }
    // Named classes and quoted characters are not what the matcher knows.
    let is_exotic = ["[:", "[[.", "[=", "\\"]
        .iter()
        .any(|sign| component.contains(sign));
    is_exotic || matcher(component).is_none_or(|glob| glob.is_match(".."))
}

fn common(one: &Path, other: &Path) -> PathBuf {
    one.components()
        .zip(other.components())
        .take_while(|(left, right)| left == right)
        .map(|(component, _)| component)
        .collect()
}

pub(super) fn matcher(component: &str) -> Option<globset::GlobMatcher> {
    let glob = globset::GlobBuilder::new(component)
        .literal_separator(true)
        .backslash_escape(false)
        // A volume may not tell letters apart; matching more only tightens.
        .case_insensitive(true)
        .build()
        .ok()?;
    Some(glob.compile_matcher())
}

/// A component of a shell pattern may match this name. A group may match any.
pub(crate) fn matches_component(component: &str, name: &str) -> bool {
    component.contains('(') || matcher(component).is_none_or(|pattern| pattern.is_match(name))
}

struct Expansion {
    scope: Scope,
    sensitivity: Sensitivity,
}

fn is_pattern_character(character: char) -> bool {
    matches!(character, '*' | '?' | '[' | '(' | '{')
}

/// The scope that fewer rules cover.
pub(crate) fn wider(left: Scope, right: Scope) -> Scope {
    let rank = |scope| match scope {
        Scope::Scratch => 0,
        Scope::Workspace => 1,
        Scope::Outside => 2,
        Scope::ScratchEscape => 3,
    };
    if rank(left) >= rank(right) {
        left
    } else {
        right
    }
}
