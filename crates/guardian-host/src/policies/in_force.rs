//! What a decision is made by: usually one policy; several while a loosening change waits.

use std::path::Path;
use std::sync::Arc;

use guardian_facts::Facts;
use guardian_rules::{
    AllowedDecision, ChangedCommand, Decision, Policy, Situation, Suggestion, Verdict, WalkOver,
    changed_commands, evaluate, explain, suggest,
};

/// Every policy that a call must satisfy. The strictest verdict counts, so that what one of them
/// denies stays denied whatever became of the files.
#[derive(Debug, Clone)]
pub struct PolicyInForce {
    /// The files as they are now; never waits for anybody as far as it tightens.
    current: Arc<Policy>,
    /// Earlier versions that the current one would loosen.
    kept: Vec<Arc<Policy>>,
    version: String,
}

impl PolicyInForce {
    /// One policy.
    #[must_use]
    pub fn only(policy: Arc<Policy>) -> Self {
        Self::new(policy, Vec::new())
    }

    pub(super) fn new(current: Arc<Policy>, kept: Vec<Arc<Policy>>) -> Self {
        let version = if kept.is_empty() {
            current.version().to_owned()
        } else {
            let mut hasher = blake3::Hasher::new();
            hasher.update(b"guardian policies in force 1");
            for policy in std::iter::once(&current).chain(&kept) {
                hasher.update(policy.version().as_bytes());
            }
            hasher.finalize().to_hex().to_string()
        };
        Self {
            current,
            kept,
            version,
        }
    }

    /// Equal versions decide equally.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The files as they are now.
    #[must_use]
    pub fn current(&self) -> &Policy {
        &self.current
    }

    /// Earlier versions that still hold.
    pub fn kept(&self) -> impl Iterator<Item = &Policy> {
        self.kept.iter().map(Arc::as_ref)
    }

    fn all(&self) -> impl Iterator<Item = &Policy> {
        std::iter::once(&self.current)
            .chain(&self.kept)
            .map(Arc::as_ref)
    }

    /// A deny rule keeps this path from being read: what a confinement masks.
    #[must_use]
    pub fn denies_read(&self, path: &Path) -> bool {
        self.all().any(|policy| policy.denies_read(path))
    }

    /// A deny or an ask rule keeps this path from a walk that began at `start`.
    #[must_use]
    pub fn keeps_from_walk(&self, walk: WalkOver, path: &Path, start: Option<&Path>) -> bool {
        self.all()
            .any(|policy| policy.keeps_from_walk(walk, path, start))
    }

    /// [`Self::keeps_from_walk`] may say yes.
    #[must_use]
    pub fn has_walk_rules(&self, walk: WalkOver) -> bool {
        self.all().any(|policy| policy.has_walk_rules(walk))
    }

    /// The strictest verdict of all. What the user accepted for the project counts as far as each
    /// policy says.
    #[must_use]
    pub fn evaluate(&self, facts: &Facts, situation: &Situation) -> Verdict {
        let of = |policy: &Policy| evaluate(facts, &accepting(situation, policy), policy);
        self.kept
            .iter()
            .map(|policy| of(policy))
            .fold(of(&self.current), strictest)
    }

    /// Rules that a card may offer. None while an earlier version holds that they would not lift.
    #[must_use]
    pub fn suggest(&self, facts: &Facts, situation: &Situation) -> Vec<Suggestion> {
        let asks_too = |policy: &Policy| {
            evaluate(facts, &accepting(situation, policy), policy).decision == Decision::Allow
        };
        if self.kept().all(asks_too) {
            suggest(facts, &accepting(situation, &self.current), &self.current)
        } else {
            Vec::new()
        }
    }

    /// Commands of the call that the user accepted for the project when they were defined
    /// differently.
    #[must_use]
    pub fn changed_commands(&self, facts: &Facts, situation: &Situation) -> Vec<ChangedCommand> {
        let situation = accepting(situation, &self.current);
        changed_commands(facts, &situation, &self.current)
    }

    /// Why the call is decided as it is, line by line; by the policy that is strictest about it.
    #[must_use]
    pub fn explain(&self, facts: &Facts, situation: &Situation) -> Vec<String> {
        let mut strictest: Option<(Decision, &Policy)> = None;
        for policy in self.all() {
            let decision = evaluate(facts, &accepting(situation, policy), policy).decision;
            if strictest.is_none_or(|(known, _)| decision > known) {
                strictest = Some((decision, policy));
            }
        }
        let policy = strictest.map_or(self.current(), |(_, policy)| policy);
        explain(facts, &accepting(situation, policy), policy)
    }
}

/// The situation, with the project commands that this policy says the user accepted.
fn accepting(situation: &Situation, policy: &Policy) -> Situation {
    let mut situation = situation.clone();
    if let Some(workspace) = &situation.roots.workspace {
        let accepted = policy.accepted_commands(workspace);
        situation.accepted_commands.extend(accepted);
    }
    situation
}

/// The stricter of two verdicts; of two equally strict ones, what both say.
fn strictest(one: Verdict, other: Verdict) -> Verdict {
    if other.decision > one.decision {
        return strictest(other, one);
    }
    if other.decision < one.decision {
        return one;
    }
    let mut both = one;
    both.human_only |= other.human_only;
    both.relies_on_sandbox |= other.relies_on_sandbox;
    both.proven_only |= other.proven_only;
    both.allowed_decisions
        .retain(|answer| other.allowed_decisions.contains(answer));
    if !both
        .allowed_decisions
        .contains(&AllowedDecision::AllowSession)
        || both.session_grant != other.session_grant
    {
        both.session_grant = None;
        both.allowed_decisions
            .retain(|answer| *answer != AllowedDecision::AllowSession);
    }
    for id in other.decided_by {
        if !both.decided_by.contains(&id) {
            both.decided_by.push(id);
        }
    }
    both.decided_by.sort();
    for reason in other.reasons {
        if !both.reasons.contains(&reason) {
            both.reasons.push(reason);
        }
    }
    for step in other.trace {
        if !both.trace.contains(&step) {
            both.trace.push(step);
        }
    }
    both
}
