//! Glob and Grep.

use guardian_facts::ToolInput;
use guardian_facts::input::{GrepInput, OutputMode};
use guardian_tools::FailureCode;
use serde_json::Value;

use super::support::{Session, glob, grep_input};

fn globbed(session: &Session, pattern: &str) -> Vec<String> {
    let content = session.run(glob(pattern, None)).unwrap().content;
    strings(&content["matches"])
}

fn strings(value: &Value) -> Vec<String> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

fn grep(session: &Session, input: GrepInput) -> Value {
    session.run(ToolInput::Grep(input)).unwrap().content
}

fn touch(session: &Session, name: &str, seconds: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    let file = std::fs::File::options()
        .write(true)
        .open(session.workspace.join(name))
        .unwrap();
    file.set_modified(time).unwrap();
}

#[test]
fn glob_is_newest_first_then_by_path() {
    let session = Session::new();
    for (name, time) in [
        ("a.rs", 10),
        ("src/b.rs", 30),
        ("src/c.rs", 30),
        ("d.txt", 50),
    ] {
        session.file(name, "");
        touch(&session, name, time);
    }
    assert_eq!(globbed(&session, "*.rs"), ["src/b.rs", "src/c.rs", "a.rs"]);
    assert_eq!(globbed(&session, "src/*.rs"), ["src/b.rs", "src/c.rs"]);
}

#[test]
fn the_newest_are_those_of_all_files_not_of_the_first_walked() {
    let mut session = Session::new();
    session.limits.walk_threads = 3;
    for n in 0..400 {
        let name = format!("d{}/f{n}.txt", n % 7);
        session.file(&name, "needle\n");
        touch(&session, &name, 1000 + n);
    }
    let mut input = grep_input("needle");
    input.head_limit = 3;
    input.output_mode = OutputMode::FilesWithMatches;
    let content = grep(&session, input);
    assert_eq!(
        strings(&content["files"]),
        ["d0/f399.txt", "d6/f398.txt", "d5/f397.txt"]
    );
    assert_eq!(content["truncated"], true);
}

#[test]
fn truncated_is_true_only_when_something_was_left_out() {
    let session = Session::new();
    session.file("a.txt", "x\nx\n");
    let mut input = grep_input("x");
    input.head_limit = 2;
    assert_eq!(grep(&session, input.clone())["truncated"], false);
    input.head_limit = 1;
    assert_eq!(grep(&session, input)["truncated"], true);
}

#[test]
fn ignore_layers_apply_outside_git_and_naming_a_directory_lifts_them() {
    let session = Session::new();
    session.file(".gitignore", "generated/\n*.tmp\n");
    session.file("generated/a.txt", "needle");
    session.file("node_modules/m/a.txt", "needle");
    session.file("src/a.tmp", "needle");
    session.file("src/.gitignore", "!keep.tmp\n");
    session.file("src/keep.tmp", "needle");
    session.file("dist/out.txt", "needle");
    session.file(".git/config", "needle");
    session.file("priv/a.txt", "needle");
    session.file(".guardianignore", "priv/\n");
    session.file(".github/ci.yml", "needle");
    let mut input = grep_input("needle");
    input.output_mode = OutputMode::FilesWithMatches;
    let mut found = strings(&grep(&session, input.clone())["files"]);
    found.sort();
    assert_eq!(found, [".github/ci.yml", "src/keep.tmp"]);
    for (path, expect) in [
        ("generated", "generated/a.txt"),
        ("node_modules", "node_modules/m/a.txt"),
        ("dist", "dist/out.txt"),
        ("priv", "priv/a.txt"),
    ] {
        input.path = Some(path.to_owned());
        assert_eq!(strings(&grep(&session, input.clone())["files"]), [expect]);
    }
}

#[test]
fn a_whitelist_in_gitignore_lifts_a_default() {
    let session = Session::new();
    session.file(".gitignore", "!dist/\n");
    session.file("dist/a.rs", "");
    assert_eq!(globbed(&session, "*.rs"), ["dist/a.rs"]);
}

