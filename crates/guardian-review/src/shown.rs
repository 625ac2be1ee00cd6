//! Text that people can trust their eyes with.
//!
//! Arguments and file names come from a model or from a repository. Control characters would move
//! the cursor of a terminal, bidirectional controls would reorder what is read, and invisible ones
//! would hide; all of them are shown escaped.

use std::fmt::Write as _;

use guardian_redact::escape_invisible;

/// Escapes everything that is not plainly visible, line breaks and tabs included.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in escape_invisible(text).chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            blank if is_false_blank(blank) => {
                // Writing to a string does not fail.
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(blank));
            }
            visible => shown.push(visible),
        }
    }
    shown
}

/// The lines of a text, each as [`one_line`]; CRLF is one line break and is not marked.
pub fn lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(one_line)
}

/// Looks like a space, or like nothing, and is no space to a shell.
fn is_false_blank(character: char) -> bool {
    matches!(
        character,
        '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{2800}' // Braille blank
            | '\u{3000}'
            | '\u{fe00}'..='\u{fe0f}' // variation selectors
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
