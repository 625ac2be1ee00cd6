//! Measures a decision with many rules against one with few (at most 2 ×), and a whole decision,
//! facts included, interleaved in one run.
//!
//! `cargo xtask bench rules [-- ROUNDS]`

#![expect(clippy::print_stdout, reason = "a measurement prints its figures")]

use std::hint::black_box;
use std::path::Path;

use guardian_facts::{MemoryProbe, RawArgs, RootPaths, ToolCall};
use guardian_host::judge::{Caller, Judge, OverwriteState};
use guardian_host::policies::PolicyInForce;
use guardian_rules::{
    CompileContext, Layer, OperatingMode, PermissionMode, Policy, PolicyText, Preset, SandboxState,
    Trust,
};
use guardian_testkit::measure::{Contest, timed};
use serde_json::json;

type Failure = Box<dyn std::error::Error>;

/// Decisions in one run.
const DECISIONS: usize = 200;

fn main() -> Result<(), Failure> {
    let rounds = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 100,
    };
    let judge = Judge::builtin();
    let probe = MemoryProbe::new()
        .directory("/home/dev/proj/src")
        .file("/home/dev/proj/README.md", "x");
    let caller = caller();
    let commands = [
        "git status && rg -n main src | head -5",
        "cargo test -p x",
        "npm run build 2>&1 | tail -20",
        "rm -rf build",
        "cat README.md",
    ];
    let mut facts = Vec::new();
    for command in commands {
        let call = ToolCall {
            tool: "Bash".to_owned(),
            args: RawArgs::new(
                json!({ "command": command })
                    .as_object()
                    .cloned()
                    .unwrap_or_default(),
            ),
        };
        facts.push(judge.extract(&call, &caller.roots, &probe)?.facts);
    }
    let decide = |policy: PolicyInForce| {
        let (judge, facts, caller) = (&judge, &facts, &caller);
        move || {
            timed(|| {
                for index in 0..DECISIONS {
                    let facts = &facts[index % facts.len()];
                    black_box(judge.decide(facts, caller, OverwriteState::NONE, &policy));
                }
            })
        }
    };
    let report = Contest::new(
        "a decision over known facts",
        "10 rules",
        decide(policy(10)?),
    )
    .against("100 rules", Some(2.0), decide(policy(100)?))
    .against("1000 rules", Some(2.0), decide(policy(1000)?))
    .run(rounds);
    println!("{report}");
    Ok(())
}

/// Rules of all kinds: by command, program, path, host and effect.
fn policy(rules: usize) -> Result<PolicyInForce, Failure> {
    let mut text = String::from("version = 1\npreset = \"balanced\"\n");
    for number in 0..rules {
        let condition = match number % 5 {
            0 => format!("command = [\"tool{number}\", \"run\"]"),
            1 => format!("program = \"program{number}\""),
            2 => format!("tool = [\"Write\", \"Edit\"]\npaths = [\"area{number}/**\"]"),
            3 => format!("host = \"host{number}.example\""),
            _ => format!("command = [\"git\", \"verb{number}\"]"),
        };
        let effect = ["allow", "ask", "deny"][number % 3];
        text.push_str(&format!(
            "[[rule]]\nid = \"r{number}\"\neffect = \"{effect}\"\n{condition}\n"
        ));
    }
    let text = PolicyText {
        layer: Layer::User,
        name: "policy.toml".to_owned(),
        text,
        trust: Trust::Trusted,
    };
    let cx = CompileContext {
        workspace: Some(Path::new("/home/dev/proj")),
        home: Path::new("/home/dev"),
        probe: None,
    };
    let policy = Policy::compile(&[text], Preset::Standard, &cx)?;
    Ok(PolicyInForce::only(std::sync::Arc::new(policy)))
}

fn caller() -> Caller {
    Caller {
        mode: OperatingMode::Agent,
        permission_mode: PermissionMode::Ask,
        roots: RootPaths {
            workspace: Some("/home/dev/proj".into()),
            scratch: "/data/scratch/s".into(),
            home: "/home/dev".into(),
            guardian_data: "/data".into(),
            guardian_config: Vec::new(),
            guardian_executables: Vec::new(),
        },
        grants: Vec::new(),
        delegate: None,
        attended: true,
        sandbox: SandboxState::Available,
        accepted_commands: std::collections::BTreeSet::new(),
    }
}
