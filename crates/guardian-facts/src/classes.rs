//! Path classes of SPEC §3 (secret, sensitive, protected), compiled from `config/default.toml`.
//!
//! Classes are decided by name alone here; [`crate::FactContext::place`] adds what needs the
//! machine (links, guardian's own files, the content of certificates).

mod beneath;
mod directories;
mod intersect;
pub(crate) mod pattern_set;
mod public_key;

use std::borrow::Cow;
use std::path::{Component, Path};
use std::sync::OnceLock;

use crate::Sensitivity;
use crate::defaults::{ClassGroup, FactsConfig, FactsExtension};

use directories::NamedDirectories;
use pattern_set::{LastSteps, PatternSet, Subject, is_anchored};

pub use beneath::{Hiding, NamesBeneath};
pub use public_key::holds_only_public_keys;

/// A class that a path can belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Holds a credential.
    Secret,
    /// Denied to every tool.
    Sensitive,
    /// Makes code run later.
    Protected,
}

/// One group that a path belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassHit<'a> {
    /// The class.
    pub class: Class,
    /// Stable id of the group.
    pub group: &'a str,
    /// Why, for people.
    pub why: &'a str,
    /// The path belongs to the group because of a directory above it (or because it *is* the
    /// directory), not as a file of this name.
    pub tree: bool,
    /// Does not hold when the file's content is only certificates and public keys
    /// ([`holds_only_public_keys`]).
    pub unless_public: bool,
}

/// A pattern of a configuration file cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("path pattern `{pattern}`: {reason}")]
pub struct ClassError {
    /// The pattern as written.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

#[derive(Debug, Clone)]
struct Group {
    class: Class,
    name: Cow<'static, str>,
    why: Cow<'static, str>,
    unless_public: bool,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    group: usize,
    tree: bool,
}

/// The compiled path classes.
#[derive(Debug, Clone)]
pub struct PathClasses {
    groups: Vec<Group>,
    paths: PatternSet,
    path_entries: Vec<Entry>,
    path_texts: OnceLock<Vec<String>>,
    excepts: PatternSet,
    except_groups: Vec<usize>,
    /// Of the secret and the sensitive patterns: what walks leave out. Made by the first walk.
    hidden_names: OnceLock<LastSteps>,
    /// The directories that patterns name, from the first step on.
    directories: OnceLock<NamedDirectories>,
}

fn classes_of(config: &FactsConfig) -> [(Class, &[ClassGroup]); 3] {
    [
        (Class::Secret, &config.secret),
        (Class::Sensitive, &config.sensitive),
        (Class::Protected, &config.protected),
    ]
}

impl PathClasses {
    /// The built-in classes.
    #[must_use]
    pub fn from_default() -> Self {
        let mut classes = Self::empty();
        let all = || classes_of(FactsConfig::embedded()).into_iter();
        classes.paths.reserve(
            all()
                .flat_map(|(_, groups)| groups)
                .map(|group| group.paths.len())
                .sum(),
        );
        for (class, groups) in all() {
            for group in groups {
                classes.paths.extend_embedded(&group.paths);
                let index = classes.add_group(class, group);
                for pattern in &group.except {
                    // Never malformed; if it were, it would except nothing.
                    if classes.excepts.add(pattern).is_ok() {
                        classes.except_groups.push(index);
                    }
                }
            }
        }
        classes
    }

    /// The built-in classes with a user's additions.
    ///
    /// # Errors
    /// A pattern of the extension is malformed.
    pub fn with_extension(extension: FactsExtension) -> Result<Self, ClassError> {
        let mut config = FactsConfig::embedded().clone();
        config.extend(extension);
        Self::compile(&config)
    }

    /// Compiles the classes of a whole configuration.
    ///
    /// # Errors
    /// A pattern is malformed.
    pub fn compile(config: &FactsConfig) -> Result<Self, ClassError> {
        let mut classes = Self::empty();
        for (class, groups) in classes_of(config) {
            for group in groups {
                for pattern in &group.paths {
                    classes.paths.add(pattern)?;
                }
                let index = classes.add_group(class, group);
                for pattern in &group.except {
                    classes.excepts.add(pattern)?;
                    classes.except_groups.push(index);
                }
            }
        }
        Ok(classes)
    }

    fn empty() -> Self {
        Self {
            groups: Vec::new(),
            paths: PatternSet::default(),
            path_entries: Vec::new(),
            path_texts: OnceLock::new(),
            hidden_names: OnceLock::new(),
            directories: OnceLock::new(),
            excepts: PatternSet::default(),
            except_groups: Vec::new(),
        }
    }

    /// Notes a group whose patterns of paths were added; its number.
    fn add_group(&mut self, class: Class, group: &ClassGroup) -> usize {
        let index = self.groups.len();
        self.groups.push(Group {
            class,
            name: group.name.clone(),
            why: group.why.clone(),
            unless_public: group.unless_public,
        });
        let entries = group.paths.iter().map(|pattern| Entry {
            group: index,
            tree: pattern.ends_with("/**"),
        });
        self.path_entries.extend(entries);
        index
    }

