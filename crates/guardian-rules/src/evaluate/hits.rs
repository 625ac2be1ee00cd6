//! The deny and ask sets: everything that ANY fact of the call sets off.

use guardian_facts::Facts;

use crate::floor::{FloorEffect, floor_rules};
use crate::verdict::{Cause, Decision};
use crate::{Policy, Situation};

/// What a rule looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    /// The call, or what the loose reading suspects in it.
    pub(crate) facts: &'a Facts,
    /// The tool that is really called (a finding's facts may carry another name).
    pub(crate) tool: &'a str,
    /// Who calls.
    pub(crate) situation: &'a Situation,
    /// The rules.
    pub(crate) policy: &'a Policy,
}

/// A rule that denies or asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Id of the rule.
    pub(crate) rule: String,
    /// Deny or ask.
    pub(crate) decision: Decision,
    /// Why, for the verdict.
    pub(crate) cause: Cause,
    /// Why, for people.
    pub(crate) reason: String,
    /// Only a human may allow it.
    pub(crate) human_only: bool,
}

/// All hits, most telling first: denies before asks, then by rank of the rule, then by reason, so
/// that the order of facts and rules does not show.
pub(crate) fn collect(facts: &Facts, situation: &Situation, policy: &Policy) -> Vec<Hit> {
    let view = View {
        facts,
        tool: &facts.tool,
        situation,
        policy,
    };
    let mut ranked = certain(&view);
    for finding in &facts.findings {
        let suspected = View {
            facts: &finding.facts,
            ..view
        };
        for (rank, mut hit) in certain(&suspected) {
            if hit.decision == Decision::Deny && !finding.command_position {
                hit.decision = Decision::Ask;
                hit.human_only = true;
            }
            hit.reason = format!(
                "`{}` was seen in text that could not be read: {}",
                finding.words.join(" "),
                hit.reason
            );
            ranked.push((rank, hit));
        }
    }
    ranked.sort_by(|(left_rank, left), (right_rank, right)| {
        (
            std::cmp::Reverse(left.decision),
            left_rank,
            &left.rule,
            &left.reason,
        )
            .cmp(&(
                std::cmp::Reverse(right.decision),
                right_rank,
                &right.rule,
                &right.reason,
            ))
    });
    ranked.dedup();
    ranked.into_iter().map(|(_, hit)| hit).collect()
}

fn certain(view: &View<'_>) -> Vec<(usize, Hit)> {
    let mut hits = Vec::new();
    for (rank, rule) in floor_rules().iter().enumerate() {
        for found in (rule.judge)(view) {
            if found.decision == Decision::Ask
                && rule.effect != FloorEffect::Deny
                && view.policy.lifts(rule.id)
            {
                continue;
            }
            hits.push((
                rank,
                Hit {
                    rule: rule.id.to_owned(),
                    decision: found.decision,
                    cause: found
                        .cause
                        .unwrap_or_else(|| Cause::Floor(rule.id.to_owned())),
                    reason: found.reason,
                    human_only: rule.effect != FloorEffect::Ask,
                },
            ));
        }
    }
    hits
}
