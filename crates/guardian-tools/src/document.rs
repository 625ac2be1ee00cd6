//! Files of the host's own in the workspace: submitted plans are written as new documents, agent
//! definitions are read. Both from the workspace's handle, component by component, never through
//! a link: what a repository put there must not lead elsewhere.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use guardian_facts::{FileId, Scope};
use rustix::fs::{AtFlags, Mode, RawDir};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::contained::{Contained, ContainedKind, Place, identity};
use crate::file::read_whole;
use crate::open::OpenError;
use crate::replace::create;
use crate::roots::{RootHandle, Roots};
use crate::{FailureCode, ToolFailure};

/// Names tried before giving up.
const NAMES_TRIED: usize = 1000;
/// Entries of a directory that are looked at.
const ENTRIES: usize = 4096;
/// Most bytes of a file that [`workspace_files`] and [`own_files`] return.
pub const SMALL_FILE_BYTES: u64 = 64 * 1024;

/// A document that was written.
#[derive(Debug)]
pub struct NewDocument {
    directory: Contained,
    leaf: OsString,
    id: FileId,
    relative: String,
    sha256: String,
}

impl NewDocument {
    /// Its path relative to the workspace, with `/`.
    #[must_use]
    pub fn relative_path(&self) -> &str {
        &self.relative
    }

    /// SHA-256 of its bytes, lower-case hex.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Takes it away again, if it is still this file.
    pub fn discard(self) {
        let handle = self.directory.as_handle();
        let found = rustix::fs::statat(handle, &self.leaf, AtFlags::SYMLINK_NOFOLLOW);
        if found.is_ok_and(|stat| identity(&stat) == self.id) {
            let _ = rustix::fs::unlinkat(handle, &self.leaf, AtFlags::empty());
        }
    }
}

/// Writes a new document into a directory of the workspace, which is made when missing: under the
/// first of `names` that does not exist yet, exclusively, synced to disk. Blocking.
///
/// # Errors
/// `WORKSPACE_REQUIRED`; `TOOL_FAILED` when a link or a file stands where a directory should, or
/// when the system refuses (no space, read-only). Nothing is left behind then.
pub fn create_document(
    roots: &Roots,
    directories: &[&str],
    names: impl Iterator<Item = String>,
    bytes: &[u8],
) -> Result<NewDocument, ToolFailure> {
    let root = workspace(roots)?;
    let mut made = Made {
        root: root.clone(),
        roots,
        directories: Vec::new(),
    };
    let directory = made.descend(directories)?;
    for name in names.take(NAMES_TRIED) {
        let leaf = OsString::from(&name);
        let relative = directory.relative().join(&name);
        let again = Contained::open(&root, directory.relative(), roots.capabilities())
            .map_err(|error| refused(directory.relative(), error))?;
        match create(&Place::at(again, &leaf, None), bytes) {
            Ok(_) => {
                let created = directory
                    .child(&leaf)
                    .map_err(|error| refused(&relative, error))?;
                let document = NewDocument {
                    id: created.identity(),
                    leaf,
                    relative: relative.to_string_lossy().into_owned(),
                    sha256: sha256_of(bytes),
                    directory,
                };
                // Its name too is to survive a crash of the machine.
                if let Err(failure) = sync(&document.directory).and_then(|()| made.sync()) {
                    document.discard();
                    return Err(failure);
                }
                made.directories.clear();
                return Ok(document);
            }
            // Somebody has this name.
            Err(failure) if failure.code == FailureCode::StaleApproval => {}
            Err(failure) => return Err(failure),
        }
    }
    let message = "no free name was found for the document";
    Err(ToolFailure::new(FailureCode::ToolFailed, message))
}

/// The bytes of a file of the workspace, at most `most`. Blocking.
///
/// # Errors
/// When there is no such regular file, when a link stands in its path, or it is larger.
pub fn read_document(roots: &Roots, relative: &Path, most: u64) -> Result<Vec<u8>, ToolFailure> {
    let root = workspace(roots)?;
    let file = Contained::open(&root, relative, roots.capabilities())
        .map_err(|error| refused(relative, error))?;
    read(&file, most)?.ok_or_else(|| {
        let message = format!("`{}` is larger than {most} bytes", file.shown());
        ToolFailure::new(FailureCode::ToolFailed, message)
    })
}

/// SHA-256, lower-case hex.
#[must_use]
pub fn sha256_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A small file with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmallFile {
    /// Its name in its directory.
    pub name: String,
    /// All of its bytes.
    pub bytes: Vec<u8>,
}

/// The regular files of a directory of the workspace whose names end in `suffix`, by name; those
/// above [`SMALL_FILE_BYTES`] and links are left out. A missing directory has none. Blocking.
///
/// # Errors
/// When the directory cannot be listed, or a link stands in its path.
pub fn workspace_files(
    roots: &Roots,
    directory: &Path,
    suffix: &str,
) -> Result<Vec<SmallFile>, ToolFailure> {
    let root = workspace(roots)?;
    let directory = match Contained::open(&root, directory, roots.capabilities()) {
        Ok(directory) if directory.kind() == ContainedKind::Directory => directory,
        Ok(_) => return Ok(Vec::new()),
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        Err(error) => return Err(refused(directory, error)),
    };
    let mut files = Vec::new();
    for name in names_in(&directory, suffix)? {
        let Ok(file) = directory.child(name.as_ref()) else {
            continue;
        };
        if file.kind() == ContainedKind::File
            && let Some(bytes) = read(&file, SMALL_FILE_BYTES)?
        {
            files.push(SmallFile { name, bytes });
        }
    }
    Ok(files)
}