    /// The patterns behind `path_entries`, for pattern-against-pattern questions.
    fn path_texts(&self) -> &[String] {
        self.path_texts
            .get_or_init(|| self.paths.texts().map(anchored).collect())
    }

    /// The last steps of the secret and the sensitive patterns.
    fn hidden_names(&self) -> &LastSteps {
        self.hidden_names.get_or_init(|| {
            let mut names = LastSteps::default();
            for (text, entry) in self.paths.texts().zip(&self.path_entries) {
                if self.groups[entry.group].class != Class::Protected {
                    names.add(text);
                }
            }
            names
        })
    }

    /// Well-known names lie in a directory of this relative path, wherever it is: `.vscode`,
    /// `.yarn/plugins`, and all beneath `.claude`.
    #[must_use]
    pub fn holds_well_known_names(&self, directory: &Path) -> bool {
        let directories = self
            .directories
            .get_or_init(|| NamedDirectories::new(self.paths.texts()));
        directories.may_hold(&folded(directory))
    }

    /// Every group that an absolute path belongs to by its name. `home` is the user's home
    /// directory; homes of other users are recognised by their place (`/home/x`, `/Users/x`,
    /// `/root`).
    #[must_use]
    pub fn explain(&self, path: &Path, home: &Path) -> Vec<ClassHit<'_>> {
        let lower_home = home.to_string_lossy().to_lowercase();
        let mut entries = Vec::new();
        self.paths
            .each_match(&Subject::new(&folded(path), &lower_home), |index| {
                entries.push(index)
            });
        if entries.is_empty() {
            return Vec::new();
        }
        entries.sort_unstable();
        entries.dedup();
        // An exception loosens, so it is matched on the plain lower-case name: a trailing dot or
        // a stream suffix never makes `id_rsa.pub. ` out of something else.
        let mut lifted = Vec::new();
        self.excepts.each_match(
            &Subject::new(&path.to_string_lossy().to_lowercase(), &lower_home),
            |index| lifted.push(self.except_groups[index]),
        );
        let mut hits: Vec<ClassHit<'_>> = Vec::new();
        for entry in entries.into_iter().map(|index| self.path_entries[index]) {
            if lifted.contains(&entry.group) {
                continue;
            }
            let group = &self.groups[entry.group];
            match hits
                .iter_mut()
                .find(|hit| hit.group == &*group.name && hit.class == group.class)
            {
                Some(hit) => hit.tree |= entry.tree,
                None => hits.push(ClassHit {
                    class: group.class,
                    group: &group.name,
                    why: &group.why,
                    tree: entry.tree,
                    unless_public: group.unless_public,
                }),
            }
        }
        hits
    }

    /// The classes of an absolute path by its name alone. Conservative: a file that holds only
    /// public keys still counts as secret when its name says so.
    #[must_use]
    pub fn classify(&self, path: &Path, home: &Path) -> Sensitivity {
        let mut sensitivity = Sensitivity::default();
        for hit in self.explain(path, home) {
            sensitivity.add(hit.class);
        }
        sensitivity
    }

    /// Walks ask this of every entry: is it of a secret or sensitive class by its name?
    #[must_use]
    pub fn is_hidden_from_walks(&self, path: &Path, home: &Path) -> bool {
        let sensitivity = self.classify(path, home);
        sensitivity.secret || sensitivity.sensitive
    }

    /// The classes that a path matching the absolute shell pattern could belong to, by names
    /// alone: exceptions are not considered, and `*` may stand for anything.
    #[must_use]
    pub fn classify_pattern(&self, pattern: &str, home: &Path) -> Sensitivity {
        let mut sensitivity = Sensitivity::default();
        for candidate in candidates(&pattern.to_lowercase(), home) {
            let candidate = intersect::tokens(&candidate);
            for (text, entry) in self.path_texts().iter().zip(&self.path_entries) {
                let class = self.groups[entry.group].class;
                if sensitivity.has(class) {
                    continue;
                }
                let directory = text.strip_suffix("/**");
                let meets =
                    |text: &str| intersect::may_intersect(&candidate, &intersect::tokens(text));
                if meets(text) || directory.is_some_and(meets) {
                    sensitivity.add(class);
                }
            }
        }
        sensitivity
    }

    /// The classes that something *beneath* the absolute directory could belong to although its
    /// own name says nothing yet: `~` holds `.ssh`, `/etc` holds `shadow`. Groups that may lie at
    /// any depth (`.env`) count for every directory, so use this where no walk can be bounded.
    #[must_use]
    pub fn could_contain(&self, directory: &Path, home: &Path) -> Sensitivity {
        let pattern = format!("{}/**", folded(directory).trim_end_matches('/'));
        self.classify_pattern(&pattern, home)
    }

