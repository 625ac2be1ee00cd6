//! Can one name match two patterns at once?
//!
//! Used where a shell pattern meets a class pattern and the directory cannot be listed.
//! Conservative: what is not understood (brackets, braces, extglob) stands for anything.

/// One step of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    /// This character.
    Character(char),
    /// One character that is not `/`.
    AnyOne,
    /// Any number of characters that are not `/`.
    AnyName,
    /// Any number of characters.
    AnyPath,
}

/// Splits a pattern. `**/` also stands for nothing.
pub(super) fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(pattern.len());
    let mut rest = pattern;
    // At the start it ends where a name begins; every text compared here has a `/` there.
    if let Some(after) = rest.strip_prefix("**/") {
        tokens.extend([Token::AnyPath, Token::Character('/')]);
        rest = after;
    }
    while let Some(character) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("**/") {
            tokens.push(Token::AnyPath);
            rest = after;
            continue;
        }
        if let Some(after) = rest.strip_prefix("**") {
            tokens.push(Token::AnyPath);
            rest = after;
            continue;
        }
        match character {
            '*' => tokens.push(Token::AnyName),
            '?' => tokens.push(Token::AnyOne),
            // A bracket may be literal when it is never closed, and braces and extglob nest: the
            // rest of the component may be anything.
            '[' | '{' | '(' | '!' | '@' | '+' | '\\' => {
                tokens.push(Token::AnyName);
                rest = rest.find('/').map_or("", |slash| &rest[slash..]);
                continue;
            }
            other => tokens.push(Token::Character(other)),
        }
        rest = &rest[character.len_utf8()..];
    }
    tokens
}

/// True unless it is certain that no text matches both. Linear space, quadratic time.
pub(super) fn may_intersect(left: &[Token], right: &[Token]) -> bool {
    // reachable[j]: some text matches left[..i] and right[..j].
    let mut reachable = vec![false; right.len() + 1];
    reachable[0] = true;
    close_over_empty(&mut reachable, right);
    for &token in left {
        let mut next = vec![false; right.len() + 1];
        if may_be_empty(token) {
            next.copy_from_slice(&reachable);
        }
        for j in 0..right.len() {
            let from = reachable[j] || (may_be_empty(token) && next[j]);
            if from && compatible(token, right[j]) {
                // Both consume one character; a repeating token on the right stays available.
                next[j + 1] = true;
                if may_be_empty(right[j]) {
                    next[j] = true;
                }
            }
        }
        close_over_empty(&mut next, right);
        reachable = next;
    }
    reachable[right.len()]
}

fn close_over_empty(reachable: &mut [bool], right: &[Token]) {
    for j in 0..right.len() {
        if reachable[j] && may_be_empty(right[j]) {
            reachable[j + 1] = true;
        }
    }
}

fn may_be_empty(token: Token) -> bool {
    matches!(token, Token::AnyName | Token::AnyPath)
}

fn compatible(left: Token, right: Token) -> bool {
    match (left, right) {
        (Token::Character(a), Token::Character(b)) => a == b,
        (Token::AnyPath, _) | (_, Token::AnyPath) => true,
        (Token::Character(a), _) | (_, Token::Character(a)) => a != '/',
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(left: &str, right: &str, expected: bool) {
        assert_eq!(
            may_intersect(&tokens(left), &tokens(right)),
            expected,
            "{left} {right}"
        );
        assert_eq!(
            may_intersect(&tokens(right), &tokens(left)),
            expected,
            "{right} {left}"
        );
    }

    #[test]
    fn names_that_match_both_exist() {
        check("/w/.en?", "**/.env", true);
        check("/w/.e*", "**/.env.*", true);
        check("/w/*", "**/*.pem", true);
        check("/w/**", "**/.git/hooks", true);
        check("/w/[ab]x", "**/.env", true);
        check("~/.ssh/*", "~/.ssh/**", true);
        check("a*c", "*b*", true);
    }

    #[test]
    fn no_name_matches_both() {
        check("/w/*.md", "**/.env", false);
        check("/w/src/*.rs", "**/*.pem", false);
        check("/w/*", "/etc/shadow", false);
        check("/w/a?", "/w/a", false);
        check("/w/*", "**/.git/config", false);
        check("/w/x*.md", "**/.env.*", false);
    }
}
