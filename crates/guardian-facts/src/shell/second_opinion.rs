//! The second opinion: tree-sitter-bash reads the same text, and every command that it sees must
//! be one that the strict parser has.
//!
//! It can only take completeness away. Where it has an error node it has no opinion: its grammar
//! rejects valid bash that the strict parser reads. Heredocs are blanked out before it sees the
//! text, because it misplaces their bodies; live code inside them has been parsed separately.

use std::cell::RefCell;
use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, Tree};

use super::parser::{Origin, Problem, Trace};
use crate::Span;

/// Reserved words that it takes for commands after an error, or always (`time`, `coproc`).
const RESERVED: [&str; 20] = [
    "time", "coproc", "!", "{", "}", "if", "then", "elif", "else", "fi", "for", "while", "until",
    "do", "done", "case", "esac", "select", "function", "[[",
];

thread_local! {
    static PARSER: RefCell<Option<tree_sitter::Parser>> = const { RefCell::new(None) };
}

/// The first command that only tree-sitter sees.
pub(super) fn check(text: &str, trace: &Trace, origin: Origin) -> Option<Problem> {
    let mut blanked = text.as_bytes().to_vec();
    for (start, end) in &trace.heredocs {
        for byte in blanked.get_mut(*start..*end).unwrap_or(&mut []) {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    let tree = match parse(&blanked) {
        Some(tree) => tree,
        None => {
            return Some(problem(
                0,
                text.len(),
                origin,
                "too-much-work",
                "the text is too hard to parse",
            ));
        }
    };
    let mut starts = trace.command_starts.clone();
    starts.sort_unstable();
    let accounted = Stretches::new(trace.inert.iter().chain(&trace.groups));
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        super::work::count();
        // It takes these reserved words for commands.
        if node.kind() == "command_name" && !node.is_missing() {
            let start = node.start_byte();
            let known = starts.binary_search(&start).is_ok();
            if !known && !accounted.holds(start) && !is_inessential(text, start, node.end_byte()) {
                return Some(problem(
                    start,
                    node.end_byte(),
                    origin,
                    "readings-differ",
                    "a second parser sees a command here",
                ));
            }
        }
        let descend = !node.is_error() && cursor.goto_first_child();
        if descend {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

/// A reserved word, or a descriptor in a variable.
fn is_inessential(text: &str, start: usize, end: usize) -> bool {
    let keyword = text
        .get(start..end)
        .is_some_and(|word| RESERVED.contains(&word));
    keyword || text.get(start..).is_some_and(is_descriptor_variable)
}

/// Stretches of the text, merged so that looking one up is a binary search.
struct Stretches(Vec<(usize, usize)>);

impl Stretches {
    fn new<'s>(stretches: impl Iterator<Item = &'s (usize, usize)>) -> Self {
        let mut sorted: Vec<(usize, usize)> = stretches.copied().collect();
        sorted.sort_unstable();
        let mut merged: Vec<(usize, usize)> = Vec::with_capacity(sorted.len());
        for (start, end) in sorted {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        Self(merged)
    }

    /// The offset lies in one of them.
    fn holds(&self, offset: usize) -> bool {
        let after = self.0.partition_point(|(start, _)| *start <= offset);
        after
            .checked_sub(1)
            .and_then(|index| self.0.get(index))
            .is_some_and(|(_, end)| offset < *end)
    }
}

/// `{name}<` and `{name}>`: a redirect whose descriptor goes into a variable.
fn is_descriptor_variable(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('{') else {
        return false;
    };
    let length = rest
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        .count();
    let (name, rest) = rest.split_at(length);
    super::expand::is_name(name) && (rest.starts_with("}<") || rest.starts_with("}>"))
}

fn problem(start: usize, end: usize, origin: Origin, code: &'static str, reason: &str) -> Problem {
    let span = match origin {
        Origin::Offset(offset) => Span {
            start: start + offset,
            end: end + offset,
        },
        Origin::Fixed(span) => span,
    };
    Problem {
        span,
        code,
        reason: reason.to_owned(),
    }
}

/// Parses within a budget of progress callbacks, so that the same text always ends the same way.
fn parse(text: &[u8]) -> Option<Tree> {
    PARSER.with_borrow_mut(|slot| {
        let mut parser = match slot.take() {
            Some(parser) => parser,
            None => {
                let mut parser = tree_sitter::Parser::new();
                parser
                    .set_language(&tree_sitter_bash::LANGUAGE.into())
                    .ok()?;
                parser
            }
        };
        let mut left = 64 + text.len() / 4;
        let mut progress = |_: &tree_sitter::ParseState| {
            left = left.saturating_sub(1);
            if left == 0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let options = ParseOptions::new().progress_callback(&mut progress);
        let tree = parser.parse_with_options(
            &mut |offset, _| text.get(offset..).unwrap_or(&[]),
            None,
            Some(options),
        );
        if tree.is_none() {
            parser.reset();
        }
        *slot = Some(parser);
        tree
    })
}
