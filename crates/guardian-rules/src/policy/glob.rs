//! Globs over absolute paths and over words: matching without backtracking, and the question
//! whether two globs have a text in common.

/// One piece of a compiled glob.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// This character.
    Char(char),
    /// One character, not `/`.
    Any,
    /// One character of (or not of) these ranges, not `/`.
    Class {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
    /// Any text without `/`.
    Star,
    /// Any text without `/` that does not begin with a dot (a shell's `*` at the start of a name).
    StarNoDot,
    /// Any text.
    All,
}

/// Upper and lower case are the same, or not. Deny and ask rules fold, allow rules do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Exact,
    Fold,
}

/// One compiled alternative of a glob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alternative {
    tokens: Vec<Token>,
    /// It is the directory itself of a `dir/**`.
    pub(crate) directory_itself: bool,
}

/// A path glob, compiled against the roots it may be relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathGlob {
    /// As written in the file.
    pub(crate) written: String,
    alternatives: Vec<Alternative>,
    /// The directories in front of the first wildcard, one or two per alternative; empty where an
    /// alternative is not anchored.
    pub(crate) bases: Vec<String>,
}

/// Upper bound for `{a,b}` expansion.
const MAX_ALTERNATIVES: usize = 64;

impl PathGlob {
    /// Compiles `written`. `bases` are the directories that a relative glob is anchored at (one,
    /// or two where the workspace is known by a link and by its real path); `home` serves `~`.
    /// `aliases` gives other names of the literal directory in front of the first wildcard.
    pub(crate) fn new(
        written: &str,
        workspace: Option<&str>,
        home: &str,
        aliases: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let mut alternatives = Vec::new();
        let mut bases = Vec::new();
        let mut floating = false;
        for text in braces(written)? {
            let (anchor, rest) = anchor(&text, workspace, home)?;
            let Some(anchor) = anchor else {
                // floating: `**/x`, or a relative glob without a workspace, which matches nothing
                if rest.starts_with("**") {
                    floating = true;
                    push(&mut alternatives, "", &rest)?;
                }
                continue;
            };
            let (literal, wild) = split_literal(&rest);
            let directory = join(&anchor, &literal);
            if let Some(other) = aliases(&directory)
                && other != directory
            {
                push(&mut alternatives, &other, &wild)?;
                bases.push(other);
            }
            push(&mut alternatives, &directory, &wild)?;
            bases.push(directory);
        }
        if floating {
            bases.clear();
        }
        if alternatives.len() > MAX_ALTERNATIVES {
            return Err(format!("more than {MAX_ALTERNATIVES} alternatives"));
        }
        Ok(Self {
            written: written.to_owned(),
            alternatives,
            bases,
        })
    }

    /// A shell pattern whose directory part is resolved: wildcards do not match a leading dot.
    pub(crate) fn shell(pattern: &str) -> Option<Self> {
        let alternatives = braces(pattern)
            .ok()?
            .iter()
            .map(|text| {
                tokens(text, true).map(|tokens| Alternative {
                    tokens,
                    directory_itself: false,
                })
            })
            .collect::<Result<Vec<_>, _>>()
            .ok()?;
        Some(Self {
            written: pattern.to_owned(),
            alternatives,
            bases: Vec::new(),
        })
    }

    /// Everything beneath a directory.
    pub(crate) fn beneath(directory: &str) -> Self {
        let mut tokens: Vec<Token> = directory
            .trim_end_matches('/')
            .chars()
            .map(Token::Char)
            .collect();
        tokens.push(Token::Char('/'));
        tokens.push(Token::All);
        Self {
            written: directory.to_owned(),
            alternatives: vec![Alternative {
                tokens,
                directory_itself: false,
            }],
            bases: Vec::new(),
        }
    }

    /// The glob matches this absolute path; `Some(true)` when only as the directory itself of a
    /// `dir/**`.
    pub(crate) fn matches(&self, path: &str, case: Case) -> Option<bool> {
        let mut itself = false;
        for alternative in &self.alternatives {
            if accepts(&alternative.tokens, path, case) {
                if !alternative.directory_itself {
                    return Some(false);
                }
                itself = true;
            }
        }
        itself.then_some(true)
    }

