//! Extraction through the registry.

use guardian_facts::{
    AccessKind, AccessSource, DeclaredExtractor, DeclaredPath, ExtractError, Extraction,
    ExtractorRegistry, FactContext, Facts, RawArgs, Reading, RegisterError, Scope, Target,
    ToolInput, ToolPathExtractor, ToolPattern,
};
use serde_json::{Value, json};

use crate::world::{World, call};

#[track_caller]
fn facts(tool: &str, args: Value) -> Facts {
    World::new().extract(tool, args).unwrap().facts
}

fn shape(facts: &Facts) -> Vec<(AccessKind, AccessSource, bool)> {
    facts
        .accesses
        .iter()
        .map(|access| (access.kind, access.source, access.recursive))
        .collect()
}

#[test]
fn file_tools_claim_what_they_touch() {
    use AccessKind::{List, Read, Write};
    use AccessSource::{PathArgument, Walk};
    assert_eq!(
        shape(&facts("Read", json!({"path": "README.md"}))),
        [(Read, PathArgument, false)]
    );
    assert_eq!(
        shape(&facts("Write", json!({"path": "a", "content": ""}))),
        [(Write, PathArgument, false)]
    );
    assert_eq!(
        shape(&facts(
            "Edit",
            json!({"path": "README.md", "old_string": "a", "new_string": "b"})
        )),
        [(Read, PathArgument, false), (Write, PathArgument, false)]
    );
    assert_eq!(
        shape(&facts("Glob", json!({"pattern": "*"}))),
        [(List, Walk, true)]
    );
    assert_eq!(
        shape(&facts("Glob", json!({"pattern": "*", "path": "src"}))),
        [(List, PathArgument, false), (List, Walk, true)]
    );
    assert_eq!(
        shape(&facts("Grep", json!({"pattern": "x"}))),
        [(Read, Walk, true)]
    );
    assert_eq!(
        shape(&facts("Grep", json!({"pattern": "x", "path": "src"}))),
        [(Read, PathArgument, false), (Read, Walk, true)]
    );
    assert_eq!(
        shape(&facts("Grep", json!({"pattern": "x", "path": "README.md"}))),
        [(Read, PathArgument, false)]
    );
}

#[test]
fn file_tools_are_complete_and_run_nothing() {
    for (tool, args) in [
        ("Read", json!({"path": "README.md"})),
        ("Grep", json!({"pattern": "$(rm -rf /)"})),
        ("Write", json!({"path": "a", "content": "rm -rf /"})),
    ] {
        let facts = facts(tool, args);
        assert_eq!(facts.reading, Reading::Complete);
        assert!(facts.commands.is_empty() && facts.opacity.is_empty());
    }
}

#[test]
fn summaries_name_the_resolved_place() {
    #[track_caller]
    fn check(tool: &str, args: Value, expected: &str) {
        assert_eq!(facts(tool, args).summary, expected);
    }
    check(
        "Write",
        json!({"path": "src/a.rs", "content": ""}),
        "writes src/a.rs in the workspace",
    );
    check(
        "Read",
        json!({"path": "~/x"}),
        "reads ~/x outside the workspace",
    );
    check(
        "Read",
        json!({"path": "notes.md"}),
        "reads /srv/victim.txt outside the workspace",
    );
    check(
        "Glob",
        json!({"pattern": "*.rs"}),
        "lists the workspace matching `*.rs`",
    );
    check(
        "Grep",
        json!({"pattern": "a\nb", "path": "src"}),
        "searches src in the workspace for `a\\nb`",
    );
    check(
        "Read",
        json!({"path": "loop"}),
        "reads `loop`, which cannot be resolved",
    );
    check(
        "BashKill",
        json!({"jobId": "j1"}),
        "ends background job `j1`",
    );
}

#[test]
fn a_path_that_cannot_be_resolved_is_an_unknown_target() {
    let facts = facts("Read", json!({"path": "/locked/x"}));
    assert!(
        matches!(&facts.accesses[0].target, Target::Unknown { reason, .. } if reason.contains("permission denied"))
    );
}

#[test]
fn a_session_without_a_workspace_has_no_relative_paths_and_no_bash() {
    let world = World::without_workspace();
    for (tool, args) in [
        ("Read", json!({"path": "a"})),
        ("Glob", json!({"pattern": "*"})),
        ("Grep", json!({"pattern": "x"})),
        ("Bash", json!({"command": "true"})),
    ] {
        assert_eq!(
            world.extract(tool, args).unwrap_err(),
            ExtractError::WorkspaceRequired,
            "{tool}"
        );
    }
    assert!(
        world
            .extract("Read", json!({"path": "/srv/victim.txt"}))
            .is_ok()
    );
}

#[test]
fn bash_facts_are_those_of_the_shell_reading() {
    let extraction = World::new()
        .extract("Bash", json!({"command": "true", "timeout": 5}))
        .unwrap();
    assert!(matches!(&extraction.input, ToolInput::Bash(input) if input.timeout == 5));
    assert_eq!(extraction.facts.tool, "Bash");
}

