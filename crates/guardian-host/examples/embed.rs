//! Embeds the host: one session, one call that runs, one that a reviewer denies.
//!
//! `cargo run -p guardian-host --example embed`

use std::sync::{Arc, OnceLock};

use guardian_host::review::HumanAnswer;
use guardian_host::rules::{OperatingMode, SessionPermissionMode};
use guardian_host::{Event, EventSink, Host, HostConfig, NewSession, Places, ToolRequest};
use serde_json::json;

/// A client that shows each card as a line and denies it.
#[derive(Default)]
struct Denier {
    host: OnceLock<Arc<Host>>,
}

impl EventSink for Denier {
    fn emit(&self, event: Event) {
        let (Event::PermissionRequest { posted }, Some(host)) = (event, self.host.get()) else {
            return;
        };
        let host = Arc::clone(host);
        eprintln!("asked: {}", posted.request.summary);
        // A sink must not call back into the host: the answer comes from elsewhere.
        std::thread::spawn(move || {
            let request = &posted.request;
            let answer = HumanAnswer::word("deny");
            host.resolve_permission(&request.session_id, &request.request_id, &answer);
        });
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    let project = place.path().join("project");
    std::fs::create_dir(&project)?;
    std::fs::write(project.join("notes.txt"), "first line\n")?;
    let places = Places {
        data_dir: place.path().join("data"),
        config_dir: place.path().join("config"),
        managed_policy: place.path().join("no-policy.toml"),
        home: place.path().to_owned(),
        executables: Vec::new(),
    };
    let client = Arc::new(Denier::default());
    let host = Host::open(
        HostConfig::at(places)?,
        Arc::clone(&client) as Arc<dyn EventSink>,
    )
    .await?;
    let _ = client.host.set(Arc::clone(&host));
    host.attach_reviewer();
    let session = host
        .create_session(NewSession {
            session_id: None,
            title: None,
            project_path: Some(project.clone()),
            mode: OperatingMode::Agent,
            permission_mode: SessionPermissionMode::Ask,
        })
        .await?
        .info;

    let call = |id: &str, tool: &str, args| {
        host.execute(ToolRequest::new(session.session_id.clone(), id, tool, args))
    };
    let read = call("1", "Read", json!({ "path": "notes.txt" })).await?;
    let write = call(
        "2",
        "Write",
        json!({ "path": "notes.txt", "content": "gone\n" }),
    )
    .await?;
    show("Read", &read.to_value());
    show("Write", &write.to_value());
    let proven =
        read.ok && write.denied && std::fs::read(project.join("notes.txt"))? == b"first line\n";
    host.shutdown().await;
    if proven {
        Ok(())
    } else {
        Err("the calls went otherwise".into())
    }
}

fn show(tool: &str, outcome: &serde_json::Value) {
    eprintln!("{tool}: {outcome}");
}
