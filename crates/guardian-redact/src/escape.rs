//! Characters that people cannot see, or that change how others look.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Replaces control, direction and invisible characters by their escapes (`\u{202e}`), so that a
/// card shows what is there. Line feeds and tabs stay.
#[must_use]
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if character == '\r' {
            escaped.push_str("\\r");
        } else if is_invisible(character) {
            // Writing into a String does not fail.
            let _ = write!(escaped, "\\u{{{:x}}}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// Escapes everything that is not plainly visible, line breaks and tabs included: a text that is one
/// line wherever it is shown.
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

/// The same of the first `characters` of a text, with a sign where there is more.
#[must_use]
pub fn one_line_of(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => one_line(&text[..end]) + "…",
        None => one_line(text),
    }
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

fn is_invisible(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => {
            true
        }
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' => true,
        '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => character.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_turns_text_around_or_hides_in_it_is_shown() {
        assert_eq!(escape_invisible("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(
            escape_invisible("rm\u{200b} -rf\r\u{1b}[2K"),
            "rm\\u{200b} -rf\\r\\u{1b}[2K"
        );
        assert_eq!(escape_invisible("line\n\tnext ä 漢"), "line\n\tnext ä 漢");
    }

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(one_line(text), expect);
        let count = text.chars().count();
        assert_eq!(one_line_of(text, count), expect);
        let cut = one_line_of(text, count - 1);
        let rest = cut.strip_suffix('…').unwrap();
        assert!(
            expect.starts_with(rest) && rest.len() < expect.len(),
            "{cut}"
        );
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
}
