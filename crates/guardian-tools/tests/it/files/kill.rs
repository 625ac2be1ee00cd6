//! A process that is killed at any step of a change leaves the old file or the new one, whole,
//! and after a sweep no other file. And real full and read-only file systems.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use guardian_tools::{
    Capabilities, RestoreTo, RollbackRequest, Step, StepWatch, rollback, sweep_pending,
};

use super::support::{Session, all_capabilities};

const DIRECTORY: &str = "GUARDIAN_TEST_KILL_DIRECTORY";
const PLAN: &str = "GUARDIAN_TEST_KILL_PLAN";

struct KillAt(AtomicUsize);

impl StepWatch for KillAt {
    fn before(&self, _step: Step) -> Result<(), rustix::io::Errno> {
        if self.0.fetch_sub(1, Ordering::SeqCst) == 1 {
            let _ = rustix::process::kill_process(
                rustix::process::getpid(),
                rustix::process::Signal::KILL,
            );
        }
        Ok(())
    }
}

/// Does nothing in an ordinary run: the tests below start it in a process of its own.
#[test]
fn child_that_is_killed() {
    let (Ok(top), Ok(plan)) = (std::env::var(DIRECTORY), std::env::var(PLAN)) else {
        return;
    };
    let mut parts = plan.split(' ');
    let action = parts.next().unwrap().to_owned();
    let number = |text: Option<&str>| text.unwrap().parse::<usize>().unwrap();
    let which = number(parts.next());
    let nth = number(parts.next());
    let mut capabilities = all_capabilities().swap_remove(which);
    capabilities.steps = Arc::new(KillAt(AtomicUsize::new(nth)));
    let session = Session::at(Path::new(&top), capabilities);
    match action.as_str() {
        "write" => drop(session.write("a.txt", "new content").unwrap()),
        "edit" => drop(session.edit("a.txt", "old", "new").unwrap()),
        "create" => drop(session.write("b.txt", "new content").unwrap()),
        "put-back" => {
            let after = blake3::hash(b"old content").to_hex().to_string();
            let request = RollbackRequest {
                canonical: &session.workspace.join("a.txt"),
                after_hash: &after,
                before: RestoreTo::Content {
                    bytes: b"new content",
                },
            };
            rollback(&request, &session.roots).unwrap();
        }
        "take-away" => {
            let after = blake3::hash(b"old content").to_hex().to_string();
            let request = RollbackRequest {
                canonical: &session.workspace.join("a.txt"),
                after_hash: &after,
                before: RestoreTo::Absent {
                    created_directories: &[],
                },
            };
            rollback(&request, &session.roots).unwrap();
        }
        other => unreachable!("{other}"),
    }
}

fn child(top: &Path, plan: &str) -> bool {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "files::kill::child_that_is_killed"])
        .env(DIRECTORY, top)
        .env(PLAN, plan)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap()
        .success()
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[track_caller]
fn check(action: &str, new_names: &[&str]) {
    // With and without exchange; named temporary files are covered where they are complete.
    for which in [0, 1, 4] {
        let mut survived = false;
        for nth in 1..20 {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap();
            let session = Session::at(&top, Capabilities::all());
            session.file("a.txt", "old content");
            survived = child(&top, &format!("{action} {which} {nth}"));
            let _report = sweep_pending(&session.paths.guardian_data);
            let found = names(&session.workspace);
            assert!(
                found == ["a.txt"] || found == new_names,
                "{action} {which} killed at step {nth} left {found:?}"
            );
            for name in &found {
                let bytes = session.bytes(name);
                let whole = bytes == b"old content" || bytes == b"new content";
                assert!(
                    whole,
                    "{action} at step {nth}: {}",
                    String::from_utf8_lossy(&bytes)
                );
            }
            assert!(names(&session.paths.guardian_data.join("pending")).is_empty());
            if survived {
                assert_eq!(found, new_names, "{action}");
                break;
            }
        }
        assert!(survived, "{action} has more steps than were tried");
    }
}

#[test]
fn a_killed_write_leaves_the_old_or_the_new_file() {
    check("write", &["a.txt"]);
    check("edit", &["a.txt"]);
}

