//! Finding the text of an Edit at exactly one place, and changing only that.

use std::ops::Range;

use guardian_facts::input::Replacement;
use serde_json::Value;

use crate::closest::closest_region;
use crate::encoding::{Encoding, broken_utf8, decode_whole_exact, reads_back, to_lf};
use crate::splice::replacement;

/// Why an edit cannot be made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    /// For the model.
    pub(crate) message: String,
    /// Stable word: `not_found`, `ambiguous`, `no_op`, `empty_old_string`, `overlap`, `encoding`.
    pub(crate) reason: &'static str,
    /// Index of the edit, from 0, of how many.
    pub(crate) edit: usize,
    pub(crate) of: usize,
    /// Lines at which the text occurs (1-based).
    pub(crate) lines: Vec<usize>,
    /// The region that is most like the text that was looked for.
    pub(crate) closest: Option<Box<Value>>,
}

impl Problem {
    fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            reason,
            edit: 0,
            of: 1,
            lines: Vec::new(),
            closest: None,
        }
    }
}

/// Occurrences named in a failure.
const NAMED_LINES: usize = 20;

/// The bytes of the file after all edits. All are matched against the original and must not
/// overlap; every byte outside the matched spans stays what it is.
pub(crate) fn apply_edits(bytes: &[u8], edits: &[Replacement]) -> Result<Vec<u8>, Problem> {
    let Some((encoding, text)) = decode_whole_exact(bytes) else {
        return Err(Problem::new("encoding", "it is not text"));
    };
    let Some(text) = text else {
        return Err(Problem::new(
            "encoding",
            format!(
                "it is marked as {} but holds invalid code units",
                encoding.as_str()
            ),
        ));
    };
    let lf = LfForm::of(&text);
    let mut spans: Vec<(usize, Range<usize>, String)> = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let (span, new) = one_edit(&text, &lf, edit).map_err(|problem| Problem {
            edit: index,
            of: edits.len(),
            ..problem
        })?;
        spans.push((index, span, new));
    }
    spans.sort_by_key(|(_, span, _)| (span.start, span.end));
    for pair in spans.windows(2) {
        if pair[0].1.end > pair[1].1.start {
            return Err(Problem {
                edit: pair[1].0,
                of: edits.len(),
                ..Problem::new(
                    "overlap",
                    format!(
                        "edits {} and {} overlap; join them into one",
                        pair[0].0, pair[1].0
                    ),
                )
            });
        }
    }
    rebuild(bytes, &text, encoding, &spans)
}

/// Where in the original text, and what the model wants there (LF).
fn one_edit(
    text: &str,
    lf: &LfForm<'_>,
    edit: &Replacement,
) -> Result<(Range<usize>, String), Problem> {
    let old = to_lf(&edit.old_string);
    let new = to_lf(&edit.new_string);
    if old.is_empty() {
        if text.is_empty() {
            return Ok((0..0, new.into_owned()));
        }
        return Err(Problem::new(
            "empty_old_string",
            "`old_string` is empty, which has no position in a file with content; quote the line \
             next to which the text belongs, or use Write to replace everything",
        ));
    }
    let found = occurrences(&lf.text, &old);
    match found.as_slice() {
        [] => Err(not_found(lf, &old)),
        [_] if old == new => Err(Problem::new(
            "no_op",
            "`old_string` and `new_string` are the same, so there is nothing to change",
        )),
        [at] => Ok((
            lf.original(*at)..lf.original(*at + old.len()),
            new.into_owned(),
        )),
        many => {
            let lines: Vec<usize> = many
                .iter()
                .take(NAMED_LINES)
                .map(|at| lf.line_of(*at))
                .collect();
            let listed: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let more = if many.len() > NAMED_LINES {
                ", …"
            } else {
                ""
            };
            Err(Problem {
                lines,
                ..Problem::new(
                    "ambiguous",
                    format!(
                        "`old_string` occurs {} times (lines {}{more}); add surrounding lines \
                         until it names one place",
                        many.len(),
                        listed.join(", ")
                    ),
                )
            })
        }
    }
}

/// Every position at which `needle` occurs, overlapping ones too.
fn occurrences(text: &str, needle: &str) -> Vec<usize> {
    let finder = memchr::memmem::Finder::new(needle.as_bytes());
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = finder.find(&bytes[from..]) {
        found.push(from + at);
        from += at + 1;
    }
    found
}

