use crate::error::{ErrorCode, HostError};
use crate::jobs::JobAction;
use crate::wire::connection::Connection;
use crate::wire::types::{JobParams, JobView, SessionParams};

pub(crate) async fn list(
    connection: &Connection,
    params: SessionParams,
) -> Result<JobView, HostError> {
    Ok(JobView(
        connection.host.list_jobs(&params.session_id).await?,
    ))
}

pub(crate) async fn output(
    connection: &Connection,
    params: JobParams,
) -> Result<JobView, HostError> {
    job(connection, JobAction::Output, &params).await
}

pub(crate) async fn kill(connection: &Connection, params: JobParams) -> Result<JobView, HostError> {
    job(connection, JobAction::Kill, &params).await
}

async fn job(
    connection: &Connection,
    action: JobAction,
    params: &JobParams,
) -> Result<JobView, HostError> {
    let view = connection
        .host
        .job(&params.session_id, action, &params.job_id)
        .await?;
    view.map(JobView)
        .map_err(|error| HostError::new(ErrorCode::NotFound, error.to_string()))
}
