//! What the command line prints. The only place that writes to stdout besides `serve`'s protocol.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use serde_json::Value;

/// Style of an error's label.
const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Style of a warning.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
/// Style of what a reader looks for first.
pub(crate) const STRONG: Style = Style::new().bold();

/// Prints a line to stdout. A closed pipe is nothing to complain about.
pub(crate) fn line(text: &str) {
    let _ = writeln!(anstream::stdout(), "{text}");
}

/// Prints a line to stdout at once; says when nobody reads any more.
pub(crate) fn try_line(text: &str) -> std::io::Result<()> {
    let mut out = anstream::stdout();
    writeln!(out, "{text}").and_then(|()| out.flush())
}

/// Prints a JSON value as one line.
pub(crate) fn json(value: &Value) {
    line(&value.to_string());
}

/// Prints a JSON value for people.
pub(crate) fn json_pretty(value: &Value) {
    line(&serde_json::to_string_pretty(value).unwrap_or_default());
}

/// Prints an error to stderr.
pub(crate) fn complain(error: &dyn std::fmt::Display) {
    let _ = writeln!(anstream::stderr(), "{ERROR}error{ERROR:#}: {error}");
}

/// Prints a notice to stderr.
pub(crate) fn notice(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Prints rows under headings, each column as wide as its widest cell.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) {
    use unicode_width::UnicodeWidthStr;
    let mut widths: Vec<usize> = headings.iter().map(|heading| heading.width()).collect();
    for row in rows {
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
    line(&format!(
        "{STRONG}{}{STRONG:#}",
        render(&mut headings.iter().copied())
    ));
    for row in rows {
        line(&render(&mut row.iter().map(String::as_str)));
    }
}

/// Prints text as it is to stdout, with a line end if it has none.
pub(crate) fn text(text: &str) {
    let _ = write_whole(&mut std::io::stdout(), text);
}

/// The same to stderr.
pub(crate) fn text_to_stderr(text: &str) {
    let _ = write_whole(&mut std::io::stderr(), text);
}

fn write_whole(out: &mut dyn Write, text: &str) -> std::io::Result<()> {
    out.write_all(text.as_bytes())?;
    if !text.is_empty() && !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// A time for people, in UTC to the second.
pub(crate) fn time(milliseconds: i64) -> String {
    jiff::Timestamp::from_millisecond(milliseconds)
        .map(|time| time.strftime("%Y-%m-%d %H:%M:%S").to_string())
        .unwrap_or_default()
}

/// A text of somebody else's in one line that cannot act on the terminal, cut at a length.
pub(crate) fn one_line(text: &str) -> String {
    const LONGEST: usize = 160;
    let mut line: String = text
        .chars()
        .take(LONGEST)
        .flat_map(|c| {
            let escaped = c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            let shown: Vec<char> = if escaped {
                c.escape_default().collect()
            } else {
                vec![c]
            };
            shown
        })
        .collect();
    if text.chars().count() > LONGEST {
        line.push('…');
    }
    line
}
