//! Undoing one recorded change, if nothing else has changed the file since.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use guardian_facts::Scope;
use rustix::fs::{AtFlags, RenameFlags};
use rustix::io::Errno;

use crate::contained::{Contained, ContainedKind, Place};
use crate::file::read_whole;
use crate::open::{Feature, OpenError, Step};
use crate::replace::{Expected, replace, step};
use crate::roots::{RootHandle, Roots};
use crate::tag::{Hashed, content_hash, tag_of_bytes};
use crate::temporary::fresh_name;
use crate::{FailureCode, ToolFailure};

/// What to undo: from the stored [`crate::ChangeRecord`].
#[derive(Debug, Clone, Copy)]
pub struct RollbackRequest<'a> {
    /// The file that was changed; it must lie in the workspace.
    pub canonical: &'a Path,
    /// BLAKE3 of the content that the change left, lower-case hex.
    pub after_hash: &'a str,
    /// What was there before.
    pub before: RestoreTo<'a>,
}

/// What a rollback restores.
#[derive(Debug, Clone, Copy)]
pub enum RestoreTo<'a> {
    /// Nothing: the file is removed, and these directories, outermost first, if they are empty.
    Absent {
        /// Directories that the change created.
        created_directories: &'a [PathBuf],
    },
    /// These bytes. Mode, owner and attributes stay as they are: Write and Edit do not change
    /// them, so whoever did was somebody else.
    Content {
        /// The whole file.
        bytes: &'a [u8],
    },
}

/// How a rollback ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RollbackOutcome {
    /// The file is as it was before the change.
    RolledBack,
    /// It was so already.
    AlreadyRolledBack,
    /// Something else changed it since; nothing was touched.
    Conflict,
}

/// Largest file that a rollback looks at.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Undoes a change. Blocking. The caller serialises it with other mutations of the path.
///
/// # Errors
/// The system refused (`TOOL_FAILED`), or the session has no workspace. Nothing was changed then.
pub fn rollback(
    request: &RollbackRequest<'_>,
    roots: &Roots,
) -> Result<RollbackOutcome, ToolFailure> {
    let shown = request.canonical.display().to_string();
    let root = roots.handle_for(Scope::Workspace).ok_or_else(|| {
        ToolFailure::new(
            FailureCode::WorkspaceRequired,
            "this session has no workspace",
        )
    })?;
    let Ok(relative) = request.canonical.strip_prefix(&root.path) else {
        return Err(ToolFailure::new(
            FailureCode::InvalidArgument,
            format!("`{shown}` does not lie in the workspace"),
        ));
    };
    let Some(place) = place_of(&root, relative, roots, &shown)? else {
        return Ok(RollbackOutcome::Conflict);
    };
    match (&place.existing, request.before) {
        (None, RestoreTo::Absent { .. }) => Ok(RollbackOutcome::AlreadyRolledBack),
        // Deleted since: that was somebody else's change.
        (None, RestoreTo::Content { .. }) => Ok(RollbackOutcome::Conflict),
        (Some(existing), _) if existing.kind() != ContainedKind::File => {
            Ok(RollbackOutcome::Conflict)
        }
        (
            Some(existing),
            RestoreTo::Absent {
                created_directories,
            },
        ) => {
            if hash_of(existing)? != request.after_hash {
                return Ok(RollbackOutcome::Conflict);
            }
            let outcome = take_away(&place, existing, request.after_hash)?;
            if outcome == RollbackOutcome::RolledBack {
                remove_directories(&root, created_directories, roots);
            }
            Ok(outcome)
        }
        (Some(existing), RestoreTo::Content { bytes }) => {
            put_back(&place, existing, request.after_hash, bytes)
        }
    }
}

/// `None` when the directory is gone or a link stands in the way.
fn place_of(
    root: &RootHandle,
    relative: &Path,
    roots: &Roots,
    shown: &str,
) -> Result<Option<Place>, ToolFailure> {
    let (Some(leaf), Some(parent)) = (relative.file_name(), relative.parent()) else {
        return Ok(None);
    };
    let failed = |error| match error {
        OpenError::System(errno) => Err(ToolFailure::system("open", shown, errno)),
        OpenError::Link => Ok(None),
    };
    let directory = match Contained::open(root, parent, roots.capabilities()) {
        Ok(directory) => directory,
        Err(error) if error.is_missing() => {
            // The whole directory is gone: for a created file that is the state before.
            return Ok(absent_place(root, leaf, roots));
        }
        Err(error) => return failed(error),
    };
    let existing = match directory.child(leaf) {
        Ok(existing) => Some(existing),
        Err(error) if error.is_missing() => None,
        Err(error) => return failed(error),
    };
    Ok(Some(Place::at(directory, leaf, existing)))
}

