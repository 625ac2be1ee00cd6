//! Policy files of a fixture, and what they decide.

use std::path::PathBuf;
use std::sync::Arc;

use guardian_host::{Host, ToolRequest};
use guardian_testkit::ProjectFixture;
use serde_json::json;

pub(crate) const DENY_LS: &str =
    "version = 1\n[[rule]]\nid = \"no-ls\"\neffect = \"deny\"\ncommand = [\"ls\"]\n";
pub(crate) const ALLOW_MAKE: &str =
    "version = 1\n[[rule]]\nid = \"make\"\neffect = \"allow\"\ncommand = [\"make\"]\n";

/// Where the user's policy file lies.
pub(crate) fn user_file(fixture: &ProjectFixture) -> PathBuf {
    let directory = fixture.home().join(".config/guardian");
    std::fs::create_dir_all(&directory).unwrap();
    directory.join("policy.toml")
}

/// Where the project's policy file lies.
pub(crate) fn workspace_file(fixture: &ProjectFixture) -> PathBuf {
    let directory = fixture.workspace().join(".guardian");
    std::fs::create_dir_all(&directory).unwrap();
    directory.join("policy.toml")
}

/// What would be decided about a command in session `s`.
pub(crate) async fn decision(host: &Arc<Host>, command: &str) -> String {
    let request = ToolRequest::new("s", "c", "Bash", json!({ "command": command }));
    host.evaluate(request).await.unwrap().decision
}
