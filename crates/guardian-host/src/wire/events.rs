//! Host events as notifications.

use std::time::{SystemTime, UNIX_EPOCH};

use guardian_review::{AbortReason, Card, Posted, Settlement, word};
use serde_json::{Value, json};

use super::connection::json_text;
use super::outbound::Outbound;
use crate::events::{Event, EventSink, Stream};
use crate::words;

/// Sends events to one client.
pub struct WireEvents {
    outbound: Outbound,
}

impl WireEvents {
    /// Events go to this queue.
    #[must_use]
    pub fn new(outbound: Outbound) -> Self {
        Self { outbound }
    }
}

impl EventSink for WireEvents {
    fn emit(&self, event: Event) {
        match event {
            Event::PermissionRequest { posted } => {
                self.outbound.notify(line("permissions.request", &request_view(&posted)));
            }
            Event::PermissionResolved { posted, settlement } => {
                let params = json!({
                    "requestId": posted.request.request_id,
                    "sessionId": posted.request.session_id,
                    "toolCallId": posted.request.tool_call_id,
                    "outcome": outcome(&settlement),
                });
                self.outbound.notify(line("permissions.resolved", &params));
            }
            Event::ToolOutput { session_id, tool_call_id, stream, seq, chunk } => {
                let stream = match stream {
                    Stream::Stdout => "stdout",
                    Stream::Stderr => "stderr",
                };
                let params = json!({
                    "sessionId": session_id,
                    "toolCallId": tool_call_id,
                    "stream": stream,
                    "seq": seq,
                    "chunk": chunk,
                });
                self.outbound.offer(line("tools.output", &params));
            }
            Event::SessionChanged { session_id, change } => {
                let params = json!({ "sessionId": session_id, "change": change });
                self.outbound.notify(line("session.changed", &params));
            }
        }
    }
}

/// A request as `permissions.request` and `permissions.pending` show it (SPEC §8).
#[must_use]
pub fn request_view(posted: &Posted) -> Value {
    let request = &posted.request;
    let offered: Vec<_> = request.offered().into_iter().map(word).collect();
    let suggestions: Vec<_> = request.suggestions.iter().map(|one| one.sentence.clone()).collect();
    let mut view = json!({
        "requestId": request.request_id,
        "sessionId": request.session_id,
        "toolCallId": request.tool_call_id,
        "toolName": request.tool_name,
        "risk": words::risk(request.risk),
        "reason": request.reason,
        "summary": request.summary,
        "argsPreview": request.args_preview.value,
        "paths": request.paths.iter().map(|path| path.path.clone()).collect::<Vec<_>>(),
        "facts": request.facts,
        "suggestions": suggestions,
        "allowedDecisions": offered,
        "card": Card::of(posted).lines(),
        "queued": posted.ahead,
        "createdAt": milliseconds(posted.created_at),
        "deadline": milliseconds(posted.deadline),
        "timeoutMs": u64::try_from(posted.timeout.as_millis()).unwrap_or(u64::MAX),
    });
    if let Some(turn) = &request.turn_id {
        view["turnId"] = turn.clone().into();
    }
    if let Some(delegate) = &request.delegate {
        view["delegate"] = delegate.clone().into();
    }
    if let Some(grant) = &request.grant {
        view["grant"] = grant.sentence().into();
    }
    view
}

fn outcome(settlement: &Settlement) -> &'static str {
    match settlement {
        Settlement::Answered(answer) if answer.is_allow() => "allowed",
        Settlement::Answered(_) => "denied",
        Settlement::TimedOut => "timeout",
        Settlement::Aborted(AbortReason::Call) => "aborted",
        Settlement::Aborted(_) => "withdrawn",
        Settlement::Superseded(_) => "superseded",
    }
}

fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn line(method: &str, params: &Value) -> String {
    json_text(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}
