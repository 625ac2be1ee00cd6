//! What Write and Edit share: loading the old content, the change itself, its record.

use std::os::fd::AsFd;

use rustix::fs::Stat;

use crate::contained::{Contained, Place};
use crate::context::{Keeping, Look, ToolContext};
use crate::diff::{Diff, Hunk, diff};
use crate::document::sha256_of;
use crate::encoding::decode_whole;
use crate::file::read_whole;
use crate::output::{ChangeBefore, ChangeOperation, ChangeRecord, UpcomingChange};
use crate::replace::{Expected, check_writable, create, replace};
use crate::roots::RootKind;
use crate::tag::{Hashed, tag_of_bytes, tag_of_metadata};
use crate::{FailureCode, ToolFailure};

/// The content that a change starts from.
#[derive(Debug)]
pub(crate) enum Before {
    /// No file.
    Absent,
    /// These bytes, with the tag that Read returns for them.
    Bytes {
        /// The whole file.
        bytes: Vec<u8>,
        /// Its BLAKE3.
        hash: String,
        /// Its tag.
        tag: String,
        /// What the system said of it when it was read.
        stat: Stat,
    },
    /// More than is held in memory.
    TooLarge(Stat),
}

/// Reads the content of a file that is about to be changed.
pub(crate) fn load(
    existing: &Contained,
    approved_hash: Option<&str>,
    cx: &ToolContext<'_>,
) -> Result<Before, ToolFailure> {
    check_writable(existing)?;
    let failed = |errno| ToolFailure::system("read", &existing.shown(), errno);
    let file = existing.open_for_reading()?;
    let stat = rustix::fs::fstat(&file).map_err(failed)?;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    match read_whole(file.as_fd(), size, cx.limits.edit_bytes).map_err(failed)? {
        None => Ok(Before::TooLarge(stat)),
        Some(bytes) => {
            let hash = tag_of_bytes(&bytes);
            if approved_hash.is_some_and(|approved| approved != hash) {
                return Err(ToolFailure::stale(&existing.shown()));
            }
            let tag = if bytes.len() as u64 <= cx.limits.hashed_bytes {
                hash.clone()
            } else {
                tag_of_metadata(&stat)
            };
            Ok(Before::Bytes {
                bytes,
                hash,
                tag,
                stat,
            })
        }
    }
}

/// The tag of the old content, as Read would return it.
pub(crate) fn current_tag(before: &Before) -> String {
    match before {
        Before::Absent => String::new(),
        Before::Bytes { tag, .. } => tag.clone(),
        Before::TooLarge(stat) => tag_of_metadata(stat),
    }
}

/// The tag of content that is now in the file.
pub(crate) fn tag_of(
    bytes: &[u8],
    place: &Place,
    cx: &ToolContext<'_>,
) -> Result<String, ToolFailure> {
    if bytes.len() as u64 <= cx.limits.hashed_bytes {
        return Ok(tag_of_bytes(bytes));
    }
    rustix::fs::statat(
        place.directory.as_handle(),
        &place.leaf,
        rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
    )
    .map(|stat| tag_of_metadata(&stat))
    .map_err(|errno| ToolFailure::system("look at", &place.shown(), errno))
}

/// A change that is ready to be made.
pub(crate) struct Change<'a> {
    pub(crate) place: &'a Place,
    pub(crate) before: Before,
    pub(crate) new: Vec<u8>,
    pub(crate) operation: ChangeOperation,
    /// Nobody looked at what goes: without a kept copy the change is not made.
    pub(crate) must_be_reversible: bool,
}

/// A change that was made.
pub(crate) struct Changed {
    pub(crate) record: ChangeRecord,
    pub(crate) tag: String,
    pub(crate) notice: Option<String>,
}

/// Makes the change: the old bytes are kept first, then the file is replaced.
pub(crate) fn apply(change: Change<'_>, cx: &ToolContext<'_>) -> Result<Changed, ToolFailure> {
    let Change {
        place,
        before,
        new,
        operation,
        must_be_reversible,
    } = change;
    let after_hash = tag_of_bytes(&new);
    let hashed = Hashed {
        bytes: &new,
        hash: &after_hash,
    };
    let mut upcoming = UpcomingChange {
        path: place.shown(),
        canonical: place.canonical(),
        operation,
        before: what_was(place, &before),
        after_hash: after_hash.clone(),
        reversible: false,
    };
    let notice = keep_and_note(place, &before, &mut upcoming, must_be_reversible, cx)?;
    let UpcomingChange {
        before: mut was,
        reversible,
        ..
    } = upcoming;
    // The last moment at which an abort or the time limit leaves everything as it was.
    cx.check()?;
    match (place.existing(), &before) {
        (None, _) => {
            was = ChangeBefore::Absent {
                created_directories: create(place, &new)?,
            };
        }
        (Some(existing), Before::Bytes { bytes, hash, .. }) => {
            let expected = Expected::Bytes(Hashed { bytes, hash });
            replace(place, existing, &expected, hashed)?;
        }
        (Some(existing), Before::TooLarge(stat)) => {
            replace(place, existing, &Expected::Metadata(*stat), hashed)?;
        }
        (Some(_), Before::Absent) => return Err(ToolFailure::stale(&place.shown())),
    }
    // The change is made: nothing from here on may turn it into a failure.
    let tag = if new.len() as u64 <= cx.limits.hashed_bytes {
        after_hash.clone()
    } else {
        tag_of(&new, place, cx).unwrap_or_default()
    };
    cx.tags.remember(&place.canonical(), &tag, Look::Content);
    let (diff, binary) = compare(&before, &new);
    let record = ChangeRecord {
        root: place.root(),
        path: place.shown(),
        canonical: place.canonical(),
        operation,
        before: was,
        after_sha256: sha256_of(&new),
        after_hash,
        bytes: new.len() as u64,
        additions: diff.additions,
        deletions: diff.deletions,
        hunks: diff.hunks,
        truncated: diff.truncated,
        binary,
        reversible,
    };
    Ok(Changed {
        record,
        tag,
        notice,
    })
}

