//! What the command line prints. Nothing else writes to stdout, stderr or the terminal (tidy),
//! besides `serve`'s protocol.
//!
//! Whatever is printed may have come from a file, a call or the store, so it all goes through one
//! writer, on a terminal and elsewhere: what could drive a terminal, turn text around or hide in it
//! is shown as its escape. Colours are parts of their own ([`Part`]) and never in the text.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use guardian_redact::{escape_invisible, one_line, one_line_of};
use serde_json::Value;

/// Style of an error's label.
const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Style of a warning.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
/// Style of what a reader looks for first.
pub(crate) const STRONG: Style = Style::new().bold();
/// No style.
pub(crate) const PLAIN: Style = Style::new();

/// A piece of a line and how it looks.
pub(crate) type Part<'t> = (Style, &'t str);

/// Does a text keep its line breaks?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Breaks {
    Kept,
    Shown,
}

/// The one place from which text goes out.
fn write(out: &mut dyn Write, parts: &[Part<'_>], breaks: Breaks) -> std::io::Result<()> {
    for (style, text) in parts {
        let shown = match breaks {
            // CRLF is one line break.
            Breaks::Kept => escape_invisible(&text.replace("\r\n", "\n")).into_owned(),
            Breaks::Shown => one_line(text),
        };
        write!(out, "{style}{shown}{style:#}")?;
    }
    Ok(())
}

fn write_line(out: &mut dyn Write, parts: &[Part<'_>]) -> std::io::Result<()> {
    write(out, parts, Breaks::Shown)?;
    writeln!(out)?;
    out.flush()
}

/// Prints a line to stdout. A closed pipe is nothing to complain about.
pub(crate) fn line(text: &str) {
    styled_line(&[(PLAIN, text)]);
}

/// Prints a line with styles to stdout.
pub(crate) fn styled_line(parts: &[Part<'_>]) {
    let _ = write_line(&mut anstream::stdout(), parts);
}

/// Prints a line to stdout at once; says when nobody reads any more.
pub(crate) fn try_line(text: &str) -> std::io::Result<()> {
    write_line(&mut anstream::stdout(), &[(PLAIN, text)])
}

/// Prints a JSON value as one line.
pub(crate) fn json(value: &Value) {
    let _ = try_json(value);
}

/// The same; says when nobody reads any more.
pub(crate) fn try_json(value: &Value) -> std::io::Result<()> {
    let mut out = anstream::stdout();
    writeln!(out, "{}", escape_in_json(&value.to_string()))?;
    out.flush()
}

/// Prints a JSON value for people.
pub(crate) fn json_pretty(value: &Value) {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let _ = writeln!(anstream::stdout(), "{}", escape_in_json(&text));
}

/// The same JSON value, written without characters that a terminal would obey or not show: outside
/// of strings there are none but line feeds.
fn escape_in_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        let mut buffer = [0; 4];
        let own = character.encode_utf8(&mut buffer);
        if *escape_invisible(own) == *own {
            escaped.push(character);
            continue;
        }
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            escaped.push_str(&format!("\\u{unit:04x}"));
        }
    }
    escaped
}

/// Prints an error to stderr.
pub(crate) fn complain(error: &dyn std::fmt::Display) {
    let text = format!(": {error}");
    let mut err = anstream::stderr();
    let _ = write(&mut err, &[(ERROR, "error"), (PLAIN, &text)], Breaks::Kept);
    let _ = writeln!(err);
}

/// Prints a notice to stderr.
pub(crate) fn notice(text: &str) {
    let _ = write_line(&mut anstream::stderr(), &[(PLAIN, text)]);
}

/// Writes a line to the terminal that a person sits at.
pub(crate) fn to_terminal(terminal: &mut dyn Write, parts: &[Part<'_>]) -> std::io::Result<()> {
    write_line(terminal, parts)
}

/// Writes a question to the terminal; the answer is typed behind it.
pub(crate) fn ask_terminal(terminal: &mut dyn Write, parts: &[Part<'_>]) -> std::io::Result<()> {
    write(terminal, parts, Breaks::Shown)?;
    terminal.flush()
}

/// Is somebody looking at stderr?
pub(crate) fn stderr_is_terminal() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr())
}

