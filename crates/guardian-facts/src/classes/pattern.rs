//! One path pattern: how it is written, taken apart and matched.
//!
//! The build script uses this file too (it prepares an index of the embedded patterns), so it stands
//! on nothing but the standard library.

use std::ops::Range;

/// Where a pattern begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Root {
    /// `/etc/shadow`
    FileSystem,
    /// `~/.ssh`
    Home,
    /// `.env`: at any depth.
    Anywhere,
}

/// What one component of a path has to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// `x`
    Literal(String),
    /// `x*`
    Prefix(String),
    /// `*x`
    Suffix(String),
    /// Anything else with wildcards.
    Glob(Vec<Token>),
    /// `**`: any number of components.
    AnyDepth,
}

/// A part of a component with wildcards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    Character(char),
    One,
    Many,
    Set(Vec<char>),
}

/// A pattern, taken apart. In lower case.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub(crate) root: Root,
    pub(crate) steps: Vec<Step>,
    /// Ends in `/**`: what lies beneath belongs to it too.
    pub(crate) tree: bool,
    /// Holds no `**`: it takes as many components as it has steps.
    fixed: bool,
}

/// What a name must begin or end with, in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Letter {
    First(u8),
    Last(u8),
}

impl Pattern {
    /// Does a path of these components match, of which so many may name a home directory?
    pub(crate) fn matches(&self, components: &[&str], homes: &[usize]) -> bool {
        match self.root {
            Root::FileSystem => steps_match(&self.steps, components, self.tree),
            Root::Home => homes
                .iter()
                .any(|length| steps_match(&self.steps, &components[*length..], self.tree)),
            Root::Anywhere => self
                .starts(components.len())
                .any(|start| steps_match(&self.steps, &components[start..], self.tree)),
        }
    }

    /// Where in so many components a pattern without a place of its own can begin.
    fn starts(&self, components: usize) -> Range<usize> {
        match components.checked_sub(self.steps.len()) {
            Some(last) if self.fixed && self.tree => 0..last + 1,
            Some(last) if self.fixed => last..last + 1,
            None if self.fixed => 0..0,
            _ => 0..components,
        }
    }
}

/// Do the steps take all the components (of a tree: the first ones)?
pub(crate) fn steps_match(steps: &[Step], components: &[&str], tree: bool) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        return tree || components.is_empty();
    };
    if *step == Step::AnyDepth {
        // Patterns are short configuration: the nesting is bounded by the `**` they hold.
        return (0..=components.len()).any(|skip| steps_match(rest, &components[skip..], tree));
    }
    match components.split_first() {
        Some((component, beneath)) => {
            step_matches(step, component) && steps_match(rest, beneath, tree)
        }
        None => false,
    }
}

/// Does one component match?
pub(crate) fn step_matches(step: &Step, component: &str) -> bool {
    match step {
        Step::Literal(text) => text == component,
        Step::Prefix(prefix) => component.starts_with(prefix.as_str()),
        Step::Suffix(suffix) => component.ends_with(suffix.as_str()),
        Step::Glob(tokens) => glob_matches(tokens, component),
        Step::AnyDepth => true,
    }
}

/// The usual two-pointer match: linear but for one restart point per `*`.
fn glob_matches(tokens: &[Token], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut token, mut position) = (0, 0);
    let mut restart: Option<(usize, usize)> = None;
    while position < text.len() {
        let is_match = match tokens.get(token) {
            Some(Token::Many) => {
                restart = Some((token + 1, position));
                token += 1;
                continue;
            }
            Some(Token::One) => true,
            Some(Token::Character(wanted)) => *wanted == text[position],
            Some(Token::Set(set)) => set.contains(&text[position]),
            None => false,
        };
        if is_match {
            token += 1;
            position += 1;
        } else if let Some((after, from)) = restart {
            restart = Some((after, from + 1));
            token = after;
            position = from + 1;
        } else {
            return false;
        }
    }
    tokens[token..].iter().all(|token| *token == Token::Many)
}

/// Takes a pattern of the configuration's language apart (see `config/default.toml`).
///
/// # Errors
/// What is wrong with it, for people.
pub(crate) fn parse(text: &str) -> Result<Pattern, &'static str> {
    let lower = text.to_lowercase();
    let (root, rest) = if let Some(rest) = lower.strip_prefix("~/") {
        (Root::Home, rest)
    } else if let Some(rest) = lower.strip_prefix('/') {
        (Root::FileSystem, rest)
    } else if lower.get(1..3) == Some(":/") {
        (Root::FileSystem, lower.as_str())
    } else {
        (Root::Anywhere, lower.strip_prefix("**/").unwrap_or(&lower))
    };
    let (rest, tree) = match rest.strip_suffix("/**") {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let mut steps = Vec::new();
    for component in rest.split('/').filter(|component| !component.is_empty()) {
        steps.push(match component {
            "." | ".." => return Err("`.` and `..` are not resolved in a pattern"),
            "**" => Step::AnyDepth,
            name if name.contains("**") => {
                return Err("`**` must stand alone between slashes");
            }
            name => parse_step(name)?,
        });
    }
    if steps.iter().all(|step| *step == Step::AnyDepth) {
        return Err("it would match everything");
    }
    let fixed = !steps.contains(&Step::AnyDepth);
    Ok(Pattern {
        root,
        steps,
        tree,
        fixed,
    })
}

