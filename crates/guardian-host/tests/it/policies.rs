//! Policy files in force: what tightens counts at once, what loosens waits, nothing broken loosens.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use guardian_host::check::{Checker, CheckerOptions};
use guardian_host::policies::{LayerState, hash_of};
use guardian_host::rules::{
    OperatingMode, PermissionMode, Preset, SandboxState, SessionPermissionMode,
};
use guardian_host::store::{Store, StoreOptions};
use guardian_host::{ErrorCode, Event, EventSink, Host, NewSession, NoEvents, ToolRequest};
use guardian_testkit::ProjectFixture;
use serde_json::json;

use crate::support::policy::{ALLOW_MAKE, DENY_LS, decision, user_file, workspace_file};
use crate::support::{config, host};

async fn open(fixture: &ProjectFixture) -> Arc<Host> {
    host(fixture, SessionPermissionMode::Ask, Arc::new(NoEvents)).await
}

/// Keeps whether a change waits, once for each notice.
#[derive(Default)]
struct Notices(Mutex<Vec<(bool, usize)>>);

impl EventSink for Notices {
    fn emit(&self, event: Event) {
        if let Event::PolicyChanged {
            waiting, problems, ..
        } = event
        {
            self.0.lock().unwrap().push((waiting, problems.len()));
        }
    }
}

#[tokio::test]
async fn a_user_s_rule_that_tightens_counts_at_once_and_one_that_loosens_waits() {
    let fixture = ProjectFixture::new().unwrap();
    let notices = Arc::new(Notices::default());
    let host = host(
        &fixture,
        SessionPermissionMode::Ask,
        Arc::clone(&notices) as Arc<dyn EventSink>,
    )
    .await;
    assert_eq!(decision(&host, "ls src").await, "ask");
    std::fs::write(user_file(&fixture), DENY_LS).unwrap();
    assert_eq!(decision(&host, "ls src").await, "deny");

    std::fs::write(user_file(&fixture), ALLOW_MAKE).unwrap();
    assert_eq!(decision(&host, "make all").await, "ask");
    assert_eq!(
        decision(&host, "ls src").await,
        "deny",
        "the earlier rule holds"
    );
    assert!(host.show_policy(Some("s")).await.unwrap().waiting);

    host.reload_policy(Some("s")).await.unwrap();
    assert_eq!(decision(&host, "make all").await, "allow");
    assert_eq!(decision(&host, "ls src").await, "ask");
    let notices = notices.0.lock().unwrap().clone();
    assert_eq!(notices, [(false, 0), (true, 0), (false, 0)]);
}

#[tokio::test]
async fn deleting_a_workspace_s_file_keeps_its_denials() {
    let fixture = ProjectFixture::new().unwrap();
    let file = workspace_file(&fixture);
    std::fs::write(&file, DENY_LS).unwrap();
    let host = open(&fixture).await;
    assert_eq!(decision(&host, "ls").await, "deny");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(decision(&host, "ls").await, "deny");
    std::fs::write(&file, "version = 1\n").unwrap();
    assert_eq!(decision(&host, "ls").await, "deny");
    host.reload_policy(None).await.unwrap();
    assert_eq!(decision(&host, "ls").await, "ask");
}

#[tokio::test]
async fn a_workspace_s_file_loosens_only_when_its_very_bytes_are_trusted() {
    let fixture = ProjectFixture::new().unwrap();
    let file = workspace_file(&fixture);
    std::fs::write(&file, ALLOW_MAKE).unwrap();
    let host = open(&fixture).await;
    assert_eq!(decision(&host, "make").await, "ask");
    let shown = host.show_policy(Some("s")).await.unwrap();
    assert_eq!(shown.ignored_allow_rules, ["make"]);

    let store = Store::open(StoreOptions::new(fixture.data())).unwrap();
    let canonical = shown.layers[2].file.clone();
    store
        .trust_policy(&canonical, &hash_of(ALLOW_MAKE))
        .unwrap();
    assert_eq!(
        decision(&host, "make").await,
        "ask",
        "it waits for the operator"
    );
    host.reload_policy(Some("s")).await.unwrap();
    assert_eq!(decision(&host, "make").await, "allow");

    // Trust that is taken back ends at once.
    store.distrust_policy(&canonical).unwrap();
    assert_eq!(decision(&host, "make").await, "ask");
    store
        .trust_policy(&canonical, &hash_of(ALLOW_MAKE))
        .unwrap();
    host.reload_policy(Some("s")).await.unwrap();
    std::fs::write(&file, format!("{ALLOW_MAKE}# another byte\n")).unwrap();
    assert_eq!(decision(&host, "make").await, "ask");
}

