//! Standing in for a protected path that does not exist: only what exists can be mounted over.
//!
//! A stand-in is made before the command and removed after the last command that needs it. It is
//! a socket nobody listens at, or an empty directory: git neither shows nor adds either of them,
//! and nothing blocks on opening one. If the host is killed in between, it is left behind.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use rustix::fs::{CWD, FileType, Mode};

/// What stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// For a file.
    File,
    /// For a directory on the way to one.
    Directory,
}

/// How many running commands of this process stand on a stand-in.
static USERS: LazyLock<Mutex<HashMap<PathBuf, (Kind, usize)>>> = LazyLock::new(Mutex::default);

/// The stand-ins of one command.
#[derive(Debug, Default)]
pub(in super::super) struct Placeholders {
    paths: Vec<PathBuf>,
}

impl Placeholders {
    /// Makes a stand-in at `path` (its directory exists).
    pub(super) fn stand_in(&mut self, path: &Path, kind: Kind) -> rustix::io::Result<()> {
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        match kind {
            Kind::File => rustix::fs::mknodat(CWD, path, FileType::Socket, Mode::RUSR, 0)?,
            Kind::Directory => rustix::fs::mkdir(path, Mode::RWXU)?,
        }
        users.insert(path.to_owned(), (kind, 1));
        self.paths.push(path.to_owned());
        Ok(())
    }

    /// Joins those who stand on a stand-in at `path`, when there is one.
    pub(super) fn join(&mut self, path: &Path) -> Option<Kind> {
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        let (kind, count) = users.get_mut(path)?;
        if !self.paths.iter().any(|own| own == path) {
            *count += 1;
            self.paths.push(path.to_owned());
        }
        Some(*kind)
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        for path in self.paths.drain(..) {
            let Some((kind, count)) = users.get_mut(&path) else {
                continue;
            };
            let kind = *kind;
            *count -= 1;
            if *count > 0 {
                continue;
            }
            users.remove(&path);
            // Only what is still ours: somebody else's file or a filled directory stays.
            let _ = match kind {
                Kind::File => match rustix::fs::lstat(&path) {
                    Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Socket => {
                        rustix::fs::unlink(&path)
                    }
                    _ => Ok(()),
                },
                Kind::Directory => rustix::fs::rmdir(&path),
            };
        }
    }
}
