//! What holds for a session outlives the host, its own rules included; what waits can be accepted
//! from outside; cards follow.

use std::sync::{Arc, Mutex, OnceLock};

use guardian_host::policies::PolicyAcceptance;
use guardian_host::rules::SessionPermissionMode;
use guardian_host::store::{SessionId, Store, StoreOptions};
use guardian_host::{ErrorCode, Event, EventSink, Host, NoEvents, ToolRequest};
use guardian_testkit::ProjectFixture;
use serde_json::json;

use crate::support::policy::{ALLOW_MAKE, DENY_LS, decision, user_file, workspace_file};
use crate::support::{config, host};

async fn open(fixture: &ProjectFixture) -> Arc<Host> {
    host(fixture, SessionPermissionMode::Ask, Arc::new(NoEvents)).await
}

async fn again(fixture: &ProjectFixture) -> Arc<Host> {
    let host = Host::open(config(fixture), Arc::new(NoEvents))
        .await
        .unwrap();
    host.attach_reviewer();
    host
}

#[tokio::test]
async fn a_deleted_workspace_file_s_denials_outlive_the_host() {
    let fixture = ProjectFixture::new().unwrap();
    let file = workspace_file(&fixture);
    std::fs::write(&file, DENY_LS).unwrap();
    let host = open(&fixture).await;
    assert_eq!(decision(&host, "ls").await, "deny");
    host.shutdown().await;
    drop(host);
    std::fs::remove_file(&file).unwrap();

    let host = again(&fixture).await;
    assert_eq!(decision(&host, "ls").await, "deny");
    assert!(host.show_policy(Some("s")).await.unwrap().waiting);
    host.shutdown().await;
    drop(host);

    let host = again(&fixture).await;
    assert_eq!(decision(&host, "ls").await, "deny", "a second time too");
    host.reload_policy(Some("s")).await.unwrap();
    assert_eq!(decision(&host, "ls").await, "ask");
    host.shutdown().await;
    drop(host);

    let host = again(&fixture).await;
    assert_eq!(
        decision(&host, "ls").await,
        "ask",
        "what was confirmed stays"
    );
}

#[tokio::test]
async fn a_user_s_file_counts_as_it_is_at_a_start_unless_it_waited_before() {
    let fixture = ProjectFixture::new().unwrap();
    std::fs::write(user_file(&fixture), DENY_LS).unwrap();
    let host = open(&fixture).await;
    assert_eq!(decision(&host, "ls").await, "deny");
    host.shutdown().await;
    drop(host);
    std::fs::write(user_file(&fixture), "version = 1\n").unwrap();
    let host = again(&fixture).await;
    assert_eq!(decision(&host, "ls").await, "ask");

    std::fs::write(user_file(&fixture), ALLOW_MAKE).unwrap();
    assert_eq!(decision(&host, "make").await, "ask", "it waits");
    host.shutdown().await;
    drop(host);
    let host = again(&fixture).await;
    assert_eq!(decision(&host, "make").await, "ask", "it still waits");
    host.reload_policy(None).await.unwrap();
    assert_eq!(decision(&host, "make").await, "allow");
}

#[tokio::test]
async fn versions_that_cannot_be_read_ask_about_everything_until_the_operator_confirms() {
    let fixture = ProjectFixture::new().unwrap();
    let host = host(&fixture, SessionPermissionMode::Auto, Arc::new(NoEvents)).await;
    assert_eq!(decision(&host, "ls").await, "allow");
    host.shutdown().await;
    drop(host);
    let store = Store::open(StoreOptions::new(fixture.data())).unwrap();
    let id = SessionId::new("s").unwrap();
    let known = store.session_policy(&id).unwrap().unwrap();
    let broken = known.versions.replace("\"version\":1", "\"version\":9");
    store
        .keep_session_policy(&id, Some(known.revision), broken, None)
        .unwrap()
        .unwrap();
    drop(store);
    let host = again(&fixture).await;
    assert_eq!(decision(&host, "ls").await, "ask");
    assert_eq!(decision(&host, "ls").await, "ask");
    host.reload_policy(None).await.unwrap();
    assert_eq!(decision(&host, "ls").await, "allow");
}

