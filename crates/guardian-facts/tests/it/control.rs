//! Tools of the host itself: their arguments, and that they touch nothing but what they say.

use guardian_facts::input::{AskInput, MAX_PLAN_BYTES, SubmitInput};
use guardian_facts::{AccessKind, ArgumentError, ExtractError, ToolInput};
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
fn options_are_trimmed_and_each_is_there_once() {
    let input = AskInput::parse(&raw(json!({"questions": [
        {"question": " Which? ", "options": [" a ", "b", "a", "", "  "], "multi_select": true},
        {"question": "Or?", "options": ["x"]},
    ]})))
    .unwrap();
    assert_eq!(input.questions[0].question, " Which? ");
    assert_eq!(input.questions[0].options, ["a", "b"]);
    assert!(input.questions[0].multi_select && !input.questions[1].multi_select);
}

#[test]
fn questions_that_do_not_fit_are_named() {
    let one = json!({"question": "q", "options": ["a"]});
    for (args, pointer) in [
        (json!({}), "/questions"),
        (json!({"questions": []}), "/questions"),
        (json!({"questions": vec![one.clone(); 21]}), "/questions"),
        (json!({"questions": ["q"]}), "/questions/0"),
        (
            json!({"questions": [one, {"options": ["a"]}]}),
            "/questions/1/question",
        ),
        (
            json!({"questions": [{"question": "q"}]}),
            "/questions/0/options",
        ),
        (
            json!({"questions": [{"question": "q", "options": [" "]}]}),
            "/questions/0/options",
        ),
        (
            json!({"questions": [{"question": "q", "options": [1]}]}),
            "/questions/0/options",
        ),
        (
            json!({"questions": [{"question": " ", "options": ["a"]}]}),
            "/questions/0/question",
        ),
        (
            json!({"questions": [{"question": "q", "options": ["a"], "extra": 1}]}),
            "/questions/0/extra",
        ),
    ] {
        assert_eq!(refused("asktool", args.clone()).pointer, pointer, "{args}");
    }
}

#[test]
fn a_plan_is_taken_byte_for_byte_up_to_its_bound() {
    let markdown = "\u{feff}# a\r\n\n\ttab \u{1d49c}  \n";
    let submit = |markdown: &str| {
        SubmitInput::parse(&raw(
            json!({"title": "t", "markdown": markdown, "question": "q"}),
        ))
    };
    assert_eq!(submit(markdown).unwrap().markdown, markdown);
    assert!(submit(&"x".repeat(MAX_PLAN_BYTES)).is_ok());
    let error = submit(&"x".repeat(MAX_PLAN_BYTES + 1)).unwrap_err();
    assert_eq!(error.pointer, "/markdown");
    assert_eq!(submit(" \n").unwrap_err().pointer, "/markdown");
}

#[test]
fn control_tools_touch_nothing_and_take_nothing_else() {
    let world = World::new();
    let submit = json!({"title": "t", "markdown": "m", "question": "q"});
    for (tool, args) in [
        (
            "asktool",
            json!({"questions": [{"question": "q", "options": ["a"]}]}),
        ),
        ("new_context", json!({})),
        ("ToolSearch", json!({"query": "x"})),
        ("EnterPlanMode", json!({})),
        ("EnterGoalMode", json!({})),
        ("SubmitPlan", submit.clone()),
        ("SubmitGoal", submit),
        ("Task", json!({"agent": "a", "task": "t"})),
    ] {
        let extraction = world.extract(tool, args.clone()).unwrap();
        let facts = extraction.facts;
        assert!(facts.accesses.is_empty() && facts.commands.is_empty() && facts.opacity.is_empty());
        assert!(!facts.summary.is_empty() && !matches!(extraction.input, ToolInput::Other(_)));
        let mut more = args;
        more["permissionMode"] = "auto".into();
        assert_eq!(refused(tool, more).pointer, "/permissionMode", "{tool}");
    }
}

#[test]
fn a_preview_reads_the_file_it_names() {
    let facts = World::new()
        .extract("BrowserPreview", json!({"file_path": "README.md"}))
        .unwrap()
        .facts;
    assert_eq!(facts.accesses.len(), 1);
    assert_eq!(facts.accesses[0].kind, AccessKind::Read);
    assert_eq!(
        refused("BrowserPreview", json!({"path": ""})).pointer,
        "/path"
    );
}
