//! What a reviewer may answer to an ask, and what the answer would create.

use guardian_facts::command::{Effect, Effects, ProgramForm};
use guardian_facts::{Access, AccessSource, Facts, Reading, Scope};

use super::Item;
use super::cover::{Uncovered, is_outside, lies_in_roots, place_of};
use crate::suggest::drafts;
use crate::verdict::{AllowedDecision, Cause};
use crate::{Grant, GrantScope, Policy, Situation, ToolKind};

/// Only a human may allow it, whatever asked (SPEC §8): a reading that is not complete, an opaque
/// command, privilege, persistence, remote code.
pub(crate) fn human_only(facts: &Facts) -> bool {
    facts.reading == Reading::Partial
        || facts.commands.iter().any(|command| {
            command.effects_known == Effects::Opaque
                || command.has(Effect::Privilege)
                || command.has(Effect::Persistence)
                || command.has(Effect::RunsRemoteCode)
        })
}

/// The grant that `allow-session` would create: it covers this call and nothing beyond its own
/// sentence. `None` where no grant is offered (interpreters, files in a writable root).
pub(crate) fn session_grant(facts: &Facts, situation: &Situation) -> Option<Grant> {
    if runs_unbounded_code(facts)
        || facts.reading == Reading::Partial && situation.tool_kind == ToolKind::Shell
    {
        return None;
    }
    // of a place that is not known no sentence could be said
    let all = |test: fn(&Access) -> bool| facts.accesses.iter().all(test);
    let named: Vec<Option<Scope>> = facts
        .named_paths
        .iter()
        .map(|named| place_of(&named.target))
        .collect();
    let in_roots = |scope: &Option<Scope>| matches!(scope, Some(Scope::Workspace | Scope::Scratch));
    let scope = if all(lies_in_roots) && named.iter().all(in_roots) {
        GrantScope::Roots
    } else if all(|access| lies_in_roots(access) || is_outside(access))
        && named.iter().all(Option::is_some)
    {
        GrantScope::Outside
    } else {
        return None;
    };
    Some(Grant {
        tool_name: facts.tool.clone(),
        scope,
    })
}

/// The call runs an interpreter on code, or a file that the agent could rewrite: remembering an
/// answer would allow anything.
pub(crate) fn runs_unbounded_code(facts: &Facts) -> bool {
    facts.commands.iter().any(|command| {
        command.has(Effect::RunsCode)
            || command.has(Effect::RunsRemoteCode)
            || matches!(
                command.program.form,
                ProgramForm::Unknown | ProgramForm::Relative
            )
            || command
                .program
                .path
                .as_ref()
                .is_some_and(|path| matches!(path.scope, Scope::Workspace | Scope::Scratch))
    })
}

/// What a human may answer where nothing but the missing cover asks.
pub(crate) fn allowed_decisions(
    facts: &Facts,
    situation: &Situation,
    policy: &Policy,
    grantable: bool,
) -> Vec<AllowedDecision> {
    let mut decisions = vec![AllowedDecision::AllowOnce];
    if grantable {
        decisions.push(AllowedDecision::AllowSession);
    }
    let mut always: Vec<AllowedDecision> = drafts(facts, situation, policy)
        .into_iter()
        .map(|draft| draft.answer)
        .collect();
    always.sort();
    always.dedup();
    decisions.extend(always);
    decisions.push(AllowedDecision::Deny);
    decisions
}

/// The most telling cause where something is not covered.
pub(crate) fn uncovered_cause(
    facts: &Facts,
    situation: &Situation,
    uncovered: &[Uncovered],
) -> Cause {
    let outside = uncovered.iter().any(|missing| {
        matches!(missing.item, Item::Access(index)
            if facts.accesses[index].source == AccessSource::PathArgument && is_outside(&facts.accesses[index]))
    });
    if outside {
        Cause::PathOutsideWorkspace
    } else if facts.reading == Reading::Partial {
        Cause::Unknown
    } else if matches!(situation.tool_kind, ToolKind::Change | ToolKind::Plugin) {
        Cause::PermissionMode
    } else {
        Cause::NotCovered
    }
}
