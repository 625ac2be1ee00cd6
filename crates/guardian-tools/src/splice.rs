//! Replacing a span of text while keeping the line ends around and inside it.

use std::borrow::Cow;
use std::ops::Range;

/// Puts `new` (LF line ends) in the place of `span` of `text`; see [`replacement`].
pub(crate) fn splice_text(text: &str, span: Range<usize>, new: &str) -> String {
    let (span, new) = replacement(text, span, new);
    let mut out = String::with_capacity(text.len() - span.len() + new.len());
    out.push_str(&text[..span.start]);
    out.push_str(&new);
    out.push_str(&text[span.end..]);
    out
}

/// What to put where, so that `span` of `text` reads `new` in LF form: the part that both share
/// is left alone, and the line ends that are put in are those of the lines they replace, or of
/// the lines around.
pub(crate) fn replacement<'a>(
    text: &str,
    span: Range<usize>,
    new: &'a str,
) -> (Range<usize>, Cow<'a, str>) {
    let old = &text[span.clone()];
    let (old_prefix, new_prefix) = common_start(old, new);
    let (old_suffix, new_suffix) = common_end(&old[old_prefix..], &new[new_prefix..]);
    let inner = span.start + old_prefix..span.end - old_suffix;
    let new = &new[new_prefix..new.len() - new_suffix];
    if memchr::memchr(b'\n', new.as_bytes()).is_none() {
        return (inner, Cow::Borrowed(new));
    }
    let replaced: Vec<bool> = endings(&text[inner.clone()]).collect();
    let around = nearest_ending(text, &inner);
    let mut out = String::with_capacity(new.len() + 16);
    for (index, line) in new.split_inclusive('\n').enumerate() {
        let crlf = replaced.get(index).copied().unwrap_or(around);
        match line.strip_suffix('\n') {
            Some(line) if crlf => {
                out.push_str(line);
                out.push_str("\r\n");
            }
            _ => out.push_str(line),
        }
    }
    (inner, Cow::Owned(out))
}

/// For each line end, in order: is it CRLF?
fn endings(text: &str) -> impl Iterator<Item = bool> + '_ {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'\n', bytes).map(move |at| at > 0 && bytes[at - 1] == b'\r')
}

/// The ending of the line in front of the span, else of the one behind it; LF without any.
fn nearest_ending(text: &str, span: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let is_crlf = |at: usize| at > 0 && bytes[at - 1] == b'\r';
    if let Some(at) = memchr::memrchr(b'\n', &bytes[..span.end]) {
        return is_crlf(at);
    }
    memchr::memchr(b'\n', &bytes[span.end..]).is_some_and(|at| is_crlf(span.end + at))
}

/// How many bytes of `old` (any line ends) and `new` (LF) are the same text from the start.
fn common_start(old: &str, new: &str) -> (usize, usize) {
    let (mut at_old, mut at_new) = (0, 0);
    let (old_bytes, new_bytes) = (old.as_bytes(), new.as_bytes());
    while at_old < old_bytes.len() && at_new < new_bytes.len() {
        if old_bytes[at_old] == b'\r'
            && old_bytes.get(at_old + 1) == Some(&b'\n')
            && new_bytes[at_new] == b'\n'
        {
            at_old += 2;
            at_new += 1;
        } else if old_bytes[at_old] == new_bytes[at_new] {
            at_old += 1;
            at_new += 1;
        } else {
            break;
        }
    }
    // Not into the middle of a character or of a CRLF.
    while !old.is_char_boundary(at_old) || !new.is_char_boundary(at_new) {
        at_old -= 1;
        at_new -= 1;
    }
    if at_old > 0
        && old_bytes[at_old - 1] == b'\r'
        && old_bytes.get(at_old) == Some(&b'\n')
        && at_new > 0
    {
        at_old -= 1;
        at_new -= 1;
    }
    (at_old, at_new)
}

fn common_end(old: &str, new: &str) -> (usize, usize) {
    let (old_bytes, new_bytes) = (old.as_bytes(), new.as_bytes());
    let (mut from_old, mut from_new) = (old_bytes.len(), new_bytes.len());
    while from_old > 0 && from_new > 0 && old_bytes[from_old - 1] == new_bytes[from_new - 1] {
        let newline = old_bytes[from_old - 1] == b'\n';
        from_old -= 1;
        from_new -= 1;
        if newline && from_old > 0 && old_bytes[from_old - 1] == b'\r' {
            from_old -= 1;
        }
    }
    while !old.is_char_boundary(from_old) || !new.is_char_boundary(from_new) {
        from_old += 1;
        from_new += 1;
    }
    (old.len() - from_old, new.len() - from_new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::to_lf;
    use proptest::prelude::*;

    #[test]
    fn untouched_lines_keep_their_own_ends() {
        let text = "a\r\nb\nc\r\nd\n";
        assert_eq!(
            splice_text(text, 0..text.len(), "a\nB\nc\nd\n"),
            "a\r\nB\nc\r\nd\n"
        );
    }

    #[test]
    fn new_lines_end_like_the_line_in_front() {
        assert_eq!(splice_text("a\r\nb\r\n", 3..4, "x\ny"), "a\r\nx\r\ny\r\n");
        assert_eq!(splice_text("a\nb\n", 2..3, "x\ny"), "a\nx\ny\n");
    }

    proptest! {
        #[test]
        fn the_result_reads_as_asked_and_nothing_else_changes(
            before in "[aé\r\n]{0,12}", old in "[aé\n]{0,8}", new in "[abé\n]{0,8}",
            after in "[aé\n]{0,12}",
        ) {
            // A CR right in front of an inserted line end would become a CRLF: not this law.
            prop_assume!(!before.ends_with('\r'));
            let text = format!("{before}{}{after}", old.replace('\n', "\r\n"));
            let span = before.len()..text.len() - after.len();
            let out = splice_text(&text, span, &new);
            prop_assert!(out.starts_with(&before));
            prop_assert!(out.ends_with(&after));
            prop_assert_eq!(to_lf(&out[before.len()..out.len() - after.len()]), new);
        }
    }
}
