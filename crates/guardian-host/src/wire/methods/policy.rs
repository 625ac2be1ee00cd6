use crate::error::HostError;
use crate::policies::PolicyReport;
use crate::wire::connection::Connection;
use crate::wire::types::{
    OptionalSessionParams, PolicyLayerView, PolicyProblemView, PolicyShowResult, SessionRulesParams,
};

pub(crate) async fn show(
    connection: &Connection,
    params: OptionalSessionParams,
) -> Result<PolicyShowResult, HostError> {
    let report = connection
        .host
        .show_policy(params.session_id.as_deref())
        .await?;
    Ok(view(&report))
}

pub(crate) async fn reload(
    connection: &Connection,
    params: OptionalSessionParams,
) -> Result<PolicyShowResult, HostError> {
    let session = params.session_id.as_deref();
    connection.host.reload_policy(session).await?;
    Ok(view(&connection.host.show_policy(session).await?))
}

pub(crate) async fn set_session_rules(
    connection: &Connection,
    params: SessionRulesParams,
) -> Result<PolicyShowResult, HostError> {
    let host = &connection.host;
    let session = params.session_id.as_str();
    host.set_session_rules(session, params.rules).await?;
    Ok(view(&host.show_policy(Some(session)).await?))
}

fn view(report: &PolicyReport) -> PolicyShowResult {
    PolicyShowResult {
        version: report.version.clone(),
        preset: report.preset.name().to_owned(),
        rules: report.rules,
        waiting: report.waiting,
        ignored_allow_rules: report.ignored_allow_rules.clone(),
        layers: report
            .layers
            .iter()
            .map(|layer| PolicyLayerView {
                layer: layer.layer.name().to_owned(),
                file: layer.file.display().to_string(),
                state: layer.state.name().to_owned(),
                hash: layer.hash.clone(),
                trusted: layer.is_trusted(),
                text: layer.text.as_deref().map(str::to_owned),
                problems: layer.problems.iter().map(PolicyProblemView::of).collect(),
            })
            .collect(),
    }
}
