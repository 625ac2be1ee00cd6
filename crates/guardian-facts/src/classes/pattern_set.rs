//! Many path patterns at once, compiled in microseconds and matched by component.
//!
//! A general glob engine compiles hundreds of patterns in milliseconds, which a `guardian check`
//! that lives for two milliseconds cannot pay. Nearly every pattern here holds a component without
//! a wildcard, so one look-up per component of the path finds the few patterns worth trying.

use std::collections::{HashMap, HashSet};

use super::ClassError;
use super::pattern::{
    Letter, Pattern, Step, fixed_letter, is_anchored, last_literal, parse, step_matches,
};
use super::prepared::{Parsed, Prepared};

/// A set of patterns: embedded ones, then those that were added, numbered in that order.
#[derive(Debug, Clone)]
pub(crate) struct PatternSet {
    embedded: &'static Prepared,
    parsed: Parsed,
    own: Vec<(String, Pattern)>,
    by_literal: HashMap<String, Vec<usize>>,
    /// Names at any depth that begin or end in a fixed letter (`id_*`, `*.pem`).
    by_letter: HashMap<Letter, Vec<usize>>,
    /// The rest.
    others: Vec<usize>,
    /// Those that begin at `/` or a drive, and so name one place.
    rooted: Vec<usize>,
    /// Those that begin at `~/`.
    in_home: Vec<usize>,
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
    /// A set of embedded patterns. Nothing is compiled for it.
    pub(crate) fn of(embedded: &'static Prepared) -> Self {
        Self {
            embedded,
            parsed: Parsed::of(embedded),
            own: Vec::new(),
            by_literal: HashMap::new(),
            by_letter: HashMap::new(),
            others: Vec::new(),
            rooted: Vec::new(),
            in_home: Vec::new(),
        }
    }

    /// A set of all of them.
    #[cfg(test)]
    pub(crate) fn compile<T: AsRef<str>>(patterns: &[T]) -> Result<Self, ClassError> {
        let mut set = Self::of(Prepared::NONE);
        for pattern in patterns {
            set.add(pattern.as_ref())?;
        }
        Ok(set)
    }

    /// Adds a pattern of the configuration's language (see `config/default.toml`).
    pub(crate) fn add(&mut self, text: &str) -> Result<(), ClassError> {
        let pattern = parse(text).map_err(|reason| ClassError {
            pattern: text.to_owned(),
            reason: reason.to_owned(),
        })?;
        let index = self.own.len();
        let list = match (last_literal(text), fixed_letter(text)) {
            (Some(literal), _) => self.by_literal.entry(literal.to_lowercase()).or_default(),
            (None, Some(letter)) => self.by_letter.entry(letter).or_default(),
            (None, None) => &mut self.others,
        };
        list.push(index);
        if is_anchored(text) {
            let place = if text.starts_with('~') {
                &mut self.in_home
            } else {
                &mut self.rooted
            };
            place.push(index);
        }
        self.own.push((text.to_owned(), pattern));
        Ok(())
    }

    /// Calls `found` with the number of every pattern that matches; a number may come twice.
    pub(crate) fn each_match(&self, subject: &Subject<'_>, mut found: impl FnMut(usize)) {
        let name = subject.components.last();
        let first = name.and_then(|name| name.bytes().next());
        let last = name.and_then(|name| name.bytes().next_back());
        let letters = [first.map(Letter::First), last.map(Letter::Last)];
        self.embedded_matches(subject, letters, &mut found);
        if self.own.is_empty() {
            return;
        }
        let literals = subject.components.iter();
        let literals = literals.filter_map(|component| self.by_literal.get(*component));
        let letters = letters.iter().flatten();
        let letters = letters.filter_map(|letter| self.by_letter.get(letter));
        for index in literals.chain(letters).chain([&self.others]).flatten() {
            if self.own[*index]
                .1
                .matches(&subject.components, &subject.homes)
            {
                found(self.embedded.texts.len() + index);
            }
        }
    }

    fn embedded_matches(
        &self,
        subject: &Subject<'_>,
        letters: [Option<Letter>; 2],
        found: &mut impl FnMut(usize),
    ) {
        let all = self.embedded;
        let literals = subject.components.iter();
        let literals = literals.flat_map(|component| all.with_literal(component));
        let letters = letters.into_iter().flatten();
        let letters = letters.flat_map(|letter| all.with_letter(letter));
        let others = all.others.iter().map(|number| usize::from(*number));
        for number in literals.chain(letters).chain(others) {
            // A pattern that cannot be read may stand for anything.
            let pattern = self.parsed.get(number, &all.texts[number]);
            if pattern.map_or(true, |pattern| {
                pattern.matches(&subject.components, &subject.homes)
            }) {
                found(number);
            }
        }
    }

    /// The patterns as they were written, in the order of their numbers.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let embedded = self.embedded.texts.iter().map(|text| &**text);
        embedded.chain(self.own.iter().map(|(text, _)| text.as_str()))
    }

    /// The pattern of this number, as it was written.
    pub(crate) fn text(&self, number: usize) -> &str {
        match self.embedded.texts.get(number) {
            Some(text) => text,
            None => &self.own[number - self.embedded.texts.len()].0,
        }
    }

    /// Number and text of the patterns that name one place (`/etc/shadow`, `~/.ssh`) and could begin
    /// like a path of this text (`/etc`, `~/x`).
    pub(crate) fn anchored_like(&self, path: &str) -> impl Iterator<Item = (usize, &str)> {
        let (embedded, own) = if path.starts_with('~') {
            (self.embedded.in_home, &self.in_home)
        } else {
            (self.embedded.rooted, &self.rooted)
        };
        let texts = self.embedded.texts;
        let embedded = embedded.iter().map(|number| {
            let number = usize::from(*number);
            (number, &*texts[number])
        });
        embedded.chain(
            own.iter()
                .map(move |index| (texts.len() + index, self.own[*index].0.as_str())),
        )
    }

    /// At least one pattern matches.
    pub(crate) fn is_match(&self, subject: &Subject<'_>) -> bool {
        let mut is_match = false;
        self.each_match(subject, |_| is_match = true);
        is_match
    }
}

#[cfg(test)]
mod tests {
    use super::super::pattern::steps_match;
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
            assert_eq!(
                parsed.matches(components, &subject.homes),
                anywhere,
                "{pattern} {path}"
            );
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
            let alone = parse(pattern)
                .unwrap()
                .matches(&subject.components, &subject.homes);
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
