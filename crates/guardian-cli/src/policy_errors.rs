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
    let labels = marks.iter().map(|mark| {
        let start = mark.start.min(source.len());
        let end = mark.end.clamp(start, source.len());
        LabeledSpan::new(Some(mark.label.clone()), start, end - start)
    });
    let mut diagnostic = MietteDiagnostic::new(message).with_labels(labels);
    diagnostic.help = hint.map(str::to_owned);
    let report =
        Report::new(diagnostic).with_source_code(NamedSource::new(name, Arc::clone(source)));
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
