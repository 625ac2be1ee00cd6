//! Replacing and creating files: atomic, exclusive, everything kept, nothing left behind.

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use guardian_facts::FileId;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;

use crate::contained::{Contained, Place, identity};
use crate::file::{read_whole, write_at};
use crate::metadata::{Kept, keep_metadata};
use crate::open::{Capabilities, Feature, Step, open_beneath, reopen};
use crate::tag::Hashed;
use crate::temporary::{Expectation, Temporary};
use crate::{FailureCode, ToolFailure};

/// What the content of the replaced file must still be at the moment of the replacement.
pub(crate) enum Expected<'a> {
    /// Exactly these bytes.
    Bytes(Hashed<'a>),
    /// The same size and modification time (files too large to hold).
    Metadata(Stat),
}

/// How a file was replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// By another inode of the same name.
    Atomically,
    /// In place: it has several links, its owner cannot be kept otherwise, or its directory lets
    /// nothing be replaced.
    InPlace,
}

/// Replaces the content of an existing file, if it is still the expected one. Nothing else of it
/// changes: mode, owner and attributes are those that it has now.
///
/// # Errors
/// `STALE_FILE` when the content or the inode changed; then, and on every other failure, the file
/// is as it was and no other file is left.
pub(crate) fn replace(
    place: &Place,
    existing: &Contained,
    expected: &Expected<'_>,
    new: Hashed<'_>,
) -> Result<Replaced, ToolFailure> {
    let shown = place.shown();
    let failed = |errno| ToolFailure::system("write", &shown, errno);
    let stat = existing.stat_now().map_err(failed)?;
    let written_in_place =
        || in_place(place, existing, expected, new.bytes).map(|()| Replaced::InPlace);
    // Where the directory lets nothing be replaced, the file itself may still be written to.
    let past_directory = |refusal| {
        written_in_place().map_err(|failure| {
            if failure.code == FailureCode::StaleFile {
                failure
            } else {
                failure.because_of_directory(&place.directory.shown(), refusal)
            }
        })
    };
    if stat.st_nlink > 1 {
        return written_in_place();
    }
    let directory = place.directory.as_handle();
    let capabilities = existing.capabilities();
    let mut temporary = match Temporary::create(directory, Mode::RUSR | Mode::WUSR, capabilities) {
        Ok(temporary) => temporary,
        Err(errno) if is_refusal_of_directory(errno) => return past_directory(errno),
        Err(errno) => return Err(failed(errno)),
    };
    let old = existing.open_for_reading()?;
    if keep_metadata(old.as_fd(), &stat, temporary.file()).map_err(failed)? == Kept::NotAll {
        drop(temporary);
        return written_in_place();
    }
    temporary.expect(Expectation {
        place: place.directory.canonical(),
        before: match expected {
            Expected::Bytes(old) => old.hash.to_owned(),
            Expected::Metadata(_) => String::new(),
        },
        after: new.hash.to_owned(),
    });
    temporary.fill(new.bytes).map_err(failed)?;
    temporary.name().map_err(failed)?;
    step(capabilities, Step::Commit).map_err(failed)?;
    let committed = match capabilities.rename_flags {
        Feature::Use => exchange(place, existing, expected, &mut temporary),
        Feature::Avoid => Err(ExchangeError::Unsupported),
    };
    match committed {
        Ok(()) => Ok(Replaced::Atomically),
        Err(ExchangeError::Stale) => Err(stale_file(&shown)),
        Err(ExchangeError::Refused(errno)) => {
            drop(temporary);
            past_directory(errno)
        }
        Err(ExchangeError::System(errno)) => Err(failed(errno)),
        Err(ExchangeError::Unsupported) => {
            if !crate::bind::still_there(place, existing)? || !is_expected(existing, expected)? {
                return Err(stale_file(&shown));
            }
            match temporary.rename_over(&place.leaf) {
                Ok(()) => Ok(Replaced::Atomically),
                Err(errno) if is_refusal_of_directory(errno) => {
                    drop(temporary);
                    past_directory(errno)
                }
                Err(errno) => Err(failed(errno)),
            }
        }
    }
}

/// The directory, not the file, is what lets nothing be put in the file's place: no permission to
/// change it, a sticky bit, a read-only file system around a writable one, or the file is a mount
/// point of its own (a single file that was mounted into a container).
fn is_refusal_of_directory(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::BUSY | Errno::XDEV
    )
}

enum ExchangeError {
    Unsupported,
    /// Nothing was swapped, the directory does not allow it.
    Refused(Errno),
    Stale,
    System(Errno),
}

