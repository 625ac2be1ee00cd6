//! Many path patterns at once, compiled in microseconds and matched by component.
//!
//! A general glob engine compiles hundreds of patterns in milliseconds, which a `guardian check`
//! that lives for two milliseconds cannot pay. Nearly every pattern here holds a component without
//! a wildcard, so one look-up per component of the path finds the few patterns worth trying.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;
use std::sync::OnceLock;

use super::ClassError;
use crate::defaults::Text;

/// Where a pattern begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    /// `/etc/shadow`
    FileSystem,
    /// `~/.ssh`
    Home,
    /// `.env`: at any depth.
    Anywhere,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Literal(String),
    /// `x*`
    Prefix(String),
    /// `*x`
    Suffix(String),
    Glob(Vec<Token>),
    /// `**`: any number of components.
    AnyDepth,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Character(char),
    One,
    Many,
    Set(Vec<char>),
}

#[derive(Debug, Clone)]
struct Pattern {
    root: Root,
    steps: Vec<Step>,
    /// Ends in `/**`: what lies beneath belongs to it too.
    tree: bool,
    /// Holds no `**`: it takes as many components as it has steps.
    fixed: bool,
}

/// A set of patterns; members are numbered in the order in which they were added.
#[derive(Debug, Clone, Default)]
pub(crate) struct PatternSet {
    patterns: Vec<Member>,
    by_literal: HashMap<Text, Numbers, BuildHasherDefault<Fnv>>,
    /// Names at any depth that begin or end in a fixed letter (`id_*`, `*.pem`).
    by_letter: HashMap<Letter, Vec<usize>, BuildHasherDefault<Fnv>>,
    /// The rest.
    without_literal: Vec<usize>,
    /// Those that begin at `/` or a drive, and so name one place.
    rooted: Vec<usize>,
    /// Those that begin at `~/`.
    in_home: Vec<usize>,
}

/// What a name must begin or end with, in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Letter {
    First(u8),
    Last(u8),
}

/// Numbers of patterns; of nearly every literal there is one.
#[derive(Debug, Clone)]
struct Numbers {
    first: usize,
    more: Vec<usize>,
}

/// The last steps of patterns. A pattern matches `directory/name` only if its last step matches
/// `name`, or if it is a tree that `directory` belongs to already.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastSteps {
    literals: HashSet<String>,
    others: Vec<Step>,
    /// A pattern could not be read: any name may be meant.
    any: bool,
}

impl LastSteps {
    /// Adds the last step of a pattern.
    pub(crate) fn add(&mut self, text: &str) {
        let Ok(mut pattern) = parse(text) else {
            self.any = true;
            return;
        };
        match pattern.steps.pop() {
            Some(Step::Literal(name)) => {
                self.literals.insert(name);
            }
            Some(other) if !self.others.contains(&other) => self.others.push(other),
            _ => {}
        }
    }

    /// False: no pattern of the set ends in this (folded) name.
    pub(crate) fn may_match(&self, name: &str) -> bool {
        self.any
            || self.literals.contains(name)
            || self.others.iter().any(|step| step_matches(step, name))
    }
}

/// A pattern by its text, taken apart when a path comes near it: most never are.
#[derive(Debug, Clone)]
struct Member {
    text: Text,
    parsed: OnceLock<Result<Pattern, ClassError>>,
}

impl Member {
    fn pattern(&self) -> Result<&Pattern, &ClassError> {
        self.parsed.get_or_init(|| parse(&self.text)).as_ref()
    }
}

/// FNV-1a. The keys are configuration, and there are a thousand of them at every start.
#[derive(Clone, Copy)]
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A path as patterns look at it: its components, and how many of them name a home directory.
pub(crate) struct Subject<'a> {
    components: Vec<&'a str>,
    homes: Vec<usize>,
}

impl<'a> Subject<'a> {
    /// `path` is absolute with `/` between components; `home` likewise, in the same case.
    pub(crate) fn new(path: &'a str, home: &str) -> Self {
        let components: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let own: Vec<&str> = home.split('/').filter(|part| !part.is_empty()).collect();
        let mut homes = Vec::new();
        if !own.is_empty() && components.starts_with(&own) {
            homes.push(own.len());
        }
        let other = match components.as_slice() {
            ["home" | "users", _, ..] => Some(2),
            ["var" | "export" | "usr", "home", _, ..] | ["c:", "users", _, ..] => Some(3),
            ["root", ..] => Some(1),
            ["var", "root", ..] => Some(2),
            ["private", "var", "root", ..] => Some(3),
            _ => None,
        };
        homes.extend(other.filter(|length| !homes.contains(length)));
        Self { components, homes }
    }
}

impl PatternSet {
    /// Adds a pattern of the configuration's language (see `config/default.toml`).
    pub(crate) fn add(&mut self, text: &str) -> Result<(), ClassError> {
        parse(text)?;
        self.add_known(Text::Owned(text.to_owned()));
        Ok(())
    }

