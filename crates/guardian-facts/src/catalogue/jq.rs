//! `jq` programs: they cannot write or run anything, but they can read the environment and modules.

use super::scan::Scanned;
use super::schema::Entry;
use crate::Effect;
use crate::command::{Invocation, Judgement};

/// Adds what a `jq` program and its operands do.
pub(crate) fn judge(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let from_file = scanned.has("-f");
    let mut operands = scanned.operands.iter();
    if from_file {
        // The program is in a file: a language without effects, but it may read the environment.
        judgement.add(Effect::ReadsEnvironment);
    } else if let Some(program) = operands.next() {
        let text = program.as_literal();
        if text.is_none_or(|text| mentions(text, "env") || text.contains("$ENV")) {
            judgement.add(Effect::ReadsEnvironment);
        }
        if text.is_none_or(|text| mentions(text, "import") || mentions(text, "include")) {
            judgement.make_opaque("jq-module", "the program may read modules from other files");
        }
    }
    // Behind `--args` operands are values; in front of it they are files. All count as files.
    for word in operands {
        if word.as_literal() != Some("-") {
            judgement.read(word);
        }
    }
}

/// Adds what a `yq` expression and its operands do. The Go form has subcommands in front and can
/// load files and read the environment by name.
pub(crate) fn yq(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let mut operands = scanned.operands.as_slice();
    if let [first, rest @ ..] = operands
        && matches!(first.as_literal(), Some("e" | "eval" | "ea" | "eval-all"))
    {
        operands = rest;
    }
    let [expression, files @ ..] = operands else {
        return;
    };
    match expression.as_literal() {
        Some(text) => {
            if text.contains("load") || mentions(text, "import") || mentions(text, "include") {
                judgement.make_opaque("yq-load", "the expression may load other files");
            }
            if text.contains("env") {
                judgement.add(Effect::ReadsEnvironment);
            }
            // The Go form takes a lone operand that exists for a file.
            if files.is_empty() {
                judgement.read(expression);
            }
        }
        None => {
            judgement.make_opaque("unknown-script", "the expression is not known");
            judgement.read(expression);
        }
    }
    for file in files.iter().filter(|file| file.as_literal() != Some("-")) {
        judgement.read(file);
        if scanned.has("-i") {
            judgement.write(file);
        }
    }
}

/// `name` occurs as a word of its own that is not a field (`.env`) or variable (`$env`).
/// Text in plain strings counts too: an interpolation in it is code.
fn mentions(program: &str, name: &str) -> bool {
    let bytes = program.as_bytes();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    memchr::memmem::find_iter(bytes, name).any(|at| {
        let before = at.checked_sub(1).and_then(|index| bytes.get(index));
        let earlier = at.checked_sub(2).and_then(|index| bytes.get(index));
        let after = bytes.get(at + name.len());
        let field = matches!(before, Some(b'.')) && !matches!(earlier, Some(b'.'));
        let variable = matches!(before, Some(b'$'));
        !(field || variable || before.is_some_and(is_word) || after.is_some_and(is_word))
    })
}