    /// The text in front of the first wildcard, of each alternative.
    pub(crate) fn literal_texts(&self) -> impl Iterator<Item = String> {
        self.alternatives.iter().map(|alternative| {
            alternative
                .tokens
                .iter()
                .map_while(|token| match token {
                    Token::Char(character) => Some(*character),
                    _ => None,
                })
                .collect()
        })
    }

    /// There is a path that both globs match (a superset where character classes meet).
    pub(crate) fn meets(&self, other: &Self, case: Case) -> bool {
        // `**/x` against everything beneath a directory
        let open = |glob: &Self| {
            glob.alternatives
                .iter()
                .any(|one| matches!(one.tokens[..], [Token::Char('/'), Token::All, ..]))
        };
        let whole = |glob: &Self| {
            glob.alternatives
                .iter()
                .any(|one| one.tokens.last() == Some(&Token::All))
        };
        if open(self) && whole(other) || open(other) && whole(self) {
            return true;
        }
        self.alternatives.iter().any(|left| {
            other
                .alternatives
                .iter()
                .any(|right| meet(&left.tokens, &right.tokens, case))
        })
    }
}

/// A glob over one word or name: `*` matches any text, everything else itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextGlob {
    /// No wildcard.
    Literal(String),
    /// With wildcards.
    Wild(Vec<Alternative>),
}

impl TextGlob {
    pub(crate) fn new(written: &str) -> Self {
        if !written.contains('*') {
            return Self::Literal(written.to_owned());
        }
        let tokens = written
            .chars()
            .map(|c| if c == '*' { Token::All } else { Token::Char(c) })
            .collect();
        Self::Wild(vec![Alternative {
            tokens,
            directory_itself: false,
        }])
    }

    /// The text, when there is no wildcard.
    pub(crate) fn as_literal(&self) -> Option<&str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Wild(_) => None,
        }
    }

    pub(crate) fn matches(&self, text: &str, case: Case) -> bool {
        match self {
            Self::Literal(literal) => match case {
                Case::Exact => literal == text,
                Case::Fold => literal == text || fold_eq(literal, text),
            },
            Self::Wild(alternatives) => alternatives
                .iter()
                .any(|alternative| accepts(&alternative.tokens, text, case)),
        }
    }
}

fn fold_eq(left: &str, right: &str) -> bool {
    left.chars()
        .flat_map(char::to_lowercase)
        .eq(right.chars().flat_map(char::to_lowercase))
}

/// Where a glob is anchored, and what is left of it.
fn anchor(
    text: &str,
    workspace: Option<&str>,
    home: &str,
) -> Result<(Option<String>, String), String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    if text.split('/').any(|part| part == "..") {
        return Err("`..` is not possible; name the directory".to_owned());
    }
    if text == "~" {
        return Ok((Some(home.to_owned()), String::new()));
    }
    if let Some(rest) = text.strip_prefix("~/") {
        return Ok((Some(home.to_owned()), rest.to_owned()));
    }
    if let Some(rest) = text.strip_prefix('/') {
        return Ok((Some(String::new()), rest.to_owned()));
    }
    if text == "**" || text.starts_with("**/") {
        return Ok((None, text.to_owned()));
    }
    let rest = text.strip_prefix("./").unwrap_or(text);
    Ok((
        workspace.map(str::to_owned),
        if rest == "." {
            String::new()
        } else {
            rest.to_owned()
        },
    ))
}

/// The leading components without wildcards, and the rest.
fn split_literal(rest: &str) -> (String, String) {
    let parts: Vec<&str> = rest
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let literal = parts
        .iter()
        .take_while(|part| !part.contains(['*', '?', '[', '\\']))
        .count();
    (parts[..literal].join("/"), parts[literal..].join("/"))
}

fn join(anchor: &str, rest: &str) -> String {
    let anchor = anchor.trim_end_matches('/');
    if rest.is_empty() {
        if anchor.is_empty() {
            "/".to_owned()
        } else {
            anchor.to_owned()
        }
    } else {
        format!("{anchor}/{rest}")
    }
}

