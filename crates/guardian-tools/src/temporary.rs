//! A temporary file in the directory of its target, that never outlives a failure.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use guardian_facts::FileId;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use crate::contained::identity;
use crate::file::write_at;
use crate::open::{Capabilities, Feature, Step};
use crate::pending::Note;
use crate::replace::step;

/// How the names of temporary files begin and end: what a sweep may look for.
pub(crate) const PREFIX: &str = ".guardian-";
pub(crate) const SUFFIX: &str = ".tmp";

/// New content on its way into a directory.
///
/// Where the system has `O_TMPFILE` it has no name until its content is complete and synced, so
/// that a killed process leaves nothing.
pub(crate) struct Temporary {
    directory: OwnedFd,
    file: OwnedFd,
    id: FileId,
    name: Option<OsString>,
    capabilities: Capabilities,
    note: Option<Note>,
    expected: Option<Expectation>,
}

/// What a sweep may find under the temporary name.
pub(crate) struct Expectation {
    /// Canonical path of the directory.
    pub(crate) place: PathBuf,
    /// Hash of the content that it is exchanged with.
    pub(crate) before: String,
    /// Hash of its own content.
    pub(crate) after: String,
}

impl Temporary {
    pub(crate) fn create(
        directory: BorrowedFd<'_>,
        mode: Mode,
        capabilities: &Capabilities,
    ) -> Result<Self, Errno> {
        step(capabilities, Step::CreateTemporary)?;
        let (file, name) = match capabilities.unnamed_temporary {
            Feature::Use => match unnamed(directory, mode) {
                Ok(file) => (file, None),
                Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                    named(directory, mode)?
                }
                Err(errno) => return Err(errno),
            },
            Feature::Avoid => named(directory, mode)?,
        };
        let mut temporary = Self {
            directory: rustix::io::fcntl_dupfd_cloexec(directory, 0)?,
            id: FileId {
                device: 0,
                inode: 0,
            },
            file,
            name,
            capabilities: capabilities.clone(),
            note: None,
            expected: None,
        };
        temporary.id = identity(&rustix::fs::fstat(&temporary.file)?);
        Ok(temporary)
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(crate) fn identity(&self) -> FileId {
        self.id
    }

    /// Says what a sweep may find, should this process be killed.
    pub(crate) fn expect(&mut self, expectation: Expectation) {
        self.expected = Some(expectation);
        if let Some(name) = self.name.clone() {
            self.note = self.note_for(&name);
        }
    }

    fn note_for(&self, name: &OsStr) -> Option<Note> {
        let pending = self.capabilities.pending.as_ref()?;
        let Expectation {
            place,
            before,
            after,
        } = self.expected.as_ref()?;
        pending.note(name, place, before, after)
    }

    /// Writes and syncs the content.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        step(&self.capabilities, Step::WriteTemporary)?;
        write_at(self.file.as_fd(), bytes, 0)?;
        step(&self.capabilities, Step::SyncTemporary)?;
        rustix::fs::fdatasync(&self.file)
    }

    /// Gives it a name, if it has none yet.
    pub(crate) fn name(&mut self) -> Result<(), Errno> {
        if self.name.is_some() {
            return Ok(());
        }
        step(&self.capabilities, Step::NameTemporary)?;
        for _ in 0..16 {
            let name = fresh_name();
            let note = self.note_for(&name);
            match self.link_to(&name) {
                Ok(()) => {
                    self.name = Some(name);
                    self.note = note;
                    return Ok(());
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EXIST)
    }

    pub(crate) fn current_name(&self) -> Result<&OsStr, Errno> {
        self.name.as_deref().ok_or(Errno::NOENT)
    }

    fn link_to(&self, name: &OsStr) -> Result<(), Errno> {
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        rustix::fs::linkat(
            rustix::fs::CWD,
            own.as_str(),
            &self.directory,
            name,
            AtFlags::SYMLINK_FOLLOW,
        )
    }

    /// Becomes `leaf`, replacing what has that name.
    pub(crate) fn rename_over(&mut self, leaf: &OsStr) -> Result<(), Errno> {
        self.name()?;
        let name = self.current_name()?.to_owned();
        rustix::fs::renameat(&self.directory, &name, &self.directory, leaf)?;
        self.name = None;
        Ok(())
    }

    /// Becomes `leaf`, which must not exist.
    pub(crate) fn place_new(&mut self, leaf: &OsStr) -> Result<(), Errno> {
        let Some(name) = self.name.clone() else {
            return self.link_to(leaf);
        };
        if self.capabilities.rename_flags == Feature::Use {
            match rustix::fs::renameat_with(
                &self.directory,
                &name,
                &self.directory,
                leaf,
                RenameFlags::NOREPLACE,
            ) {
                Ok(()) => {
                    self.name = None;
                    return Ok(());
                }
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
                Err(errno) => return Err(errno),
            }
        }
        // A hard link never replaces anything; the temporary name goes when this value does.
        rustix::fs::linkat(
            &self.directory,
            &name,
            &self.directory,
            leaf,
            AtFlags::empty(),
        )
    }

    /// What bears the temporary name now belongs to somebody else: leave it.
    pub(crate) fn forget(&mut self) {
        self.name = None;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = rustix::fs::unlinkat(&self.directory, name, AtFlags::empty());
        }
    }
}

fn unnamed(directory: BorrowedFd<'_>, mode: Mode) -> Result<OwnedFd, Errno> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    rustix::fs::openat(directory, ".", flags, mode)
}

fn named(directory: BorrowedFd<'_>, mode: Mode) -> Result<(OwnedFd, Option<OsString>), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    for _ in 0..16 {
        let name = fresh_name();
        match rustix::fs::openat(directory, &name, flags, mode) {
            Ok(file) => return Ok((file, Some(name))),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::EXIST)
}

/// A name that nobody else uses; creation is exclusive all the same.
pub(crate) fn fresh_name() -> OsString {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let seed = (std::process::id(), count, SystemTime::now());
    let hash = blake3::hash(format!("{seed:?}").as_bytes()).to_hex();
    OsString::from(format!("{PREFIX}{}{SUFFIX}", &hash[..16]))
}