#[test]
fn an_unknown_tool_gives_unknown_facts_and_the_nearest_names() {
    let facts = facts("Raed", json!({"x": 1}));
    assert_eq!(facts.reading, Reading::Partial);
    assert_eq!(facts.tool, "Raed");
    let registry = ExtractorRegistry::builtin();
    assert!(!registry.contains("Raed"));
    assert_eq!(registry.nearest("Raed"), ["Read"]);
    assert_eq!(
        registry.nearest("grep").first().map(String::as_str),
        Some("Grep")
    );
}

#[test]
fn the_probe_log_holds_every_question() {
    let extraction = World::new()
        .extract("Read", json!({"path": "server.pem"}))
        .unwrap();
    let questions: Vec<&str> = extraction
        .probe_log
        .0
        .iter()
        .map(|entry| entry.question)
        .collect();
    // The path, its content, the links above it, and what git says about itself.
    assert_eq!(questions[..3], ["resolve", "read", "links"]);
    assert_eq!(questions.last(), Some(&"read"));
    assert!(
        extraction.probe_log.0[0]
            .answer
            .starts_with("/home/dev/proj/server.pem (File, ")
    );
}

#[test]
fn the_same_input_gives_the_same_output() {
    let args = json!({"pattern": "x", "path": "src"});
    assert_eq!(
        World::new().extract("Grep", args.clone()),
        World::new().extract("Grep", args)
    );
}

fn declared(tool: &str) -> DeclaredExtractor {
    DeclaredExtractor {
        tool: tool.to_owned(),
        paths: vec![DeclaredPath {
            pointer: "/files".to_owned(),
            access: AccessKind::Write,
        }],
        command: None,
        url: Some("/url".to_owned()),
    }
}

#[test]
fn a_declared_extractor_adds_facts_and_stays_opaque() {
    let mut registry = ExtractorRegistry::builtin();
    registry.register(Box::new(declared("deploy"))).unwrap();
    let world = World::new();
    let args =
        json!({"files": ["README.md", "~/.ssh/id_ed25519"], "url": "https://Example.com:8443/x"});
    let facts = registry
        .extract(&call("deploy", args), &world.context())
        .unwrap()
        .facts;
    assert_eq!(facts.reading, Reading::Partial);
    assert_eq!(facts.opacity[0].code, "declared-tool");
    assert_eq!(facts.accesses.len(), 2);
    let key = facts.accesses[1].exact().unwrap();
    assert!(key.sensitivity.sensitive);
    assert_eq!(key.scope, Scope::Outside);
    assert_eq!(facts.endpoints[0].host.as_deref(), Some("example.com"));
    assert_eq!(facts.endpoints[0].port, Some(8443));
}

#[test]
fn a_declared_argument_of_another_type_is_refused_not_skipped() {
    let mut registry = ExtractorRegistry::builtin();
    registry.register(Box::new(declared("deploy"))).unwrap();
    let world = World::new();
    for args in [
        json!({"files": 7}),
        json!({"files": ["a", 7]}),
        json!({"url": {}}),
    ] {
        let result = registry.extract(&call("deploy", args), &world.context());
        assert!(matches!(result, Err(ExtractError::Argument(_))));
    }
}

#[test]
fn names_that_are_taken_or_reserved_cannot_be_registered() {
    let mut registry = ExtractorRegistry::builtin();
    #[track_caller]
    fn refused(registry: &mut ExtractorRegistry, name: &str) -> RegisterError {
        registry.register(Box::new(declared(name))).unwrap_err()
    }
    for name in ["Read", "read", "BASH", "Task", "asktool", "SubmitPlan"] {
        assert!(
            matches!(refused(&mut registry, name), RegisterError::BuiltIn(_)),
            "{name}"
        );
    }
    for name in ["plugin_a_b", "mcp_x_y", "MCP_x"] {
        assert!(
            matches!(refused(&mut registry, name), RegisterError::Prefix(_)),
            "{name}"
        );
    }
    for name in ["", "a b", "a\u{200b}", "Rеad"] {
        assert!(
            matches!(refused(&mut registry, name), RegisterError::Name(_)),
            "{name}"
        );
    }
    registry.register(Box::new(declared("deploy"))).unwrap();
    assert_eq!(
        refused(&mut registry, "Deploy"),
        RegisterError::Duplicate("Deploy".to_owned())
    );
}

/// An embedder's own extractor.
struct Nothing;

impl ToolPathExtractor for Nothing {
    fn tool(&self) -> ToolPattern {
        ToolPattern::Exact("nothing".to_owned())
    }

    fn extract(&self, args: &RawArgs, _cx: &FactContext<'_>) -> Result<Extraction, ExtractError> {
        Ok(Extraction {
            input: ToolInput::Other(args.clone()),
            facts: Facts::empty("nothing"),
            probe_log: guardian_facts::ProbeLog::default(),
        })
    }
}

#[test]
fn an_embedder_registers_an_extractor_of_its_own() {
    let mut registry = ExtractorRegistry::builtin();
    registry.register(Box::new(Nothing)).unwrap();
    let world = World::new();
    let extraction = registry
        .extract(&call("nothing", json!({})), &world.context())
        .unwrap();
    assert_eq!(extraction.facts.reading, Reading::Complete);
    assert!(registry.names().any(|name| name == "nothing"));
}

#[test]
fn every_described_tool_has_an_extractor() {
    let registry = ExtractorRegistry::builtin();
    for tool in guardian_facts::tool_catalogue() {
        assert!(registry.contains(tool.name), "{}", tool.name);
    }
}
