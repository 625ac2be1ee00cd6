//! No way out of the roots, whatever the names are or become.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use guardian_facts::{Scope, ToolInput};
use guardian_tools::{
    BoundInput, BoundTarget, FailureCode, Permitted, ToolOutput, bind, run_file_tool,
};
use rustix::fs::{CWD, FileType, Mode, RenameFlags};

use super::support::{Session, all_capabilities, edit, glob, grep_input, race_time, read, write};

fn fifo(path: &Path) {
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[test]
fn a_path_that_leads_outside_is_judged_as_outside() {
    let session = Session::new();
    symlink(&session.outside, session.workspace.join("out")).unwrap();
    symlink("/nowhere/x", session.workspace.join("dangling")).unwrap();
    for path in [
        "../outside/x",
        "out/x",
        "dangling",
        "/etc/hostname",
        "a/../../outside/x",
    ] {
        std::fs::create_dir_all(session.workspace.join("a")).unwrap();
        let facts = session.facts(path, &write(path, "x"));
        assert_eq!(
            facts.accesses[0].exact().unwrap().scope,
            Scope::Outside,
            "{path}"
        );
    }
}

#[test]
fn a_link_swapped_in_after_the_judgement_is_stale_and_never_followed() {
    for capabilities in all_capabilities() {
        let session = Session::with(capabilities);
        let victim = session.outside.join("victim.txt");
        std::fs::write(&victim, "victim").unwrap();
        for (path, swap) in [("d/a.txt", "d"), ("b.txt", "b.txt"), ("e/f/new.txt", "e/f")] {
            session.file("d/a.txt", "inside");
            session.file("b.txt", "inside");
            std::fs::create_dir_all(session.workspace.join("e/f")).unwrap();
            for input in [
                read(path, 1, 10),
                write(path, "mine"),
                edit(path, "inside", "mine"),
            ] {
                let facts = session.facts(path, &input);
                let place = session.workspace.join(swap);
                let aside = session.workspace.join("aside");
                std::fs::rename(&place, &aside).unwrap();
                symlink(
                    if swap == "b.txt" {
                        &victim
                    } else {
                        &session.outside
                    },
                    &place,
                )
                .unwrap();
                let failure = bind(input, &facts, &session.roots).unwrap_err();
                assert_eq!(
                    failure.code,
                    FailureCode::StaleApproval,
                    "{path}: {failure}"
                );
                assert!(failure.retryable);
                std::fs::remove_file(&place).unwrap();
                std::fs::rename(&aside, &place).unwrap();
            }
        }
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "victim");
        assert_eq!(std::fs::read_dir(&session.outside).unwrap().count(), 1);
    }
}

#[test]
fn a_link_swapped_in_between_binding_and_running_is_never_followed() {
    for capabilities in all_capabilities() {
        let session = Session::with(capabilities);
        session.file("d/a.txt", "inside");
        std::fs::write(session.outside.join("a.txt"), "outside").unwrap();
        let bound_read = session.bind(read("d/a.txt", 1, 10)).unwrap();
        let bound_write = session.bind(write("d/a.txt", "mine")).unwrap();
        let bound_new = session.bind(write("d/new.txt", "mine")).unwrap();
        std::fs::rename(session.workspace.join("d"), session.workspace.join("aside")).unwrap();
        symlink(&session.outside, session.workspace.join("d")).unwrap();
        let run = |bound| run_file_tool(Permitted::assume_checked(bound), &session.context());
        assert_eq!(run(bound_read).unwrap().content["content"], "inside");
        run(bound_write).unwrap();
        run(bound_new).unwrap();
        let outside = session.outside.join("a.txt");
        assert_eq!(std::fs::read_to_string(outside).unwrap(), "outside");
        assert!(!session.outside.join("new.txt").exists());
        // The directory that was judged got the change, wherever its name is now.
        assert_eq!(session.bytes("aside/a.txt"), b"mine");
        assert_eq!(session.bytes("aside/new.txt"), b"mine");
    }
}

#[test]
fn a_link_planted_in_scratch_is_refused() {
    let session = Session::new();
    session.roots.scratch().unwrap();
    session.file("a.txt", "inside");
    symlink(&session.workspace, session.scratch.join("link")).unwrap();
    let path = session.scratch.join("link/a.txt").display().to_string();
    for input in [read(&path, 1, 10), write(&path, "mine")] {
        let failure = session.run(input).unwrap_err();
        assert_eq!(failure.code, FailureCode::ToolDenied);
        assert_eq!(failure.details["cause"], "path_outside_workspace");
    }
    assert_eq!(session.bytes("a.txt"), b"inside");
}

