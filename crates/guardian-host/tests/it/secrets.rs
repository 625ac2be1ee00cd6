//! Values of the host's own secret variables do not come back through a command's output.

use std::sync::Arc;

use guardian_host::rules::{OperatingMode, SessionPermissionMode};
use guardian_host::{Host, NewSession, NoEvents, ToolRequest};
use guardian_testkit::ProjectFixture;
use serde_json::json;

use crate::support::config;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_of_the_host_is_neither_inherited_nor_printed() {
    let fixture = ProjectFixture::new().unwrap();
    let mut config = config(&fixture);
    config
        .environment
        .insert("API_KEY".into(), "hunter2-hunter2".into());
    let host = Host::open(config, Arc::new(NoEvents)).await.unwrap();
    host.create_session(NewSession {
        session_id: Some("s".to_owned()),
        title: None,
        project_path: Some(fixture.workspace()),
        mode: OperatingMode::Agent,
        permission_mode: SessionPermissionMode::Auto,
    })
    .await
    .unwrap();
    let command = r#"echo "[${API_KEY:-unset}]"; printf 'hunter2-%s\n' hunter2; printf 'hunter2-%s\n' hunter2 >&2"#;
    let request = ToolRequest::new("s", "1", "Bash", json!({ "command": command }));
    let outcome = host.execute(request).await.unwrap();
    assert_eq!(
        outcome.content["stdout"],
        "[unset]\n[REDACTED:environment]\n"
    );
    assert_eq!(outcome.content["stderr"], "[REDACTED:environment]\n");
}
