use crate::agents::AgentDefinition;
use crate::error::HostError;
use crate::wire::connection::Connection;
use crate::wire::types::SessionParams;
use crate::wire::types::control::{
    AgentView, AgentsDefineParams, AgentsDefineResult, AgentsListResult, TaskFinishParams,
    TaskFinishResult,
};

pub(crate) async fn list(
    connection: &Connection,
    params: SessionParams,
) -> Result<AgentsListResult, HostError> {
    let list = connection.host.agents(&params.session_id).await?;
    Ok(AgentsListResult {
        agents: list
            .agents
            .into_iter()
            .map(|one| view(one.definition, one.approved))
            .collect(),
        problems: list.problems,
    })
}

pub(crate) async fn define(
    connection: &Connection,
    params: AgentsDefineParams,
) -> Result<AgentsDefineResult, HostError> {
    let definition = connection
        .host
        .define_agent(&params.session_id, &params.definition)
        .await?;
    Ok(AgentsDefineResult {
        agent: view(definition, true),
    })
}

pub(crate) async fn finish_task(
    connection: &Connection,
    params: TaskFinishParams,
) -> Result<TaskFinishResult, HostError> {
    let closed = connection
        .host
        .finish_task(&params.session_id, &params.delegate_id)
        .await?;
    Ok(TaskFinishResult { closed })
}

fn view(definition: AgentDefinition, approved: bool) -> AgentView {
    AgentView {
        name: definition.name,
        description: definition.description,
        tools: definition.tools,
        model: definition.model,
        thinking_level: definition.thinking_level,
        max_turns: definition.max_turns,
        instructions: definition.instructions,
        source: definition.source.word().to_owned(),
        approved,
        warnings: definition.warnings,
    }
}
