//! Path classes of SPEC §3 (secret, sensitive, protected), compiled from `config/default.toml`.
//!
//! Classes are decided by name alone here; [`crate::FactContext::place`] adds what needs the
//! machine (links, guardian's own files, the content of certificates).

mod beneath;
pub(crate) mod directories;
mod intersect;
pub(crate) mod pattern;
pub(crate) mod pattern_set;
pub(crate) mod prepared;
mod public_key;

use std::borrow::Cow;
use std::path::{Component, Path};
use std::sync::OnceLock;

use crate::Sensitivity;
use crate::defaults::{self, ClassGroup, FactsConfig, FactsExtension};

use directories::{EmbeddedDirectories, NamedDirectories};
use pattern::is_anchored;
use pattern_set::{LastSteps, PatternSet, Subject};
use prepared::Prepared;

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

impl Group {
    fn of(class: Class, group: &ClassGroup) -> Self {
        Self {
            class,
            name: group.name.clone(),
            why: group.why.clone(),
            unless_public: group.unless_public,
        }
    }
}

/// The group of a pattern: those of the embedded ones come first.
fn numbered(embedded: &[u8], own: &[usize], number: usize) -> usize {
    match embedded.get(number) {
        Some(group) => usize::from(*group),
        None => own[number - embedded.len()],
    }
}

/// A tree: the directory and all beneath it.
fn is_tree(pattern: &str) -> bool {
    pattern.ends_with("/**")
}

/// The compiled path classes.
#[derive(Debug, Clone)]
pub struct PathClasses {
    groups: Vec<Group>,
    paths: PatternSet,
    /// The group of each embedded pattern, and of each that was added.
    embedded_groups: &'static [u8],
    own_groups: Vec<usize>,
    path_texts: OnceLock<Vec<String>>,
    excepts: PatternSet,
    embedded_except_groups: &'static [u8],
    own_except_groups: Vec<usize>,
    /// Of the secret and the sensitive patterns: what walks leave out. Made by the first walk.
    hidden_names: OnceLock<LastSteps>,
    /// The directories that patterns name, from the first step on.
    directories: NamedDirectories,
}

fn classes_of(config: &FactsConfig) -> [(Class, &[ClassGroup]); 3] {
    [
        (Class::Secret, &config.secret),
        (Class::Sensitive, &config.sensitive),
        (Class::Protected, &config.protected),
    ]
}

impl PathClasses {
    /// The built-in classes. Costs next to nothing: their index is made when guardian is built.
    #[must_use]
    pub fn from_default() -> Self {
        let index = &defaults::CLASS_INDEX;
        let mut groups = Vec::new();
        for (class, of_class) in classes_of(FactsConfig::embedded()) {
            groups.extend(of_class.iter().map(|group| Group::of(class, group)));
        }
        Self {
            groups,
            paths: PatternSet::of(&index.paths),
            embedded_groups: index.path_groups,
            own_groups: Vec::new(),
            path_texts: OnceLock::new(),
            excepts: PatternSet::of(&index.excepts),
            embedded_except_groups: index.except_groups,
            own_except_groups: Vec::new(),
            hidden_names: OnceLock::new(),
            directories: NamedDirectories::of(&index.directories),
        }
    }

    /// The built-in classes with a user's additions. A group of a known name gets the added paths
    /// and exceptions; `unless_public` of a known group stays as it is.
    ///
    /// # Errors
    /// A pattern of the extension is malformed.
    pub fn with_extension(extension: &FactsExtension) -> Result<Self, ClassError> {
        let mut classes = Self::from_default();
        for (class, groups) in [
            (Class::Secret, &extension.secret),
            (Class::Sensitive, &extension.sensitive),
            (Class::Protected, &extension.protected),
        ] {
            for group in groups {
                classes.extend_group(class, group)?;
            }
        }
        Ok(classes)
    }

