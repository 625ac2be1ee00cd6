//! Allow: EVERY fact of the call is covered by something that may cover it (SPEC §5, 4).

use guardian_facts::command::{Effect, Effects};
use guardian_facts::{Access, AccessKind, AccessSource, Facts, Reading, Scope, Target};

use super::{Item, items_of};
use crate::verdict::{Cause, Decision, TraceStep};
use crate::{GrantScope, PermissionMode, Policy, Situation, ToolKind, ToolRisk};

/// What covers an item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cover {
    /// The permission-mode table.
    PermissionMode,
    /// A session grant.
    Grant,
    /// Low risk inside the roots.
    LowRisk,
    /// Beneath the session's scratch directory.
    Scratch,
    /// A command that only runs another one, which is a fact of its own.
    Wrapper,
}

/// An item that nothing covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Uncovered {
    /// Which.
    pub(crate) item: Item,
    /// What is missing, for people.
    pub(crate) reason: String,
}

/// How far a call is covered.
#[derive(Debug, Clone)]
pub(crate) struct Coverage {
    /// What nothing covers.
    pub(crate) uncovered: Vec<Uncovered>,
    /// Why it is allowed, if it is.
    pub(crate) cause: Cause,
    /// What covers it, sorted.
    pub(crate) decided_by: Vec<String>,
    /// For people.
    pub(crate) reasons: Vec<String>,
    /// Every item is covered by scratch.
    pub(crate) only_scratch: bool,
    /// One step per thing that covers something.
    pub(crate) trace: Vec<TraceStep>,
}

/// Looks for a cover for each item.
pub(crate) fn coverage(facts: &Facts, situation: &Situation, policy: &Policy) -> Coverage {
    let _ = policy;
    let mut uncovered = Vec::new();
    let mut covers: Vec<Cover> = Vec::new();
    let mut only_scratch = true;
    for item in items_of(facts) {
        match cover_of(item, facts, situation) {
            Some(cover) => {
                only_scratch &= cover == Cover::Scratch;
                if !covers.contains(&cover) {
                    covers.push(cover);
                }
            }
            None => {
                only_scratch = false;
                uncovered.push(Uncovered {
                    item,
                    reason: missing(item, facts, situation),
                });
            }
        }
    }
    covers.sort();
    let names: Vec<String> = covers
        .iter()
        .map(|cover| cover_name(cover).to_owned())
        .collect();
    let cause = covers.first().map_or(Cause::NotCovered, cover_cause);
    let trace = covers
        .iter()
        .map(|cover| TraceStep {
            rule: cover_name(cover).to_owned(),
            decision: Some(Decision::Allow),
            note: cover_reason(cover, facts, situation),
        })
        .chain(uncovered.iter().map(|missing| TraceStep {
            rule: "allow".to_owned(),
            decision: None,
            note: missing.reason.clone(),
        }))
        .collect();
    Coverage {
        uncovered,
        cause,
        decided_by: names,
        reasons: covers
            .iter()
            .map(|cover| cover_reason(cover, facts, situation))
            .collect(),
        only_scratch,
        trace,
    }
}

fn cover_of(item: Item, facts: &Facts, situation: &Situation) -> Option<Cover> {
    if let Item::Access(index) = item
        && is_scratch(&facts.accesses[index])
        && (situation.tool_kind != ToolKind::Foreign)
    {
        return Some(Cover::Scratch);
    }
    if low_risk_covers(item, facts, situation) {
        return Some(Cover::LowRisk);
    }
    if mode_covers(item, facts, situation) {
        return Some(Cover::PermissionMode);
    }
    if grant_covers(item, facts, situation) {
        return Some(Cover::Grant);
    }
    if let Item::Command(index) = item
        && facts.reading == Reading::Complete
        && is_transparent_wrapper(facts, index)
    {
        return Some(Cover::Wrapper);
    }
    None
}

/// The permission-mode table of SPEC §1.
fn mode_covers(item: Item, facts: &Facts, situation: &Situation) -> bool {
    match situation.permission_mode {
        PermissionMode::Ask => false,
        PermissionMode::AcceptEdits => {
            situation.tool_kind == ToolKind::Change
                && matches!(item, Item::Access(index)
                    if scope_of(&facts.accesses[index]) == Some(Scope::Workspace))
        }
        PermissionMode::Auto => !(situation.tool_kind == ToolKind::Foreign && item == Item::Call),
    }
}

/// Low-risk tools run without a card inside the roots.
fn low_risk_covers(item: Item, facts: &Facts, situation: &Situation) -> bool {
    if situation.tool_risk != ToolRisk::Low || situation.tool_kind == ToolKind::Foreign {
        return false;
    }
    match item {
        Item::Call => facts.reading == Reading::Complete,
        Item::Access(index) => {
            let access = &facts.accesses[index];
            matches!(access.kind, AccessKind::Read | AccessKind::List)
                && matches!(scope_of(access), Some(Scope::Workspace | Scope::Scratch))
        }
        Item::Command(_) | Item::Redirect { .. } | Item::Endpoint(_) | Item::Assignment { .. } => {
            false
        }
    }
}

