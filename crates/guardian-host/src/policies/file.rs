//! One policy file as it is on disk now: looked at before every decision, read when it changed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

/// Longest policy file. Far above any that people write; keeps a broken one out of memory.
const MAX_BYTES: usize = 1024 * 1024;
/// A file that changed less than this ago is read again: it may change once more without a new
/// time stamp.
const SETTLED_AFTER_SECONDS: i64 = 2;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The administrator's: must be root's, and nobody else may write to it or its directory.
    Root,
    /// The user's; a link (to a collection of dot files) is followed.
    User,
    /// The repository's: never a link, which could lead to a file of the user's.
    Repository,
}

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileState {
    /// No file.
    Missing,
    /// A file with this text.
    Text(Arc<str>),
    /// A file that cannot be used, and why.
    Unreadable(String),
}

/// What tells one version of a file from another without reading it. The time of the last change
/// of the inode is among it: it cannot be set back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, u64),
    changed: (i64, u64),
    mode: u32,
    owner: u32,
}

impl Stamp {
    #[expect(
        clippy::unnecessary_cast,
        reason = "the fields have other types on other platforms"
    )]
    fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as i64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as u64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as u64),
            mode: stat.st_mode as u32,
            owner: stat.st_uid as u32,
        }
    }

    /// Old enough that a later change shows.
    fn is_settled(&self, now: i64) -> bool {
        let latest = self.modified.0.max(self.changed.0);
        now.saturating_sub(latest) > SETTLED_AFTER_SECONDS
    }
}

/// A policy file that is watched by looking at it.
pub(super) struct WatchedFile {
    path: PathBuf,
    owner: Owner,
    last: Mutex<Option<(Stamp, FileState)>>,
}

impl WatchedFile {
    pub(super) fn new(path: PathBuf, owner: Owner) -> Self {
        Self {
            path,
            owner,
            last: Mutex::new(None),
        }
    }

    /// The file as it is now. Blocking, but never on a FIFO or a device.
    pub(super) fn look(&self) -> FileState {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let stat = if self.owner == Owner::Repository {
            rustix::fs::lstat(&self.path)
        } else {
            rustix::fs::stat(&self.path)
        };
        let stat = match stat {
            Ok(stat) => stat,
            Err(Errno::NOENT | Errno::NOTDIR) => {
                *last = None;
                return absence(&self.path);
            }
            Err(error) => {
                *last = None;
                return FileState::Unreadable(error.to_string());
            }
        };
        let stamp = Stamp::of(&stat);
        if let Some((known, state)) = &*last
            && *known == stamp
        {
            return state.clone();
        }
        match read(&self.path, self.owner) {
            Ok(None) => {
                *last = None;
                FileState::Missing
            }
            Ok(Some((stamp, state))) => {
                *last = stamp
                    .is_settled(now_seconds())
                    .then(|| (stamp, state.clone()));
                state
            }
            Err(reason) => {
                *last = None;
                FileState::Unreadable(reason)
            }
        }
    }
}

/// Nothing can be opened there: there is no file, or something stands in its way. A link that leads
/// nowhere (a collection of dot files that is not mounted) is a file that cannot be read, not none.
fn absence(path: &Path) -> FileState {
    // The ordinary case in one system call: a name is missing, and no link stands before it.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS;
    let found = rustix::fs::openat2(rustix::fs::CWD, path, flags, Mode::empty(), resolve);
    if found.err() == Some(Errno::NOENT) {
        return FileState::Missing;
    }
    for (above, place) in path.ancestors().enumerate() {
        let Ok(stat) = rustix::fs::lstat(place) else {
            continue;
        };
        let is = |kind| FileType::from_raw_mode(stat.st_mode) == kind;
        if is(FileType::Symlink) && rustix::fs::stat(place).is_err() {
            let place = place.display();
            return FileState::Unreadable(format!("`{place}` is a link that leads nowhere"));
        }
        if above > 0 && !is(FileType::Symlink) && !is(FileType::Directory) {
            let place = place.display();
            return FileState::Unreadable(format!("`{place}` is not a directory"));
        }
        break;
    }
    FileState::Missing
}

