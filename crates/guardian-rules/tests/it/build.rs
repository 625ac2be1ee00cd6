//! Facts and situations built by hand.

use std::collections::BTreeSet;
use std::path::PathBuf;

use guardian_facts::{
    Access, AccessDetail, AccessKind, AccessSource, Facts, FileKind, PathFact, RootPaths, Scope,
    Sensitivity, Target,
};
use guardian_rules::{
    OperatingMode, PermissionMode, SandboxState, Situation, tool_kind, tool_risk,
};

pub(crate) const WORKSPACE: &str = "/home/dev/proj";
pub(crate) const SCRATCH: &str = "/data/scratch/s1";

pub(crate) fn roots() -> RootPaths {
    RootPaths {
        workspace: Some(WORKSPACE.into()),
        scratch: SCRATCH.into(),
        home: "/home/dev".into(),
        guardian_data: "/data".into(),
        guardian_config: vec!["/home/dev/.config/guardian".into()],
        guardian_executables: vec!["/usr/local/bin/guardian".into()],
    }
}

pub(crate) fn situation(
    tool: &str,
    mode: OperatingMode,
    permission_mode: PermissionMode,
) -> Situation {
    Situation {
        mode,
        permission_mode,
        roots: roots(),
        grants: Vec::new(),
        delegate: None,
        tool_kind: tool_kind(tool),
        tool_risk: tool_risk(tool),
        attended: true,
        sandbox: SandboxState::Available,
        accepted_commands: BTreeSet::new(),
        snapshot_possible: true,
        overwrites_unread: false,
    }
}

pub(crate) fn path(
    written: &str,
    resolved: &str,
    scope: Scope,
    sensitivity: Sensitivity,
) -> PathFact {
    PathFact {
        written: written.to_owned(),
        path: PathBuf::from(resolved),
        scope,
        sensitivity,
        kind: Some(FileKind::File),
        links: 1,
        identity: None,
    }
}

pub(crate) fn access(kind: AccessKind, source: AccessSource, path: PathFact) -> Access {
    Access {
        kind,
        detail: AccessDetail::Plain,
        target: Target::Exact(path),
        recursive: false,
        source,
    }
}

/// Facts of a file tool that touches one path.
pub(crate) fn file_tool(tool: &str, path: PathFact) -> Facts {
    let kind = match tool {
        "Write" | "Edit" => AccessKind::Write,
        "Read" | "Grep" | "BrowserPreview" => AccessKind::Read,
        _ => AccessKind::List,
    };
    let mut facts = Facts::empty(tool);
    facts
        .accesses
        .push(access(kind, AccessSource::PathArgument, path));
    facts
}
