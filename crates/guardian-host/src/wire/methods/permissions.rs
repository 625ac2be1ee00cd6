use std::sync::Arc;

use guardian_review::{HumanAnswer, Posted};

use crate::error::HostError;
use crate::wire::connection::Connection;
use crate::wire::events::request_view;
use crate::wire::types::{
    ClearGrantsParams, ClearGrantsResult, DenialListResult, DenialView, EvaluateResult,
    ExecuteParams, GrantListResult, GrantView, OverruleParams, OverruleResult, PendingParams,
    PendingResult, ResolveParams, ResolveResult, SessionParams,
};
use crate::words;

pub(crate) async fn evaluate(
    connection: &Connection,
    params: ExecuteParams,
) -> Result<EvaluateResult, HostError> {
    let report = connection
        .host
        .evaluate(super::tools::request(params))
        .await?;
    Ok(EvaluateResult {
        decision: report.decision,
        cause: report.cause,
        decided_by: report.decided_by,
        reasons: report.reasons,
        allowed_decisions: report.allowed_decisions,
        summary: report.summary,
        error_code: report.error_code,
        facts: report.facts,
    })
}

pub(crate) async fn resolve(
    connection: &Connection,
    params: ResolveParams,
) -> Result<ResolveResult, HostError> {
    let answer = HumanAnswer {
        decision: params.decision,
        feedback: params.feedback,
        rule: params.rule,
    };
    let resolved =
        connection
            .host
            .resolve_permission(&params.session_id, &params.request_id, &answer);
    Ok(ResolveResult { resolved })
}

pub(crate) async fn pending(
    connection: &Connection,
    params: PendingParams,
) -> Result<PendingResult, HostError> {
    let pending = connection
        .host
        .pending_permissions(params.session_id.as_deref());
    Ok(PendingResult {
        requests: pending
            .iter()
            .map(|posted| {
                let session = &posted.request.session_id;
                let same = |other: &&Arc<Posted>| other.request.session_id == *session;
                request_view(posted, pending.iter().filter(same).count() - 1)
            })
            .collect(),
    })
}

pub(crate) async fn list_denials(
    connection: &Connection,
    params: SessionParams,
) -> Result<DenialListResult, HostError> {
    let denials = connection.host.reviewer_denials(&params.session_id).await?;
    Ok(DenialListResult {
        denials: denials.iter().map(DenialView::of).collect(),
    })
}

pub(crate) async fn overrule(
    connection: &Connection,
    params: OverruleParams,
) -> Result<OverruleResult, HostError> {
    let overruled = connection
        .host
        .overrule_denial(&params.session_id, &params.action)
        .await?;
    Ok(OverruleResult { overruled })
}

pub(crate) async fn list_session_grants(
    connection: &Connection,
    params: SessionParams,
) -> Result<GrantListResult, HostError> {
    let grants = connection.host.list_grants(&params.session_id).await?;
    let grants = grants
        .into_iter()
        .map(|row| GrantView {
            sentence: row.grant.sentence(),
            scope: words::grant_scope(row.grant.scope).to_owned(),
            tool_name: row.grant.tool_name,
            granted_by: row.granted_by,
            at: row.at,
        })
        .collect();
    Ok(GrantListResult { grants })
}

pub(crate) async fn clear_session_grants(
    connection: &Connection,
    params: ClearGrantsParams,
) -> Result<ClearGrantsResult, HostError> {
    let tool = params.tool_name.as_deref();
    let cleared = connection
        .host
        .clear_grants(&params.session_id, tool)
        .await?;
    Ok(ClearGrantsResult { cleared })
}