/// Reads a file that was named on the command line, once; a repository's as the host does.
///
/// # Errors
/// Why it cannot be used.
pub(super) fn read_named(path: &Path, owner: Owner) -> Result<Arc<str>, String> {
    let absent = "there is no such file".to_owned();
    match read(path, owner)? {
        Some((_, FileState::Text(text))) => Ok(text),
        Some((_, FileState::Unreadable(reason))) => Err(reason),
        Some((_, FileState::Missing)) => Err(absent),
        None => match absence(path) {
            FileState::Unreadable(reason) => Err(reason),
            _ => Err(absent),
        },
    }
}

/// Why the administrator's file must not be used, if it must not.
///
/// # Errors
/// One sentence.
pub(super) fn check_managed(path: &Path) -> Result<(), String> {
    match WatchedFile::new(path.to_owned(), Owner::Root).look() {
        FileState::Missing | FileState::Text(_) => Ok(()),
        FileState::Unreadable(reason) => Err(reason),
    }
}

fn read(path: &Path, owner: Owner) -> Result<Option<(Stamp, FileState)>, String> {
    let Some((stamp, bytes)) = read_whole(path, owner)? else {
        return Ok(None);
    };
    let state = match String::from_utf8(bytes) {
        Ok(text) => FileState::Text(text.into()),
        Err(_) => FileState::Unreadable("it is not UTF-8".to_owned()),
    };
    Ok(Some((stamp, state)))
}

/// The bytes of a file that was named on the command line; `None` when it cannot be used.
pub(super) fn read_bytes(path: &Path) -> Option<Vec<u8>> {
    let read = read_whole(path, Owner::User).ok()?;
    read.map(|(_, bytes)| bytes)
}

fn read_whole(path: &Path, owner: Owner) -> Result<Option<(Stamp, Vec<u8>)>, String> {
    // NONBLOCK: opening a FIFO must not wait for a writer.
    let mut flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    if owner == Owner::Repository {
        flags |= OFlags::NOFOLLOW;
    }
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::LOOP) if owner == Owner::Repository => {
            return Err("it is a symbolic link, which a workspace's policy must not be".to_owned());
        }
        Err(error) => return Err(error.to_string()),
    };
    let stat = rustix::fs::fstat(&file).map_err(|error| error.to_string())?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err("it is not a regular file".to_owned());
    }
    let stamp = Stamp::of(&stat);
    if owner == Owner::Root {
        if let Some(fault) = managed_fault(stamp.owner, stamp.mode) {
            return Err(fault.to_owned());
        }
        let directory = path.parent().unwrap_or(path);
        let stat = rustix::fs::stat(directory).map_err(|error| error.to_string())?;
        let of_directory = Stamp::of(&stat);
        if let Some(fault) = managed_fault(of_directory.owner, of_directory.mode) {
            return Err(format!("its directory: {fault}"));
        }
    }
    let mut bytes = vec![0; MAX_BYTES + 1];
    let mut length = 0;
    loop {
        match rustix::io::read(&file, &mut bytes[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.to_string()),
        }
        if length > MAX_BYTES {
            return Err(format!("it is larger than {MAX_BYTES} bytes"));
        }
    }
    bytes.truncate(length);
    Ok(Some((stamp, bytes)))
}

/// A file that somebody other than root may change is not the administrator's word.
fn managed_fault(owner: u32, mode: u32) -> Option<&'static str> {
    if owner != 0 {
        Some("it does not belong to root")
    } else if mode & 0o022 != 0 {
        Some("others than root may write to it")
    } else {
        None
    }
}

