use crate::error::HostError;
use crate::wire::connection::Connection;
use crate::wire::types::control::{AskResolveParams, AskResolveResult};

pub(crate) async fn resolve(
    connection: &Connection,
    params: AskResolveParams,
) -> Result<AskResolveResult, HostError> {
    connection
        .host
        .answer_questions(&params.request_id, params.answers)
        .await?;
    Ok(AskResolveResult { resolved: true })
}
