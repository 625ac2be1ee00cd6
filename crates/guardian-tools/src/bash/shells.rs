//! The shells a command can run in.

use std::path::PathBuf;

/// Stable id of a shell. Only an id is accepted as identity, never a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShellId {
    /// Windows PowerShell.
    WindowsPowershell,
    /// The Windows command interpreter.
    Cmd,
    /// The bash that comes with Git for Windows.
    GitBash,
    /// bash.
    Bash,
}

impl ShellId {
    /// The id as it stands on the wire and in settings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WindowsPowershell => "windows-powershell",
            Self::Cmd => "cmd",
            Self::GitBash => "git-bash",
            Self::Bash => "bash",
        }
    }
}

/// A shell that was found on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    /// Which one.
    pub id: ShellId,
    /// Where it is.
    pub executable: PathBuf,
}
