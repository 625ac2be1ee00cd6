//! What a change would do, worked out before anybody is asked: nobody should be asked about a
//! call that cannot run.

use crate::ToolFailure;
use crate::bind::{Bound, BoundInput, BoundTarget};
use crate::change::{Before, compare};
use crate::contained::Place;
use crate::context::ToolContext;
use crate::diff::Hunk;
use crate::edit::EditPlan;
use crate::write::WritePlan;

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

/// What a decision about a change needs to know of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeOutlook {
    /// It replaces a file that this session never read ([`ChangePreview::overwrites_unread`]).
    pub overwrites_unread: bool,
    /// The old content fits the undo store.
    pub snapshot_possible: bool,
}

/// A change that was worked out when it was looked at, for the body that makes it.
#[derive(Debug)]
pub(crate) enum Prepared {
    Write(WritePlan),
    Edit(EditPlan),
}

/// Most bytes, old and new together, of a prepared change: it waits in memory for its turn.
const PREPARED_BYTES: usize = 16 * 1024 * 1024;

impl Prepared {
    /// The change that `bound` was prepared with, if the file is still as it was then. Whether its
    /// content is, the change itself makes sure of at the moment at which it is made.
    pub(crate) fn take<T>(bound: &mut Bound<T>) -> Option<Self> {
        let prepared = *bound.prepared.take()?;
        let BoundTarget::Place(place) = &bound.target else {
            return None;
        };
        let is_fresh = match (prepared.before(), place.existing()) {
            (Before::Absent, None) => true,
            (Before::Bytes { stat, .. }, Some(existing)) => existing.stat_now().is_ok_and(|now| {
                let times = |stat: &rustix::fs::Stat| {
                    let modified = (stat.st_mtime, stat.st_mtime_nsec);
                    (stat.st_size, modified, stat.st_ctime, stat.st_ctime_nsec)
                };
                times(&now) == times(stat)
            }),
            _ => false,
        };
        is_fresh.then_some(prepared)
    }

    fn before(&self) -> &Before {
        match self {
            Self::Write(plan) => &plan.before,
            Self::Edit(plan) => &plan.before,
        }
    }

    fn new_bytes(&self) -> &[u8] {
        match self {
            Self::Write(plan) => &plan.new,
            Self::Edit(plan) => &plan.new,
        }
    }

    fn is_unchanged(&self) -> bool {
        matches!(self.before(), Before::Bytes { bytes, .. } if bytes == self.new_bytes())
    }

    fn outlook(&self, cx: &ToolContext<'_>) -> ChangeOutlook {
        let unread = matches!(self, Self::Write(plan) if plan.unread);
        ChangeOutlook {
            overwrites_unread: unread && !self.is_unchanged(),
            snapshot_possible: match self.before() {
                Before::Absent => true,
                Before::Bytes { bytes, .. } => bytes.len() as u64 <= cx.limits.snapshot_bytes,
                Before::TooLarge(_) => false,
            },
        }
    }

    fn size(&self) -> usize {
        let before = match self.before() {
            Before::Bytes { bytes, .. } => bytes.len(),
            Before::Absent | Before::TooLarge(_) => 0,
        };
        before + self.new_bytes().len()
    }
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
    let Some((place, prepared)) = work_out(bound, cx)? else {
        return Ok(None);
    };
    let (diff, binary) = compare(prepared.before(), prepared.new_bytes());
    let ChangeOutlook {
        overwrites_unread,
        snapshot_possible,
    } = prepared.outlook(cx);
    Ok(Some(ChangePreview {
        creates: matches!(prepared.before(), Before::Absent),
        overwrites_unread,
        snapshot_possible,
        links: place
            .existing()
            .map_or(1, |existing| existing.stat().st_nlink),
        unchanged: prepared.is_unchanged(),
        additions: diff.additions,
        deletions: diff.deletions,
        hunks: diff.hunks,
        truncated: diff.truncated,
        binary,
    }))
}

/// [`preview`] without the comparison, for a call that is about to run: what was worked out stays
/// with `bound`, and its body need not work it out again while the file is as it was.
/// [`BoundInput::forget_prepared`] before anybody is waited for.
///
/// # Errors
/// As [`preview`].
pub fn prepare_change(
    bound: &mut BoundInput,
    cx: &ToolContext<'_>,
) -> Result<Option<ChangeOutlook>, ToolFailure> {
    let Some((_, prepared)) = work_out(bound, cx)? else {
        return Ok(None);
    };
    let outlook = prepared.outlook(cx);
    let kept = (prepared.size() <= PREPARED_BYTES).then(|| Box::new(prepared));
    match bound {
        BoundInput::Write(bound) => bound.prepared = kept,
        BoundInput::Edit(bound) => bound.prepared = kept,
        _ => {}
    }
    Ok(Some(outlook))
}

impl BoundInput {
    /// Lets go of what [`prepare_change`] kept.
    pub fn forget_prepared(&mut self) {
        match self {
            Self::Write(bound) => bound.prepared = None,
            Self::Edit(bound) => bound.prepared = None,
            _ => {}
        }
    }
}

fn work_out<'b>(
    bound: &'b BoundInput,
    cx: &ToolContext<'_>,
) -> Result<Option<(&'b Place, Prepared)>, ToolFailure> {
    let Some(place) = place_of(bound).filter(|place| !place.guarded) else {
        return Ok(None);
    };
    let prepared = match bound {
        BoundInput::Write(write) => Prepared::Write(crate::write::plan(write, cx)?),
        BoundInput::Edit(edit) => Prepared::Edit(crate::edit::plan(edit, cx)?),
        _ => return Ok(None),
    };
    Ok(Some((place, prepared)))
}

fn place_of(bound: &BoundInput) -> Option<&Place> {
    match bound.target() {
        BoundTarget::Place(place) => Some(place),
        _ => None,
    }
}