fn not_found(lf: &LfForm<'_>, old: &str) -> Problem {
    match closest_region(&lf.text, old) {
        Some(region) => Problem {
            closest: Some(Box::new(region.to_value())),
            ..Problem::new("not_found", format!("`old_string` was not found; {region}"))
        },
        None => Problem::new(
            "not_found",
            "`old_string` was not found and nothing in the file is like it; read the file again \
             and copy the text exactly",
        ),
    }
}

/// Builds the new bytes from the old ones: what lies between the spans is copied, not re-encoded.
fn rebuild(
    bytes: &[u8],
    text: &str,
    encoding: Encoding,
    spans: &[(usize, Range<usize>, String)],
) -> Result<Vec<u8>, Problem> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut position = Position {
        byte: encoding.mark().len(),
        text: 0,
        encoding,
    };
    let mut copied = 0;
    let wrong_line = match encoding {
        Encoding::Windows1252 => broken_utf8(bytes),
        _ => None,
    };
    for (index, span, new) in spans {
        let (span, new) = replacement(text, span.clone(), new);
        // One file in two encodings is what nobody can repair afterwards.
        if let (Some(line), false) = (wrong_line, new.is_ascii()) {
            return Err(Problem {
                edit: *index,
                of: spans.len(),
                ..Problem::new(
                    "encoding",
                    format!(
                        "the file is UTF-8 but for a wrong byte in line {line}, so only ASCII \
                         can be put into it; write it anew with Write, or mend that byte through \
                         Bash first"
                    ),
                )
            });
        }
        let encoded = encoding.encode(&new).map_err(|c| Problem {
            edit: *index,
            of: spans.len(),
            ..Problem::new(
                "encoding",
                format!(
                    "the file is {} and `{c}` (U+{:04X}) cannot be expressed in it",
                    encoding.as_str(),
                    u32::from(c)
                ),
            )
        })?;
        let start = position.advance(text, span.start);
        out.extend_from_slice(&bytes[copied..start]);
        out.extend_from_slice(&encoded);
        copied = position.advance(text, span.end);
    }
    out.extend_from_slice(&bytes[copied..]);
    if !reads_back(&out, encoding) {
        return Err(Problem::new(
            "encoding",
            format!(
                "the file is {}, and with this change it would be read as another encoding; \
                 write it anew with Write",
                encoding.as_str()
            ),
        ));
    }
    Ok(out)
}

/// Walks text and bytes together.
struct Position {
    byte: usize,
    text: usize,
    encoding: Encoding,
}

impl Position {
    /// The byte position of a text position that is not behind.
    fn advance(&mut self, text: &str, to: usize) -> usize {
        let passed = &text[self.text..to];
        self.byte += if matches!(self.encoding, Encoding::Utf8 | Encoding::Utf8Bom) {
            passed.len()
        } else {
            passed.chars().filter_map(|c| self.encoding.width(c)).sum()
        };
        self.text = to;
        self.byte
    }
}

/// Text with CRLF shown as LF, and the way back.
struct LfForm<'a> {
    text: std::borrow::Cow<'a, str>,
    /// LF positions of the line ends that were CRLF, ascending.
    removed: Vec<usize>,
}

impl<'a> LfForm<'a> {
    fn of(text: &'a str) -> Self {
        let lf = to_lf(text);
        let mut removed = Vec::new();
        if lf.len() != text.len() {
            for at in memchr::memmem::find_iter(text.as_bytes(), b"\r\n") {
                removed.push(at - removed.len());
            }
        }
        Self { text: lf, removed }
    }

    /// The original position of a position in LF form.
    fn original(&self, at: usize) -> usize {
        at + self.removed.partition_point(|crlf| *crlf < at)
    }

