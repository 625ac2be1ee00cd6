//! The full table of SPEC §1: operating mode × permission mode × tool × scope, generated.

use std::fmt::Write as _;

use guardian_facts::{
    AccessKind, AccessSource, CommandFact, Effects, Facts, Program, ProgramForm, Scope,
    Sensitivity, Span, Word,
};
use guardian_rules::{
    Decision, Grant, GrantScope, OperatingMode, PermissionMode, Policy, Preset, Verdict, evaluate,
};

use crate::build::{SCRATCH, WORKSPACE, access, file_tool, path, situation};

const MODES: [OperatingMode; 3] = [
    OperatingMode::Agent,
    OperatingMode::Plan,
    OperatingMode::Goal,
];
const PERMISSION_MODES: [PermissionMode; 3] = [
    PermissionMode::Ask,
    PermissionMode::AcceptEdits,
    PermissionMode::Auto,
];

struct Place {
    name: &'static str,
    path: String,
    scope: Scope,
    sensitivity: Sensitivity,
}

fn places() -> Vec<Place> {
    let ordinary = Sensitivity::default();
    let secret = Sensitivity {
        secret: true,
        ..ordinary
    };
    let sensitive = Sensitivity {
        sensitive: true,
        ..ordinary
    };
    let protected = Sensitivity {
        protected: true,
        ..ordinary
    };
    let guardian = Sensitivity {
        guardian: true,
        ..ordinary
    };
    let place = |name, path: String, scope, sensitivity| Place {
        name,
        path,
        scope,
        sensitivity,
    };
    vec![
        place(
            "workspace",
            format!("{WORKSPACE}/src/a.rs"),
            Scope::Workspace,
            ordinary,
        ),
        place(
            "workspace secret",
            format!("{WORKSPACE}/.env"),
            Scope::Workspace,
            secret,
        ),
        place(
            "workspace protected",
            format!("{WORKSPACE}/.envrc"),
            Scope::Workspace,
            protected,
        ),
        place(
            "workspace sensitive",
            format!("{WORKSPACE}/.aws/x"),
            Scope::Workspace,
            sensitive,
        ),
        place("scratch", format!("{SCRATCH}/a"), Scope::Scratch, ordinary),
        place(
            "scratch escape",
            "/etc/hosts".to_owned(),
            Scope::ScratchEscape,
            ordinary,
        ),
        place("outside", "/srv/a".to_owned(), Scope::Outside, ordinary),
        place(
            "outside secret",
            "/srv/.env".to_owned(),
            Scope::Outside,
            secret,
        ),
        place(
            "outside protected",
            "/home/dev/.bashrc".to_owned(),
            Scope::Outside,
            protected,
        ),
        place(
            "outside sensitive",
            "/home/dev/.ssh/id_rsa".to_owned(),
            Scope::Outside,
            sensitive,
        ),
        place(
            "guardian",
            "/data/guardian.db".to_owned(),
            Scope::Outside,
            guardian,
        ),
    ]
}

fn bash_at(place: &Place) -> Facts {
    let span = Span { start: 0, end: 0 };
    let mut facts = Facts::empty("Bash");
    facts.commands.push(CommandFact {
        program: Program {
            written: "tee".to_owned(),
            form: ProgramForm::Bare,
            name: Some("tee".to_owned()),
            path: None,
        },
        argv: vec![
            Word::literal("tee", span),
            Word::literal(place.path.clone(), span),
        ],
        assignments: Vec::new(),
        redirects: Vec::new(),
        cwd: Some(WORKSPACE.into()),
        place: guardian_facts::Place::default(),
        effects_known: Effects::Known,
        effects: Vec::new(),
        wrapper: false,
        walks: false,
        environment: None,
        span,
    });
    facts.accesses.push(access(
        AccessKind::Write,
        AccessSource::Command(0),
        path(&place.path, &place.path, place.scope, place.sensitivity),
    ));
    facts
}

fn rows() -> Vec<(String, Facts)> {
    let mut rows = Vec::new();
    for tool in ["Read", "Glob", "Grep", "Write", "Edit"] {
        for place in places() {
            let fact = path(&place.path, &place.path, place.scope, place.sensitivity);
            rows.push((format!("{tool} {}", place.name), file_tool(tool, fact)));
        }
    }
    for place in places() {
        rows.push((format!("Bash tee {}", place.name), bash_at(&place)));
    }
    for tool in [
        "asktool",
        "new_context",
        "BashOutput",
        "BashKill",
        "ToolSearch",
        "EnterPlanMode",
        "EnterGoalMode",
        "SubmitPlan",
        "SubmitGoal",
        "Task",
        "Skill",
        "PluginCheck",
        "PluginPack",
        "PluginScaffold",
    ] {
        rows.push((tool.to_owned(), Facts::empty(tool)));
    }
    for tool in ["plugin_acme_do", "mcp_srv_do", "Unknown"] {
        rows.push((
            format!("{tool} facts unknown"),
            Facts::unknown(tool, "nothing is known of it"),
        ));
    }
    rows
}

fn cell(verdict: &Verdict) -> String {
    let decision = match verdict.decision {
        Decision::Allow => "allow",
        Decision::Ask => "ASK",
        Decision::Deny => "DENY",
    };
    verdict.mode_refusal.map_or_else(
        || format!("{decision} {}", verdict.cause.wire_name()),
        |refusal| format!("{decision} {}", refusal.code()),
    )
}

fn table(preset: Preset, grants: impl Fn(&str) -> Vec<Grant>) -> String {
    let policy = Policy::builtin(preset);
    let mut out = String::new();
    for mode in MODES {
        writeln!(out, "== {} ({})", mode.name(), preset.name()).unwrap();
        for (name, facts) in rows() {
            write!(out, "{name:<29}").unwrap();
            for permission_mode in PERMISSION_MODES {
                let mut situation = situation(&facts.tool, mode, permission_mode);
                situation.grants = grants(&facts.tool);
                let verdict = evaluate(&facts, &situation, &policy);
                write!(out, " | {:<33}", cell(&verdict)).unwrap();
            }
            out.truncate(out.trim_end().len());
            out.push('\n');
        }
    }
    out
}

#[test]
fn every_mode_with_every_tool_in_every_scope() {
    insta::assert_snapshot!(table(Preset::Standard, |_| Vec::new()));
}

#[test]
fn every_mode_with_every_tool_in_every_scope_with_a_roots_grant() {
    insta::assert_snapshot!(table(Preset::Standard, |tool| vec![Grant {
        tool_name: tool.to_owned(),
        scope: GrantScope::Roots,
    }]));
}

#[test]
fn every_mode_with_every_tool_in_every_scope_with_an_outside_grant() {
    insta::assert_snapshot!(table(Preset::Standard, |tool| vec![Grant {
        tool_name: tool.to_owned(),
        scope: GrantScope::Outside,
    }]));
}

#[test]
fn every_mode_with_every_tool_in_every_scope_under_strict() {
    insta::assert_snapshot!(table(Preset::Strict, |tool| vec![Grant {
        tool_name: tool.to_owned(),
        scope: GrantScope::Outside,
    }]));
}
