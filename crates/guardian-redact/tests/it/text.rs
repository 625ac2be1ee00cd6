//! What is hidden in running text, and what is not.

use guardian_redact::Redactor;
use serde_json::json;

#[track_caller]
fn check(text: &str, expect: &str) {
    assert_eq!(Redactor::builtin().redact_text(text), expect);
    // Redacting twice changes nothing.
    assert_eq!(Redactor::builtin().redact_text(expect), expect);
}

#[track_caller]
fn untouched(text: &str) {
    check(text, text);
}

#[test]
fn environment_assignments_lose_their_value() {
    check(
        "DB_PASSWORD=hunter2 cargo run",
        "DB_PASSWORD=[REDACTED:key] cargo run",
    );
    check(
        "export API_KEY=\"abc def!\" x",
        "export API_KEY=\"[REDACTED:key]\" x",
    );
    check(
        "docker run -e TOKEN=abc img",
        "docker run -e TOKEN=[REDACTED:key] img",
    );
    check(
        "mysql --password=geheim -u root",
        "mysql --password=[REDACTED:key] -u root",
    );
    check("gh auth --token abcdef", "gh auth --token [REDACTED:key]");
    check(
        "GET /x?access_token=abcdef&page=2",
        "GET /x?access_token=[REDACTED:key]&page=2",
    );
}

#[test]
fn headers_lose_their_value() {
    check(
        "Authorization: Bearer abc.def",
        "Authorization: Bearer [REDACTED:key]",
    );
    check(
        "curl -H 'Authorization: Basic dXNlcjpwYXNz' x",
        "curl -H 'Authorization: Basic [REDACTED:key]' x",
    );
    check(
        "curl -H \"X-Api-Key: abcdef\" x",
        "curl -H \"X-Api-Key: [REDACTED:key]\" x",
    );
    check(
        "Cookie: a=b; c=d\nHost: x",
        "Cookie: [REDACTED:key]\nHost: x",
    );
}

#[test]
fn files_of_settings_lose_their_values() {
    check(
        "user: app\npassword: hunter2\n",
        "user: app\npassword: [REDACTED:key]\n",
    );
    check(
        "  client_secret = \"s3cr3t-value\"",
        "  client_secret = \"[REDACTED:key]\"",
    );
    check(
        "{\"password\":\"hunter2\",\"a\":1}",
        "{\"password\":\"[REDACTED:key]\",\"a\":1}",
    );
    check(
        "{\\\"password\\\":\\\"hunter2\\\"}",
        "{\\\"password\\\":\\\"[REDACTED:key]\\\"}",
    );
    check(
        "<password>hunter2</password>",
        "<password>[REDACTED:key]</password>",
    );
    check(
        "//registry.example/:_authToken=abc-12345",
        "//registry.example/:_authToken=[REDACTED:key]",
    );
    check(
        "const API_TOKEN: &str = \"abcdefgh\";",
        "const API_TOKEN: &str = \"[REDACTED:key]\";",
    );
}

#[test]
fn passwords_in_other_clothes_are_hidden() {
    check(
        "password = \"correct horse battery\"",
        "password = \"[REDACTED:key]\"",
    );
    check(
        "machine x.example login y password zzTopSecretzz",
        "machine x.example login y password [REDACTED:netrc]",
    );
    check(
        "mysql -phunter2hunter2xyz -u root",
        "mysql -p[REDACTED:mysql-password] -u root",
    );
    check(
        "echo aws_secret_access_key = wJalrXUtnFEMI7K7MDENGbPxRfiCY",
        "echo aws_secret_access_key = [REDACTED:key]",
    );
    untouched("password = \"Enter your password\"");
    untouched("let password = \"must not be empty\";");
    untouched("mysql -p -u root");
    untouched("machine learning password manager");
}

#[test]
fn a_shape_names_the_secret_better_than_its_key() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    check(
        &format!("GITHUB_TOKEN={token} x"),
        "GITHUB_TOKEN=[REDACTED:github] x",
    );
}

