use std::sync::Arc;

use guardian_rules::OperatingMode;

use crate::error::HostError;
use crate::outcome::{ToolOutcome, ToolRequest};
use crate::tools_list::{ToolInfo, tool_list};
use crate::wire::connection::Connection;
use crate::wire::types::control::ToolsCatalogResult;
use crate::wire::types::{
    AbortParams, AbortResult, ExecuteParams, ExecuteResult, NoParams, SessionParams, ToolView,
    ToolsListResult,
};

pub(crate) async fn list(_: &Connection, _: NoParams) -> Result<ToolsListResult, HostError> {
    let tools = tool_list().into_iter().map(view).collect();
    Ok(ToolsListResult { tools })
}

fn view(tool: ToolInfo) -> ToolView {
    let modes = [
        OperatingMode::Agent,
        OperatingMode::Plan,
        OperatingMode::Goal,
    ];
    ToolView {
        modes: modes.into_iter().filter(|mode| tool.is_in(*mode)).collect(),
        name: tool.name,
        description: tool.description,
        risk: tool.risk,
        parameters: tool.parameters,
        activation: tool.activation,
    }
}

pub(crate) async fn catalog(
    connection: &Connection,
    params: SessionParams,
) -> Result<ToolsCatalogResult, HostError> {
    let catalog = connection.host.tool_catalog(&params.session_id).await?;
    Ok(ToolsCatalogResult {
        mode: catalog.mode,
        tools: catalog.tools.into_iter().map(view).collect(),
        on_demand: catalog.on_demand,
        block: catalog.block,
        guidance: catalog.guidance,
    })
}

pub(crate) fn execute(
    connection: &Connection,
    params: ExecuteParams,
) -> impl Future<Output = Result<ExecuteResult, HostError>> + Send + use<> {
    let outcome = connection.host.execute(request(params));
    async move { result(outcome.await?) }
}

pub(crate) fn permit(
    connection: &Connection,
    params: ExecuteParams,
) -> impl Future<Output = Result<ExecuteResult, HostError>> + Send + use<> {
    let host = Arc::clone(&connection.host);
    async move { result(host.permit(request(params)).await?) }
}

fn result(mut outcome: ToolOutcome) -> Result<ExecuteResult, HostError> {
    Ok(ExecuteResult {
        tool_call_id: std::mem::take(&mut outcome.tool_call_id),
        ok: outcome.ok,
        is_error: !outcome.ok,
        error_code: outcome.error_code.map(|code| code.as_str().to_owned()),
        denied: outcome.denied.then_some(true),
        runtime: outcome.runtime.take().map(|runtime| *runtime),
        content: outcome.into_content_text().map_err(HostError::internal)?,
    })
}

pub(crate) async fn abort(
    connection: &Connection,
    params: AbortParams,
) -> Result<AbortResult, HostError> {
    let aborted = connection
        .host
        .abort_call(&params.session_id, &params.tool_call_id);
    Ok(AbortResult { aborted })
}

/// The request that a wire call stands for.
pub(super) fn request(params: ExecuteParams) -> ToolRequest {
    ToolRequest {
        session_id: params.session_id,
        turn_id: params.turn_id,
        tool_call_id: params.tool_call_id,
        tool_name: params.tool_name,
        args: params.args,
        batch_size: params.batch.map(|batch| batch.size),
        delegate_id: params.delegate_id,
        expected_shell_id: params.expected_command_shell_id,
        expected_shell_dialect: params.expected_command_shell_dialect,
        timeout_ms: params.timeout_ms,
    }
}
