//! Paths: the roots of a session, normalisation of what a model writes, and placing a path.

use std::path::PathBuf;

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