/// A grant covers all facts of a call of its tool, as far as its scope reaches.
fn grant_covers(item: Item, facts: &Facts, situation: &Situation) -> bool {
    situation
        .grants
        .iter()
        .filter(|grant| grant.tool_name == facts.tool)
        .any(|grant| match grant.scope {
            GrantScope::Outside => true,
            GrantScope::Roots => {
                !matches!(item, Item::Access(index) if is_outside(&facts.accesses[index]))
            }
        })
}

/// A wrapper with nothing of its own: what it runs is covered, or not, as its own fact.
fn is_transparent_wrapper(facts: &Facts, index: usize) -> bool {
    let command = &facts.commands[index];
    command.wrapper
        && command.effects_known == Effects::Known
        && command
            .effects
            .iter()
            .all(|effect| matches!(effect, Effect::Inert | Effect::ShellState))
        && facts
            .commands
            .iter()
            .any(|inner| inner.place.inside == Some(index))
}

fn is_scratch(access: &Access) -> bool {
    scope_of(access) == Some(Scope::Scratch) && access.kind != AccessKind::Execute
}

/// Where the target lies, when that is known.
pub(crate) fn scope_of(access: &Access) -> Option<Scope> {
    match &access.target {
        Target::Exact(path) => Some(path.scope),
        Target::Pattern { base, .. } => Some(base.scope),
        Target::Unknown { .. } => None,
    }
}

/// Known to lie outside the roots.
pub(crate) fn is_outside(access: &Access) -> bool {
    matches!(
        scope_of(access),
        Some(Scope::Outside | Scope::ScratchEscape)
    )
}

fn missing(item: Item, facts: &Facts, situation: &Situation) -> String {
    match item {
        Item::Call if facts.reading == Reading::Partial => facts.opacity.first().map_or_else(
            || format!("what `{}` would do is not known", facts.tool),
            |opacity| {
                format!(
                    "what `{}` would do is not known: {}",
                    facts.tool, opacity.reason
                )
            },
        ),
        Item::Call => format!("{} is asked about", facts.tool),
        Item::Command(index) => {
            let command = &facts.commands[index];
            format!("no rule allows `{}`", command.display())
        }
        Item::Redirect { command, redirect } => format!(
            "the redirect to `{}` is not covered",
            facts.commands[command].redirects[redirect].target.display()
        ),
        Item::Access(index) => {
            let access = &facts.accesses[index];
            let verb = verb(access);
            let path = target_text(access);
            match (access.source, is_outside(access)) {
                (AccessSource::PathArgument, true) => format!(
                    "`{path}` lies outside the workspace; a rule naming the path or an outside grant would allow it"
                ),
                (_, true) => format!("it {verb} `{path}`, outside the workspace"),
                (AccessSource::PathArgument, false) if situation.tool_kind == ToolKind::Change => {
                    format!(
                        "the permission mode asks before {} changes `{path}`",
                        facts.tool
                    )
                }
                _ => format!("it {verb} `{path}`"),
            }
        }
        Item::Endpoint(index) => facts.endpoints[index].host.as_ref().map_or_else(
            || "it reaches the network at an address that is not known".to_owned(),
            |host| format!("it reaches `{host}` over the network"),
        ),
        Item::Assignment {
            command,
            assignment,
        } => format!(
            "the assignment of `{}` changes what is executed",
            facts.commands[command].assignments[assignment].name
        ),
    }
}

/// What an access does, as a verb in the third person.
pub(crate) fn verb(access: &Access) -> &'static str {
    match access.kind {
        AccessKind::Read => "reads",
        AccessKind::List => "lists",
        AccessKind::Write => "changes",
        AccessKind::Delete => "deletes",
        AccessKind::Execute => "runs",
    }
}

/// The target for people: the path as written, or resolved where that is clearer.
pub(crate) fn target_text(access: &Access) -> String {
    match &access.target {
        Target::Exact(path) if path.written.is_empty() => path.path.display().to_string(),
        Target::Exact(path) => path.written.clone(),
        Target::Pattern { written, .. } | Target::Unknown { written, .. } => written.clone(),
    }
}

fn cover_name(cover: &Cover) -> &'static str {
    match cover {
        Cover::Scratch => "scratch",
        Cover::LowRisk => "low-risk",
        Cover::PermissionMode => "mode-table",
        Cover::Grant => "grant",
        Cover::Wrapper => "wrapper",
    }
}

fn cover_cause(cover: &Cover) -> Cause {
    match cover {
        Cover::Scratch => Cause::Scratch,
        Cover::LowRisk | Cover::Wrapper => Cause::LowRisk,
        Cover::PermissionMode => Cause::PermissionMode,
        Cover::Grant => Cause::Grant,
    }
}

fn cover_reason(cover: &Cover, facts: &Facts, situation: &Situation) -> String {
    match cover {
        Cover::Scratch => "the session's scratch directory needs no permission".to_owned(),
        Cover::LowRisk => format!("{} is low risk inside the roots", facts.tool),
        Cover::PermissionMode => {
            format!(
                "the permission mode `{}` allows it",
                situation.permission_mode.name()
            )
        }
        Cover::Grant => format!("{} was granted for this session", facts.tool),
        Cover::Wrapper => "the wrapper only runs commands that are judged themselves".to_owned(),
    }
}
