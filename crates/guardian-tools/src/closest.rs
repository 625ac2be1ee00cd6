//! The region of a file that is most like a text that was not found, and how it differs.

use std::fmt;

use serde_json::{Value, json};

use crate::nearest::fold_character;

/// Lines that are compared at most; beyond, only exact folded matches are looked for.
const COMPARED_LINES: usize = 20_000;
/// Characters of a line that are compared.
const COMPARED_CHARS: usize = 200;
/// Lines of the region that are shown.
const SHOWN_LINES: usize = 12;
/// Less similar than this is not worth naming.
const WORTH_NAMING: f64 = 0.5;

/// A region of the file, in lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Region {
    first_line: usize,
    last_line: usize,
    difference: String,
    text: String,
}

impl Region {
    pub(crate) fn to_value(&self) -> Value {
        json!({
            "startLine": self.first_line,
            "endLine": self.last_line,
            "difference": self.difference,
            "text": self.text,
        })
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}. Lines {}-{} of the file are:\n{}\nRead the file again and copy the text exactly",
            self.difference, self.first_line, self.last_line, self.text
        )
    }
}

/// Finds it. Work is bounded by the constants above; both texts have LF line ends.
pub(crate) fn closest_region(text: &str, old: &str) -> Option<Region> {
    let old_lines: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();
    let lines: Vec<&str> = text.split('\n').collect();
    let start = folded_match(&lines, &old_lines).or_else(|| similar_match(&lines, &old_lines))?;
    let count = old_lines.len().min(lines.len() - start);
    let found = &lines[start..start + count];
    Some(Region {
        first_line: start + 1,
        last_line: start + count,
        difference: end_difference(text, old, start + count == lines.len())
            .filter(|_| same(found, &old_lines))
            .unwrap_or_else(|| difference(found, &old_lines, start)),
        text: shown(found),
    })
}

/// A window that is the same but for white space, quotes, dashes and case.
fn folded_match(lines: &[&str], old_lines: &[&str]) -> Option<usize> {
    let wanted: Vec<String> = old_lines.iter().map(|line| folded(line)).collect();
    if wanted.iter().all(String::is_empty) || lines.len() < wanted.len() {
        return None;
    }
    let folded_lines: Vec<String> = lines.iter().map(|line| folded(line)).collect();
    let whole = folded_lines
        .windows(wanted.len())
        .position(|window| window == wanted.as_slice());
    // A single line may be quoted in part.
    whole.or_else(|| match wanted.as_slice() {
        [only] if only.len() > 2 => folded_lines.iter().position(|line| line.contains(only)),
        _ => None,
    })
}

fn folded(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for word in line.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(
            word.chars()
                .map(fold_character)
                .flat_map(char::to_lowercase),
        );
    }
    out
}

/// The window around the line that is most like the most telling line of the text.
fn similar_match(lines: &[&str], old_lines: &[&str]) -> Option<usize> {
    let (index, telling) = old_lines
        .iter()
        .enumerate()
        .max_by_key(|(_, line)| line.trim().len().min(COMPARED_CHARS))?;
    let telling = head(telling.trim());
    if telling.is_empty() {
        return None;
    }
    let mut best: Option<(f64, usize)> = None;
    for (at, line) in lines.iter().enumerate().take(COMPARED_LINES) {
        let line = head(line.trim());
        // The lengths alone bound the similarity.
        let (short, long) = (line.len().min(telling.len()), line.len().max(telling.len()));
        let reachable = short as f64 / long.max(1) as f64;
        if reachable < best.map_or(WORTH_NAMING, |(score, _)| score) {
            continue;
        }
        let score = strsim::normalized_levenshtein(telling, line);
        if score >= WORTH_NAMING && best.is_none_or(|(before, _)| score > before) {
            best = Some((score, at));
        }
    }
    best.map(|(_, at)| at.saturating_sub(index))
}

fn head(line: &str) -> &str {
    line.char_indices()
        .nth(COMPARED_CHARS)
        .map_or(line, |(at, _)| &line[..at])
}

/// Both are the same text, as far as it is compared by line.
fn same(found: &[&str], old_lines: &[&str]) -> bool {
    match (found, old_lines) {
        ([there], [wanted]) => there.ends_with(wanted),
        ([first, there @ ..], [first_wanted, wanted @ ..]) => {
            first.ends_with(first_wanted) && there == wanted
        }
        _ => false,
    }
}

/// The one difference that no line shows: the newline after the last one.
fn end_difference(text: &str, old: &str, at_end: bool) -> Option<String> {
    (at_end && old.ends_with('\n') && !text.ends_with('\n')).then(|| {
        "the file has no newline at its end, `old_string` has one; leave it out".to_owned()
    })
}

/// What differs, in words, for the first line that does.
fn difference(found: &[&str], old_lines: &[&str], start: usize) -> String {
    for (index, (there, wanted)) in found.iter().zip(old_lines).enumerate() {
        // The text may begin and end within a line.
        let first = index == 0 && there.ends_with(wanted);
        let last = index + 1 == old_lines.len() && there.starts_with(wanted);
        if first || last || (old_lines.len() == 1 && there.contains(wanted)) {
            continue;
        }
        let line = start + index + 1;
        return describe(there, wanted, line);
    }
    if found.len() < old_lines.len() {
        return format!(
            "the file ends after line {}, `old_string` goes on",
            start + found.len()
        );
    }
    format!("the closest text is at line {}", start + 1)
}

