//! `guardian plans`: which plans and goals were proposed, and what became of them.

use guardian_host::HostError;
use guardian_host::store::{ExecutionStatus, Proposal, ProposalStatus, SessionId};
use guardian_redact::one_line_of;
use serde_json::json;

use crate::arguments::PlansOptions;
use crate::exit::ExitCode;
use crate::output::{self, time};
use crate::places;

/// Longest title that is shown, in characters.
const LONGEST_TITLE: usize = 80;

/// Lists the proposals.
pub(crate) fn run(options: &PlansOptions) -> Result<ExitCode, HostError> {
    let places = places::find(options.store.data.data_dir.as_deref())?;
    let store = super::sessions::open(&places.data_dir)?;
    let session = options
        .session
        .as_ref()
        .map(|text| SessionId::new(text.clone()))
        .transpose()
        .map_err(|error| HostError::invalid_params(error.to_string()))?;
    let mut proposals = store
        .proposals(session.as_ref())
        .map_err(HostError::internal)?;
    let now = store.now();
    let state = |one: &Proposal| match one.status {
        // The host that would note it may not be running.
        ProposalStatus::Pending if one.expires_at <= now => ProposalStatus::Expired.word(),
        status => status.word(),
    };
    if !options.all {
        proposals.retain(|one| {
            state(one) == ProposalStatus::Pending.word()
                || matches!(
                    one.execution,
                    Some(ExecutionStatus::Queued | ExecutionStatus::Running)
                )
        });
    }
    if options.store.json.json {
        for one in &proposals {
            output::json(&json!({
                "id": one.id,
                "sessionId": one.session.as_str(),
                "kind": one.kind.word(),
                "title": one.title,
                "question": one.question,
                "artifact": one.artifact.relative_path,
                "sha256": one.artifact.sha256,
                "status": state(one),
                "execution": one.execution.map(ExecutionStatus::word),
                "targetPermissionMode": one.permission_mode.map(|mode| mode.name()),
                "createdAt": one.created_at.0,
                "expiresAt": one.expires_at.0,
            }));
        }
        return Ok(ExitCode::Done);
    }
    if proposals.is_empty() {
        output::notice(if options.all {
            "no plans"
        } else {
            "no plan waits or is being carried out; --all shows the others"
        });
        return Ok(ExitCode::Done);
    }
    let rows: Vec<_> = proposals
        .iter()
        .map(|one| {
            let execution = one.execution.map(ExecutionStatus::word);
            vec![
                one.session.to_string(),
                one.kind.word().to_owned(),
                execution.unwrap_or(state(one)).to_owned(),
                time(one.created_at.0),
                one.artifact.relative_path.clone(),
                one_line_of(&one.title, LONGEST_TITLE),
            ]
        })
        .collect();
    let headings = ["SESSION", "KIND", "STATE", "PROPOSED", "FILE", "TITLE"];
    output::table(&headings, &rows);
    Ok(ExitCode::Done)
}
