//! One file keeps one encoding and one style of line ends, and what Read shows Grep finds.

use guardian_facts::ToolInput;
use guardian_facts::input::{GrepInput, OutputMode};

use super::support::Session;

fn notice(content: &serde_json::Value) -> &str {
    content["notice"].as_str().unwrap_or_default()
}

fn grep(session: &Session, pattern: &str, path: &str, head_limit: u32) -> serde_json::Value {
    let input = GrepInput {
        pattern: pattern.to_owned(),
        path: Some(path.to_owned()),
        include: None,
        output_mode: OutputMode::Content,
        head_limit,
        case_insensitive: false,
        context: 0,
        multiline: false,
        fixed_strings: false,
        notices: Vec::new(),
    };
    session.run(ToolInput::Grep(input)).unwrap().content
}

#[test]
fn a_write_keeps_the_line_ends_that_the_file_has() {
    for (old, content, new) in [
        ("a\nb\n", "a\r\nB\r\n", "a\nB\n"),
        ("a\r\nb\r\n", "a\nB\n", "a\r\nB\r\n"),
        ("a\nb\n", "a\r\nB\n", "a\nB\n"),
        ("no line end", "a\r\nb\r\n", "a\r\nb\r\n"),
    ] {
        let session = Session::new();
        session.file("x", old);
        session.read("x").unwrap();
        let done = session.write("x", content).unwrap();
        assert_eq!(session.bytes("x"), new.as_bytes(), "{old:?} {content:?}");
        let dropped = !new.contains('\r') && content.contains('\r');
        assert_eq!(notice(&done.content).contains("LF"), dropped, "{old:?}");
    }
}

#[test]
fn a_write_never_leaves_a_file_that_reads_as_something_else() {
    for (old, content) in [
        // Would be the UTF-8 bytes of "café".
        (&b"caf\xe9\n"[..], "cafÃ©\n"),
        // UTF-8 but for one byte.
        (b"gr\xc3\xb6\xc3\x9fe = 1\nbad \xff byte\n", "größe = 2\n"),
        (b"caf\xe9\n", "→\n"),
        // Half a code unit at the end; a lone surrogate.
        (b"\xff\xfea\0\n\0b", "größe\n"),
        (b"\xff\xfe\x00\xd8\n\0", "→\n"),
    ] {
        let session = Session::new();
        session.file("x", old);
        let read = session.read("x").unwrap();
        assert!(!notice(&read).is_empty(), "{old:?}");
        let done = session.write("x", content).unwrap();
        let back = session.read("x").unwrap();
        assert_eq!(back["content"], content, "{old:?}");
        let kept = back["encoding"] == read["encoding"];
        assert_eq!(notice(&done.content).contains("UTF-8"), !kept, "{old:?}");
    }
}

#[test]
fn what_is_read_as_windows_1252_is_found_as_it_is_read() {
    let session = Session::new();
    session.file("small", b"caf\xe9 foo\nbar\n");
    let mut large = b"caf\xe9 foo\n".repeat(300_000);
    large.extend_from_slice(b"na\xefve end\n");
    session.file("large", large);
    for pattern in ["café", "é foo", "caf. foo"] {
        let found = grep(&session, pattern, "small", 10);
        assert_eq!(found["count"], 1, "{pattern}");
        assert_eq!(found["matches"][0]["text"], "café foo");
    }
    let found = grep(&session, "naïve", "large", 10);
    assert_eq!(found["matches"][0]["line"], 300_001);
    // UTF-8 with a wrong byte elsewhere is still found as UTF-8.
    session.file("broken", b"gr\xc3\xb6\xc3\x9fe\n\xff\n");
    assert_eq!(grep(&session, "größe", "broken", 10)["count"], 1);
}

#[test]
fn a_grep_says_why_it_found_nothing_or_not_all() {
    let session = Session::new();
    session.file("binary", b"text here\0\n");
    let found = grep(&session, "text", "binary", 10);
    assert_eq!(found["count"], 0);
    assert!(notice(&found).contains("binary"), "{found}");
    session.file(
        "many",
        "a line that matches, long enough to fill a result\n".repeat(3000),
    );
    let found = grep(&session, "matches", "many", 2000);
    assert_eq!(found["truncated"], true);
    assert!(!notice(&found).contains("headLimit"), "{}", notice(&found));
    let found = grep(&session, "matches", "many", 5);
    assert!(notice(&found).contains("headLimit"), "{}", notice(&found));
}
