use guardian_store::{
    ExecutionStatus, ProposalAnswer, ProposalIdentity, ProposalStatus, SessionId,
};

use crate::error::HostError;
use crate::plans::proposal_view;
use crate::wire::connection::Connection;
use crate::wire::types::control::{
    ClaimExecutionResult, ExecutionOutcome, FinishExecutionParams, PlanAction, PlanParams,
    PlansAbortResult, PlansPendingParams, PlansPendingResult, PlansResolveParams, ProposalResult,
};

pub(crate) async fn pending(
    connection: &Connection,
    params: PlansPendingParams,
) -> Result<PlansPendingResult, HostError> {
    let open = connection
        .host
        .open_plans(params.session_id.as_deref())
        .await?;
    let (proposals, executions): (Vec<_>, Vec<_>) = open
        .iter()
        .partition(|one| one.status == ProposalStatus::Pending);
    Ok(PlansPendingResult {
        proposals: proposals.into_iter().map(proposal_view).collect(),
        executions: executions.into_iter().map(proposal_view).collect(),
    })
}

pub(crate) async fn resolve(
    connection: &Connection,
    params: PlansResolveParams,
) -> Result<ProposalResult, HostError> {
    let answer = match (params.action, params.target_permission_mode) {
        (PlanAction::Approve, Some(mode)) => ProposalAnswer::Approve(mode),
        (PlanAction::Approve, None) => {
            let message = "an approval needs `targetPermissionMode`";
            let pointer = "/targetPermissionMode";
            return Err(HostError::invalid_params(message).with("pointer", pointer));
        }
        (PlanAction::Reject, _) => ProposalAnswer::Reject,
    };
    let identity = ProposalIdentity {
        id: params.proposal_id,
        session: session_id(connection, &params.session_id).await?,
        turn: params.turn_id,
        tool_call: params.tool_call_id,
        version: params.version,
    };
    let proposal = connection.host.resolve_plan(identity, answer).await?;
    Ok(ProposalResult {
        proposal: proposal_view(&proposal),
    })
}

pub(crate) async fn claim_execution(
    connection: &Connection,
    params: PlanParams,
) -> Result<ClaimExecutionResult, HostError> {
    let claimed = connection
        .host
        .claim_execution(&params.session_id, &params.proposal_id)
        .await?;
    Ok(ClaimExecutionResult {
        proposal: proposal_view(&claimed.proposal),
        markdown: claimed.markdown,
    })
}

pub(crate) async fn finish_execution(
    connection: &Connection,
    params: FinishExecutionParams,
) -> Result<ProposalResult, HostError> {
    let end = match params.outcome {
        ExecutionOutcome::Finished => ExecutionStatus::Finished,
        ExecutionOutcome::Failed => ExecutionStatus::Failed,
    };
    let proposal = connection
        .host
        .finish_execution(&params.session_id, &params.proposal_id, end)
        .await?;
    Ok(ProposalResult {
        proposal: proposal_view(&proposal),
    })
}

pub(crate) async fn abort(
    connection: &Connection,
    params: PlanParams,
) -> Result<PlansAbortResult, HostError> {
    let aborted = connection
        .host
        .abort_plan(&params.session_id, &params.proposal_id)
        .await?;
    Ok(PlansAbortResult {
        aborted: aborted.is_some(),
        proposal: aborted.as_ref().map(proposal_view),
    })
}

/// The id of a session that exists.
async fn session_id(connection: &Connection, text: &str) -> Result<SessionId, HostError> {
    let session = connection.host.session(text).await?;
    SessionId::new(session.session_id).map_err(HostError::internal)
}