#[test]
fn secret_files_are_left_out_and_counted_even_when_their_directory_is_named() {
    let session = Session::new();
    session.file("conf/.env", "KEY=needle");
    session.file("conf/a.txt", "needle");
    let mut input = grep_input("needle");
    input.path = Some("conf".to_owned());
    let content = grep(&session, input);
    assert_eq!(content["count"], 1);
    assert_eq!(content["hidden"], 1);
    let content = session.run(glob("*", Some("conf"))).unwrap().content;
    assert_eq!(strings(&content["matches"]), ["conf/a.txt"]);
    assert_eq!(content["hidden"], 1);
}

#[test]
fn a_named_file_is_searched_without_its_siblings_and_include_filters_its_base_name() {
    let session = Session::new();
    session.file("a.txt", "needle");
    session.file("b.txt", "needle");
    let mut input = grep_input("needle");
    input.path = Some("a.txt".to_owned());
    assert_eq!(grep(&session, input.clone())["count"], 1);
    input.include = Some("*.rs".to_owned());
    assert_eq!(grep(&session, input)["count"], 0);
}

#[test]
fn include_matches_base_names_or_relative_paths() {
    let session = Session::new();
    session.file("src/a.rs", "needle");
    session.file("tests/a.rs", "needle");
    let mut input = grep_input("needle");
    input.include = Some("src/**".to_owned());
    assert_eq!(
        grep(&session, input.clone())["matches"][0]["path"],
        "src/a.rs"
    );
    input.include = Some("*.rs".to_owned());
    assert_eq!(grep(&session, input)["count"], 2);
}

#[test]
fn a_match_has_its_line_column_and_context() {
    let session = Session::new();
    session.file("a.txt", "one\ntwo\nné needle\nfour\nfive\n");
    let mut input = grep_input("needle");
    input.context = 1;
    let found = &grep(&session, input)["matches"][0];
    assert_eq!(found["line"], 3);
    assert_eq!(found["column"], 4);
    assert_eq!(found["text"], "né needle");
    assert_eq!(strings(&found["before"]), ["two"]);
    assert_eq!(strings(&found["after"]), ["four"]);
}

