//! Text that people can trust their eyes with.
//!
//! Arguments and file names come from a model or from a repository. Control characters would move
//! the cursor of a terminal, bidirectional controls would reorder what is read, and invisible ones
//! would hide; all of them are shown escaped.

use std::fmt::Write as _;

/// Escapes everything that is not plainly visible, line breaks and tabs included.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        push(&mut shown, character);
    }
    shown
}

/// The lines of a text, each as [`one_line`]; CRLF is one line break and is not marked.
pub fn lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(one_line)
}

fn push(shown: &mut String, character: char) {
    match character {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        hidden if is_hidden(hidden) => {
            // Writing to a string does not fail.
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(hidden));
        }
        visible => shown.push(visible),
    }
}

/// Control and format characters, and those that look like nothing at all.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}' // soft hyphen
            | '\u{34f}' // combining grapheme joiner
            | '\u{61c}' // Arabic letter mark
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' // Hangul fillers
            | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' // zero width, LRM, RLM
            | '\u{2028}'..='\u{202e}' // separators, bidi embeddings and overrides
            | '\u{2060}'..='\u{206f}' // word joiner, bidi isolates
            | '\u{fe00}'..='\u{fe0f}' // variation selectors
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}' // tags, more variation selectors
            | '\u{2000}'..='\u{200a}' | '\u{a0}' | '\u{1680}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
            | '\u{2800}' // Braille blank
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(one_line(text), expect);
    }

    #[test]
    fn ordinary_text_is_shown_as_it_is() {
        check(
            "cargo test -p x # größer, 日本語, 🦀",
            "cargo test -p x # größer, 日本語, 🦀",
        );
    }

    #[test]
    fn what_moves_reorders_or_hides_is_escaped() {
        check("a\u{1b}[2Kb", "a\\u{1b}[2Kb");
        check("a\r\nb\tc", "a\\r\\nb\\tc");
        check("evil\u{202e}txt.exe", "evil\\u{202e}txt.exe");
        check(
            "a\u{200b}b\u{2066}c\u{feff}",
            "a\\u{200b}b\\u{2066}c\\u{feff}",
        );
        check("\u{9b}31m", "\\u{9b}31m");
        check("rm\u{a0}-rf", "rm\\u{a0}-rf");
        check("\u{e0041}", "\\u{e0041}");
    }

    #[test]
    fn lines_are_split_before_they_are_escaped() {
        assert_eq!(
            lines("a\nb\r\nc\u{7}").collect::<Vec<_>>(),
            ["a", "b", "c\\u{7}"]
        );
    }
}
