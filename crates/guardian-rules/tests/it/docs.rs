//! Every example of `docs/rules.md` loads, and its `match` and `not_match` hold.

use std::path::Path;

use guardian_facts::Facts;
use guardian_rules::{
    CompileContext, ExampleReader, Layer, Situation, check_examples, policy_schema,
};

use crate::build::{WORKSPACE, and, asking, bash, file_tool, opaque, place, text};

/// Reads lists of plain commands: enough for the page, whose examples are not about shell syntax.
struct PlainReader;

impl ExampleReader for PlainReader {
    fn read(&self, tool: &str, text: &str) -> Result<(Facts, Situation), String> {
        let facts = if tool == "Bash" {
            text.split(" && ").fold(bash(), |facts, words| {
                let mut facts = and(facts, opaque(words, &[]));
                for host in words
                    .split_whitespace()
                    .filter_map(|word| word.strip_prefix("https://"))
                {
                    let host = host.split('/').next().unwrap_or(host);
                    facts = crate::build::reaching(facts, host);
                }
                facts
            })
        } else {
            file_tool(tool, place(text))
        };
        let situation = asking(&facts);
        Ok((facts, situation))
    }
}

fn blocks(page: &str) -> Vec<String> {
    page.split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn every_example_of_the_page_on_rules_holds() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules.md"))
        .unwrap();
    let blocks = blocks(&page);
    assert!(blocks.len() >= 10, "the page has examples");
    let cx = CompileContext {
        workspace: Some(Path::new(WORKSPACE)),
        home: Path::new("/home/dev"),
        probe: None,
    };
    for block in blocks {
        let mut file = text(Layer::User, &block);
        if block.starts_with("version") {
            file.text.clone_from(&block);
        }
        if let Err(errors) = check_examples(&[file], &cx, &PlainReader) {
            panic!("{block}\n{errors}");
        }
    }
}

#[test]
fn an_example_that_does_not_hold_is_reported() {
    let cx = CompileContext {
        workspace: Some(Path::new(WORKSPACE)),
        home: Path::new("/home/dev"),
        probe: None,
    };
    let rules = "[[rule]]\nid = \"x\"\neffect = \"allow\"\ncommand = [\"cargo\", \"test\"]\nmatch = [\"cargo build\"]\nnot_match = [\"cargo test -p x\"]\n";
    let errors = check_examples(&[text(Layer::User, rules)], &cx, &PlainReader).unwrap_err();
    insta::assert_snapshot!(errors, @r"
    user.toml:6:11: rule `x`: `cargo build` is in `match`, but the rule does not match it
    user.toml:7:15: rule `x`: `cargo test -p x` is in `not_match`, but the rule matches it
    ");
}

/// A rule with so many examples, each of so many bytes; all of them hold.
fn with_examples(count: usize, bytes: usize) -> String {
    let examples: Vec<String> = (0..count)
        .map(|number| format!("\"make {number:0>width$}\"", width = bytes - "make ".len()))
        .collect();
    format!(
        "[[rule]]\nid = \"x\"\neffect = \"deny\"\ncommand = [\"make\"]\nmatch = [{}]\n",
        examples.join(", ")
    )
}

/// Counts what is read: reading is what the bound is there to save.
struct CountingReader(std::cell::Cell<usize>);

impl ExampleReader for CountingReader {
    fn read(&self, tool: &str, text: &str) -> Result<(Facts, Situation), String> {
        self.0.set(self.0.get() + 1);
        PlainReader.read(tool, text)
    }
}

#[test]
fn the_examples_of_a_file_that_the_user_did_not_write_are_bounded_in_number_and_length() {
    let cx = CompileContext {
        workspace: Some(Path::new(WORKSPACE)),
        home: Path::new("/home/dev"),
        probe: None,
    };
    for (layer, count, bytes, read) in [
        (Layer::Workspace, 256, 10, Ok(256)),
        (Layer::Workspace, 257, 10, Err(())),
        (Layer::Workspace, 16, 1024, Ok(16)),
        (Layer::Workspace, 16, 1025, Err(())),
        (Layer::Session, 257, 10, Err(())),
        (Layer::User, 257, 10, Ok(257)),
        (Layer::Managed, 16, 1025, Ok(16)),
    ] {
        let reader = CountingReader(std::cell::Cell::new(0));
        let file = text(layer, &with_examples(count, bytes));
        let checked = check_examples(&[file], &cx, &reader);
        let case = format!("{} {count} × {bytes}", layer.name());
        match read {
            Ok(expected) => {
                assert_eq!(checked, Ok(()), "{case}");
                assert_eq!(reader.0.get(), expected, "{case}");
            }
            Err(()) => {
                let errors = checked.unwrap_err().to_string();
                assert!(
                    errors.contains("the examples of the file are more than 256"),
                    "{case}: {errors}"
                );
                assert_eq!(reader.0.get(), 0, "{case}: none is read");
            }
        }
    }
}

#[test]
fn the_schema_describes_every_key() {
    let schema = policy_schema();
    let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
    insta::assert_debug_snapshot!(keys);
    let rule = schema["$defs"]["RuleFile"]["properties"]
        .as_object()
        .unwrap();
    for (key, property) in rule {
        let described = property.get("description").is_some();
        assert!(described, "`{key}` is described");
    }
    assert_eq!(schema["$defs"]["RuleFile"]["additionalProperties"], false);
}