fn describe(there: &str, wanted: &str, line: usize) -> String {
    let indent = |text: &str| text.len() - text.trim_start().len();
    let (there_indent, wanted_indent) = (&there[..indent(there)], &wanted[..indent(wanted)]);
    if there.trim() == wanted.trim() {
        if there_indent != wanted_indent {
            return format!(
                "whitespace differs (file uses {}, `old_string` uses {}) at line {line}",
                indentation(there_indent),
                indentation(wanted_indent)
            );
        }
        return format!(
            "whitespace at the end of line {line} differs (file has {}, `old_string` has {})",
            indentation(&there[there.trim_end().len()..]),
            indentation(&wanted[wanted.trim_end().len()..])
        );
    }
    let unequal = there
        .trim_start()
        .chars()
        .zip(wanted.trim_start().chars())
        .find(|(there, wanted)| there != wanted);
    if folded(there) == folded(wanted) || folded(there).contains(&folded(wanted)) {
        if let Some((in_file, in_old)) = odd_character(there, wanted) {
            return format!(
                "the file has {} where `old_string` has {} at line {line}",
                named(in_file),
                named(in_old)
            );
        }
        if there.to_lowercase() == wanted.to_lowercase() {
            return format!("upper and lower case differ at line {line}");
        }
        return format!("whitespace inside line {line} differs");
    }
    match unequal {
        Some((in_file, in_old)) => format!(
            "the closest text is at line {line}, where the file has {} and `old_string` has {}",
            named(in_file),
            named(in_old)
        ),
        None => format!("the closest text is at line {line}, which is longer or shorter"),
    }
}

/// The first look-alike in either text that the other does not have.
fn odd_character(there: &str, wanted: &str) -> Option<(char, char)> {
    let odd = |c: &char| fold_character(*c) != *c;
    if let Some(c) = there.chars().find(|c| odd(c) && !wanted.contains(*c)) {
        return Some((c, fold_character(c)));
    }
    wanted
        .chars()
        .find(|c| odd(c) && !there.contains(*c))
        .map(|c| (fold_character(c), c))
}

fn named(c: char) -> String {
    match c {
        ' ' => "a space".to_owned(),
        '\t' => "a tab".to_owned(),
        '\u{a0}' => "a no-break space (U+00A0)".to_owned(),
        c if c.is_ascii_graphic() => format!("`{c}`"),
        c => format!("`{c}` (U+{:04X})", u32::from(c)),
    }
}

fn indentation(white: &str) -> String {
    let tabs = white.matches('\t').count();
    let spaces = white.matches(' ').count();
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    match (tabs, spaces) {
        (0, 0) if white.is_empty() => "none".to_owned(),
        (0, 0) => "other white space".to_owned(),
        (tabs, 0) => format!("{tabs} tab{}", plural(tabs)),
        (0, spaces) => format!("{spaces} space{}", plural(spaces)),
        (tabs, spaces) => {
            format!(
                "{tabs} tab{} and {spaces} space{}",
                plural(tabs),
                plural(spaces)
            )
        }
    }
}

fn shown(lines: &[&str]) -> String {
    let mut out: Vec<String> = lines
        .iter()
        .take(SHOWN_LINES)
        .map(|line| match line.char_indices().nth(COMPARED_CHARS) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => (*line).to_owned(),
        })
        .collect();
    if lines.len() > SHOWN_LINES {
        out.push(format!("… ({} more lines)", lines.len() - SHOWN_LINES));
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, old: &str, expect: &str) {
        let region = closest_region(text, old).expect("a region");
        assert_eq!(region.difference, expect);
    }

    #[test]
    fn what_differs_is_named() {
        check(
            "func f() {\n\treturn x\n}\n",
            "    return x",
            "whitespace differs (file uses 1 tab, `old_string` uses 4 spaces) at line 2",
        );
        check(
            "a\nbudget for\u{a0}next\n",
            "budget for next",
            "the file has a no-break space (U+00A0) where `old_string` has a space at line 2",
        );
        check(
            "say \u{201c}hi\u{201d}\n",
            "say \"hi\"",
            "the file has `\u{201c}` (U+201C) where `old_string` has `\"` at line 1",
        );
        check(
            "let Value = 1;\n",
            "let value = 1;",
            "upper and lower case differ at line 1",
        );
        check(
            "x = 1  \ny = 2\n",
            "x = 1\ny = 2",
            "whitespace at the end of line 1 differs (file has 2 spaces, `old_string` has none)",
        );
        check(
            "fn run(count: u32) {}\n",
            "fn run(count: u64) {}",
            "the closest text is at line 1, where the file has `3` and `old_string` has `6`",
        );
    }

    #[test]
    fn a_missing_newline_at_the_end_is_named() {
        let missing = "the file has no newline at its end, `old_string` has one; leave it out";
        check("abc\ndef", "def\n", missing);
        check("abc\ndef", "abc\ndef\n", missing);
        check(
            "abc\ndef",
            "dex\n",
            "the closest text is at line 2, where the file has `f` and `old_string` has `x`",
        );
    }

    #[test]
    fn nothing_alike_is_no_region() {
        assert_eq!(closest_region("alpha\nbeta\n", "0123456789 zzzz"), None);
    }
}
