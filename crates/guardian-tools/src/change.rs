//! What Write and Edit share: loading the old content, the change itself, its record.

use std::os::fd::AsFd;

use rustix::fs::Stat;

use crate::contained::{Contained, Place};
use crate::context::{Look, ToolContext};
use crate::diff::{Diff, Hunk, diff};
use crate::document::sha256_of;
use crate::encoding::detect;
use crate::file::read_whole;
use crate::output::{ChangeBefore, ChangeOperation, ChangeRecord, UpcomingChange};
use crate::replace::{Expected, check_writable, create, replace};
use crate::roots::RootKind;
use crate::tag::{tag_of_bytes, tag_of_metadata};
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
        /// Its tag.
        tag: String,
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
            if approved_hash.is_some_and(|approved| approved != tag_of_bytes(&bytes)) {
                return Err(ToolFailure::stale(&existing.shown()));
            }
            let tag = if bytes.len() as u64 <= cx.limits.hashed_bytes {
                tag_of_bytes(&bytes)
            } else {
                tag_of_metadata(&stat)
            };
            Ok(Before::Bytes { bytes, tag })
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
    let kept = keep(place, &before, must_be_reversible, cx)?;
    let after_hash = tag_of_bytes(&new);
    let mut was = what_was(place, &before, &kept);
    if let (RootKind::Workspace, Some(sink)) = (place.root(), cx.snapshots) {
        let upcoming = UpcomingChange {
            path: place.shown(),
            canonical: place.canonical(),
            operation,
            before: was.clone(),
            after_hash: after_hash.clone(),
            reversible: kept.reversible,
        };
        sink.about_to_change(&upcoming).map_err(|why| {
            ToolFailure::new(
                FailureCode::ToolFailed,
                format!(
                    "`{}` was not changed: the change cannot be put on record ({why})",
                    place.shown()
                ),
            )
        })?;
    }
    // The last moment at which an abort or the time limit leaves everything as it was.
    cx.check()?;
    match (place.existing(), &before) {
        (None, _) => {
            was = ChangeBefore::Absent {
                created_directories: create(place, &new)?,
            };
        }
        (Some(existing), Before::Bytes { bytes: old, .. }) => {
            replace(place, existing, &Expected::Bytes(old), &new)?;
        }
        (Some(existing), Before::TooLarge(stat)) => {
            replace(place, existing, &Expected::Metadata(*stat), &new)?;
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
        reversible: kept.reversible,
    };
    Ok(Changed {
        record,
        tag,
        notice: kept.notice,
    })
}

/// The state before the change, for its record.
fn what_was(place: &Place, before: &Before, kept: &KeptCopy) -> ChangeBefore {
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
        Before::Bytes { bytes, .. } => ChangeBefore::Bytes {
            key: kept.key.clone(),
            hash: tag_of_bytes(bytes),
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
    let before = match before {
        None => Before::Absent,
        Some(bytes) => Before::Bytes {
            bytes: bytes.to_vec(),
            tag: String::new(),
        },
    };
    let (diff, binary) = compare(&before, after);
    Comparison {
        additions: diff.additions,
        deletions: diff.deletions,
        hunks: diff.hunks,
        truncated: diff.truncated,
        binary,
    }
}

struct KeptCopy {
    key: Option<String>,
    reversible: bool,
    notice: Option<String>,
}

fn keep(
    place: &Place,
    before: &Before,
    must_be_reversible: bool,
    cx: &ToolContext<'_>,
) -> Result<KeptCopy, ToolFailure> {
    // Only workspace changes have review snapshots (SPEC §11).
    if place.root() != RootKind::Workspace {
        return Ok(KeptCopy {
            key: None,
            reversible: false,
            notice: None,
        });
    }
    let why = match (before, cx.snapshots) {
        (Before::Absent, _) => {
            return Ok(KeptCopy {
                key: None,
                reversible: true,
                notice: None,
            });
        }
        (_, None) => {
            return Ok(KeptCopy {
                key: None,
                reversible: false,
                notice: None,
            });
        }
        (Before::Bytes { bytes, .. }, Some(sink))
            if bytes.len() as u64 <= cx.limits.snapshot_bytes =>
        {
            match sink.keep(bytes) {
                Ok(key) => {
                    return Ok(KeptCopy {
                        key: Some(key),
                        reversible: true,
                        notice: None,
                    });
                }
                Err(why) => why,
            }
        }
        _ => "the file is too large for the undo store".to_owned(),
    };
    if must_be_reversible {
        return Err(ToolFailure::new(
            FailureCode::ToolFailed,
            format!(
                "`{}` was never read in this session and no undo copy of it could be kept \
                 ({why}); read it first, then write",
                place.shown()
            ),
        ));
    }
    Ok(KeptCopy {
        key: None,
        reversible: false,
        notice: Some(format!("this change cannot be undone: {why}")),
    })
}

/// Old and new as hunks; the flag says that one of them is not text.
pub(crate) fn compare(before: &Before, new: &[u8]) -> (Diff, bool) {
    let old: &[u8] = match before {
        Before::Absent => b"",
        Before::Bytes { bytes, .. } => bytes,
        Before::TooLarge(_) => {
            return (
                Diff {
                    truncated: true,
                    ..Diff::default()
                },
                false,
            );
        }
    };
    let decode = |bytes| {
        detect(bytes).map(|encoding| encoding.decode_lossy(&bytes[encoding.mark().len()..]))
    };
    match (decode(old), decode(new)) {
        (Some(old), Some(new)) => (diff(&old, &new), false),
        _ => (Diff::default(), true),
    }
}
