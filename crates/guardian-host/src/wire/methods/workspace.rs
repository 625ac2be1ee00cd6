use std::path::PathBuf;

use crate::error::HostError;
use crate::wire::connection::Connection;
use crate::wire::types::{NoParams, WorkspaceResult, WorkspaceSetParams};

pub(crate) async fn get(
    connection: &Connection,
    _: NoParams,
) -> Result<WorkspaceResult, HostError> {
    Ok(WorkspaceResult {
        path: connection.host.selected_workspace().await?,
    })
}

pub(crate) async fn set(
    connection: &Connection,
    params: WorkspaceSetParams,
) -> Result<WorkspaceResult, HostError> {
    if !PathBuf::from(&params.path).is_absolute() {
        return Err(HostError::invalid_params("`path` must be absolute").with("pointer", "/path"));
    }
    connection
        .host
        .select_workspace(Some(params.path.clone()))
        .await?;
    Ok(WorkspaceResult {
        path: Some(params.path),
    })
}

pub(crate) async fn clear(
    connection: &Connection,
    _: NoParams,
) -> Result<WorkspaceResult, HostError> {
    connection.host.select_workspace(None).await?;
    Ok(WorkspaceResult { path: None })
}
