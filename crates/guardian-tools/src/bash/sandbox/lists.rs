//! The path lists of a confinement, from the section `[tools.sandbox]` of `config/default.toml`.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Path lists. `~/` is the user's home, everything else is relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SandboxLists {
    caches: Vec<String>,
    masked: Vec<String>,
    protected: Vec<String>,
}

/// A section of the configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the section [tools.sandbox] cannot be read: {0}")]
pub struct SandboxListsError(String);

#[derive(Deserialize)]
struct File {
    tools: Tools,
}

#[derive(Deserialize)]
struct Tools {
    sandbox: SandboxLists,
}

impl SandboxLists {
    /// The built-in lists.
    ///
    /// # Errors
    /// The embedded file is broken (a test says that it is not).
    pub fn builtin() -> Result<Self, SandboxListsError> {
        toml::from_str::<File>(include_str!("../../../../../config/default.toml"))
            .map(|file| file.tools.sandbox)
            .map_err(|error| SandboxListsError(error.to_string()))
    }

    /// Tool caches that can be written.
    #[must_use]
    pub fn caches(&self, home: &Path) -> Vec<PathBuf> {
        beneath(&self.caches, home)
    }

    /// Sensitive paths of the home directory and the system that look empty. The host adds the
    /// secret files of the workspace and guardian's own directories.
    #[must_use]
    pub fn masked(&self, home: &Path) -> Vec<PathBuf> {
        beneath(&self.masked, home)
    }

    /// Protected paths of a workspace.
    #[must_use]
    pub fn protected(&self, workspace: &Path) -> Vec<PathBuf> {
        self.protected
            .iter()
            .map(|path| workspace.join(path))
            .collect()
    }
}

fn beneath(list: &[String], home: &Path) -> Vec<PathBuf> {
    list.iter()
        .map(|path| match path.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => PathBuf::from(path),
        })
        .collect()
}
