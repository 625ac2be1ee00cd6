//! `guardian explain`: why a call is decided as it is.

use guardian_facts::{RawArgs, ToolCall};
use guardian_rules::{ToolKind, VerdictV1};
use serde_json::Value;

use crate::check::{CheckReport, Checker};
use crate::judge::OverwriteState;

/// Why a call is decided as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The decision as `guardian check` reports it.
    pub report: CheckReport,
    /// The explanation as people read it, line by line. A line may hold any character that the call
    /// or a rule's file holds, line breaks included: whoever shows it escapes them.
    pub lines: Vec<String>,
    /// The verdict in its versioned form; `None` where nothing was decided.
    pub verdict: Option<Value>,
    /// What was not understood, in the order of the text.
    pub unknowns: Vec<Unknown>,
}

/// A part of a call that was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Byte range in the command; `None` where it has no place there.
    pub span: Option<(usize, usize)>,
    /// Stable id.
    pub code: &'static str,
    /// One sentence.
    pub reason: String,
}

impl Checker {
    /// Explains a call. Leaves no audit row.
    #[must_use]
    pub fn explain(&self, tool: &str, args: &Value) -> Explanation {
        let mut report = self.decide(tool, args);
        let refused = |report: CheckReport| Explanation {
            lines: std::iter::once(format!("{tool}: {}", report.decision))
                .chain(report.reasons.iter().map(|reason| format!("  {reason}")))
                .collect(),
            report,
            verdict: None,
            unknowns: Vec::new(),
        };
        let Value::Object(object) = args else {
            return refused(report);
        };
        let call = ToolCall {
            tool: tool.to_owned(),
            args: RawArgs::new(object.clone()),
        };
        if report.error_code.is_some() {
            return refused(report);
        }
        let Ok(extraction) = self.judge.extract(&call, &self.caller.roots, &self.probe) else {
            return refused(report);
        };
        let facts = extraction.facts;
        report.facts = self.judge.shown_facts(&call, &facts);
        let mut situation = self
            .judge
            .situation(tool, &self.caller, OverwriteState::NONE);
        if let Some(here) = self.sandbox_here()
            && situation.tool_kind == ToolKind::Shell
        {
            situation.sandbox = here.state();
        }
        let policy = &self.policy.in_force;
        let verdict = policy.evaluate(&facts, &situation);
        let mut unknowns: Vec<Unknown> = facts
            .opacity
            .iter()
            .map(|opacity| Unknown {
                span: opacity.span.map(|span| (span.start, span.end)),
                code: opacity.code,
                reason: opacity.reason.clone(),
            })
            .collect();
        unknowns.sort_by_key(|unknown| unknown.span);
        unknowns.dedup();
        Explanation {
            report,
            lines: policy.explain(&facts, &situation),
            verdict: serde_json::to_value(VerdictV1::from(&verdict)).ok(),
            unknowns,
        }
    }
}
