use guardian_store::ArtifactKind;

use crate::changes::RollbackReport;
use crate::error::HostError;
use crate::wire::connection::Connection;
use crate::wire::types::{
    ArtifactView, ArtifactsResult, ReviewListResult, RollbackParams, RollbackResult,
    RollbackTurnParams, RollbackTurnResult, SessionParams,
};

pub(crate) async fn list(
    connection: &Connection,
    params: SessionParams,
) -> Result<ReviewListResult, HostError> {
    Ok(ReviewListResult {
        changes: connection.host.list_changes(&params.session_id).await?,
    })
}

pub(crate) async fn rollback(
    connection: &Connection,
    params: RollbackParams,
) -> Result<RollbackResult, HostError> {
    let report = connection
        .host
        .rollback_change(&params.session_id, &params.snapshot_id)
        .await?;
    Ok(view(report))
}

pub(crate) async fn rollback_turn(
    connection: &Connection,
    params: RollbackTurnParams,
) -> Result<RollbackTurnResult, HostError> {
    let host = &connection.host;
    let reports = host
        .rollback_turn(&params.session_id, &params.turn_id)
        .await?;
    let not_covered = host
        .not_covered_by_rollback(&params.session_id, &params.turn_id)
        .await?;
    Ok(RollbackTurnResult {
        results: reports.into_iter().map(view).collect(),
        not_covered,
    })
}

pub(crate) async fn artifacts(
    connection: &Connection,
    params: SessionParams,
) -> Result<ArtifactsResult, HostError> {
    let artifacts = connection.host.list_artifacts(&params.session_id).await?;
    let artifacts = artifacts
        .into_iter()
        .map(|row| ArtifactView {
            path: row.artifact.path.to_string_lossy().into_owned(),
            kind: match row.artifact.kind {
                ArtifactKind::File => "file",
                ArtifactKind::Plan => "plan",
                ArtifactKind::Goal => "goal",
            }
            .to_owned(),
            tool_call_id: row.tool_call,
            bytes: row.artifact.bytes,
            sha256: row.artifact.sha256,
            at: row.at.0,
        })
        .collect();
    Ok(ArtifactsResult { artifacts })
}

fn view(report: RollbackReport) -> RollbackResult {
    RollbackResult {
        snapshot_id: report.snapshot_id,
        path: report.path,
        status: report.status.to_owned(),
        reason: report.reason,
    }
}
