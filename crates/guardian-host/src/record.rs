//! What goes on record about a call: filled in on its way through the gate, written at its end.
//!
//! A row "about to run" is durable before a high-risk call runs; every call, also a denied one,
//! ends with one row of the same fields (SPEC §14).

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use guardian_facts::Facts;
use guardian_redact::{CarriedSecrets, Preview, PreviewLimits};
use guardian_review::{Allowance, Decider, Review, ReviewOutcome};
use guardian_rules::{Decision, ToolRisk, Verdict, tool_risk};
use guardian_store::{
    AuditEntry, AuditEvent, Durability, ExternalPathPermission, RecordedChange, SessionId,
};
use serde_json::Value;

use crate::carried;
use crate::changes::PendingChange;
use crate::confinement::ApprovalKind;
use crate::error::{ErrorCode, HostError};
use crate::gate::Passage;
use crate::host::Host;
use crate::outcome::{Stop, ToolOutcome, ToolRequest};
use crate::repair::RepairFailure;
use crate::sessions::SessionInfo;

pub(crate) use guardian_store::ExternalPathPermission as ExternalPath;

/// How far an approval reaches.
pub(crate) struct Approval {
    pub(crate) allowance: Allowance,
    pub(crate) kind: ApprovalKind,
}

/// A call's arguments on record.
struct RecordedArguments {
    hash: Option<String>,
    preview: Value,
}

/// The record of one call while it is being made.
pub(crate) struct CallRecord {
    arrived: Instant,
    session: Option<SessionId>,
    request: ToolRequest,
    arguments: OnceLock<RecordedArguments>,
    /// The secrets of the call, once they are known.
    carried: Option<CarriedSecrets>,
    delegate: Option<String>,
    summary: Option<String>,
    decision: Option<Decision>,
    cause: Option<String>,
    decided_by: Option<String>,
    rule_ids: Vec<String>,
    reason: Option<String>,
    policy_version: Option<String>,
    prompted: bool,
    approval: Option<ApprovalKind>,
    waited: Duration,
    /// Who was asked.
    review: Option<Value>,
    started: Option<Instant>,
    pub(crate) external: ExternalPathPermission,
    /// The confinement that was in force.
    pub(crate) sandbox: Option<String>,
    /// Exit code of a command.
    pub(crate) exit_code: Option<i32>,
    /// A repair that failed.
    pub(crate) repair: Option<RepairFailure>,
}

impl CallRecord {
    pub(crate) fn new(request: &ToolRequest, session: &SessionInfo) -> Self {
        Self {
            arrived: Instant::now(),
            session: SessionId::new(session.session_id.clone()).ok(),
            request: request.clone(),
            arguments: OnceLock::new(),
            carried: None,
            // What it claims to be, until it is known what it is.
            delegate: request.delegate_id.clone(),
            summary: None,
            decision: None,
            cause: None,
            decided_by: None,
            rule_ids: Vec::new(),
            reason: None,
            policy_version: None,
            prompted: false,
            approval: None,
            waited: Duration::ZERO,
            review: None,
            started: None,
            external: ExternalPathPermission::None,
            sandbox: None,
            exit_code: None,
            repair: None,
        }
    }

    /// Notes the secrets that the call carries.
    pub(crate) fn carries(&mut self, secrets: CarriedSecrets) {
        self.carried = Some(secrets);
    }

    /// Notes which delegate it is.
    pub(crate) fn by_delegate(&mut self, name: &str) {
        self.delegate = Some(name.to_owned());
    }

    /// Notes facts and verdict.
    pub(crate) fn judged(&mut self, facts: &Facts, verdict: &Verdict, policy_version: &str) {
        self.summary = Some(facts.summary.clone());
        self.decision = Some(verdict.decision);
        self.cause = Some(verdict.cause.wire_name());
        self.decided_by = Some("policy".to_owned());
        self.rule_ids = verdict.decided_by.clone();
        self.reason = verdict.reasons.first().cloned();
        self.policy_version = Some(policy_version.to_owned());
    }