/// The state before the change, for its record.
fn what_was(place: &Place, before: &Before) -> ChangeBefore {
    let Some(existing) = place.existing() else {
        return ChangeBefore::Absent {
            created_directories: place.missing_directories(),
        };
    };
    let mode = existing.stat().st_mode & 0o7777;
    match before {
        Before::TooLarge(stat) => ChangeBefore::Bytes {
            key: None,
            hash: tag_of_metadata(stat),
            mode,
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
        },
        Before::Absent => ChangeBefore::Absent {
            created_directories: Vec::new(),
        },
        Before::Bytes { bytes, hash, .. } => ChangeBefore::Bytes {
            key: None,
            hash: hash.clone(),
            mode,
            bytes: bytes.len() as u64,
        },
    }
}

/// What differs between two contents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Lines added.
    pub additions: usize,
    /// Lines removed.
    pub deletions: usize,
    /// The change as hunks; not redacted.
    pub hunks: Vec<Hunk>,
    /// Hunks were left out or cut.
    pub truncated: bool,
    /// One side is not text: there are no hunks.
    pub binary: bool,
}

/// Compares what a file was (`None`: it did not exist) with what it is, as a [`ChangeRecord`] does.
#[must_use]
pub fn compare_contents(before: Option<&[u8]>, after: &[u8]) -> Comparison {
    let (diff, binary) = compare_bytes(before.unwrap_or_default(), after);
    Comparison {
        additions: diff.additions,
        deletions: diff.deletions,
        hunks: diff.hunks,
        truncated: diff.truncated,
        binary,
    }
}

/// Keeps the bytes from before, as far as they can be kept, and notes the change; says so in
/// `change`. Returns what is to be said where a rollback will not be possible.
fn keep_and_note(
    place: &Place,
    before: &Before,
    change: &mut UpcomingChange,
    must_be_reversible: bool,
    cx: &ToolContext<'_>,
) -> Result<Option<String>, ToolFailure> {
    // Only workspace changes have review snapshots (SPEC §11).
    if place.root() != RootKind::Workspace {
        return Ok(None);
    }
    change.reversible = matches!(before, Before::Absent);
    let Some(sink) = cx.snapshots else {
        return Ok(None);
    };
    let not_noted = |why: String| {
        ToolFailure::new(
            FailureCode::ToolFailed,
            format!(
                "`{}` was not changed: the change cannot be put on record ({why})",
                place.shown()
            ),
        )
    };
    let why = match before {
        Before::Absent => None,
        Before::Bytes { bytes, .. } if bytes.len() as u64 <= cx.limits.snapshot_bytes => {
            change.reversible = true;
            match sink.keep_and_note(bytes, change).map_err(not_noted)? {
                Keeping::Kept(kept) => {
                    if let ChangeBefore::Bytes { key, .. } = &mut change.before {
                        *key = Some(kept);
                    }
                    return Ok(None);
                }
                Keeping::Refused(why) => Some(why),
            }
        }
        Before::Bytes { .. } | Before::TooLarge(_) => {
            Some("the file is too large for the undo store".to_owned())
        }
    };
    if let (Some(why), true) = (&why, must_be_reversible) {
        return Err(ToolFailure::new(
            FailureCode::ToolFailed,
            format!(
                "`{}` was never read in this session and no undo copy of it could be kept \
                 ({why}); read it first, then write",
                place.shown()
            ),
        ));
    }
    change.reversible = why.is_none();
    sink.about_to_change(change).map_err(not_noted)?;
    Ok(why.map(|why| format!("this change cannot be undone: {why}")))
}

/// Old and new as hunks; the flag says that one of them is not text.
pub(crate) fn compare(before: &Before, new: &[u8]) -> (Diff, bool) {
    match before {
        Before::Absent => compare_bytes(b"", new),
        Before::Bytes { bytes, .. } => compare_bytes(bytes, new),
        Before::TooLarge(_) => (
            Diff {
                truncated: true,
                ..Diff::default()
            },
            false,
        ),
    }
}

fn compare_bytes(old: &[u8], new: &[u8]) -> (Diff, bool) {
    match (decode_whole(old), decode_whole(new)) {
        (Some((_, old)), Some((_, new))) => (diff(&old, &new), false),
        _ => (Diff::default(), true),
    }
}
