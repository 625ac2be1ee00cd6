//! Limits of the reading. All are counted in bytes, nodes or steps, never in time.

use super::parser::Problem;
use crate::Span;

/// Longest text that is read, in bytes.
pub(super) const MAX_TEXT: usize = 64 * 1024;
/// Deepest nesting of commands, quotes and expansions.
pub(super) const MAX_DEPTH: usize = 60;
/// How often the bytes of a text may be read once more, in another way (`((a) )`).
pub(super) const MAX_RETRIES: usize = 4;
/// Heredocs opened on one line.
pub(super) const MAX_HEREDOCS: usize = 16;
/// Commands that one reading may walk through, repeated walks of loops and functions included.
pub(super) const MAX_STEPS: usize = 20_000;
/// Depth of texts inside texts (`bash -c`, `eval`) and of function calls.
pub(super) const MAX_NESTED_TEXTS: usize = 8;
/// Commands that run commands (`env nice timeout 5 …`), within each other.
pub(super) const MAX_RUNS: usize = 24;
/// Words that one brace expansion may make.
pub(super) const MAX_BRACE_WORDS: usize = 128;
/// Rounds of a loop over literals that are read one by one.
pub(super) const MAX_UNROLLED: usize = 32;
/// Working directories that one point of a text may have.
pub(super) const MAX_DIRECTORIES: usize = 8;
/// Variables that are followed.
pub(super) const MAX_VARIABLES: usize = 512;
/// Longest value that is followed, in bytes.
pub(super) const MAX_VALUE: usize = 16 * 1024;

/// Characters that terminals, editors or locales treat unlike bash does.
fn is_suspicious(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        _ if character.is_control() => true,
        '\u{a0}' | '\u{ad}' | '\u{1680}' | '\u{180e}' | '\u{2000}'..='\u{200f}' => true,
        '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{3000}' | '\u{feff}' => true,
        _ => false,
    }
}

/// What must hold before a text is parsed at all.
pub(super) fn check(text: &str) -> Option<Problem> {
    if text.len() > MAX_TEXT {
        return Some(Problem {
            span: Span {
                start: MAX_TEXT,
                end: text.len(),
            },
            code: "too-long",
            reason: format!("the text is longer than {MAX_TEXT} bytes"),
        });
    }
    let (start, character) = text
        .char_indices()
        .find(|(_, character)| is_suspicious(*character))?;
    Some(Problem {
        span: Span {
            start,
            end: start + character.len_utf8(),
        },
        code: "unusual-character",
        reason: format!(
            "the text contains the character U+{:04X}",
            u32::from(character)
        ),
    })
}