fn now_seconds() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|time| i64::try_from(time.as_secs()).ok())
        .unwrap_or(i64::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(state: &FileState) -> &str {
        match state {
            FileState::Text(text) => text,
            FileState::Missing => "(missing)",
            FileState::Unreadable(reason) => reason,
        }
    }

    #[test]
    fn a_change_is_seen_at_once_also_with_the_old_size_and_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("policy.toml");
        let file = WatchedFile::new(path.clone(), Owner::User);
        assert_eq!(file.look(), FileState::Missing);
        std::fs::write(&path, "one").unwrap();
        assert_eq!(text(&file.look()), "one");
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::write(&path, "two").unwrap();
        let handle = std::fs::File::options().write(true).open(&path).unwrap();
        handle.set_modified(modified).unwrap();
        assert_eq!(text(&file.look()), "two");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(file.look(), FileState::Missing);
    }

    #[test]
    fn a_repository_s_link_and_what_is_no_file_are_refused_without_blocking() {
        let directory = tempfile::tempdir().unwrap();
        let secret = directory.path().join("secret");
        std::fs::write(&secret, "key").unwrap();
        let link = directory.path().join("link.toml");
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        let of = |path: &Path, owner| WatchedFile::new(path.to_owned(), owner).look();
        assert!(matches!(
            of(&link, Owner::Repository),
            FileState::Unreadable(_)
        ));
        assert_eq!(text(&of(&link, Owner::User)), "key");
        let fifo = directory.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        for path in [fifo.as_path(), directory.path()] {
            let state = of(path, Owner::User);
            assert_eq!(
                text(&state),
                "it is not a regular file",
                "{}",
                path.display()
            );
        }
    }

    #[test]
    fn a_link_that_leads_nowhere_is_a_file_that_cannot_be_read() {
        let directory = tempfile::tempdir().unwrap();
        let link = |to: &Path, at: &str| {
            let at = directory.path().join(at);
            std::os::unix::fs::symlink(to, &at).unwrap();
            at
        };
        let nowhere = directory.path().join("not-mounted");
        let dangling = link(&nowhere, "policy.toml");
        let beneath = link(&nowhere, "guardian").join("policy.toml");
        let looping = link(&directory.path().join("loop"), "loop");
        std::fs::write(directory.path().join("file"), "").unwrap();
        let under_a_file = directory.path().join("file/policy.toml");
        for (path, owner) in [
            (&dangling, Owner::User),
            (&dangling, Owner::Root),
            (&dangling, Owner::Repository),
            (&beneath, Owner::User),
            (&beneath, Owner::Repository),
            (&looping, Owner::User),
            (&under_a_file, Owner::User),
        ] {
            let state = WatchedFile::new(path.clone(), owner).look();
            assert!(
                matches!(state, FileState::Unreadable(_)),
                "{} {owner:?}: {state:?}",
                path.display()
            );
        }
        // Mounted again, it is read again; and what was never there is no file.
        std::fs::write(&nowhere, "version = 1").unwrap();
        let state = WatchedFile::new(dangling, Owner::User).look();
        assert_eq!(text(&state), "version = 1");
        let absent = directory.path().join("none/guardian/policy.toml");
        let state = WatchedFile::new(absent, Owner::User).look();
        assert_eq!(state, FileState::Missing);
    }

    #[test]
    fn a_managed_file_is_root_s_alone() {
        assert_eq!(managed_fault(0, 0o100_644), None);
        for (owner, mode) in [(1000, 0o100_644), (0, 0o100_664), (0, 0o100_646)] {
            assert!(managed_fault(owner, mode).is_some(), "{owner} {mode:o}");
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("policy.toml");
        assert_eq!(check_managed(&path), Ok(()));
        std::fs::write(&path, "version = 1").unwrap();
        let mut permissions = std::fs::metadata(&path).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o666);
        std::fs::set_permissions(&path, permissions).unwrap();
        assert!(check_managed(&path).is_err());
    }
}