    fn line_of(&self, at: usize) -> usize {
        bytecount::count(&self.text.as_bytes()[..at], b'\n') + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::detect;
    use proptest::prelude::*;

    fn edit(bytes: &[u8], old: &str, new: &str) -> Result<Vec<u8>, Problem> {
        apply_edits(
            bytes,
            &[Replacement {
                old_string: old.into(),
                new_string: new.into(),
            }],
        )
    }

    #[test]
    fn crlf_stays_on_every_line() {
        assert_eq!(
            edit(b"p\r\nq\r\nr\r\n", "q", "Q").unwrap(),
            b"p\r\nQ\r\nr\r\n"
        );
        assert_eq!(edit(b"p\nq\n", "p\r\nq", "p\r\nr").unwrap(), b"p\nr\n");
        assert_eq!(
            edit(b"p\r\nq\r\n", "p\nq", "p\nx\ny").unwrap(),
            b"p\r\nx\r\ny\r\n"
        );
    }

    #[test]
    fn nothing_is_expanded() {
        assert_eq!(
            edit(b"p\nq\nword", "word", "re=/x$`$&$1\\0/").unwrap(),
            b"p\nq\nre=/x$`$&$1\\0/"
        );
    }

    #[test]
    fn overlapping_occurrences_count() {
        let problem = edit(b"aaa", "aa", "b").unwrap_err();
        assert_eq!(problem.reason, "ambiguous");
        assert!(problem.message.contains("2 times"), "{}", problem.message);
    }

    #[test]
    fn all_edits_look_at_the_original_and_apply_together() {
        let edits = [
            Replacement {
                old_string: "b".into(),
                new_string: "a".into(),
            },
            Replacement {
                old_string: "a".into(),
                new_string: "b".into(),
            },
        ];
        assert_eq!(apply_edits(b"a b", &edits).unwrap(), b"b a");
        let overlapping = [
            Replacement {
                old_string: "ab".into(),
                new_string: "x".into(),
            },
            Replacement {
                old_string: "bc".into(),
                new_string: "y".into(),
            },
        ];
        assert_eq!(
            apply_edits(b"abc", &overlapping).unwrap_err().reason,
            "overlap"
        );
    }

    #[test]
    fn a_character_that_the_encoding_lacks_is_refused() {
        assert_eq!(edit(b"caf\xe9 x", "x", "→").unwrap_err().reason, "encoding");
        assert_eq!(edit(b"caf\xe9 x", "é x", "é y").unwrap(), b"caf\xe9 y");
    }

    #[test]
    fn no_file_gets_two_encodings() {
        let broken = "größe = 1\nline two\nbad ".as_bytes();
        let broken = [broken, b"\xff byte\n"].concat();
        let problem = edit(&broken, "line two", "größer").unwrap_err();
        assert_eq!(problem.reason, "encoding");
        assert!(problem.message.contains("line 3"), "{}", problem.message);
        let changed = edit(&broken, "line two", "line 2").unwrap();
        assert!(changed.starts_with("größe = 1\nline 2\nbad ".as_bytes()));
        // The bytes of "Ã©" in windows-1252 are those of "é" in UTF-8.
        let problem = edit(b"caf\xe9\n", "café", "cafÃ©").unwrap_err();
        assert_eq!(problem.reason, "encoding");
        assert_eq!(edit(b"caf\xe9\n", "café", "cafe").unwrap(), b"cafe\n");
    }

    #[test]
    fn empty_old_string_fills_only_an_empty_file() {
        assert_eq!(edit(b"", "", "new").unwrap(), b"new");
        assert_eq!(
            edit(b"x", "", "new").unwrap_err().reason,
            "empty_old_string"
        );
    }

    fn encoding() -> impl Strategy<Value = Encoding> {
        prop::sample::select(vec![
            Encoding::Utf8,
            Encoding::Utf8Bom,
            Encoding::Utf16Le,
            Encoding::Utf16Be,
            Encoding::Utf32Le,
            Encoding::Utf32Be,
            Encoding::Windows1252,
        ])
    }

    proptest! {
        #[test]
        fn exactly_the_span_changes_in_every_encoding(
            encoding in encoding(),
            before in "([a-z é\u{a0}]|\r\n|\n){0,20}",
            after in "([a-z é\u{a0}]|\r\n|\n){0,20}",
            new in "([A-Z0-9é ]|\n){0,8}",
        ) {
            // `#` and `@` occur nowhere else; é makes windows-1252 invalid as UTF-8.
            let text = format!("é {before}#@{after}");
            let encode = |text: &str| [encoding.mark(), &encoding.encode(text).unwrap()].concat();
            let bytes = encode(&text);
            prop_assume!(detect(&bytes) == Some(encoding));
            let out = edit(&bytes, "#@", &new).unwrap();
            let head = encode(&format!("é {before}"));
            let tail = encoding.encode(&after).unwrap();
            prop_assert!(out.starts_with(&head));
            prop_assert!(out.ends_with(&tail));
            let middle = encoding.decode_exact(&out[head.len()..out.len() - tail.len()]).unwrap();
            prop_assert_eq!(to_lf(&middle).into_owned(), new);
        }
    }
}