/// Draws over the last line of stderr, which is a terminal; an empty text takes it away.
pub(crate) fn redraw(text: &str) {
    let mut err = std::io::stderr();
    let _ = write!(err, "\r\u{1b}[K");
    let _ = write(&mut err, &[(PLAIN, text)], Breaks::Shown);
    let _ = err.flush();
}

/// Where the log goes: stderr, a line at a time.
#[derive(Clone, Copy)]
pub(crate) struct Log {
    /// Lines are JSON.
    pub(crate) json: bool,
}

impl Write for Log {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let shown = if self.json {
            escape_in_json(&text)
        } else {
            escape_invisible(&text).into_owned()
        };
        std::io::stderr().write_all(shown.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// Prints rows under headings, each column as wide as its widest cell.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) {
    use unicode_width::UnicodeWidthStr;
    // As they will be seen.
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| one_line(cell)).collect())
        .collect();
    let mut widths: Vec<usize> = headings.iter().map(|heading| heading.width()).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let render = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for (cell, width) in cells.zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(
                ' ',
                width.saturating_sub(cell.width()) + 2,
            ));
        }
        line.trim_end().to_owned()
    };
    styled_line(&[(STRONG, &render(&mut headings.iter().copied()))]);
    for row in &rows {
        line(&render(&mut row.iter().map(String::as_str)));
    }
}

/// Prints text of several lines to stdout, with a line end if it has none.
pub(crate) fn text(text: &str) {
    let _ = write_text(&mut std::io::stdout(), text);
}

/// The same to stderr.
pub(crate) fn text_to_stderr(text: &str) {
    let _ = write_text(&mut std::io::stderr(), text);
}

fn write_text(out: &mut dyn Write, text: &str) -> std::io::Result<()> {
    write(out, &[(PLAIN, text)], Breaks::Kept)?;
    if !text.is_empty() && !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Which of the two outputs of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// Passes on what a tool returned. To a file or a pipe it goes as it is, since whoever reads there
/// wants these bytes; to a terminal like everything else.
pub(crate) fn result(stream: Stream, text: &str) {
    use std::io::IsTerminal as _;
    let (mut out, is_terminal): (Box<dyn Write>, bool) = match stream {
        Stream::Stdout => (Box::new(std::io::stdout()), std::io::stdout().is_terminal()),
        Stream::Stderr => (Box::new(std::io::stderr()), std::io::stderr().is_terminal()),
    };
    if is_terminal {
        let _ = write_text(&mut out, text);
        return;
    }
    let _ = out.write_all(text.as_bytes());
    if !text.is_empty() && !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
}

/// A time for people, in UTC to the second.
pub(crate) fn time(milliseconds: i64) -> String {
    jiff::Timestamp::from_millisecond(milliseconds)
        .map(|time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
        .unwrap_or_default()
}

/// A call in one line, cut at a length.
pub(crate) fn call_line(text: &str) -> String {
    const LONGEST: usize = 160;
    one_line_of(text, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{202e}b\u{2066}\u{e0041}\r\nc";

    fn written(breaks: Breaks) -> String {
        let mut out = Vec::new();
        write(&mut out, &[(PLAIN, HOSTILE)], breaks).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn nothing_that_a_terminal_obeys_goes_out() {
        assert_eq!(
            written(Breaks::Kept),
            "a\\u{1b}[2J\\u{1b}]0;x\\u{7}\\u{9b}31m\\u{202e}b\\u{2066}\\u{e0041}\nc"
        );
        assert!(written(Breaks::Shown).ends_with("\\r\\nc"));
    }

    #[test]
    fn styles_are_not_text() {
        let mut out = Vec::new();
        let parts = [(STRONG, "a"), (PLAIN, "\u{1b}[1mb")];
        write(&mut out, &parts, Breaks::Shown).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "\u{1b}[1ma\u{1b}[0m\\u{1b}[1mb");
    }

    #[test]
    fn json_keeps_its_value_and_shows_nothing_else() {
        let value = Value::from(HOSTILE);
        let json = escape_in_json(&value.to_string());
        assert!(json.is_ascii(), "{json}");
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), value);
    }
}
