//! Targets that are not what a session takes for granted: a workspace that was made anew, a
//! scratch directory that is not there yet, files that no tool works on.

use std::sync::Arc;
use std::time::Duration;

use guardian_host::rules::SessionPermissionMode;
use guardian_host::{ErrorCode, Host, NoEvents, ToolOutcome, ToolRequest};
use guardian_testkit::ProjectFixture;
use serde_json::{Value, json};

use crate::support::host;

async fn call(host: &Arc<Host>, id: &str, tool: &str, args: Value) -> ToolOutcome {
    let call = host.execute(ToolRequest::new("s", id, tool, args));
    // A card that nobody answers would wait for ever.
    tokio::time::timeout(Duration::from_secs(60), call)
        .await
        .unwrap_or_else(|_| panic!("{id} was asked about"))
        .unwrap()
}

fn error(outcome: &ToolOutcome) -> &str {
    outcome.content["error"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_workspace_that_was_made_anew_is_the_workspace() {
    let fixture = ProjectFixture::new().unwrap();
    fixture.write("old", "OLD\n").unwrap();
    let host = host(
        &fixture,
        SessionPermissionMode::AcceptEdits,
        Arc::new(NoEvents),
    )
    .await;
    assert!(call(&host, "1", "Read", json!({"path": "old"})).await.ok);
    std::fs::remove_dir_all(fixture.workspace()).unwrap();
    // One clear error that does not ask to try again.
    for (id, tool, args) in [
        ("2", "Read", json!({"path": "old"})),
        ("3", "Glob", json!({"pattern": "*"})),
        ("4", "Write", json!({"path": "new", "content": "x"})),
    ] {
        let gone = call(&host, id, tool, args).await;
        assert_eq!(gone.error_code, Some(ErrorCode::ToolFailed), "{gone:?}");
        assert!(error(&gone).contains("workspace directory"), "{gone:?}");
    }
    std::fs::create_dir(fixture.workspace()).unwrap();
    fixture.write("new", "NEW\n").unwrap();
    let read = call(&host, "5", "Read", json!({"path": "new"})).await;
    assert_eq!(read.content["content"], "NEW\n");
    let found = call(&host, "6", "Glob", json!({"pattern": "*"})).await;
    assert_eq!(found.content["count"], 1, "{found:?}");
    let args = json!({"path": "new", "old_string": "NEW", "new_string": "N"});
    assert!(call(&host, "7", "Edit", args).await.ok);
    // A link in its place is not.
    let elsewhere = fixture.root().join("elsewhere");
    std::fs::rename(fixture.workspace(), &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, fixture.workspace()).unwrap();
    let linked = call(&host, "8", "Read", json!({"path": "new"})).await;
    assert!(!linked.ok, "{linked:?}");
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_walk_of_scratch_that_is_not_there_yet_finds_nothing() {
    for (tool, args) in [
        ("Glob", json!({"pattern": "*"})),
        ("Grep", json!({"pattern": "x"})),
    ] {
        let fixture = ProjectFixture::new().unwrap();
        let host = host(&fixture, SessionPermissionMode::Ask, Arc::new(NoEvents)).await;
        let scratch = host.session("s").await.unwrap().roots.scratch;
        let mut args = args;
        args["path"] = scratch.to_str().unwrap().into();
        let found = call(&host, "1", tool, args).await;
        assert!(found.ok, "{found:?}");
        assert_eq!(found.content["count"], 0);
        host.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_asked_about_what_no_file_tool_works_on() {
    let calls = [
        ("Write", json!({"path": "/dev/null", "content": "x"})),
        ("Write", json!({"path": "/dev", "content": "x"})),
        ("Read", json!({"path": "/dev/zero"})),
        ("Read", json!({"path": "/dev/stdin"})),
        ("Read", json!({"path": "/proc/version"})),
        ("Read", json!({"path": "/proc"})),
        ("Read", json!({"path": "/"})),
    ];
    for mode in [
        SessionPermissionMode::Auto,
        SessionPermissionMode::AcceptEdits,
    ] {
        let fixture = ProjectFixture::new().unwrap();
        let host = host(&fixture, mode, Arc::new(NoEvents)).await;
        for (index, (tool, args)) in calls.iter().enumerate() {
            let outcome = call(&host, &index.to_string(), tool, args.clone()).await;
            let code = outcome.error_code;
            assert_eq!(code, Some(ErrorCode::InvalidArgument), "{args} {outcome:?}");
        }
        host.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_auto_a_write_that_will_fail_is_not_asked_about_for_what_it_would_overwrite() {
    let fixture = ProjectFixture::new().unwrap();
    let host = host(&fixture, SessionPermissionMode::Auto, Arc::new(NoEvents)).await;
    let directory = fixture.root().join("some-directory");
    std::fs::create_dir(&directory).unwrap();
    let args = json!({"path": directory.to_str().unwrap(), "content": "x"});
    let outcome = call(&host, "1", "Write", args).await;
    assert_eq!(outcome.error_code, Some(ErrorCode::InvalidArgument));
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_evaluation_says_how_a_call_ends_that_nobody_would_be_asked_about() {
    let fixture = ProjectFixture::new().unwrap();
    fixture.write("a.txt", "one\n").unwrap();
    std::fs::remove_file(fixture.workspace().join(".env")).unwrap();
    let host = host(&fixture, SessionPermissionMode::Ask, Arc::new(NoEvents)).await;
    assert!(call(&host, "0", "Read", json!({"path": "a.txt"})).await.ok);
    for (id, tool, args) in [
        ("1", "Read", json!({"path": ".env"})),
        (
            "2",
            "Edit",
            json!({"path": "a.txt", "old_string": "two", "new_string": "x"}),
        ),
        (
            "3",
            "Edit",
            json!({"path": ".", "old_string": "two", "new_string": "x"}),
        ),
        ("4", "Write", json!({"path": "/dev/null", "content": "x"})),
    ] {
        let request = ToolRequest::new("s", id, tool, args.clone());
        let report = host.evaluate(request).await.unwrap();
        let executed = call(&host, id, tool, args).await;
        let code = executed.error_code.map(|code| code.as_str().to_owned());
        assert!(
            code.is_some() && report.error_code == code,
            "{tool}: {report:?} {executed:?}"
        );
    }
    // What can run is asked about in both.
    let edit = json!({"path": "a.txt", "old_string": "one", "new_string": "x"});
    let report = host
        .evaluate(ToolRequest::new("s", "5", "Edit", edit))
        .await
        .unwrap();
    assert_eq!((report.decision.as_str(), report.error_code), ("ask", None));
}
