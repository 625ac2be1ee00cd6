//! The files that `git add` would record: not tracked, not ignored. Ignore files are read as
//! `gitignore(5)` says; a line that is not understood ignores nothing.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

use super::git_config::Repository;
use crate::probe::PathProbe;

/// Names that one walk looks at.
const MAX_NAMES: usize = 60_000;
/// Directories inside each other.
const MAX_DEPTH: usize = 64;
/// Largest ignore file that is read, in bytes.
const MAX_IGNORE_FILE: usize = 64 * 1024;

/// Something that is neither tracked nor ignored, by its path relative to the work tree.
pub(super) enum Untracked<'a> {
    /// A file, or a link.
    File(&'a str),
    /// A directory with a repository of its own.
    Repository(&'a str),
}

/// Lines of the ignore files from the top down to a directory.
type Rules = Vec<Rule>;

/// Hands everything untracked beneath `start` (relative to the work tree) to `found`. An error
/// when not all could be seen.
pub(super) fn walk(
    probe: &dyn PathProbe,
    repository: &Repository,
    start: &Path,
    found: &mut dyn FnMut(Untracked<'_>),
) -> Result<(), String> {
    let mut rules = Rules::new();
    read_rules(
        probe,
        &repository.git.join("info/exclude"),
        Path::new(""),
        &mut rules,
    );
    // Ignore files above the start count for it too.
    let mut above: Vec<&Path> = start.ancestors().skip(1).collect();
    above.reverse();
    for directory in above {
        read_rules(
            probe,
            &repository.workspace.join(directory).join(".gitignore"),
            directory,
            &mut rules,
        );
    }
    let mut walker = Walker {
        probe,
        repository,
        found,
        seen: 0,
    };
    let Some(text) = start.to_str() else {
        return Err("a path is not text".to_owned());
    };
    walker.directory(text, &rules, 0)
}

struct Walker<'a> {
    probe: &'a dyn PathProbe,
    repository: &'a Repository,
    found: &'a mut dyn FnMut(Untracked<'_>),
    seen: usize,
}

impl Walker<'_> {
    fn directory(&mut self, path: &str, outer: &Rules, depth: usize) -> Result<(), String> {
        let unseen = || "not all that it would record could be seen".to_owned();
        if depth > MAX_DEPTH {
            return Err(unseen());
        }
        let absolute = self.repository.workspace.join(path);
        let Some(names) = self.probe.list(&absolute, MAX_NAMES) else {
            // A file that is named, or nothing; a directory that cannot be listed cannot be
            // recorded either.
            return Ok(());
        };
        self.seen += names.len();
        if self.seen >= MAX_NAMES {
            return Err(unseen());
        }
        let mut rules = outer.clone();
        read_rules(
            self.probe,
            &absolute.join(".gitignore"),
            Path::new(path),
            &mut rules,
        );
        let is_repository = names.iter().any(|name| name == ".git");
        if is_repository && !path.is_empty() {
            (self.found)(Untracked::Repository(path));
            return Ok(());
        }
        for name in names.iter().filter(|name| *name != ".git") {
            let child = if path.is_empty() {
                name.clone()
            } else {
                format!("{path}/{name}")
            };
            if self.repository.index.has_file(&child) {
                continue;
            }
            if self.repository.index.has_directory(&child) {
                self.directory(&child, &rules, depth + 1)?;
                continue;
            }
            let as_directory = is_ignored(&rules, &child, Kind::Directory);
            let as_file = is_ignored(&rules, &child, Kind::File);
            if as_directory && as_file {
                continue;
            }
            let place = self.repository.workspace.join(&child);
            let found = self.probe.resolve(&place);
            let is_directory =
                found.kind == Some(crate::FileKind::Directory) && found.path == place;
            match (is_directory, as_directory, as_file) {
                (true, false, _) => self.directory(&child, &rules, depth + 1)?,
                (false, _, false) => (self.found)(Untracked::File(&child)),
                _ => {}
            }
        }
        Ok(())
    }
}

/// One line of an ignore file.
#[derive(Debug, Clone)]
struct Rule {
    /// `!`: takes back in.
    includes: bool,
    only_directories: bool,
    /// Matches the path relative to the work tree.
    glob: GlobMatcher,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    File,
    Directory,
}

