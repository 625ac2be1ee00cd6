//! The stored form of an audit row: the JSON text that is hashed.

use guardian_rules::Decision;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::entry::{AuditEntry, AuditEvent, AuditRow, ExternalPathPermission};
use crate::clock::Timestamp;
use crate::{SessionId, StoreError};

/// Version 1. Fields are only ever added; a row is hashed as text, so old rows stay as they are.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BodyV1 {
    v: u32,
    at: i64,
    event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delegate: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    args_hash: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    args_preview: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    facts_summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    external_path_permission: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decision: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decided_by: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rule_ids: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prompted: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    permission_wait_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    overhead_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    total_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sandbox: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mutation_failure_kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mutation_failure_attempt: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    terminate: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<Value>,
}

pub(super) fn decision_name(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny => "deny",
    }
}

fn parse_decision(name: &str) -> Result<Decision, StoreError> {
    match name {
        "allow" => Ok(Decision::Allow),
        "ask" => Ok(Decision::Ask),
        "deny" => Ok(Decision::Deny),
        other => Err(StoreError::Corrupt(format!("`{other}` is no decision"))),
    }
}

/// The text of an entry, which is already redacted.
pub(super) fn to_body(entry: AuditEntry, at: Timestamp) -> Result<String, StoreError> {
    let body = BodyV1 {
        v: 1,
        at: at.0,
        event: entry.event.to_string(),
        session_id: entry.session.map(|id| id.to_string()),
        turn_id: entry.turn,
        tool_call_id: entry.tool_call,
        tool_name: entry.tool,
        delegate: entry.delegate,
        args_hash: entry.args_hash,
        args_preview: entry.args_preview,
        facts_summary: entry.facts_summary,
        external_path_permission: entry
            .external_path_permission
            .map(|value| value.name().to_owned()),
        decision: entry.decision.map(|value| decision_name(value).to_owned()),
        cause: entry.cause,
        decided_by: entry.decided_by,
        rule_ids: entry.rule_ids,
        policy_version: entry.policy_version,
        reason: entry.reason,
        ok: entry.ok,
        error_code: entry.error_code,
        exit_code: entry.exit_code,
        bytes: entry.bytes,
        prompted: entry.prompted,
        permission_wait_ms: entry.permission_wait_ms,
        duration_ms: entry.duration_ms,
        overhead_ms: entry.overhead_ms,
        total_ms: entry.total_ms,
        sandbox: entry.sandbox,
        mutation_failure_kind: entry.mutation_failure_kind,
        mutation_failure_attempt: entry.mutation_failure_attempt,
        terminate: entry.terminate,
        detail: entry.detail,
    };
    serde_json::to_string(&body)
        .map_err(|error| StoreError::Invalid(format!("an audit entry cannot be written: {error}")))
}

/// The row of a stored text.
pub(super) fn from_body(seq: u64, hash: &[u8], body: &str) -> Result<AuditRow, StoreError> {
    let body: BodyV1 = serde_json::from_str(body)
        .map_err(|error| StoreError::Corrupt(format!("audit row {seq} cannot be read: {error}")))?;
    let entry = AuditEntry {
        event: AuditEvent::from_name(&body.event),
        session: body
            .session_id
            .map(SessionId::new)
            .transpose()
            .map_err(|error| StoreError::Corrupt(format!("audit row {seq}: {error}")))?,
        turn: body.turn_id,
        tool_call: body.tool_call_id,
        tool: body.tool_name,
        delegate: body.delegate,
        args_hash: body.args_hash,
        args_preview: body.args_preview,
        facts_summary: body.facts_summary,
        external_path_permission: body
            .external_path_permission
            .map(|name| ExternalPathPermission::from_name(&name))
            .transpose()?,
        decision: body
            .decision
            .map(|name| parse_decision(&name))
            .transpose()?,
        cause: body.cause,
        decided_by: body.decided_by,
        rule_ids: body.rule_ids,
        policy_version: body.policy_version,
        reason: body.reason,
        ok: body.ok,
        error_code: body.error_code,
        exit_code: body.exit_code,
        bytes: body.bytes,
        prompted: body.prompted,
        permission_wait_ms: body.permission_wait_ms,
        duration_ms: body.duration_ms,
        overhead_ms: body.overhead_ms,
        total_ms: body.total_ms,
        sandbox: body.sandbox,
        mutation_failure_kind: body.mutation_failure_kind,
        mutation_failure_attempt: body.mutation_failure_attempt,
        terminate: body.terminate,
        detail: body.detail,
    };
    Ok(AuditRow {
        seq,
        at: Timestamp(body.at),
        entry,
        hash: super::chain::hex(hash),
    })
}
