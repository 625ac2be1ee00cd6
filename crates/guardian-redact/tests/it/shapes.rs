//! Every shape of the data file, through look-alikes generated from its examples.

use guardian_redact::{Redactor, ShapeInfo};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;

/// Fills `<class:count>` parts of a template with random characters.
fn fill(template: &str, random: &mut impl FnMut(usize) -> usize) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some(open) = rest.find('<') {
        text.push_str(&rest[..open]);
        let close = rest.find('>').expect("closed part");
        let (class, count) = rest[open + 1..close]
            .split_once(':')
            .expect("class and count");
        let alphabet: &[u8] = match class {
            "alnum" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            "token" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
            "base64" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            "base32" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            "upper" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
            "lower" => b"abcdefghijklmnopqrstuvwxyz0123456789",
            "digit" => b"0123456789",
            "hex" => b"0123456789abcdef",
            other => panic!("unknown class {other}"),
        };
        for _ in 0..count.parse::<usize>().expect("count") {
            text.push(char::from(alphabet[random(alphabet.len())]));
        }
        rest = &rest[close + 1..];
    }
    text.push_str(rest);
    text
}

#[test]
fn generated_secrets_of_every_kind_are_hidden_and_named() {
    let redactor = Redactor::builtin();
    let mut runner = TestRunner::deterministic();
    for ShapeInfo { kind, examples, .. } in redactor.shapes() {
        assert!(!examples.is_empty(), "{kind} has no example");
        for template in &examples {
            for _ in 0..20 {
                let mut random =
                    |bound: usize| (0..bound).new_tree(&mut runner).expect("a range").current();
                let secret = fill(template, &mut random);
                for (before, after) in [
                    ("", ""),
                    ("x ", " y"),
                    ("\"", "\""),
                    ("a=", "\n"),
                    ("(", ")"),
                ] {
                    let text = format!("{before}{secret}{after}");
                    let redacted = redactor.redact_text(&text);
                    let marker = format!("[REDACTED:{kind}]");
                    assert!(
                        redacted.contains(&marker),
                        "{kind}: `{text}` became `{redacted}`"
                    );
                    assert!(
                        redacted.ends_with(after),
                        "{kind}: `{text}` became `{redacted}`"
                    );
                    let longest = secret
                        .split(|c: char| !c.is_ascii_alphanumeric())
                        .max_by_key(|part| part.len());
                    assert!(
                        !redacted.contains(longest.expect("a part")),
                        "{kind}: `{redacted}` still tells"
                    );
                }
            }
        }
    }
}

#[test]
fn kinds_are_lower_case_names() {
    for shape in Redactor::builtin().shapes() {
        assert!(
            shape
                .kind
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
            "{}",
            shape.kind
        );
    }
}

#[test]
fn a_users_shapes_are_added() {
    let own = "[[shape]]\nkind = \"acme\"\ndescription = \"Acme\"\nanchors = [\"acme_\"]\npattern = 'acme_[0-9]{8}'\n";
    let redactor = Redactor::builtin().with_shapes(own).unwrap();
    assert_eq!(
        redactor.redact_text("id acme_12345678."),
        "id [REDACTED:acme]."
    );
    assert!(
        Redactor::builtin()
            .with_shapes("[[shape]]\nkind = 1")
            .is_err()
    );
    assert!(
        Redactor::builtin()
            .with_shapes(&own.replace("[0-9]", "[0-9"))
            .is_err()
    );
    assert!(
        Redactor::builtin()
            .with_shapes(&own.replace("\"acme_\"", ""))
            .is_err()
    );
}