    /// Makes room for so many patterns.
    pub(crate) fn reserve(&mut self, patterns: usize) {
        self.patterns.reserve(patterns);
        self.by_literal.reserve(patterns);
    }

    /// Adds a pattern that is known to be well-formed; a malformed one matches everything.
    fn add_known(&mut self, text: Text) {
        let index = self.patterns.len();
        match last_literal(&text) {
            Some(literal) => match self.by_literal.entry(literal) {
                Entry::Occupied(mut known) => known.get_mut().more.push(index),
                Entry::Vacant(place) => {
                    place.insert(Numbers {
                        first: index,
                        more: Vec::new(),
                    });
                }
            },
            None => match fixed_letter(&text) {
                Some(letter) => self.by_letter.entry(letter).or_default().push(index),
                None => self.without_literal.push(index),
            },
        }
        if is_anchored(&text) {
            let place = if text.starts_with('~') {
                &mut self.in_home
            } else {
                &mut self.rooted
            };
            place.push(index);
        }
        self.patterns.push(Member {
            text,
            parsed: OnceLock::new(),
        });
    }

    /// Calls `found` with the number of every pattern that matches; a number may come twice.
    pub(crate) fn each_match(&self, subject: &Subject<'_>, mut found: impl FnMut(usize)) {
        let mut test = |index: usize| {
            // A pattern that cannot be read may stand for anything.
            let is_match = self.patterns[index]
                .pattern()
                .map_or(true, |pattern| pattern.matches(subject));
            if is_match {
                found(index);
            }
        };
        for component in &subject.components {
            if let Some(numbers) = self.by_literal.get(*component) {
                test(numbers.first);
                numbers.more.iter().copied().for_each(&mut test);
            }
        }
        if let Some(name) = subject.components.last() {
            let first = name.bytes().next().map(Letter::First);
            let last = name.bytes().next_back().map(Letter::Last);
            for letter in [first, last].into_iter().flatten() {
                let numbers = self.by_letter.get(&letter);
                numbers.into_iter().flatten().copied().for_each(&mut test);
            }
        }
        self.without_literal.iter().copied().for_each(&mut test);
    }

    /// The patterns as they were written, in the order of their numbers.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(|member| &*member.text)
    }

    /// Number and text of the patterns that name one place (`/etc/shadow`, `~/.ssh`) and could begin
    /// like a path of this text (`/etc`, `~/x`).
    pub(crate) fn anchored_like(&self, path: &str) -> impl Iterator<Item = (usize, &str)> {
        let place = if path.starts_with('~') {
            &self.in_home
        } else {
            &self.rooted
        };
        place
            .iter()
            .map(|index| (*index, &*self.patterns[*index].text))
    }

    /// At least one pattern matches.
    pub(crate) fn is_match(&self, subject: &Subject<'_>) -> bool {
        let mut is_match = false;
        self.each_match(subject, |_| is_match = true);
        is_match
    }

    /// A set of all of them.
    pub(crate) fn compile<T: AsRef<str>>(patterns: &[T]) -> Result<Self, ClassError> {
        let mut set = Self::default();
        for pattern in patterns {
            set.add(pattern.as_ref())?;
        }
        Ok(set)
    }

    /// A set of embedded patterns, which a test checks.
    pub(crate) fn of_embedded(patterns: &[Text]) -> Self {
        let mut set = Self::default();
        set.reserve(patterns.len());
        set.extend_embedded(patterns);
        set
    }

    /// Adds embedded patterns, which a test checks. Not for exceptions: what cannot be read matches.
    pub(crate) fn extend_embedded(&mut self, patterns: &[Text]) {
        for pattern in patterns {
            self.add_known(pattern.clone());
        }
    }
}

/// The last component of a pattern that has no wildcard, in lower case: it is the most telling one
/// (`.config` says less than `fish`). Every path that matches has it as a component.
fn last_literal(text: &Text) -> Option<Text> {
    let is_lower = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase())
    };
    match text {
        Cow::Borrowed(text) => last_plain(text).map(|literal| {
            if is_lower(literal) {
                Cow::Borrowed(literal)
            } else {
                Cow::Owned(literal.to_lowercase())
            }
        }),
        Cow::Owned(text) => last_plain(text).map(|literal| Cow::Owned(literal.to_lowercase())),
    }
}

