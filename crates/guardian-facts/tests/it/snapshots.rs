//! The serialised form of facts. A change here is a change of what users snapshot.

use guardian_facts::FactsV1;
use serde_json::{Value, json};

use crate::world::World;

fn facts(tool: &str, args: Value) -> FactsV1 {
    FactsV1::from(&World::new().extract(tool, args).unwrap().facts)
}

#[test]
fn read_in_the_workspace() {
    insta::assert_json_snapshot!(facts("Read", json!({"path": "src/main.rs"})));
}

#[test]
fn read_of_a_key_through_a_link() {
    insta::assert_json_snapshot!(facts("Read", json!({"path": "keys/id_ed25519"})));
}

#[test]
fn write_of_a_git_hook_that_does_not_exist() {
    insta::assert_json_snapshot!(facts(
        "Write",
        json!({"path": ".git/hooks/pre-commit", "content": "x"})
    ));
}

#[test]
fn edit_of_a_file_with_two_links() {
    insta::assert_json_snapshot!(facts(
        "Edit",
        json!({"path": "twin.md", "old_string": "a", "new_string": "b"})
    ));
}

#[test]
fn glob_of_an_outside_directory() {
    insta::assert_json_snapshot!(facts(
        "Glob",
        json!({"pattern": "*.png", "path": "/srv/out"})
    ));
}

#[test]
fn read_of_a_path_that_cannot_be_resolved() {
    insta::assert_json_snapshot!(facts("Read", json!({"path": "loop"})));
}

#[test]
fn unknown_tool() {
    insta::assert_json_snapshot!(facts("teleport", json!({"to": "mars"})));
}

#[test]
fn every_kind_of_fact() {
    use guardian_facts::*;
    let path = World::new().place("README.md");
    let span = Span { start: 0, end: 4 };
    let command = CommandFact {
        program: Program {
            written: "./x.sh".to_owned(),
            form: ProgramForm::Relative,
            name: Some("x.sh".to_owned()),
            path: Some(path.clone()),
        },
        argv: vec![
            Word::literal("./x.sh", span),
            Word {
                parts: vec![WordPart::Glob("*.md".to_owned())],
                span,
            },
        ],
        assignments: vec![Assignment {
            name: "PATH".to_owned(),
            value: Word::literal(".", span),
            changes_execution: true,
            span,
        }],
        redirects: vec![Redirect {
            kind: command::RedirectKind::Truncate,
            target: Word::literal("out.txt", span),
            inert: false,
            span,
        }],
        cwd: Some("/home/dev/proj".into()),
        place: Place {
            conditional: true,
            piped_from: Some(0),
            elsewhere: true,
            ..Place::default()
        },
        effects_known: Effects::Opaque,
        effects: vec![Effect::Network, Effect::RunsCode],
        wrapper: true,
        walks: true,
        environment: None,
        span,
    };
    let facts = Facts {
        accesses: vec![
            Access {
                kind: AccessKind::Delete,
                detail: AccessDetail::Rename,
                target: Target::Pattern {
                    written: "*.md".to_owned(),
                    pattern: "/home/dev/proj/*.md".to_owned(),
                    base: World::new().place("."),
                    may_match: Sensitivity {
                        secret: true,
                        ..Sensitivity::default()
                    },
                },
                recursive: true,
                source: AccessSource::Command(0),
            },
            Access {
                kind: AccessKind::Write,
                detail: AccessDetail::Truncate,
                target: Target::Unknown {
                    written: "$X/".to_owned(),
                    reason: "`X` is not known".to_owned(),
                    when_empty: Some("/".into()),
                    temporary: true,
                },
                recursive: false,
                source: AccessSource::Redirect(0),
            },
        ],
        commands: vec![command],
        endpoints: vec![Endpoint {
            host: None,
            port: Some(80),
            command: Some(0),
        }],
        code_files: vec![CodeFile {
            path,
            hash: None,
            command: 0,
        }],
        opacity: vec![Opacity {
            span: Some(span),
            code: "inline-code",
            reason: "why".to_owned(),
            command: Some(0),
        }],
        reading: Reading::Partial,
        findings: vec![LooseFinding {
            span,
            words: vec!["rm".to_owned(), "-rf".to_owned()],
            facts: Box::new(Facts::unknown("Bash", "x")),
            command_position: true,
        }],
        summary: "runs unknown program ./x.sh".to_owned(),
        ..Facts::empty("Bash")
    };
    insta::assert_json_snapshot!(FactsV1::from(&facts));
}

#[test]
fn the_schema_describes_what_is_written() {
    let schema = schemars::schema_for!(FactsV1).to_value();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (tool, args) in [
        ("Read", json!({"path": "keys/id_ed25519"})),
        ("Glob", json!({"pattern": "*", "path": "/srv/out"})),
        ("Read", json!({"path": "loop"})),
        ("teleport", json!({})),
        ("Bash", json!({"command": "ls"})),
    ] {
        let value = serde_json::to_value(facts(tool, args)).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{tool}: {errors:?}");
    }
}
