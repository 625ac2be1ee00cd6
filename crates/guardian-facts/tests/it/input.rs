//! Arguments of the built-in tools: what is accepted, what is refused and how it is said.

use guardian_facts::input::{
    BashInput, EditInput, GlobInput, GrepInput, OutputMode, ReadInput, WriteInput, tool_catalogue,
};
use guardian_facts::{ArgumentError, ExtractError};
use serde_json::{Value, json};

use crate::world::{World, raw};

#[track_caller]
fn refused(tool: &str, args: Value) -> ArgumentError {
    match World::new().extract(tool, args.clone()) {
        Err(ExtractError::Argument(error)) => error,
        other => panic!("{tool} {args} was not refused: {other:?}"),
    }
}

#[test]
fn defaults_are_those_of_the_contract() {
    let read = ReadInput::parse(&raw(json!({"path": "a"}))).unwrap();
    assert_eq!((read.offset, read.limit, read.notices.len()), (1, 2000, 0));
    let glob = GlobInput::parse(&raw(json!({"pattern": "*.rs"}))).unwrap();
    assert_eq!((glob.path, glob.limit), (None, 100));
    let grep = GrepInput::parse(&raw(json!({"pattern": "x"}))).unwrap();
    assert_eq!(
        (grep.output_mode, grep.head_limit, grep.context),
        (OutputMode::Content, 200, 0)
    );
    let bash = BashInput::parse(&raw(json!({"command": "true"}))).unwrap();
    assert_eq!(
        (bash.timeout, bash.background, bash.description),
        (60, false, None)
    );
}

#[test]
fn aliases_are_accepted_and_null_is_absent() {
    for name in ["path", "file_path", "filePath"] {
        assert_eq!(
            ReadInput::parse(&raw(json!({name: "a"}))).unwrap().path,
            "a"
        );
        assert_eq!(
            WriteInput::parse(&raw(json!({name: "a", "content": ""})))
                .unwrap()
                .path,
            "a"
        );
    }
    let edit = EditInput::parse(&raw(
        json!({"path": "a", "oldString": "x", "newString": "y", "edits": null}),
    ))
    .unwrap();
    assert_eq!(edit.edits.len(), 1);
    let edit = EditInput::parse(&raw(
        json!({"path": "a", "edits": [{"oldString": "x", "new_string": "y"}]}),
    ))
    .unwrap();
    assert_eq!(edit.edits[0].old_string, "x");
    for mode in [
        "filesWithMatches",
        "files_with_matches",
        "files-with-matches",
    ] {
        let grep = GrepInput::parse(&raw(
            json!({"pattern": "x", "output_mode": mode, "head_limit": 5}),
        ))
        .unwrap();
        assert_eq!(
            (grep.output_mode, grep.head_limit),
            (OutputMode::FilesWithMatches, 5)
        );
    }
    assert_eq!(
        ReadInput::parse(&raw(json!({"path": "a", "limit": 5.0})))
            .unwrap()
            .limit,
        5
    );
}

#[test]
fn a_limit_above_the_maximum_is_cut_with_a_notice() {
    let read = ReadInput::parse(&raw(json!({"path": "a", "limit": 5000}))).unwrap();
    assert_eq!(read.limit, 2000);
    assert_eq!(
        read.notices,
        ["limit 5000 is above the maximum; 2000 was used"]
    );
    let grep =
        GrepInput::parse(&raw(json!({"pattern": "x", "headLimit": 99999999999_u64}))).unwrap();
    assert_eq!((grep.head_limit, grep.notices.len()), (2000, 1));
    let read = ReadInput::parse(&raw(json!({"path": "a", "offset": 0}))).unwrap();
    assert_eq!((read.offset, read.notices.len()), (1, 1));
}

#[test]
fn numbers_out_of_range_are_refused() {
    for (tool, args) in [
        ("Read", json!({"path": "a", "limit": 0})),
        ("Read", json!({"path": "a", "limit": -1})),
        ("Read", json!({"path": "a", "offset": -1})),
        ("Read", json!({"path": "a", "offset": 1.5})),
        ("Read", json!({"path": "a", "limit": 1e300})),
        ("Glob", json!({"pattern": "*", "limit": 0})),
        ("Grep", json!({"pattern": "x", "headLimit": 0})),
        ("Grep", json!({"pattern": "x", "context": 21})),
        ("Bash", json!({"command": "true", "timeout": 0})),
        ("Bash", json!({"command": "true", "timeout": 301})),
        ("Bash", json!({"command": "true", "timeout": 0.5})),
    ] {
        refused(tool, args);
    }
}

#[test]
fn wrong_types_say_where_what_and_how() {
    let error = refused("Read", json!({"path": 7}));
    assert_eq!(error.pointer, "/path");
    assert_eq!(error.message, "`path` is a number");
    assert_eq!(error.expected, "a string");
    assert_eq!(error.example["path"], "src/main.rs");
    let error = refused(
        "Edit",
        json!({"path": "a", "edits": [{"old_string": "x", "new_string": "y"}, {"old_string": 1, "new_string": "y"}]}),
    );
    assert_eq!(error.pointer, "/edits/1/old_string");
    let error = refused("Edit", json!({"path": "a", "edits": ["x"]}));
    assert_eq!(error.pointer, "/edits/0");
}

