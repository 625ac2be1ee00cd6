//! Accesses: which path a call would touch, and how.

use std::path::PathBuf;

/// What is done to a path. The five kinds of SPEC §6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// Bytes of a file are read.
    Read,
    /// Names or metadata are read (a directory listing, `stat`).
    List,
    /// A file or directory is created or changed, or its metadata is.
    Write,
    /// A name is removed. The source of a rename is a delete too ([`AccessDetail::Rename`]).
    Delete,
    /// The file's content is run.
    Execute,
}

/// The finer operation, where a rule tells it apart from others of the same [`AccessKind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessDetail {
    /// Nothing finer is known or needed.
    Plain,
    /// The name moves elsewhere (source of `mv`, `git mv`).
    Rename,
    /// Mode, owner or ACL change (`chmod`, `chown`).
    Permissions,
    /// Existing content is cut away (`truncate`, `>`; the shell's `>>` is [`Self::Append`]).
    Truncate,
    /// Content is added at the end.
    Append,
    /// Raw bytes go to a device node or kernel interface (`dd of=`, `mkfs`).
    Device,
}

/// Where in the call an access comes from. Decides which rule may cover it (SPEC §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessSource {
    /// The explicit `path` argument of a file tool.
    PathArgument,
    /// An implicit walk beneath the path argument (Glob, Grep).
    Walk,
    /// An operand or flag of the command with this index in [`crate::Facts::commands`].
    Command(usize),
    /// A redirect of the command with this index.
    Redirect(usize),
    /// Declared by an extractor that was registered at run time.
    Declared,
}

/// How an extractor places a path relative to the session's roots, after resolving every link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Beneath the workspace (or the workspace itself).
    Workspace,
    /// Beneath the session's scratch directory.
    Scratch,
    /// Anywhere else.
    Outside,
    /// Addressed through scratch, but the resolution leaves it: always refused (SPEC §3).
    ScratchEscape,
}

/// The path classes of SPEC §3 that a path belongs to. All false = an ordinary file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sensitivity {
    /// Holds a credential (`.env`, private keys, …).
    pub secret: bool,
    /// Denied to every tool in every mode (`~/.ssh`, …) unless an allow rule names it.
    pub sensitive: bool,
    /// Makes code run later (`.git/hooks`, shell rc files, …); changes are always asked about.
    pub protected: bool,
    /// guardian's own data, configuration, policy or executables; never lifted.
    pub guardian: bool,
}

impl Sensitivity {
    /// True when the path belongs to none of the classes.
    #[must_use]
    pub fn is_ordinary(self) -> bool {
        self == Self::default()
    }
}

/// One path, as written and as resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathFact {
    /// The text that named it (for people).
    pub written: String,
    /// Absolute and canonical: every symlink resolved; a missing tail is appended as written.
    pub path: PathBuf,
    /// Where it lies.
    pub scope: Scope,
    /// Which classes it belongs to (the union over the written and the resolved path).
    pub sensitivity: Sensitivity,
    /// What is there now; `None` when nothing is.
    pub kind: Option<crate::FileKind>,
    /// Number of hard links of an existing regular file, else 1.
    pub links: u64,
    /// Identity of the target when it exists, or of its nearest existing parent when it does not.
    pub identity: Option<crate::FileId>,
}

/// What an access applies to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Exactly this path (and, when the access is recursive, all beneath it).
    Exact(PathFact),
    /// Every path that matches a shell pattern. `base` is the longest directory without a
    /// pattern character; `may_match` says which classes names matching it could belong to.
    Pattern {
        /// The pattern as written.
        written: String,
        /// The pattern with its directory part resolved.
        pattern: String,
        /// The literal directory in front of the first pattern character.
        base: PathFact,
        /// Classes that a matching name could belong to (conservative).
        may_match: Sensitivity,
    },
    /// A path that depends on something unknown.
    Unknown {
        /// The text as written.
        written: String,
        /// Why it is not known.
        reason: String,
        /// What the path would be if every unknown part were empty, where that is a root of the
        /// file system, the home directory or a session root (`rm -rf "$X/"`).
        when_empty: Option<PathBuf>,
        /// The value is a fresh temporary path made by `mktemp` in the same call.
        temporary: bool,
    },
}

/// One access of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// What is done.
    pub kind: AccessKind,
    /// The finer operation.
    pub detail: AccessDetail,
    /// To what.
    pub target: Target,
    /// Also to everything beneath it.
    pub recursive: bool,
    /// Where in the call it comes from.
    pub source: AccessSource,
}

impl Access {
    /// The path when it is exactly known.
    #[must_use]
    pub fn exact(&self) -> Option<&PathFact> {
        match &self.target {
            Target::Exact(path) => Some(path),
            Target::Pattern { .. } | Target::Unknown { .. } => None,
        }
    }

    /// True for the kinds that change something.
    #[must_use]
    pub fn is_change(&self) -> bool {
        matches!(self.kind, AccessKind::Write | AccessKind::Delete)
    }
}