/// Adds the alternatives of `directory` (literal) followed by `wild`; `**` between slashes matches
/// no directory, too.
fn push(alternatives: &mut Vec<Alternative>, directory: &str, wild: &str) -> Result<(), String> {
    let literal = |text: &str| text.chars().map(Token::Char).collect::<Vec<_>>();
    let mut variants: Vec<(Vec<Token>, bool)> =
        vec![(literal(directory.trim_end_matches('/')), false)];
    let parts: Vec<&str> = wild.split('/').filter(|part| !part.is_empty()).collect();
    for (index, part) in parts.iter().enumerate() {
        let last = index + 1 == parts.len();
        let mut next = Vec::new();
        for (tokens, itself) in variants {
            let mut slashed = tokens.clone();
            slashed.push(Token::Char('/'));
            if *part == "**" {
                let mut any = slashed;
                any.push(Token::All);
                next.push((any, itself));
                if !tokens.is_empty() || !last {
                    next.push((tokens, last));
                }
            } else {
                slashed.extend(tokens_of(part, false)?);
                next.push((slashed, itself));
            }
        }
        variants = next;
        if variants.len() > MAX_ALTERNATIVES {
            return Err(format!("more than {MAX_ALTERNATIVES} alternatives"));
        }
    }
    if parts.is_empty() && directory.trim_end_matches('/').is_empty() {
        variants = vec![(vec![Token::Char('/')], false)];
    }
    alternatives.extend(
        variants
            .into_iter()
            .map(|(tokens, directory_itself)| Alternative {
                tokens,
                directory_itself,
            }),
    );
    Ok(())
}

fn tokens_of(part: &str, shell: bool) -> Result<Vec<Token>, String> {
    tokens(part, shell)
}

/// Compiles wildcards of a text without braces. In shell patterns a wildcard at the start of a
/// name does not match a dot.
fn tokens(text: &str, shell: bool) -> Result<Vec<Token>, String> {
    let mut out = Vec::new();
    let mut chars = text.chars().peekable();
    let mut at_start = true;
    while let Some(c) = chars.next() {
        let token = match c {
            '*' => {
                while chars.peek() == Some(&'*') {
                    chars.next();
                }
                if shell && at_start {
                    Token::StarNoDot
                } else {
                    Token::Star
                }
            }
            '?' => Token::Any,
            '\\' => Token::Char(chars.next().ok_or("it ends in a backslash")?),
            '[' => match class(&mut chars) {
                Some(token) => token,
                None if shell => Token::Char('['),
                None => return Err("`[` without `]`".to_owned()),
            },
            _ => Token::Char(c),
        };
        at_start = token == Token::Char('/');
        out.push(token);
    }
    Ok(out)
}

fn class(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<Token> {
    let mut ahead = chars.clone();
    let negated = matches!(ahead.peek(), Some('!' | '^'));
    if negated {
        ahead.next();
    }
    let mut ranges = Vec::new();
    let mut first = true;
    loop {
        let mut low = ahead.next()?;
        if low == ']' && !first {
            break;
        }
        first = false;
        if low == '\\' {
            low = ahead.next()?;
        }
        let mut high = low;
        let mut range = ahead.clone();
        if range.next() == Some('-')
            && let Some(end) = range.next()
            && end != ']'
        {
            high = end;
            ahead = range;
        }
        ranges.push((low, high));
    }
    *chars = ahead;
    Some(Token::Class { ranges, negated })
}

/// Expands `{a,b}`; nothing is expanded where no comma stands between the braces.
fn braces(text: &str) -> Result<Vec<String>, String> {
    let mut done = Vec::new();
    let mut open = vec![text.to_owned()];
    while let Some(text) = open.pop() {
        match first_braces(&text) {
            None => done.push(text),
            Some((start, end, parts)) => {
                for part in parts.iter().rev() {
                    open.push(format!("{}{part}{}", &text[..start], &text[end..]));
                }
            }
        }
        if done.len() + open.len() > MAX_ALTERNATIVES {
            return Err(format!("more than {MAX_ALTERNATIVES} alternatives"));
        }
    }
    Ok(done)
}

/// Start, end (past the brace) and parts of the first brace group with a comma.
fn first_braces(text: &str) -> Option<(usize, usize, Vec<String>)> {
    let bytes = text.as_bytes();
    for start in (0..bytes.len()).filter(|&at| bytes[at] == b'{') {
        let mut depth = 0_usize;
        let mut parts = Vec::new();
        let mut from = start + 1;
        for at in start..bytes.len() {
            match bytes[at] {
                b'{' => depth += 1,
                b',' if depth == 1 => {
                    parts.push(text[from..at].to_owned());
                    from = at + 1;
                }
                b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        if parts.is_empty() {
                            break;
                        }
                        parts.push(text[from..at].to_owned());
                        return Some((start, at + 1, parts));
                    }
                }
                _ => {}
            }
        }
    }
    None
}

