use guardian_rules::Decision;
use guardian_store::{AuditEntry, AuditEvent, AuditFilter, Durability, SessionId, Timestamp};

use crate::audit_view::row_view;
use crate::error::HostError;
use crate::wire::connection::Connection;
use crate::wire::types::{
    AuditAppendParams, AuditQueryParams, AuditQueryResult, AuditVerifyResult, Empty, NoParams,
};
use crate::words;

pub(crate) async fn query(
    connection: &Connection,
    params: AuditQueryParams,
) -> Result<AuditQueryResult, HostError> {
    let filter = AuditFilter {
        session: params.session_id.map(session_id).transpose()?,
        turn: params.turn_id,
        tool_call: params.tool_call_id,
        tool: params.tool_name,
        decision: params.decision.as_deref().map(decision).transpose()?,
        since: params.since.map(Timestamp),
        until: params.until.map(Timestamp),
        limit: params.limit.map_or(100, |limit| limit as usize),
        cursor: params.cursor.as_deref().map(cursor).transpose()?,
        ..AuditFilter::newest()
    };
    let page = connection
        .host
        .with_store(move |store| store.query_audit(&filter))
        .await?;
    Ok(AuditQueryResult {
        rows: page.rows.iter().map(row_view).collect(),
        next_cursor: page.next_cursor.map(|cursor| cursor.to_string()),
    })
}

pub(crate) async fn append(
    connection: &Connection,
    params: AuditAppendParams,
) -> Result<Empty, HostError> {
    let acceptable = (1..=64).contains(&params.kind.len())
        && params.kind.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte)
        });
    if !acceptable {
        return Err(
            HostError::invalid_params("`kind` must match [a-z0-9.-]{1,64}")
                .with("pointer", "/kind"),
        );
    }
    let entry = AuditEntry {
        session: params.session_id.map(session_id).transpose()?,
        tool_call: params.tool_call_id,
        detail: params.detail.map(|detail| connection.host.preview(&detail)),
        ..AuditEntry::new(AuditEvent::Client(params.kind))
    };
    connection
        .host
        .with_store(move |store| store.append_audit(entry, Durability::Process))
        .await?;
    Ok(Empty {})
}

pub(crate) async fn verify(
    connection: &Connection,
    _: NoParams,
) -> Result<AuditVerifyResult, HostError> {
    let verification = connection
        .host
        .with_store(|store| store.verify_audit(None))
        .await?;
    Ok(AuditVerifyResult {
        ok: verification.is_ok(),
        rows: verification.rows,
        head: verification.head.to_line(),
        first_bad: verification.first_bad.map(|bad| bad.seq),
    })
}

fn session_id(text: String) -> Result<SessionId, HostError> {
    SessionId::new(text)
        .map_err(|error| HostError::invalid_params(error.to_string()).with("pointer", "/sessionId"))
}

fn decision(word: &str) -> Result<Decision, HostError> {
    [Decision::Allow, Decision::Ask, Decision::Deny]
        .into_iter()
        .find(|decision| words::decision(*decision) == word)
        .ok_or_else(|| {
            HostError::invalid_params("`decision` must be `allow`, `ask` or `deny`")
                .with("pointer", "/decision")
        })
}

fn cursor(text: &str) -> Result<u64, HostError> {
    text.parse().map_err(|_| {
        HostError::invalid_params("`cursor` is not one of this host").with("pointer", "/cursor")
    })
}
