//! `guardian sessions`: which sessions there are.

use guardian_host::HostError;
use guardian_host::store::{Store, StoreOptions};
use serde_json::json;

use crate::arguments::StoreOptions as Options;
use crate::exit::ExitCode;
use crate::output::{self, time};
use crate::places;

/// Lists the sessions.
pub(crate) fn run(options: &Options) -> Result<ExitCode, HostError> {
    let places = places::find(options.data.data_dir.as_deref())?;
    let store = open(&places.data_dir)?;
    let sessions = store.sessions().map_err(HostError::internal)?;
    if options.json.json {
        for session in &sessions {
            output::json(&json!({
                "sessionId": session.id.as_str(),
                "title": session.title,
                "projectPath": session.project_path,
                "mode": session.mode,
                "permissionMode": session.permission_mode,
                "createdAt": session.created_at.0,
                "updatedAt": session.updated_at.0,
            }));
        }
        return Ok(ExitCode::Done);
    }
    let rows: Vec<_> = sessions
        .iter()
        .map(|session| {
            let project = session.project_path.as_ref();
            vec![
                session.id.to_string(),
                format!("{:?}", session.mode).to_lowercase(),
                time(session.updated_at.0),
                project
                    .map(|path| path.display().to_string())
                    .unwrap_or_default(),
                session.title.clone().unwrap_or_default(),
            ]
        })
        .collect();
    if rows.is_empty() {
        output::notice("no sessions");
    } else {
        output::table(&["SESSION", "MODE", "CHANGED", "PROJECT", "TITLE"], &rows);
    }
    Ok(ExitCode::Done)
}

/// Opens the store for looking.
pub(super) fn open(data_dir: &std::path::Path) -> Result<Store, HostError> {
    let store = Store::open(StoreOptions::new(data_dir)).map_err(HostError::internal)?;
    if let Some(recovery) = store.recovery() {
        output::notice(&format!(
            "the database was damaged ({}) and has been moved to {}; nothing of it is in force",
            recovery.reason,
            recovery.moved_to.display()
        ));
    }
    Ok(store)
}
