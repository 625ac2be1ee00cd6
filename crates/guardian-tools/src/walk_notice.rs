//! What a walk says about what it left out.

use crate::walk::WalkReport;

/// Sentences for the result's `notice`.
pub(crate) fn notices(report: &WalkReport) -> Vec<String> {
    let mut notices = Vec::new();
    if report.timed_out {
        notices.push(
            "timed out: this is what was found so far; name a smaller directory with `path`"
                .to_owned(),
        );
    }
    if report.hidden > 0 {
        notices.push(format!(
            "{} secret or protected path(s) were left out; read one by its exact path if you need it",
            report.hidden
        ));
    }
    if report.unreadable > 0 {
        notices.push(format!("{} path(s) could not be read", report.unreadable));
    }
    notices
}
