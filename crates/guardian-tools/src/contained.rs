//! Opened, verified targets.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guardian_facts::FileId;
use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;

use crate::ToolFailure;
use crate::open::{Capabilities, OpenError, is_pseudo_file_system, open_beneath, reopen, stat};
use crate::roots::{RootHandle, RootKind};

/// An existing file or directory: a handle that was opened beneath its root without following a
/// link, and what it is.
///
/// The handle is `O_PATH`: holding it neither blocks on nor acts on special files. Everything
/// that a body does starts from it, never from the path.
#[derive(Debug)]
pub struct Contained {
    root: RootHandle,
    relative: PathBuf,
    handle: OwnedFd,
    stat: Stat,
    capabilities: Capabilities,
}

/// What a [`Contained`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainedKind {
    /// A regular file with bytes.
    File,
    /// A directory.
    Directory,
    /// FIFO, socket or device, or a pseudo file of the kernel.
    Special,
}

/// The `O_PATH` handle, for a command's working directory.
impl AsFd for Contained {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl Contained {
    /// Opens `relative` beneath the root.
    pub(crate) fn open(
        root: &RootHandle,
        relative: &Path,
        capabilities: &Capabilities,
    ) -> Result<Self, OpenError> {
        let handle = open_beneath(root.handle.as_fd(), relative, OFlags::PATH, capabilities)?;
        Self::around(
            root.clone(),
            relative.to_owned(),
            handle,
            capabilities.clone(),
        )
    }

    fn around(
        root: RootHandle,
        relative: PathBuf,
        handle: OwnedFd,
        capabilities: Capabilities,
    ) -> Result<Self, OpenError> {
        let stat = stat(handle.as_fd())?;
        Ok(Self {
            root,
            relative,
            handle,
            stat,
            capabilities,
        })
    }

    /// Opens a name in this directory.
    pub(crate) fn child(&self, name: &OsStr) -> Result<Self, OpenError> {
        let handle = open_beneath(
            self.handle.as_fd(),
            Path::new(name),
            OFlags::PATH,
            &self.capabilities,
        )?;
        Self::around(
            self.root.clone(),
            self.relative.join(name),
            handle,
            self.capabilities.clone(),
        )
    }

    /// Which root it lies in.
    #[must_use]
    pub fn root(&self) -> RootKind {
        self.root.kind
    }

    /// Absolute canonical path. For showing and for keys; never opened again.
    #[must_use]
    pub fn canonical(&self) -> PathBuf {
        self.root.path.join(&self.relative)
    }

    /// The path as results show it: relative in the workspace, else absolute.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(self.root.kind, &self.root.path, &self.relative)
    }

