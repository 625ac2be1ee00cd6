//! The decision.

use guardian_facts::Facts;

use crate::verdict::{Cause, Decision, Verdict};
use crate::{Policy, Situation};

/// Decides. Pure, total, deterministic.
#[must_use]
pub fn evaluate(facts: &Facts, situation: &Situation, policy: &Policy) -> Verdict {
    let _ = (facts, situation, policy);
    Verdict {
        decision: Decision::Ask,
        cause: Cause::NotCovered,
        decided_by: Vec::new(),
        reasons: Vec::new(),
        allowed_decisions: Vec::new(),
        human_only: true,
        session_grant: None,
        touches: guardian_facts::Sensitivity::default(),
        trace: Vec::new(),
    }
}
