//! The stable serialised form of a verdict: what `guardian check --json`, `permissions.evaluate`
//! and users' snapshot tests see.

use guardian_facts::Sensitivity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AllowedDecision, Decision, Grant, TraceStep, Verdict};

/// Version 1 of a serialised [`Verdict`]. Fields are added, never renamed or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerdictV1 {
    /// Always 1.
    pub version: u32,
    /// `allow`, `ask` or `deny`.
    pub decision: DecisionV1,
    /// The most telling cause, as `content.cause` spells it: `contract_mode`, `rule:<id>`, ….
    pub cause: String,
    /// The error code of a call that the operating mode does not have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Ids of the rules that decided, sorted.
    pub decided_by: Vec<String>,
    /// Sentences for people, most telling first.
    pub reasons: Vec<String>,
    /// What a human may answer; empty unless the decision is ask.
    pub allowed_decisions: Vec<AllowedDecisionV1>,
    /// Only a human may allow it.
    pub human_only: bool,
    /// Allowed only while the sandbox is in force.
    pub relies_on_sandbox: bool,
    /// The grant that `allow-session` would create.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_grant: Option<Grant>,
    /// Path classes that the call touches: `secret`, `sensitive`, `protected`, `guardian`.
    pub touches: Vec<String>,
    /// Everything that was considered.
    pub trace: Vec<TraceStepV1>,
}

/// See [`Decision`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionV1 {
    /// The call may run.
    Allow,
    /// A reviewer decides.
    Ask,
    /// The call does not run.
    Deny,
}

/// See [`AllowedDecision`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AllowedDecisionV1 {
    /// This call.
    AllowOnce,
    /// The tool until the session ends.
    AllowSession,
    /// A rule for the tool.
    AllowAlwaysForTool,
    /// A rule for the command.
    AllowAlwaysForCommandPattern,
    /// No.
    Deny,
}

/// See [`TraceStep`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TraceStepV1 {
    /// Rule id or name of the step.
    pub rule: String,
    /// What it decided, where it applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionV1>,
    /// Why.
    pub note: String,
}

impl From<Decision> for DecisionV1 {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Allow => Self::Allow,
            Decision::Ask => Self::Ask,
            Decision::Deny => Self::Deny,
        }
    }
}

impl From<AllowedDecision> for AllowedDecisionV1 {
    fn from(decision: AllowedDecision) -> Self {
        match decision {
            AllowedDecision::AllowOnce => Self::AllowOnce,
            AllowedDecision::AllowSession => Self::AllowSession,
            AllowedDecision::AllowAlwaysForTool => Self::AllowAlwaysForTool,
            AllowedDecision::AllowAlwaysForCommandPattern => Self::AllowAlwaysForCommandPattern,
            AllowedDecision::Deny => Self::Deny,
        }
    }
}

impl From<&TraceStep> for TraceStepV1 {
    fn from(step: &TraceStep) -> Self {
        Self {
            rule: step.rule.clone(),
            decision: step.decision.map(DecisionV1::from),
            note: step.note.clone(),
        }
    }
}

impl From<&Verdict> for VerdictV1 {
    fn from(verdict: &Verdict) -> Self {
        Self {
            version: 1,
            decision: verdict.decision.into(),
            cause: verdict.cause.wire_name(),
            error_code: verdict
                .mode_refusal
                .map(|refusal| refusal.code().to_owned()),
            decided_by: verdict.decided_by.clone(),
            reasons: verdict.reasons.clone(),
            allowed_decisions: verdict
                .allowed_decisions
                .iter()
                .map(|decision| AllowedDecisionV1::from(*decision))
                .collect(),
            human_only: verdict.human_only,
            relies_on_sandbox: verdict.relies_on_sandbox,
            session_grant: verdict.session_grant.clone(),
            touches: class_names(verdict.touches),
            trace: verdict.trace.iter().map(TraceStepV1::from).collect(),
        }
    }
}

fn class_names(classes: Sensitivity) -> Vec<String> {
    [
        ("secret", classes.secret),
        ("sensitive", classes.sensitive),
        ("protected", classes.protected),
        ("guardian", classes.guardian),
    ]
    .into_iter()
    .filter(|(_, touched)| *touched)
    .map(|(name, _)| name.to_owned())
    .collect()
}
