//! Whole calls through the gate, each as often as asked: what `cargo xtask counts` counts the
//! instructions of.
//!
//! `host_paths NAME TIMES` runs one; without arguments every one runs once.

use std::path::Path;
use std::sync::Arc;

use guardian_host::rules::{OperatingMode, SessionPermissionMode};
use guardian_host::{Host, HostConfig, NewSession, NoEvents, Places, ToolRequest};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

/// Names, the tool of each, and its arguments in one round.
type Arguments = fn(usize) -> Value;
const PATHS: &[(&str, &str, Arguments)] = &[
    ("call-read-32-kib", "Read", |_| json!({"path": "small.txt"})),
    (
        "call-write-32-kib",
        "Write",
        |round| json!({"path": "written.txt", "content": format!("{round}\n{}", small())}),
    ),
    ("call-edit-one-line-of-100000", "Edit", |round| {
        let marks = |count: usize| format!("number 50000 {count} of");
        json!({"path": "lines.txt", "old_string": marks(round), "new_string": marks(round + 1)})
    }),
];

fn small() -> String {
    "some text of a source file\n".repeat(1213)
}

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next();
    let times: usize = arguments.next().map_or(Ok(1), |text| text.parse())?;
    // One worker, so that the same is done whoever comes first; not the runtime of one thread,
    // where calls have no thread of their own.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let place = tempfile::tempdir()?;
    let project = place.path().join("project");
    generate(&project)?;
    let host = runtime.block_on(open(place.path(), &project))?;
    let mut found = false;
    for (name, tool, arguments) in PATHS {
        if wanted.as_ref().is_some_and(|wanted| wanted != name) {
            continue;
        }
        found = true;
        for round in 0..times {
            let id = format!("{name}-{round}");
            let request = ToolRequest::new("s", id, *tool, arguments(round));
            let outcome = runtime.block_on(host.execute(request))?;
            if !outcome.ok {
                return Err(format!("{name}: {}", outcome.content).into());
            }
        }
    }
    runtime.block_on(host.shutdown());
    found.then_some(()).ok_or("there is no path of this name")?;
    Ok(())
}

fn generate(project: &Path) -> Result<(), Failure> {
    std::fs::create_dir(project)?;
    std::fs::write(project.join("small.txt"), small())?;
    std::fs::write(project.join("written.txt"), small())?;
    let lines: String = (0..100_000)
        .map(|number| format!("line number {number} 0 of the file\n"))
        .collect();
    std::fs::write(project.join("lines.txt"), lines)?;
    Ok(())
}

async fn open(place: &Path, project: &Path) -> Result<Arc<Host>, Failure> {
    let places = Places {
        data_dir: place.join("data"),
        config_dir: place.join("config"),
        managed_policy: place.join("no-policy.toml"),
        home: place.to_owned(),
        executables: Vec::new(),
    };
    let host = Host::open(HostConfig::at(places)?, Arc::new(NoEvents)).await?;
    host.create_session(NewSession {
        session_id: Some("s".to_owned()),
        title: None,
        project_path: Some(project.to_owned()),
        mode: OperatingMode::Agent,
        permission_mode: SessionPermissionMode::Auto,
    })
    .await?;
    let read = ToolRequest::new("s", "first", "Read", json!({"path": "written.txt"}));
    host.execute(read).await?;
    Ok(host)
}
