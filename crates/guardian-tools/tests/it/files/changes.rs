//! Write and Edit keep everything that they were not asked to change.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Mutex;

use guardian_facts::ToolInput;
use guardian_facts::input::{EditInput, Replacement};
use guardian_tools::{
    FailureCode, Permitted, RestoreTo, RollbackOutcome, RollbackRequest, Step, StepWatch,
    prepare_change, preview, rollback, run_file_tool,
};
use proptest::prelude::*;

use super::support::{Session, all_capabilities, edit, write};

fn mode(session: &Session, name: &str) -> u32 {
    std::fs::metadata(session.workspace.join(name))
        .unwrap()
        .permissions()
        .mode()
        & 0o7777
}

#[test]
fn mode_owner_attributes_and_line_ends_stay() {
    for capabilities in all_capabilities() {
        let session = Session::with(capabilities);
        let path = session.file("hook.sh", "#!/bin/sh\r\necho 1\r\n");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o751)).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let attribute =
            rustix::fs::fsetxattr(&file, "user.note", b"kept", rustix::fs::XattrFlags::empty());
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(12345), Some(23456)).unwrap();
        } else {
            eprintln!("NOT TESTED: keeping a foreign owner needs root");
        }
        let before = std::fs::metadata(&path).unwrap();
        session.edit("hook.sh", "echo 1", "echo 2").unwrap();
        session.write("hook.sh", "#!/bin/sh\necho 3\n").unwrap();
        assert_eq!(session.bytes("hook.sh"), b"#!/bin/sh\r\necho 3\r\n");
        let after = std::fs::metadata(&path).unwrap();
        assert_eq!(mode(&session, "hook.sh"), 0o751);
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
        match attribute {
            Ok(()) => {
                let file = std::fs::File::open(&path).unwrap();
                let mut value = [0_u8; 16];
                let length = rustix::fs::fgetxattr(&file, "user.note", &mut value[..]).unwrap();
                assert_eq!(&value[..length], b"kept");
            }
            Err(error) => eprintln!("NOT TESTED: no user attributes here ({error})"),
        }
        assert!(session.leftovers().is_empty());
    }
}

#[test]
fn new_privileges_are_never_inherited() {
    let session = Session::new();
    let path = session.file("tool", "old");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o6755)).unwrap();
    session.write("tool", "new").unwrap();
    assert_eq!(mode(&session, "tool"), 0o755);
}

#[test]
fn a_hard_link_stays_a_hard_link() {
    for capabilities in all_capabilities() {
        let session = Session::with(capabilities);
        let path = session.file("a.txt", "one two three\n");
        std::fs::hard_link(&path, session.workspace.join("b.txt")).unwrap();
        session.edit("a.txt", "two", "2").unwrap();
        assert_eq!(session.bytes("b.txt"), b"one 2 three\n");
        assert_eq!(std::fs::metadata(&path).unwrap().nlink(), 2);
    }
}

#[test]
fn a_symlink_stays_and_its_target_is_replaced() {
    let session = Session::new();
    session.file("real.txt", "one");
    std::os::unix::fs::symlink("real.txt", session.workspace.join("link.txt")).unwrap();
    let output = session.write("link.txt", "two").unwrap();
    assert_eq!(output.content["path"], "real.txt");
    assert_eq!(session.bytes("real.txt"), b"two");
    assert!(session.workspace.join("link.txt").is_symlink());
}

#[test]
fn a_file_without_a_write_bit_is_refused_even_for_root() {
    let session = Session::new();
    let path = session.file("a.txt", "one");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    for input in [write("a.txt", "two"), edit("a.txt", "one", "two")] {
        let failure = session.run(input).unwrap_err();
        assert_eq!(failure.code, FailureCode::ToolFailed);
        assert!(failure.message.contains("read-only"), "{failure}");
    }
    assert_eq!(session.bytes("a.txt"), b"one");
}

#[test]
fn the_same_content_changes_nothing_and_says_so() {
    let session = Session::new();
    let path = session.file("a.txt", "one\n");
    let before = std::fs::metadata(&path).unwrap().ino();
    let output = session.write("a.txt", "one\n").unwrap();
    assert_eq!(output.content["unchanged"], true);
    assert!(output.changed.is_none());
    assert_eq!(std::fs::metadata(&path).unwrap().ino(), before);
}

