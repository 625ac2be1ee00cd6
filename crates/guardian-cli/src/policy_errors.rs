//! Errors of policy files, and parts of commands, shown in their text with a caret and a hint.

use std::fmt::Write as _;
use std::sync::Arc;

use guardian_host::rules::{PolicyError, PolicyErrors};
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report,
};
use serde_json::{Value, json};

/// A part of a text with what is to be said about it.
pub(crate) struct Mark {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) label: String,
}

/// The errors of a policy file, one after the other.
pub(crate) fn render(errors: &PolicyErrors) -> String {
    let mut text = String::new();
    for error in &errors.0 {
        let place = error.place();
        let mark = Mark {
            start: place.span.start,
            end: place.span.end,
            label: "here".to_owned(),
        };
        let hint = error.hint();
        let shown = marked(
            &error.message(),
            Some(&hint),
            &place.file,
            &place.source,
            &[mark],
        );
        text.push_str(&shown);
    }
    text
}

/// A text with parts of it underlined.
pub(crate) fn marked(
    message: &str,
    hint: Option<&str>,
    name: &str,
    source: &Arc<str>,
    marks: &[Mark],
) -> String {
    // Escaped before it is laid out, so that the carets stand where the reader sees the place.
    let (source, places) = escaped(source);
    let labels = marks.iter().map(|mark| {
        let at = |offset: usize| places.get(offset).copied().unwrap_or(source.len());
        let start = at(mark.start);
        let end = at(mark.end).max(start);
        LabeledSpan::new(Some(mark.label.clone()), start, end - start)
    });
    let mut diagnostic = MietteDiagnostic::new(message).with_labels(labels);
    diagnostic.help = hint.map(str::to_owned);
    let report = Report::new(diagnostic).with_source_code(NamedSource::new(name, source.clone()));
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_links(false)
        .with_width(100);
    let mut text = String::new();
    if handler.render_report(&mut text, report.as_ref()).is_err() {
        text.clear();
        let _infallible = writeln!(text, "{name}: {message}");
    }
    text
}

/// The text with what a reader cannot see escaped, and where each of its bytes stands in that.
fn escaped(source: &str) -> (String, Vec<usize>) {
    let mut text = String::with_capacity(source.len());
    let mut places = Vec::with_capacity(source.len());
    for character in source.chars() {
        places.extend(std::iter::repeat_n(text.len(), character.len_utf8()));
        let mut buffer = [0; 4];
        let own = character.encode_utf8(&mut buffer);
        text.push_str(&guardian_redact::escape_invisible(own));
    }
    (text, places)
}

/// One error as `--json` prints it.
pub(crate) fn to_value(error: &PolicyError) -> Value {
    let (line, column) = error.place().line_column();
    json!({
        "file": error.place().file,
        "line": line,
        "column": column,
        "message": error.message(),
        "hint": error.hint(),
    })
}
