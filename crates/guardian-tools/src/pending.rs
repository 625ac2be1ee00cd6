//! Names that a change gives to its temporary file for the blink of an eye, noted so that a host
//! that was killed in between finds them again.
//!
//! A note is a symlink in guardian's data directory: its name is the temporary name, its text
//! says where that is and what may be in it. Making and removing one costs two system calls.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::open::{Capabilities, open_beneath};
use crate::tag::content_hash;
use crate::temporary::{PREFIX, SUFFIX};

/// The directory of the notes beneath guardian's data directory.
const DIRECTORY: &str = "pending";
/// A note of this age is no longer being worked on, whoever has its process id now.
const ABANDONED: Duration = Duration::from_secs(600);

/// Where notes are kept.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    directory: Arc<OwnedFd>,
}

impl Pending {
    /// Opens (and makes) the directory; `None` when guardian has no writable data directory, in
    /// which case nothing is noted.
    pub(crate) fn open(data: &Path) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let data = rustix::fs::open(data, flags, Mode::empty()).ok()?;
        match rustix::fs::mkdirat(&data, DIRECTORY, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(_) => return None,
        }
        let directory = rustix::fs::openat(&data, DIRECTORY, flags, Mode::empty()).ok()?;
        Some(Self {
            directory: Arc::new(directory),
        })
    }

    /// Notes that `name` in `place` is about to hold content with one of the two hashes.
    pub(crate) fn note(
        &self,
        name: &OsStr,
        place: &Path,
        before: &str,
        after: &str,
    ) -> Option<Note> {
        let mut text = OsString::from(format!("{}:{before}:{after}:", std::process::id()));
        text.push(place);
        rustix::fs::symlinkat(&text, self.directory.as_fd(), name).ok()?;
        Some(Note {
            directory: Arc::clone(&self.directory),
            name: name.to_owned(),
        })
    }
}

/// Removed when the temporary name is gone.
pub(crate) struct Note {
    directory: Arc<OwnedFd>,
    name: OsString,
}

impl Drop for Note {
    fn drop(&mut self) {
        let _ = rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty());
    }
}

/// What [`sweep_pending`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Temporary files that were removed.
    pub removed: Vec<PathBuf>,
    /// Temporary files that hold something unexpected (a foreign change that was displaced when
    /// the host was killed): kept, for a human to look at.
    pub kept: Vec<PathBuf>,
}

/// Removes the temporary files that killed processes left in the user's directories. For the
/// host's start; safe while other guardian processes work on the same data directory.
#[must_use]
pub fn sweep_pending(guardian_data: &Path) -> SweepReport {
    let mut report = SweepReport::default();
    let Some(pending) = Pending::open(guardian_data) else {
        return report;
    };
    let Ok(notes) = std::fs::read_dir(guardian_data.join(DIRECTORY)) else {
        return report;
    };
    for note in notes.flatten() {
        let name = note.file_name();
        if !is_temporary_name(&name) || !is_abandoned(&note.path()) {
            continue;
        }
        if let Some((before, after, place)) = read_note(&note.path()) {
            match remove(&place, &name, &[&before, &after]) {
                Removal::Removed => report.removed.push(place.join(&name)),
                Removal::Unexpected => report.kept.push(place.join(&name)),
                Removal::Gone => {}
            }
        }
        let _ = rustix::fs::unlinkat(&pending.directory, &name, AtFlags::empty());
    }
    report
}

fn is_temporary_name(name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
}

fn is_abandoned(note: &Path) -> bool {
    let alive = parts(note)
        .and_then(|parts| parts.0.parse::<i32>().ok())
        .and_then(rustix::process::Pid::from_raw)
        .is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(Errno::SRCH));
    let old = std::fs::symlink_metadata(note)
        .and_then(|data| data.modified())
        .is_ok_and(|made| {
            SystemTime::now()
                .duration_since(made)
                .is_ok_and(|age| age > ABANDONED)
        });
    !alive || old
}

/// (process id, before, after, directory)
fn parts(note: &Path) -> Option<(String, String, String, PathBuf)> {
    let text = std::fs::read_link(note).ok()?.into_os_string().into_vec();
    let mut fields = text.splitn(4, |byte| *byte == b':');
    let mut field = || {
        fields
            .next()
            .map(|field| String::from_utf8_lossy(field).into_owned())
    };
    let (pid, before, after) = (field()?, field()?, field()?);
    let place = PathBuf::from(OsStr::from_bytes(fields.next()?));
    Some((pid, before, after, place))
}

fn read_note(note: &Path) -> Option<(String, String, PathBuf)> {
    parts(note).map(|(_, before, after, place)| (before, after, place))
}

enum Removal {
    Removed,
    Unexpected,
    Gone,
}

fn remove(place: &Path, name: &OsStr, expected: &[&str]) -> Removal {
    let open = || {
        let top = rustix::fs::open("/", OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).ok()?;
        let relative = place.strip_prefix("/").ok()?;
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        open_beneath(top.as_fd(), relative, flags, &Capabilities::all()).ok()
    };
    let Some(directory) = open() else {
        return Removal::Gone;
    };
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::openat(&directory, name, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Removal::Gone,
        Err(_) => return Removal::Unexpected,
    };
    let regular = rustix::fs::fstat(&file)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
    let known = content_hash(file.as_fd()).is_ok_and(|hash| expected.contains(&hash.as_str()));
    if !regular || !known {
        return Removal::Unexpected;
    }
    match rustix::fs::unlinkat(&directory, name, AtFlags::empty()) {
        Ok(()) => Removal::Removed,
        Err(_) => Removal::Unexpected,
    }
}
