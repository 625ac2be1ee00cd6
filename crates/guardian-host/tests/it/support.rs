//! A host in a temporary world.

pub(crate) mod policy;

use std::sync::Arc;

use guardian_host::rules::{OperatingMode, SessionPermissionMode};
use guardian_host::{EventSink, Host, HostConfig, NewSession, NoEvents, Places};
use guardian_testkit::ProjectFixture;

/// Places inside the fixture.
pub(crate) fn places(fixture: &ProjectFixture) -> Places {
    Places {
        data_dir: fixture.data(),
        config_dir: fixture.home().join(".config/guardian"),
        managed_policy: fixture.root().join("no-managed-policy.toml"),
        home: fixture.home(),
        executables: Vec::new(),
    }
}

/// Configuration inside the fixture, with a plain environment.
pub(crate) fn config(fixture: &ProjectFixture) -> HostConfig {
    let mut config = HostConfig::at(places(fixture)).unwrap();
    config.environment = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
        ("HOME", fixture.home().display().to_string()),
    ]
    .into_iter()
    .map(|(name, value)| (name.into(), value.into()))
    .collect();
    config
}

/// A host with one session `s` in the fixture's workspace.
pub(crate) async fn host(
    fixture: &ProjectFixture,
    permission_mode: SessionPermissionMode,
    events: Arc<dyn EventSink>,
) -> Arc<Host> {
    open(fixture, config(fixture), permission_mode, events).await
}

/// The same with a configuration of one's own, and nobody who listens.
pub(crate) async fn session(
    fixture: &ProjectFixture,
    config: HostConfig,
    permission_mode: SessionPermissionMode,
) -> Arc<Host> {
    open(fixture, config, permission_mode, Arc::new(NoEvents)).await
}

async fn open(
    fixture: &ProjectFixture,
    config: HostConfig,
    permission_mode: SessionPermissionMode,
    events: Arc<dyn EventSink>,
) -> Arc<Host> {
    let host = Host::open(config, events).await.unwrap();
    host.attach_reviewer();
    host.create_session(NewSession {
        session_id: Some("s".to_owned()),
        title: None,
        project_path: Some(fixture.workspace()),
        mode: OperatingMode::Agent,
        permission_mode,
    })
    .await
    .unwrap();
    host
}
