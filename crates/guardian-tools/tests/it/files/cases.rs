//! The cases of `shared/cases/reports.jsonl` that the bodies of the file tools decide, by id.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use guardian_facts::ToolInput;
use guardian_facts::input::OutputMode;
use guardian_tools::{FailureCode, RollbackOutcome};
use serde_json::Value;

use super::support::{Session, edit, glob, grep_input, read};

/// Decided here or in a test of this crate that names the id.
const HERE: &[&str] = &[
    "c148", "c149", "c152", "c168", "c170", "c171", "c172", "c173", "c174", "c175", "c176", "c180",
    "c182", "c184", "c185", "c187", "c191", "c192", "c193", "c195", "c199", "c203", "c205", "c207",
    "c208", "c209", "c210", "c212", "c213", "c215", "c217", "c218", "c221", "c335", "c337", "c340",
    "c343", "c346", "c348",
];

/// Decided by facts and rules (how a path is judged) or by host and store (turns, quota).
const ELSEWHERE: &[&str] = &[
    "c159", "c161", "c163", "c164", "c165", "c166", "c336", "c342", "c349",
];

#[test]
fn every_case_of_these_areas_has_its_place() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/cases/reports.jsonl"
    );
    let Ok(text) = std::fs::read_to_string(file) else {
        eprintln!("NOT TESTED: the shared cases are not here");
        return;
    };
    let areas = ["path", "read", "write", "edit", "grep", "rollback"];
    let found: BTreeSet<String> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|case| areas.iter().any(|area| case["area"] == *area))
        .map(|case| case["id"].as_str().unwrap().to_owned())
        .collect();
    let known: BTreeSet<String> = HERE
        .iter()
        .chain(ELSEWHERE)
        .map(|id| (*id).to_owned())
        .collect();
    assert_eq!(found, known);
}

#[track_caller]
fn edited(before: impl AsRef<[u8]>, old: &str, new: &str, after: impl AsRef<[u8]>) {
    let session = Session::new();
    session.file("a.txt", before);
    session.edit("a.txt", old, new).unwrap();
    assert_eq!(session.bytes("a.txt"), after.as_ref());
}

#[track_caller]
fn not_edited(before: &str, old: &str, new: &str, words: &str) {
    let session = Session::new();
    session.file("a.txt", before);
    let failure = session.edit("a.txt", old, new).unwrap_err();
    assert_eq!(failure.code, FailureCode::ToolFailed);
    assert!(failure.message.contains(words), "{failure}");
    assert_eq!(session.bytes("a.txt"), before.as_bytes());
}

#[test]
fn c148_c149_c152_links_to_outside_are_outside_requests() {
    use guardian_facts::Scope;
    let session = Session::new();
    std::fs::write(session.outside.join("victim.txt"), "victim").unwrap();
    std::os::unix::fs::symlink(&session.outside, session.workspace.join("outbox")).unwrap();
    std::os::unix::fs::symlink(
        session.outside.join("victim.txt"),
        session.workspace.join("notes.md"),
    )
    .unwrap();
    for path in ["outbox/a.txt", "notes.md"] {
        let facts = session.facts(path, &super::support::write(path, "x"));
        assert_eq!(facts.accesses[0].exact().unwrap().scope, Scope::Outside);
        // Whoever permits it gets the outside file, named as such.
        let output = session.write(path, "x").unwrap();
        assert_eq!(output.content["root"], "external");
    }
}

#[test]
fn c170_c171_a_crlf_file_keeps_its_line_ends() {
    let session = Session::new();
    session.file("a.txt", "x=1\r\ny=2\r\n");
    session.read("a.txt").unwrap();
    session.edit("a.txt", "x=1", "x=2").unwrap();
    assert_eq!(session.bytes("a.txt"), b"x=2\r\ny=2\r\n");
    let before: String = (0..200).map(|n| format!("line {n}.\r\n")).collect();
    edited(
        &before,
        "line 77.",
        "line LXXVII.",
        before.replace("line 77.", "line LXXVII."),
    );
}

#[test]
fn c172_an_lf_file_stays_lf_whatever_the_model_sends() {
    edited("p\nq\n", "p\r\nq", "p\r\nr", "p\nr\n");
}

#[test]
fn c173_a_failed_match_inserts_nothing() {
    not_edited(
        "busy:  bool\r\n",
        "busy: bool",
        "guard: Lock",
        "was not found",
    );
}