/// Swaps the temporary file with the target and looks at what came out: only if that is the
/// expected file, with the expected content, does the swap stay.
fn exchange(
    place: &Place,
    existing: &Contained,
    expected: &Expected<'_>,
    temporary: &mut Temporary,
) -> Result<(), ExchangeError> {
    let directory = place.directory.as_handle();
    let name = temporary
        .current_name()
        .map_err(ExchangeError::System)?
        .to_owned();
    let swap = || {
        rustix::fs::renameat_with(
            directory,
            &name,
            directory,
            &place.leaf,
            RenameFlags::EXCHANGE,
        )
    };
    match swap() {
        Ok(()) => {}
        Err(Errno::NOENT) => return Err(ExchangeError::Stale),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            return Err(ExchangeError::Unsupported);
        }
        Err(errno) if is_refusal_of_directory(errno) => {
            return Err(ExchangeError::Refused(errno));
        }
        Err(errno) => return Err(ExchangeError::System(errno)),
    }
    let came_out = rustix::fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW);
    let ours = came_out.is_ok_and(|stat| identity(&stat) == existing.identity())
        && is_expected(existing, expected).unwrap_or(false);
    if ours {
        // A failure here leaves a name behind, but the change is made: nothing to report.
        let _ = step(existing.capabilities(), Step::RemoveTemporary);
        return Ok(());
    }
    let held = || {
        rustix::fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| identity(&stat))
    };
    match give_back(temporary.identity(), swap, held) {
        // What is under the temporary name now goes with it.
        Ok(()) => Err(ExchangeError::Stale),
        Err(errno) => {
            temporary.forget();
            Err(ExchangeError::System(errno))
        }
    }
}

/// How often a file that was swapped in wrongly is given back while somebody else saves too.
const GIVE_BACK_TRIES: usize = 64;

/// Gives the name back to the file that a swap displaced wrongly. Whoever saves in between
/// displaces what stands there at that moment, so the newest file may end up in our hands: then it
/// is that one that is given back. On success we hold either our own file or one that its own
/// user has replaced since.
fn give_back(
    ours: FileId,
    swap: impl Fn() -> Result<(), Errno>,
    held: impl Fn() -> Result<FileId, Errno>,
) -> Result<(), Errno> {
    let mut placed = ours;
    for _ in 0..GIVE_BACK_TRIES {
        let newest = held()?;
        swap()?;
        if held()? == placed {
            return Ok(());
        }
        placed = newest;
    }
    Err(Errno::AGAIN)
}

/// Creates a file exclusively, with its missing directories. Returns the directories made,
/// outermost first.
///
/// # Errors
/// `STALE_APPROVAL` when something is there by now. Nothing is left behind on failure.
pub(crate) fn create(place: &Place, new: &[u8]) -> Result<Vec<PathBuf>, ToolFailure> {
    let shown = place.shown();
    let failed = |errno| {
        let failure = ToolFailure::system("create", &shown, errno);
        if is_refusal_of_directory(errno) {
            failure.because_of_directory(&place.directory.shown(), errno)
        } else {
            failure
        }
    };
    let capabilities = place.directory.capabilities();
    let mut made = MadeDirectories::default();
    let parent = made.descend(place, capabilities).map_err(failed)?;
    let directory = parent
        .as_ref()
        .map_or_else(|| place.directory.as_handle(), AsFd::as_fd);
    let mut temporary =
        Temporary::create(directory, default_mode(), capabilities).map_err(failed)?;
    temporary.fill(new).map_err(failed)?;
    step(capabilities, Step::Commit).map_err(failed)?;
    match temporary.place_new(&place.leaf) {
        Ok(()) => {
            let base = place.directory.canonical();
            let mut path = base;
            let mut created = Vec::new();
            for (name, is_new) in &made.names {
                path.push(name);
                if *is_new {
                    created.push(path.clone());
                }
            }
            made.keep();
            Ok(created)
        }
        Err(Errno::EXIST) => Err(ToolFailure::stale(&shown)),
        Err(errno) => Err(failed(errno)),
    }
}

fn default_mode() -> Mode {
    Mode::from_raw_mode(0o666)
}

/// Directories made for a new file; removed again when the file could not be made.
#[derive(Default)]
struct MadeDirectories {
    /// (name, made by us)
    names: Vec<(OsString, bool)>,
    /// Handle of the directory in which `names[i]` lies.
    parents: Vec<OwnedFd>,
    kept: bool,
}