fn parse_step(name: &str) -> Result<Step, &'static str> {
    if !name.contains(['*', '?', '[']) {
        return Ok(Step::Literal(name.to_owned()));
    }
    let is_plain = |text: &str| !text.contains(['*', '?', '[']);
    if let Some(prefix) = name.strip_suffix('*').filter(|prefix| is_plain(prefix)) {
        return Ok(Step::Prefix(prefix.to_owned()));
    }
    if let Some(suffix) = name.strip_prefix('*').filter(|suffix| is_plain(suffix)) {
        return Ok(Step::Suffix(suffix.to_owned()));
    }
    let mut tokens = Vec::new();
    let mut characters = name.chars();
    while let Some(character) = characters.next() {
        tokens.push(match character {
            '*' => Token::Many,
            '?' => Token::One,
            '[' => {
                let set: Vec<char> = characters
                    .by_ref()
                    .take_while(|next| *next != ']')
                    .collect();
                if set.is_empty() || !name.contains(']') {
                    return Err("a bracket is not closed or empty");
                }
                Token::Set(set)
            }
            other => Token::Character(other),
        });
    }
    Ok(Step::Glob(tokens))
}

/// The last component of a pattern that has no wildcard: it is the most telling one (`.config` says
/// less than `fish`). Every path that matches has it as a component, in lower case.
pub(crate) fn last_literal(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("~/").unwrap_or(text);
    let is_wild = |component: &str| {
        component
            .bytes()
            .any(|byte| matches!(byte, b'*' | b'?' | b'['))
    };
    rest.split('/')
        .rev()
        .find(|component| !component.is_empty() && !is_wild(component))
}

/// The letter that every name has which a pattern of one step and without a place matches. None
/// where lower case could change it.
pub(crate) fn fixed_letter(text: &str) -> Option<Letter> {
    let is_plain = |rest: &str| {
        !rest.is_empty() && rest.is_ascii() && !rest.contains(['*', '?', '[', '/', '~', ':'])
    };
    let lower = |byte: Option<u8>| byte.map(|byte| byte.to_ascii_lowercase());
    if let Some(end) = text.strip_prefix('*').filter(|end| is_plain(end)) {
        return lower(end.bytes().next_back()).map(Letter::Last);
    }
    let start = text.strip_suffix('*').filter(|start| is_plain(start))?;
    lower(start.bytes().next()).map(Letter::First)
}

/// A pattern of this text begins at `/`, `~/` or a drive.
pub(crate) fn is_anchored(text: &str) -> bool {
    text.starts_with('/') || text.starts_with("~/") || text.get(1..3) == Some(":/")
}

/// FNV-1a: the keys are configuration.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Directories in which a pattern that holds at any depth finds its names: relative, lower-case.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DirectoriesOfPattern {
    /// On the way to the name: `.yarn` and `.yarn/plugins`.
    pub(crate) on_the_way: Vec<String>,
    /// Belongs to the pattern wholly: `.claude` of `.claude/**`.
    pub(crate) tree: Option<String>,
}

/// The directories that a pattern names. Those that begin at `/` or `~` name one place, which is no
/// matter of a relative path; a component with a wildcard ends what can be looked up.
pub(crate) fn directories_of(pattern: &str) -> DirectoriesOfPattern {
    let mut found = DirectoriesOfPattern::default();
    if is_anchored(pattern) {
        return found;
    }
    let lower = pattern.to_lowercase();
    let (rest, is_tree) = match lower.strip_suffix("/**") {
        Some(rest) => (rest, true),
        None => (lower.as_str(), false),
    };
    let rest = rest.strip_prefix("**/").unwrap_or(rest);
    let literal = match rest.find(['*', '?', '[']) {
        Some(wild) => rest[..wild].rfind('/').map_or("", |slash| &rest[..slash]),
        None if is_tree => {
            found.tree = Some(rest.to_owned());
            rest
        }
        None => rest.rfind('/').map_or("", |slash| &rest[..slash]),
    };
    let ends = literal.match_indices('/').map(|(at, _)| at);
    for end in ends.chain([literal.len()]) {
        if end > 0 {
            found.on_the_way.push(literal[..end].to_owned());
        }
    }
    found
}