#[test]
fn references_and_code_stay() {
    for text in [
        "PASSWORD=$PASSWORD cargo run",
        "password = get_password()",
        "let token = self.token;",
        "fn login(password: &str, token: Token) {",
        "token: String,",
        "  password: string;",
        "if token == other {",
        "token::Kind",
        "impl<IndentOfToken> Tokens for X<IndentOfToken> {\n}",
        "max_tokens=4096",
        "maxTokens: 100",
        "\"token\": \"string\"",
        "password=password,",
        "placeholder: \"Enter your password\"",
        "self.secret = secret",
        "commit 8f14e45fceea167a5a36dedd4bea2543aabbccdd",
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "https://example.com:8080/a@b",
        "https://user@example.com",
    ] {
        untouched(text);
    }
}

#[test]
fn json_members_with_secret_names_are_hidden_whole() {
    let value = json!({
        "apiKey": "x",
        "maxTokens": 5,
        "nested": {"credentials": {"user": "a", "ids": ["b"]}},
        "pin": 1,
        "password": 123,
        "text": "TOKEN=abc",
        "secret": true,
    });
    assert_eq!(
        Redactor::builtin().redact_value(&value),
        json!({
            "apiKey": "[REDACTED:key]",
            "maxTokens": 5,
            "nested": {"credentials": {"user": "[REDACTED:key]", "ids": ["[REDACTED:key]"]}},
            "pin": 1,
            "password": "[REDACTED:key]",
            "text": "TOKEN=[REDACTED:key]",
            "secret": true,
        })
    );
}

#[test]
fn known_values_are_hidden_wherever_they_stand() {
    let redactor =
        Redactor::builtin().with_known_values(["correct horse".to_owned(), "short".to_owned()]);
    assert_eq!(
        redactor.redact_text("x correct horse y short"),
        "x [REDACTED:known-value] y short"
    );
    assert_eq!(
        redactor.redact_text("x Correct Horse y"),
        "x Correct Horse y"
    );
    let quoted = Redactor::builtin().with_known_values(["has \"quotes\" in it".to_owned()]);
    assert_eq!(
        quoted.redact_text(r#"{"a":"has \"quotes\" in it"}"#),
        r#"{"a":"[REDACTED:known-value]"}"#
    );
}

/// Rust sources of this repository, and of the registry where this machine has some.
fn sources() -> Vec<std::path::PathBuf> {
    let mut directories = vec![std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")];
    if let Some(cargo) = std::env::var_os("CARGO_HOME")
        .map(std::path::PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
    {
        directories.push(cargo.join("registry/src"));
    }
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            let (Ok(kind), path) = (entry.file_type(), entry.path()) else {
                continue;
            };
            let is_about_secrets = path
                .components()
                .any(|part| part.as_os_str() == "guardian-redact");
            if kind.is_dir() && entry.file_name() != "target" {
                directories.push(path);
            } else if kind.is_file()
                && path.extension().is_some_and(|extension| extension == "rs")
                && !is_about_secrets
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn ordinary_source_stays_as_it_is_in_999_of_1000_lines() {
    let redactor = Redactor::builtin();
    let (mut lines, mut touched, mut bytes) = (0_usize, 0_usize, 0_usize);
    // Spread over all there is, up to what a test may take.
    let files = sources();
    let step = (files.len() / 400).max(1);
    for path in files.iter().step_by(step) {
        let Ok(text) = std::fs::read_to_string(path) else {
            continue;
        };
        if bytes > 3_000_000 {
            break;
        }
        bytes += text.len();
        lines += text.lines().count();
        let redacted = redactor.redact_text(&text);
        if redacted != text {
            let left: std::collections::HashSet<&str> = redacted.lines().collect();
            touched += text.lines().filter(|line| !left.contains(line)).count();
        }
    }
    assert!(lines > 1000, "a corpus");
    assert!(
        touched * 1000 <= lines,
        "{touched} of {lines} lines touched"
    );
}