    /// Like [`Self::could_contain`], but only for patterns that name a fixed place (`~/.gnupg`,
    /// `/etc/shadow`), so that an ordinary project directory answers nothing.
    #[must_use]
    pub fn fixed_places_beneath(&self, directory: &Path, home: &Path) -> Sensitivity {
        let mut sensitivity = Sensitivity::default();
        for candidate in candidates(&folded(directory), home) {
            let prefix = format!("{}/", candidate.trim_end_matches('/'));
            for (index, text) in self.paths.anchored_like(&prefix) {
                if is_beneath(text, &prefix) {
                    sensitivity.add(self.groups[self.path_entries[index].group].class);
                }
            }
        }
        sensitivity
    }
}

impl Sensitivity {
    /// Adds a class.
    pub fn add(&mut self, class: Class) {
        match class {
            Class::Secret => self.secret = true,
            Class::Sensitive => self.sensitive = true,
            Class::Protected => self.protected = true,
        }
    }

    /// Has the class.
    #[must_use]
    pub fn has(self, class: Class) -> bool {
        match class {
            Class::Secret => self.secret,
            Class::Sensitive => self.sensitive,
            Class::Protected => self.protected,
        }
    }

    /// Everything that either belongs to.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            secret: self.secret || other.secret,
            sensitive: self.sensitive || other.sensitive,
            protected: self.protected || other.protected,
            guardian: self.guardian || other.guardian,
        }
    }
}

/// A path as classes compare it: lower-case, and per component without what some file system
/// ignores (zero-width characters on HFS+, trailing dots and spaces and stream suffixes on NTFS).
/// Only ever used to *find* a class, so folding too much is safe.
pub(crate) fn folded(path: &Path) -> String {
    let text = path.to_string_lossy();
    // The common case costs one pass and one allocation.
    if text
        .bytes()
        .all(|byte| byte.is_ascii() && byte != b':' && byte != b' ')
        && !text.contains("./")
        && !text.ends_with('.')
    {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    for component in path.components() {
        match component {
            Component::RootDir => folded.push('/'),
            Component::CurDir => {}
            other => {
                let name = other.as_os_str().to_string_lossy();
                if !folded.is_empty() && !folded.ends_with('/') {
                    folded.push('/');
                }
                fold_component(&name, &mut folded);
            }
        }
    }
    folded
}

fn fold_component(name: &str, into: &mut String) {
    if name == ".." {
        into.push_str(name);
        return;
    }
    // `.git:x` and `.git::$INDEX_ALLOCATION` name `.git`; `C:` is a drive.
    let name = match name.find(':') {
        Some(position) if position > 1 => &name[..position],
        _ => name,
    };
    let trimmed = name.trim_end_matches(['.', ' ']);
    let name = if trimmed.is_empty() { name } else { trimmed };
    for character in name.chars() {
        match character {
            '\u{200c}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{206a}'..='\u{206f}'
            | '\u{feff}' => {}
            'ſ' => into.push('s'),
            other => into.extend(other.to_lowercase()),
        }
    }
}

/// The forms in which a folded absolute path is matched: itself, and `~/rest` beneath a home.
fn candidates(path: &str, home: &Path) -> Vec<String> {
    let mut forms = vec![path.to_owned()];
    let home = home.to_string_lossy().to_lowercase();
    let mut push = |rest: &str| {
        let form = format!("~/{}", rest.trim_start_matches('/'));
        if !forms.contains(&form) {
            forms.push(form);
        }
    };
    if !home.is_empty()
        && home != "/"
        && let Some(rest) = path.strip_prefix(home.trim_end_matches('/'))
        && (rest.is_empty() || rest.starts_with('/'))
    {
        push(rest);
    }
    for parent in [
        "/home/",
        "/users/",
        "/var/home/",
        "/export/home/",
        "/usr/home/",
        "c:/users/",
        "/c:/users/",
    ] {
        if let Some((_, rest)) = path
            .strip_prefix(parent)
            .and_then(|rest| rest.split_once('/'))
        {
            push(rest);
        }
    }
    for root_home in ["/root/", "/var/root/", "/private/var/root/"] {
        if let Some(rest) = path.strip_prefix(root_home) {
            push(rest);
        }
    }
    forms
}

/// A configured pattern, folded, begins with a folded prefix. Asked of every pattern in every
/// check, so without a copy of those that are plain.
fn is_beneath(pattern: &str, prefix: &str) -> bool {
    if pattern.is_ascii() {
        let start = pattern.as_bytes().get(..prefix.len());
        return start.is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()));
    }
    pattern.to_lowercase().starts_with(prefix)
}

/// A configured pattern as one text that says where it begins (`/`, `~/` or `**/`).
fn anchored(pattern: &str) -> String {
    let lower = pattern.to_lowercase();
    if is_anchored(&lower) || lower.starts_with("**/") {
        lower
    } else {
        format!("**/{lower}")
    }
}
