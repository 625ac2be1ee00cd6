//! The whole chain in the host: commands, a model on loopback, cache, breaker, overruling.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use guardian_host::rules::{OperatingMode, SessionPermissionMode};
use guardian_host::store::AuditFilter;
use guardian_host::{Event, EventSink, Host, NewSession, NoEvents, ToolOutcome, ToolRequest};
use guardian_testkit::ProjectFixture;
use serde_json::{Value, json};

use crate::support::config;

/// A program that reviews: notes what it was given, and answers by what is in it.
fn command(fixture: &ProjectFixture, script: &str) -> PathBuf {
    let program = fixture.root().join("approve it's");
    let log = fixture.root().join("asked.jsonl");
    let text = format!(
        "#!/bin/sh\nrequest=$(cat)\nprintf '%s\\n' \"$request\" >> '{}'\n{script}\n",
        log.display()
    );
    std::fs::write(&program, text).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

/// What the program was given so far.
fn asked(fixture: &ProjectFixture) -> Vec<Value> {
    let text = std::fs::read_to_string(fixture.root().join("asked.jsonl")).unwrap_or_default();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

struct World {
    host: Arc<Host>,
    turn: Option<String>,
    number: u32,
}

impl World {
    async fn open(
        fixture: &ProjectFixture,
        chain: &[&str],
        change: impl FnOnce(&mut guardian_host::HostConfig),
        events: Arc<dyn EventSink>,
    ) -> Self {
        let mut config = config(fixture);
        config.user.review.chain = chain.iter().map(|one| (*one).to_owned()).collect();
        change(&mut config);
        let host = Host::open(config, events).await.unwrap();
        host.create_session(NewSession {
            session_id: Some("s".to_owned()),
            title: None,
            project_path: Some(fixture.workspace()),
            mode: OperatingMode::Agent,
            permission_mode: SessionPermissionMode::Ask,
        })
        .await
        .unwrap();
        let mut world = Self {
            host,
            turn: None,
            number: 0,
        };
        world.begin("do it").await;
        world
    }

    async fn begin(&mut self, message: &str) {
        if let Some(turn) = self.turn.take() {
            self.host.end_turn("s", &turn).await.unwrap();
        }
        let turn = self.host.begin_turn("s", Some(message.to_owned()), true);
        self.turn = Some(turn.await.unwrap().turn_id);
    }

    async fn write(&mut self, path: &str) -> ToolOutcome {
        self.number += 1;
        let id = format!("c{}", self.number);
        let args = json!({ "path": path, "content": "text\n" });
        let mut request = ToolRequest::new("s".to_owned(), id, "Write".to_owned(), args);
        request.turn_id.clone_from(&self.turn);
        self.host.execute(request).await.unwrap()
    }
}

fn cause(outcome: &ToolOutcome) -> Option<&str> {
    outcome.content.get("cause").and_then(Value::as_str)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_reads_the_request_and_decides_and_leaves_nothing_behind() {
    let fixture = ProjectFixture::new().unwrap();
    let script = "case $request in *denied.txt*) echo '{\"decision\":\"deny\",\"reason\":\"no\"}';;
        *) pwd > /dev/null; echo '{\"decision\":\"allow-once\"}';; esac";
    let entry = format!("command:{}", command(&fixture, script).display());
    let mut world = World::open(&fixture, &[&entry], |_| (), Arc::new(NoEvents)).await;
    let allowed = world.write("fine.txt").await;
    assert!(allowed.ok, "{:?}", allowed.content);
    let denied = world.write("denied.txt").await;
    assert_eq!(cause(&denied), Some("reviewer"));
    assert!(
        denied.content["error"]
            .as_str()
            .unwrap()
            .ends_with("denied permission: no")
    );
    assert!(!fixture.workspace().join("denied.txt").exists());
    let requests = asked(&fixture);
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0]["toolName"], "Write");
    let left: Vec<_> = std::fs::read_dir(fixture.data())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("review-input"))
        .collect();
    assert_eq!(left, [""; 0]);
    let rows = guardian_rows(&fixture);
    let row = rows.iter().find(|row| row["toolCallId"] == "c2").unwrap();
    assert_eq!(row["detail"]["review"][0]["result"], "denied");
    assert_eq!(row["prompted"], false);
}

