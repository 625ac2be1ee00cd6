//! `env`, `xargs`, `ssh` and `watch`: wrappers whose nested command is not simply what stands at
//! an operand.

use super::apply::assignment;
use super::scan::Scanned;
use super::schema::{Entry, Role, Times};
use crate::Effect;
use crate::command::{Invocation, Judgement, Nested, Stdin, Word, WordPart};

/// `env [NAME=value]… [command]`, and `-S` with a string that is split into words.
pub(crate) fn env(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let mut words: Vec<Word> = Vec::new();
    for text in scanned.values("-S") {
        match text.as_literal() {
            Some(plain) if !plain.contains(['\'', '"', '\\', '$', '#', '`']) => {
                words.extend(
                    plain
                        .split_ascii_whitespace()
                        .map(|w| Word::literal(w, text.span)),
                );
            }
            _ => {
                judgement.make_opaque("split-string", "splits a string into a command");
                judgement.nested.push(Nested::Shell {
                    text: text.clone(),
                    elsewhere: false,
                });
            }
        }
    }
    if words
        .first()
        .is_some_and(|word| word.literal_prefix().starts_with('-'))
    {
        judgement.make_opaque("split-string", "splits a string into options of `env`");
    }
    words.extend(scanned.operands.iter().cloned());
    let command = words
        .iter()
        .position(|word| !word.literal_prefix().contains('=') || word.literal_prefix() == "=")
        .unwrap_or(words.len());
    let assignments = words
        .get(..command)
        .unwrap_or_default()
        .iter()
        .filter_map(assignment)
        .collect();
    let argv = words.get(command..).unwrap_or_default().to_vec();
    if argv.is_empty() {
        judgement.add(Effect::ReadsEnvironment);
        return;
    }
    judgement.wrapper = true;
    judgement.nested.push(Nested::Command {
        argv,
        appended: false,
        elsewhere: false,
        assignments,
        cwd: None,
    });
}

/// Words joined by blanks, with neighbouring literals merged.
pub(crate) fn join(words: &[Word]) -> Option<Word> {
    let first = words.first()?;
    let mut parts: Vec<WordPart> = Vec::new();
    let push_text = |parts: &mut Vec<WordPart>, text: &str| match parts.last_mut() {
        Some(WordPart::Literal(known)) => known.push_str(text),
        _ => parts.push(WordPart::Literal(text.to_owned())),
    };
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            push_text(&mut parts, " ");
        }
        for part in &word.parts {
            match part {
                WordPart::Literal(text) => push_text(&mut parts, text),
                other => parts.push(other.clone()),
            }
        }
    }
    Some(Word {
        parts,
        span: first.span,
    })
}

/// `ssh host words…` and `watch words…`: the words are joined and a shell reads them.
pub(crate) fn joined(
    entry: &Entry,
    scanned: &Scanned<'_>,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let fixed = entry
        .operands
        .0
        .iter()
        .take_while(|(_, times)| *times == Times::One)
        .count();
    let has_host = entry.operands.0.iter().any(|(role, _)| *role == Role::Host);
    let words = scanned.operands.get(fixed..).unwrap_or_default();
    if let Some(text) = join(words) {
        judgement.wrapper = true;
        judgement.nested.push(Nested::Shell {
            text,
            elsewhere: entry.elsewhere,
        });
    } else if has_host && scanned.operands.len() == fixed {
        match invocation.stdin {
            Stdin::Text(text) => judgement.nested.push(Nested::Shell {
                text: text.clone(),
                elsewhere: entry.elsewhere,
            }),
            Stdin::Empty => {}
            Stdin::File(_) | Stdin::Pipe => judgement.make_opaque(
                "code-from-input",
                "the other machine's shell runs its input",
            ),
        }
    }
}

/// `xargs [flags] [command [initial words]]`: words from the input are added, or take the place of
/// a marker.
pub(crate) fn xargs(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let span = invocation
        .args
        .first()
        .map_or(crate::Span { start: 0, end: 0 }, |word| word.span);
    let unknown = |may_split: bool| WordPart::Unknown {
        written: "<input>".to_owned(),
        may_be_empty: may_split,
        may_split,
        integer: false,
    };
    let mut argv: Vec<Word> = scanned.operands.clone();
    if argv.is_empty() {
        argv.push(Word::literal("echo", span));
    }
    let marker = scanned
        .flags
        .iter()
        .rev()
        .find(|used| {
            used.flag
                .names
                .iter()
                .any(|name| name == "-I" || name == "-i")
        })
        .map(|used| {
            used.values
                .first()
                .map_or(Some("{}"), |value| value.as_literal())
        });
    match marker {
        Some(Some(marker)) if !marker.is_empty() => {
            for word in &mut argv {
                *word = replaced(word, marker, &unknown(false));
            }
        }
        Some(_) => judgement.make_opaque("unknown-marker", "the marker of `xargs` is not known"),
        None => argv.push(Word {
            parts: vec![unknown(true)],
            span,
        }),
    }
    judgement.wrapper = true;
    judgement.nested.push(Nested::Command {
        argv,
        appended: true,
        elsewhere: false,
        assignments: Vec::new(),
        cwd: None,
    });
}

fn replaced(word: &Word, marker: &str, by: &WordPart) -> Word {
    let mut parts = Vec::new();
    for part in &word.parts {
        let WordPart::Literal(text) = part else {
            parts.push(part.clone());
            continue;
        };
        let mut pieces = text.split(marker).peekable();
        while let Some(piece) = pieces.next() {
            if !piece.is_empty() {
                parts.push(WordPart::Literal(piece.to_owned()));
            }
            if pieces.peek().is_some() {
                parts.push(by.clone());
            }
        }
    }
    Word {
        parts,
        span: word.span,
    }
}