#[test]
fn scratch_is_made_on_first_need_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let session = Session::new();
    assert!(!session.scratch.exists());
    let path = session.scratch.join("notes/a.txt").display().to_string();
    let output = session.write(&path, "x").unwrap();
    assert_eq!(output.content["root"], "scratch");
    assert_eq!(output.content["path"], path);
    let mode = std::fs::metadata(&session.scratch)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn special_files_are_refused_without_blocking() {
    for capabilities in all_capabilities() {
        let session = Session::with(capabilities);
        fifo(&session.workspace.join("fifo"));
        let socket = session.workspace.join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        for path in [
            "fifo",
            "socket",
            "/dev/zero",
            "/proc/self/environ",
            "/sys/kernel/uevent_seqnum",
        ] {
            for input in [read(path, 1, 10), write(path, "x"), edit(path, "a", "b")] {
                let failure = session.run(input).unwrap_err();
                assert_eq!(
                    failure.code,
                    FailureCode::InvalidArgument,
                    "{path}: {failure}"
                );
            }
        }
        session.file("a.txt", "needle");
        let content = session
            .run(ToolInput::Grep(grep_input("needle")))
            .unwrap()
            .content;
        assert_eq!(content["count"], 1);
    }
}

#[test]
fn whether_an_outside_path_exists_is_told_only_to_a_permitted_call() {
    let session = Session::new();
    std::fs::write(session.outside.join("secret-name.txt"), "").unwrap();
    let path = session.outside.join("secret-nam.txt").display().to_string();
    let bound = session.bind(read(&path, 1, 10)).unwrap();
    assert!(matches!(bound.target(), BoundTarget::Unusable { .. }));
    let failure = run_file_tool(Permitted::assume_checked(bound), &session.context()).unwrap_err();
    assert_eq!(failure.code, FailureCode::NotFound);
    assert_eq!(failure.details["nearest"][0], "secret-name.txt");
}

#[test]
fn an_approval_holds_for_the_same_target_only() {
    let session = Session::new();
    let path = session.file("a.txt", "one");
    let input = write("a.txt", "mine");
    let bind_again = |bound: BoundInput, approved: &guardian_tools::Binding| {
        bound.rebind(
            approved,
            &session.facts("a.txt", &write("a.txt", "mine")),
            &session.roots,
        )
    };

    let bound = session.bind(input.clone()).unwrap();
    let approved = bound.binding().unwrap();
    let bound = bind_again(bound, &approved).unwrap();

    // Other content in the same inode.
    std::fs::write(&path, "two").unwrap();
    let failure = bind_again(bound, &approved).unwrap_err();
    assert_eq!(failure.code, FailureCode::StaleApproval);

    // The same content in another inode.
    let bound = session.bind(input.clone()).unwrap();
    let approved = bound.binding().unwrap();
    std::fs::write(session.workspace.join("b.txt"), "two").unwrap();
    std::fs::rename(session.workspace.join("b.txt"), &path).unwrap();
    assert_eq!(
        bind_again(bound, &approved).unwrap_err().code,
        FailureCode::StaleApproval
    );

    // A file that was new exists by now.
    std::fs::remove_file(&path).unwrap();
    let bound = session.bind(input).unwrap();
    let approved = bound.binding().unwrap();
    std::fs::write(&path, "somebody").unwrap();
    assert_eq!(
        bind_again(bound, &approved).unwrap_err().code,
        FailureCode::StaleApproval
    );
    assert_eq!(session.bytes("a.txt"), b"somebody");
}

#[test]
fn content_that_changes_after_the_last_check_of_an_approval_is_not_overwritten() {
    let session = Session::new();
    let path = session.file("a.txt", "one");
    let bound = session.bind(write("a.txt", "mine")).unwrap();
    let approved = bound.binding().unwrap();
    let facts = session.facts("a.txt", &write("a.txt", "mine"));
    let bound = bound.rebind(&approved, &facts, &session.roots).unwrap();
    std::fs::write(path, "two").unwrap();
    let failure = run_file_tool(Permitted::assume_checked(bound), &session.context()).unwrap_err();
    assert_eq!(failure.code, FailureCode::StaleApproval);
    assert_eq!(session.bytes("a.txt"), b"two");
}

