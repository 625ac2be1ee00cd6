//! Rules that would have removed the most prompts (`guardian policy suggest`).
//!
//! Calls that were asked about are judged anew by the policy as it is; for those that it would
//! still ask about, candidates are the rules that their cards would offer and the wider ones of
//! the same commands. A candidate counts for every call that it would have let run.

use std::collections::{BTreeMap, BTreeSet};

use guardian_facts::{Facts, RawArgs, ToolCall};
use guardian_rules::{ChangedCommand, Decision, Situation, Suggestion};
use serde_json::Value;

use crate::check::Checker;
use crate::judge::OverwriteState;

/// A rule with what it would have done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The rule.
    pub suggestion: Suggestion,
    /// Prompts that there would not have been.
    pub prompts: usize,
    /// The calls, each once, with how often they were asked about; most often first.
    pub calls: Vec<(String, usize)>,
}

/// A call that was asked about, as often as it was.
struct Asked {
    /// For people.
    text: String,
    facts: Facts,
    situation: Situation,
    policy: guardian_rules::Policy,
    count: usize,
}

/// Collects calls that were asked about.
#[derive(Default)]
pub struct Proposals {
    asked: BTreeMap<(String, String), Asked>,
    /// Calls that a person refused: no rule that would have let one run is proposed.
    refused: Vec<(Facts, Situation, guardian_rules::Policy)>,
    candidates: BTreeMap<String, Suggestion>,
    /// Calls that the policy, as it is now, does not ask about any more.
    settled: usize,
    /// Calls about which something asks that no rule on a card lifts.
    unliftable: usize,
}

impl Proposals {
    /// Adds a call that was asked about once.
    pub fn add(&mut self, checker: &Checker, tool: &str, args: &Value) {
        let workspace = checker.caller.roots.workspace.as_ref();
        let place = workspace.map(|path| path.display().to_string());
        let key = (place.unwrap_or_default(), format!("{tool} {args}"));
        if let Some(known) = self.asked.get_mut(&key) {
            known.count += 1;
            return;
        }
        let Some((facts, situation)) = checker.extracted(tool, args) else {
            return;
        };
        let in_force = checker.policy();
        let verdict = in_force.evaluate(&facts, &situation);
        if verdict.decision != Decision::Ask {
            self.settled += 1;
            return;
        }
        let policy = in_force.current().clone();
        let offered = in_force.suggest(&facts, &situation);
        if offered.is_empty() {
            self.unliftable += 1;
            return;
        }
        let wider = guardian_rules::suggest_wider(&facts, &situation, &policy);
        for suggestion in offered.into_iter().chain(wider) {
            self.candidates
                .entry(suggestion.toml.clone())
                .or_insert(suggestion);
        }
        let text = match args.get("command").or_else(|| args.get("path")) {
            Some(Value::String(text)) => text.clone(),
            _ => args.to_string(),
        };
        self.asked.insert(
            key,
            Asked {
                text,
                facts,
                situation,
                policy,
                count: 1,
            },
        );
    }

    /// Adds a call that was asked about and that a person refused.
    pub fn refuse(&mut self, checker: &Checker, tool: &str, args: &Value) {
        if let Some((facts, situation)) = checker.extracted(tool, args) {
            let policy = checker.policy().current().clone();
            self.refused.push((facts, situation, policy));
        }
    }

    /// Calls that the policy, as it is now, does not ask about any more.
    #[must_use]
    pub fn settled(&self) -> usize {
        self.settled
    }

    /// Calls for which no rule is ever offered: interpreters, opaque commands, floor asks.
    #[must_use]
    pub fn unliftable(&self) -> usize {
        self.unliftable
    }

    /// The best rules, at most `limit`: each one removes the most prompts that are left by those
    /// before it; of two alike the narrower one.
    #[must_use]
    pub fn best(&self, limit: usize) -> Vec<Proposal> {
        let asked: Vec<&Asked> = self.asked.values().collect();
        let mut covers: Vec<(&Suggestion, BTreeSet<usize>)> = self
            .candidates
            .values()
            .filter(|candidate| {
                !self.refused.iter().any(|(facts, situation, policy)| {
                    guardian_rules::would_allow(candidate, facts, situation, policy)
                })
            })
            .map(|candidate| {
                let covered = asked.iter().enumerate().filter(|(_, call)| {
                    guardian_rules::would_allow(
                        candidate,
                        &call.facts,
                        &call.situation,
                        &call.policy,
                    )
                });
                (candidate, covered.map(|(index, _)| index).collect())
            })
            .collect();
        let prompts = |calls: &BTreeSet<usize>| -> usize {
            calls.iter().map(|index| asked[*index].count).sum()
        };
        let mut found = Vec::new();
        while found.len() < limit {
            let best = covers.iter().max_by(|(one, left), (other, right)| {
                let narrower = one
                    .toml
                    .contains("\"none\"")
                    .cmp(&other.toml.contains("\"none\""));
                prompts(left)
                    .cmp(&prompts(right))
                    .then(narrower)
                    .then_with(|| other.toml.cmp(&one.toml))
            });
            let Some((suggestion, calls)) = best.filter(|(_, calls)| !calls.is_empty()) else {
                break;
            };
            let (suggestion, taken) = ((*suggestion).clone(), calls.clone());
            let mut texts: BTreeMap<String, usize> = BTreeMap::new();
            for index in &taken {
                *texts.entry(asked[*index].text.clone()).or_default() += asked[*index].count;
            }
            let mut calls: Vec<(String, usize)> = texts.into_iter().collect();
            calls.sort_by(|left, right| right.1.cmp(&left.1).then_with(|| left.0.cmp(&right.0)));
            found.push(Proposal {
                suggestion,
                prompts: prompts(&taken),
                calls,
            });
            for (_, left) in &mut covers {
                left.retain(|index| !taken.contains(index));
            }
        }
        found
    }
}

impl Checker {
    /// The rules that a card about this call would offer, narrowest first.
    #[must_use]
    pub fn suggestions(&self, tool: &str, args: &Value) -> Vec<Suggestion> {
        self.extracted(tool, args)
            .map(|(facts, situation)| self.policy().suggest(&facts, &situation))
            .unwrap_or_default()
    }

    /// Commands of this call that were accepted for the project when they were defined
    /// differently.
    #[must_use]
    pub fn changed_commands(&self, tool: &str, args: &Value) -> Vec<ChangedCommand> {
        self.extracted(tool, args)
            .map(|(facts, situation)| self.policy().changed_commands(&facts, &situation))
            .unwrap_or_default()
    }

    /// `None` for a call that could not run.
    fn extracted(&self, tool: &str, args: &Value) -> Option<(Facts, Situation)> {
        let Value::Object(object) = args else {
            return None;
        };
        let call = ToolCall {
            tool: tool.to_owned(),
            args: RawArgs::new(object.clone()),
        };
        let extraction = self
            .judge
            .extract(&call, &self.caller.roots, &self.probe)
            .ok()?;
        let situation = self
            .judge
            .situation(tool, &self.caller, OverwriteState::NONE);
        Some((extraction.facts, situation))
    }
}
