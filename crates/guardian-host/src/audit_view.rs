//! Audit rows as wire and command line show them: the fields of SPEC §14 in camelCase.

use guardian_store::AuditRow;
use serde_json::{Map, Value};

use crate::words;

/// One row; fields that do not apply are left out.
#[must_use]
pub fn row_view(row: &AuditRow) -> Value {
    let entry = &row.entry;
    let external = entry
        .external_path_permission
        .map(|permission| permission.name());
    let fields: [(&str, Value); 33] = [
        ("seq", row.seq.into()),
        ("at", row.at.0.into()),
        ("event", entry.event.to_string().into()),
        (
            "sessionId",
            entry.session.as_ref().map(ToString::to_string).into(),
        ),
        ("turnId", entry.turn.clone().into()),
        ("toolCallId", entry.tool_call.clone().into()),
        ("toolName", entry.tool.clone().into()),
        ("delegate", entry.delegate.clone().into()),
        ("argsHash", entry.args_hash.clone().into()),
        (
            "argsPreview",
            entry.args_preview.clone().unwrap_or(Value::Null),
        ),
        ("factsSummary", entry.facts_summary.clone().into()),
        ("externalPathPermission", external.into()),
        ("decision", entry.decision.map(words::decision).into()),
        ("cause", entry.cause.clone().into()),
        ("decidedBy", entry.decided_by.clone().into()),
        ("ruleIds", entry.rule_ids.clone().into()),
        ("policyVersion", entry.policy_version.clone().into()),
        ("reason", entry.reason.clone().into()),
        ("ok", entry.ok.into()),
        ("errorCode", entry.error_code.clone().into()),
        ("exitCode", entry.exit_code.into()),
        ("bytes", entry.bytes.into()),
        ("prompted", entry.prompted.into()),
        ("permissionWaitMs", entry.permission_wait_ms.into()),
        ("durationMs", entry.duration_ms.into()),
        ("overheadMs", entry.overhead_ms.into()),
        ("totalMs", entry.total_ms.into()),
        ("sandbox", entry.sandbox.clone().into()),
        (
            "mutationFailureKind",
            entry.mutation_failure_kind.clone().into(),
        ),
        (
            "mutationFailureAttempt",
            entry.mutation_failure_attempt.into(),
        ),
        ("terminate", entry.terminate.into()),
        ("detail", entry.detail.clone().unwrap_or(Value::Null)),
        ("hash", row.hash.clone().into()),
    ];
    let present = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(
        present
            .map(|(key, value)| (key.to_owned(), value))
            .collect::<Map<_, _>>(),
    )
}
