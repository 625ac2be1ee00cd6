//! Changes as hunks for review: line-based, three lines of context, bounded in work.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp};

/// Lines of context around a change.
const CONTEXT: usize = 3;
/// Lines of all hunks together; what is beyond is left out and said so.
const MAX_LINES: usize = 1000;
/// Characters of one hunk line.
const MAX_CHARS: usize = 2000;
/// After this the rest of the comparison is coarse (whole blocks replaced): the hunks stay
/// correct, only longer.
const WORK: Duration = Duration::from_millis(100);

/// One contiguous part of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// `@@ -12,7 +12,8 @@`
    pub header: String,
    /// Its lines, in order.
    pub lines: Vec<HunkLine>,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine {
    /// What happens to it.
    pub kind: LineKind,
    /// Its text, without the line end.
    pub text: String,
}

/// What a change does to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// Stays.
    Context,
    /// Is new.
    Add,
    /// Goes.
    Del,
}

impl LineKind {
    /// `context`, `add` or `del`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Add => "add",
            Self::Del => "del",
        }
    }
}

/// A whole change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    pub(crate) hunks: Vec<Hunk>,
    pub(crate) additions: usize,
    pub(crate) deletions: usize,
    pub(crate) truncated: bool,
}

/// Compares two texts.
pub(crate) fn diff(old: &str, new: &str) -> Diff {
    if old == new {
        return Diff::default();
    }
    let (start, old_end, new_end) = differing(old, new);
    // Context lines come from the common parts around the middle.
    let before = line_starts_back(old, start, CONTEXT);
    let old_after = lines_forward(old, old_end, CONTEXT);
    let new_after = lines_forward(new, new_end, CONTEXT);
    let first_line = bytecount::count(&old.as_bytes()[..before], b'\n');
    let old_lines: Vec<&str> = old[before..old_after].split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new[before..new_after].split_inclusive('\n').collect();
    let ops = similar::capture_diff_slices_deadline(
        Algorithm::Myers,
        &old_lines,
        &new_lines,
        Some(Instant::now() + WORK),
    );
    let mut result = Diff::default();
    for op in &ops {
        let (tag, old_range, new_range) = op.as_tag_tuple();
        if tag != similar::DiffTag::Equal {
            result.deletions += old_range.len();
            result.additions += new_range.len();
        }
    }
    let mut left = MAX_LINES;
    for group in similar::group_diff_ops(ops, CONTEXT) {
        if left == 0 {
            result.truncated = true;
            break;
        }
        let hunk = hunk_of(&group, &old_lines, &new_lines, first_line, &mut left);
        result.truncated |= left == 0;
        result.hunks.push(hunk);
    }
    result
}

fn hunk_of(
    group: &[DiffOp],
    old_lines: &[&str],
    new_lines: &[&str],
    first_line: usize,
    left: &mut usize,
) -> Hunk {
    let mut lines = Vec::new();
    let mut push = |kind, text: &str| {
        if *left > 0 {
            *left -= 1;
            lines.push(HunkLine {
                kind,
                text: shown(text),
            });
        }
    };
    for op in group {
        let (tag, old_range, new_range) = op.as_tag_tuple();
        if tag == similar::DiffTag::Equal {
            old_lines[old_range]
                .iter()
                .for_each(|line| push(LineKind::Context, line));
        } else {
            old_lines[old_range]
                .iter()
                .for_each(|line| push(LineKind::Del, line));
            new_lines[new_range]
                .iter()
                .for_each(|line| push(LineKind::Add, line));
        }
    }
    let header = match (group.first(), group.last()) {
        (Some(first), Some(last)) => {
            let side = |start: usize, end: usize| {
                let count = end - start;
                // Like diff: an empty side is named by the line in front of it.
                let line = first_line + start + usize::from(count > 0);
                format!("{line},{count}")
            };
            format!(
                "@@ -{} +{} @@",
                side(first.old_range().start, last.old_range().end),
                side(first.new_range().start, last.new_range().end)
            )
        }
        _ => String::new(),
    };
    Hunk { header, lines }
}

