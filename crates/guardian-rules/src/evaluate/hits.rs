//! The deny and ask sets: everything that ANY fact of the call sets off.

use guardian_facts::{AccessSource, Facts};

use crate::floor::{FloorEffect, floor_rules};
use crate::policy::reaches_network;
use crate::verdict::{Cause, Decision};
use crate::{Policy, Situation, ToolKind, ToolRisk};

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

/// Everything that the floor, the preset and the rules say of these facts.
fn certain(view: &View<'_>) -> Vec<(usize, Hit)> {
    let mut hits = floor_hits(view);
    let rank = floor_rules().len();
    hits.extend(preset_hits(view).into_iter().map(|hit| (rank, hit)));
    hits.extend(
        view.policy
            .hits(view)
            .into_iter()
            .map(|hit| (rank + 1, hit)),
    );
    hits
}

/// What the floor says. Its denials of what runs on another machine or in a container become
/// questions (SPEC §7.3).
fn floor_hits(view: &View<'_>) -> Vec<(usize, Hit)> {
    if !view
        .facts
        .commands
        .iter()
        .any(|command| command.place.elsewhere)
    {
        return floor_hits_here(view);
    }
    let (here, elsewhere) = split_by_place(view.facts);
    let mut hits = floor_hits_here(&View {
        facts: &here,
        ..*view
    });
    hits.extend(
        floor_hits_here(&View {
            facts: &elsewhere,
            ..*view
        })
        .into_iter()
        .map(|(rank, mut hit)| {
            if hit.decision == Decision::Deny {
                hit.decision = Decision::Ask;
                hit.human_only = true;
                hit.cause = Cause::Floor(hit.rule.clone());
                hit.reason
                    .push_str(", on another machine or in a container");
            }
            (rank, hit)
        }),
    );
    hits
}

/// The same facts, once with the accesses and commands of this machine only, once with those of
/// other places only. Indices stay valid: what does not belong is emptied, not removed.
fn split_by_place(facts: &Facts) -> (Facts, Facts) {
    let elsewhere: Vec<bool> = facts
        .commands
        .iter()
        .map(|command| command.place.elsewhere)
        .collect();
    let keep = |wanted: bool| {
        let mut part = facts.clone();
        part.accesses.retain(|access| match access.source {
            AccessSource::Command(index) | AccessSource::Redirect(index) => {
                elsewhere.get(index).copied().unwrap_or(false) == wanted
            }
            AccessSource::PathArgument | AccessSource::Walk | AccessSource::Declared => !wanted,
        });
        part.code_files
            .retain(|file| elsewhere.get(file.command).copied().unwrap_or(false) == wanted);
        for (command, place) in part.commands.iter_mut().zip(&elsewhere) {
            if *place != wanted {
                command.effects.clear();
            }
        }
        part
    };
    (keep(false), keep(true))
}

fn preset_hits(view: &View<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    let preset = view.policy.preset();
    if preset.data().denies_network && reaches_network(view.facts) {
        hits.push(Hit {
            rule: format!("preset.{}", preset.name()),
            decision: Decision::Deny,
            cause: Cause::Preset(preset.name().to_owned()),
            reason: format!("the preset `{}` denies network access", preset.name()),
            human_only: false,
        });
    }
    let harmless = matches!(
        view.situation.tool_kind,
        ToolKind::Conversation | ToolKind::Control
    ) && view.situation.tool_risk == ToolRisk::Low;
    if !harmless {
        hits.extend(view.policy.undecided().iter().map(|layer| Hit {
            rule: format!("policy.{layer}"),
            decision: Decision::Ask,
            cause: Cause::Unknown,
            reason: format!(
                "the {layer} policy could not be loaded, so what it would decide is asked about"
            ),
            human_only: true,
        }));
    }
    hits
}

fn floor_hits_here(view: &View<'_>) -> Vec<(usize, Hit)> {
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