    /// Compiles the classes of a whole configuration.
    ///
    /// # Errors
    /// A pattern is malformed.
    pub fn compile(config: &FactsConfig) -> Result<Self, ClassError> {
        let mut classes = Self {
            groups: Vec::new(),
            paths: PatternSet::of(Prepared::NONE),
            embedded_groups: &[],
            own_groups: Vec::new(),
            path_texts: OnceLock::new(),
            excepts: PatternSet::of(Prepared::NONE),
            embedded_except_groups: &[],
            own_except_groups: Vec::new(),
            hidden_names: OnceLock::new(),
            directories: NamedDirectories::of(EmbeddedDirectories::NONE),
        };
        for (class, groups) in classes_of(config) {
            for group in groups {
                classes.extend_group(class, group)?;
            }
        }
        Ok(classes)
    }

    /// Adds a group, or to the group of this class and name.
    fn extend_group(&mut self, class: Class, added: &ClassGroup) -> Result<(), ClassError> {
        let is_same = |group: &Group| group.class == class && group.name == added.name;
        let index = self.groups.iter().position(is_same).unwrap_or_else(|| {
            self.groups.push(Group::of(class, added));
            self.groups.len() - 1
        });
        for pattern in &*added.paths {
            self.paths.add(pattern)?;
            self.own_groups.push(index);
            self.directories.add(pattern);
        }
        for pattern in &*added.except {
            self.excepts.add(pattern)?;
            self.own_except_groups.push(index);
        }
        Ok(())
    }

    /// The group of a pattern, by the pattern's number.
    fn group_of_path(&self, number: usize) -> usize {
        numbered(self.embedded_groups, &self.own_groups, number)
    }

    /// The group of an exception, by the exception's number.
    fn group_of_except(&self, number: usize) -> usize {
        numbered(self.embedded_except_groups, &self.own_except_groups, number)
    }

    /// The patterns of paths, for pattern-against-pattern questions.
    fn path_texts(&self) -> &[String] {
        self.path_texts
            .get_or_init(|| self.paths.texts().map(anchored).collect())
    }

    /// The last steps of the secret and the sensitive patterns.
    fn hidden_names(&self) -> &LastSteps {
        self.hidden_names.get_or_init(|| {
            let mut names = LastSteps::default();
            for (number, text) in self.paths.texts().enumerate() {
                if self.groups[self.group_of_path(number)].class != Class::Protected {
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
        self.directories.may_hold(&folded(directory))
    }

    /// Every group that an absolute path belongs to by its name. `home` is the user's home
    /// directory; homes of other users are recognised by their place (`/home/x`, `/Users/x`,
    /// `/root`).
    #[must_use]
    pub fn explain(&self, path: &Path, home: &Path) -> Vec<ClassHit<'_>> {
        let lower_home = home.to_string_lossy().to_lowercase();
        let mut numbers = Vec::new();
        self.paths
            .each_match(&Subject::new(&folded(path), &lower_home), |number| {
                numbers.push(number)
            });
        if numbers.is_empty() {
            return Vec::new();
        }
        numbers.sort_unstable();
        numbers.dedup();
        // An exception loosens, so it is matched on the plain lower-case name: a trailing dot or
        // a stream suffix never makes `id_rsa.pub. ` out of something else.
        let mut lifted = Vec::new();
        self.excepts.each_match(
            &Subject::new(&path.to_string_lossy().to_lowercase(), &lower_home),
            |number| lifted.push(self.group_of_except(number)),
        );
        let mut hits: Vec<ClassHit<'_>> = Vec::new();
        for number in numbers {
            let group = self.group_of_path(number);
            if lifted.contains(&group) {
                continue;
            }
            let tree = is_tree(self.paths.text(number));
            let group = &self.groups[group];
            match hits
                .iter_mut()
                .find(|hit| hit.group == &*group.name && hit.class == group.class)
            {
                Some(hit) => hit.tree |= tree,
                None => hits.push(ClassHit {
                    class: group.class,
                    group: &group.name,
                    why: &group.why,
                    tree,
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
            for (number, text) in self.path_texts().iter().enumerate() {
                let class = self.groups[self.group_of_path(number)].class;
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
            for (number, text) in self.paths.anchored_like(&prefix) {
                if is_beneath(text, &prefix) {
                    sensitivity.add(self.groups[self.group_of_path(number)].class);
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