    /// Device and inode.
    #[must_use]
    pub fn identity(&self) -> FileId {
        identity(&self.stat)
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> ContainedKind {
        match FileType::from_raw_mode(self.stat.st_mode) {
            FileType::Directory => ContainedKind::Directory,
            FileType::RegularFile if !is_pseudo_file_system(self.handle.as_fd()) => {
                ContainedKind::File
            }
            _ => ContainedKind::Special,
        }
    }

    /// Size, mode, owner, links and times when it was opened.
    pub(crate) fn stat(&self) -> &Stat {
        &self.stat
    }

    /// The same, asked again of the same inode.
    pub(crate) fn stat_now(&self) -> Result<Stat, Errno> {
        rustix::fs::fstat(&self.handle)
    }

    pub(crate) fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Path beneath its root.
    pub(crate) fn relative(&self) -> &Path {
        &self.relative
    }

    /// The `O_PATH` handle.
    #[must_use]
    pub fn as_handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Opens the regular file for reading: the very inode of the handle.
    pub(crate) fn open_for_reading(&self) -> Result<OwnedFd, ToolFailure> {
        if self.kind() != ContainedKind::File {
            return Err(self.special());
        }
        reopen(self.handle.as_fd(), OFlags::RDONLY)
            .map_err(|errno| ToolFailure::system("read", &self.shown(), errno))
    }

    /// Opens the directory for listing.
    pub(crate) fn open_for_listing(&self) -> Result<OwnedFd, ToolFailure> {
        reopen(self.handle.as_fd(), OFlags::RDONLY | OFlags::DIRECTORY)
            .map_err(|errno| ToolFailure::system("list", &self.shown(), errno))
    }

    /// The refusal of FIFOs, sockets, devices and pseudo files.
    pub(crate) fn special(&self) -> ToolFailure {
        let what = match FileType::from_raw_mode(self.stat.st_mode) {
            FileType::Fifo => "a FIFO (named pipe)",
            FileType::Socket => "a socket",
            FileType::CharacterDevice | FileType::BlockDevice => "a device",
            FileType::Directory => "a directory",
            _ => "a pseudo file of the kernel",
        };
        ToolFailure::new(
            crate::FailureCode::InvalidArgument,
            format!(
                "`{}` is {what}; file tools work on regular files only",
                self.shown()
            ),
        )
    }
}

/// Where a changed file lies or will lie: its directory's handle, and the leaf in it.
#[derive(Debug)]
pub struct Place {
    /// The deepest existing directory.
    pub(crate) directory: Arc<Contained>,
    /// Directories between it and the leaf that do not exist yet.
    pub(crate) missing: Vec<OsString>,
    /// The file's name.
    pub(crate) leaf: OsString,
    /// The file when it exists.
    pub(crate) existing: Option<Contained>,
    /// Its content must not be shown to anybody before the call is permitted.
    pub(crate) guarded: bool,
}

impl Place {
    /// A name in an existing directory.
    pub(crate) fn at(directory: Contained, leaf: &OsStr, existing: Option<Contained>) -> Self {
        Self {
            directory: Arc::new(directory),
            missing: Vec::new(),
            leaf: leaf.to_owned(),
            existing,
            guarded: false,
        }
    }

    /// The file when it exists.
    #[must_use]
    pub fn existing(&self) -> Option<&Contained> {
        self.existing.as_ref()
    }

    /// Which root.
    #[must_use]
    pub fn root(&self) -> RootKind {
        self.directory.root()
    }

    fn relative(&self) -> PathBuf {
        let mut relative = self.directory.relative.clone();
        relative.extend(&self.missing);
        relative.push(&self.leaf);
        relative
    }

    /// Does the place lie beneath the directory with this identity? A directory that was made
    /// since the place was judged is no reason to call it another place: the walk down from the
    /// root meets no link.
    pub(crate) fn is_beneath(&self, judged: FileId) -> bool {
        let root = &self.directory.root;
        self.directory.identity() == judged
            || self.directory.relative.ancestors().skip(1).any(|above| {
                Contained::open(root, above, &self.directory.capabilities)
                    .is_ok_and(|above| above.identity() == judged)
            })
            || root.kind == RootKind::Scratch
    }

    /// The directories that do not exist yet, outermost first.
    pub(crate) fn missing_directories(&self) -> Vec<PathBuf> {
        let mut path = self.directory.canonical();
        let below = |name| {
            path.push(name);
            path.clone()
        };
        self.missing.iter().map(below).collect()
    }

    /// Absolute canonical path of the file.
    #[must_use]
    pub fn canonical(&self) -> PathBuf {
        self.directory.root.path.join(self.relative())
    }

    /// As results show it.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(self.root(), &self.directory.root.path, &self.relative())
    }
}

pub(crate) fn identity(stat: &Stat) -> FileId {
    FileId {
        device: stat.st_dev,
        inode: stat.st_ino,
    }
}

fn shown(kind: RootKind, root: &Path, relative: &Path) -> String {
    match kind {
        RootKind::Workspace if relative.as_os_str().is_empty() => ".".to_owned(),
        RootKind::Workspace => relative.display().to_string(),
        RootKind::Scratch | RootKind::External => root.join(relative).display().to_string(),
    }
}
