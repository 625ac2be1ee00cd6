//! Which files of the repository a git command reaches without naming them: whole diffs, searches,
//! archives, and what `git add .` picks up. Pathspecs with magic or globs name files too.

use super::scan::{Scanned, behind};
use crate::command::{GitFiles, GitReach, Judgement, Word, WordPart};

/// Flags that make a command print the contents of files.
const CONTENTS: &[&str] = &[
    "-p",
    "--patch",
    "-U",
    "--unified",
    "-W",
    "--function-context",
    "-c",
    "--cc",
    "-m",
    "--combined-all-paths",
    "--diff-merges",
    "--remerge-diff",
    "--patch-with-raw",
    "--patch-with-stat",
    "--word-diff",
    "--word-diff-regex",
    "--color-words",
    "--binary",
    "--check",
    "--ext-diff",
    "-L",
];

/// Flags after which a diff is summarised and not printed.
const SUMMARIES: &[&str] = &[
    "--stat",
    "--numstat",
    "--shortstat",
    "--name-only",
    "--name-status",
    "--summary",
    "--raw",
    "-s",
    "--no-patch",
    "--quiet",
    "-q",
    "-X",
    "--dirstat",
    "--dirstat-by-file",
    "--cumulative",
    "--compact-summary",
];

/// Adds what the subcommand `name` reaches.
pub(crate) fn judge(name: &str, scanned: &Scanned<'_>, judgement: &mut Judgement) {
    let asks_contents = CONTENTS.iter().any(|flag| scanned.has(flag));
    let summarises = SUMMARIES.iter().any(|flag| scanned.has(flag));
    let reach = match name {
        "diff" | "show" | "range-diff" => (asks_contents || !summarises).then_some(GitReach::Shows),
        "log" | "whatchanged" | "reflog" | "stash list" | "stash show" | "diff-tree"
        | "diff-index" | "diff-files" => asks_contents.then_some(GitReach::Shows),
        "grep" | "archive" | "format-patch" => Some(GitReach::Shows),
        "status" if scanned.has("-v") => Some(GitReach::Shows),
        "commit" if scanned.has("-v") && scanned.has("--dry-run") => Some(GitReach::Shows),
        "cat-file" => Some(GitReach::ShowsObject),
        _ => None,
    };
    let listing_only = name == "archive" && scanned.has("-l");
    if let Some(reach) = reach.filter(|_| !listing_only) {
        add(name, reach, scanned, judgement);
    }
    if matches!(name, "add" | "commit") && scanned.has("-p") {
        add(name, GitReach::Shows, scanned, judgement);
    }
    if name == "add" {
        if scanned.has("-u") {
            // Only what is tracked already.
            scanned
                .operands
                .iter()
                .for_each(|word| read_pathspec(word, judgement));
        } else {
            add(name, GitReach::Stages, scanned, judgement);
        }
    }
}

fn add(name: &str, reach: GitReach, scanned: &Scanned<'_>, judgement: &mut Judgement) {
    // What is no path: the pattern of a search, the tree of an archive.
    let skipped = match name {
        "grep" if !scanned.has("-e") && !scanned.has("-f") => 1,
        _ => 0,
    };
    let operands = scanned.operands.get(skipped..).unwrap_or_default();
    let before = match (name, scanned.before_dashes) {
        ("add" | "commit" | "status", _) => 0,
        (_, Some(before)) => before.saturating_sub(skipped),
        (_, None) => operands.len(),
    };
    let (names, pathspecs) = operands.split_at(before.min(operands.len()));
    for word in names.iter().chain(pathspecs) {
        read_pathspec(word, judgement);
    }
    judgement.git_files.push(GitFiles {
        reach,
        names: names.to_vec(),
        pathspecs: pathspecs.to_vec(),
    });
}

/// Reads the path that a pathspec names: without its magic (`:/x`, `:(top)x`), and as a pattern
/// where it is one. A glob that begins with a star (`*.rs`) stands for too much to be a name; what
/// it matches among the tracked files is looked at there.
fn read_pathspec(word: &Word, judgement: &mut Judgement) {
    if excludes(word.literal_prefix()) {
        return;
    }
    let path = without_magic(word);
    let glob = path
        .as_literal()
        .filter(|text| text.contains(['*', '?', '[', '\\']));
    let Some(text) = glob else {
        if !judgement.paths.iter().any(|known| known.word == path) {
            judgement.read(&path);
        }
        return;
    };
    if text.rsplit('/').next().unwrap_or(text).starts_with('*') {
        return;
    }
    judgement.read(&Word {
        parts: vec![WordPart::Glob(text.to_owned())],
        span: path.span,
    });
}

/// The pathspec says what is left out.
fn excludes(text: &str) -> bool {
    let long = text
        .strip_prefix(":(")
        .and_then(|rest| rest.split_once(')'))
        .is_some_and(|(words, _)| words.split(',').any(|word| word == "exclude"));
    let short = text
        .strip_prefix(':')
        .is_some_and(|rest| rest.trim_start_matches('/').starts_with(['!', '^']));
    long || short
}

/// The word behind its pathspec magic.
fn without_magic(word: &Word) -> Word {
    let prefix = word.literal_prefix();
    if prefix.starts_with(":(") {
        return match prefix.find(')') {
            Some(end) => behind(word, end + 1),
            None => word.clone(),
        };
    }
    if !prefix.starts_with(':') {
        return word.clone();
    }
    let magic = prefix
        .bytes()
        .skip(1)
        .take_while(|byte| matches!(byte, b'/' | b'!' | b'^'))
        .count();
    let colon = usize::from(magic > 0 && prefix.as_bytes().get(magic + 1) == Some(&b':'));
    behind(word, 1 + magic + colon)
}

#[cfg(test)]
mod tests {
    use super::without_magic;
    use crate::Span;
    use crate::command::Word;

    #[test]
    fn magic_is_taken_off() {
        for (written, path) in [
            ("a/b", "a/b"),
            (":/a", "a"),
            (":!a", "a"),
            (":^a", "a"),
            (":!:a", "a"),
            (":(glob).en?", ".en?"),
            (":(top,icase).ENV", ".ENV"),
            (":.env", ".env"),
        ] {
            let word = Word::literal(written, Span { start: 0, end: 0 });
            assert_eq!(without_magic(&word).display(), path, "{written}");
        }
    }
}