/// The last line that matches decides. Directories above were looked at before.
fn is_ignored(rules: &Rules, path: &str, kind: Kind) -> bool {
    rules
        .iter()
        .rev()
        .filter(|rule| kind == Kind::Directory || !rule.only_directories)
        .find(|rule| rule.glob.is_match(path))
        .is_some_and(|rule| !rule.includes)
}

fn read_rules(probe: &dyn PathProbe, file: &Path, directory: &Path, rules: &mut Rules) {
    let Some(content) = probe
        .read_file(file, MAX_IGNORE_FILE)
        .filter(|content| content.size <= MAX_IGNORE_FILE as u64)
    else {
        return;
    };
    let directory = directory.to_str().unwrap_or_default();
    for line in String::from_utf8_lossy(&content.head).lines() {
        rules.extend(rule(line, directory));
    }
}

fn rule(line: &str, directory: &str) -> Option<Rule> {
    let line = line.trim_end_matches('\r');
    // A blank at the end counts only when it is quoted; such a line is rare and ignores nothing.
    let line = line.trim_end();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (includes, pattern) = match line.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    let (only_directories, pattern) = match pattern.strip_suffix('/') {
        Some(rest) => (true, rest),
        None => (false, pattern),
    };
    let anchored = pattern.contains('/');
    let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
    let odd = pattern.is_empty() || pattern.contains(['{', '}', '\\']) || pattern.contains("[:");
    let below = escaped(directory);
    let between = match (below.is_empty(), anchored) {
        (true, true) => String::new(),
        (true, false) => "**/".to_owned(),
        (false, true) => format!("{below}/"),
        (false, false) => format!("{below}/**/"),
    };
    let built = GlobBuilder::new(&format!("{between}{pattern}"))
        .literal_separator(true)
        .build();
    let glob = match built {
        Ok(glob) if !odd => glob,
        // What is taken back in by a line that is not understood may be anything.
        _ if includes => GlobBuilder::new("**").build().ok()?,
        _ => return None,
    };
    Some(Rule {
        includes,
        only_directories: only_directories && !odd,
        glob: glob.compile_matcher(),
    })
}

/// The directory's name as a pattern that matches just it.
fn escaped(directory: &str) -> String {
    globset::escape(directory)
}

#[cfg(test)]
mod tests {
    use super::{Kind, is_ignored, rule};

    #[track_caller]
    fn check(lines: &[&str], directory: &str, path: &str, kind: Kind, expected: bool) {
        let rules = lines
            .iter()
            .filter_map(|line| rule(line, directory))
            .collect();
        assert_eq!(
            is_ignored(&rules, path, kind),
            expected,
            "{path} in {lines:?}"
        );
    }

    #[test]
    fn ignore_lines_mean_what_git_says() {
        check(&[".env"], "", ".env", Kind::File, true);
        check(&[".env"], "", "a/b/.env", Kind::File, true);
        check(&["/.env"], "", "a/.env", Kind::File, false);
        check(&["a/.env"], "", "a/.env", Kind::File, true);
        check(&["a/.env"], "", "b/a/.env", Kind::File, false);
        check(&[".env*"], "", ".env.local", Kind::File, true);
        check(
            &[".env*", "!.env.local"],
            "",
            ".env.local",
            Kind::File,
            false,
        );
        check(&["*.pem", "!keys/"], "", "a.pem", Kind::File, true);
        check(&["env/"], "", "env", Kind::File, false);
        check(&["env/"], "", "env", Kind::Directory, true);
        check(&[".env"], "sub", ".env", Kind::File, false);
        check(&[".env"], "sub", "sub/x/.env", Kind::File, true);
        check(&["/.env"], "sub", "sub/.env", Kind::File, true);
        check(&["**/.env"], "", "a/.env", Kind::File, true);
        check(&["# .env", ""], "", ".env", Kind::File, false);
    }

    #[test]
    fn a_line_that_is_not_understood_ignores_nothing() {
        check(&["\\.env"], "", ".env", Kind::File, false);
        check(&["{.env,x}"], "", ".env", Kind::File, false);
        check(&[".env", "!{.env,x}"], "", ".env", Kind::File, false);
        check(&["*[[:alpha:]]"], "", ".env", Kind::File, false);
    }
}
