//! The table of methods: name, who may call it, which lane it runs in, its types and its handler.
//!
//! One line a method; schemas, the role check and the documentation come from the same line.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use schemars::{Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::connection::Connection;
use super::methods::{
    agents, app, asktool, audit, extractors, jobs, permissions, plans, policy, review, session,
    settings, tools, workspace,
};
use super::types::{self, Role, control};
use crate::error::HostError;

/// How a method is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Always served at once: answers, aborts, health.
    Control,
    /// One of 32 at once.
    Plain,
    /// Bounded by the gate itself, since it may wait for people.
    Call,
}

/// The result, as JSON text.
type Answer = Pin<Box<dyn Future<Output = Result<String, HostError>> + Send>>;

/// One method of the wire.
pub struct Method {
    /// Name, e.g. `session.create`.
    pub name: &'static str,
    /// The least role that may call it.
    pub role: Role,
    /// How it is scheduled.
    pub lane: Lane,
    /// Schema of its parameters.
    pub params: fn(&mut SchemaGenerator) -> Schema,
    /// Schema of its result.
    pub result: fn(&mut SchemaGenerator) -> Schema,
    pub(super) handler: fn(Arc<Connection>, Value) -> Answer,
}

/// The answer of a method. A call's handler runs here and now up to its future, so that what it
/// takes there (its place among the mutations) is taken in the order of the lines.
macro_rules! answer {
    (Call, $connection:ident, $given:ident, $handler:path, $params:ty, $result:ty) => {{
        let answer = parse_params::<$params>($given).map(|params| $handler(&$connection, params));
        Box::pin(async move {
            let result: $result = answer?.await?;
            serde_json::to_string(&result).map_err(HostError::internal)
        })
    }};
    ($lane:ident, $connection:ident, $given:ident, $handler:path, $params:ty, $result:ty) => {
        Box::pin(async move {
            let params: $params = parse_params($given)?;
            let result: $result = $handler(&$connection, params).await?;
            serde_json::to_string(&result).map_err(HostError::internal)
        })
    };
}

macro_rules! methods {
    ($($name:literal, $role:ident, $lane:ident, $handler:path, $params:ty => $result:ty;)*) => {
        /// Every method, in the order of SPEC §15.
        pub static METHODS: &[Method] = &[$(Method {
            name: $name,
            role: Role::$role,
            lane: Lane::$lane,
            params: |generator| generator.subschema_for::<$params>(),
            result: |generator| generator.subschema_for::<$result>(),
            handler: |connection, params| answer!($lane, connection, params, $handler, $params, $result),
        },)*];
    };
}