#[test]
fn dollar_matches_before_crlf_and_utf_16_is_searched() {
    let session = Session::new();
    session.file("crlf.txt", "needle\r\nother\r\n");
    let wide: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain("a needle\r\n".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    session.file("wide.txt", wide);
    let wider: Vec<u8> = [0xff, 0xfe, 0, 0]
        .into_iter()
        .chain("needle".chars().flat_map(|c| u32::from(c).to_le_bytes()))
        .collect();
    session.file("wider.txt", wider);
    let content = grep(&session, grep_input("needle$"));
    assert_eq!(content["count"], 3, "{content}");
    assert_eq!(content["files"], 3);
}

#[test]
fn a_pattern_may_cross_lines_when_asked() {
    let session = Session::new();
    session.file("a.txt", "begin\nmiddle\nend\n");
    let mut input = grep_input("begin.*end");
    assert_eq!(grep(&session, input.clone())["count"], 0);
    input.multiline = true;
    let content = grep(&session, input);
    assert_eq!(content["matches"][0]["text"], "begin\nmiddle\nend");
}

#[test]
fn fixed_strings_and_case() {
    let session = Session::new();
    session.file("a.txt", "f(x) = A[0]\n");
    let mut input = grep_input("a[0]");
    assert_eq!(grep(&session, input.clone())["count"], 0);
    input.fixed_strings = true;
    assert_eq!(grep(&session, input.clone())["count"], 0);
    input.case_insensitive = true;
    assert_eq!(grep(&session, input)["count"], 1);
}

#[test]
fn a_bad_pattern_names_its_position() {
    let session = Session::new();
    let failure = session
        .run(ToolInput::Grep(grep_input("foo(bar")))
        .unwrap_err();
    assert_eq!(failure.code, FailureCode::InvalidArgument);
    assert_eq!(failure.details["position"], 4);
    let failure = session
        .run(ToolInput::Grep(grep_input("a\\nb")))
        .unwrap_err();
    assert_eq!(failure.code, FailureCode::InvalidArgument);
    assert!(failure.message.contains("multiline"), "{}", failure.message);
}

#[test]
fn a_long_line_is_searched_in_full_and_clipped_for_display() {
    let session = Session::new();
    session.file(
        "a.txt",
        format!("{}needle{}\n", "é".repeat(50_000), "x".repeat(50_000)),
    );
    let content = grep(&session, grep_input("needle"));
    let found = &content["matches"][0];
    assert_eq!(found["column"], 50_001);
    let text = found["text"].as_str().unwrap();
    assert!(text.contains("needle") && text.contains("line clipped"));
    assert!(text.chars().count() < 2100);
}

#[test]
fn links_are_never_followed_and_broken_ones_counted() {
    let session = Session::new();
    std::fs::write(session.outside.join("secret.txt"), "needle").unwrap();
    std::os::unix::fs::symlink(&session.outside, session.workspace.join("dir")).unwrap();
    std::os::unix::fs::symlink(
        session.outside.join("secret.txt"),
        session.workspace.join("file"),
    )
    .unwrap();
    std::os::unix::fs::symlink("nowhere", session.workspace.join("broken")).unwrap();
    std::os::unix::fs::symlink(".", session.workspace.join("loop")).unwrap();
    let content = grep(&session, grep_input("needle"));
    assert_eq!(content["count"], 0);
    assert_eq!(content["unreadable"], 1);
}

#[test]
fn a_passed_time_limit_gives_what_was_found_and_says_so() {
    let mut session = Session::new();
    session.file("a.txt", "needle");
    session.limits.walk_time = std::time::Duration::ZERO;
    let content = grep(&session, grep_input("needle"));
    assert_eq!(content["truncated"], true);
    assert!(content["notice"].as_str().unwrap().contains("timed out"));
}

/// Two files of the same class by name; the content tells which is a secret.
#[test]
fn a_pem_file_of_certificates_alone_is_found_and_a_private_key_is_not() {
    use guardian_facts::PathClasses;
    use guardian_tools::{ClassesHidden, Permitted, run_file_tool};

    let session = Session::new();
    let block = |label: &str| format!("-----BEGIN {label}-----\nbmVlZGxl\n-----END {label}-----\n");
    session.file("tls/ca.pem", block("CERTIFICATE"));
    session.file(
        "tls/server.pem",
        block("CERTIFICATE") + &block("PRIVATE KEY"),
    );
    session.file("tls/id.key", block("RSA PRIVATE KEY"));
    session.file("tls/pub.key", block("PUBLIC KEY"));
    std::os::unix::fs::symlink("ca.pem", session.workspace.join("tls/link.pem")).unwrap();
    let classes = PathClasses::from_default();
    let hidden = ClassesHidden::new(&classes, &session.paths);
    let mut cx = session.context();
    cx.hidden = &hidden;
    let run = |input| {
        let bound = session.bind(input).unwrap();
        run_file_tool(Permitted::assume_checked(bound), &cx)
            .unwrap()
            .content
    };
    let mut input = grep_input("bmVlZGxl");
    input.output_mode = OutputMode::FilesWithMatches;
    let found = run(ToolInput::Grep(input));
    let mut files = strings(&found["files"]);
    files.sort();
    assert_eq!(files, ["tls/ca.pem", "tls/pub.key"]);
    assert_eq!(found["hidden"], 3);
    let found = run(glob("**/*.{pem,key}", None));
    let mut files = strings(&found["matches"]);
    files.sort();
    assert_eq!(files, ["tls/ca.pem", "tls/pub.key"]);
    assert_eq!(found["hidden"], 3);
}
