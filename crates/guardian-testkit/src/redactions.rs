//! Snapshots without what differs between two runs.

use std::path::Path;

use regex_automata::meta::Regex;

/// Replaces temporary paths by names, and ids and times by marks.
#[derive(Debug, Clone)]
pub struct Redactions {
    paths: Vec<(String, String)>,
    patterns: Vec<(Regex, String)>,
}

impl Redactions {
    /// Redacts times (RFC 3339, and Unix milliseconds of this century), UUIDs and hashes of 32
    /// and more hexadecimal digits.
    ///
    /// # Panics
    /// Never: the patterns are constant.
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "constant patterns, tried by this crate's tests"
    )]
    pub fn new() -> Self {
        let patterns = [
            (
                r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
                "[TIME]",
            ),
            (r"\b1[6-9]\d{11}\b", "[MILLIS]"),
            (
                r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
                "[UUID]",
            ),
            (r"\b[0-9a-f]{32,128}\b", "[HASH]"),
        ];
        let patterns = patterns
            .map(|(pattern, mark)| (Regex::new(pattern).expect("constant"), mark.to_owned()));
        Self {
            paths: Vec::new(),
            patterns: patterns.into(),
        }
    }

    /// Shows a path as `name`. Longer paths are replaced first.
    #[must_use]
    pub fn path(mut self, path: &Path, name: &str) -> Self {
        self.paths
            .push((path.to_string_lossy().into_owned(), name.to_owned()));
        self.paths
            .sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        self
    }

    /// Shows what a pattern matches as `mark`, for ids of a test's own.
    ///
    /// # Panics
    /// When the pattern is not a regular expression.
    #[must_use]
    #[expect(
        clippy::expect_used,
        reason = "a wrong pattern is a mistake of the test"
    )]
    pub fn pattern(mut self, pattern: &str, mark: &str) -> Self {
        self.patterns.push((
            Regex::new(pattern).expect("a regular expression"),
            mark.to_owned(),
        ));
        self
    }

    /// The text without what differs.
    #[must_use]
    pub fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (path, name) in &self.paths {
            text = text.replace(path, name);
        }
        for (pattern, mark) in &self.patterns {
            let mut redacted = String::with_capacity(text.len());
            let mut end = 0;
            for found in pattern.find_iter(&text) {
                redacted.push_str(&text[end..found.start()]);
                redacted.push_str(mark);
                end = found.end();
            }
            redacted.push_str(&text[end..]);
            text = redacted;
        }
        text
    }
}

impl Default for Redactions {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_runs_is_marked() {
        let redactions = Redactions::new()
            .path(Path::new("/tmp/guardian-x/home"), "[HOME]")
            .path(Path::new("/tmp/guardian-x/home/proj"), "[WORKSPACE]")
            .pattern(r"\bperm-\d+\b", "[REQUEST]");
        let text = "/tmp/guardian-x/home/proj/a /tmp/guardian-x/home/b 2026-01-02T03:04:05.123Z \
                    1767323045000 123e4567-e89b-12d3-a456-426614174000 \
                    d41d8cd98f00b204e9800998ecf8427e perm-12 42";
        let expect = "[WORKSPACE]/a [HOME]/b [TIME] [MILLIS] [UUID] [HASH] [REQUEST] 42";
        assert_eq!(redactions.apply(text), expect);
    }
}
