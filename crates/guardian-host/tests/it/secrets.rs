//! Secrets show nowhere: neither the host's own in a command's output, nor those of a call on its
//! card, in its result's review and in the store.

use std::sync::{Arc, Mutex, OnceLock};

use guardian_host::review::HumanAnswer;
use guardian_host::rules::{OperatingMode, SessionPermissionMode};
use guardian_host::{Event, EventSink, Host, NewSession, NoEvents, ToolRequest};
use guardian_testkit::ProjectFixture;
use serde_json::json;

use crate::support::{config, host};

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_variable_that_the_user_passes_reaches_commands_and_stays_masked() {
    let fixture = ProjectFixture::new().unwrap();
    let mut config = config(&fixture);
    for (name, value) in [
        ("API_KEY", "hunter2-hunter2"),
        ("PLAIN", "plain"),
        ("BASH_ENV", "/nowhere"),
    ] {
        config.environment.insert(name.into(), value.into());
    }
    config.user.env.pass = vec!["API_*".to_owned(), "BASH_ENV".to_owned()];
    config.user.env.block = vec!["PLAIN".to_owned()];
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
    let command = r#"echo "${#API_KEY} ${API_KEY:-unset} ${PLAIN:-unset} ${BASH_ENV:-unset}""#;
    let request = ToolRequest::new("s", "1", "Bash", json!({ "command": command }));
    let outcome = host.execute(request).await.unwrap();
    assert_eq!(
        outcome.content["stdout"],
        "15 [REDACTED:environment] unset unset\n"
    );
}

/// Keeps cards as text and allows them once.
#[derive(Default)]
struct Cards(OnceLock<Arc<Host>>, Mutex<Vec<String>>);

impl EventSink for Cards {
    fn emit(&self, event: Event) {
        if let Event::PermissionRequest { posted } = event {
            self.1.lock().unwrap().push(format!("{:?}", posted.request));
            let host = Arc::clone(self.0.get().unwrap());
            let request = posted.request.clone();
            std::thread::spawn(move || {
                let answer = HumanAnswer::word("allow-once");
                host.resolve_permission(&request.session_id, &request.request_id, &answer);
            });
        }
    }
}

/// The bytes of every file in a directory and below.
fn bytes_below(directory: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(bytes_below(&path));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            files.push((path, bytes));
        }
    }
    files
}

/// Commands, each with a telling part of the secret that it carries. No command does anything: the
/// secrets stand where a word, a value without its name or the head of a long line would show them.
fn commands() -> Vec<(String, &'static str)> {
    let long = |word: &str| word.repeat(8);
    vec![
        (
            format!(
                "true || git clone https://bob:{}@example.invalid/a/b",
                long("hunter2x")
            ),
            "hunter2x",
        ),
        (
            format!("true || nosuch dop_v1_{}", "ab12".repeat(16)),
            "ab12ab12",
        ),
        (
            format!("true || nosuch {} ghp_{}", "x".repeat(32), "Ab1C".repeat(9)),
            "Ab1CAb1C",
        ),
        (
            "export DB_PASSWORD=hunter3hunter3xyz; true || nosuch \"$DB_PASSWORD\"".to_owned(),
            "hunter3",
        ),
        (
            "true || curl -u bob:hunter4hunter4xyz https://example.invalid".to_owned(),
            "hunter4",
        ),
        (
            "true || nosuch --token 'hunter5hunter5xyz'; echo hunter5hunter5xyz".to_owned(),
            "hunter5",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_of_a_call_is_neither_on_its_card_nor_in_the_store() {
    let fixture = ProjectFixture::new().unwrap();
    let sink = Arc::new(Cards::default());
    let events = Arc::clone(&sink) as Arc<dyn EventSink>;
    let host = host(&fixture, SessionPermissionMode::Ask, events).await;
    sink.0.set(Arc::clone(&host)).ok().unwrap();
    for (number, (command, _)) in commands().into_iter().enumerate() {
        let args = json!({ "command": command });
        let request = ToolRequest::new("s", format!("c{number}"), "Bash", args);
        host.execute(request).await.unwrap();
    }
    host.shutdown().await;
    let cards = sink.1.lock().unwrap().join("\n");
    assert!(cards.contains("REDACTED"), "{cards}");
    let files = bytes_below(&fixture.data());
    assert!(!files.is_empty());
    for (command, telling) in commands() {
        assert!(!cards.contains(telling), "{command}\n{cards}");
        for (path, bytes) in &files {
            let found = bytes
                .windows(telling.len())
                .any(|at| at == telling.as_bytes());
            assert!(!found, "{command}: {}", path.display());
        }
    }
}

#[tokio::test]
async fn the_review_of_a_written_key_shows_no_line_of_it() {
    let fixture = ProjectFixture::new().unwrap();
    let host = host(&fixture, SessionPermissionMode::Auto, Arc::new(NoEvents)).await;
    let line = |number: usize| format!("MIIEow{number}abcDEF").repeat(5)[..64].to_owned();
    let body: Vec<String> = (1..9).map(line).collect();
    let key = format!(
        "-----BEGIN RSA {0} KEY-----\n{1}\n-----END RSA {0} KEY-----\n",
        "PRIVATE",
        body.join("\n")
    );
    let args = json!({"path": "a.txt", "content": format!("head\n{key}tail\n")});
    let written = host
        .execute(ToolRequest::new("s", "1", "Write", args))
        .await;
    let written = written.unwrap().content;
    // The hunk holds lines from the middle of the key only.
    let args = json!({"path": "a.txt", "old_string": line(5), "new_string": "gone"});
    let edited = host.execute(ToolRequest::new("s", "2", "Edit", args)).await;
    let edited = edited.unwrap().content;
    for content in [&written, &edited] {
        let hunks = content["review"]["hunks"].to_string();
        assert!(
            hunks.contains("REDACTED") && !hunks.contains("MIIEow"),
            "{hunks}"
        );
    }
    let on_disk = std::fs::read_to_string(fixture.workspace().join("a.txt")).unwrap();
    assert!(on_disk.contains(&line(4)), "the file keeps its own bytes");
}
