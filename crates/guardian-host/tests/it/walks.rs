//! What rules about paths keep from walks: Glob and Grep ask nobody about single files.

use std::sync::Arc;

use guardian_host::rules::SessionPermissionMode;
use guardian_host::{Host, NoEvents, ToolRequest};
use guardian_testkit::ProjectFixture;
use serde_json::{Value, json};

use crate::support::host;
use crate::support::policy::user_file;

async fn open(fixture: &ProjectFixture, rule: &str) -> Arc<Host> {
    let private = fixture.workspace().join("private");
    std::fs::create_dir_all(&private).unwrap();
    std::fs::write(private.join("k.txt"), "TOPLINE\n").unwrap();
    std::fs::write(fixture.workspace().join("open-k.txt"), "TOPLINE\n").unwrap();
    std::fs::write(
        user_file(fixture),
        format!("version = 1\n[[rule]]\nid = \"r\"\n{rule}\npaths = [\"private/**\"]\n"),
    )
    .unwrap();
    host(fixture, SessionPermissionMode::Auto, Arc::new(NoEvents)).await
}

async fn found(host: &Arc<Host>, id: &str, tool: &str, args: Value) -> String {
    let outcome = host
        .execute(ToolRequest::new("s", id, tool, args))
        .await
        .unwrap();
    outcome.content.to_string()
}

#[tokio::test]
async fn grep_leaves_out_what_an_ask_rule_is_about() {
    for rule in ["effect = \"ask\"\naccess = [\"read\"]", "effect = \"ask\""] {
        let fixture = ProjectFixture::new().unwrap();
        let host = open(&fixture, rule).await;
        let lines = found(&host, "1", "Grep", json!({ "pattern": "TOPLINE" })).await;
        assert!(lines.contains("open-k.txt"), "{lines}");
        assert!(!lines.contains("private"), "{rule}: {lines}");
    }
}

#[tokio::test]
async fn glob_leaves_out_what_a_rule_about_listing_is_about() {
    for rule in [
        "effect = \"deny\"\naccess = [\"list\"]",
        "effect = \"deny\"\ntool = \"Glob\"",
        "effect = \"ask\"\naccess = [\"list\"]",
    ] {
        let fixture = ProjectFixture::new().unwrap();
        let host = open(&fixture, rule).await;
        let names = found(&host, "1", "Glob", json!({ "pattern": "**/*k.txt" })).await;
        assert!(names.contains("open-k.txt"), "{names}");
        assert!(!names.contains("private"), "{rule}: {names}");
    }
}

#[tokio::test]
async fn a_rule_about_something_else_leaves_nothing_out() {
    let fixture = ProjectFixture::new().unwrap();
    let host = open(&fixture, "effect = \"deny\"\naccess = [\"write\"]").await;
    let lines = found(&host, "1", "Grep", json!({ "pattern": "TOPLINE" })).await;
    assert!(lines.contains("private"), "{lines}");
    let names = found(&host, "2", "Glob", json!({ "pattern": "**/*k.txt" })).await;
    assert!(names.contains("private"), "{names}");
}

#[tokio::test]
async fn what_a_link_names_a_secret_is_left_out_of_walks() {
    let fixture = ProjectFixture::new().unwrap();
    let at = |name: &str| fixture.workspace().join(name);
    std::fs::write(at("e.txt"), "TOPLINE hush\n").unwrap();
    std::fs::write(at("open-k.txt"), "TOPLINE\n").unwrap();
    std::fs::create_dir(at("sub")).unwrap();
    std::fs::write(at("sub/cred.txt"), "TOPLINE hush\n").unwrap();
    std::fs::remove_file(at(".env")).unwrap();
    std::os::unix::fs::symlink("e.txt", at(".env")).unwrap();
    std::os::unix::fs::symlink("sub", at(".aws")).unwrap();
    let host = host(&fixture, SessionPermissionMode::Auto, Arc::new(NoEvents)).await;
    for (id, tool, args) in [
        ("1", "Grep", json!({ "pattern": "TOPLINE" })),
        ("2", "Glob", json!({ "pattern": "**/*.txt" })),
        ("3", "Grep", json!({ "pattern": "TOPLINE", "path": "sub" })),
    ] {
        let found = found(&host, id, tool, args).await;
        assert!(id == "3" || found.contains("open-k.txt"), "{found}");
        assert!(!found.contains("e.txt"), "{tool}: {found}");
        assert!(!found.contains("hush"), "{tool}: {found}");
        assert!(!found.contains("cred.txt"), "{tool}: {found}");
    }
}
