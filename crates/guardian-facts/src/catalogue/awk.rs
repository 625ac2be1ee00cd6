//! `awk` programs: a subset that only computes and prints is proven, the rest is opaque.
//!
//! Outside the subset: pipes, `getline`, `system`, indirect calls (`@`), changes of `ARGV`, the
//! symbol tables of gawk, redirects to anything but a literal name. Where awk implementations
//! disagree about the end of a regex the program is opaque.

use super::scan::Scanned;
use super::schema::Entry;
use crate::command::{Invocation, Judgement, Word};
use crate::opacity;
use crate::{AccessDetail, AccessKind, Effect};

/// Adds what the program and the operands of an `awk` command line do.
pub(crate) fn judge(
    entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let mut operands = scanned.operands.iter();
    if !scanned.has("-f") {
        let Some(program) = operands.next() else {
            return;
        };
        let read = program.as_literal().map(Program::read);
        match read {
            Some(Ok(program)) => {
                for (path, append) in program.writes {
                    let detail = if append {
                        AccessDetail::Append
                    } else {
                        AccessDetail::Truncate
                    };
                    judgement.touch(
                        &Word::literal(path, scanned.operands[0].span),
                        AccessKind::Write,
                        detail,
                    );
                }
                if program.reads_environment {
                    judgement.add(Effect::ReadsEnvironment);
                }
            }
            Some(Err(reason)) => {
                judgement.make_opaque(opacity::AWK_PROGRAM, format!("the program {reason}"));
            }
            None => judgement.make_opaque(
                "unknown-script",
                format!("the program of `{}` is not known", entry.name),
            ),
        }
    }
    for word in operands {
        // `name=value` between the files is an assignment.
        let prefix = word.literal_prefix();
        let is_assignment = prefix.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
        if !is_assignment && word.as_literal() != Some("-") {
            judgement.read(word);
        }
    }
}

/// What a proven program does besides printing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Program {
    writes: Vec<(String, bool)>,
    reads_environment: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Number,
    Text(String),
    Regex,
    Symbol(&'static str),
    Newline,
}

const SYMBOLS: &[&str] = &[
    "**=", ">>", "|&", "||", "&&", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "==", "!=",
    "<=", ">=", "!~", "**", "{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "%", "^", "!",
    ">", "<", "|", "?", ":", "~", "$", "=",
];

impl Program {
    fn read(text: &str) -> Result<Self, &'static str> {
        let tokens = tokens(text)?;
        let mut program = Self::default();
        let mut depth = 0_usize;
        let mut printing = false;
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            match token {
                Token::Name(name) => match name.as_str() {
                    "print" | "printf" => {
                        printing = true;
                        depth = 0;
                    }
                    "system" => return Err("runs commands"),
                    "getline" => return Err("reads files or commands by `getline`"),
                    "ARGV" | "ARGC" | "SYMTAB" | "FUNCTAB" => return Err("changes its own input"),
                    "include" | "load" | "namespace" if at == 0 => return Err("loads code"),
                    "ENVIRON" => program.reads_environment = true,
                    _ => {}
                },
                Token::Symbol("|" | "|&") => return Err("holds a pipe"),
                Token::Symbol("(" | "[") => depth += 1,
                Token::Symbol(")" | "]") => depth = depth.saturating_sub(1),
                Token::Symbol("{" | "}" | ";") | Token::Newline => printing = false,
                Token::Symbol(symbol @ (">" | ">>")) if printing && depth == 0 => {
                    let ends = matches!(
                        tokens.get(at + 2),
                        None | Some(Token::Newline | Token::Symbol(";" | "}"))
                    );
                    match tokens.get(at + 1) {
                        Some(Token::Text(path)) if ends => {
                            if path.starts_with("/inet") || path.contains('\\') {
                                return Err("writes to a computed or network file");
                            }
                            if !matches!(path.as_str(), "/dev/stdout" | "/dev/stderr" | "-") {
                                program.writes.push((path.clone(), *symbol == ">>"));
                            }
                        }
                        _ => return Err("writes to a file whose name is computed"),
                    }
                }
                _ => {}
            }
            at += 1;
        }
        Ok(program)
    }
}