impl MadeDirectories {
    fn descend(
        &mut self,
        place: &Place,
        capabilities: &Capabilities,
    ) -> Result<Option<OwnedFd>, Errno> {
        let mut here: Option<OwnedFd> = None;
        for name in &place.missing {
            let at = match &here {
                Some(handle) => handle.as_fd(),
                None => place.directory.as_handle(),
            };
            let own = rustix::io::fcntl_dupfd_cloexec(at, 0)?;
            let is_new = match rustix::fs::mkdirat(at, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(errno) => return Err(errno),
            };
            self.names.push((name.clone(), is_new));
            self.parents.push(own);
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            let below = open_beneath(at, Path::new(name), flags, capabilities).map_err(
                |error| match error {
                    crate::open::OpenError::Link => Errno::LOOP,
                    crate::open::OpenError::System(errno) => errno,
                },
            )?;
            here = Some(below);
        }
        Ok(here)
    }

    fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for MadeDirectories {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        for ((name, is_new), parent) in self.names.iter().zip(&self.parents).rev() {
            if *is_new {
                // Not empty means that somebody uses it already: it stays.
                let _ = rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
            }
        }
    }
}

/// Writes into the existing inode. Not atomic: taken only where replacing would break a hard
/// link or change the owner, or cannot be done. On a failed write the old bytes are put back.
fn in_place(
    place: &Place,
    existing: &Contained,
    expected: &Expected<'_>,
    new: &[u8],
) -> Result<(), ToolFailure> {
    let shown = existing.shown();
    let failed = |errno| ToolFailure::system("write", &shown, errno);
    let file = reopen(existing.as_handle(), OFlags::RDWR).map_err(failed)?;
    let old_size = u64::try_from(rustix::fs::fstat(&file).map_err(failed)?.st_size).unwrap_or(0);
    let new_size = new.len() as u64;
    step(existing.capabilities(), Step::WriteInPlace).map_err(failed)?;
    if new_size > old_size {
        // Room first, so that a full disk shows before a byte is changed.
        let flags = rustix::fs::FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(&file, flags, old_size, new_size - old_size) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
    if !crate::bind::still_there(place, existing)? || !is_expected(existing, expected)? {
        return Err(stale_file(&shown));
    }
    if let Err(errno) = overwrite(file.as_fd(), new) {
        let restored = match expected {
            Expected::Bytes(old) => overwrite(file.as_fd(), old.bytes).is_ok(),
            Expected::Metadata(_) => false,
        };
        let mut failure = failed(errno);
        if !restored {
            failure
                .message
                .push_str("; its content is damaged, its old bytes could not be put back");
        }
        return Err(failure);
    }
    Ok(())
}

fn overwrite(file: BorrowedFd<'_>, bytes: &[u8]) -> Result<(), Errno> {
    write_at(file, bytes, 0)?;
    rustix::fs::ftruncate(file, bytes.len() as u64)?;
    rustix::fs::fdatasync(file)
}

/// Does the inode still hold what was read?
pub(crate) fn is_expected(
    existing: &Contained,
    expected: &Expected<'_>,
) -> Result<bool, ToolFailure> {
    match expected {
        Expected::Bytes(Hashed { bytes, .. }) => {
            let file = existing.open_for_reading()?;
            let len = bytes.len() as u64;
            let now = read_whole(file.as_fd(), len, len)
                .map_err(|errno| ToolFailure::system("read", &existing.shown(), errno))?;
            Ok(now.is_some_and(|now| now == *bytes))
        }
        Expected::Metadata(before) => {
            let now = existing
                .stat_now()
                .map_err(|errno| ToolFailure::system("look at", &existing.shown(), errno))?;
            Ok(now.st_size == before.st_size
                && now.st_mtime == before.st_mtime
                && now.st_mtime_nsec == before.st_mtime_nsec)
        }
    }
}

pub(crate) fn stale_file(shown: &str) -> ToolFailure {
    ToolFailure::new(
        FailureCode::StaleFile,
        format!("`{shown}` changed while it was being written; nothing was changed, read it again"),
    )
}

pub(crate) fn step(capabilities: &Capabilities, step: Step) -> Result<(), Errno> {
    capabilities.steps.before(step)
}

/// May this file be changed at all? A file without any write bit is read-only for Write and Edit,
/// whoever the host runs as (SPEC §15.1).
pub(crate) fn check_writable(existing: &Contained) -> Result<(), ToolFailure> {
    let shown = existing.shown();
    if existing.stat().st_mode & 0o222 == 0 {
        return Err(ToolFailure::new(
            FailureCode::ToolFailed,
            format!("`{shown}` is read-only (no write permission bit is set); it was not changed"),
        ));
    }
    let own = format!("/proc/self/fd/{}", existing.as_handle().as_raw_fd());
    match rustix::fs::accessat(
        rustix::fs::CWD,
        own.as_str(),
        rustix::fs::Access::WRITE_OK,
        AtFlags::EACCESS,
    ) {
        Err(errno @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => {
            Err(ToolFailure::system("write", &shown, errno))
        }
        _ => Ok(()),
    }
}
