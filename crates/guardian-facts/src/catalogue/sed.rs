//! `sed` scripts, read in full: every command of GNU sed with its files and shell text.
//!
//! The script language is small but its ends are treacherous: `a`, `i`, `c`, `r`, `w` and `e` take
//! the rest of the line, `s` may carry `w FILE` or `e` among its flags. What does not parse is
//! opaque. Where a `}` could belong to a label or close a block it does not matter which, since
//! no command is skipped either way.

use super::scan::Scanned;
use super::schema::Entry;
use crate::Effect;
use crate::command::{Invocation, Judgement, Nested, Word, WordPart};

/// Adds what the scripts of a `sed` command line do.
pub(crate) fn judge(
    entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let mut script = String::new();
    let mut known = true;
    let mut counts = false;
    let mut add = |word: &Word| match with_numbers(word) {
        Some(text) => {
            counts |= word.as_literal().is_none();
            script.push_str(&text);
            script.push('\n');
        }
        None => known = false,
    };
    if scanned.has("-e") || scanned.has("-f") {
        scanned.values("-e").for_each(&mut add);
    } else if let Some(word) = scanned.operands.first() {
        add(word);
    }
    for suffix in scanned.values("-i") {
        // The backup's name is made of the suffix; with a `/` it lies in another directory.
        if suffix.as_literal().is_none_or(|text| text.contains('/')) {
            judgement.make_opaque(
                "backup-path",
                "the backup of `-i` may go to another directory",
            );
        }
    }
    if !known {
        judgement.make_opaque(
            "unknown-script",
            format!("the script of `{}` is not known", entry.name),
        );
        return;
    }
    let span = scanned
        .operands
        .first()
        .map_or(crate::Span { start: 0, end: 0 }, |word| word.span);
    let mut parser = Parser {
        text: script.as_bytes(),
        at: 0,
    };
    let mut uses = Vec::new();
    if parser.script(&mut uses).is_none() {
        judgement.make_opaque(
            "unknown-script",
            format!("the script of `{}` could not be read", entry.name),
        );
    }
    if counts && !uses.is_empty() {
        // The number could be a part of a file's name or of what is run.
        judgement.make_opaque(
            "unknown-script",
            format!(
                "the script of `{}` touches files that are not known",
                entry.name
            ),
        );
    }
    for used in uses {
        match used {
            Use::Reads(path) if path == "/dev/stdin" => {}
            Use::Reads(path) => judgement.read(&Word::literal(path, span)),
            Use::Writes(path) if path == "/dev/stdout" || path == "/dev/stderr" => {}
            Use::Writes(path) => judgement.write(&Word::literal(path, span)),
            Use::Runs(text) => {
                judgement.add(Effect::RunsCode);
                judgement.nested.push(Nested::Shell {
                    text: Word::literal(text, span),
                    elsewhere: false,
                });
            }
            Use::RunsInput => {
                judgement.add(Effect::RunsCode);
                judgement.make_opaque("runs-input", "runs what it reads as a shell command");
            }
        }
    }
}

/// The text of a script, with `1` for integers whose value is not known (`"${i}p"`): which number it
/// is does not change what the script does, except where it would be a delimiter (`s$i`, `\\$i`).
fn with_numbers(word: &Word) -> Option<String> {
    let mut script = String::new();
    for part in &word.parts {
        match part {
            WordPart::Literal(text) => script.push_str(text),
            WordPart::Unknown {
                integer: true,
                may_split: false,
                ..
            } if !script.ends_with(['s', 'y', '\\']) => script.push('1'),
            WordPart::Unknown { .. } | WordPart::Glob(_) | WordPart::TemporaryPath => return None,
        }
    }
    Some(script)
}

/// What a script does besides printing.
#[derive(Debug, PartialEq, Eq)]
enum Use {
    Reads(String),
    Writes(String),
    Runs(String),
    RunsInput,
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    fn digits(&mut self) -> bool {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        self.at > start
    }

    /// The rest of the line, without the newline.
    fn line(&mut self) -> String {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
        String::from_utf8_lossy(self.text.get(start..self.at).unwrap_or_default()).into_owned()
    }

