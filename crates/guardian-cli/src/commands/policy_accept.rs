//! `guardian policy accept`: take a loosening change of policy files that waits in sessions.

use std::fmt::Write as _;
use std::path::Path;

use guardian_host::policies::{PolicyAcceptance, WaitingChange, WaitingPolicy};
use guardian_host::{HostConfig, HostError};
use serde_json::json;
use similar::TextDiff;

use crate::arguments::PolicyAcceptOptions;
use crate::exit::ExitCode;
use crate::{output, places};

/// Shows what waits, asks, and accepts.
pub(crate) fn run(options: &PolicyAcceptOptions) -> Result<ExitCode, HostError> {
    let places = places::find(options.store.data.data_dir.as_deref())?;
    let acceptance = PolicyAcceptance::open(&HostConfig::at(places)?)?;
    let waiting: Vec<WaitingPolicy> = acceptance
        .waiting()?
        .into_iter()
        .filter(|one| {
            options
                .session
                .as_ref()
                .is_none_or(|id| *id == one.session_id)
        })
        .collect();
    if waiting.is_empty() {
        if options.store.json.json {
            output::json(&json!({ "accepted": [] }));
        } else {
            output::notice("nothing waits");
        }
        return Ok(ExitCode::Done);
    }
    if !options.yes {
        output::text_to_stderr(&shown(&waiting));
        let question = "Let these changes count in the running sessions?";
        if !crate::terminal::confirm(question) {
            output::complain(&"not accepted: answer `yes` on a terminal, or use --yes");
            return Ok(ExitCode::Usage);
        }
    }
    for one in &waiting {
        acceptance.accept(one)?;
    }
    let sessions: Vec<&str> = waiting.iter().map(|one| one.session_id.as_str()).collect();
    if options.store.json.json {
        output::json(&json!({ "accepted": sessions }));
    } else {
        output::line(&format!("accepted for {}", sessions.join(", ")));
    }
    Ok(ExitCode::Done)
}

/// The changes, each set of them once, with the sessions that wait for it.
fn shown(waiting: &[WaitingPolicy]) -> String {
    let mut groups: Vec<(&[WaitingChange], Vec<&str>)> = Vec::new();
    for one in waiting {
        match groups
            .iter_mut()
            .find(|(changes, _)| *changes == one.changes)
        {
            Some((_, sessions)) => sessions.push(&one.session_id),
            None => groups.push((&one.changes, vec![&one.session_id])),
        }
    }
    let mut text = String::new();
    for (changes, sessions) in groups {
        let word = if sessions.len() == 1 {
            "session"
        } else {
            "sessions"
        };
        let _ = writeln!(text, "{word} {}:", sessions.join(", "));
        for change in changes {
            text.push_str(&difference(change));
        }
        text.push('\n');
    }
    text
}

fn difference(change: &WaitingChange) -> String {
    let mut text = String::new();
    for note in &change.notes {
        let _ = writeln!(text, "{}: {note}", change.file.display());
    }
    let (before, now) = (
        change.before.as_deref().unwrap_or_default(),
        change.now.as_deref().unwrap_or_default(),
    );
    if before != now {
        let name = |is_there: bool| match is_there {
            true => change.file.as_path(),
            false => Path::new("/dev/null"),
        };
        let diff = TextDiff::from_lines(before, now);
        let mut unified = diff.unified_diff();
        let unified = unified.header(
            &format!("{} (in force)", name(change.before.is_some()).display()),
            &format!("{} (now)", name(change.now.is_some()).display()),
        );
        text.push_str(&unified.to_string());
    }
    text
}