#[tokio::test]
async fn rules_of_a_session_count_at_once_both_ways_and_outlive_the_host() {
    let fixture = ProjectFixture::new().unwrap();
    let host = open(&fixture).await;
    assert_eq!(decision(&host, "make").await, "ask");
    let both = format!("{ALLOW_MAKE}{}", DENY_LS.replace("version = 1\n", ""));
    host.set_session_rules("s", Some(both)).await.unwrap();
    assert_eq!(decision(&host, "make").await, "allow");
    assert_eq!(decision(&host, "ls").await, "deny");
    let shown = host.show_policy(Some("s")).await.unwrap();
    assert!(!shown.waiting);
    assert_eq!(shown.layers.last().unwrap().layer.name(), "session");
    host.shutdown().await;
    drop(host);

    let host = again(&fixture).await;
    assert_eq!(decision(&host, "make").await, "allow");
    assert_eq!(decision(&host, "ls").await, "deny");
    for wrong in [
        "version = 1\nrule = 3\n",
        "version = 1\npreset = \"balanced\"\n",
        "version = 1\noverrides = [\"floor.privilege\"]\n",
    ] {
        let error = host.set_session_rules("s", Some(wrong.to_owned())).await;
        assert_eq!(error.unwrap_err().code, ErrorCode::PolicyInvalid, "{wrong}");
    }
    assert_eq!(
        decision(&host, "ls").await,
        "deny",
        "a wrong text changes nothing"
    );
    host.set_session_rules("s", None).await.unwrap();
    assert_eq!(decision(&host, "make").await, "ask");
    assert_eq!(decision(&host, "ls").await, "ask");
    let error = host.set_session_rules("t", None).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::SessionNotFound);
}

#[tokio::test]
async fn what_waits_is_shown_and_accepted_from_outside_and_nothing_newer() {
    let fixture = ProjectFixture::new().unwrap();
    std::fs::write(user_file(&fixture), DENY_LS).unwrap();
    let host = open(&fixture).await;
    assert_eq!(decision(&host, "ls").await, "deny");
    let acceptance = PolicyAcceptance::open(&config(&fixture)).unwrap();
    assert!(acceptance.waiting().unwrap().is_empty());

    std::fs::write(user_file(&fixture), ALLOW_MAKE).unwrap();
    assert_eq!(decision(&host, "make").await, "ask");
    let waiting = acceptance.waiting().unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].session_id, "s");
    let change = &waiting[0].changes[0];
    assert_eq!(
        (
            change.layer,
            change.before.as_deref(),
            change.now.as_deref()
        ),
        ("user", Some(DENY_LS), Some(ALLOW_MAKE))
    );

    // Loosened further after it was shown: what was accepted counts, the rest waits.
    let more = format!("{ALLOW_MAKE}[[rule]]\nid = \"x\"\neffect = \"allow\"\ncommand = [\"x\"]\n");
    std::fs::write(user_file(&fixture), more).unwrap();
    acceptance.accept(&waiting[0]).unwrap();
    assert_eq!(decision(&host, "make").await, "allow");
    assert_eq!(decision(&host, "ls").await, "ask");
    assert_eq!(decision(&host, "x").await, "ask");
    assert!(host.show_policy(Some("s")).await.unwrap().waiting);
    let error = acceptance.accept(&waiting[0]).unwrap_err();
    assert_eq!(error.code, ErrorCode::Conflict, "it is another version now");
    acceptance
        .accept(&acceptance.waiting().unwrap()[0])
        .unwrap();
    assert_eq!(decision(&host, "x").await, "allow");
}

/// Says when a card is shown.
#[derive(Default)]
struct Shown(OnceLock<Mutex<Option<tokio::sync::oneshot::Sender<()>>>>);

impl EventSink for Shown {
    fn emit(&self, event: Event) {
        if let Event::PermissionRequest { .. } = event
            && let Some(sender) = self.0.get().unwrap().lock().unwrap().take()
        {
            sender.send(()).unwrap();
        }
    }
}

/// A call that waits for an answer that never comes, and what ends it.
async fn while_a_card_waits<F: Future<Output = ()>>(
    fixture: &ProjectFixture,
    change: impl FnOnce(Arc<Host>) -> F,
) -> guardian_host::ToolOutcome {
    let (sender, shown) = tokio::sync::oneshot::channel();
    let sink = Arc::new(Shown::default());
    sink.0.set(Mutex::new(Some(sender))).unwrap();
    let events = Arc::clone(&sink) as Arc<dyn EventSink>;
    let host = host(fixture, SessionPermissionMode::Ask, events).await;
    let request = ToolRequest::new("s", "c", "Bash", json!({"command": "ls src"}));
    let call = tokio::spawn(host.execute(request));
    shown.await.unwrap();
    change(Arc::clone(&host)).await;
    call.await.unwrap().unwrap()
}

#[tokio::test]
async fn a_card_that_waits_is_taken_away_when_a_file_denies_its_call() {
    let fixture = ProjectFixture::new().unwrap();
    let file = user_file(&fixture);
    let outcome = while_a_card_waits(&fixture, |_| async move {
        std::fs::write(file, DENY_LS).unwrap();
    })
    .await;
    assert!(outcome.denied, "{outcome:?}");
    assert_eq!(outcome.content["cause"], "rule:no-ls");
}

#[tokio::test]
async fn a_card_that_waits_is_answered_by_a_rule_of_the_session() {
    let fixture = ProjectFixture::new().unwrap();
    let outcome = while_a_card_waits(&fixture, |host| async move {
        let rules = DENY_LS.replace("deny", "allow");
        host.set_session_rules("s", Some(rules)).await.unwrap();
    })
    .await;
    assert!(outcome.ok, "{outcome:?}");
}
