//! Files and directories that are not quite the user's: written in place where that is possible,
//! taken back the same way, and refused in words that name the cause.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use guardian_tools::{Capabilities, FailureCode, RollbackOutcome};

use super::support::Session;

const DIRECTORY: &str = "GUARDIAN_TEST_FOREIGN_DIRECTORY";
const NOBODY: u32 = 65534;

/// Does nothing in an ordinary run: the test below starts it in a process of its own, as a user
/// who is not root.
#[test]
fn child_of_another_user() {
    let Ok(top) = std::env::var(DIRECTORY) else {
        return;
    };
    let session = Session::at(Path::new(&top), Capabilities::all());
    let mut names = vec!["closed/own"];
    if session.workspace.join("foreign").exists() {
        names.push("foreign");
    }
    for name in names {
        let path = session.workspace.join(name);
        let before = std::fs::metadata(&path).unwrap();
        session.read(name).unwrap();
        let written = session.write(name, "by the agent\n").unwrap();
        let changed = written.changed.unwrap();
        assert_eq!(session.bytes(name), b"by the agent\n");
        assert_eq!(
            session.rollback(&changed),
            RollbackOutcome::RolledBack,
            "{name}"
        );
        assert_eq!(session.bytes(name), b"old\n");
        let after = std::fs::metadata(&path).unwrap();
        assert_eq!((after.uid(), after.ino()), (before.uid(), before.ino()));
        assert_eq!(after.mode(), before.mode());
    }
    let failure = session.write("closed/new", "x").unwrap_err();
    assert_eq!(failure.code, FailureCode::ToolFailed);
    assert!(
        failure.message.contains("directory `closed`"),
        "{}",
        failure.message
    );
    assert!(session.leftovers().is_empty());
}

#[test]
fn what_cannot_be_replaced_is_written_and_taken_back_in_place() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let session = Session::at(&top, Capabilities::all());
    let own = session.file("closed/own", "old\n");
    let closed = session.workspace.join("closed");
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "files::foreign::child_of_another_user"])
        .env(DIRECTORY, &top);
    // Only root can make a file of another owner; without it the closed directory is what is left.
    if rustix::process::geteuid().is_root() {
        let foreign = session.file("foreign", "old\n");
        let everybody = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        everybody(&foreign, 0o666);
        for name in ["home", "work", "outside", "data"] {
            let path = top.join(name);
            std::os::unix::fs::chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        for path in [&own, &closed] {
            std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        everybody(&top, 0o755);
        child.uid(NOBODY).gid(NOBODY);
    }
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o555)).unwrap();
    let output = child.output().unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn a_rollback_restores_content_and_nothing_else() {
    for mode in [0o755, 0o444, 0o600] {
        let session = Session::new();
        let path = session.file("x", "old\n");
        session.read("x").unwrap();
        let changed = session.write("x", "new\n").unwrap().changed.unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(session.rollback(&changed), RollbackOutcome::RolledBack);
        assert_eq!(session.bytes("x"), b"old\n");
        let now = std::fs::metadata(&path).unwrap().mode() & 0o7777;
        assert_eq!(now, mode, "somebody else's chmod was undone");
    }
}

#[test]
fn a_file_that_became_binary_can_be_written_again_after_a_read() {
    let session = Session::new();
    session.file("x", "one\n");
    session.read("x").unwrap();
    session.file("x", b"\0\x01bin");
    let stale = session.write("x", "text\n").unwrap_err();
    assert_eq!(stale.code, FailureCode::StaleFile);
    let refused = session.read("x").unwrap_err();
    assert_eq!(refused.code, FailureCode::ToolBinaryContent);
    let done = session.write("x", "text\n").unwrap();
    // Its content was not seen all the same.
    assert_eq!(done.content["overwroteUnread"], true);
    // And only this version was met.
    session.file("x", b"\0\x01other");
    session.read("x").unwrap_err();
    session.file("x", b"\0\x01third");
    let stale = session.write("x", "text\n").unwrap_err();
    assert_eq!(stale.code, FailureCode::StaleFile);
}

#[test]
fn an_edit_of_a_file_with_a_late_nul_can_be_followed_by_a_write() {
    let session = Session::new();
    let mut bytes = b"first\n".to_vec();
    bytes.extend_from_slice(&b"line\n".repeat(1800));
    bytes.extend_from_slice(b"\0\n");
    session.file("x", bytes);
    session.edit("x", "first", "second").unwrap();
    session.read("x").unwrap_err();
    let done = session.write("x", "text\n").unwrap();
    assert_eq!(done.content["overwroteUnread"], serde_json::Value::Null);
}

#[test]
fn long_names_and_open_files_of_processes_are_refused_for_what_they_are() {
    let session = Session::new();
    let deep = format!("{}y", "x/".repeat(3000));
    let failure = session.read(&deep).unwrap_err();
    assert!(failure.message.contains("too long"), "{}", failure.message);
    assert!(failure.message.len() < 1000);
    let (reader, _writer) = std::io::pipe().unwrap();
    let name = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
    for failure in [
        session.read(&name),
        session.write(&name, "x").map(|_| serde_json::Value::Null),
    ] {
        let failure = failure.unwrap_err();
        assert_eq!(failure.code, FailureCode::InvalidArgument, "{failure}");
        assert!(!failure.retryable);
    }
}
