//! Reads the embedded data file without a TOML parser, which would be a quarter of the work of a
//! whole `guardian check`: the file keeps to one line a value, and its texts are borrowed.
//!
//! What this does not understand it does not guess at: the caller then reads the file as TOML.

use super::{ShapeEntry, TailName, Text};

/// The entries of a text; `None` where a line is none of the few kinds that are known here.
pub(super) fn read(text: &'static str) -> Option<Vec<ShapeEntry>> {
    let mut entries: Vec<ShapeEntry> = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line == "[[shape]]" {
            entries.push(ShapeEntry::default());
            continue;
        }
        let entry = entries.last_mut()?;
        let (key, value) = line.split_once(" = ")?;
        match key {
            "kind" => entry.kind = quoted(value)?,
            "description" => entry.description = quoted(value)?,
            "pattern" => entry.pattern = quoted(value)?,
            "anchors" => entry.anchors = list(value)?,
            "examples" => entry.examples = list(value)?,
            "before" => entry.before = value.parse().ok()?,
            "tail" => {
                entry.tail = match &*quoted(value)? {
                    "token" => TailName::Token,
                    "dotted" => TailName::Dotted,
                    "base64" => TailName::Base64,
                    "pem" => TailName::Pem,
                    "none" => TailName::None,
                    _ => return None,
                }
            }
            _ => return None,
        }
    }
    Some(entries)
}

/// A whole value that is a text.
fn quoted(value: &'static str) -> Option<Text> {
    match string(value)? {
        (text, "") => Some(text),
        _ => None,
    }
}

/// A list of texts on one line.
fn list(value: &'static str) -> Option<Vec<Text>> {
    let mut rest = value.strip_prefix('[')?.strip_suffix(']')?;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (text, more) = string(rest)?;
        found.push(text);
        rest = match more.strip_prefix(", ") {
            Some(more) => more,
            None if more.is_empty() => more,
            None => return None,
        };
    }
    Some(found)
}

/// A text at the beginning of a value, and what comes after it.
fn string(value: &'static str) -> Option<(Text, &'static str)> {
    for quote in ["'''", "'"] {
        if let Some(inner) = value.strip_prefix(quote) {
            let (text, rest) = inner.split_once(quote)?;
            return Some((Text::Borrowed(text), rest));
        }
    }
    let inner = value.strip_prefix('"')?;
    let mut end = inner.find('"')?;
    // A quote after an odd number of backslashes is part of the text.
    while inner[..end]
        .bytes()
        .rev()
        .take_while(|byte| *byte == b'\\')
        .count()
        % 2
        == 1
    {
        end += 1 + inner[end + 1..].find('"')?;
    }
    let (text, rest) = (&inner[..end], &inner[end + 1..]);
    // An empty one before a quote may be the beginning of a text over several lines.
    if rest.starts_with('"') {
        return None;
    }
    Some((unescaped(text)?, rest))
}

/// A text without its escapes; `None` where there is one that is not used here.
fn unescaped(text: &'static str) -> Option<Text> {
    if !text.contains('\\') {
        return Some(Text::Borrowed(text));
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        plain.push(match c {
            '\\' => match characters.next()? {
                'n' => '\n',
                c @ ('"' | '\\') => c,
                _ => return None,
            },
            c => c,
        });
    }
    Some(Text::Owned(plain))
}

#[cfg(test)]
mod tests {
    use super::super::{BUILTIN, ShapeFile};
    use super::*;

    #[test]
    fn the_embedded_file_is_read_as_a_toml_parser_reads_it() {
        let file: ShapeFile = toml::from_str(BUILTIN).unwrap();
        assert_eq!(read(BUILTIN), Some(file.shape));
    }

    #[test]
    fn what_it_does_not_understand_it_does_not_read() {
        for text in [
            "kind = \"x\"",
            "[[shape]]\nkind = \"a\\tb\"",
            "[[shape]]\nkind = \"\"\"a\"\"\"",
            "[[shape]]\nkind = \"a\" # why",
            "[[shape]]\nanchors = [\"a\",",
            "[[shape]]\nanchors = [\"a\" \"b\"]",
            "[[shape]]\nbefore = 0x10",
            "[[shape]]\ntail = \"long\"",
            "[[shape]]\nkinds = \"x\"",
            "[shape]\nkind = \"x\"",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
