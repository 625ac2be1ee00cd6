//! Which names promise a secret value.

/// Longest key that is looked at, in bytes.
pub(crate) const LONGEST_KEY: usize = 80;

/// Literals of which every secret-looking key contains at least one; the anchors of `assign`.
pub(crate) const KEY_ANCHORS: &[&str] = &[
    "passw",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "privatekey",
    "private_key",
    "private-key",
    "signingkey",
    "signing_key",
    "signing-key",
    "encryptionkey",
    "encryption_key",
    "encryption-key",
    "masterkey",
    "master_key",
    "authkey",
    "auth_key",
    "auth-key",
    "accountkey",
    "account_key",
    "sharedkey",
    "shared_key",
    "sessionkey",
    "session_key",
    "credential",
    "authorization",
    "cookie",
    "_auth",
    "connectionstring",
    "connection_string",
];

/// Last words of a key that make it secret. A key is split into words at `_`, `-`, `.`, blanks
/// and case changes; digits at its end are ignored.
const SECRET_ENDINGS: &[&[&str]] = &[
    &["pwd"],
    &["secrets"],
    &["secretkey"],
    &["privatekey"],
    &["accesskey"],
    &["authkey"],
    &["api", "key"],
    &["access", "key"],
    &["secret", "key"],
    &["secret", "key", "base"],
    &["private", "key"],
    &["signing", "key"],
    &["encryption", "key"],
    &["master", "key"],
    &["auth", "key"],
    &["account", "key"],
    &["shared", "key"],
    &["session", "key"],
    &["credential"],
    &["credentials"],
    &["authorization"],
    &["cookie"],
    &["connectionstring"],
    &["connection", "string"],
];

/// Ends of the last word, for names that run together (`PGPASSWORD`, `authtoken`).
const SECRET_SUFFIXES: &[&str] = &[
    "password",
    "passwd",
    "passwort",
    "passphrase",
    "secret",
    "token",
    "apikey",
];

/// Words after a secret ending that do not change what the value is.
const TRANSPARENT_ENDINGS: &[&str] = &[
    "value",
    "plain",
    "plaintext",
    "text",
    "raw",
    "b64",
    "base64",
    "prod",
    "production",
    "dev",
    "test",
    "staging",
    "old",
    "new",
    "current",
    "previous",
    "default",
];

/// First words that turn a secret-looking name into an ordinary one.
const HARMLESS_BEGINNINGS: &[&str] = &[
    "max",
    "min",
    "num",
    "total",
    "is",
    "has",
    "use",
    "no",
    "next",
    "page",
    "pagination",
    "continuation",
    "cancellation",
    "cancel",
    "csrf",
    "xsrf",
    "forgot",
    "reset",
    "show",
    "hide",
    "change",
    "invalid",
    "missing",
    "public",
];

/// Does a key of this name hold a secret?
///
/// True for `password`, `GITHUB_TOKEN`, `clientSecret`, `X-Api-Key`, `_auth`; false for
/// `maxTokens`, `token_count`, `password_file`, `public_key`, `keyId`.
#[must_use]
pub fn is_secret_key(key: &str) -> bool {
    if key.len() > LONGEST_KEY {
        return false;
    }
    // npm's `_auth`, which has no other secret-looking word.
    if key == "_auth" {
        return true;
    }
    // The working directory, not a password.
    if key == "PWD" || key == "OLDPWD" {
        return false;
    }
    let words = words_of(key);
    let mut words: &[String] = &words;
    if words
        .first()
        .is_some_and(|first| HARMLESS_BEGINNINGS.contains(&first.as_str()))
    {
        return false;
    }
    loop {
        let runs_together = words
            .last()
            .is_some_and(|last| SECRET_SUFFIXES.iter().any(|suffix| last.ends_with(suffix)));
        if runs_together || SECRET_ENDINGS.iter().any(|ending| ends_with(words, ending)) {
            return true;
        }
        match words.split_last() {
            Some((last, rest)) if TRANSPARENT_ENDINGS.contains(&last.as_str()) => words = rest,
            _ => return false,
        }
    }
}

fn ends_with(words: &[String], ending: &[&str]) -> bool {
    words.len() >= ending.len()
        && words[words.len() - ending.len()..]
            .iter()
            .zip(ending)
            .all(|(word, wanted)| word == wanted)
}

/// Lower-case words of a name: `dbPassword2` → `db`, `password`.
fn words_of(key: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous_lower = false;
    let characters: Vec<char> = key.chars().collect();
    for (index, &character) in characters.iter().enumerate() {
        if !character.is_alphanumeric() {
            if !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            previous_lower = false;
            continue;
        }
        let next_lower = characters
            .get(index + 1)
            .is_some_and(|next| next.is_lowercase());
        let starts_word = character.is_uppercase()
            && !word.is_empty()
            && (previous_lower
                || (next_lower && word.chars().last().is_some_and(char::is_uppercase)));
        if starts_word {
            words.push(std::mem::take(&mut word));
        }
        previous_lower = character.is_lowercase() || character.is_numeric();
        word.push(character);
    }
    if !word.is_empty() {
        words.push(word);
    }
    for word in &mut words {
        *word = word.to_lowercase();
        let kept = word
            .trim_end_matches(|character: char| character.is_ascii_digit())
            .len();
        if kept > 0 && !word.ends_with("64") {
            word.truncate(kept);
        }
    }
    // A trailing number of its own (`TOKEN_2`) says nothing either.
    while words.len() > 1
        && words
            .last()
            .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()))
    {
        words.pop();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognised() {
        for key in [
            "password",
            "PASSWORD",
            "dbPassword",
            "DB_PASSWORD_2",
            "GITHUB_TOKEN",
            "clientSecret",
            "X-Api-Key",
            "apiKey",
            "APIKey",
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "_auth",
            "_authToken",
            "Authorization",
            "Set-Cookie",
            "SECRET_KEY_BASE",
            "private_key",
            "passphrase",
            "PGPASSWORD2",
            "TOKEN_OLD",
            "credentials",
            "npm_token",
            "AccountKey",
            "connectionString",
        ] {
            assert!(is_secret_key(key), "{key}");
        }
    }

    #[test]
    fn ordinary_names_are_not() {
        for key in [
            "maxTokens",
            "max_tokens",
            "token_count",
            "tokens",
            "tokenizer",
            "password_file",
            "passwordField",
            "public_key",
            "primaryKey",
            "keyId",
            "key",
            "PWD",
            "OLDPWD",
            "secretName",
            "nextToken",
            "token_type",
            "authorization_url",
            "cookies",
            "compass",
            "MAX_TOKEN",
            "csrfToken",
            "author",
        ] {
            assert!(!is_secret_key(key), "{key}");
        }
    }
}