#[test]
fn an_unread_file_is_overwritten_only_with_a_copy_kept() {
    let mut session = Session::new();
    session.file("a.txt", "old");
    let output = session.write("a.txt", "new").unwrap();
    assert_eq!(output.content["overwroteUnread"], true);
    assert!(output.changed.unwrap().reversible);

    session.snapshots.full = true;
    session.file("b.txt", "old");
    let failure = session.write("b.txt", "new").unwrap_err();
    assert_eq!(failure.code, FailureCode::ToolFailed);
    assert_eq!(session.bytes("b.txt"), b"old");
    session.read("b.txt").unwrap();
    let output = session.write("b.txt", "new").unwrap();
    assert!(!output.changed.unwrap().reversible);
    assert!(
        output.content["notice"]
            .as_str()
            .unwrap()
            .contains("cannot be undone")
    );
}

#[test]
fn encodings_are_kept_by_write() {
    let session = Session::new();
    let utf16 = |text: &str| -> Vec<u8> {
        [0xfe, 0xff]
            .into_iter()
            .chain(text.encode_utf16().flat_map(u16::to_be_bytes))
            .collect()
    };
    session.file("wide.txt", utf16("a\r\nb\r\n"));
    session.write("wide.txt", "a\nc\n").unwrap();
    assert_eq!(session.bytes("wide.txt"), utf16("a\r\nc\r\n"));
    session.file("old.txt", b"caf\xe9\n");
    session.write("old.txt", "th\u{e9}\n").unwrap();
    assert_eq!(session.bytes("old.txt"), b"th\xe9\n");
    let output = session.write("old.txt", "→\n").unwrap();
    assert_eq!(session.bytes("old.txt"), "→\n".as_bytes());
    assert!(
        output.content["notice"]
            .as_str()
            .unwrap()
            .contains("UTF-8 now")
    );
    session.file("bom.txt", "\u{feff}a\n");
    session.write("bom.txt", "\u{feff}b\n").unwrap();
    assert_eq!(session.bytes("bom.txt"), "\u{feff}b\n".as_bytes());
}

#[test]
fn edits_are_all_or_nothing() {
    let session = Session::new();
    session.file("a.txt", "one two\n");
    let replacement = |old: &str, new: &str| Replacement {
        old_string: old.to_owned(),
        new_string: new.to_owned(),
    };
    let input = ToolInput::Edit(EditInput {
        path: "a.txt".to_owned(),
        edits: vec![replacement("one", "1"), replacement("three", "3")],
    });
    let failure = session.run(input).unwrap_err();
    assert_eq!(failure.code, FailureCode::ToolFailed);
    assert_eq!(failure.details["edit"], 1);
    assert_eq!(session.bytes("a.txt"), b"one two\n");
}

#[test]
fn a_preview_fails_like_the_body_but_never_quotes_guarded_content() {
    let session = Session::new();
    session.file("a.txt", "one\n");
    let bound = session.bind(edit("a.txt", "two", "2")).unwrap();
    assert_eq!(
        preview(&bound, &session.context()).unwrap_err().code,
        FailureCode::ToolFailed
    );
    let bound = session.bind(write("a.txt", "one\ntwo\n")).unwrap();
    let seen = preview(&bound, &session.context()).unwrap().unwrap();
    assert_eq!(
        (seen.additions, seen.deletions, seen.overwrites_unread),
        (1, 0, true)
    );
    std::fs::write(session.outside.join("s.txt"), "secret\n").unwrap();
    let path = session.outside.join("s.txt").display().to_string();
    let bound = session.bind(edit(&path, "sekret", "x")).unwrap();
    assert!(preview(&bound, &session.context()).unwrap().is_none());
}

/// Makes the nth step fail, and remembers which it was.
struct FailAt {
    left: Mutex<usize>,
    errno: rustix::io::Errno,
}

impl StepWatch for FailAt {
    fn before(&self, _step: Step) -> Result<(), rustix::io::Errno> {
        let mut left = self.left.lock().unwrap();
        *left = left.wrapping_sub(1);
        if *left == 0 { Err(self.errno) } else { Ok(()) }
    }
}