#[test]
fn unknown_names_get_the_nearest_one_and_the_accepted_ones() {
    let error = refused("Read", json!({"path": "a", "limt": 5}));
    assert_eq!(
        error.message,
        "unknown argument `limt`; did you mean `limit`?"
    );
    assert_eq!(error.accepted, ["path", "offset", "limit"]);
    assert_eq!(error.pointer, "/limt");
    let error = refused("Read", json!({"path": "a", "a/b~c": 5}));
    assert_eq!(error.pointer, "/a~1b~0c");
    assert_eq!(
        refused("Read", json!({"path": "a", "zzzzzz": 1})).message,
        "unknown argument `zzzzzz`"
    );
}

#[test]
fn an_argument_given_twice_is_refused() {
    let error = refused("Read", json!({"path": "a", "file_path": "b"}));
    assert!(error.message.contains("same argument"), "{}", error.message);
    refused("Read", json!({"path": "a", "file_path": null}));
}

#[test]
fn edit_takes_one_form_only() {
    refused("Edit", json!({"path": "a"}));
    refused("Edit", json!({"path": "a", "old_string": "x"}));
    refused("Edit", json!({"path": "a", "edits": []}));
    refused(
        "Edit",
        json!({"path": "a", "old_string": "x", "new_string": "y", "edits": [{"old_string": "x", "new_string": "y"}]}),
    );
}

#[test]
fn paths_and_patterns_that_cannot_be_are_refused() {
    for args in [
        json!({"path": ""}),
        json!({"path": "a\0b"}),
        json!({"path": "file://host/x"}),
        json!({}),
    ] {
        refused("Read", args);
    }
    for pattern in [
        "", "/etc/*", "../x", "a/../b", "{..,a}/x", "[", "~/x", "C:\\x",
    ] {
        refused("Glob", json!({"pattern": pattern}));
    }
    refused("Grep", json!({"pattern": ""}));
    refused("Grep", json!({"pattern": "x", "include": "["}));
    refused("Bash", json!({"command": "a\0b"}));
    refused("Bash", json!({"command": "x".repeat(256 * 1024 + 1)}));
}

#[test]
fn hostile_names_do_not_flood_the_message() {
    let name = "x".repeat(1 << 20);
    let error = refused("Read", json!({"path": "a", name: 1}));
    assert!(error.message.len() < 300);
}

#[test]
fn every_example_is_accepted_by_its_own_schema_and_parser() {
    for (tool, args) in [
        ("Read", json!({"path": "a", "offset": 3, "limit": 7})),
        (
            "Glob",
            json!({"pattern": "**/*.rs", "path": "src", "limit": 7}),
        ),
        (
            "Grep",
            json!({"pattern": "x", "path": "src", "include": "*.rs", "outputMode": "count", "headLimit": 7, "caseInsensitive": true, "context": 2, "multiline": true, "fixedStrings": true}),
        ),
        ("Write", json!({"path": "a", "content": "x"})),
        (
            "Edit",
            json!({"path": "a", "old_string": "x", "new_string": "y"}),
        ),
        (
            "Edit",
            json!({"path": "a", "edits": [{"old_string": "x", "new_string": "y"}]}),
        ),
        (
            "Bash",
            json!({"command": "true", "timeout": 3, "background": false, "description": "x"}),
        ),
        ("BashOutput", json!({"jobId": "j"})),
        ("BashKill", json!({"jobId": "j"})),
    ] {
        let description = tool_catalogue()
            .into_iter()
            .find(|description| description.name == tool)
            .unwrap();
        let validator = jsonschema::validator_for(&description.schema).unwrap();
        assert!(validator.is_valid(&args), "{tool} {args}");
        World::new().extract(tool, args).unwrap();
    }
}

#[test]
fn what_a_schema_refuses_the_parser_refuses() {
    for (tool, args) in [
        ("Read", json!({"path": "a", "nonsense": 1})),
        ("Read", json!({"path": ["a"]})),
        ("Read", json!({"path": ""})),
        ("Grep", json!({"pattern": "x", "context": 21})),
        ("Bash", json!({"command": "true", "timeout": 301})),
        ("Edit", json!({"path": "a", "edits": []})),
        ("BashKill", json!({"jobId": ""})),
    ] {
        let description = tool_catalogue()
            .into_iter()
            .find(|description| description.name == tool)
            .unwrap();
        let validator = jsonschema::validator_for(&description.schema).unwrap();
        assert!(!validator.is_valid(&args), "{tool} {args}");
        refused(tool, args);
    }
}

/// Tools that take nothing (SPEC §2).
const WITHOUT_ARGUMENTS: [&str; 3] = ["new_context", "EnterPlanMode", "EnterGoalMode"];

#[test]
fn every_argument_in_a_schema_is_described() {
    for description in tool_catalogue() {
        assert_eq!(description.schema["type"], "object", "{}", description.name);
        let properties = description.schema["properties"].as_object();
        if WITHOUT_ARGUMENTS.contains(&description.name) {
            let none = properties.is_none_or(serde_json::Map::is_empty);
            assert!(none, "{}", description.name);
            assert_eq!(description.schema["additionalProperties"], false);
            continue;
        }
        let properties = properties.unwrap();
        assert!(!properties.is_empty(), "{}", description.name);
        for (name, property) in properties {
            assert!(
                property["description"].is_string(),
                "{} {name}",
                description.name
            );
        }
    }
}

#[test]
fn tool_schemas() {
    let schemas: Value = tool_catalogue()
        .into_iter()
        .map(|tool| json!({"name": tool.name, "risk": tool.risk, "schema": tool.schema}))
        .collect();
    insta::assert_json_snapshot!(schemas);
}