fn shown(line: &str) -> String {
    let line = line.strip_suffix('\n').unwrap_or(line);
    let line = line.strip_suffix('\r').unwrap_or(line);
    match line.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// The part in which the texts differ, widened to whole lines: (start, end in old, end in new).
fn differing(old: &str, new: &str) -> (usize, usize, usize) {
    let (a, b) = (old.as_bytes(), new.as_bytes());
    let prefix = common_prefix(a, b);
    let start = memchr::memrchr(b'\n', &a[..prefix]).map_or(0, |at| at + 1);
    let room = a.len().min(b.len()) - start;
    let suffix = common_suffix(&a[a.len() - room..], &b[b.len() - room..]);
    // The common end begins after a line end that both have.
    let tail = &a[a.len() - suffix..];
    let cut = memchr::memchr(b'\n', tail).map_or(tail.len(), |at| at + 1);
    let whole_line = |text: &[u8], end: usize| end == 0 || text[end - 1] == b'\n';
    if whole_line(a, a.len() - suffix) && whole_line(b, b.len() - suffix) {
        return (start, a.len() - suffix, b.len() - suffix);
    }
    let suffix = tail.len() - cut;
    (start, a.len() - suffix, b.len() - suffix)
}

/// Compared at once: comparing slices is a memcmp.
const BLOCK: usize = 4096;

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut at = 0;
    while at + BLOCK <= a.len() && at + BLOCK <= b.len() && a[at..at + BLOCK] == b[at..at + BLOCK] {
        at += BLOCK;
    }
    at + a[at..]
        .iter()
        .zip(&b[at..])
        .take_while(|(x, y)| x == y)
        .count()
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let (mut a, mut b) = (a, b);
    let length = a.len();
    while let (Some((front_a, block_a)), Some((front_b, block_b))) =
        (a.split_last_chunk::<BLOCK>(), b.split_last_chunk::<BLOCK>())
        && block_a == block_b
    {
        (a, b) = (front_a, front_b);
    }
    let pairs = a.iter().rev().zip(b.iter().rev());
    length - a.len() + pairs.take_while(|(x, y)| x == y).count()
}

fn line_starts_back(text: &str, from: usize, lines: usize) -> usize {
    let mut at = from;
    for _ in 0..lines {
        if at == 0 {
            break;
        }
        at = memchr::memrchr(b'\n', &text.as_bytes()[..at - 1]).map_or(0, |at| at + 1);
    }
    at
}

fn lines_forward(text: &str, from: usize, lines: usize) -> usize {
    let mut at = from;
    for _ in 0..lines {
        at = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |next| at + next + 1);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rendered(old: &str, new: &str) -> String {
        let mut out = String::new();
        for hunk in diff(old, new).hunks {
            out.push_str(&hunk.header);
            out.push('\n');
            for line in hunk.lines {
                let sign = match line.kind {
                    LineKind::Context => ' ',
                    LineKind::Add => '+',
                    LineKind::Del => '-',
                };
                out.push_str(&format!("{sign}{}\n", line.text));
            }
        }
        out
    }

    #[test]
    fn one_changed_line_in_a_large_file_is_one_hunk() {
        let old: String = (1..=100_000).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 50000\n", "changed\n");
        insta::assert_snapshot!(rendered(&old, &new));
    }

    #[test]
    fn a_new_file_is_all_additions() {
        insta::assert_snapshot!(rendered("", "a\nb\n"));
    }

    #[test]
    fn two_far_changes_are_two_hunks() {
        let old: String = (1..=40).map(|n| format!("{n}\n")).collect();
        let new = old.replacen("3\n", "three\n", 1).replace("35\n", "");
        insta::assert_snapshot!(rendered(&old, &new));
    }

    proptest! {
        #[test]
        fn the_common_end_is_found_to_the_byte(
            front_a in "[ab]{0,6}", front_b in "[ab]{0,6}", end in 0_usize..3 * BLOCK,
        ) {
            let end = "x".repeat(end);
            let (a, b) = (format!("{front_a}{end}"), format!("{front_b}{end}"));
            let (a, b) = (a.as_bytes(), b.as_bytes());
            let room = a.len().min(b.len());
            let (a, b) = (&a[a.len() - room..], &b[b.len() - room..]);
            let by_bytes = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y);
            prop_assert_eq!(common_suffix(a, b), by_bytes.count());
        }

        #[test]
        fn removed_and_added_lines_lead_from_old_to_new(
            old in "[abc\n]{0,60}", new in "[abc\n]{0,60}",
        ) {
            // Applying additions and deletions must balance the line counts.
            let found = diff(&old, &new);
            let lines = |text: &str| text.split_inclusive('\n').count();
            prop_assert_eq!(lines(&old) + found.additions, lines(&new) + found.deletions);
            prop_assert_eq!(old == new, found.hunks.is_empty());
        }
    }
}
