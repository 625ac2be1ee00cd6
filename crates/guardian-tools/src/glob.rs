//! The body of Glob.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use globset::{Glob, GlobBuilder, GlobMatcher};
use guardian_facts::classes::Hiding;
use guardian_facts::input::GlobInput;
use rustix::fs::AtFlags;
use serde_json::json;

use crate::bind::{Bound, BoundTarget};
use crate::contained::Contained;
use crate::context::ToolContext;
use crate::hidden::is_public;
use crate::newest::{Age, Newest};
use crate::output::ToolOutput;
use crate::tag::nanoseconds;
use crate::walk::{Visitor, Walk, WalkedFile, walk};
use crate::walk_notice::notices;
use crate::{FailureCode, ToolFailure};

/// Files whose names match, newest first.
pub(crate) fn glob(
    bound: &Bound<GlobInput>,
    cx: &ToolContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    let start = match &bound.target {
        BoundTarget::Directory(directory) => directory,
        BoundTarget::Unusable { failure, .. } => return Err(failure.clone()),
        _ => {
            return Err(ToolFailure::new(
                FailureCode::Internal,
                "Glob has no directory",
            ));
        }
    };
    cx.check()?;
    let input = bound.input();
    let pattern = Pattern::parse(&input.pattern)?;
    let limit = (input.limit as usize).max(1);
    let (visitors, report) = walk(start, cx, || Finder {
        pattern: &pattern,
        found: Newest::new(limit),
    })?;
    let mut found = Newest::new(limit);
    for visitor in visitors {
        found.merge(visitor.found);
    }
    let total = found.seen;
    let mut matches = Vec::new();
    let mut bytes = 0;
    for (age, ()) in found.into_sorted() {
        let path = shown_beneath(start, &age.path);
        bytes += path.len() + 1;
        if bytes > cx.limits.result_bytes || matches.len() == cx.limits.result_lines {
            break;
        }
        matches.push(path);
    }
    let left_out = total - matches.len() as u64;
    let mut notes = input.notices.clone();
    if left_out > 0 {
        notes.push(format!(
            "the {} newest of {total} matches; narrow `pattern` or `path`, or raise `limit`",
            matches.len()
        ));
    }
    notes.extend(notices(&report));
    let mut content = json!({
        "root": start.root().as_str(),
        "count": matches.len(),
        "hidden": report.hidden,
        "unreadable": report.unreadable,
        "truncated": left_out > 0 || report.timed_out,
        "matches": matches,
    });
    if !report.timed_out {
        content["total"] = total.into();
    }
    if !notes.is_empty() {
        content["notice"] = notes.join("; ").into();
    }
    Ok(ToolOutput::unchanged(content))
}

/// A path beneath the start of a walk, as results show it.
pub(crate) fn shown_beneath(start: &Contained, relative: &Path) -> String {
    match start.shown().as_str() {
        "." => relative.display().to_string(),
        shown => Path::new(shown).join(relative).display().to_string(),
    }
}

/// A parsed glob pattern.
pub(crate) struct Pattern {
    whole: GlobMatcher,
    base_name_only: bool,
    /// Matchers of the components in front of the first `**`: directories that do not match
    /// them are not entered.
    leading: Vec<GlobMatcher>,
    /// Number of components when there is no `**`.
    depth: Option<usize>,
}

impl Pattern {
    /// Parses: without `/` it matches base names at any depth, with `/` the relative path.
    pub(crate) fn parse(text: &str) -> Result<Self, ToolFailure> {
        let text = text.strip_prefix("./").unwrap_or(text);
        let path = Path::new(text);
        if path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
            return Err(invalid(
                text,
                "it must be relative, without `..`; name the directory with `path`",
            ));
        }
        let compile = |text: &str| {
            GlobBuilder::new(text)
                .literal_separator(true)
                .backslash_escape(true)
                .build()
                .map(|glob: Glob| glob.compile_matcher())
                .map_err(|error| invalid(text, &error.kind().to_string()))
        };
        let whole = compile(text)?;
        let components: Vec<&str> = text.split('/').collect();
        // Alternatives, classes and escapes may span a `/`: then nothing is pruned.
        let prunable = !text.contains(['{', '[', '\\']);
        let mut leading = Vec::new();
        if prunable && components.len() > 1 {
            for component in components
                .iter()
                .take_while(|component| **component != "**")
            {
                leading.push(compile(component)?);
            }
        }
        let plain = prunable && !text.contains("**");
        Ok(Self {
            whole,
            base_name_only: components.len() == 1 && text != "**",
            leading,
            depth: (plain && components.len() > 1).then_some(components.len()),
        })
    }

    pub(crate) fn matches(&self, relative: &Path, name: &std::ffi::OsStr) -> bool {
        if self.base_name_only {
            self.whole.is_match(name)
        } else {
            self.whole.is_match(relative)
        }
    }

    /// Can something beneath this directory match?
    pub(crate) fn enters(&self, directory: &Path) -> bool {
        let depth = directory
            .as_os_str()
            .as_bytes()
            .iter()
            .filter(|byte| **byte == b'/')
            .count();
        if self.depth.is_some_and(|limit| depth + 1 >= limit) {
            return false;
        }
        match (self.leading.get(depth), directory.file_name()) {
            (Some(component), Some(name)) => component.is_match(name),
            _ => true,
        }
    }
}

