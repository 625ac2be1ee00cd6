//! Facts and situations built by hand.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use guardian_facts::{
    Access, AccessDetail, AccessKind, AccessSource, CommandFact, Effect, Effects, Endpoint, Facts,
    FileKind, PathFact, Place, Program, ProgramForm, RootPaths, Scope, Sensitivity, Span, Target,
    Word, WordPart,
};
use guardian_rules::{
    CompileContext, Layer, OperatingMode, PermissionMode, Policy, PolicyText, Preset, SandboxState,
    Situation, Trust, tool_kind, tool_risk,
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

/// A Bash call of which nothing is said yet.
pub(crate) fn bash() -> Facts {
    Facts::empty("Bash")
}

/// A command of known words whose effects are known.
pub(crate) fn command(words: &str, effects: &[Effect]) -> CommandFact {
    let span = Span { start: 0, end: 0 };
    let argv: Vec<Word> = words
        .split_whitespace()
        .map(|word| as_word(word, span))
        .collect();
    let written = argv.first().map(Word::display).unwrap_or_default();
    let form = match written.chars().next() {
        Some('/') => ProgramForm::Absolute,
        Some('$') => ProgramForm::Unknown,
        _ if written.contains('/') => ProgramForm::Relative,
        _ => ProgramForm::Bare,
    };
    let name = (form != ProgramForm::Unknown)
        .then(|| written.rsplit('/').next().unwrap_or_default().to_owned())
        .filter(|name| !name.is_empty());
    let resolved = match form {
        ProgramForm::Absolute => Some(path(
            &written,
            &written,
            Scope::Outside,
            Sensitivity::default(),
        )),
        ProgramForm::Relative => {
            let resolved = format!("{WORKSPACE}/{}", written.trim_start_matches("./"));
            Some(path(
                &written,
                &resolved,
                Scope::Workspace,
                Sensitivity::default(),
            ))
        }
        _ => None,
    };
    CommandFact {
        program: Program {
            written,
            form,
            name,
            path: resolved,
        },
        argv,
        assignments: Vec::new(),
        redirects: Vec::new(),
        cwd: Some(WORKSPACE.into()),
        place: Place::default(),
        effects_known: Effects::Known,
        effects: effects.to_vec(),
        wrapper: false,
        walks: false,
        environment: None,
        span,
    }
}

fn as_word(text: &str, span: Span) -> Word {
    if text.starts_with('$') {
        let part = WordPart::Unknown {
            written: text.to_owned(),
            may_be_empty: true,
            may_split: true,
            integer: false,
        };
        Word {
            parts: vec![part],
            span,
        }
    } else {
        Word::literal(text, span)
    }
}

/// A command that may do anything.
pub(crate) fn opaque(words: &str, effects: &[Effect]) -> CommandFact {
    CommandFact {
        effects_known: Effects::Opaque,
        ..command(words, effects)
    }
}

/// The facts of one command.
pub(crate) fn run(command: CommandFact) -> Facts {
    let mut facts = bash();
    facts.commands.push(command);
    facts
}

/// A path of the workspace, of scratch (`$S/…`), or outside; classes by well-known names.
pub(crate) fn place(written: &str) -> PathFact {
    let resolved = if let Some(rest) = written.strip_prefix("$S/") {
        format!("{SCRATCH}/{rest}")
    } else if let Some(rest) = written.strip_prefix("~/") {
        format!("/home/dev/{rest}")
    } else if written == "~" {
        "/home/dev".to_owned()
    } else if written == "." {
        WORKSPACE.to_owned()
    } else if written.starts_with('/') {
        written.to_owned()
    } else {
        format!("{WORKSPACE}/{written}")
    };
    let inside = |root: &str| resolved == root || resolved.starts_with(&format!("{root}/"));
    let scope = if inside(WORKSPACE) {
        Scope::Workspace
    } else if inside(SCRATCH) {
        Scope::Scratch
    } else {
        Scope::Outside
    };
    let sensitivity = Sensitivity {
        secret: resolved.ends_with("/.env"),
        sensitive: resolved.starts_with("/home/dev/.ssh/")
            || resolved.starts_with("/home/dev/.aws"),
        protected: resolved.contains("/.git/hooks/") || resolved.ends_with("/.bashrc"),
        guardian: resolved.starts_with("/data/guardian") || resolved.contains("/.config/guardian"),
    };
    path(written, &resolved, scope, sensitivity)
}

/// Adds an access of the last command.
pub(crate) fn touching(mut facts: Facts, kind: AccessKind, written: &str) -> Facts {
    let source = AccessSource::Command(facts.commands.len().saturating_sub(1));
    facts.accesses.push(access(kind, source, place(written)));
    facts
}

/// Adds a recursive access of the last command.
pub(crate) fn all_of(facts: Facts, kind: AccessKind, written: &str) -> Facts {
    let mut facts = touching(facts, kind, written);
    if let Some(last) = facts.accesses.last_mut() {
        last.recursive = true;
    }
    facts
}

/// Adds a redirect of the last command.
pub(crate) fn redirecting(mut facts: Facts, written: &str) -> Facts {
    let source = AccessSource::Redirect(facts.commands.len().saturating_sub(1));
    let mut redirect = access(AccessKind::Write, source, place(written));
    redirect.detail = AccessDetail::Truncate;
    facts.accesses.push(redirect);
    facts
}

/// Adds a command.
pub(crate) fn and(mut facts: Facts, command: CommandFact) -> Facts {
    facts.commands.push(command);
    facts
}

/// Adds a host that the last command reaches.
pub(crate) fn reaching(mut facts: Facts, host: &str) -> Facts {
    let command = facts.commands.len().checked_sub(1);
    facts.endpoints.push(Endpoint {
        host: Some(host.to_owned()),
        port: None,
        command,
    });
    facts
}

/// The situation of SPEC's cases: agent mode, a human attached.
pub(crate) fn asking(facts: &Facts) -> Situation {
    situation(&facts.tool, OperatingMode::Agent, PermissionMode::Ask)
}

/// Permission mode auto.
pub(crate) fn auto(facts: &Facts) -> Situation {
    situation(&facts.tool, OperatingMode::Agent, PermissionMode::Auto)
}

/// A user file without its `version` line.
pub(crate) fn user(rules: &str) -> PolicyText {
    text(Layer::User, rules)
}

/// A text of a layer without its `version` line.
pub(crate) fn text(layer: Layer, rules: &str) -> PolicyText {
    PolicyText {
        layer,
        name: format!("{}.toml", layer.name()),
        text: format!("version = 1\n{rules}"),
        trust: Trust::Untrusted,
    }
}

/// Compiles texts over a preset.
#[track_caller]
pub(crate) fn policy(texts: &[PolicyText], preset: Preset) -> Policy {
    let cx = CompileContext {
        workspace: Some(Path::new(WORKSPACE)),
        home: Path::new("/home/dev"),
        probe: None,
    };
    Policy::compile(texts, preset, &cx).unwrap_or_else(|errors| panic!("{errors}"))
}