#[tokio::test]
async fn keys_that_only_the_user_may_set_are_errors_in_a_workspace_s_file() {
    let fixture = ProjectFixture::new().unwrap();
    let text = "version = 1\npreset = \"balanced\"\n";
    std::fs::write(workspace_file(&fixture), text).unwrap();
    let host = open(&fixture).await;
    let shown = host.show_policy(Some("s")).await.unwrap();
    assert_eq!(shown.layers[2].state, LayerState::Unreadable);
    assert_eq!(shown.preset, Preset::Standard);
    assert_eq!(shown.layers[2].problems[0].line, Some(2));
    let read = ToolRequest::new("s", "c", "Read", json!({"path": "README.md"}));
    assert_eq!(host.evaluate(read).await.unwrap().decision, "ask");
}

#[tokio::test]
async fn a_broken_file_keeps_its_last_good_version_also_after_a_restart() {
    let fixture = ProjectFixture::new().unwrap();
    let file = user_file(&fixture);
    std::fs::write(&file, DENY_LS).unwrap();
    let host = open(&fixture).await;
    assert_eq!(decision(&host, "ls").await, "deny");
    std::fs::write(&file, "version = 1\n[[rule]]\nid = 3").unwrap();
    assert_eq!(decision(&host, "ls").await, "deny");
    assert_eq!(decision(&host, "make").await, "ask");
    host.shutdown().await;
    drop(host);

    let host = Host::open(config(&fixture), Arc::new(NoEvents))
        .await
        .unwrap();
    host.attach_reviewer();
    assert_eq!(decision(&host, "ls").await, "deny");
    let shown = host.show_policy(Some("s")).await.unwrap();
    assert_eq!(shown.layers[1].state, LayerState::LastGood);
}

#[tokio::test]
async fn a_user_s_file_that_becomes_a_link_to_nowhere_keeps_its_denials_also_after_a_restart() {
    let fixture = ProjectFixture::new().unwrap();
    let file = user_file(&fixture);
    std::fs::write(&file, DENY_LS).unwrap();
    let first = open(&fixture).await;
    assert_eq!(decision(&first, "ls").await, "deny");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(fixture.root().join("not-mounted"), &file).unwrap();
    assert_eq!(decision(&first, "ls").await, "deny");
    first.shutdown().await;
    drop(first);

    let host = Host::open(config(&fixture), Arc::new(NoEvents))
        .await
        .unwrap();
    host.attach_reviewer();
    assert_eq!(decision(&host, "ls").await, "deny");
    let shown = host.show_policy(Some("s")).await.unwrap();
    assert_eq!(shown.layers[1].state, LayerState::LastGood);
    // A session that begins only now has the same.
    host.create_session(NewSession {
        session_id: Some("new".to_owned()),
        title: None,
        project_path: Some(fixture.workspace()),
        mode: OperatingMode::Agent,
        permission_mode: SessionPermissionMode::Auto,
    })
    .await
    .unwrap();
    let ls = ToolRequest::new("new", "c", "Bash", json!({"command": "ls"}));
    assert_eq!(host.evaluate(ls).await.unwrap().decision, "deny");
}

