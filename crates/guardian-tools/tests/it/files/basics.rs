//! The plain way of each tool.

use guardian_tools::FailureCode;

use super::support::{Session, read};

#[test]
fn read_returns_text_with_line_ends_shown_as_lf() {
    let session = Session::new();
    session.file("a.txt", "one\r\ntwo\r\n");
    let content = session.read("a.txt").unwrap();
    assert_eq!(content["content"], "one\ntwo\n");
    assert_eq!(content["lineEnding"], "crlf");
    assert_eq!(content["totalLines"], 2);
    assert_eq!(content["lineCount"], 2);
    assert_eq!(content["root"], "workspace");
    assert_eq!(content["path"], "a.txt");
    assert_eq!(content["truncated"], false);
    assert_eq!(
        content["tag"],
        blake3::hash(b"one\r\ntwo\r\n").to_hex().to_string()
    );
}

#[test]
fn read_past_the_end_is_empty_and_says_how_long_the_file_is() {
    let session = Session::new();
    session.file("a.txt", "one\ntwo");
    let content = session.run(read("a.txt", 10, 5)).unwrap().content;
    assert_eq!(content["content"], "");
    assert_eq!(content["totalLines"], 2);
    assert!(
        content["notice"].as_str().unwrap().contains("has 2 lines"),
        "{content}"
    );
}

#[test]
fn a_window_names_the_next_offset() {
    let session = Session::new();
    session.file(
        "a.txt",
        (1..=10).map(|n| format!("{n}\n")).collect::<String>(),
    );
    let content = session.run(read("a.txt", 3, 2)).unwrap().content;
    assert_eq!(content["content"], "3\n4\n");
    assert_eq!(content["truncated"], true);
    assert_eq!(content["notice"], "lines 3-4 of 10; continue with offset 5");
}

#[test]
fn a_missing_file_is_not_found_with_the_nearest_names() {
    let session = Session::new();
    session.file("config.yaml", "");
    let failure = session.read("config.yml").unwrap_err();
    assert_eq!(failure.code, FailureCode::NotFound);
    assert_eq!(failure.details["nearest"][0], "config.yaml");
}

#[test]
fn a_directory_is_refused_with_a_call_that_works() {
    let session = Session::new();
    session.file("src/a.rs", "");
    let failure = session.read("src").unwrap_err();
    assert_eq!(failure.code, FailureCode::InvalidArgument);
    assert_eq!(failure.details["suggestedTool"], "Glob");
    assert_eq!(failure.details["suggestedArgs"]["path"], "src");
}

#[test]
fn write_creates_with_parents_and_edit_changes_one_place() {
    let session = Session::new();
    let created = session.write("new/dir/a.txt", "x = 1\n").unwrap();
    assert_eq!(created.content["created"], true);
    assert_eq!(session.bytes("new/dir/a.txt"), b"x = 1\n");
    let edited = session.edit("new/dir/a.txt", "x = 1", "x = 2").unwrap();
    assert_eq!(edited.content["replacements"], 1);
    assert_eq!(session.bytes("new/dir/a.txt"), b"x = 2\n");
    assert!(session.leftovers().is_empty());
}

#[test]
fn write_over_a_file_that_changed_since_is_stale() {
    let session = Session::new();
    let path = session.file("a.txt", "one\n");
    session.read("a.txt").unwrap();
    std::fs::write(&path, "user's\n").unwrap();
    let failure = session.write("a.txt", "mine\n").unwrap_err();
    assert_eq!(failure.code, FailureCode::StaleFile);
    assert_eq!(
        failure.details["tag"],
        blake3::hash(b"user's\n").to_hex().to_string()
    );
    assert_eq!(session.bytes("a.txt"), b"user's\n");
}

#[test]
fn a_file_outside_is_external_with_its_absolute_path() {
    let session = Session::new();
    std::fs::write(session.outside.join("a.txt"), "x").unwrap();
    let written = session.outside.join("a.txt").display().to_string();
    let content = session.read(&written).unwrap();
    assert_eq!(content["root"], "external");
    assert_eq!(content["path"], written);
}
