//! `guardian trust`: let a workspace's policy file loosen, bound to its very bytes.

use std::path::Path;

use guardian_host::HostError;
use guardian_host::policies::{check_policy_text, hash_of, read_policy_file};
use guardian_host::rules::Layer;
use guardian_host::store::{AuditEntry, AuditEvent, Durability, Store};
use serde_json::json;

use crate::arguments::TrustOptions;
use crate::exit::ExitCode;
use crate::output::{self, time};
use crate::{places, policy_errors};

/// Trusts, lists or removes.
pub(crate) fn run(options: &TrustOptions) -> Result<ExitCode, HostError> {
    let places = places::find(options.store.data.data_dir.as_deref())?;
    let store = super::sessions::open(&places.data_dir)?;
    if options.list {
        return list(&store, options.store.json.json);
    }
    let directory = match &options.workspace {
        Some(directory) => directory.clone(),
        None => std::env::current_dir().map_err(HostError::internal)?,
    };
    // Sessions know the workspace by its canonical path.
    let directory = guardian_host::canonical_directory(&directory)?;
    let file = directory.join(".guardian/policy.toml");
    if options.remove {
        let removed = store.distrust_policy(&file).map_err(HostError::internal)?;
        record(&store, "trust-removed", &file, None)?;
        if options.store.json.json {
            output::json(&json!({ "file": file, "removed": removed }));
        } else {
            output::line(&format!(
                "{}: {removed} trusted versions removed",
                file.display()
            ));
        }
        return Ok(ExitCode::Done);
    }
    let text = read_policy_file(Layer::Workspace, &file)?;
    if let Err(errors) = check_policy_text(
        Layer::Workspace,
        &file,
        &text,
        Some(&directory),
        &places.home,
    ) {
        output::text_to_stderr(&policy_errors::render(&errors));
        output::complain(&"a file that does not load cannot be trusted");
        return Ok(ExitCode::Invalid);
    }
    let hash = hash_of(&text);
    if !options.yes {
        output::text_to_stderr(&text);
        let question = format!(
            "Let the rules of {} allow calls? Only these bytes are trusted.",
            file.display()
        );
        if !crate::terminal::confirm(&question) {
            output::complain(&"not trusted: answer `yes` on a terminal, or use --yes");
            return Ok(ExitCode::Usage);
        }
    }
    record(&store, "trusted", &file, Some(&hash))?;
    store
        .trust_policy(&file, &hash)
        .map_err(HostError::internal)?;
    if options.store.json.json {
        output::json(&json!({ "file": file, "hash": hash }));
    } else {
        output::line(&format!("{}: trusted ({})", file.display(), &hash[..16]));
        output::notice("running sessions use it after `policy.reload`");
    }
    Ok(ExitCode::Done)
}

fn record(store: &Store, change: &str, file: &Path, hash: Option<&str>) -> Result<(), HostError> {
    let entry = AuditEntry {
        decided_by: Some("operator".to_owned()),
        detail: Some(json!({ "change": change, "file": file.display().to_string(), "hash": hash })),
        ..AuditEntry::new(AuditEvent::Policy)
    };
    store
        .append_audit(entry, Durability::Machine)
        .map(drop)
        .map_err(HostError::internal)
}

fn list(store: &Store, json: bool) -> Result<ExitCode, HostError> {
    let trusted = store.trusted_policies().map_err(HostError::internal)?;
    if json {
        for one in &trusted {
            output::json(&json!({ "file": one.path, "hash": one.hash, "at": one.at.0 }));
        }
        return Ok(ExitCode::Done);
    }
    if trusted.is_empty() {
        output::notice("no workspace's policy is trusted");
        return Ok(ExitCode::Done);
    }
    let rows: Vec<_> = trusted
        .iter()
        .map(|one| {
            let short: String = one.hash.chars().take(16).collect();
            vec![one.path.display().to_string(), short, time(one.at.0)]
        })
        .collect();
    output::table(&["FILE", "HASH", "SINCE"], &rows);
    Ok(ExitCode::Done)
}