#[test]
fn a_file_that_appears_after_binding_is_not_replaced() {
    for capabilities in all_capabilities() {
        let session = Session::with(capabilities);
        let bound = session.bind(write("dir/new.txt", "mine")).unwrap();
        session.file("dir/new.txt", "somebody");
        let failure =
            run_file_tool(Permitted::assume_checked(bound), &session.context()).unwrap_err();
        assert_eq!(failure.code, FailureCode::StaleApproval);
        assert_eq!(session.bytes("dir/new.txt"), b"somebody");
        assert!(session.leftovers().is_empty());
    }
}

#[test]
fn swapping_directories_and_files_for_links_wins_no_race() {
    for openat2 in [guardian_tools::Feature::Use, guardian_tools::Feature::Avoid] {
        let mut capabilities = guardian_tools::Capabilities::all();
        capabilities.openat2 = openat2;
        let session = Session::with(capabilities);
        std::fs::write(session.outside.join("a.txt"), "OUTSIDE needle").unwrap();
        session.file("d/a.txt", "inside needle");
        session.file("f.txt", "inside needle");
        symlink(&session.outside, session.workspace.join("l")).unwrap();
        symlink(session.outside.join("a.txt"), session.workspace.join("m")).unwrap();
        let stop = AtomicBool::new(false);
        let (mut calls, mut inside) = (0_u64, 0_u64);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let at = |name: &str| session.workspace.join(name);
                while !stop.load(Ordering::Relaxed) {
                    for (a, b) in [("d", "l"), ("f.txt", "m")] {
                        rustix::fs::renameat_with(CWD, at(a), CWD, at(b), RenameFlags::EXCHANGE)
                            .unwrap();
                    }
                }
            });
            let end = Instant::now() + race_time();
            while Instant::now() < end {
                let inputs = [
                    read("d/a.txt", 1, 10),
                    read("f.txt", 1, 10),
                    write("d/a.txt", &format!("inside needle {calls}")),
                    edit("f.txt", "inside", "inside"),
                    write(&format!("d/new{}.txt", calls % 50), "inside"),
                    ToolInput::Grep(grep_input("needle")),
                    glob("*.txt", None),
                ];
                for input in inputs {
                    calls += 1;
                    let path = match &input {
                        ToolInput::Read(input) => input.path.clone(),
                        ToolInput::Write(input) => input.path.clone(),
                        ToolInput::Edit(input) => input.path.clone(),
                        _ => ".".to_owned(),
                    };
                    let facts = session.facts(&path, &input);
                    // Judged as outside: that would have been asked about.
                    if facts.accesses[0].exact().unwrap().scope != Scope::Workspace {
                        continue;
                    }
                    let Ok(bound) = bind(input, &facts, &session.roots) else {
                        continue;
                    };
                    let answer =
                        run_file_tool(Permitted::assume_checked(bound), &session.context());
                    let Ok(ToolOutput { content, .. }) = answer else {
                        continue;
                    };
                    inside += 1;
                    assert!(
                        !content.to_string().contains("OUTSIDE"),
                        "escaped: {content}"
                    );
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(inside > 0, "no call of {calls} got through");
        let outside = std::fs::read_to_string(session.outside.join("a.txt")).unwrap();
        assert_eq!(outside, "OUTSIDE needle");
        assert_eq!(std::fs::read_dir(&session.outside).unwrap().count(), 1);
        assert!(session.leftovers().is_empty());
    }
}

#[test]
fn a_parent_made_meanwhile_does_not_make_a_new_file_stale() {
    let session = Session::new();
    let input = write("new/dir/a.txt", "x");
    let facts = session.facts("new/dir/a.txt", &input);
    let bound = bind(input.clone(), &facts, &session.roots).unwrap();
    let approved = bound.binding().unwrap();
    session.file("new/dir/b.txt", "somebody");
    let facts_now = session.facts("new/dir/a.txt", &input);
    let bound = bound.rebind(&approved, &facts_now, &session.roots).unwrap();
    run_file_tool(Permitted::assume_checked(bound), &session.context()).unwrap();
    assert_eq!(session.bytes("new/dir/a.txt"), b"x");
    // Judged before, bound after.
    assert!(
        bind(
            write("new/dir/c.txt", "x"),
            &{
                let mut facts = facts;
                let guardian_facts::Target::Exact(path) = &mut facts.accesses[0].target else {
                    unreachable!("exact")
                };
                path.path.set_file_name("c.txt");
                facts
            },
            &session.roots
        )
        .is_ok()
    );
}