#[test]
fn c174_every_untouched_byte_stays() {
    edited(
        "\u{feff}Dim n\r\n'é\n",
        "Dim n",
        "Dim m",
        "\u{feff}Dim m\r\n'é\n",
    );
}

#[test]
fn c175_c176_what_differs_is_named() {
    not_edited(
        "func f() {\n\treturn x\n}\n",
        "    return x",
        "    return y",
        "whitespace differs (file uses 1 tab, `old_string` uses 4 spaces) at line 2",
    );
    not_edited(
        "budget for\u{a0}next\n",
        "budget for next",
        "budget for last",
        "U+00A0",
    );
}

#[test]
fn c180_replacement_text_is_literal() {
    edited("p\nq\nword", "word", "re=/x$`/", "p\nq\nre=/x$`/");
}

#[test]
fn c182_an_empty_old_string_has_no_position() {
    not_edited("x\n", "", "z", "`old_string` is empty");
}

#[test]
fn c185_c187_an_edit_works_on_the_current_bytes() {
    let session = Session::new();
    let lines: String = (1..=50).map(|n| format!("l{n}\n")).collect();
    let path = session.file("a.txt", &lines);
    session.read("a.txt").unwrap();
    // Only the time changed (c185), then the user's line 5 (c187).
    std::fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    session.edit("a.txt", "l39\n", "L39\n").unwrap();
    let users = String::from_utf8(session.bytes("a.txt"))
        .unwrap()
        .replace("l5\n", "user\n");
    std::fs::write(&path, &users).unwrap();
    session.edit("a.txt", "l40\n", "L40\n").unwrap();
    assert_eq!(
        session.bytes("a.txt"),
        users.replace("l40\n", "L40\n").as_bytes()
    );
}

#[test]
fn c192_c193_a_write_over_a_foreign_change_is_stale() {
    let session = Session::new();
    let path = session.file("a.txt", "one\n");
    session.read("a.txt").unwrap();
    std::fs::write(&path, "somebody else's\n").unwrap();
    let failure = session.write("a.txt", "x\n").unwrap_err();
    assert_eq!(failure.code, FailureCode::StaleFile);
    assert!(failure.message.contains("read it again"), "{failure}");
    session.read("a.txt").unwrap();
    session.write("a.txt", "x\n").unwrap();
}

#[test]
fn c195_c199_mode_stays_and_new_bytes_are_as_given() {
    let session = Session::new();
    let path = session.file("hook.sh", "old\n");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    session.write("hook.sh", "#!/bin/sh\n").unwrap();
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o755
    );
    let output = session.write("new.txt", "a\nb\n").unwrap();
    assert_eq!(session.bytes("new.txt"), b"a\nb\n");
    assert_eq!(output.content["lineEnding"], "lf");
}

#[test]
fn c203_one_long_line_is_cut_with_its_size() {
    let session = Session::new();
    session.file("m.json", format!("[{}]", "1,".repeat(500_000)));
    let content = session.read("m.json").unwrap();
    let text = content["content"].as_str().unwrap();
    assert!(
        text.len() < 48 * 1024 && text.contains("1000002 bytes"),
        "{}",
        &text[text.len() - 60..]
    );
    assert_eq!(content["truncated"], true);
    assert_eq!(content["fileBytes"], 1_000_002);
}

#[test]
fn c205_a_huge_file_is_read_in_pieces() {
    let session = Session::new();
    let path = session.workspace.join("big.log");
    let file = std::fs::File::create(&path).unwrap();
    // Sparse: four gigabytes of zeros behind a first line without end.
    std::os::unix::fs::FileExt::write_all_at(&file, "x".repeat(3_000_000).as_bytes(), 0).unwrap();
    file.set_len(4 << 30).unwrap();
    let start = Instant::now();
    let content = session.run(read("big.log", 1, 1)).unwrap().content;
    assert!(start.elapsed() < Duration::from_secs(5));
    let text = content["content"].as_str().unwrap();
    assert!(text.starts_with("xxx") && text.contains("line clipped"));
    assert!(content["tag"].as_str().unwrap().starts_with("s:"));
    assert!(content.get("totalLines").is_none());
}

