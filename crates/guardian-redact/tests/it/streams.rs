//! Streams: the output does not depend on how the input is cut.

use guardian_redact::{Redactor, StreamRedactor};
use proptest::prelude::*;

fn streamed(redactor: &Redactor, text: &[u8], cuts: &[usize]) -> Vec<u8> {
    let mut stream = StreamRedactor::new(redactor.clone());
    let mut out = Vec::new();
    let mut at = 0;
    for &cut in cuts {
        let next = (at + cut).min(text.len());
        out.extend(stream.push(&text[at..next]));
        at = next;
    }
    out.extend(stream.push(&text[at..]));
    out.extend(stream.finish());
    out
}

fn redactor() -> Redactor {
    Redactor::builtin().with_known_values([
        "known value 1".to_owned(),
        "k".repeat(1500),
        "ghp_inner value".to_owned(),
    ])
}

/// Pieces that begin, continue, end and overlap secrets.
fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9 \\n\"'=:/@.-]{0,40}",
        Just(format!("ghp_{}", "a1B2".repeat(9))),
        Just("password=".to_owned()),
        Just("\"apiKey\": \"".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----\n".to_owned()),
        Just("-----END PRIVATE KEY-----\n".to_owned()),
        Just("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n".repeat(20)),
        Just("Authorization: Bearer ".to_owned()),
        Just("postgres://u:pw12@h/".to_owned()),
        Just("known value 1".to_owned()),
        Just("k".repeat(1500)),
        Just("k".repeat(700)),
        Just("ghp_inner value".to_owned()),
        Just("ä漢\u{202e}".to_owned()),
        Just("x".repeat(1200)),
        Just("export TOKEN_2=".to_owned()),
        Just("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.".to_owned()),
    ]
}

proptest! {
    #[test]
    fn any_cutting_gives_the_output_of_the_whole(
        fragments in prop::collection::vec(fragment(), 0..12),
        cuts in prop::collection::vec(0_usize..400, 0..60),
    ) {
        let text = fragments.concat();
        let redactor = redactor();
        let whole = redactor.redact_bytes(text.as_bytes());
        let cut = streamed(&redactor, text.as_bytes(), &cuts);
        prop_assert_eq!(String::from_utf8_lossy(&cut), String::from_utf8_lossy(&whole));
        let single: Vec<usize> = vec![1; text.len()];
        let by_byte = streamed(&redactor, text.as_bytes(), &single);
        prop_assert_eq!(String::from_utf8_lossy(&by_byte), String::from_utf8_lossy(&whole));
    }
}

#[test]
fn a_split_secret_is_caught_and_nothing_of_it_leaves_early() {
    let mut stream = StreamRedactor::new(redactor());
    let mut out = stream.push(b"before GITHUB_TOKEN=ghp_a1B2a1B2a1B2a1B2");
    assert!(!String::from_utf8_lossy(&out).contains("a1B2"));
    out.extend(stream.push(b"a1B2a1B2a1B2a1B2a1B2 after"));
    out.extend(stream.finish());
    assert_eq!(
        String::from_utf8_lossy(&out),
        "before GITHUB_TOKEN=[REDACTED:github] after"
    );
}

#[test]
fn ordinary_output_lags_by_little() {
    let mut stream = StreamRedactor::new(Redactor::builtin());
    let line = "compiling crate number one, two and three\n".repeat(100);
    let out = stream.push(line.as_bytes());
    assert!(
        line.len() - out.len() < 160,
        "{} held back",
        line.len() - out.len()
    );
}