/// The letter that every name has which a pattern of one step and without a place matches. None
/// where lower case could change it.
fn fixed_letter(text: &str) -> Option<Letter> {
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
pub(super) fn is_anchored(text: &str) -> bool {
    text.starts_with('/') || text.starts_with("~/") || text.get(1..3) == Some(":/")
}

fn last_plain(text: &str) -> Option<&str> {
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

impl Pattern {
    fn matches(&self, subject: &Subject<'_>) -> bool {
        let components = subject.components.as_slice();
        match self.root {
            Root::FileSystem => steps_match(&self.steps, components, self.tree),
            Root::Home => subject
                .homes
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

fn steps_match(steps: &[Step], components: &[&str], tree: bool) -> bool {
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

fn step_matches(step: &Step, component: &str) -> bool {
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

fn parse(text: &str) -> Result<Pattern, ClassError> {
    let error = |reason: &str| ClassError {
        pattern: text.to_owned(),
        reason: reason.to_owned(),
    };
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
            "." | ".." => return Err(error("`.` and `..` are not resolved in a pattern")),
            "**" => Step::AnyDepth,
            name if name.contains("**") => {
                return Err(error("`**` must stand alone between slashes"));
            }
            name => parse_step(name).map_err(error)?,
        });
    }
    if steps.iter().all(|step| *step == Step::AnyDepth) {
        return Err(error("it would match everything"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, expected: bool) {
        let set = PatternSet::compile(&[pattern.to_owned()]).unwrap();
        assert_eq!(
            set.is_match(&Subject::new(path, "/home/dev")),
            expected,
            "{pattern} {path}"
        );
    }

    #[test]
    fn names_match_at_any_depth() {
        check(".env", "/w/a/.env", true);
        check(".env", "/.env", true);
        check(".env", "/w/a/.env/x", false);
        check("a/b", "/w/a/b", true);
        check("a/b", "/w/xa/b", false);
        check("**/a", "/w/a", true);
    }

    #[test]
    fn anchors_bind() {
        check("/etc/shadow", "/etc/shadow", true);
        check("/etc/shadow", "/w/etc/shadow", false);
        check("~/x", "/home/dev/x", true);
        check("~/x", "/home/other/x", true);
        check("~/x", "/root/x", true);
        check("~/x", "/users/me/x", true);
        check("~/x", "/w/x", false);
        check("~/x", "/home/dev/y/x", false);
        check("c:/windows", "c:/windows", true);
    }

    #[test]
    fn trees_match_themselves_and_all_beneath() {
        check(".git/**", "/w/.git", true);
        check(".git/**", "/w/.git/a/b", true);
        check(".git/**", "/w/.gitx", false);
        check("/etc/x/**/*.y", "/etc/x/a/b/c.y", true);
        check("/etc/x/**/*.y", "/etc/x/c.y", true);
    }

    #[test]
    fn wildcards_stay_in_their_component() {
        check("*.pem", "/w/a.pem", true);
        check("*.pem", "/w/.pem", true);
        check("id_*", "/w/id_", true);
        check("a*b*c", "/w/aXbYc", true);
        check("a*b*c", "/w/abab", false);
        check("a?c", "/w/abc", true);
        check("a?c", "/w/ac", false);
        check("a[bc]d", "/w/acd", true);
        check("/proc/*/mem", "/proc/1/mem", true);
        check("/proc/*/mem", "/proc/1/x/mem", false);
    }

    #[test]
    fn no_place_where_a_pattern_could_begin_is_left_out() {
        let patterns = ["a", "a/**", "a/b", "a/b/**", "a/**/b", "**/a/b", "*", "a/*"];
        let paths = [
            "/",
            "/a",
            "/b/a",
            "/a/b",
            "/a/a/b/a/b",
            "/a/b/a",
            "/x/a/y/b/z",
        ];
        for (pattern, path) in patterns
            .into_iter()
            .flat_map(|pattern| paths.map(|path| (pattern, path)))
        {
            let parsed = parse(pattern).unwrap();
            let subject = Subject::new(path, "/home/dev");
            let components = subject.components.as_slice();
            let anywhere = (0..components.len())
                .any(|start| steps_match(&parsed.steps, &components[start..], parsed.tree));
            assert_eq!(parsed.matches(&subject), anywhere, "{pattern} {path}");
        }
    }

    #[test]
    fn a_pattern_is_found_by_whatever_index_it_stands_in() {
        let patterns = [
            "*.Pem", "ID_*", "*", "a*b", "a?", "[ab]*", "*é", "é*", "x", "*/x", "*/**", "a*/**",
            "*k:", "~*",
        ];
        let paths = [
            "/w/k.pem", "/w/id_", "/w/ab", "/w/é", "/w/a/é", "/id_/x", "/w/.pem", "/x/k:", "/w/~x",
        ];
        for (pattern, path) in patterns
            .into_iter()
            .flat_map(|pattern| paths.map(|path| (pattern, path)))
        {
            let set = PatternSet::compile(&[pattern]).unwrap();
            let subject = Subject::new(path, "/home/dev");
            let alone = parse(pattern).unwrap().matches(&subject);
            assert_eq!(set.is_match(&subject), alone, "{pattern} {path}");
        }
    }

    #[test]
    fn patterns_that_cannot_be_meant_are_refused() {
        for pattern in ["", "/", "**", "a[b", "a[]b", "../x", "a**b/c"] {
            assert!(
                PatternSet::compile(&[pattern.to_owned()]).is_err(),
                "{pattern}"
            );
        }
    }
}
