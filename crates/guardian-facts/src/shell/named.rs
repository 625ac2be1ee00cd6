//! Paths that the words of an opaque command may name, whatever its options are called:
//! `make -f /tmp/Makefile`, `--target-dir=/tmp/x`, `-fsecrets/a`, `@secrets/a`, `host:dir`.
//!
//! Every place of a word where a path could begin is taken for the beginning of one. What is no path
//! lies in the workspace and harms nobody; a URL is no path.

use super::operands::behind_equals;
use super::reader::Reader;
use super::simple::Call;
use super::values::{self, Kind, Part, State, Text};
use crate::defaults::SystemPaths;
use crate::{NamedPath, Target};

/// Places of one command's words that are looked at; what stands behind them is not known.
const MAX_PLACES: usize = 256;

impl Reader<'_> {
    /// Notes what the words of the opaque command at `index` may name.
    pub(super) fn paths_named(
        &mut self,
        index: usize,
        call: &Call,
        is_code: &dyn Fn(&Text) -> bool,
        state: &State,
    ) {
        let sent: Vec<String> = self
            .facts
            .commands
            .iter()
            .filter(|command| command.place.elsewhere && command.place.inside == Some(index))
            .map(crate::CommandFact::display)
            .collect();
        // what runs on another machine or in a container names its paths there
        let is_sent = |word: &Text| {
            let shown = values::to_word(word, call.span).display();
            sent.iter()
                .any(|text| shown.contains(text) || text.split(' ').any(|part| part == shown))
        };
        let mut places: Vec<Text> = Vec::new();
        for word in call.argv.iter().skip(1).filter(|word| !is_sent(word)) {
            match values::as_literal(word) {
                Some(text) if is_code(word) => places.extend(strings(text).map(values::literal)),
                Some(text) => places.extend(beginnings(text).into_iter().map(values::literal)),
                None if is_code(word) || is_number(word) => {}
                None => places.extend(
                    [Some(without_dashes(word)), behind_equals(word)]
                        .into_iter()
                        .flatten(),
                ),
            }
        }
        let is_bounded = places.len() <= MAX_PLACES;
        places.truncate(MAX_PLACES);
        for text in places {
            self.note_named(index, &text, state);
        }
        if !is_bounded {
            self.facts.named_paths.push(NamedPath {
                target: Target::Unknown {
                    written: "…".to_owned(),
                    reason: "it has more words than are looked at".to_owned(),
                    when_empty: None,
                    temporary: false,
                },
                command: index,
            });
        }
    }

    fn note_named(&mut self, index: usize, text: &Text, state: &State) {
        let text = &self.home_expanded(text);
        let Some(target) = self.place(text, state) else {
            return;
        };
        let is_plain = values::as_literal(text).is_some_and(|text| !text.contains(['/', '.']));
        let is_noise = match &target {
            // a plain word is a path when something of that name is there
            Target::Exact(path) => {
                is_plain && path.kind.is_none() || is_standard_stream(&path.path)
            }
            Target::Unknown { .. } => is_plain,
            Target::Pattern { .. } => false,
        };
        if is_noise || self.names_already(index, &target) {
            return;
        }
        let named = NamedPath {
            target,
            command: index,
        };
        if !self.facts.named_paths.contains(&named) {
            self.facts.named_paths.push(named);
        }
    }

    /// `~/x` in quotes or behind `=`, where the shell leaves it as it is and a program may not.
    fn home_expanded(&self, text: &Text) -> Text {
        let Some(Part::Literal(first)) = text.first() else {
            return text.clone();
        };
        let Some(rest) = first.strip_prefix("~/") else {
            return text.clone();
        };
        let home = self.cx.roots.home.to_string_lossy();
        let mut parts = values::literal(&format!("{}/{rest}", home.trim_end_matches('/')));
        parts.extend(text.iter().skip(1).cloned());
        parts
    }
}

fn is_standard_stream(path: &std::path::Path) -> bool {
    SystemPaths::embedded().is_null_device(path)
        || ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty"]
            .iter()
            .any(|stream| path == std::path::Path::new(stream))
}