#[test]
fn a_deep_offset_of_a_large_file_is_reached_without_decoding() {
    let session = Session::new();
    let text: String = (1..=2_500_000).map(|n| format!("line {n}\n")).collect();
    assert!(text.len() > 16 * 1024 * 1024);
    session.file("big.txt", &text);
    let content = session.run(read("big.txt", 2_400_000, 2)).unwrap().content;
    assert_eq!(content["content"], "line 2400000\nline 2400001\n");
    assert!(content.get("totalLines").is_none());
    let content = session.run(read("big.txt", 2_499_999, 10)).unwrap().content;
    assert_eq!(content["totalLines"], 2_500_000);
    let content = session.run(read("big.txt", 2_600_000, 10)).unwrap().content;
    assert_eq!(content["totalLines"], 2_500_000);
    assert_eq!(content["content"], "");
}

#[test]
fn c207_a_name_with_another_space_is_suggested() {
    let session = Session::new();
    session.file("Scan 7\u{a0}v 2.png", "");
    let failure = session.read("Scan 7 v 2.png").unwrap_err();
    assert_eq!(failure.details["nearest"][0], "Scan 7\u{a0}v 2.png");
}

#[test]
fn c208_bytes_that_are_not_utf_8_become_text_that_says_so() {
    let session = Session::new();
    session.file("g.txt", b"\xc4\xe3\xba\xc3\n");
    let content = session.read("g.txt").unwrap();
    assert_eq!(content["encoding"], "windows-1252");
    assert!(content["notice"].as_str().unwrap().contains("not UTF-8"));
}

#[test]
fn binary_files_are_refused_and_images_described() {
    let mut session = Session::new();
    session.file("a.bin", b"\x7fELF\0\0");
    let failure = session.read("a.bin").unwrap_err();
    assert_eq!(failure.code, FailureCode::ToolBinaryContent);
    assert_eq!(failure.details["mimeType"], "application/x-elf");
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    png.extend([0, 0, 0, 7, 0, 0, 0, 5, 8, 6]);
    session.file("a.png", &png);
    let content = session.read("a.png").unwrap();
    assert_eq!(
        (&content["width"], &content["height"]),
        (&7.into(), &5.into())
    );
    assert!(content.get("data").is_none());
    session.vision = guardian_tools::Vision::Declared;
    assert!(
        session.read("a.png").unwrap()["data"]
            .as_str()
            .unwrap()
            .starts_with("iVBOR")
    );
}

#[test]
fn c209_c213_a_walk_ends_with_its_time_and_says_so() {
    let mut session = Session::new();
    for n in 0..50 {
        session.file(&format!("d{n}/f.txt"), "foo");
    }
    session.limits.walk_time = Duration::ZERO;
    let content = session
        .run(ToolInput::Grep(grep_input("foo")))
        .unwrap()
        .content;
    assert!(content["notice"].as_str().unwrap().contains("timed out"));
    let content = session.run(glob("**/rare*", None)).unwrap().content;
    assert_eq!(content["truncated"], true);
    assert!(content.get("total").is_none());
}

#[test]
fn an_abort_ends_a_walk_within_50_ms() {
    let mut session = Session::new();
    let big = "no match in this line\n".repeat(400_000);
    for n in 0..40 {
        session.file(&format!("f{n}.txt"), &big);
    }
    session.limits.walk_threads = 2;
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let mut cx = session.context();
    cx.cancel = &cancel;
    // A pattern without a literal: the regex engine looks at every byte.
    let bound = session
        .bind(ToolInput::Grep(grep_input("(?i)[qz]{3}[0-9]+$")))
        .unwrap();
    let (failure, waited) = std::thread::scope(|scope| {
        let call = scope.spawn(|| {
            let permitted = guardian_tools::Permitted::assume_checked(bound);
            let answer = guardian_tools::run_file_tool(permitted, &cx);
            (answer, Instant::now())
        });
        std::thread::yield_now();
        cancel.store(true, std::sync::atomic::Ordering::Relaxed);
        let asked = Instant::now();
        let (answer, ended) = call.join().unwrap();
        (answer.unwrap_err(), ended.saturating_duration_since(asked))
    });
    assert_eq!(failure.code, FailureCode::ToolAborted);
    // The promise is 50 ms; an unoptimised build on a busy machine gets more room.
    assert!(waited < Duration::from_millis(500), "{waited:?}");
}

