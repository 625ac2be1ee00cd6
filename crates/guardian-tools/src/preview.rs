//! What a change would do, worked out before anybody is asked: nobody should be asked about a
//! call that cannot run.

use crate::ToolFailure;
use crate::bind::{BoundInput, BoundTarget};
use crate::change::{Before, compare};
use crate::contained::Place;
use crate::context::ToolContext;
use crate::diff::Hunk;

/// A change that was not made yet, for the card and for the decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePreview {
    /// The file does not exist yet.
    pub creates: bool,
    /// It replaces a file that this session never read. Such a Write needs
    /// [`Self::snapshot_possible`] or a decision (SPEC §9).
    pub overwrites_unread: bool,
    /// The old content fits the undo store.
    pub snapshot_possible: bool,
    /// Hard links of the file; more than one is said on the card.
    pub links: u64,
    /// Nothing would change.
    pub unchanged: bool,
    /// Lines added.
    pub additions: usize,
    /// Lines removed.
    pub deletions: usize,
    /// The change; not redacted.
    pub hunks: Vec<Hunk>,
    /// Hunks were left out.
    pub truncated: bool,
    /// One side is not text.
    pub binary: bool,
}

/// Looks at a Write or Edit without changing anything. Blocking.
///
/// `Ok(None)` for other tools, and for targets whose content must not be shown before the call is
/// permitted (outside the roots, secret or otherwise classed): not even by a failure that quotes
/// it.
///
/// # Errors
/// What the body would answer: `STALE_FILE` with the new tag, an edit that matches nowhere or
/// more than once, a read-only file.
pub fn preview(
    bound: &BoundInput,
    cx: &ToolContext<'_>,
) -> Result<Option<ChangePreview>, ToolFailure> {
    let Some(place) = place_of(bound).filter(|place| !place.guarded) else {
        return Ok(None);
    };
    let (before, new, unread) = match bound {
        BoundInput::Write(write) => {
            let plan = crate::write::plan(write, cx)?;
            (plan.before, plan.new, plan.unread)
        }
        BoundInput::Edit(edit) => {
            let plan = crate::edit::plan(edit, cx)?;
            (plan.before, plan.new, false)
        }
        _ => return Ok(None),
    };
    let (diff, binary) = compare(&before, &new);
    let unchanged = matches!(&before, Before::Bytes { bytes, .. } if *bytes == new);
    Ok(Some(ChangePreview {
        creates: matches!(before, Before::Absent),
        overwrites_unread: unread && !unchanged,
        snapshot_possible: match &before {
            Before::Absent => true,
            Before::Bytes { bytes, .. } => bytes.len() as u64 <= cx.limits.snapshot_bytes,
            Before::TooLarge(_) => false,
        },
        links: place
            .existing()
            .map_or(1, |existing| existing.stat().st_nlink),
        unchanged,
        additions: diff.additions,
        deletions: diff.deletions,
        hunks: diff.hunks,
        truncated: diff.truncated,
        binary,
    }))
}

fn place_of(bound: &BoundInput) -> Option<&Place> {
    match bound.target() {
        BoundTarget::Place(place) => Some(place),
        _ => None,
    }
}