fn invalid(pattern: &str, why: &str) -> ToolFailure {
    ToolFailure::new(
        FailureCode::InvalidArgument,
        format!("the glob pattern `{pattern}` cannot be used: {why}"),
    )
    .with("pointer", "/pattern")
}

struct Finder<'a> {
    pattern: &'a Pattern,
    found: Newest<()>,
}

impl Visitor for Finder<'_> {
    fn visit(&mut self, file: &WalkedFile<'_>, walk: &Walk<'_>) {
        if !self.pattern.matches(file.relative, file.name) {
            return;
        }
        match file.hiding(walk) {
            Hiding::Shown => {}
            Hiding::Hidden => return,
            Hiding::UnlessPublicKeys => {
                if !file.open().is_ok_and(|handle| is_public(handle.as_fd())) {
                    walk.count_hidden();
                    return;
                }
            }
        }
        let Ok(stat) = rustix::fs::statat(file.directory, file.name, AtFlags::SYMLINK_NOFOLLOW)
        else {
            return;
        };
        let time = nanoseconds(stat.st_mtime, stat.st_mtime_nsec);
        if self.found.is_too_old(time) {
            self.found.pass_over();
        } else {
            let age = Age::new(time, file.relative.to_owned());
            self.found.push(age, 1, ());
        }
    }

    fn enters(&self, directory: &Path) -> bool {
        self.pattern.enters(directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, expect: bool) {
        let pattern = Pattern::parse(pattern).unwrap();
        let path = Path::new(path);
        assert_eq!(pattern.matches(path, path.file_name().unwrap()), expect);
        if expect {
            // Pruning must never lose a match.
            for above in path
                .ancestors()
                .skip(1)
                .filter(|above| !above.as_os_str().is_empty())
            {
                assert!(pattern.enters(above), "{above:?}");
            }
        }
    }

    #[test]
    fn what_a_pattern_matches() {
        check("*.rs", "a/b/c.rs", true);
        check("src/*.rs", "src/a.rs", true);
        check("src/*.rs", "src/b/a.rs", false);
        check("src/**/*.rs", "src/a.rs", true);
        check("src/**/*.rs", "src/b/c/a.rs", true);
        check("**/*.md", "README.md", true);
        check("*/src/lib/uri.js", "pkg/src/lib/uri.js", true);
        check("{src,lib/x}/*.rs", "lib/x/a.rs", true);
        check("./src/a.rs", "src/a.rs", true);
        check("**", "a/b.rs", true);
        check("src/**", "src/b/c.rs", true);
        check("a**/b/c", "axx/b/c", true);
    }

    #[test]
    fn a_fixed_depth_is_not_walked_beyond() {
        let pattern = Pattern::parse("*/src/lib/uri.js").unwrap();
        assert!(pattern.enters(Path::new("pkg")));
        assert!(pattern.enters(Path::new("pkg/src")));
        assert!(!pattern.enters(Path::new("pkg/node_modules")));
        assert!(!pattern.enters(Path::new("pkg/src/lib/deep")));
    }

    #[test]
    fn patterns_that_leave_the_start_are_refused() {
        for pattern in ["/etc/*", "../x", "a/../b", "[", "{a"] {
            let failure = Pattern::parse(pattern).err().unwrap();
            assert_eq!(failure.code, FailureCode::InvalidArgument, "{pattern}");
        }
    }
}
