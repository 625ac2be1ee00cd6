//! `guardian policy suggest`: the rules that would have removed the most prompts.

use std::collections::HashMap;
use std::path::PathBuf;

use guardian_host::HostError;
use guardian_host::check::Checker;
use guardian_host::proposals::{Proposal, Proposals};
use guardian_host::rules::Decision;
use guardian_host::store::{AuditEvent, AuditFilter, Store, Timestamp};
use serde_json::json;

use super::check::checker_for;
use crate::arguments::PolicySuggestOptions;
use crate::exit::ExitCode;
use crate::output;
use crate::places;
use crate::policy_notes::PolicyNotes;

/// Calls of one rule that are listed.
const LISTED: usize = 8;

/// Looks through the record and prints rules, best first.
pub(crate) fn run(options: &PolicySuggestOptions) -> Result<ExitCode, HostError> {
    let places = places::find(options.place.data.data_dir.as_deref())?;
    let store = super::sessions::open(&places.data_dir)?;
    let workspaces = workspaces(&store)?;
    let mut checkers: HashMap<PathBuf, Option<Checker>> = HashMap::new();
    let mut proposals = Proposals::default();
    let mut prompts = 0;
    let mut unusable = 0;
    let mut notes = PolicyNotes::default();
    let mut filter = AuditFilter {
        event: Some(AuditEvent::Call),
        limit: 1000,
        since: options.days.map(days_ago),
        ..AuditFilter::newest()
    };
    loop {
        let page = store.query_audit(&filter).map_err(HostError::internal)?;
        for row in &page.rows {
            let entry = &row.entry;
            if entry.prompted != Some(true) {
                continue;
            }
            prompts += 1;
            let (Some(tool), Some(args)) = (&entry.tool, &entry.args_preview) else {
                unusable += 1;
                continue;
            };
            let refused = entry.decision == Some(Decision::Deny)
                && entry.decided_by.as_deref() == Some("human");
            // What was cut or masked is not what was asked about.
            let whole = store.args_hash(tool, args).ok() == entry.args_hash;
            let workspace = entry
                .session
                .as_ref()
                .and_then(|session| workspaces.get(session.as_str()))
                .filter(|path| whole && path.is_dir());
            let Some(workspace) = workspace else {
                unusable += 1;
                continue;
            };
            if !checkers.contains_key(workspace) {
                let mut place = options.place.clone();
                place.workspace = Some(workspace.clone());
                let checker = match checker_for(&place, None) {
                    Ok(checker) => {
                        notes.add(&checker);
                        Some(checker)
                    }
                    Err(error) => {
                        let at = workspace.display();
                        output::notice(&format!("calls in `{at}` are left out: {error}"));
                        None
                    }
                };
                checkers.insert(workspace.clone(), checker);
            }
            match checkers.get(workspace) {
                Some(Some(checker)) if refused => proposals.refuse(checker, tool, args),
                Some(Some(checker)) => proposals.add(checker, tool, args),
                _ => unusable += 1,
            }
        }
        match page.next_cursor {
            Some(cursor) => filter.cursor = Some(cursor),
            None => break,
        }
    }
    let best = proposals.best(options.limit);
    notes.tell();
    if options.json.json {
        for proposal in &best {
            let mut value = value(proposal);
            notes.put_into(&mut value);
            output::json(&value);
        }
        return Ok(ExitCode::Done);
    }
    print(&best, prompts);
    for (count, what) in [
        (
            proposals.settled(),
            "are not asked about by the policy any more",
        ),
        (
            proposals.unliftable(),
            "are of a kind for which no rule is offered (unknown code, wrappers, the floor)",
        ),
        (unusable, "cannot be judged again from the record"),
    ] {
        if count > 0 {
            output::notice(&format!("{count} {what}"));
        }
    }
    Ok(ExitCode::Done)
}

fn print(best: &[Proposal], prompts: usize) {
    if best.is_empty() {
        output::notice(&format!("{prompts} prompts on record; no rule to suggest"));
        return;
    }
    output::line(&format!(
        "# {prompts} prompts on record. Take what you mean into your policy file."
    ));
    for proposal in best {
        output::line("");
        output::line(&format!(
            "# {} fewer: {}",
            proposal.prompts, proposal.suggestion.sentence
        ));
        for (call, count) in proposal.calls.iter().take(LISTED) {
            output::line(&format!("#   {count} × {}", output::call_line(call)));
        }
        if proposal.calls.len() > LISTED {
            output::line(&format!("#   and {} more", proposal.calls.len() - LISTED));
        }
        output::text(&proposal.suggestion.toml);
    }
}

fn value(proposal: &Proposal) -> serde_json::Value {
    let calls: Vec<_> = proposal
        .calls
        .iter()
        .map(|(call, count)| json!({ "call": call, "count": count }))
        .collect();
    json!({
        "prompts": proposal.prompts,
        "sentence": proposal.suggestion.sentence,
        "rule": proposal.suggestion.toml,
        "calls": calls,
    })
}

fn workspaces(store: &Store) -> Result<HashMap<String, PathBuf>, HostError> {
    let sessions = store.sessions().map_err(HostError::internal)?;
    Ok(sessions
        .into_iter()
        .filter_map(|session| Some((session.id.to_string(), session.project_path?)))
        .collect())
}

fn days_ago(days: u32) -> Timestamp {
    let now = jiff::Timestamp::now().as_millisecond();
    Timestamp(now - i64::from(days) * 24 * 3600 * 1000)
}
