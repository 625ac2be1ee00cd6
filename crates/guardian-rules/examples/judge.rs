//! Judges a few calls under a policy of your own and prints the verdicts, as text to read and as
//! the stable JSON form.
//!
//! The same lines are the recipe for testing your policy with `insta`: build the facts (or extract
//! them with guardian-facts), evaluate, and snapshot [`VerdictV1`]:
//!
//! ```ignore
//! insta::assert_json_snapshot!(VerdictV1::from(&evaluate(&facts, &situation, &policy)));
//! ```

use std::collections::BTreeSet;
use std::path::Path;

use guardian_facts::{
    Access, AccessDetail, AccessKind, AccessSource, Facts, FileKind, PathFact, RootPaths, Scope,
    Sensitivity, Target,
};
use guardian_rules::{
    CompileContext, Layer, OperatingMode, PermissionMode, Policy, PolicyText, Preset, SandboxState,
    Situation, Trust, VerdictV1, evaluate, explain, tool_kind, tool_risk,
};

const POLICY: &str = r#"
version = 1

[[rule]]
id = "docs"
effect = "allow"
tool = ["Write", "Edit"]
paths = ["docs/**"]

[[rule]]
id = "generated"
effect = "deny"
access = "write"
paths = ["src/generated/**"]
reason = "run `make generate` instead"
"#;

#[expect(clippy::print_stdout, reason = "an example shows what it does")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = PolicyText {
        layer: Layer::User,
        name: "policy.toml".to_owned(),
        text: POLICY.to_owned(),
        trust: Trust::Untrusted,
    };
    let cx = CompileContext {
        workspace: Some(Path::new("/home/dev/proj")),
        home: Path::new("/home/dev"),
        probe: None,
    };
    let policy = Policy::compile(&[text], Preset::Standard, &cx)?;

    for path in ["docs/guide.md", "src/generated/api.rs", "src/main.rs"] {
        let facts = writes(path);
        let situation = in_agent_mode("Write");
        println!("{}", explain(&facts, &situation, &policy).join("\n"));
    }

    let verdict = evaluate(&writes("docs/guide.md"), &in_agent_mode("Write"), &policy);
    println!(
        "{}",
        serde_json::to_string_pretty(&VerdictV1::from(&verdict))?
    );
    Ok(())
}

/// Facts of a Write to a file of the workspace.
fn writes(path: &str) -> Facts {
    let mut facts = Facts::empty("Write");
    facts.summary = format!("writes {path} in the workspace");
    facts.accesses.push(Access {
        kind: AccessKind::Write,
        detail: AccessDetail::Plain,
        target: Target::Exact(PathFact {
            written: path.to_owned(),
            path: Path::new("/home/dev/proj").join(path),
            scope: Scope::Workspace,
            sensitivity: Sensitivity::default(),
            kind: Some(FileKind::File),
            links: 1,
            identity: None,
        }),
        recursive: false,
        source: AccessSource::PathArgument,
    });
    facts
}

/// A session in agent mode that asks.
fn in_agent_mode(tool: &str) -> Situation {
    Situation {
        mode: OperatingMode::Agent,
        permission_mode: PermissionMode::Ask,
        roots: RootPaths {
            workspace: Some("/home/dev/proj".into()),
            scratch: "/data/scratch/s1".into(),
            home: "/home/dev".into(),
            guardian_data: "/data".into(),
            guardian_config: vec!["/home/dev/.config/guardian".into()],
            guardian_executables: vec!["/usr/local/bin/guardian".into()],
        },
        grants: Vec::new(),
        delegate: None,
        tool_kind: tool_kind(tool),
        tool_risk: tool_risk(tool),
        attended: true,
        sandbox: SandboxState::Unavailable,
        accepted_commands: BTreeSet::new(),
        snapshot_possible: true,
        overwrites_unread: false,
    }
}
