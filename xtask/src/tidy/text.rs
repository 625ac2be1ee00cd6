//! Rust source with its comments and literals blanked, so that rules see code only.

/// Rust source, taken apart. All texts have the line breaks of the original.
pub(crate) struct Source {
    /// Code: comments, string and character literals are spaces, and so is what stands behind
    /// `#[cfg(test)]`.
    pub(crate) product_code: String,
    /// Comments only.
    pub(crate) comments: String,
}

impl Source {
    /// Takes a file apart. Text that is not Rust gives nonsense, never an error.
    pub(crate) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut code = blank(bytes);
        let mut comments = blank(bytes);
        let mut at = 0;
        while at < bytes.len() {
            let (kind, end) = token(bytes, at);
            let into = match kind {
                Kind::Code => &mut code,
                Kind::Comment => &mut comments,
                Kind::Literal => {
                    at = end;
                    continue;
                }
            };
            into[at..end].copy_from_slice(&bytes[at..end]);
            at = end;
        }
        let product = without_tests(&code);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self {
            product_code: text(product),
            comments: text(comments),
        }
    }
}

enum Kind {
    Code,
    Comment,
    Literal,
}

/// Spaces, with the line breaks kept.
fn blank(bytes: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .map(|byte| if *byte == b'\n' { b'\n' } else { b' ' })
        .collect()
}

/// The token at `at` and its end; at least one byte long.
fn token(bytes: &[u8], at: usize) -> (Kind, usize) {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        let length = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(rest.len());
        return (Kind::Comment, at + length);
    }
    if rest.starts_with(b"/*") {
        return (Kind::Comment, at + block_comment(rest));
    }
    if rest[0] == b'"' {
        return (Kind::Literal, at + quoted(rest, b'"'));
    }
    if rest[0] == b'\'' {
        return character(rest).map_or((Kind::Code, at + 1), |length| (Kind::Literal, at + length));
    }
    if is_word(rest[0]) {
        let length = rest
            .iter()
            .position(|byte| !is_word(*byte))
            .unwrap_or(rest.len());
        if let Some(raw) = raw_string(rest, length) {
            return (Kind::Literal, at + raw);
        }
        return (Kind::Code, at + length);
    }
    (Kind::Code, at + 1)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Length of a block comment; they nest.
fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Length of a literal that ends at an unescaped `end`.
fn quoted(rest: &[u8], end: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == end => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Length of a character literal; `None` for a lifetime.
fn character(rest: &[u8]) -> Option<usize> {
    match rest.get(1)? {
        b'\\' => Some(quoted(rest, b'\'')),
        _ => {
            let text = std::str::from_utf8(&rest[1..rest.len().min(6)]);
            let text = match text {
                Ok(text) => text,
                Err(error) => std::str::from_utf8(&rest[1..1 + error.valid_up_to()]).ok()?,
            };
            let width = text.chars().next()?.len_utf8();
            (rest.get(1 + width) == Some(&b'\'')).then_some(width + 2)
        }
    }
}

/// Length of `r"…"`, `r#"…"#`, `br…`, `cr…`, `b"…"`, `c"…"` when the word in front is such a prefix.
fn raw_string(rest: &[u8], word: usize) -> Option<usize> {
    match &rest[..word] {
        b"b" | b"c" => (rest.get(word) == Some(&b'"')).then(|| word + quoted(&rest[word..], b'"')),
        b"r" | b"br" | b"cr" => {
            let hashes = rest[word..]
                .iter()
                .take_while(|byte| **byte == b'#')
                .count();
            if rest.get(word + hashes) != Some(&b'"') {
                return None;
            }
            let body = word + hashes + 1;
            let mut end = vec![b'"'];
            end.resize(hashes + 1, b'#');
            let length = rest[body..]
                .windows(end.len())
                .position(|window| window == end);
            Some(length.map_or(rest.len(), |length| body + length + end.len()))
        }
        _ => None,
    }
}

/// Blanks what follows `#[cfg(test)]`: up to the matching brace, or the semicolon in front of it.
fn without_tests(code: &[u8]) -> Vec<u8> {
    const MARK: &[u8] = b"#[cfg(test)]";
    let mut product = code.to_vec();
    let mut at = 0;
    while let Some(found) = code[at..]
        .windows(MARK.len())
        .position(|window| window == MARK)
    {
        let start = at + found;
        let end = item_end(code, start + MARK.len());
        let blanked = blank(&code[start..end]);
        product[start..end].copy_from_slice(&blanked);
        at = end;
    }
    product
}

fn item_end(code: &[u8], from: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in code[from..].iter().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return from + offset + 1;
                }
            }
            b';' if depth == 0 => return from + offset + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn code(text: &str) -> String {
        let source = Source::new(text);
        assert_eq!(source.product_code.len(), text.len());
        source
            .product_code
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn comments_and_literals_are_blanked() {
        assert_eq!(code("a(); // std::fs\n/* x /* y */ z */ b();"), "a(); b();");
        assert_eq!(
            code(r##"f("std::fs \" {", 'x', '\'', r#"a " b"#, b"c", br"d")"##),
            "f( , , , , , )"
        );
    }

    #[test]
    fn lifetimes_are_code() {
        assert_eq!(
            code("fn a<'a>(x: &'a str, y: char) { y == '{' }"),
            "fn a<'a>(x: &'a str, y: char) { y == }"
        );
        assert_eq!(
            code("let c = 'ä'; let l: &'static str;"),
            "let c = ; let l: &'static str;"
        );
    }

    #[test]
    fn test_modules_are_no_product_code() {
        let source = Source::new(
            "fn a() {}\n#[cfg(test)]\nmod tests { fn b() { {} } }\nfn c() {}\n#[cfg(test)]\nmod d;\nfn e() {}",
        );
        let words: Vec<&str> = source.product_code.split_whitespace().collect();
        assert_eq!(words.join(" "), "fn a() {} fn c() {} fn e() {}");
    }

    #[test]
    fn comments_are_kept_apart() {
        let source = Source::new("let a = \"// no\"; // yes");
        assert_eq!(source.comments.trim(), "// yes");
    }
}
