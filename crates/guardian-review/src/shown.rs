//! Text that people can trust their eyes with.
//!
//! Arguments and file names come from a model or from a repository. Control characters would move
//! the cursor of a terminal, bidirectional controls would reorder what is read, and invisible ones
//! would hide; all of them are shown escaped.

use guardian_redact::one_line;

/// The lines of a text, each as [`one_line`]; CRLF is one line break and is not marked.
pub fn lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(one_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_before_they_are_escaped() {
        assert_eq!(
            lines("a\nb\r\nc\u{7}").collect::<Vec<_>>(),
            ["a", "b", "c\\u{7}"]
        );
    }
}
