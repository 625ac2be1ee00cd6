//! Questions about the machine that extraction needs answered, behind a trait.
//!
//! The real implementation lives in guardian-tools; [`MemoryProbe`] serves tests and embedders
//! without a file system. Every answer is kept in a [`ProbeLog`], so that an extraction can be
//! replayed.

mod memory;
mod recording;

use std::path::{Path, PathBuf};

pub use memory::MemoryProbe;
pub use recording::RecordingProbe;

/// Device and inode: what an approval is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
}

/// What a path is, after links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// FIFO, socket, device node or other special file.
    Special,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Every symlink resolved, `..` as the kernel means it; a missing tail is kept as written.
    /// A dangling link resolves to the place it points to.
    pub path: PathBuf,
    /// What is there, if anything.
    pub kind: Option<FileKind>,
    /// Identity of the target, or of its nearest existing parent.
    pub identity: Option<FileId>,
    /// Hard links of a regular file, else 1.
    pub links: u64,
    /// At least one symlink was followed.
    pub followed_link: bool,
    /// The path could not be resolved (link loop, permission denied, too long): the reason.
    /// Facts treat such a path as unknown.
    pub error: Option<String>,
}

/// The answer to [`PathProbe::look_for_secrets`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretLook {
    /// All entries were seen, none is of a secret or sensitive class.
    Clean,
    /// At least one is.
    Found,
    /// The bound was reached, or something could not be read.
    Unknown,
}

/// What extraction may ask about the machine. Implementations must not follow a question with
/// any change, and must answer without blocking on special files.
pub trait PathProbe: Send + Sync {
    /// Resolves an absolute path.
    ///
    /// The magic links of `/proc` (`root`, `cwd`, `exe`, `fd/N` of a process) are not followed: they
    /// mean something else to the process that will open the path. A path that passes through one
    /// answers with [`Resolved::error`].
    fn resolve(&self, path: &Path) -> Resolved;

    /// The first `max` bytes of a regular file (scripts, `package.json`, git config), with the
    /// total size; `None` when it is missing, not regular or unreadable.
    fn read_file(&self, path: &Path, max: usize) -> Option<FileContent>;

    /// Names in a directory, sorted, at most `max`; `None` when it cannot be listed.
    fn list(&self, directory: &Path, max: usize) -> Option<Vec<String>>;

    /// The links and the directories in a directory, by name; `None` when it cannot be listed or
    /// has more than `max` entries of any kind.
    fn links_and_directories(&self, directory: &Path, max: usize) -> Option<Vec<LinkOrDirectory>>;

    /// Walks beneath `directory` (at most `max` entries, no links followed) looking for a path for
    /// which `is_secret` answers true.
    fn look_for_secrets(
        &self,
        directory: &Path,
        max: usize,
        is_secret: &dyn Fn(&Path) -> bool,
    ) -> SecretLook;
}

/// An entry that leads on: an answer to [`PathProbe::links_and_directories`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkOrDirectory {
    /// Its name. Bytes that are no UTF-8 are replaced: no class names them.
    pub name: String,
    /// A symbolic link, else a directory.
    pub is_link: bool,
}

/// Bytes that a probe read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileContent {
    /// At most the asked-for number of bytes from the start.
    pub head: Vec<u8>,
    /// Size of the whole file in bytes.
    pub size: u64,
    /// BLAKE3 of the whole file, lower-case hex; empty when the file is larger than the probe is
    /// willing to hash.
    pub hash: String,
}

/// One question with its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeEntry {
    /// `resolve`, `read`, `list`, `links` or `secrets`.
    pub question: &'static str,
    /// The path asked about.
    pub path: PathBuf,
    /// The answer in one line (canonical path, hash, count).
    pub answer: String,
}

/// All questions of one extraction, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProbeLog(pub Vec<ProbeEntry>);
