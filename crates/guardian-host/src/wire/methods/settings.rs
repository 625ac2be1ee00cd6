use crate::error::HostError;
use crate::wire::connection::Connection;
use crate::wire::types::{CommandShellsResult, NoParams, SettingsResult, SettingsSetParams};

pub(crate) async fn get(connection: &Connection, _: NoParams) -> Result<SettingsResult, HostError> {
    Ok(SettingsResult {
        settings: connection.host.settings().await?,
    })
}

pub(crate) async fn set(
    connection: &Connection,
    params: SettingsSetParams,
) -> Result<SettingsResult, HostError> {
    Ok(SettingsResult {
        settings: connection.host.set_settings(&params.settings).await?,
    })
}

pub(crate) async fn command_shells(
    connection: &Connection,
    _: NoParams,
) -> Result<CommandShellsResult, HostError> {
    Ok(CommandShellsResult(connection.host.command_shells().await?))
}