#[test]
fn a_fault_at_any_step_leaves_the_old_file_or_the_new_one_and_no_other() {
    use rustix::io::Errno;
    for errno in [
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::ROFS,
        Errno::ACCESS,
        Errno::IO,
    ] {
        for base in all_capabilities() {
            for nth in 1..12 {
                let steps = FailAt {
                    left: Mutex::new(nth),
                    errno,
                };
                let mut capabilities = base.clone();
                capabilities.steps = std::sync::Arc::new(steps);
                let session = Session::with(capabilities);
                session.file("a.txt", "old");
                let answer = session.write("a.txt", "new");
                let now = session.bytes("a.txt");
                match answer {
                    Ok(_) => assert_eq!(now, b"new"),
                    Err(failure) => {
                        assert_eq!(now, b"old");
                        assert_eq!(failure.details["errno"], errno.raw_os_error());
                    }
                }
                let _ = session.write("deep/er/new.txt", "new");
                assert!(session.leftovers().is_empty(), "{errno:?} at step {nth}");
                let made = session.workspace.join("deep/er/new.txt").exists();
                assert_eq!(session.workspace.join("deep").exists(), made);
            }
        }
    }
}

#[test]
fn a_fault_at_any_step_of_a_rollback_leaves_the_state_before_or_after_it() {
    use rustix::io::Errno;
    for errno in [Errno::NOSPC, Errno::DQUOT, Errno::ROFS, Errno::ACCESS] {
        for base in all_capabilities() {
            for nth in 1..12 {
                let dir = tempfile::tempdir().unwrap();
                let top = dir.path().canonicalize().unwrap();
                let session = Session::at(&top, base.clone());
                session.file("a.txt", "old");
                let changed = session.write("a.txt", "new").unwrap().changed.unwrap();
                let created = session.write("b.txt", "new").unwrap().changed.unwrap();
                let mut capabilities = base.clone();
                capabilities.steps = std::sync::Arc::new(FailAt {
                    left: Mutex::new(nth),
                    errno,
                });
                let failing = Session::at(&top, capabilities);
                let bytes = &session.snapshots.kept.lock().unwrap()["k0"];
                let requests = [
                    (&changed, RestoreTo::Content { bytes }, Some("old")),
                    (
                        &created,
                        RestoreTo::Absent {
                            created_directories: &[],
                        },
                        None,
                    ),
                ];
                for (change, before, restored) in requests {
                    let request = RollbackRequest {
                        canonical: &change.canonical,
                        after_hash: &change.after_hash,
                        before,
                    };
                    let answer = rollback(&request, &failing.roots);
                    let now = std::fs::read_to_string(&change.canonical).ok();
                    match answer {
                        Ok(outcome) => {
                            assert_eq!(outcome, RollbackOutcome::RolledBack);
                            assert_eq!(now.as_deref(), restored);
                        }
                        Err(failure) => {
                            assert_eq!(failure.details["errno"], errno.raw_os_error());
                            assert_eq!(now.as_deref(), Some("new"), "{errno:?} at step {nth}");
                        }
                    }
                }
                assert!(session.leftovers().is_empty(), "{errno:?} at step {nth}");
            }
        }
    }
}

/// The user saves the file at the very moment of the commit.
struct SaveAtCommit {
    path: std::path::PathBuf,
    by_rename: bool,
}

impl StepWatch for SaveAtCommit {
    fn before(&self, step: Step) -> Result<(), rustix::io::Errno> {
        if step == Step::Commit {
            if self.by_rename {
                let aside = self.path.with_extension("saved");
                std::fs::write(&aside, "user").unwrap();
                std::fs::rename(aside, &self.path).unwrap();
            } else {
                std::fs::write(&self.path, "user").unwrap();
            }
        }
        Ok(())
    }
}

#[test]
fn a_save_between_read_and_commit_is_kept() {
    for base in all_capabilities() {
        for by_rename in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap();
            let path = top.join("work/a.txt");
            let mut capabilities = base.clone();
            capabilities.steps = std::sync::Arc::new(SaveAtCommit {
                path: path.clone(),
                by_rename,
            });
            let session = Session::at(&top, capabilities);
            std::fs::write(&path, "alpha beta").unwrap();
            let failure = session.edit("a.txt", "beta", "B").unwrap_err();
            assert_eq!(failure.code, FailureCode::StaleFile);
            assert_eq!(session.bytes("a.txt"), b"user");
            assert!(session.leftovers().is_empty());
        }
    }
}