    fn script(&mut self, uses: &mut Vec<Use>) -> Option<()> {
        loop {
            while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b';')) {
                self.at += 1;
            }
            if self.peek().is_none() {
                return Some(());
            }
            self.addresses()?;
            self.blanks();
            while self.peek() == Some(b'!') {
                self.at += 1;
                self.blanks();
            }
            self.command(uses)?;
        }
    }

    fn addresses(&mut self) -> Option<()> {
        if !self.address()? {
            return Some(());
        }
        self.blanks();
        if self.peek() == Some(b',') {
            self.at += 1;
            self.blanks();
            if matches!(self.peek(), Some(b'+' | b'~')) {
                self.at += 1;
                return self.digits().then_some(());
            }
            if !self.address()? {
                return None;
            }
        }
        Some(())
    }

    /// One address; `Some(false)` when there is none.
    fn address(&mut self) -> Option<bool> {
        match self.peek() {
            Some(b'0'..=b'9') => {
                self.digits();
                self.blanks();
                if self.peek() == Some(b'~') {
                    self.at += 1;
                    self.digits();
                }
                Some(true)
            }
            Some(b'$') => {
                self.at += 1;
                Some(true)
            }
            Some(b'/') => {
                self.at += 1;
                self.regex(b'/')?;
                self.address_flags();
                Some(true)
            }
            Some(b'\\') => {
                self.at += 1;
                let delimiter = self
                    .next()
                    .filter(|byte| byte.is_ascii() && !matches!(byte, b'\n' | b'\\'))?;
                self.regex(delimiter)?;
                self.address_flags();
                Some(true)
            }
            _ => Some(false),
        }
    }

    fn address_flags(&mut self) {
        while matches!(self.peek(), Some(b'I' | b'M')) {
            self.at += 1;
        }
    }

    /// As [`Self::until`], in a regex. Whether brackets protect the delimiter differs between
    /// versions of sed, so a regex where that matters does not parse.
    fn regex(&mut self, delimiter: u8) -> Option<()> {
        let start = self.at;
        self.until(delimiter)?;
        let regex = self.text.get(start..self.at - 1)?;
        let mut at = 0;
        while let Some(byte) = regex.get(at) {
            match byte {
                b'\\' => at += 2,
                b'[' => {
                    at += 1;
                    if regex.get(at) == Some(&b'^') {
                        at += 1;
                    }
                    if regex.get(at) == Some(&b']') {
                        at += 1;
                    }
                    // The set must be closed before the delimiter, and not by an escaped `]`.
                    loop {
                        match regex.get(at)? {
                            b']' => break,
                            b'\\' if regex.get(at + 1) == Some(&b']') => return None,
                            b'[' if matches!(regex.get(at + 1), Some(b':' | b'.' | b'=')) => {
                                let kind = *regex.get(at + 1)?;
                                let rest = regex.get(at + 2..)?;
                                let end = rest.windows(2).position(|pair| pair == [kind, b']'])?;
                                at += 2 + end + 2;
                            }
                            _ => at += 1,
                        }
                    }
                    at += 1;
                }
                _ => at += 1,
            }
        }
        Some(())
    }

    /// Up to the next delimiter that no backslash precedes. A bare newline ends the script with an
    /// error in GNU sed.
    fn until(&mut self, delimiter: u8) -> Option<()> {
        loop {
            match self.next()? {
                byte if byte == delimiter => return Some(()),
                b'\\' => {
                    self.next()?;
                }
                b'\n' => return None,
                _ => {}
            }
        }
    }

    /// Nothing but blanks, then the end of the command.
    fn end(&mut self) -> Option<()> {
        self.blanks();
        match self.peek() {
            None | Some(b'\n' | b';' | b'}' | b'#') => Some(()),
            Some(_) => None,
        }
    }

    fn command(&mut self, uses: &mut Vec<Use>) -> Option<()> {
        match self.next()? {
            b'{' => Some(()),
            b'}' => self.end(),
            b'=' | b'd' | b'D' | b'g' | b'G' | b'h' | b'H' | b'n' | b'N' | b'p' | b'P' | b'x'
            | b'F' | b'z' => self.end(),
            b'l' | b'L' | b'q' | b'Q' => {
                self.blanks();
                self.digits();
                self.end()
            }
            b'#' => {
                self.line();
                Some(())
            }
            b':' | b'b' | b't' | b'T' | b'v' => {
                self.blanks();
                while self
                    .peek()
                    .is_some_and(|byte| !byte.is_ascii_whitespace() && byte != b';')
                {
                    self.at += 1;
                }
                Some(())
            }
            b'a' | b'i' | b'c' => {
                self.appended_text();
                Some(())
            }
            b'r' | b'R' => {
                self.blanks();
                uses.push(Use::Reads(self.line()));
                Some(())
            }
            b'w' | b'W' => {
                self.blanks();
                uses.push(Use::Writes(self.line()));
                Some(())
            }
            b'e' => {
                self.blanks();
                let text = self.line();
                uses.push(if text.is_empty() {
                    Use::RunsInput
                } else {
                    Use::Runs(text)
                });
                Some(())
            }
            b'y' => {
                let delimiter = self.delimiter()?;
                self.until(delimiter)?;
                self.until(delimiter)?;
                self.end()
            }
            b's' => self.substitute(uses),
            _ => None,
        }
    }

    fn delimiter(&mut self) -> Option<u8> {
        self.next()
            .filter(|byte| byte.is_ascii() && !matches!(byte, b'\n' | b'\\'))
    }

    fn substitute(&mut self, uses: &mut Vec<Use>) -> Option<()> {
        let delimiter = self.delimiter()?;
        self.regex(delimiter)?;
        self.until(delimiter)?;
        loop {
            match self.peek() {
                Some(b'g' | b'p' | b'i' | b'I' | b'm' | b'M' | b'0'..=b'9') => self.at += 1,
                Some(b'e') => {
                    self.at += 1;
                    uses.push(Use::RunsInput);
                }
                Some(b'w') => {
                    self.at += 1;
                    self.blanks();
                    uses.push(Use::Writes(self.line()));
                    return Some(());
                }
                _ => return self.end(),
            }
        }
    }

    /// The text of `a`, `i` and `c`: to the end of the line, on when a backslash precedes it.
    fn appended_text(&mut self) {
        while let Some(byte) = self.next() {
            match byte {
                b'\\' => {
                    self.next();
                }
                b'\n' => return,
                _ => {}
            }
        }
    }
}