methods! {
    "app.health", Agent, Control, app::health, types::NoParams => types::HealthResult;
    "app.getVersion", Agent, Control, app::get_version, types::NoParams => types::VersionResult;
    "session.create", Operator, Plain, session::create, types::SessionCreateParams => types::SessionResult;
    "session.get", Operator, Plain, session::get, types::SessionParams => types::SessionResult;
    "session.list", Operator, Plain, session::list, types::NoParams => types::SessionListResult;
    "session.configure", Operator, Plain, session::configure, types::SessionConfigureParams => types::SessionResult;
    "session.delete", Operator, Plain, session::delete, types::SessionParams => types::Empty;
    "session.beginTurn", Agent, Plain, session::begin_turn, types::BeginTurnParams => types::BeginTurnResult;
    "session.endTurn", Agent, Plain, session::end_turn, types::EndTurnParams => types::Empty;
    "jobs.list", Operator, Plain, jobs::list, types::SessionParams => types::JobView;
    "jobs.output", Operator, Plain, jobs::output, types::JobParams => types::JobView;
    "jobs.kill", Operator, Control, jobs::kill, types::JobParams => types::JobView;
    "workspace.get", Operator, Plain, workspace::get, types::NoParams => types::WorkspaceResult;
    "workspace.set", Operator, Plain, workspace::set, types::WorkspaceSetParams => types::WorkspaceResult;
    "workspace.clear", Operator, Plain, workspace::clear, types::NoParams => types::WorkspaceResult;
    "tools.list", Agent, Plain, tools::list, types::NoParams => types::ToolsListResult;
    "tools.catalog", Agent, Plain, tools::catalog, types::SessionParams => control::ToolsCatalogResult;
    "tools.execute", Agent, Call, tools::execute, types::ExecuteParams => types::ExecuteResult;
    "tools.permit", Agent, Call, tools::permit, types::ExecuteParams => types::ExecuteResult;
    "tools.abort", Agent, Control, tools::abort, types::AbortParams => types::AbortResult;
    "permissions.evaluate", Operator, Plain, permissions::evaluate, types::ExecuteParams => types::EvaluateResult;
    "permissions.resolve", Operator, Control, permissions::resolve, types::ResolveParams => types::ResolveResult;
    "permissions.pending", Operator, Control, permissions::pending, types::PendingParams => types::PendingResult;
    "permissions.listDenials", Operator, Control, permissions::list_denials, types::SessionParams => types::DenialListResult;
    "permissions.overrule", Operator, Control, permissions::overrule, types::OverruleParams => types::OverruleResult;
    "permissions.listSessionGrants", Operator, Plain, permissions::list_session_grants, types::SessionParams => types::GrantListResult;
    "permissions.clearSessionGrants", Operator, Plain, permissions::clear_session_grants, types::ClearGrantsParams => types::ClearGrantsResult;
    "settings.get", Operator, Plain, settings::get, types::NoParams => types::SettingsResult;
    "settings.set", Operator, Plain, settings::set, types::SettingsSetParams => types::SettingsResult;
    "commandShells.list", Operator, Plain, settings::command_shells, types::NoParams => types::CommandShellsResult;
    "extractors.register", Operator, Plain, extractors::register, types::ExtractorsRegisterParams => types::ExtractorsRegisterResult;
    "policy.show", Operator, Plain, policy::show, types::OptionalSessionParams => types::PolicyShowResult;
    "policy.reload", Operator, Plain, policy::reload, types::OptionalSessionParams => types::PolicyShowResult;
    "policy.setSessionRules", Operator, Plain, policy::set_session_rules, types::SessionRulesParams => types::PolicyShowResult;
    "review.list", Operator, Plain, review::list, types::SessionParams => types::ReviewListResult;
    "review.rollback", Operator, Plain, review::rollback, types::RollbackParams => types::RollbackResult;
    "review.rollbackTurn", Operator, Plain, review::rollback_turn, types::RollbackTurnParams => types::RollbackTurnResult;
    "artifacts.list", Operator, Plain, review::artifacts, types::SessionParams => types::ArtifactsResult;
    "plans.pending", Operator, Control, plans::pending, control::PlansPendingParams => control::PlansPendingResult;
    "plans.resolve", Operator, Control, plans::resolve, control::PlansResolveParams => control::ProposalResult;
    "plans.claimExecution", Operator, Plain, plans::claim_execution, control::PlanParams => control::ClaimExecutionResult;
    "plans.finishExecution", Operator, Plain, plans::finish_execution, control::FinishExecutionParams => control::ProposalResult;
    "plans.abort", Operator, Control, plans::abort, control::PlanParams => control::PlansAbortResult;
    "asktool.resolve", Operator, Control, asktool::resolve, control::AskResolveParams => control::AskResolveResult;
    "agents.list", Agent, Plain, agents::list, types::SessionParams => control::AgentsListResult;
    "agents.define", Operator, Plain, agents::define, control::AgentsDefineParams => control::AgentsDefineResult;
    "task.finish", Agent, Control, agents::finish_task, control::TaskFinishParams => control::TaskFinishResult;
    "audit.query", Operator, Plain, audit::query, types::AuditQueryParams => types::AuditQueryResult;
    "audit.append", Operator, Plain, audit::append, types::AuditAppendParams => types::Empty;
    "audit.verify", Operator, Plain, audit::verify, types::NoParams => types::AuditVerifyResult;
}

/// The areas of methods that this host has (`features` of the handshake).
pub(super) fn areas() -> Vec<String> {
    let mut areas: Vec<String> = Vec::new();
    for method in METHODS {
        let area = method.name.split('.').next().unwrap_or_default();
        if !areas.iter().any(|known| known == area) {
            areas.push(area.to_owned());
        }
    }
    areas
}

/// Finds a method by name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// Parses parameters; the error names the member by JSON pointer.
pub(super) fn parse_params<P: DeserializeOwned>(params: Value) -> Result<P, HostError> {
    serde_path_to_error::deserialize(params).map_err(|error| {
        let path = error.path().to_string();
        let pointer = if path == "." {
            String::new()
        } else {
            format!("/{}", path.replace('.', "/"))
        };
        HostError::invalid_params(error.into_inner().to_string()).with("pointer", pointer)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_well_formed() {
        let mut seen = std::collections::BTreeSet::new();
        for method in METHODS {
            assert!(seen.insert(method.name), "{} twice", method.name);
            let (area, verb) = method.name.split_once('.').unwrap();
            assert!(!verb.is_empty() && area.chars().all(|c| c.is_ascii_alphabetic()));
        }
    }

    #[test]
    fn an_agent_may_call_tools_and_turns_and_nothing_that_decides() {
        let agent: Vec<_> = METHODS
            .iter()
            .filter(|m| m.role == Role::Agent)
            .map(|m| m.name)
            .collect();
        assert_eq!(
            agent,
            [
                "app.health",
                "app.getVersion",
                "session.beginTurn",
                "session.endTurn",
                "tools.list",
                "tools.catalog",
                "tools.execute",
                "tools.permit",
                "tools.abort",
                "agents.list",
                "task.finish",
            ]
        );
    }

    #[test]
    fn a_missing_member_is_named() {
        let error = parse_params::<types::AbortParams>(serde_json::json!({"sessionId": 3}));
        assert_eq!(
            error.err().map(|e| e.data["pointer"].clone()),
            Some("/sessionId".into())
        );
    }
}