#[test]
fn a_killed_creation_leaves_nothing_or_the_whole_file() {
    check("create", &["a.txt", "b.txt"]);
}

#[test]
fn a_killed_rollback_leaves_the_state_before_or_after_it() {
    check("put-back", &["a.txt"]);
    check("take-away", &[]);
}

#[test]
fn a_sweep_keeps_what_it_does_not_know() {
    let session = Session::new();
    let temporary = session.file(".guardian-0123456789abcdef.tmp", "somebody's only copy");
    let pending = session.paths.guardian_data.join("pending");
    // Process ids end far below this one.
    let note = format!("2147483646:aa:bb:{}", session.workspace.display());
    std::os::unix::fs::symlink(note, pending.join(".guardian-0123456789abcdef.tmp")).unwrap();
    let report = sweep_pending(&session.paths.guardian_data);
    assert_eq!(report.kept.len(), 1);
    assert_eq!(report.kept[0], temporary);
    assert!(temporary.exists());
    assert!(names(&pending).is_empty());
}

/// Runs itself in a mount namespace of its own with a tiny or read-only file system.
fn in_own_mounts(script: &str, top: &Path, plan: &str) -> Option<bool> {
    let status = Command::new("unshare")
        .args(["-m", "sh", "-c", script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "files::kill::child_on_a_bad_disk"])
        .env(DIRECTORY, top)
        .env(PLAN, plan)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .status();
    match status.ok().and_then(|status| status.code()) {
        Some(0) => Some(true),
        Some(77) | None => None,
        Some(_) => Some(false),
    }
}

/// Does nothing in an ordinary run.
#[test]
fn child_on_a_bad_disk() {
    let (Ok(top), Ok(plan)) = (std::env::var(DIRECTORY), std::env::var(PLAN)) else {
        return;
    };
    if !plan.starts_with("disk-") {
        return;
    }
    for capabilities in all_capabilities() {
        let session = Session::at(Path::new(&top), capabilities);
        if plan == "disk-full" {
            session.file("a.txt", "old content");
            session.file("linked.txt", "old content");
            let _ = std::fs::hard_link(
                session.workspace.join("linked.txt"),
                session.workspace.join("other.txt"),
            );
        }
        let large = "x".repeat(1024 * 1024);
        for name in ["a.txt", "linked.txt", "new/file.txt"] {
            let failure = session.write(name, &large).unwrap_err();
            assert_eq!(failure.code.as_str(), "TOOL_FAILED", "{failure}");
            let words = if plan == "disk-full" {
                "no space left"
            } else {
                "read-only"
            };
            assert!(failure.message.contains(words), "{failure}");
        }
        for name in ["a.txt", "linked.txt"] {
            assert_eq!(session.bytes(name), b"old content");
        }
        assert!(!session.workspace.join("new").exists());
        assert!(session.leftovers().is_empty());
    }
}

#[test]
fn a_full_disk_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let work: PathBuf = top.join("work");
    std::fs::create_dir_all(&work).unwrap();
    let script = "mount -t tmpfs -o size=256k tmpfs \"$GUARDIAN_TEST_KILL_DIRECTORY/work\" \
                  || exit 77; exec \"$@\"";
    match in_own_mounts(script, &top, "disk-full") {
        Some(passed) => assert!(passed, "see the output of the child"),
        None => eprintln!("NOT TESTED: a full disk needs a mount, which is not possible here"),
    }
}

#[test]
fn a_read_only_file_system_is_said_to_be_one() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let session = Session::at(&top, Capabilities::all());
    session.file("a.txt", "old content");
    session.file("linked.txt", "old content");
    let script = "mount --bind \"$GUARDIAN_TEST_KILL_DIRECTORY/work\" \
                  \"$GUARDIAN_TEST_KILL_DIRECTORY/work\" && \
                  mount -o remount,ro,bind \"$GUARDIAN_TEST_KILL_DIRECTORY/work\" \
                  || exit 77; exec \"$@\"";
    match in_own_mounts(script, &top, "disk-read-only") {
        Some(passed) => assert!(passed, "see the output of the child"),
        None => eprintln!("NOT TESTED: a read-only mount is not possible here"),
    }
}