fn absent_place(root: &RootHandle, leaf: &std::ffi::OsStr, roots: &Roots) -> Option<Place> {
    let top = Contained::open(root, Path::new(""), roots.capabilities()).ok()?;
    Some(Place::at(top, leaf, None))
}

fn hash_of(existing: &Contained) -> Result<String, ToolFailure> {
    let file = existing.open_for_reading()?;
    content_hash(file.as_fd())
        .map_err(|errno| ToolFailure::system("read", &existing.shown(), errno))
}

fn put_back(
    place: &Place,
    existing: &Contained,
    after_hash: &str,
    bytes: &[u8],
) -> Result<RollbackOutcome, ToolFailure> {
    let failed = |errno| ToolFailure::system("read", &existing.shown(), errno);
    let file = existing.open_for_reading()?;
    let size = u64::try_from(existing.stat().st_size).unwrap_or(u64::MAX);
    let Some(now) = read_whole(file.as_fd(), size, MAX_BYTES).map_err(failed)? else {
        return Ok(RollbackOutcome::Conflict);
    };
    if tag_of_bytes(&now) != after_hash {
        return Ok(if now == bytes {
            RollbackOutcome::AlreadyRolledBack
        } else {
            RollbackOutcome::Conflict
        });
    }
    let expected = Expected::Bytes(Hashed {
        bytes: &now,
        hash: after_hash,
    });
    let new = Hashed {
        bytes,
        hash: &tag_of_bytes(bytes),
    };
    match replace(place, existing, &expected, new) {
        Ok(_) => Ok(RollbackOutcome::RolledBack),
        Err(failure) if failure.code == FailureCode::StaleFile => Ok(RollbackOutcome::Conflict),
        Err(failure) => Err(failure),
    }
}

/// Removes a created file in one step: its name is taken away first, and given back when what
/// bore it is not what was checked.
fn take_away(
    place: &Place,
    existing: &Contained,
    after_hash: &str,
) -> Result<RollbackOutcome, ToolFailure> {
    let shown = place.shown();
    let failed = |errno| ToolFailure::system("remove", &shown, errno);
    let directory = place.directory.as_handle();
    let capabilities = existing.capabilities();
    let name = fresh_name();
    let _note = capabilities.pending.as_ref().and_then(|pending| {
        pending.note(&name, &place.directory.canonical(), after_hash, after_hash)
    });
    step(capabilities, Step::Commit).map_err(failed)?;
    let moved = match capabilities.rename_flags {
        Feature::Use => rustix::fs::renameat_with(
            directory,
            &place.leaf,
            directory,
            &name,
            RenameFlags::NOREPLACE,
        ),
        Feature::Avoid => Err(Errno::INVAL),
    };
    match moved {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(RollbackOutcome::Conflict),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            if !crate::bind::still_there(place, existing)? || hash_of(existing)? != after_hash {
                return Ok(RollbackOutcome::Conflict);
            }
            rustix::fs::unlinkat(directory, &place.leaf, AtFlags::empty()).map_err(failed)?;
            return Ok(RollbackOutcome::RolledBack);
        }
        Err(errno) => return Err(failed(errno)),
    }
    let same = rustix::fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| crate::contained::identity(&stat) == existing.identity())
        && hash_of(existing).is_ok_and(|hash| hash == after_hash);
    let give_back = || {
        let flags = RenameFlags::NOREPLACE;
        rustix::fs::renameat_with(directory, &name, directory, &place.leaf, flags)
    };
    if same {
        let removed = step(capabilities, Step::RemoveTemporary)
            .and_then(|()| rustix::fs::unlinkat(directory, &name, AtFlags::empty()));
        if let Err(errno) = removed {
            // Nothing was undone, so the file has its name again. Where that fails too, the note
            // of the name is what a sweep goes by.
            let _ = give_back();
            return Err(failed(errno));
        }
        return Ok(RollbackOutcome::RolledBack);
    }
    match give_back() {
        Ok(()) => {}
        // Whoever saved it has saved it again meanwhile: that one replaced what we hold.
        Err(Errno::EXIST) => {
            rustix::fs::unlinkat(directory, &name, AtFlags::empty()).map_err(failed)?;
        }
        Err(errno) => return Err(failed(errno)),
    }
    Ok(RollbackOutcome::Conflict)
}

/// Removes the directories that a change created, as far as they are empty.
fn remove_directories(root: &RootHandle, created: &[PathBuf], roots: &Roots) {
    for path in created.iter().rev() {
        let Ok(relative) = path.strip_prefix(&root.path) else {
            return;
        };
        let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
            return;
        };
        let Ok(parent) = Contained::open(root, parent, roots.capabilities()) else {
            return;
        };
        if rustix::fs::unlinkat(parent.as_handle(), name, AtFlags::REMOVEDIR).is_err() {
            return;
        }
    }
}
