use std::path::PathBuf;

use guardian_rules::{OperatingMode, SessionPermissionMode};

use crate::error::HostError;
use crate::sessions::{NewSession, SessionChange, SessionInfo};
use crate::wire::connection::Connection;
use crate::wire::types::{
    BeginTurnParams, BeginTurnResult, Empty, EndTurnParams, NoParams, Role, SessionConfigureParams,
    SessionCreateParams, SessionListResult, SessionParams, SessionResult, SessionView,
};

pub(crate) async fn create(
    connection: &Connection,
    params: SessionCreateParams,
) -> Result<SessionResult, HostError> {
    let created = connection
        .host
        .create_session(NewSession {
            session_id: params.session_id,
            title: params.title,
            project_path: params.project_path.map(PathBuf::from),
            mode: params.mode.unwrap_or(OperatingMode::Agent),
            permission_mode: params
                .permission_mode
                .unwrap_or(SessionPermissionMode::Inherit),
        })
        .await?;
    Ok(SessionResult {
        session: view(&created.info),
        warnings: created.warnings,
    })
}

pub(crate) async fn get(
    connection: &Connection,
    params: SessionParams,
) -> Result<SessionResult, HostError> {
    let session = connection.host.session(&params.session_id).await?;
    Ok(SessionResult {
        session: view(&session),
        warnings: Vec::new(),
    })
}

pub(crate) async fn list(
    connection: &Connection,
    _: NoParams,
) -> Result<SessionListResult, HostError> {
    let sessions = connection.host.list_sessions().await?;
    Ok(SessionListResult {
        sessions: sessions.iter().map(view).collect(),
    })
}

pub(crate) async fn configure(
    connection: &Connection,
    params: SessionConfigureParams,
) -> Result<SessionResult, HostError> {
    let change = SessionChange {
        title: params.title,
        mode: params.mode,
        permission_mode: params.permission_mode,
    };
    let session = connection
        .host
        .configure_session(&params.session_id, change)
        .await?;
    Ok(SessionResult {
        session: view(&session),
        warnings: Vec::new(),
    })
}

pub(crate) async fn delete(
    connection: &Connection,
    params: SessionParams,
) -> Result<Empty, HostError> {
    connection.host.delete_session(&params.session_id).await?;
    Ok(Empty {})
}

pub(crate) async fn begin_turn(
    connection: &Connection,
    params: BeginTurnParams,
) -> Result<BeginTurnResult, HostError> {
    // The user's words are evidence, so only the operator may bring them (SPEC §1).
    let operator = connection
        .peer()
        .is_some_and(|peer| peer.role == Role::Operator);
    let message = params.user_message.filter(|_| operator);
    let new_prompt = params.new_prompt.unwrap_or(true);
    let turn = connection
        .host
        .begin_turn(&params.session_id, message, new_prompt)
        .await?;
    Ok(BeginTurnResult {
        turn_id: turn.turn_id,
        command_shell_id: turn.shell_id,
        command_shell_dialect: turn.shell_dialect,
    })
}

pub(crate) async fn end_turn(
    connection: &Connection,
    params: EndTurnParams,
) -> Result<Empty, HostError> {
    connection
        .host
        .end_turn(&params.session_id, &params.turn_id)
        .await?;
    Ok(Empty {})
}

fn view(session: &SessionInfo) -> SessionView {
    let text = |path: &PathBuf| path.to_string_lossy().into_owned();
    SessionView {
        session_id: session.session_id.clone(),
        title: session.title.clone(),
        project_path: session.project_path.as_ref().map(text),
        workspace_root: session.roots.workspace.as_ref().map(text),
        scratch_dir: text(&session.roots.scratch),
        mode: session.mode,
        permission_mode: session.permission_mode,
        effective_permission_mode: session.effective_permission_mode,
        created_at: session.created_at,
        updated_at: session.updated_at,
    }
}
