//! The decision: SPEC §5 as an algebra over sets.

mod accepted;
mod answers;
pub(crate) mod cover;
mod hidden_tails;
mod hits;
pub(crate) mod implied;
pub(crate) mod implied_hosts;
mod items;
mod proof;
pub(crate) mod tails;

use guardian_facts::{Facts, Sensitivity, Target};

use crate::matrix::mode_refusal;
use crate::verdict::{AllowedDecision, Cause, Decision, TraceStep, Verdict};
use crate::{Policy, Situation, ToolRisk};

pub(crate) use accepted::definition_text;
pub use accepted::{ChangedCommand, accepted_key, changed_commands};
pub(crate) use hits::{Hit, View};
pub(crate) use items::Item;

/// Decides. Pure, total, deterministic.
///
/// The sets are computed over all layers and the strictest non-empty one answers: the operating
/// mode's matrix, then deny (satisfied by ANY fact), then ask (ANY fact), then allow (EVERY fact
/// covered), otherwise ask. Adding a fact, a deny rule or an ask rule never loosens the outcome.
#[must_use]
pub fn evaluate(facts: &Facts, situation: &Situation, policy: &Policy) -> Verdict {
    let mut trace = Vec::new();

    if let Some(refusal) = mode_refusal(situation.mode, &facts.tool, situation.tool_kind) {
        return Verdict {
            mode_refusal: Some(refusal),
            decided_by: vec!["matrix".to_owned()],
            reasons: vec![refusal.reason(&facts.tool)],
            trace: vec![step("matrix", Some(Decision::Deny), refusal.code())],
            ..denied(facts, Cause::ContractMode)
        };
    }
    trace.push(step("matrix", None, "the operating mode has the tool"));

    if situation.tool_risk == ToolRisk::High && !situation.has_workspace() {
        trace.push(step(
            "workspace",
            Some(Decision::Deny),
            "the session has no workspace",
        ));
        return Verdict {
            decided_by: vec!["workspace".to_owned()],
            reasons: vec![format!("{} needs a session with a workspace", facts.tool)],
            trace,
            ..denied(facts, Cause::WorkspaceRequired)
        };
    }

    let hits = hits::collect(facts, situation, policy);
    trace.extend(
        hits.iter()
            .map(|hit| step(&hit.rule, Some(hit.decision), &hit.reason)),
    );

    let denies: Vec<&Hit> = hits
        .iter()
        .filter(|hit| hit.decision == Decision::Deny)
        .collect();
    if let Some(first) = denies.first() {
        return Verdict {
            decided_by: rule_ids(&denies),
            reasons: reasons(&denies),
            trace,
            ..denied(facts, first.cause.clone())
        };
    }

    let view = View {
        facts,
        tool: &facts.tool,
        situation,
        policy,
    };
    let coverage = cover::coverage(&view);
    trace.extend(coverage.trace.iter().cloned());

    let asks: Vec<&Hit> = hits
        .iter()
        .filter(|hit| hit.decision == Decision::Ask)
        .collect();
    if let Some(first) = asks.first() {
        return Verdict {
            cause: first.cause.clone(),
            decided_by: rule_ids(&asks),
            reasons: reasons(&asks),
            allowed_decisions: vec![AllowedDecision::AllowOnce, AllowedDecision::Deny],
            human_only: answers::human_only(facts) || asks.iter().any(|hit| hit.human_only),
            trace,
            ..asked(facts)
        };
    }

    if policy.preset().data().asks_for_high_risk
        && situation.tool_risk != ToolRisk::Low
        && !coverage.only_scratch
    {
        let name = policy.preset().name();
        let reason = format!("the preset `{name}` asks for every call that is not low risk");
        trace.push(step(
            &format!("preset.{name}"),
            Some(Decision::Ask),
            &reason,
        ));
        return Verdict {
            cause: Cause::Preset(name.to_owned()),
            decided_by: vec![format!("preset.{name}")],
            reasons: vec![reason],
            allowed_decisions: vec![AllowedDecision::AllowOnce, AllowedDecision::Deny],
            human_only: answers::human_only(facts),
            trace,
            ..asked(facts)
        };
    }

    if coverage.uncovered.is_empty() {
        return Verdict {
            decision: Decision::Allow,
            cause: coverage.cause,
            decided_by: coverage.decided_by,
            reasons: coverage.reasons,
            trace,
            human_only: false,
            relies_on_sandbox: coverage.relies_on_sandbox,
            proven_only: coverage.proven_only,
            ..asked(facts)
        };
    }

    let session_grant = answers::session_grant(facts, situation);
    trace.push(step(
        "otherwise",
        Some(Decision::Ask),
        "not every fact of the call is covered",
    ));
    Verdict {
        cause: answers::uncovered_cause(facts, situation, &coverage.uncovered),
        decided_by: vec!["otherwise".to_owned()],
        reasons: coverage.missing.clone(),
        allowed_decisions: answers::allowed_decisions(
            facts,
            situation,
            policy,
            session_grant.is_some(),
        ),
        human_only: answers::human_only(facts),
        session_grant,
        trace,
        ..asked(facts)
    }
}

/// The union of the path classes that a call touches.
fn touched_classes(facts: &Facts) -> Sensitivity {
    facts
        .accesses
        .iter()
        .fold(Sensitivity::default(), |sum, access| {
            let classes = match &access.target {
                Target::Exact(path) => path.sensitivity,
                Target::Pattern {
                    base, may_match, ..
                } => union(base.sensitivity, *may_match),
                Target::Unknown { .. } => Sensitivity::default(),
            };
            union(sum, classes)
        })
}

fn union(left: Sensitivity, right: Sensitivity) -> Sensitivity {
    Sensitivity {
        secret: left.secret || right.secret,
        sensitive: left.sensitive || right.sensitive,
        protected: left.protected || right.protected,
        guardian: left.guardian || right.guardian,
    }
}

fn step(rule: &str, decision: Option<Decision>, note: &str) -> TraceStep {
    TraceStep {
        rule: rule.to_owned(),
        decision,
        note: note.to_owned(),
    }
}

fn denied(facts: &Facts, cause: Cause) -> Verdict {
    Verdict {
        decision: Decision::Deny,
        cause,
        human_only: false,
        ..asked(facts)
    }
}

fn asked(facts: &Facts) -> Verdict {
    Verdict {
        decision: Decision::Ask,
        mode_refusal: None,
        cause: Cause::NotCovered,
        decided_by: Vec::new(),
        reasons: Vec::new(),
        allowed_decisions: Vec::new(),
        human_only: true,
        session_grant: None,
        relies_on_sandbox: false,
        proven_only: false,
        touches: touched_classes(facts),
        trace: Vec::new(),
    }
}

fn rule_ids(hits: &[&Hit]) -> Vec<String> {
    let mut ids: Vec<String> = hits.iter().map(|hit| hit.rule.clone()).collect();
    ids.sort();
    ids.dedup();
    ids
}

/// Each sentence once; what is beyond a readable number is counted.
fn reasons(hits: &[&Hit]) -> Vec<String> {
    const SHOWN: usize = 12;
    let mut seen: Vec<String> = Vec::new();
    let mut more = 0_usize;
    for hit in hits {
        if seen.contains(&hit.reason) {
            continue;
        }
        if seen.len() < SHOWN {
            seen.push(hit.reason.clone());
        } else {
            more += 1;
        }
    }
    if more > 0 {
        seen.push(format!("and {more} more"));
    }
    seen
}