/// The same for a directory of the user's own configuration, where links are the user's.
///
/// # Errors
/// When the directory exists and cannot be listed.
pub fn own_files(directory: &Path, suffix: &str) -> Result<Vec<SmallFile>, std::io::Error> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries.take(ENTRIES) {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        // Looked at before it is opened: opening a FIFO would wait for a writer.
        let fits = std::fs::metadata(&path)
            .is_ok_and(|found| found.is_file() && found.len() <= SMALL_FILE_BYTES);
        if name.ends_with(suffix)
            && fits
            && let Ok(bytes) = std::fs::read(&path)
        {
            let name = name.to_owned();
            files.push(SmallFile { name, bytes });
        }
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

fn workspace(roots: &Roots) -> Result<RootHandle, ToolFailure> {
    roots.handle_for(Scope::Workspace).ok_or_else(|| {
        let message = "this session has no workspace; bind a project directory to it first";
        ToolFailure::new(FailureCode::WorkspaceRequired, message)
    })
}

fn read(file: &Contained, most: u64) -> Result<Option<Vec<u8>>, ToolFailure> {
    let handle = file.open_for_reading()?;
    let size = u64::try_from(file.stat().st_size).unwrap_or(0);
    read_whole(handle.as_fd(), size, most)
        .map_err(|errno| ToolFailure::system("read", &file.shown(), errno))
}

fn names_in(directory: &Contained, suffix: &str) -> Result<Vec<String>, ToolFailure> {
    let handle = directory.open_for_listing()?;
    let mut buffer = [std::mem::MaybeUninit::uninit(); 16 * 1024];
    let mut entries = RawDir::new(handle, &mut buffer);
    let mut names = Vec::new();
    let mut seen = 0;
    while let Some(entry) = entries.next() {
        let entry =
            entry.map_err(|errno| ToolFailure::system("list", &directory.shown(), errno))?;
        seen += 1;
        if seen > ENTRIES {
            break;
        }
        if let Ok(name) = entry.file_name().to_str()
            && name.ends_with(suffix)
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn sync(directory: &Contained) -> Result<(), ToolFailure> {
    let handle = directory.open_for_listing()?;
    match rustix::fs::fsync(&handle) {
        // A file system that syncs no directories has nothing to say about them.
        Ok(()) | Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(()),
        Err(errno) => Err(ToolFailure::system("sync", &directory.shown(), errno)),
    }
}

fn refused(path: &Path, error: OpenError) -> ToolFailure {
    let shown = path.display().to_string();
    match error {
        OpenError::Link => {
            let message = format!("`{shown}` is a link, or lies behind one");
            ToolFailure::new(FailureCode::ToolFailed, message)
        }
        OpenError::System(errno) => ToolFailure::system("open", &shown, errno),
    }
}

/// Directories on the way to a document; those that were made go again unless it was written.
struct Made<'r> {
    root: RootHandle,
    roots: &'r Roots,
    directories: Vec<PathBuf>,
}

impl Made<'_> {
    fn open(&self, relative: &Path) -> Result<Contained, OpenError> {
        Contained::open(&self.root, relative, self.roots.capabilities())
    }

    fn descend(&mut self, names: &[&str]) -> Result<Contained, ToolFailure> {
        let mut relative = PathBuf::new();
        let mut here = self
            .open(&relative)
            .map_err(|error| refused(&relative, error))?;
        for name in names {
            relative.push(name);
            match rustix::fs::mkdirat(here.as_handle(), *name, Mode::from_raw_mode(0o777)) {
                Ok(()) => self.directories.push(relative.clone()),
                Err(Errno::EXIST) => {}
                Err(errno) => {
                    let shown = relative.display().to_string();
                    return Err(ToolFailure::system("make", &shown, errno));
                }
            }
            here = self
                .open(&relative)
                .map_err(|error| refused(&relative, error))?;
            if here.kind() != ContainedKind::Directory {
                let message = format!("`{}` is not a directory", relative.display());
                return Err(ToolFailure::new(FailureCode::ToolFailed, message));
            }
        }
        Ok(here)
    }

    /// Makes the new directories' names durable.
    fn sync(&self) -> Result<(), ToolFailure> {
        for directory in &self.directories {
            let parent = directory.parent().unwrap_or(Path::new(""));
            let parent = self
                .open(parent)
                .map_err(|error| refused(directory, error))?;
            sync(&parent)?;
        }
        Ok(())
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        for directory in self.directories.iter().rev() {
            let (Some(parent), Some(name)) = (directory.parent(), directory.file_name()) else {
                continue;
            };
            if let Ok(parent) = self.open(parent) {
                // Not empty means that somebody uses it already: it stays.
                let _ = rustix::fs::unlinkat(parent.as_handle(), name, AtFlags::REMOVEDIR);
            }
        }
    }
}