#[tokio::test]
async fn a_repository_s_file_with_too_many_examples_is_not_read_and_asks_about_everything() {
    let fixture = ProjectFixture::new().unwrap();
    let examples = "\"make x\", ".repeat(50_000);
    let text = format!("{ALLOW_MAKE}match = [{examples}]\n");
    std::fs::write(workspace_file(&fixture), text).unwrap();
    let host = host(&fixture, SessionPermissionMode::Auto, Arc::new(NoEvents)).await;
    assert_eq!(decision(&host, "ls").await, "ask");
    let shown = host.show_policy(Some("s")).await.unwrap();
    assert_eq!(shown.layers[2].state, LayerState::Unreadable);
    let problem = &shown.layers[2].problems[0];
    assert!(problem.message.contains("more than 256"), "{problem:?}");
}

#[tokio::test]
async fn a_file_that_never_loaded_asks_about_everything() {
    let fixture = ProjectFixture::new().unwrap();
    std::fs::write(user_file(&fixture), "version = 1\nrule = 7\n").unwrap();
    let host = host(&fixture, SessionPermissionMode::Auto, Arc::new(NoEvents)).await;
    assert_eq!(decision(&host, "ls").await, "ask");
    std::fs::remove_file(user_file(&fixture)).unwrap();
    assert_eq!(
        decision(&host, "ls").await,
        "ask",
        "it waits for the operator"
    );
    host.reload_policy(None).await.unwrap();
    assert_eq!(decision(&host, "ls").await, "allow");
}

#[tokio::test]
async fn examples_that_do_not_hold_keep_a_file_from_loading() {
    let fixture = ProjectFixture::new().unwrap();
    let good = format!("{DENY_LS}match = [\"ls -la\"]\nnot_match = [\"lsof\"]\n");
    std::fs::write(user_file(&fixture), &good).unwrap();
    let host = open(&fixture).await;
    assert_eq!(decision(&host, "ls").await, "deny");
    let bad = format!("{DENY_LS}match = [\"cat x\"]\n");
    std::fs::write(user_file(&fixture), bad).unwrap();
    let shown = host.show_policy(Some("s")).await.unwrap();
    assert_eq!(shown.layers[1].state, LayerState::LastGood);
    assert!(shown.layers[1].problems[0].message.contains("cat x"));
}

#[tokio::test]
async fn a_managed_file_that_others_may_write_stops_the_start() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = ProjectFixture::new().unwrap();
    let config = config(&fixture);
    let file = config.places.managed_policy.clone();
    std::fs::write(&file, DENY_LS).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    let error = Host::open(config, Arc::new(NoEvents)).await.err().unwrap();
    assert_eq!(error.code, ErrorCode::PolicyInvalid);
}

#[tokio::test]
async fn a_session_s_denials_end_with_the_session() {
    let fixture = ProjectFixture::new().unwrap();
    std::fs::write(user_file(&fixture), DENY_LS).unwrap();
    let host = open(&fixture).await;
    std::fs::remove_file(user_file(&fixture)).unwrap();
    assert_eq!(decision(&host, "ls").await, "deny");
    host.delete_session("s").await.unwrap();
    host.create_session(NewSession {
        session_id: Some("s".to_owned()),
        title: None,
        project_path: Some(fixture.workspace()),
        mode: OperatingMode::Agent,
        permission_mode: SessionPermissionMode::Ask,
    })
    .await
    .unwrap();
    assert_eq!(decision(&host, "ls").await, "ask");
}

fn checker(
    fixture: &ProjectFixture,
    policy: Option<PathBuf>,
    preset: Option<Preset>,
) -> Result<Checker, guardian_host::HostError> {
    Checker::new(
        config(fixture),
        CheckerOptions {
            workspace: fixture.workspace(),
            home: Some(fixture.home()),
            scratch: Some(fixture.scratch()),
            policy,
            preset,
            mode: OperatingMode::Agent,
            permission_mode: PermissionMode::Ask,
            sandbox: Some(SandboxState::Unavailable),
            headless: false,
            audit: false,
        },
    )
}

