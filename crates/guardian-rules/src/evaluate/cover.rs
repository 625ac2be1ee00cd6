//! Allow: EVERY fact of the call is covered by something that may cover it (SPEC §5, 4).

use guardian_facts::command::{Effect, Effects};
use guardian_facts::opacity;
use guardian_facts::{Access, AccessKind, AccessSource, Facts, Reading, RootPaths, Scope, Target};

use super::hits::View;
use super::items::{Item, items_of};
use super::proof::{Proven, proof_of};
use crate::verdict::{Cause, Decision, TraceStep};
use crate::{GrantScope, PermissionMode, Situation, ToolKind, ToolRisk};

/// What covers an item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cover {
    /// The permission-mode table.
    PermissionMode,
    /// A session grant.
    Grant,
    /// An allow rule, by id.
    Rule(String),
    /// The preset's proof.
    Preset,
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
    /// What is missing, for people, each sentence once.
    pub(crate) missing: Vec<String>,
    /// Why it is allowed, if it is.
    pub(crate) cause: Cause,
    /// What covers it, sorted.
    pub(crate) decided_by: Vec<String>,
    /// For people.
    pub(crate) reasons: Vec<String>,
    /// Every item is covered by scratch.
    pub(crate) only_scratch: bool,
    /// At least one item is covered only while the sandbox is in force.
    pub(crate) relies_on_sandbox: bool,
    /// Every item is covered by a proof: the preset, scratch, low risk, or a wrapper of such.
    pub(crate) proven_only: bool,
    /// One step per thing that covers something.
    pub(crate) trace: Vec<TraceStep>,
}

/// Looks for a cover for each item.
pub(crate) fn coverage(view: &View<'_>) -> Coverage {
    let mut uncovered = Vec::new();
    let mut covers: Vec<Cover> = Vec::new();
    let mut only_scratch = true;
    let mut relies_on_sandbox = false;
    for item in items_of(view.facts) {
        match cover_of(item, view) {
            Some((cover, proven)) => {
                only_scratch &= cover == Cover::Scratch;
                relies_on_sandbox |= proven == Proven::Confined;
                if !covers.contains(&cover) {
                    covers.push(cover);
                }
            }
            None => {
                only_scratch = false;
                let reason = missing(item, view.facts, view.situation);
                uncovered.push(Uncovered { item, reason });
            }
        }
    }
    covers.sort();
    let proven_only = covers.iter().all(|cover| match cover {
        Cover::Preset | Cover::Scratch | Cover::LowRisk | Cover::Wrapper => true,
        Cover::PermissionMode | Cover::Grant | Cover::Rule(_) => false,
    });
    uncovered.sort_by(|left, right| {
        (rank(left.item), &left.reason).cmp(&(rank(right.item), &right.reason))
    });
    let trace = covers
        .iter()
        .map(|cover| TraceStep {
            rule: cover_name(cover, view),
            decision: Some(Decision::Allow),
            note: cover_reason(cover, view),
        })
        .chain(uncovered.iter().map(|missing| TraceStep {
            rule: "allow".to_owned(),
            decision: None,
            note: missing.reason.clone(),
        }))
        .collect();
    let mut decided_by: Vec<String> = covers.iter().map(|cover| cover_name(cover, view)).collect();
    decided_by.sort();
    Coverage {
        cause: covers
            .first()
            .map_or(Cause::NotCovered, |cover| cover_cause(cover, view)),
        decided_by,
        missing: uncovered
            .iter()
            .fold(Vec::new(), |mut reasons, missing: &Uncovered| {
                if !reasons.contains(&missing.reason) {
                    reasons.push(missing.reason.clone());
                }
                reasons
            }),
        uncovered,
        reasons: covers
            .iter()
            .map(|cover| cover_reason(cover, view))
            .collect(),
        only_scratch,
        relies_on_sandbox,
        proven_only,
        trace,
    }
}

/// Uncovered items in the order in which people should read them.
fn rank(item: Item) -> u8 {
    match item {
        Item::Call => 0,
        Item::Command(_) => 1,
        Item::Access(_) => 2,
        Item::Redirect { .. } => 3,
        Item::Endpoint(_) => 4,
        Item::Assignment { .. } => 5,
    }
}

/// Something covers the item.
pub(crate) fn is_covered(item: Item, view: &View<'_>) -> bool {
    cover_of(item, view).is_some()
}

