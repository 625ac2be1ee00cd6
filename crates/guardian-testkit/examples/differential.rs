//! Another parser of bash against the reading: every command that it sees in a generated program
//! must be in the reading, or the reading must be Partial. `cargo xtask fuzz brush`.
//!
//! Its tree is walked as JSON, so that no kind of node can be forgotten.

#![expect(clippy::print_stdout, reason = "a fuzzer prints what it found")]

#[path = "../../guardian-facts/tests/it/shell_oracle/generate.rs"]
mod generate;
#[expect(
    clippy::unwrap_used,
    reason = "part of the tests of guardian-facts, which fail by panicking"
)]
#[path = "../../guardian-facts/tests/it/shell_oracle/mutate.rs"]
mod mutate;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use brush_parser::{Parser, ParserOptions, word};
use guardian_facts::catalogue::Catalogue;
use guardian_facts::probe::MemoryProbe;
use guardian_facts::{FactContext, Facts, LinkedNames, PathClasses, Reading, RootPaths, shell};
use serde_json::Value;

/// Misses that are shown; there may be more.
const SHOWN: usize = 20;
/// Depth of texts inside texts that is followed.
const MAX_DEPTH: usize = 6;

/// Commands after or beside which others never run: the reading leaves those out.
const ENDS: [&str; 9] = [
    "exit", "return", "break", "continue", "exec", "false", "true", ":", "logout",
];

/// What the other parser takes for commands, or the reading knows never to run: lists that are empty
/// here, and lines of heredocs that a backslash joins.
const LEFT_OUT: [&str; 5] = ["${@", "$@", "$*", "\\\n", "<<\\"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seed: u64 = arguments.next().unwrap_or_default().parse().unwrap_or(1);
    let programs: u64 = arguments
        .next()
        .unwrap_or_default()
        .parse()
        .unwrap_or(2_000);
    std::panic::set_hook(Box::new(|_| ()));
    let machine = Machine::new();
    let (mut compared, mut misses) = (0_u64, Vec::new());
    for index in 0..programs {
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(index);
        let texts = [Some(generate::program(seed)), mutate::program(seed)];
        for text in texts.into_iter().flatten() {
            if LEFT_OUT.iter().any(|left_out| text.contains(left_out)) {
                continue;
            }
            let Some(seen) = commands(&text) else {
                continue;
            };
            if ENDS.iter().any(|end| seen.contains(*end)) {
                continue;
            }
            let Ok(facts) = std::panic::catch_unwind(|| machine.read(&text)) else {
                return Err(format!("the reading panics at {text:?}").into());
            };
            if facts.reading == Reading::Partial {
                continue;
            }
            compared += 1;
            let read: BTreeSet<&str> = facts
                .commands
                .iter()
                .filter_map(|command| command.argv.first()?.as_literal())
                .collect();
            if let Some(name) = seen.iter().find(|name| !read.contains(name.as_str())) {
                misses.push(format!("--- `{name}` is not in the reading of\n{text}\n"));
            }
        }
    }
    println!("{compared} programs compared, {} misses", misses.len());
    for miss in misses.iter().take(SHOWN) {
        println!("{miss}");
    }
    if compared * 8 < programs {
        return Err("too few programs could be compared".into());
    }
    if misses.is_empty() {
        Ok(())
    } else {
        Err("commands are missing from complete readings".into())
    }
}

/// The plain names of all commands in a text; `None` where the other parser gives up, which it does
/// by a panic now and then.
fn commands(text: &str) -> Option<BTreeSet<String>> {
    std::panic::catch_unwind(|| {
        let mut found = BTreeSet::new();
        program(text, 0, &mut found).then_some(found)
    })
    .ok()
    .flatten()
}

fn options() -> ParserOptions {
    ParserOptions::default()
}

fn program(text: &str, depth: usize, found: &mut BTreeSet<String>) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    let parsed = Parser::new(text.as_bytes(), &options()).parse_program();
    match parsed.ok().map(serde_json::to_value) {
        Some(Ok(tree)) => node(&tree, depth, found),
        _ => false,
    }
}

fn node(value: &Value, depth: usize, found: &mut BTreeSet<String>) -> bool {
    match value {
        Value::Array(items) => items.iter().all(|item| node(item, depth, found)),
        Value::Object(fields) => {
            let name = fields
                .get("word_or_name")
                .and_then(|word| word.get("value"))
                .and_then(Value::as_str);
            if let Some(name) = name.filter(|name| is_plain(name)) {
                found.insert(name.to_owned());
            }
            // The body of a quoted heredoc is data.
            let is_data = fields.contains_key("here_end")
                && fields.get("requires_expansion") != Some(&Value::Bool(true));
            if is_data {
                return true;
            }
            if let (Some(Value::String(text)), true) =
                (fields.get("value"), fields.contains_key("loc"))
            {
                return words(text, depth, found);
            }
            fields.values().all(|field| node(field, depth, found))
        }
        _ => true,
    }
}

/// Looks for substitutions in a word.
fn words(text: &str, depth: usize, found: &mut BTreeSet<String>) -> bool {
    if !text.contains(['$', '`']) {
        return true;
    }
    match word::parse(text, &options()).map(serde_json::to_value) {
        Ok(Ok(pieces)) => piece(&pieces, depth, found),
        _ => false,
    }
}

fn piece(value: &Value, depth: usize, found: &mut BTreeSet<String>) -> bool {
    match value {
        Value::Array(items) => items.iter().all(|item| piece(item, depth, found)),
        Value::Object(fields) => fields
            .iter()
            .all(|(kind, field)| match (kind.as_str(), field) {
                ("CommandSubstitution" | "BackquotedCommandSubstitution", Value::String(text)) => {
                    program(text, depth + 1, found)
                }
                ("Text" | "SingleQuotedText" | "AnsiCQuotedText" | "EscapeSequence", _) => true,
                // Words inside of expansions count where they are used: `${x-$(foo)}`.
                (_, Value::String(_)) => true,
                (_, field) => piece(field, depth, found),
            }),
        _ => true,
    }
}

fn is_plain(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// The machine of the oracle, in memory.
struct Machine {
    roots: RootPaths,
    probe: MemoryProbe,
    classes: PathClasses,
}

impl Machine {
    fn new() -> Self {
        Self {
            roots: RootPaths {
                workspace: Some(PathBuf::from("/home/dev/proj")),
                scratch: PathBuf::from("/data/scratch/s1"),
                home: PathBuf::from("/home/dev"),
                guardian_data: PathBuf::from("/data"),
                guardian_config: Vec::new(),
                guardian_executables: Vec::new(),
            },
            probe: MemoryProbe::new().directory("/home/dev/proj"),
            classes: PathClasses::from_default(),
        }
    }

    fn read(&self, text: &str) -> Facts {
        let cx = FactContext {
            roots: &self.roots,
            probe: &self.probe,
            classes: &self.classes,
            catalogue: Catalogue::builtin(),
            linked: LinkedNames::new(),
        };
        shell::read(text, Path::new("/home/dev/proj"), &cx)
    }
}