#[test]
fn a_check_uses_the_user_s_file_or_the_one_that_is_named() {
    let fixture = ProjectFixture::new().unwrap();
    let of = |checker: &Checker| {
        checker
            .check("Bash", &json!({"command": "ls src"}))
            .decision
    };
    assert_eq!(of(&checker(&fixture, None, None).unwrap()), "ask");
    let balanced = checker(&fixture, None, Some(Preset::Balanced)).unwrap();
    assert_eq!(of(&balanced), "allow");

    std::fs::write(user_file(&fixture), DENY_LS).unwrap();
    assert_eq!(of(&checker(&fixture, None, None).unwrap()), "deny");
    let other = fixture.root().join("other.toml");
    std::fs::write(&other, "version = 1\npreset = \"balanced\"\n").unwrap();
    assert_eq!(
        of(&checker(&fixture, Some(other.clone()), None).unwrap()),
        "allow"
    );
    let strict = checker(&fixture, Some(other.clone()), Some(Preset::Strict)).unwrap();
    assert_eq!(of(&strict), "ask");

    std::fs::write(workspace_file(&fixture), DENY_LS).unwrap();
    assert_eq!(
        of(&checker(&fixture, Some(other.clone()), None).unwrap()),
        "deny"
    );

    std::fs::write(&other, "version = 2\n").unwrap();
    let error = checker(&fixture, Some(other), None).err().unwrap();
    assert_eq!(error.code, ErrorCode::PolicyInvalid);
    let missing = checker(&fixture, Some(fixture.root().join("none")), None);
    assert_eq!(missing.err().unwrap().code, ErrorCode::PolicyInvalid);
}

/// Answers the first card with a remembered rule.
struct Remembers(std::sync::OnceLock<Arc<Host>>, &'static str);

impl EventSink for Remembers {
    fn emit(&self, event: Event) {
        if let Event::PermissionRequest { posted } = event {
            let answer = guardian_host::review::HumanAnswer {
                decision: self.1.to_owned(),
                feedback: None,
                rule: Some(0),
            };
            let host = Arc::clone(self.0.get().unwrap());
            let request = posted.request.clone();
            // Not from within the host's own call into the sink.
            std::thread::spawn(move || {
                host.resolve_permission(&request.session_id, &request.request_id, &answer);
            });
        }
    }
}

const OTHER_TABLE: &str =
    "[[accepted]]  # elsewhere\nproject = \"/elsewhere\"\ncommand = \"make\"\nkey = \"k\"\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remembered_rule_is_appended_to_the_user_s_file_with_its_call() {
    let fixture = ProjectFixture::new().unwrap();
    let file = user_file(&fixture);
    std::fs::write(&file, format!("# mine\n{DENY_LS}\n{OTHER_TABLE}")).unwrap();
    let link = fixture.root().join("dotfiles.toml");
    std::fs::rename(&file, &link).unwrap();
    std::os::unix::fs::symlink(&link, &file).unwrap();
    let sink = Arc::new(Remembers(
        std::sync::OnceLock::new(),
        "allow-always-for-command-pattern",
    ));
    let host = host(
        &fixture,
        SessionPermissionMode::Ask,
        Arc::clone(&sink) as Arc<dyn EventSink>,
    )
    .await;
    sink.0.set(Arc::clone(&host)).ok().unwrap();
    let call = || ToolRequest::new("s", "c", "Bash", json!({"command": "wc -l README.md"}));
    let outcome = host.execute(call()).await.unwrap();
    assert!(outcome.ok, "{outcome:?}");
    assert_eq!(decision(&host, "wc -l README.md").await, "allow");
    assert_eq!(decision(&host, "wc -l README.md src/lib.rs").await, "ask");
    assert_eq!(decision(&host, "ls").await, "deny");
    assert!(!host.show_policy(Some("s")).await.unwrap().waiting);

    assert!(std::fs::symlink_metadata(&file).unwrap().is_symlink());
    let text = std::fs::read_to_string(&file).unwrap();
    let day = text
        .lines()
        .find_map(|line| line.strip_prefix("# 2"))
        .unwrap();
    assert!(day.contains("wc") || day.contains("README.md"), "{day}");
    assert!(text.starts_with(&format!("# mine\n{DENY_LS}")), "{text}");
    assert!(text.contains(OTHER_TABLE), "{text}");
}