    /// Notes how the review ended.
    pub(crate) fn reviewed(&mut self, review: &Review) {
        self.prompted = review.prompted;
        self.review = crate::reviews::steps(review);
        let (decision, by) = match &review.outcome {
            ReviewOutcome::Allowed { by, .. } => (Decision::Allow, decider(by)),
            ReviewOutcome::Denied { by, .. } => (Decision::Deny, decider(by)),
            ReviewOutcome::TimedOut { .. } => (Decision::Deny, "deadline".to_owned()),
            ReviewOutcome::Aborted(_) => (Decision::Deny, "abort".to_owned()),
            ReviewOutcome::Failed { reviewer, .. } => {
                (Decision::Deny, format!("reviewer:{reviewer}"))
            }
            ReviewOutcome::ReviewerRequired => (Decision::Deny, "headless".to_owned()),
        };
        self.decision = Some(decision);
        self.decided_by = Some(by);
        if let Some(cause) = review.outcome.cause() {
            self.cause = Some(cause);
        }
    }

    /// Notes an approval.
    pub(crate) fn approve(&mut self, approval: &Approval) {
        self.approval = Some(approval.kind);
        if self.external != ExternalPathPermission::None {
            self.external = match approval.allowance {
                Allowance::Session(_) => ExternalPathPermission::Granted,
                _ => ExternalPathPermission::Allowed,
            };
        }
    }

    /// What the call would do, in one line.
    pub(crate) fn summary(&self) -> &str {
        self.summary.as_deref().unwrap_or(&self.request.tool_name)
    }

    /// A reviewer said yes to this call.
    pub(crate) fn is_approved(&self) -> bool {
        self.approval.is_some()
    }

    /// What the yes was about, once there is one.
    pub(crate) fn approval(&self) -> Option<ApprovalKind> {
        self.approval
    }

    /// Adds time spent waiting for an answer.
    pub(crate) fn waited(&mut self, time: Duration) {
        self.waited += time;
    }

    /// The body starts now.
    pub(crate) fn started(&mut self) {
        self.started = Some(Instant::now());
    }

    /// The arguments as every row of the call has them.
    fn arguments(&self, host: &Host) -> &RecordedArguments {
        self.arguments.get_or_init(|| {
            let args = &self.request.args;
            let learned;
            let carried = match &self.carried {
                Some(carried) => carried,
                None => {
                    learned = carried::of_arguments(&host.redactor, args);
                    &learned
                }
            };
            let hidden = (!carried.is_empty()).then(|| carried.hide_value(args));
            let shown = hidden.as_ref().unwrap_or(args);
            RecordedArguments {
                hash: host.store.args_hash(&self.request.tool_name, args).ok(),
                preview: Preview::new(&host.redactor, shown, PreviewLimits::CARD).value,
            }
        })
    }

    fn entry(&self, host: &Host, event: AuditEvent) -> AuditEntry {
        let RecordedArguments { hash, preview } = self.arguments(host);
        // Names too are the model's or the client's words.
        let redacted = |name: &str| host.redactor.redact_text(name).into_owned();
        AuditEntry {
            session: self.session.clone(),
            turn: self.request.turn_id.as_deref().map(redacted),
            tool_call: Some(redacted(&self.request.tool_call_id)),
            tool: Some(redacted(&self.request.tool_name)),
            delegate: self.delegate.as_deref().map(redacted),
            args_hash: hash.clone(),
            args_preview: Some(preview.clone()),
            facts_summary: self.summary.clone(),
            external_path_permission: Some(self.external),
            decision: self.decision,
            cause: self.cause.clone(),
            decided_by: self.decided_by.clone(),
            rule_ids: self.rule_ids.clone(),
            policy_version: self.policy_version.clone(),
            reason: self.reason.clone(),
            prompted: Some(self.prompted),
            permission_wait_ms: Some(milliseconds(self.waited)),
            sandbox: self.sandbox.clone(),
            detail: self
                .review
                .clone()
                .map(|review| serde_json::json!({ "review": review })),
            ..AuditEntry::new(event)
        }
    }

