//! Opening beneath a directory handle, never through a link.
//!
//! The one place where a path turns into a handle. Paths that arrive here are canonical: whoever
//! judged them resolved every link, so a link met now was put there afterwards and is an error,
//! never followed.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};
use std::sync::Arc;

use crate::pending::Pending;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

/// Whether a system feature is used where the kernel has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Use it; fall back when the kernel says that it is missing.
    Use,
    /// Take the fallback at once. For tests and for kernels where the feature misbehaves.
    Avoid,
}

/// A step of a change, told to [`Capabilities::steps`] right before it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The temporary file is about to be created.
    CreateTemporary,
    /// The temporary file exists and is empty.
    WriteTemporary,
    /// The new bytes are in the temporary file, not yet synced.
    SyncTemporary,
    /// The temporary file gets a name in the directory.
    NameTemporary,
    /// Old and new content change places.
    Commit,
    /// The new content is in place; the temporary name is about to go.
    RemoveTemporary,
    /// Bytes are about to be written into the existing file (hard links).
    WriteInPlace,
}

/// Watches the steps of a change. The production value is [`Unwatched`]; tests kill the process
/// or fail the step here.
pub trait StepWatch: Send + Sync {
    /// Called before each step.
    ///
    /// # Errors
    /// An error makes the step fail as if the system had answered with it.
    fn before(&self, step: Step) -> Result<(), Errno>;
}

/// Lets every step happen.
#[derive(Debug, Clone, Copy)]
pub struct Unwatched;

impl StepWatch for Unwatched {
    fn before(&self, _step: Step) -> Result<(), Errno> {
        Ok(())
    }
}

/// Which system features the file tools use.
#[derive(Clone)]
pub struct Capabilities {
    /// `openat2` with `RESOLVE_BENEATH`. The fallback opens one component at a time.
    pub openat2: Feature,
    /// `O_TMPFILE`: new bytes have no name until they are complete.
    pub unnamed_temporary: Feature,
    /// `RENAME_EXCHANGE` and `RENAME_NOREPLACE`.
    pub rename_flags: Feature,
    /// Watches the steps of a change.
    pub steps: Arc<dyn StepWatch>,
    /// Where temporary names are noted; set by [`crate::Roots`].
    pub(crate) pending: Option<Pending>,
}

impl Capabilities {
    /// Everything that the kernel has.
    #[must_use]
    pub fn all() -> Self {
        Self {
            openat2: Feature::Use,
            unnamed_temporary: Feature::Use,
            rename_flags: Feature::Use,
            steps: Arc::new(Unwatched),
            pending: None,
        }
    }
}

impl std::fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capabilities")
            .field("openat2", &self.openat2)
            .field("unnamed_temporary", &self.unnamed_temporary)
            .field("rename_flags", &self.rename_flags)
            .finish_non_exhaustive()
    }
}

/// Why an open beneath a handle failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenError {
    /// A link (or a way out) lies in the path.
    Link,
    /// Anything else.
    System(Errno),
}

impl OpenError {
    pub(crate) fn is_missing(self) -> bool {
        matches!(self, Self::System(Errno::NOENT | Errno::NOTDIR))
    }
}

/// How often an `openat2` that lost a race against a rename is tried again.
const AGAIN_RETRIES: usize = 64;

/// Opens `relative` beneath `root` without following any link. An empty path is `root` itself.
pub(crate) fn open_beneath(
    root: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
    capabilities: &Capabilities,
) -> Result<OwnedFd, OpenError> {
    let flags = flags | OFlags::CLOEXEC;
    if !relative
        .components()
        .all(|part| matches!(part, Component::Normal(_)))
    {
        return Err(OpenError::Link);
    }
    let relative = if relative.as_os_str().is_empty() {
        Path::new(".")
    } else {
        relative
    };
    if capabilities.openat2 == Feature::Use
        && let Some(answer) = with_openat2(root, relative, flags)
    {
        return answer;
    }
    by_components(root, relative, flags)
}