fn cover_of(item: Item, view: &View<'_>) -> Option<(Cover, Proven)> {
    let facts = view.facts;
    let anyway = |cover| Some((cover, Proven::Anyway));
    if let Item::Access(index) = item
        && is_scratch(&facts.accesses[index], &view.situation.roots)
        && view.situation.tool_kind != ToolKind::Foreign
    {
        return anyway(Cover::Scratch);
    }
    if low_risk_covers(item, facts, view.situation) {
        return anyway(Cover::LowRisk);
    }
    if mode_covers(item, facts, view.situation) {
        return anyway(Cover::PermissionMode);
    }
    if grant_covers(item, facts, view.situation) {
        return anyway(Cover::Grant);
    }
    if let Some(id) = rule_covers(item, view) {
        return anyway(Cover::Rule(id));
    }
    if let Item::Command(index) = item
        && facts.reading == Reading::Complete
        && is_transparent_wrapper(facts, index)
    {
        return anyway(Cover::Wrapper);
    }
    proof_of(item, view).map(|proven| (Cover::Preset, proven))
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
        // a tool of which nothing is known is never covered by a mode
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
            GrantScope::Roots => reaches_roots_only(item, facts),
        })
}

/// The allow rule that names the item. A rule for the tool as a whole reaches as far as a grant
/// inside the roots.
fn rule_covers(item: Item, view: &View<'_>) -> Option<String> {
    let facts = view.facts;
    let complete = facts.reading == Reading::Complete;
    let named = match item {
        Item::Command(index) if complete => command_rule(view, index),
        Item::Access(index) if complete || facts.commands.is_empty() => view
            .policy
            .covers_access(view, &facts.accesses[index])
            .map(|rule| rule.id.clone()),
        Item::Endpoint(index) if complete => view
            .policy
            .covers_endpoint(view, index)
            .map(|rule| rule.id.clone()),
        _ => None,
    };
    named.or_else(|| {
        if !reaches_roots_only(item, facts) {
            return None;
        }
        view.policy.covers_call(view).map(|rule| rule.id.clone())
    })
}

/// A command is covered by its own words; one that runs elsewhere by the words of the command that
/// sends it there.
fn command_rule(view: &View<'_>, index: usize) -> Option<String> {
    let mut sender = index;
    for _ in 0..view.facts.commands.len() {
        let command = view.facts.commands.get(sender)?;
        if has_changed_variables(view.facts, sender) || !names_ordinary_only(view.facts, sender) {
            return None;
        }
        if !command.place.elsewhere {
            return view
                .policy
                .covers_command(view, sender)
                .map(|rule| rule.id.clone());
        }
        sender = command.place.inside?;
    }
    None
}

/// The text changed a variable that says what programs are run, or where they read their settings
/// (`for PATH in .; do …`, `read HOME`): then no words name what runs (SPEC §5: a rule does not
/// cover execution-changing assignments, however they are written).
fn has_changed_variables(facts: &Facts, index: usize) -> bool {
    facts.opacity.iter().any(|opacity| {
        opacity.command == Some(index) && opacity.code == opacity::EXECUTION_VARIABLE
    })
}

/// What the words of an opaque command may name lies in the roots and is of no class: a rule for a
/// command does not cover outside, protected and secret paths (SPEC §5), whatever the option in
/// front of them is called.
fn names_ordinary_only(facts: &Facts, index: usize) -> bool {
    facts
        .named_paths
        .iter()
        .filter(|named| named.command == index)
        .all(|named| match &named.target {
            Target::Exact(path) => is_in_roots(path.scope) && path.sensitivity.is_ordinary(),
            target => place_of(target).is_some_and(is_in_roots),
        })
}

fn reaches_roots_only(item: Item, facts: &Facts) -> bool {
    match item {
        Item::Access(index) => lies_in_roots(&facts.accesses[index]),
        Item::Command(index) => facts
            .named_paths
            .iter()
            .filter(|named| named.command == index)
            .all(|named| place_of(&named.target).is_some_and(is_in_roots)),
        Item::Call | Item::Redirect { .. } | Item::Endpoint(_) | Item::Assignment { .. } => true,
    }
}

fn is_in_roots(scope: Scope) -> bool {
    matches!(scope, Scope::Workspace | Scope::Scratch)
}

/// Known to lie in the roots. Of a place that is not known nothing is said (SPEC §5: nothing beyond
/// the sentence of the card), except that names of it may be listed.
pub(crate) fn lies_in_roots(access: &Access) -> bool {
    let is_fresh = matches!(
        access.target,
        Target::Unknown {
            temporary: true,
            ..
        }
    );
    match scope_of(access) {
        Some(scope) => is_in_roots(scope),
        None => is_fresh || access.kind == AccessKind::List,
    }
}

/// A wrapper with nothing of its own: what it runs is covered, or not, as its own fact.
fn is_transparent_wrapper(facts: &Facts, index: usize) -> bool {
    let command = &facts.commands[index];
    command.wrapper
        && !command.place.elsewhere
        && command.effects_known == Effects::Known
        && crate::policy::is_known_by_name(&command.program)
        && command
            .effects
            .iter()
            .all(|effect| matches!(effect, Effect::Inert | Effect::ShellState))
}

