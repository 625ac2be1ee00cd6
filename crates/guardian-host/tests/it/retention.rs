//! Rows older than the retention go at the start of a host, and the record stays verifiable.

use std::sync::Arc;

use guardian_host::store::{AuditFilter, ManualClock, Store, StoreOptions, Timestamp};
use guardian_host::{Host, NoEvents, ToolRequest};
use guardian_testkit::ProjectFixture;
use serde_json::json;

use crate::support::config;

const DAY: i64 = 24 * 60 * 60 * 1000;

async fn one_call(fixture: &ProjectFixture, at: i64, session: &str) {
    let mut config = config(fixture);
    config.clock = Arc::new(ManualClock::new(Timestamp(at)));
    let host = Host::open(config, Arc::new(NoEvents)).await.unwrap();
    host.create_session(guardian_host::NewSession {
        session_id: Some(session.to_owned()),
        title: None,
        project_path: Some(fixture.workspace()),
        mode: guardian_host::rules::OperatingMode::Agent,
        permission_mode: guardian_host::rules::SessionPermissionMode::Ask,
    })
    .await
    .unwrap();
    let args = json!({ "pattern": "*.rs" });
    let request = ToolRequest::new(session.to_owned(), "c".to_owned(), "Glob".to_owned(), args);
    assert!(host.execute(request).await.unwrap().ok);
    host.shutdown().await;
}

#[tokio::test]
async fn old_rows_go_and_what_is_left_verifies_against_a_head_of_before() {
    let fixture = ProjectFixture::new().unwrap();
    let store = || Store::open(StoreOptions::new(fixture.data())).unwrap();
    let sessions = || {
        let rows = store().query_audit(&AuditFilter::newest()).unwrap().rows;
        let of = |row: &guardian_host::store::AuditRow| row.entry.session.clone();
        rows.iter()
            .filter_map(of)
            .map(|id| id.to_string())
            .collect::<Vec<_>>()
    };
    let begin = 20_000 * DAY;
    one_call(&fixture, begin, "old").await;
    one_call(&fixture, begin + 60 * DAY, "middle").await;
    let head = store().audit_head().unwrap();
    assert!(sessions().contains(&"old".to_owned()));
    one_call(&fixture, begin + 100 * DAY, "new").await;
    let left = sessions();
    assert!(!left.contains(&"old".to_owned()), "{left:?}");
    assert!(
        left.contains(&"middle".to_owned()) && left.contains(&"new".to_owned()),
        "{left:?}"
    );
    let verification = store().verify_audit(Some(&head)).unwrap();
    assert!(verification.is_ok(), "{verification:?}");
}