#[test]
fn c210_c215_generated_directories_are_not_walked() {
    let session = Session::new();
    session.file("node_modules/p/src/lib/uri.js", "foo");
    session.file("mod1/src/lib/uri.js", "foo");
    session.file("mod1/node_modules/q/src/lib/uri.js", "foo");
    session.file(".venv/lib/a.py", "foo");
    session.file("model.bin", b"foo\0\0");
    let content = session
        .run(ToolInput::Grep(grep_input("foo")))
        .unwrap()
        .content;
    assert_eq!(content["files"], 1);
    let content = session.run(glob("*/src/lib/uri.js", None)).unwrap().content;
    assert_eq!(content["matches"][0], "mod1/src/lib/uri.js");
    assert_eq!(content["count"], 1);
}

#[test]
fn c212_a_walk_from_the_top_is_outside_and_boxed_in_time() {
    let mut session = Session::new();
    session.limits.walk_time = Duration::from_millis(200);
    let facts = session.facts("/", &glob("slides/*.png", Some("/")));
    assert_eq!(
        facts.accesses[0].exact().unwrap().scope,
        guardian_facts::Scope::Outside
    );
    let start = Instant::now();
    session.run(glob("**/*.no-such-name", Some("/"))).unwrap();
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn c217_an_unreadable_directory_is_counted() {
    // Root reads every directory: this thread, and those it starts, give that right up.
    let no_rights = rustix::thread::CapabilitySet::empty();
    let sets = rustix::thread::CapabilitySets {
        effective: no_rights,
        permitted: no_rights,
        inheritable: no_rights,
    };
    rustix::thread::set_capabilities(None, sets).unwrap();
    let session = Session::new();
    session.file("a.md", "");
    session.file("closed/b.md", "");
    let closed = session.workspace.join("closed");
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
    let content = session.run(glob("**/*.md", None)).unwrap().content;
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(content["count"], 1);
    assert_eq!(content["unreadable"], 1);
}

#[test]
fn c221_a_result_is_bounded_and_whole_characters() {
    let session = Session::new();
    session.file("a.txt", "漢字テスト\n".repeat(20_000));
    let mut input = grep_input(".");
    input.head_limit = 2000;
    let content = session.run(ToolInput::Grep(input.clone())).unwrap().content;
    let bytes: usize = content["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| found["text"].as_str().unwrap().len())
        .sum();
    assert!(bytes <= 48 * 1024);
    assert_eq!(content["truncated"], true);
    input.output_mode = OutputMode::Count;
    let content = session.run(ToolInput::Grep(input)).unwrap().content;
    assert_eq!(content["counts"][0]["count"], 20_000);
}

#[test]
fn c335_c340_c343_c348_a_rollback_touches_only_what_the_call_changed() {
    let session = Session::new();
    session.file("nested/.git/HEAD", "ref");
    session.file("nested/a.py", "one\n");
    session.file("b.txt", "theirs\n");
    let change = session
        .edit("nested/a.py", "one", "two")
        .unwrap()
        .changed
        .unwrap();
    session.file("out/data.jsonl", "{}\n");
    session.file("b.txt", "changed by another session\n");
    assert_eq!(session.rollback(&change), RollbackOutcome::RolledBack);
    assert_eq!(session.bytes("nested/a.py"), b"one\n");
    assert_eq!(session.bytes("out/data.jsonl"), b"{}\n");
    assert_eq!(session.bytes("b.txt"), b"changed by another session\n");
}

#[test]
fn c337_c346_absence_is_state_and_foreign_work_is_never_undone() {
    let session = Session::new();
    let change = session
        .write("new.txt", "agent\n")
        .unwrap()
        .changed
        .unwrap();
    session.file("new.txt", "agent\nand the user\n");
    assert_eq!(session.rollback(&change), RollbackOutcome::Conflict);
    assert_eq!(session.bytes("new.txt"), b"agent\nand the user\n");
    session.file("new.txt", "agent\n");
    assert_eq!(session.rollback(&change), RollbackOutcome::RolledBack);
    assert!(!session.workspace.join("new.txt").exists());
}

#[test]
fn an_ambiguous_edit_names_the_count_and_the_lines() {
    not_edited("a\nb\na\n", "a", "x", "occurs 2 times (lines 1, 3)");
    let session = Session::new();
    session.file("a.txt", "same\n");
    let failure = session.run(edit("a.txt", "same", "same")).unwrap_err();
    assert_eq!(failure.details["reason"], "no_op");
}