#[test]
fn an_abort_before_the_commit_changes_nothing() {
    let session = Session::new();
    session.file("a.txt", "old");
    let cancelled = std::sync::atomic::AtomicBool::new(true);
    let mut cx = session.context();
    cx.cancel = &cancelled;
    let bound = session.bind(write("a.txt", "new")).unwrap();
    let failure = run_file_tool(guardian_tools::Permitted::assume_checked(bound), &cx).unwrap_err();
    assert_eq!(failure.code, FailureCode::ToolAborted);
    assert_eq!(session.bytes("a.txt"), b"old");
}

#[test]
fn a_change_has_hunks_and_both_hashes() {
    let session = Session::new();
    session.file("a.txt", "one\ntwo\nthree\n");
    let change = session.edit("a.txt", "two", "2").unwrap().changed.unwrap();
    assert_eq!((change.additions, change.deletions), (1, 1));
    assert_eq!(change.hunks[0].header, "@@ -1,3 +1,3 @@");
    assert_eq!(
        change.after_hash,
        blake3::hash(b"one\n2\nthree\n").to_hex().to_string()
    );
    // sha256sum of "one\n2\nthree\n"
    assert_eq!(change.after_sha256.len(), 64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn write_then_rollback_is_the_identity(
        old in prop::collection::vec(any::<u8>(), 0..200),
        new in "[a-zé\n]{0,60}",
        bits in 0_u32..0o1000,
        linked in any::<bool>(),
        which in 0_usize..8,
    ) {
        let session = Session::with(all_capabilities().swap_remove(which));
        let path = session.file("a.bin", &old);
        let bits = bits | 0o200;
        std::fs::set_permissions(&path, PermissionsExt::from_mode(bits)).unwrap();
        if linked {
            std::fs::hard_link(&path, session.workspace.join("b.bin")).unwrap();
        }
        let output = session.write("a.bin", &new).unwrap();
        if let Some(change) = output.changed {
            prop_assert_eq!(session.rollback(&change), RollbackOutcome::RolledBack);
            prop_assert_eq!(session.rollback(&change), RollbackOutcome::AlreadyRolledBack);
        }
        prop_assert_eq!(session.bytes("a.bin"), old.clone());
        prop_assert_eq!(mode(&session, "a.bin"), bits);
        prop_assert_eq!(std::fs::metadata(&path).unwrap().nlink(), 1 + u64::from(linked));
        prop_assert!(session.leftovers().is_empty());
    }

    #[test]
    fn rollback_after_a_foreign_change_is_a_conflict_and_touches_nothing(
        foreign in "[a-z]{1,20}", existed in any::<bool>(), which in 0_usize..8,
    ) {
        prop_assume!(foreign != "mine");
        let session = Session::with(all_capabilities().swap_remove(which));
        if existed {
            session.file("d/a.txt", "before it");
        }
        let change = session.write("d/a.txt", "mine").unwrap().changed.unwrap();
        let path = session.file("d/a.txt", &foreign);
        let before = std::fs::metadata(&path).unwrap();
        prop_assert_eq!(session.rollback(&change), RollbackOutcome::Conflict);
        let after = std::fs::metadata(&path).unwrap();
        prop_assert_eq!(session.bytes("d/a.txt"), foreign.into_bytes());
        prop_assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
    }
}

#[test]
fn rolling_back_a_creation_removes_the_file_and_its_empty_directories() {
    for capabilities in all_capabilities() {
        let session = Session::with(capabilities);
        let first = session
            .write("new/dir/a.txt", "x")
            .unwrap()
            .changed
            .unwrap();
        let second = session
            .write("new/dir/b.txt", "x")
            .unwrap()
            .changed
            .unwrap();
        assert_eq!(session.rollback(&first), RollbackOutcome::RolledBack);
        assert!(session.workspace.join("new/dir/b.txt").exists());
        assert_eq!(session.rollback(&second), RollbackOutcome::RolledBack);
        assert!(
            session.workspace.join("new/dir").exists(),
            "the first call made them"
        );
        assert_eq!(session.rollback(&first), RollbackOutcome::AlreadyRolledBack);
        assert!(session.leftovers().is_empty());
    }
}

#[test]
fn a_change_is_noted_as_it_will_be_before_the_disk_changes() {
    let session = Session::new();
    session.file("x", "old\n");
    session.read("x").unwrap();
    let written = session.write("x", "new\n").unwrap().changed.unwrap();
    let created = session.write("a/b/y", "new\n").unwrap().changed.unwrap();
    let noted = session.snapshots.noted.lock().unwrap();
    let content = |bytes: &[u8]| Some(bytes.to_vec());
    assert_eq!([&noted[0].1, &noted[1].1], [&content(b"old\n"), &None]);
    for (record, (note, _)) in [written, created].iter().zip(noted.iter()) {
        assert_eq!(note.canonical, record.canonical);
        assert_eq!(note.after_hash, record.after_hash);
        assert_eq!(note.before, record.before);
    }
}

#[test]
fn what_cannot_be_noted_is_not_changed() {
    let mut session = Session::new();
    session.file("x", "old\n");
    session.read("x").unwrap();
    session.snapshots.unrecorded = true;
    let failure = session.write("x", "new\n").unwrap_err();
    assert_eq!(failure.code, FailureCode::ToolFailed);
    assert!(session.write("d/y", "new\n").is_err());
    assert_eq!(session.bytes("x"), b"old\n");
    assert!(!session.workspace.join("d").exists());
}

/// Prepares a call, lets `meanwhile` happen, and runs the call.
fn run_prepared(
    session: &Session,
    input: ToolInput,
    meanwhile: impl FnOnce(&Session),
) -> Result<guardian_tools::ToolOutput, guardian_tools::ToolFailure> {
    let mut bound = session.bind(input).unwrap();
    prepare_change(&mut bound, &session.context()).unwrap();
    meanwhile(session);
    run_file_tool(Permitted::assume_checked(bound), &session.context())
}

#[test]
fn what_was_prepared_is_worked_out_anew_when_the_file_changed() {
    for capabilities in all_capabilities() {
        let session = Session::with(capabilities);
        session.file("a.txt", "one\ntwo\n");
        // An Edit is made of the bytes that are there when it runs.
        run_prepared(&session, edit("a.txt", "two", "2"), |session| {
            session.file("a.txt", "zero\none\ntwo\n");
        })
        .unwrap();
        assert_eq!(session.bytes("a.txt"), b"zero\none\n2\n");
        let gone = run_prepared(&session, edit("a.txt", "2", "3"), |session| {
            session.file("a.txt", "something else entirely\n");
        });
        assert_eq!(gone.unwrap_err().code, FailureCode::ToolFailed);
        // A Write is stale when the content is another one than the session knows.
        session.read("a.txt").unwrap();
        let stale = run_prepared(&session, write("a.txt", "new\n"), |session| {
            session.file("a.txt", "somebody's work\n");
        });
        assert_eq!(stale.unwrap_err().code, FailureCode::StaleFile);
        assert_eq!(session.bytes("a.txt"), b"somebody's work\n");
        // A new file is created exclusively.
        let created = run_prepared(&session, write("b.txt", "new\n"), |session| {
            session.file("b.txt", "somebody's work\n");
        });
        assert_eq!(created.unwrap_err().code, FailureCode::StaleApproval);
        assert_eq!(session.bytes("b.txt"), b"somebody's work\n");
    }
}

#[test]
fn what_was_prepared_is_what_is_made() {
    let session = Session::new();
    session.file("a.txt", "one\ntwo\n");
    run_prepared(&session, edit("a.txt", "two", "2"), |_| ()).unwrap();
    assert_eq!(session.bytes("a.txt"), b"one\n2\n");
    run_prepared(&session, write("a.txt", "all new\n"), |_| ()).unwrap();
    assert_eq!(session.bytes("a.txt"), b"all new\n");
    run_prepared(&session, write("b.txt", "new\n"), |_| ()).unwrap();
    assert_eq!(session.bytes("b.txt"), b"new\n");
}
