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
}
