//! The body of Edit.

use guardian_facts::input::EditInput;
use serde_json::json;

use crate::bind::{Bound, BoundTarget};
use crate::change::{Before, Change, apply, load};
use crate::contained::Place;
use crate::context::ToolContext;
use crate::encoding::{BINARY_LOOK, is_binary};
use crate::matching::{Problem, apply_edits};
use crate::output::{ChangeOperation, ToolOutput};
use crate::preview::Prepared;
use crate::{FailureCode, ToolFailure};

/// Replaces exact text.
pub(crate) fn edit(
    mut bound: Bound<EditInput>,
    cx: &ToolContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    let EditPlan { before, new } = match Prepared::take(&mut bound) {
        Some(Prepared::Edit(plan)) => plan,
        _ => plan(&bound, cx)?,
    };
    let place = place_of(&bound)?;
    let change = Change {
        place,
        before,
        new,
        operation: ChangeOperation::Edit,
        must_be_reversible: false,
    };
    let done = apply(change, cx)?;
    let mut content = json!({
        "path": place.shown(),
        "root": place.root().as_str(),
        "replacements": bound.input().edits.len(),
        "tag": done.tag,
        "truncated": false,
    });
    if let Some(notice) = done.notice {
        content["notice"] = notice.into();
    }
    Ok(ToolOutput {
        content,
        changed: Some(done.record),
    })
}

/// What an Edit will do.
#[derive(Debug)]
pub(crate) struct EditPlan {
    pub(crate) before: Before,
    pub(crate) new: Vec<u8>,
}

pub(crate) fn plan(
    bound: &Bound<EditInput>,
    cx: &ToolContext<'_>,
) -> Result<EditPlan, ToolFailure> {
    let place = place_of(bound)?;
    cx.check()?;
    let Some(existing) = place.existing() else {
        return Err(ToolFailure::stale(&place.shown()));
    };
    let before = load(existing, bound.approved_hash.as_deref(), cx)?;
    let Before::Bytes { bytes, .. } = &before else {
        return Err(ToolFailure::new(
            FailureCode::ToolFailed,
            format!(
                "`{}` has more than {} bytes, too many for Edit; change it with a program \
                 through Bash",
                place.shown(),
                cx.limits.edit_bytes
            ),
        ));
    };
    if is_binary(bytes) {
        let mime = crate::image::mime_of(&bytes[..bytes.len().min(BINARY_LOOK)]);
        return Err(crate::read::binary(existing, bytes.len() as u64, mime));
    }
    let new = apply_edits(bytes, &bound.input().edits).map_err(|problem| failed(place, problem))?;
    Ok(EditPlan { before, new })
}

fn failed(place: &Place, problem: Problem) -> ToolFailure {
    let mut failure = ToolFailure::new(
        FailureCode::ToolFailed,
        format!("`{}` was not changed: {}", place.shown(), problem.message),
    )
    .with("reason", problem.reason);
    if problem.of > 1 {
        failure = failure.with("edit", problem.edit);
    }
    if !problem.lines.is_empty() {
        failure = failure.with("lines", problem.lines);
    }
    if let Some(region) = problem.closest {
        failure = failure.with("closest", *region);
    }
    failure
}

fn place_of(bound: &Bound<EditInput>) -> Result<&Place, ToolFailure> {
    match &bound.target {
        BoundTarget::Place(place) => Ok(place),
        BoundTarget::Unusable { failure, .. } => Err(failure.clone()),
        _ => Err(ToolFailure::new(
            FailureCode::Internal,
            "Edit is not bound to a place",
        )),
    }
}