/// Strictly beneath scratch; code that is run from there is not covered by lying there.
fn is_scratch(access: &Access, roots: &RootPaths) -> bool {
    let is_the_directory = access.kind == AccessKind::Delete
        && access
            .exact()
            .is_some_and(|path| path.path == roots.scratch);
    scope_of(access) == Some(Scope::Scratch)
        && access.kind != AccessKind::Execute
        && !is_the_directory
}

/// Where the target lies, when that is known.
pub(crate) fn scope_of(access: &Access) -> Option<Scope> {
    place_of(&access.target)
}

/// Where a target lies, when that is known.
pub(crate) fn place_of(target: &Target) -> Option<Scope> {
    match target {
        Target::Exact(path) => Some(path.scope),
        Target::Pattern { base, pattern, .. } if !climbs(pattern) => Some(base.scope),
        Target::Pattern { .. } | Target::Unknown { .. } => None,
    }
}

/// A `..` behind a wildcard: where the pattern leads is not known.
pub(crate) fn climbs(pattern: &str) -> bool {
    pattern.split('/').any(|component| component == "..")
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
        Item::Call => format!(
            "{} is asked about unless a rule or a grant names it",
            facts.tool
        ),
        Item::Command(index) => missing_command(index, facts),
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
                    "`{path}` lies outside the workspace; an allow rule naming the path or an outside grant would allow it"
                ),
                (AccessSource::PathArgument, false) if situation.tool_kind == ToolKind::Change => {
                    format!(
                        "the permission mode `{}` asks before {} changes `{path}`",
                        situation.permission_mode.name(),
                        facts.tool
                    )
                }
                (AccessSource::Redirect(_), true) => {
                    format!("a redirect {verb} `{path}`, outside the workspace")
                }
                (AccessSource::Redirect(_), false) => format!("a redirect {verb} `{path}`"),
                (_, true) => format!("it {verb} `{path}`, outside the workspace"),
                (_, false) => format!("it {verb} `{path}`"),
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

fn missing_command(index: usize, facts: &Facts) -> String {
    let command = &facts.commands[index];
    let text = shortened(&command.display());
    let outside = facts
        .named_paths
        .iter()
        .find(|named| named.command == index && place_of(&named.target) == Some(Scope::Outside));
    if let Some(named) = outside {
        return format!(
            "what `{text}` does is not known, and it names `{}`, outside the workspace",
            written(&named.target)
        );
    }
    if command.effects_known == Effects::Opaque {
        let why = facts
            .opacity
            .iter()
            .find(|opacity| opacity.command == Some(index))
            .map_or("", |opacity| opacity.reason.as_str());
        return if why.is_empty() {
            format!("what `{text}` does is not known, and no rule allows it")
        } else {
            format!("what `{text}` does is not known ({why}), and no rule allows it")
        };
    }
    format!("no rule allows `{text}`")
}

/// At most 120 characters.
fn shortened(text: &str) -> String {
    if text.chars().count() <= 120 {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(119).collect();
    cut.push('…');
    cut
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
    written(&access.target)
}

fn written(target: &Target) -> String {
    match target {
        Target::Exact(path) if path.written.is_empty() => path.path.display().to_string(),
        Target::Exact(path) => path.written.clone(),
        Target::Pattern { written, .. } | Target::Unknown { written, .. } => written.clone(),
    }
}

fn cover_name(cover: &Cover, view: &View<'_>) -> String {
    match cover {
        Cover::Scratch => "scratch".to_owned(),
        Cover::LowRisk => "low-risk".to_owned(),
        Cover::PermissionMode => "mode-table".to_owned(),
        Cover::Grant => "grant".to_owned(),
        Cover::Wrapper => "wrapper".to_owned(),
        Cover::Rule(id) => id.clone(),
        Cover::Preset => format!("preset.{}", view.policy.preset().name()),
    }
}

fn cover_cause(cover: &Cover, view: &View<'_>) -> Cause {
    match cover {
        Cover::Scratch => Cause::Scratch,
        Cover::LowRisk | Cover::Wrapper => Cause::LowRisk,
        Cover::PermissionMode => Cause::PermissionMode,
        Cover::Grant => Cause::Grant,
        Cover::Rule(id) => Cause::Rule(id.clone()),
        Cover::Preset => Cause::Preset(view.policy.preset().name().to_owned()),
    }
}

fn cover_reason(cover: &Cover, view: &View<'_>) -> String {
    match cover {
        Cover::Scratch => "the session's scratch directory needs no permission".to_owned(),
        Cover::LowRisk => format!("{} is low risk inside the roots", view.tool),
        Cover::PermissionMode => {
            format!(
                "the permission mode `{}` allows it",
                view.situation.permission_mode.name()
            )
        }
        Cover::Grant => format!("{} was granted for this session", view.tool),
        Cover::Wrapper => "the wrapper only runs commands that are judged themselves".to_owned(),
        Cover::Rule(id) => format!("the rule `{id}` allows it"),
        Cover::Preset => format!(
            "every effect is proven harmless under the preset `{}`",
            view.policy.preset().name()
        ),
    }
}