    /// The closing row.
    fn closing(&self, host: &Host, outcome: &mut ToolOutcome) -> AuditEntry {
        let total = self.arrived.elapsed();
        let body = self.started.map_or(Duration::ZERO, |at| at.elapsed());
        let bytes = match self.started {
            Some(_) => outcome.write_out(),
            None => 0,
        };
        let mut entry = self.entry(host, AuditEvent::Call);
        if outcome.denied {
            entry.decision = Some(Decision::Deny);
            if let Some(cause) = outcome.content.get("cause").and_then(Value::as_str) {
                entry.cause = Some(cause.to_owned());
            }
        }
        entry.ok = Some(outcome.ok);
        entry.error_code = outcome.error_code.map(|code| code.as_str().to_owned());
        entry.exit_code = self.exit_code;
        if let Some(failure) = self.repair {
            entry.mutation_failure_kind = Some(failure.kind.to_owned());
            entry.mutation_failure_attempt = Some(failure.attempt);
            entry.terminate = Some(failure.terminate);
        }
        entry.bytes = u64::try_from(bytes).ok();
        entry.duration_ms = Some(milliseconds(body));
        entry.overhead_ms = Some(milliseconds(
            total.saturating_sub(body).saturating_sub(self.waited),
        ));
        entry.total_ms = Some(milliseconds(total));
        entry
    }
}

impl Host {
    /// Makes durable that a high-risk call is about to run. If it cannot be written, the call does
    /// not run.
    pub(crate) async fn record_start(&self, passage: &Passage) -> Result<(), Stop> {
        let entry = passage.record.entry(self, AuditEvent::AboutToRun);
        self.with_store(move |store| store.record_about_to_run(entry).map(drop))
            .await
            .map_err(|error| {
                HostError::internal(format!(
                    "the call did not run: it cannot be recorded ({error})"
                ))
                .into()
            })
    }

    /// Writes the closing row. Losing it is an error for a high-risk call only.
    pub(crate) async fn record_end(
        &self,
        passage: &mut Passage,
        outcome: &mut ToolOutcome,
    ) -> Result<(), HostError> {
        let audit = passage.record.closing(self, outcome);
        let (snapshot, artifact) = match passage.change.take() {
            None => (None, None),
            Some(PendingChange { snapshot, artifact }) => (Some(snapshot), Some(artifact)),
        };
        let runtime = Arc::clone(&passage.runtime);
        let written = self.with_store(move |store| {
            let seen = runtime.unsaved_files();
            if snapshot.is_none() && seen.is_empty() {
                return store.append_audit(audit, Durability::Process).map(drop);
            }
            let change = RecordedChange {
                audit,
                snapshot,
                artifact,
                seen: seen.clone(),
            };
            let written = store.record_change(change, Durability::Process);
            if written.is_err() {
                runtime.keep_unsaved(&seen);
            }
            written.map(drop)
        });
        match written.await {
            Ok(()) => Ok(()),
            Err(error) if tool_risk(&passage.request.tool_name) == ToolRisk::Low => {
                tracing::warn!(%error, "a call could not be recorded");
                Ok(())
            }
            // What ran has run, and "about to run" is on record: the result still counts.
            Err(error) => {
                tracing::error!(%error, "the end of a call could not be recorded");
                Ok(())
            }
        }
    }

    /// Writes the row of a call that ended with a protocol or session failure.
    pub(crate) async fn record_refusal(&self, passage: &Passage, error: &HostError) {
        let id = &passage.request.tool_call_id;
        let mut outcome = ToolOutcome::failure(id, error.code, &error.message);
        let mut entry = passage.record.closing(self, &mut outcome);
        if error.code == ErrorCode::HostOverloaded {
            entry.event = AuditEvent::Overload;
        }
        let written =
            self.with_store(move |store| store.append_audit(entry, Durability::Process).map(drop));
        if let Err(error) = written.await {
            tracing::warn!(%error, "a refused call could not be recorded");
        }
    }
}

fn decider(by: &Decider) -> String {
    match by {
        Decider::Policy(_) => "policy".to_owned(),
        Decider::Human => "human".to_owned(),
        Decider::Reviewer(name) => format!("reviewer:{name}"),
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
