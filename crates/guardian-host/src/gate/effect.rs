//! What the gate needs to know of facts besides their verdict.

use guardian_facts::{Facts, Target};
use guardian_rules::{Decision, Verdict};
use guardian_tools::ChangeOutlook;

use crate::judge::{Caller, OverwriteState};
use crate::record::ExternalPath;
use crate::sessions::SessionRuntime;

/// Would the call, extracted again after a wait, do what was judged? Whether a path exists may
/// have changed; where it leads, what it is and what code runs may not. (File tools are held to
/// more by their binding.)
pub(super) fn same_effect(judged: &Facts, now: &Facts) -> bool {
    let places = |facts: &Facts| {
        let place = |access: &guardian_facts::Access| {
            let target = match &access.target {
                Target::Exact(path) => format!("{:?}", (&path.path, path.scope, path.sensitivity)),
                Target::Pattern {
                    pattern,
                    base,
                    may_match,
                    ..
                } => {
                    format!("{:?}", (pattern, &base.path, base.scope, may_match))
                }
                Target::Unknown {
                    written,
                    when_empty,
                    ..
                } => format!("{written} {when_empty:?}"),
            };
            (access.kind, access.detail, access.recursive, target)
        };
        facts.accesses.iter().map(place).collect::<Vec<_>>()
    };
    let code = |facts: &Facts| {
        let one = |file: &guardian_facts::CodeFile| (file.path.path.clone(), file.hash.clone());
        facts.code_files.iter().map(one).collect::<Vec<_>>()
    };
    places(judged) == places(now)
        && code(judged) == code(now)
        && judged.definitions == now.definitions
        && judged.reading == now.reading
        && judged.commands.len() == now.commands.len()
}

/// The call works in scratch, or runs a command, which is told where scratch is.
pub(super) fn needs_scratch(facts: &Facts) -> bool {
    facts.tool == "Bash"
        || facts.accesses.iter().any(|access| {
            access
                .exact()
                .is_some_and(|path| path.scope == guardian_facts::Scope::Scratch)
        })
}

/// The one path that a mutation changes.
pub(crate) fn changed_path(facts: &Facts) -> Option<std::path::PathBuf> {
    let change = facts.accesses.iter().find(|access| access.is_change())?;
    change.exact().map(|path| path.path.clone())
}

pub(super) fn external_path(facts: &Facts, verdict: &Verdict, caller: &Caller) -> ExternalPath {
    let outside = facts.accesses.iter().any(|access| {
        access.source == guardian_facts::AccessSource::PathArgument
            && access
                .exact()
                .is_some_and(|path| path.scope == guardian_facts::Scope::Outside)
    });
    match (outside, verdict.decision) {
        (false, _) => ExternalPath::None,
        (true, Decision::Deny) => ExternalPath::Denied,
        (true, Decision::Allow)
            if caller.permission_mode == guardian_rules::PermissionMode::Auto =>
        {
            ExternalPath::Auto
        }
        (true, Decision::Allow) => ExternalPath::Granted,
        // Settled by the review.
        (true, Decision::Ask) => ExternalPath::Denied,
    }
}

/// What is known of the file that a Write would replace (SPEC §9). A look at it knows better than the
/// facts; without one (a target whose content must not be looked at yet) what was never read
/// counts as unread, and only the workspace has snapshots.
pub(crate) fn overwrite_state(
    runtime: &SessionRuntime,
    facts: &Facts,
    outlook: Option<&ChangeOutlook>,
) -> OverwriteState {
    let target = facts.accesses.iter().find(|access| access.is_change());
    let existing = target
        .and_then(|access| access.exact())
        .filter(|path| path.kind.is_some());
    match (facts.tool.as_str(), existing) {
        ("Write", Some(path)) => {
            let unread = match outlook {
                Some(outlook) => outlook.overwrites_unread,
                None => !guardian_tools::FileTags::has_read(runtime, &path.path),
            };
            let in_workspace = path.scope == guardian_facts::Scope::Workspace;
            let fits = outlook.is_none_or(|outlook| outlook.snapshot_possible);
            OverwriteState {
                unread,
                snapshot_possible: in_workspace && fits,
            }
        }
        _ => OverwriteState::NONE,
    }
}