/// A `/` behind one of these divides; anywhere else it opens a regex.
fn ends_operand(token: Option<&Token>) -> bool {
    match token {
        Some(Token::Name(name)) => !matches!(
            name.as_str(),
            "print" | "printf" | "return" | "in" | "case" | "do" | "else" | "exit" | "delete"
        ),
        Some(Token::Number | Token::Text(_) | Token::Symbol(")" | "]")) => true,
        _ => false,
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, &'static str> {
    let bytes = text.as_bytes();
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\r' => at += 1,
            b'\n' => {
                tokens.push(Token::Newline);
                at += 1;
            }
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => at += 2,
            b'#' => {
                while bytes.get(at).is_some_and(|byte| *byte != b'\n') {
                    at += 1;
                }
            }
            b'"' => {
                let end = string_end(bytes, at + 1)?;
                tokens.push(Token::Text(
                    text.get(at + 1..end).unwrap_or_default().to_owned(),
                ));
                at = end + 1;
            }
            b'/' => {
                let previous = tokens.last();
                if matches!(previous, Some(Token::Symbol("++" | "--"))) {
                    return Err("is ambiguous");
                }
                if ends_operand(previous) {
                    at += if bytes.get(at + 1) == Some(&b'=') {
                        2
                    } else {
                        1
                    };
                    tokens.push(Token::Symbol("%"));
                } else {
                    at = regex_end(bytes, at + 1)? + 1;
                    tokens.push(Token::Regex);
                }
            }
            b'0'..=b'9' | b'.' => {
                while bytes
                    .get(at)
                    .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'.')
                {
                    at += 1;
                }
                tokens.push(Token::Number);
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let start = at;
                while bytes
                    .get(at)
                    .is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_')
                {
                    at += 1;
                }
                tokens.push(Token::Name(
                    text.get(start..at).unwrap_or_default().to_owned(),
                ));
            }
            b'@' => return Err("calls a function by a computed name or loads code"),
            _ => {
                let rest = text
                    .get(at..)
                    .ok_or("holds characters outside the subset")?;
                let symbol = SYMBOLS
                    .iter()
                    .find(|symbol| rest.starts_with(**symbol))
                    .ok_or("holds characters outside the subset")?;
                tokens.push(Token::Symbol(symbol));
                at += symbol.len();
            }
        }
    }
    Ok(tokens)
}

fn string_end(bytes: &[u8], mut at: usize) -> Result<usize, &'static str> {
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(at),
            Some(b'\\') => at += 2,
            Some(b'\n') | None => return Err("holds an open string"),
            Some(_) => at += 1,
        }
    }
}

fn regex_end(bytes: &[u8], mut at: usize) -> Result<usize, &'static str> {
    let mut bracket: Option<usize> = None;
    loop {
        match bytes.get(at) {
            Some(b'/') if bracket.is_some() => return Err("holds an ambiguous regex"),
            Some(b'/') => return Ok(at),
            Some(b'\\') => at += 1,
            Some(b'[') if bracket.is_none() => {
                // A `]` right behind `[` or `[^` is a member of the set.
                bracket = Some(at);
                if bytes.get(at + 1) == Some(&b'^') {
                    at += 1;
                }
                if bytes.get(at + 1) == Some(&b']') {
                    at += 1;
                }
            }
            Some(b'[') if matches!(bytes.get(at + 1), Some(b':' | b'.' | b'=')) => {
                let close = bytes.get(at + 1).copied();
                at += 2;
                while bytes.get(at).is_some() && bytes.get(at).copied() != close {
                    at += 1;
                }
                at += 1;
            }
            Some(b']') => bracket = None,
            Some(b'\n') | None => return Err("holds an open regex"),
            Some(_) => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn proven(text: &str) {
        assert_eq!(Program::read(text), Ok(Program::default()), "{text}");
    }

    #[test]
    fn printing_programs_are_proven() {
        proven("{print $1}");
        proven("/^fn /{c++} END{print c}");
        proven("BEGIN { printf \"%.2f\\n\", 22/7 }");
        proven("{ if ($1 > \"a\") print }");
        proven("BEGIN { print \"system(x) > file | cmd\" }");
        proven("{ print ($1 > 2) }");
        proven("{a = $1 / 2; b = a / 3; print a/b}");
        proven("$1 ~ /a[[:alpha:]]+\\/b/ || /x/ { n += length($0) }");
        proven("{ print; x[$1]++ } END { for (k in x) if (x[k] > 1) print k }");
    }

    #[test]
    fn what_runs_or_reads_more_is_not() {
        for text in [
            "BEGIN{system(\"x\")}",
            "BEGIN{\"x\" | getline y}",
            "{print | \"sh\"}",
            "{print > FILENAME\".M\"}",
            "{print > $1}",
            "BEGIN{f=\"system\"; @f(\"rm\")}",
            "BEGIN{while((getline l < \".env\")>0) print l}",
            "BEGIN{ARGV[1]=\"x\"}",
            "/[/]/ {system(\"x\")}",
            "{ x++ / 2; system(\"y\") / 3 }",
            "@load \"filefuncs\"",
            "{ print \"a",
        ] {
            assert!(Program::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn literal_redirects_are_writes() {
        let program = Program::read("{print >> \"M\"; printf(\"%s\", $0) > \"N\"}").unwrap();
        assert_eq!(
            program.writes,
            vec![("M".to_owned(), true), ("N".to_owned(), false)]
        );
        proven("{print > \"/dev/stderr\"}");
    }
}
