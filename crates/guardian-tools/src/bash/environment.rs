//! The environment of a command: the user's own, without what would make a harmless command run
//! something else, without secrets, and without what would wait for a human.
//!
//! The reading of a command (`ls` is the program `ls`, `git status` only looks) is only true in an
//! environment in which nothing redirects names. So the lists here are as much a part of a verdict
//! as the rules are; they are data, in the section `[tools.env]` of `config/default.toml`.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

/// Variables by name.
pub type Variables = BTreeMap<OsString, OsString>;

/// Which variables a command gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentRules {
    remove: Vec<NamePattern>,
    keep: Vec<String>,
    set: BTreeMap<String, String>,
    pass: Vec<NamePattern>,
    block: Vec<NamePattern>,
    standard_path: String,
}

/// A section of the configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the section [tools.env] cannot be read: {0}")]
pub struct EnvironmentRulesError(String);

/// A variable's name, or the beginning of names when it ends in `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamePattern(String);

impl NamePattern {
    fn matches(&self, name: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == self.0,
        }
    }
}

#[derive(Deserialize)]
struct File {
    tools: Tools,
}

#[derive(Deserialize)]
struct Tools {
    env: Section,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    remove: Vec<String>,
    keep: Vec<String>,
    standard_path: String,
    set: BTreeMap<String, String>,
}

impl EnvironmentRules {
    /// The built-in lists.
    ///
    /// # Errors
    /// The embedded file is broken (a test says that it is not).
    pub fn builtin() -> Result<Self, EnvironmentRulesError> {
        Self::from_toml(include_str!("../../../../config/default.toml"))
    }

    fn from_toml(text: &str) -> Result<Self, EnvironmentRulesError> {
        let file: File =
            toml::from_str(text).map_err(|error| EnvironmentRulesError(error.to_string()))?;
        let Section {
            remove,
            keep,
            standard_path,
            set,
        } = file.tools.env;
        Ok(Self {
            remove: remove.into_iter().map(NamePattern).collect(),
            keep,
            set,
            pass: Vec::new(),
            block: Vec::new(),
            standard_path,
        })
    }

    /// The same with the user's `env.pass` (secret-looking variables that commands get all the
    /// same) and `env.block` (variables that they do not get). Neither brings back a variable
    /// that changes what a command runs. Only from the user's or the managed configuration.
    #[must_use]
    pub fn with_user(mut self, pass: Vec<String>, block: Vec<String>) -> Self {
        self.pass = pass.into_iter().map(NamePattern).collect();
        self.block = block.into_iter().map(NamePattern).collect();
        self
    }

    /// Is the variable one that a command does not get because of its secret?
    fn is_secret(&self, name: &str, value: &str) -> bool {
        if self.pass.iter().any(|pattern| pattern.matches(name)) {
            return false;
        }
        if guardian_redact::is_secret_key(name) {
            return true;
        }
        // Without its proxy nothing reaches the network, also when the proxy wants a password.
        let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
        !is_proxy && guardian_redact::Redactor::builtin().redact_text(value) != value
    }

    fn is_removed(&self, name: &str) -> bool {
        let listed = self.remove.iter().any(|pattern| pattern.matches(name));
        (listed && !self.keep.iter().any(|kept| kept == name))
            || self.block.iter().any(|pattern| pattern.matches(name))
    }
}

/// Where a command will run, as far as its environment depends on it.
#[derive(Debug, Clone, Copy)]
pub struct CallPlaces<'a> {
    /// Canonical path of the workspace.
    pub workspace: &'a Path,
    /// The session's scratch directory.
    pub scratch: &'a Path,
}

/// The environment of a command, made from the user's (captured or inherited) variables.
///
/// Looks at the file system to see where the entries of `PATH` lead.
#[must_use]
pub fn prepare(user: &Variables, rules: &EnvironmentRules, places: CallPlaces<'_>) -> Variables {
    let mut result: Variables = user
        .iter()
        .filter(|(name, value)| {
            // bash imports functions from names that are no identifiers; nothing needs the others.
            name.to_str().is_some_and(|name| {
                is_identifier(name)
                    && !rules.is_removed(name)
                    && !rules.is_secret(name, &value.to_string_lossy())
            })
        })
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let path = result.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    result.insert(
        "PATH".into(),
        clean_path(&path, &rules.standard_path, places),
    );
    for (name, value) in &rules.set {
        result.insert(name.into(), value.into());
    }
    for name in ["PI_SCRATCH_DIR", "GUARDIAN_SCRATCH_DIR"] {
        result.insert(name.into(), places.scratch.into());
    }
    result
}

/// The values (at least 8 characters) that are kept from commands: when one of them shows up in a
/// command's output all the same, it is masked there (SPEC §14).
#[must_use]
pub fn secret_values(user: &Variables, rules: &EnvironmentRules) -> Vec<String> {
    user.iter()
        .filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
        .filter(|(name, value)| value.chars().count() >= 8 && rules.is_secret(name, value))
        .map(|(_, value)| value.to_owned())
        .collect()
}

/// A hash over all variables: an approval is bound to it.
#[must_use]
pub fn environment_hash(variables: &Variables) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut hasher = blake3::Hasher::new();
    for (name, value) in variables {
        hasher
            .update(name.as_bytes())
            .update(b"=")
            .update(value.as_bytes())
            .update(b"\0");
    }
    hasher.finalize().to_hex().to_string()
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// `PATH` without entries through which a repository, or whoever writes to it, decides what a
/// bare name runs: relative ones, empty ones (the current directory), ones that lie in a root or
/// lead into one.
fn clean_path(path: &OsStr, standard: &str, places: CallPlaces<'_>) -> OsString {
    let entries: Vec<PathBuf> = std::env::split_paths(path)
        .filter(|entry| entry.is_absolute() && !is_in_a_root(entry, places))
        .collect();
    match std::env::join_paths(&entries) {
        Ok(joined) if !joined.is_empty() => joined,
        _ => standard.into(),
    }
}

fn is_in_a_root(entry: &Path, places: CallPlaces<'_>) -> bool {
    // A `..` means something else behind a link: such an entry is judged where it leads.
    let plain = !entry.components().any(|part| part == Component::ParentDir);
    let leads_to = entry.canonicalize().ok();
    [places.workspace, places.scratch].into_iter().any(|root| {
        let real_root = root.canonicalize().ok();
        let roots = [Some(root), real_root.as_deref()];
        roots.into_iter().flatten().any(|root| {
            (entry.starts_with(root) && plain)
                || leads_to
                    .as_ref()
                    .is_some_and(|target| target.starts_with(root))
        })
    }) || (!plain && leads_to.is_none())
}
