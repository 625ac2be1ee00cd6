//! Host events as notifications.

use guardian_review::wire::PostedV1;
use guardian_review::{AbortReason, Card, Posted, Settlement};
use serde_json::{Value, json};

use super::connection::json_text;
use super::outbound::Outbound;
use crate::events::{Event, EventSink, Stream};

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
                let view = request_view(&posted, posted.ahead);
                self.outbound.notify(line("permissions.request", &view));
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
            Event::ReviewerDenied { session_id, denial } => {
                let mut params =
                    serde_json::to_value(super::types::DenialView::of(&denial)).unwrap_or_default();
                params["sessionId"] = session_id.into();
                self.outbound.notify(line("permissions.denied", &params));
            }
            Event::ToolOutput {
                session_id,
                tool_call_id,
                stream,
                seq,
                chunk,
            } => {
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
            Event::PolicyChanged {
                session_id,
                version,
                waiting,
                problems,
            } => {
                let problems: Vec<_> = problems
                    .iter()
                    .map(super::types::PolicyProblemView::of)
                    .collect();
                let params = json!({
                    "sessionId": session_id,
                    "version": version,
                    "waiting": waiting,
                    "problems": problems,
                });
                self.outbound.notify(line("policy.changed", &params));
            }
            Event::PlansChanged { proposal } => {
                let params = json!({
                    "sessionId": proposal.session.as_str(),
                    "proposal": crate::plans::proposal_view(&proposal),
                });
                self.outbound.notify(line("plans.changed", &params));
            }
            Event::AskRequest { request } => {
                let question = |one: &guardian_facts::input::Question| {
                    json!({
                        "question": one.question,
                        "options": one.options,
                        "multiSelect": one.multi_select,
                    })
                };
                let params = json!({
                    "requestId": request.request_id,
                    "sessionId": request.session_id,
                    "turnId": request.turn_id,
                    "toolCallId": request.tool_call_id,
                    "questions": request.questions.iter().map(question).collect::<Vec<_>>(),
                });
                self.outbound.notify(line("asktool.request", &params));
            }
            Event::BrowserPreview {
                session_id,
                path,
                url,
            } => {
                let params = json!({ "sessionId": session_id, "path": path, "url": url });
                self.outbound.notify(line("browser.preview", &params));
            }
            Event::SessionChanged { session_id, change } => {
                let params = json!({ "sessionId": session_id, "change": change });
                self.outbound.notify(line("session.changed", &params));
            }
        }
    }
}

/// A request as `permissions.request` and `permissions.pending` show it (SPEC §8), with the card
/// as people should see it; `others_waiting` are of the same session.
#[must_use]
pub fn request_view(posted: &Posted, others_waiting: usize) -> Value {
    let mut view = serde_json::to_value(PostedV1::of(posted)).unwrap_or_default();
    view["card"] = Card::of(&posted.request, others_waiting).lines().into();
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

fn line(method: &str, params: &Value) -> String {
    json_text(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
}