fn char_eq(left: char, right: char, case: Case) -> bool {
    left == right || case == Case::Fold && left.to_lowercase().eq(right.to_lowercase())
}

fn in_class(ranges: &[(char, char)], negated: bool, c: char, case: Case) -> bool {
    let hit = |c: char| ranges.iter().any(|&(low, high)| low <= c && c <= high);
    let found =
        hit(c) || case == Case::Fold && (c.to_lowercase().any(hit) || c.to_uppercase().any(hit));
    found != negated
}

/// A token that may be left without reading anything.
fn skippable(token: &Token) -> bool {
    matches!(token, Token::Star | Token::StarNoDot | Token::All)
}

/// Simulates the glob as an automaton: time is tokens × characters, whatever the text.
fn accepts(tokens: &[Token], text: &str, case: Case) -> bool {
    if !fits_ends(tokens, text, case) {
        return false;
    }
    let mut states = vec![false; tokens.len() + 1];
    states[0] = true;
    close(tokens, &mut states);
    let mut at_start = true;
    let mut next = vec![false; tokens.len() + 1];
    for c in text.chars() {
        next.iter_mut().for_each(|state| *state = false);
        for (index, token) in tokens
            .iter()
            .enumerate()
            .filter(|(index, _)| states[*index])
        {
            let (stay, step) = match token {
                Token::Char(expected) => (false, char_eq(*expected, c, case)),
                Token::Any => (false, c != '/'),
                Token::Class { ranges, negated } => {
                    (false, c != '/' && in_class(ranges, *negated, c, case))
                }
                Token::Star => (c != '/', false),
                Token::StarNoDot => (c != '/' && !(at_start && c == '.'), false),
                Token::All => (true, false),
            };
            next[index] |= stay;
            next[index + 1] |= step;
        }
        close(tokens, &mut next);
        std::mem::swap(&mut states, &mut next);
        if !states.iter().any(|&state| state) {
            return false;
        }
        at_start = c == '/';
    }
    states[tokens.len()]
}

/// The literal characters at both ends of the glob stand at both ends of the text: most globs are
/// ruled out by that alone.
fn fits_ends(tokens: &[Token], text: &str, case: Case) -> bool {
    let literal = |token: &Token| match token {
        Token::Char(c) => Some(*c),
        _ => None,
    };
    let mut chars = text.chars().rev();
    let tail = tokens.iter().rev().map_while(literal);
    let mut tail_fits = tail.map(|c| chars.next().is_some_and(|found| char_eq(c, found, case)));
    let mut chars = text.chars();
    let head = tokens.iter().map_while(literal);
    let mut head_fits = head.map(|c| chars.next().is_some_and(|found| char_eq(c, found, case)));
    tail_fits.all(|fits| fits) && head_fits.all(|fits| fits)
}

fn close(tokens: &[Token], states: &mut [bool]) {
    for index in 0..tokens.len() {
        if states[index] && skippable(&tokens[index]) {
            states[index + 1] = true;
        }
    }
}

/// Is there a text that both accept? Walks pairs of positions; characters that only classes
/// constrain are taken as possible.
fn meet(left: &[Token], right: &[Token], case: Case) -> bool {
    let width = right.len() + 1;
    let mut seen = vec![false; (left.len() + 1) * width];
    let mut open = vec![(0, 0)];
    while let Some((l, r)) = open.pop() {
        if std::mem::replace(&mut seen[l * width + r], true) {
            continue;
        }
        if l == left.len() && r == right.len() {
            return true;
        }
        if l < left.len() && skippable(&left[l]) {
            open.push((l + 1, r));
        }
        if r < right.len() && skippable(&right[r]) {
            open.push((l, r + 1));
        }
        if l < left.len() && r < right.len() {
            let (a, b) = (&left[l], &right[r]);
            let fresh_left = l == 0 || left[l - 1] == Token::Char('/');
            let fresh_right = r == 0 || right[r - 1] == Token::Char('/');
            if share_a_character(a, fresh_left, b, fresh_right, case) {
                let next_l = if skippable(a) { l } else { l + 1 };
                let next_r = if skippable(b) { r } else { r + 1 };
                open.push((next_l, next_r));
                // a star that has read a dot-free start stays; leaving it is the skip above
            }
        }
    }
    false
}