/// Nothing but numbers is unknown, and no path is written around them.
fn is_number(word: &Text) -> bool {
    word.iter().all(|part| match part {
        Part::Literal(text) => !text.contains('/'),
        Part::Unknown { kind, .. } => *kind == Kind::Integer,
        Part::Glob(_) | Part::Temporary => false,
    })
}

/// The value of `-C$X`; any other word as it is.
fn without_dashes(word: &Text) -> Text {
    let Some(Part::Literal(first)) = word.first() else {
        return word.clone();
    };
    let value = match first.strip_prefix('-') {
        Some(rest) if !rest.starts_with('-') => rest.get(1..).unwrap_or_default(),
        Some(_) => return Text::new(),
        None => return word.clone(),
    };
    let mut rest = values::literal(value);
    rest.extend(word.iter().skip(1).cloned());
    rest
}

/// Characters behind which a path may begin, and in front of which one may end.
const SEPARATORS: &[char] = &[
    '=', ':', ',', '@', ';', '|', '&', '<', '>', '(', ')', '{', '}', '[', ']', '"', '\'', '`', ' ',
    '\t', '\n',
];

/// The places of a word where a path may begin, each once as far as the next separator and once as
/// far as the word goes.
fn beginnings(word: &str) -> Vec<&str> {
    let mut found = Vec::new();
    if !word.starts_with('-') {
        found.push(word);
    } else if !word.starts_with("--") {
        let value = word.char_indices().nth(2).map(|(at, _)| at);
        found.extend(value.and_then(|at| word.get(at..)));
    }
    let mut start = 0;
    let mut behind_blank = false;
    while let Some(rest) = word.get(start..) {
        let end = rest.find(SEPARATORS).unwrap_or(rest.len());
        let piece = &rest[..end];
        let behind = &rest[end..];
        if behind.starts_with("://") {
            let address = behind.get(3..).unwrap_or_default();
            if piece.eq_ignore_ascii_case("file") {
                found.push(address);
            }
            // an address is no path
            let length = address
                .find([' ', ',', '"', '\'', '\t', '\n'])
                .unwrap_or(address.len());
            found.retain(|text| !(start == 0 && *text == word));
            start += end + 3 + length;
            if length == address.len() {
                break;
            }
            start += 1;
            behind_blank = true;
            continue;
        }
        if start > 0 || end < rest.len() && !word.starts_with('-') {
            found.push(piece);
        }
        if start > 0 && end < rest.len() && !behind_blank {
            found.push(rest);
        }
        let Some(separator) = behind.chars().next() else {
            break;
        };
        behind_blank = separator.is_whitespace();
        start += end + separator.len_utf8();
    }
    // a lone `/` or `..` inside a word is an operator or a range
    found.retain(|text| *text == word || !text.is_empty() && *text != "/" && *text != "..");
    found.dedup();
    found
}

/// What stands in quotes in code, where it has no blank.
fn strings(code: &str) -> impl Iterator<Item = &str> {
    code.split(['"', '\'', '`'])
        .skip(1)
        .filter(|text| !text.is_empty() && !text.contains(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: &[&str]) {
        assert_eq!(beginnings(word), expected, "{word}");
    }

    #[test]
    fn a_path_may_begin_behind_each_separator() {
        check("x", &["x"]);
        check("-f/tmp/x", &["/tmp/x"]);
        check("--dir=/tmp/x", &["/tmp/x"]);
        check("--dir", &[]);
        check("@a/b", &["@a/b", "a/b"]);
        check("x:/y:rw", &["x:/y:rw", "x", "/y", "/y:rw", "rw"]);
        check("A=B=/c", &["A=B=/c", "A", "B", "B=/c", "/c"]);
        check("1 / 2 /x", &["1 / 2 /x", "1", "2", "/x"]);
    }

    #[test]
    fn an_address_is_no_path_and_a_file_address_is_one() {
        check("https://x.org/a:b", &[]);
        check("--registry=https://x.org/", &[]);
        check("https://x.org,/etc/y", &["/etc/y"]);
        check("file:///etc/passwd", &["/etc/passwd"]);
        check("--from=file:///etc/passwd", &["/etc/passwd"]);
    }
}