/// `None` when the kernel (or a seccomp filter) has no `openat2`.
fn with_openat2(
    root: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
) -> Option<Result<OwnedFd, OpenError>> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    for _ in 0..AGAIN_RETRIES {
        match rustix::fs::openat2(root, relative, flags, Mode::empty(), resolve) {
            Ok(handle) => return Some(Ok(handle)),
            Err(Errno::AGAIN) if !flags.contains(OFlags::NONBLOCK) => {}
            Err(Errno::LOOP | Errno::XDEV) => return Some(Err(OpenError::Link)),
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::TOOBIG) => return None,
            Err(errno) => return Some(Err(OpenError::System(errno))),
        }
    }
    // Somebody renames without pause: one component at a time needs no retry.
    None
}

fn by_components(
    root: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
) -> Result<OwnedFd, OpenError> {
    let mut names: Vec<&OsStr> = relative.iter().collect();
    let Some(last) = names.pop() else {
        return Err(OpenError::System(Errno::NOENT));
    };
    let mut here: Option<OwnedFd> = None;
    for name in names {
        let at = here.as_ref().map_or(root, |handle| handle.as_fd());
        here = Some(open_directory(at, name)?);
    }
    let at = here.as_ref().map_or(root, |handle| handle.as_fd());
    match rustix::fs::openat(at, last, flags | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(handle) => {
            // With O_PATH the kernel hands out the link itself instead of refusing it.
            if flags.contains(OFlags::PATH) && is_link(&stat(handle.as_fd())?) {
                return Err(OpenError::Link);
            }
            Ok(handle)
        }
        Err(errno) => Err(link_or(errno, at, last)),
    }
}

fn open_directory(at: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, OpenError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty()).map_err(|errno| link_or(errno, at, name))
}

/// `O_NOFOLLOW` answers `ELOOP` or, with `O_DIRECTORY`, `ENOTDIR` for a link: told apart here.
fn link_or(errno: Errno, at: BorrowedFd<'_>, name: &OsStr) -> OpenError {
    if !matches!(errno, Errno::LOOP | Errno::NOTDIR) {
        return OpenError::System(errno);
    }
    match rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if is_link(&stat) => OpenError::Link,
        _ => OpenError::System(errno),
    }
}

pub(crate) fn stat(handle: BorrowedFd<'_>) -> Result<Stat, OpenError> {
    rustix::fs::fstat(handle).map_err(OpenError::System)
}

fn is_link(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Symlink
}

/// Opens what an `O_PATH` handle refers to, exactly that inode. Only for regular files and
/// directories: opening a device or FIFO can block or act.
pub(crate) fn reopen(handle: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd, Errno> {
    use std::os::fd::AsRawFd;
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    if flags.contains(OFlags::DIRECTORY) {
        return rustix::fs::openat(handle, ".", flags, Mode::empty());
    }
    // Our own descriptor's entry in /proc: the kernel jumps to the inode, no name is resolved.
    let own = format!("/proc/self/fd/{}", handle.as_raw_fd());
    rustix::fs::open(own.as_str(), flags, Mode::empty())
}

/// File systems whose files are interfaces of the kernel (SPEC §3: refused like devices).
pub(crate) fn is_pseudo_file_system(handle: BorrowedFd<'_>) -> bool {
    const PSEUDO: [u64; 14] = [
        0x0000_9fa0, // proc
        0x6265_6572, // sysfs
        0x6462_6720, // debugfs
        0x7472_6163, // tracefs
        0x7363_6673, // securityfs
        0x0027_e0eb, // cgroup
        0x6367_7270, // cgroup2
        0xcafe_4a11, // bpf
        0x6165_676c, // pstore
        0xde5e_81e4, // efivarfs
        0x0000_1cd1, // devpts
        0x6265_6570, // configfs
        0x1980_0202, // mqueue
        0xf97c_ff8c, // selinux
    ];
    rustix::fs::fstatfs(handle)
        .is_ok_and(|found| u64::try_from(found.f_type).is_ok_and(|kind| PSEUDO.contains(&kind)))
}
