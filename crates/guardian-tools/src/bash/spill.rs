//! The full copy of an output that is too long to return.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Where full copies go: `tool-output/` in the session's scratch directory.
///
/// Scratch is the agent's: it may have planted links there. Every component below scratch is
/// opened without following links, and the file is created exclusively.
#[derive(Debug, Clone)]
pub(super) struct SpillPlace {
    scratch: PathBuf,
    call: String,
}

impl SpillPlace {
    /// `call` names the files; what is not a letter, digit, `-` or `_` in it is replaced.
    pub(super) fn new(scratch: &Path, call: &str) -> Self {
        let call = call
            .chars()
            .take(64)
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        Self {
            scratch: scratch.to_owned(),
            call,
        }
    }

    fn create(&self, stream: &str) -> rustix::io::Result<(File, PathBuf)> {
        let directory = self.directory()?;
        for attempt in 0..100 {
            let name = match attempt {
                0 => format!("{}.{stream}.txt", self.call),
                again => format!("{}-{again}.{stream}.txt", self.call),
            };
            let flags =
                OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            match rustix::fs::openat(&directory, &name, flags, Mode::RUSR | Mode::WUSR) {
                Ok(file) => {
                    return Ok((file.into(), self.scratch.join("tool-output").join(name)));
                }
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Errno::EXIST)
    }

    fn directory(&self) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
        match rustix::fs::mkdir(&self.scratch, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        let scratch = rustix::fs::open(&self.scratch, flags, Mode::empty())?;
        match rustix::fs::mkdirat(&scratch, "tool-output", Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        rustix::fs::openat(&scratch, "tool-output", flags, Mode::empty())
    }
}

/// The copy of one stream: not begun, being written, or given up.
#[derive(Debug)]
pub(super) enum Spill {
    /// Everything still fits into what is returned.
    NotNeeded,
    /// Being written.
    Open {
        /// The file.
        file: File,
        /// Its path, for the marker.
        path: PathBuf,
        /// Bytes written.
        written: u64,
        /// No more is written: the size limit was reached or a write failed.
        full: bool,
    },
    /// It could not be created.
    Failed(Errno),
}

impl Spill {
    /// Creates the file, and writes what has been seen so far.
    pub(super) fn begin(place: &SpillPlace, stream: &str, seen: &[u8], limit: u64) -> Self {
        match place.create(stream) {
            Ok((file, path)) => {
                let mut spill = Self::Open {
                    file,
                    path,
                    written: 0,
                    full: false,
                };
                spill.write(seen, limit);
                spill
            }
            Err(error) => Self::Failed(error),
        }
    }

    /// Appends, up to `limit` bytes in total.
    pub(super) fn write(&mut self, bytes: &[u8], limit: u64) {
        let Self::Open {
            file,
            written,
            full,
            ..
        } = self
        else {
            return;
        };
        if *full {
            return;
        }
        let room = usize::try_from(limit - *written).unwrap_or(usize::MAX);
        let part = bytes.get(..room).unwrap_or(bytes);
        // A full disk costs the copy, never the command.
        match file.write_all(part) {
            Ok(()) => {
                *written += part.len() as u64;
                *full = part.len() < bytes.len();
            }
            Err(_) => *full = true,
        }
    }

    /// The file, when there is one.
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::Open { path, .. } => Some(path),
            Self::NotNeeded | Self::Failed(_) => None,
        }
    }

    /// Where the rest is, for the marker.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::NotNeeded => "the rest was not kept".to_owned(),
            Self::Open {
                path, full: false, ..
            } => format!("full copy: {}", path.display()),
            Self::Open {
                path,
                written,
                full: true,
                ..
            } => {
                format!("copy of the first {written} bytes: {}", path.display())
            }
            Self::Failed(error) => {
                format!("the rest was not kept: no file in scratch, {error}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planted_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let scratch = dir.path().join("scratch");
        std::fs::create_dir(&scratch).unwrap();
        std::os::unix::fs::symlink(&elsewhere, scratch.join("tool-output")).unwrap();
        let place = SpillPlace::new(&scratch, "call/../x");
        assert!(matches!(
            Spill::begin(&place, "stdout", b"x", 10),
            Spill::Failed(_)
        ));
        std::fs::remove_file(scratch.join("tool-output")).unwrap();
        std::fs::create_dir(scratch.join("tool-output")).unwrap();
        std::os::unix::fs::symlink(
            elsewhere.join("out"),
            scratch.join("tool-output/call____x.stdout.txt"),
        )
        .unwrap();
        let spill = Spill::begin(&place, "stdout", b"abc", 2);
        assert!(
            spill
                .path()
                .unwrap()
                .ends_with("tool-output/call____x-1.stdout.txt")
        );
        assert_eq!(std::fs::read(spill.path().unwrap()).unwrap(), b"ab");
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}
