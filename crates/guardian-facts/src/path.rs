//! Paths: the roots of a session, normalisation of what a model writes, and placing a path.
//!
//! Two ways in: `FactContext::argument` for the `path` argument of a tool (`~`, `file://`), and
//! `FactContext::target` for a path as an operating-system call would get it (shell operands
//! after expansion). Both end in the same place: resolve with the probe, scope, classes.

mod alias;
mod found;
mod linked;
mod look;
mod normalise;
mod pattern;
mod place;
pub mod windows;

use std::path::{Path, PathBuf};

pub(crate) use found::Listed;
pub use linked::{LinkedNames, OtherNames};
pub use normalise::{PathError, collapse, normalise_argument};
pub(crate) use pattern::{matches_component, may_be_parent, wider};

/// The roots of a session as canonical absolute paths (no handles: those are in guardian-tools).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootPaths {
    /// The session's project directory; `None` for a session without a project.
    pub workspace: Option<PathBuf>,
    /// The session's scratch directory, whether or not it exists yet.
    pub scratch: PathBuf,
    /// The user's home directory, for `~` and the path classes.
    pub home: PathBuf,
    /// guardian's own data directory (the scratch directory beneath it is exempt).
    pub guardian_data: PathBuf,
    /// guardian's configuration and policy files or directories.
    pub guardian_config: Vec<PathBuf>,
    /// guardian's executables.
    pub guardian_executables: Vec<PathBuf>,
}

impl RootPaths {
    /// One of guardian's own files: data (except this session's scratch), configuration, policy,
    /// executables. Compared without regard to case, except that only the exact scratch directory
    /// is exempt.
    #[must_use]
    pub fn is_guardian_file(&self, path: &Path) -> bool {
        if path.starts_with(&self.scratch) {
            return false;
        }
        self.guardian_paths()
            .any(|own| starts_with_any_case(path, own))
    }

    /// One of guardian's own files lies beneath `directory` (which may be an ancestor of the whole
    /// data directory).
    #[must_use]
    pub fn holds_guardian_files(&self, directory: &Path) -> bool {
        self.guardian_paths()
            .any(|own| starts_with_any_case(own, directory))
    }

    fn guardian_paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.guardian_data)
            .chain(&self.guardian_config)
            .chain(&self.guardian_executables)
            .map(PathBuf::as_path)
            .filter(|path| !path.as_os_str().is_empty())
    }

    /// A path as people read it: relative to the workspace, `~/…`, or absolute.
    #[must_use]
    pub fn display(&self, path: &Path) -> String {
        if let Some(workspace) = &self.workspace
            && let Ok(rest) = path.strip_prefix(workspace)
        {
            return if rest.as_os_str().is_empty() {
                ".".to_owned()
            } else {
                rest.display().to_string()
            };
        }
        if let Ok(rest) = path.strip_prefix(&self.scratch) {
            return if rest.as_os_str().is_empty() {
                "scratch".to_owned()
            } else {
                rest.display().to_string()
            };
        }
        match path.strip_prefix(&self.home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }
}

fn starts_with_any_case(path: &Path, prefix: &Path) -> bool {
    if path.starts_with(prefix) {
        return true;
    }
    let mut path = path.components();
    prefix.components().all(|wanted| {
        path.next().is_some_and(|component| {
            let (left, right) = (
                component.as_os_str().to_string_lossy(),
                wanted.as_os_str().to_string_lossy(),
            );
            left.eq_ignore_ascii_case(&right) || left.to_lowercase() == right.to_lowercase()
        })
    })
}