fn share_a_character(a: &Token, fresh_a: bool, b: &Token, fresh_b: bool, case: Case) -> bool {
    match (a, b) {
        (Token::Char(x), Token::Char(y)) => char_eq(*x, *y, case),
        (Token::Char(x), other) => reads(other, *x, fresh_b && fresh_a, case),
        (other, Token::Char(y)) => reads(other, *y, fresh_a && fresh_b, case),
        _ => true,
    }
}

fn reads(token: &Token, c: char, at_start: bool, case: Case) -> bool {
    match token {
        Token::Char(expected) => char_eq(*expected, c, case),
        Token::Any | Token::Star => c != '/',
        Token::Class { ranges, negated } => c != '/' && in_class(ranges, *negated, c, case),
        Token::StarNoDot => c != '/' && !(at_start && c == '.'),
        Token::All => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(written: &str) -> PathGlob {
        PathGlob::new(written, Some("/w"), "/home/dev", &|_| None)
            .unwrap_or_else(|error| unreachable!("`{written}` does not compile: {error}"))
    }

    #[track_caller]
    fn check(written: &str, path: &str, expected: bool) {
        assert_eq!(
            glob(written).matches(path, Case::Exact).is_some(),
            expected,
            "{written} on {path}"
        );
    }

    #[test]
    fn relative_globs_are_anchored_at_the_workspace() {
        check("docs/**", "/w/docs/a/b.md", true);
        check("docs/**", "/w/docs", true);
        check("docs/**", "/w/docs2/a", false);
        check("docs/*", "/w/docs/a.md", true);
        check("docs/*", "/w/docs/a/b.md", false);
        check("*.md", "/w/a.md", true);
        check("*.md", "/w/d/a.md", false);
        check("a/**/b", "/w/a/b", true);
        check("a/**/b", "/w/a/x/y/b", true);
        check(".", "/w", true);
    }

    #[test]
    fn floating_absolute_and_home_globs() {
        check("**/.env*", "/anywhere/.env.local", true);
        check("**/.env*", "/.env", true);
        check("**/.env*", "/x/env", false);
        check("~/x/**", "/home/dev/x/y", true);
        check("/srv/{a,b}/**", "/srv/b/c", true);
        check("/srv/{a,b}/**", "/srv/c/c", false);
        check("/**", "/anything/at/all", true);
        check("/etc/[hp]*", "/etc/hosts", true);
        check("/etc/[!hp]*", "/etc/hosts", false);
    }

    #[test]
    fn case_is_folded_only_on_request() {
        let rule = glob("**/.eslintrc.js");
        assert!(rule.matches("/w/.ESLINTRC.JS", Case::Fold).is_some());
        assert!(rule.matches("/w/.ESLINTRC.JS", Case::Exact).is_none());
    }

    #[test]
    fn two_globs_meet_only_where_a_path_fits_both() {
        let rule = glob("**/.env*");
        let shell = |pattern: &str| PathGlob::shell(pattern).unwrap_or_else(|| unreachable!());
        assert!(rule.meets(&shell("/w/.e*"), Case::Exact));
        assert!(!rule.meets(&shell("/w/*"), Case::Exact));
        assert!(!rule.meets(&shell("/w/src/*.rs"), Case::Exact));
        assert!(rule.meets(&PathGlob::beneath("/w"), Case::Exact));
        assert!(!glob("docs/**").meets(&PathGlob::beneath("/w/src"), Case::Exact));
        assert!(glob("src/gen/**").meets(&PathGlob::beneath("/w/src"), Case::Exact));
    }

    #[test]
    fn faulty_globs_are_refused() {
        for written in ["", "../x", "a[b", "a\\"] {
            assert!(
                PathGlob::new(written, Some("/w"), "/h", &|_| None).is_err(),
                "{written}"
            );
        }
    }
}