/// The audit rows, as another process would read them.
fn guardian_rows(fixture: &ProjectFixture) -> Vec<Value> {
    let options = guardian_host::store::StoreOptions::new(fixture.data());
    let store = guardian_host::store::Store::open(options).unwrap();
    let page = store.query_audit(&AuditFilter::newest()).unwrap();
    page.rows
        .iter()
        .map(guardian_host::audit_view::row_view)
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_fails_is_no_answer() {
    let fixture = ProjectFixture::new().unwrap();
    let entry = format!("command:{}", command(&fixture, "exit 3").display());
    let mut world = World::open(&fixture, &[&entry], |_| (), Arc::new(NoEvents)).await;
    assert_eq!(
        cause(&world.write("a.txt").await),
        Some("reviewer_required")
    );
    let mut world = {
        let host = Arc::clone(&world.host);
        host.delete_session("s").await.unwrap();
        host.shutdown().await;
        let deny = |config: &mut guardian_host::HostConfig| {
            config.user.review.on_failure = guardian_host::review::OnFailure::Deny;
        };
        World::open(&fixture, &[&entry], deny, Arc::new(NoEvents)).await
    };
    assert_eq!(cause(&world.write("a.txt").await), Some("reviewer"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_repeated_within_their_turn_and_denials_beyond_it() {
    let fixture = ProjectFixture::new().unwrap();
    let script = "case $request in *denied.txt*) echo '{\"decision\":\"deny\"}';;
        *) echo '{\"decision\":\"allow-once\"}';; esac";
    let entry = format!("command:{}", command(&fixture, script).display());
    let mut world = World::open(&fixture, &["cache", &entry], |_| (), Arc::new(NoEvents)).await;
    // A denied call leaves everything as it is, so the same call is the same action.
    assert_eq!(cause(&world.write("denied.txt").await), Some("reviewer"));
    assert_eq!(cause(&world.write("denied.txt").await), Some("reviewer"));
    assert_eq!(asked(&fixture).len(), 1);
    // What the write changed makes the next one another action.
    assert!(world.write("fine.txt").await.ok);
    assert_eq!(asked(&fixture).len(), 2);
    std::fs::remove_file(fixture.workspace().join("fine.txt")).unwrap();
    assert!(world.write("fine.txt").await.ok);
    assert_eq!(asked(&fixture).len(), 2);
    // The same message in a new turn: the denial counts, the allow does not.
    world.begin("do it").await;
    assert_eq!(cause(&world.write("denied.txt").await), Some("reviewer"));
    assert_eq!(asked(&fixture).len(), 2);
    std::fs::remove_file(fixture.workspace().join("fine.txt")).unwrap();
    assert!(world.write("fine.txt").await.ok);
    assert_eq!(asked(&fixture).len(), 3);
    // The user said something else: everything is asked anew.
    world.begin("yes, that one too").await;
    assert_eq!(cause(&world.write("denied.txt").await), Some("reviewer"));
    assert_eq!(asked(&fixture).len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_denials_open_the_breaker_and_without_a_person_the_turn_ends() {
    let fixture = ProjectFixture::new().unwrap();
    let script = "echo '{\"decision\":\"deny\"}'";
    let entry = format!("command:{}", command(&fixture, script).display());
    let mut world = World::open(&fixture, &[&entry], |_| (), Arc::new(NoEvents)).await;
    for number in 0..3 {
        let denied = world.write(&format!("{number}.txt")).await;
        assert_eq!(cause(&denied), Some("reviewer"));
    }
    // The state is the store's: a host that starts anew finds the breaker open.
    let skipped = world.write("3.txt").await;
    assert_eq!(cause(&skipped), Some("reviewer_required"));
    assert_eq!(asked(&fixture).len(), 3);
    // The turn ends by itself.
    let turn = world.turn.take().unwrap();
    while world
        .host
        .session("s")
        .await
        .unwrap()
        .running_turn
        .is_some()
    {
        tokio::task::yield_now().await;
    }
    assert!(world.host.end_turn("s", &turn).await.is_err());
    world.begin("go on").await;
    assert_eq!(cause(&world.write("4.txt").await), Some("reviewer"));
}

/// A person who answers every card with the same word and remembers what it said.
#[derive(Default)]
struct Person {
    host: Mutex<Option<Arc<Host>>>,
    cards: Mutex<Vec<Vec<String>>>,
    denials: Mutex<Vec<String>>,
}

/// Tells the person.
struct Told(Arc<Person>);

impl EventSink for Told {
    fn emit(&self, event: Event) {
        match event {
            Event::PermissionRequest { posted } => {
                self.0
                    .cards
                    .lock()
                    .unwrap()
                    .push(posted.request.notes.clone());
                let host = self.0.host.lock().unwrap().clone().unwrap();
                // Not from within the sink.
                std::thread::spawn(move || {
                    let answer = guardian_host::review::HumanAnswer::word("allow-once");
                    host.resolve_permission("s", &posted.request.request_id, &answer)
                });
            }
            Event::ReviewerDenied { denial, .. } => {
                self.0.denials.lock().unwrap().push(denial.action);
            }
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_told_why_they_are_asked_and_their_answer_lets_one_more_be_tried() {
    let fixture = ProjectFixture::new().unwrap();
    let script = "echo '{\"decision\":\"deny\"}'";
    let entry = format!("command:{}", command(&fixture, script).display());
    let person = Arc::new(Person::default());
    let events = Arc::new(Told(Arc::clone(&person)));
    let mut world = World::open(&fixture, &[&entry, "human"], |_| (), events).await;
    world.host.attach_reviewer();
    *person.host.lock().unwrap() = Some(Arc::clone(&world.host));
    for number in 0..3 {
        assert_eq!(
            cause(&world.write(&format!("{number}.txt")).await),
            Some("reviewer")
        );
    }
    assert!(world.write("3.txt").await.ok);
    let cards = person.cards.lock().unwrap().clone();
    assert_eq!(cards.len(), 1);
    assert!(
        cards[0]
            .iter()
            .any(|note| note.contains("automatic reviewers are paused")),
        "{cards:?}"
    );
    // Half open: one is tried, denies, and the breaker opens again.
    assert_eq!(cause(&world.write("4.txt").await), Some("reviewer"));
    assert!(world.write("5.txt").await.ok);
    assert_eq!(asked(&fixture).len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denial_is_overruled_once_and_for_exactly_that_action() {
    let fixture = ProjectFixture::new().unwrap();
    let script = "echo '{\"decision\":\"deny\",\"reason\":\"not now\"}'";
    let entry = format!("command:{}", command(&fixture, script).display());
    let person = Arc::new(Person::default());
    let events = Arc::new(Told(Arc::clone(&person)));
    let mut world = World::open(&fixture, &["cache", &entry], |_| (), events).await;
    assert!(world.write("a.txt").await.denied);
    let action = person.denials.lock().unwrap()[0].clone();
    let listed = world.host.reviewer_denials("s").await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (listed[0].action.as_str(), listed[0].overruled),
        (action.as_str(), false)
    );
    assert!(!world.host.overrule_denial("s", "0000").await.unwrap());
    assert!(world.host.overrule_denial("s", &action).await.unwrap());
    assert!(world.write("b.txt").await.denied, "another action");
    let ran = world.write("a.txt").await;
    assert!(ran.ok, "{:?}", ran.content);
    std::fs::remove_file(fixture.workspace().join("a.txt")).unwrap();
    assert!(world.write("a.txt").await.denied, "only once");
    let rows = guardian_rows(&fixture);
    assert!(rows.iter().any(|row| row["event"] == "overruled"));
    let row = rows
        .iter()
        .find(|row| row["toolCallId"] == "c3" && row["event"] == "call");
    assert_eq!(row.unwrap()["decidedBy"], "human");
}

/// Answers every request like a chat endpoint, with this decision.
fn endpoint(decision: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let requests = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let request = chat(stream.unwrap(), decision);
            requests.lock().unwrap().push(request);
        }
    });
    (url, seen)
}

fn chat(mut stream: TcpStream, decision: &str) -> String {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    let request = loop {
        let length = stream.read(&mut piece).unwrap();
        bytes.extend_from_slice(&piece[..length]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| {
            line.to_lowercase()
                .strip_prefix("content-length:")
                .map(str::to_owned)
        });
        if body.len() >= length.unwrap().trim().parse::<usize>().unwrap() {
            break text;
        }
    };
    let content = json!({
        "risk": "low", "authorisation": "explicit", "decision": decision, "rationale": "asked for",
    });
    let body = json!({
        "choices": [{ "finish_reason": "stop", "message": { "content": content.to_string() } }],
    })
    .to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    request
}

fn model(url: &str) -> guardian_host::review::ModelConfig {
    let text = format!(
        "api = \"openai-compatible\"\nendpoint = \"{url}\"\nmodel = \"m\"\napiKeyEnv = \"REVIEWER\"\noutput = \"prompt\"\n"
    );
    toml::from_str(&text).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_gets_the_users_message_and_its_key_goes_to_nobody_else() {
    let fixture = ProjectFixture::new().unwrap();
    let (url, seen) = endpoint("allow-once");
    let configure = |config: &mut guardian_host::HostConfig| {
        config.user.review.model = Some(model(&url));
        config
            .environment
            .insert("REVIEWER".into(), "open-sesame-42".into());
    };
    let mut world = World::open(&fixture, &["model"], configure, Arc::new(NoEvents)).await;
    world.begin("please write the notes").await;
    let written = world.write("notes.txt").await;
    assert!(written.ok, "{:?}", written.content);
    let request = seen.lock().unwrap()[0].clone();
    assert!(request.contains("please write the notes"), "{request}");
    assert!(request.contains("Bearer open-sesame-42"));
    assert!(!request.contains("permission mode"), "{request}");
    // A command that only a person may allow stays one, and the key is not in its environment.
    let mut request = ToolRequest::new(
        "s".to_owned(),
        "b1".to_owned(),
        "Bash".to_owned(),
        json!({ "command": "python3 -c 'print(1)'" }),
    );
    request.turn_id.clone_from(&world.turn);
    let outcome = world.host.execute(request).await.unwrap();
    assert_eq!(cause(&outcome), Some("reviewer_required"));
    let change = guardian_host::SessionChange {
        permission_mode: Some(SessionPermissionMode::Auto),
        ..guardian_host::SessionChange::default()
    };
    world.host.configure_session("s", change).await.unwrap();
    let request = ToolRequest::new(
        "s".to_owned(),
        "b2".to_owned(),
        "Bash".to_owned(),
        json!({ "command": "echo \"[$REVIEWER] open-sesame-42\"" }),
    );
    let outcome = world.host.execute(request).await.unwrap();
    assert_eq!(outcome.content["stdout"], "[] [REDACTED:environment]\n");
}

#[tokio::test]
async fn a_model_without_its_key_stops_the_start() {
    let fixture = ProjectFixture::new().unwrap();
    let mut config = config(&fixture);
    config.user.review.chain = vec!["model".to_owned()];
    config.user.review.model = Some(model("http://127.0.0.1:9/"));
    let error = Host::open(config, Arc::new(NoEvents)).await.err().unwrap();
    assert!(
        error.message.contains("`REVIEWER`, which is not set"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn a_review_command_that_cannot_run_stops_the_start() {
    let fixture = ProjectFixture::new().unwrap();
    let file = fixture.root().join("plain");
    std::fs::write(&file, "").unwrap();
    for program in [
        fixture.root().join("missing"),
        file,
        fixture.root().to_owned(),
    ] {
        let mut config = config(&fixture);
        config.user.review.chain = vec![format!("command:{}", program.display())];
        let error = Host::open(config, Arc::new(NoEvents)).await.err().unwrap();
        assert!(
            error.message.contains("the review command"),
            "{}",
            error.message
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exit_status_2_denies_with_what_it_says() {
    let fixture = ProjectFixture::new().unwrap();
    let program = command(&fixture, "echo 'not on a Friday' >&2; exit 2");
    let entry = format!("command:{}", program.display());
    let mut world = World::open(&fixture, &[&entry], |_| (), Arc::new(NoEvents)).await;
    let denied = world.write("a.txt").await;
    assert_eq!(cause(&denied), Some("reviewer"));
    assert!(
        denied.content["error"]
            .as_str()
            .unwrap()
            .ends_with("not on a Friday")
    );
}
