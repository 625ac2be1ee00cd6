//! `find` expressions: tests, and the actions that run, delete or write.

use super::Catalogue;
use super::schema::Entry;
use crate::command::{Invocation, Judgement, Nested, PathUse, Stdin, Word, WordPart};
use crate::{AccessDetail, AccessKind, Effect, Effects};

/// Tests and options without an argument.
const BARE: &[&str] = &[
    "-a",
    "-and",
    "-o",
    "-or",
    "-not",
    "!",
    "(",
    ")",
    ",",
    "-daystart",
    "-nowarn",
    "-warn",
    "-depth",
    "-d",
    "-mount",
    "-noleaf",
    "-xdev",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-empty",
    "-false",
    "-nouser",
    "-nogroup",
    "-readable",
    "-writable",
    "-executable",
    "-true",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-ls",
    "-help",
    "--help",
    "-version",
    "--version",
];

/// Tests with one argument that is not a path.
const WITH_VALUE: &[&str] = &[
    "-regextype",
    "-maxdepth",
    "-mindepth",
    "-amin",
    "-atime",
    "-cmin",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-iwholename",
    "-ipath",
    "-iregex",
    "-links",
    "-lname",
    "-mmin",
    "-mtime",
    "-name",
    "-path",
    "-perm",
    "-regex",
    "-wholename",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-xtype",
    "-context",
    "-printf",
];

/// Tests with one argument that is a file whose metadata is read.
const WITH_FILE: &[&str] = &["-anewer", "-cnewer", "-newer", "-samefile"];

/// Tests that say nothing about which files of a tree are meant.
const WIDE: &[&str] = &[
    "-type",
    "-maxdepth",
    "-mindepth",
    "-regextype",
    "-xtype",
    "-printf",
];

/// Programs for which one file of a tree is something other than the whole tree.
const CHANGERS: &[&str] = &[
    "rm", "rmdir", "unlink", "shred", "mv", "chmod", "chown", "chgrp", "truncate",
];

/// Patterns for which the command of an action is read one by one.
const MAX_TARGETS: usize = 16;

/// Which of the found files an action applies to.
struct Selection {
    /// A test narrows the files down.
    filtered: bool,
    /// What holds of each of them.
    bounds: Bounds,
}

/// What is certain of the files for which an expression holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Bounds {
    /// Their names match one of these patterns; `None` when nothing is known of the names.
    names: Option<Vec<String>>,
    /// They are regular files: no links.
    plain_files: bool,
}

impl Bounds {
    /// Both hold. One list of names is as true as the other.
    fn and(self, other: Self) -> Self {
        Self {
            names: self.names.or(other.names),
            plain_files: self.plain_files || other.plain_files,
        }
    }

    /// One of them holds.
    fn or(self, other: Self) -> Self {
        Self {
            names: self.names.zip(other.names).map(|(mut one, other)| {
                one.extend(other);
                one
            }),
            plain_files: self.plain_files && other.plain_files,
        }
    }
}

/// A pair of parentheses, or the whole expression, up to some word.
#[derive(Default)]
struct Group {
    /// A `!` stands in front of it.
    negated: bool,
    /// What holds in one of the branches in front of the last `-o`.
    branches: Option<Bounds>,
    /// What holds of the tests of the current branch.
    branch: Bounds,
}

impl Group {
    fn add(&mut self, bounds: Bounds, negated: bool) {
        if !negated {
            self.branch = std::mem::take(&mut self.branch).and(bounds);
        }
    }

    fn next_branch(&mut self) {
        let branch = std::mem::take(&mut self.branch);
        self.branches = Some(match self.branches.take() {
            Some(before) => before.or(branch),
            None => branch,
        });
    }

    fn whole(mut self) -> Bounds {
        self.next_branch();
        self.branches.unwrap_or_default()
    }
}

/// Judges a `find` command line.
pub(crate) fn judge(
    catalogue: &Catalogue,
    _entry: &Entry,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let args = invocation.args;
    let mut at = leading_options(args, judgement);
    let mut starts: Vec<Word> = Vec::new();
    while let Some(word) = args.get(at) {
        let prefix = word.literal_prefix();
        if prefix.starts_with('-') || matches!(word.as_literal(), Some("(" | ")" | "!" | ",")) {
            break;
        }
        if prefix.is_empty() && word.may_begin_with_dash() {
            judgement.make_opaque(
                "word-may-be-flag",
                format!("`{}` could turn into an action of `find`", word.display()),
            );
        }
        starts.push(word.clone());
        at += 1;
    }
    if starts.is_empty() {
        let span = args
            .first()
            .map_or(crate::Span { start: 0, end: 0 }, |word| word.span);
        starts.push(Word::literal(".", span));
    }
    for start in &starts {
        judgement.paths.push(PathUse {
            word: start.clone(),
            kind: AccessKind::List,
            detail: AccessDetail::Plain,
            recursive: true,
        });
    }
    expression(catalogue, args, at, &starts, judgement);
}

/// `-H -L -P -D what -Olevel`; returns the index behind them.
fn leading_options(args: &[Word], judgement: &mut Judgement) -> usize {
    let mut at = 0;
    while let Some(word) = args.get(at) {
        match word.as_literal() {
            Some("-H" | "-P") => at += 1,
            Some("-L") => {
                // Followed links may lead anywhere.
                judgement.walks = true;
                at += 1;
            }
            Some("-D") => at += 2,
            Some(text) if text.starts_with("-O") => at += 1,
            Some("--") => return at + 1,
            _ => break,
        }
    }
    at
}

/// What holds of the files that reach the action behind these words.
fn bounds(before: &[Word]) -> Bounds {
    let mut groups = vec![Group::default()];
    let mut negated = false;
    let mut at = 0;
    while let Some(word) = before.get(at) {
        let text = word.as_literal().unwrap_or("");
        at += 1;
        let Some(group) = groups.last_mut() else {
            return Bounds::default();
        };
        match text {
            "!" | "-not" => {
                negated = !negated;
                continue;
            }
            "(" => {
                groups.push(Group {
                    negated,
                    ..Group::default()
                });
            }
            ")" => {
                let closed = groups.pop().unwrap_or_default();
                let Some(outer) = groups.last_mut() else {
                    return Bounds::default();
                };
                let was_negated = closed.negated;
                outer.add(closed.whole(), was_negated);
            }
            "-o" | "-or" => group.next_branch(),
            // What stands in front of a comma says nothing about what follows.
            "," => {
                *group = Group {
                    negated: group.negated,
                    ..Group::default()
                };
            }
            "-name" | "-iname" => {
                let name = before.get(at).and_then(|word| word.as_literal());
                let bounds = Bounds {
                    names: name.map(|name| vec![name.to_owned()]),
                    plain_files: false,
                };
                group.add(bounds, negated);
                at += 1;
            }
            "-type" => {
                let is_plain = before.get(at).and_then(|word| word.as_literal()) == Some("f");
                let bounds = Bounds {
                    names: None,
                    plain_files: is_plain,
                };
                group.add(bounds, negated);
                at += 1;
            }
            _ if text.starts_with("-exec") || text.starts_with("-ok") => {
                while before
                    .get(at)
                    .is_some_and(|word| !ends_command(before, at, word))
                {
                    at += 1;
                }
                at += 1;
            }
            _ if WITH_VALUE.contains(&text)
                || WITH_FILE.contains(&text)
                || text.starts_with("-newer")
                || text.starts_with("-fprint")
                || text == "-fls" =>
            {
                at += if text == "-fprintf" { 2 } else { 1 };
            }
            _ => {}
        }
        negated = false;
    }
    groups
        .into_iter()
        .map(|group| group.branch)
        .fold(Bounds::default(), Bounds::and)
}

/// A test somewhere in the expression narrows the files down.
fn is_filtered(expression: &[Word]) -> bool {
    let mut filtered = false;
    let mut at = 0;
    while let Some(word) = expression.get(at) {
        let text = word.as_literal().unwrap_or("");
        at += 1;
        if text.starts_with("-exec") || text.starts_with("-ok") {
            while expression
                .get(at)
                .is_some_and(|word| !matches!(word.as_literal(), Some(";" | "+")))
            {
                at += 1;
            }
        } else if WITH_VALUE.contains(&text) || WITH_FILE.contains(&text) {
            filtered |= !WIDE.contains(&text);
            at += 1;
        } else if matches!(text, "-empty" | "-nouser" | "-nogroup" | "-executable") {
            filtered = true;
        }
    }
    filtered
}

fn expression(
    catalogue: &Catalogue,
    args: &[Word],
    mut at: usize,
    starts: &[Word],
    judgement: &mut Judgement,
) {
    let from = at;
    let filtered = is_filtered(args.get(from..).unwrap_or_default());
    let selection = |action: usize| Selection {
        filtered,
        bounds: bounds(args.get(from..action).unwrap_or_default()),
    };
    while let Some(word) = args.get(at) {
        at += 1;
        let Some(text) = word.as_literal() else {
            judgement.make_opaque(
                "word-may-be-flag",
                format!("`{}` could turn into an action of `find`", word.display()),
            );
            continue;
        };
        if text == "-follow" {
            // As `-L`, wherever it stands.
            judgement.walks = true;
            continue;
        }
        if BARE.contains(&text) {
            continue;
        }
        if WITH_VALUE.contains(&text) {
            // An unquoted unknown argument may vanish or bring an action along.
            if let Some(value) = args.get(at).filter(|value| unquoted_unknown(value)) {
                judgement.make_opaque(
                    "word-may-be-flag",
                    format!("`{}` could bring an action of `find`", value.display()),
                );
            }
            at += 1;
            continue;
        }
        if WITH_FILE.contains(&text) || text.starts_with("-newer") {
            if let Some(file) = args.get(at)
                && !text.ends_with('t')
            {
                judgement.touch(file, AccessKind::List, AccessDetail::Plain);
            }
            at += 1;
            continue;
        }
        match text {
            "-delete" => delete(starts, &selection(at - 1), judgement),
            "-fprint" | "-fprint0" | "-fls" => {
                if let Some(file) = args.get(at) {
                    judgement.touch(file, AccessKind::Write, AccessDetail::Truncate);
                }
                at += 1;
            }
            "-fprintf" => {
                if let Some(file) = args.get(at) {
                    judgement.touch(file, AccessKind::Write, AccessDetail::Truncate);
                }
                at += 2;
            }
            "-files0-from" => {
                judgement.make_opaque("names-from-file", "the starting points come from a file");
                if let Some(file) = args.get(at) {
                    judgement.read(file);
                }
                at += 1;
            }
            "-exec" | "-ok" | "-execdir" | "-okdir" => {
                let action = at;
                while args
                    .get(at)
                    .is_some_and(|word| !ends_command(args, at, word))
                {
                    at += 1;
                }
                let argv = args.get(action..at).unwrap_or_default();
                at += 1;
                nest(argv, text, starts, &selection(action - 1), judgement);
                if runs_names(catalogue, argv, judgement, 0) {
                    judgement.make_opaque(
                        "runs-found-names",
                        "the name of a file that it finds would be code",
                    );
                }
            }
            _ => judgement.make_opaque(
                "unknown-flag",
                format!("the catalogue does not list `find {text}`"),
            ),
        }
    }
}

fn unquoted_unknown(word: &Word) -> bool {
    word.parts.iter().any(|part| {
        matches!(
            part,
            WordPart::Unknown {
                may_split: true,
                ..
            }
        )
    }) || matches!(word.parts.first(), Some(WordPart::Glob(_)))
}

/// `;`, or a `+` right behind `{}`.
fn ends_command(args: &[Word], at: usize, word: &Word) -> bool {
    match word.as_literal() {
        Some(";") => true,
        Some("+") => at > 0 && args.get(at - 1).and_then(|word| word.as_literal()) == Some("{}"),
        _ => false,
    }
}

/// The found files as words: patterns beneath the starting points. Names with a leading dot get a
/// pattern of their own, since `*` does not match them for whoever classifies the pattern.
fn found(starts: &[Word], selection: &Selection) -> Vec<Word> {
    let patterns = match &selection.bounds.names {
        Some(names) => names.iter().map(|name| format!("**/{name}")).collect(),
        None => vec!["**/*".to_owned(), "**/.*".to_owned()],
    };
    let mut words = Vec::new();
    for start in starts {
        for pattern in &patterns {
            let mut word = start.clone();
            let ends_in_slash = match word.parts.last_mut() {
                Some(WordPart::Literal(text)) => {
                    if !text.ends_with('/') {
                        text.push('/');
                    }
                    true
                }
                _ => false,
            };
            if !ends_in_slash {
                word.parts.push(WordPart::Literal("/".to_owned()));
            }
            word.parts.push(WordPart::Glob(pattern.clone()));
            words.push(word);
        }
    }
    words
}

fn delete(starts: &[Word], selection: &Selection, judgement: &mut Judgement) {
    judgement.add(Effect::Destructive);
    let (words, recursive) = if selection.filtered {
        (found(starts, selection), false)
    } else {
        (starts.to_vec(), true)
    };
    for word in words {
        judgement.paths.push(PathUse {
            word,
            kind: AccessKind::Delete,
            detail: AccessDetail::Plain,
            recursive,
        });
    }
}

fn nest(
    argv: &[Word],
    action: &str,
    starts: &[Word],
    selection: &Selection,
    judgement: &mut Judgement,
) {
    let Some(program) = argv.first() else { return };
    if program.display().contains("{}") {
        judgement.add(Effect::RunsCode);
        judgement.make_opaque("runs-found-files", "runs the files that it finds");
        return;
    }
    let mentions = argv.iter().any(|word| {
        word.parts
            .iter()
            .any(|part| matches!(part, WordPart::Literal(text) if text.contains("{}")))
    });
    let changes = program
        .as_literal()
        .is_some_and(|name| CHANGERS.contains(&name));
    if program
        .as_literal()
        .is_some_and(|name| matches!(name, "rm" | "rmdir" | "unlink" | "shred"))
    {
        judgement.add(Effect::Destructive);
    }
    let few_names = selection
        .bounds
        .names
        .as_ref()
        .is_some_and(|names| names.len() * starts.len() <= MAX_TARGETS);
    let by_pattern = few_names || (selection.filtered && changes);
    let targets = if by_pattern {
        found(starts, selection)
    } else {
        starts.to_vec()
    };
    if mentions && !by_pattern {
        judgement.nested_beneath = true;
        judgement.walk.follows_links = !selection.bounds.plain_files;
    }
    let targets = if mentions {
        targets
    } else {
        targets.into_iter().take(1).collect()
    };
    for target in &targets {
        let argv = argv.iter().map(|word| substitute(word, target)).collect();
        judgement.nested.push(Nested::Command {
            argv,
            appended: mentions,
            elsewhere: false,
            assignments: Vec::new(),
            // With `-execdir` the directory is the found file's, and so are relative operands.
            cwd: action.ends_with("dir").then(|| target.clone()),
        });
    }
}

/// The command takes `{}` for something other than a path (`awk {}`): what is harmless with a
/// known text there is not with the name of a file, which may be anything.
fn runs_names(catalogue: &Catalogue, argv: &[Word], judgement: &Judgement, depth: usize) -> bool {
    let mentions = argv.iter().any(|word| word.display().contains("{}"));
    if !mentions || depth > 8 || judgement.effects_known == Effects::Opaque {
        return mentions && depth > 8;
    }
    let words: Vec<Word> = argv
        .iter()
        .map(|word| {
            let name = Word {
                parts: vec![
                    WordPart::Literal("./".to_owned()),
                    WordPart::Unknown {
                        written: FOUND.to_owned(),
                        may_be_empty: false,
                        may_split: false,
                        integer: false,
                    },
                ],
                span: word.span,
            };
            substitute(word, &name)
        })
        .collect();
    is_code(catalogue, &words, depth)
}

/// A found file's name in words that are judged for the sake of it.
const FOUND: &str = "{}";

/// The words are opaque, or hand the found name on as code.
fn is_code(catalogue: &Catalogue, words: &[Word], depth: usize) -> bool {
    let Some((program, args)) = words.split_first() else {
        return false;
    };
    let Some(name) = program.as_literal() else {
        return true;
    };
    let inner = catalogue.judge(&Invocation {
        name,
        args,
        stdin: &Stdin::Empty,
    });
    let holds_name = |word: &Word| {
        word.parts
            .iter()
            .any(|part| matches!(part, WordPart::Unknown { written, .. } if written == FOUND))
    };
    if depth > 8 {
        return true;
    }
    inner.effects_known == Effects::Opaque
        || inner.nested.iter().any(|nested| match nested {
            Nested::Command { argv, .. } => {
                argv.iter().any(holds_name) && is_code(catalogue, argv, depth + 1)
            }
            Nested::Shell { text, .. } | Nested::Inline { text, .. } => holds_name(text),
            Nested::CodeFile { .. } | Nested::StdinShell | Nested::StdinCode { .. } => true,
        })
}

/// `{}` in a word replaced by the found file.
fn substitute(word: &Word, target: &Word) -> Word {
    let mut parts = Vec::new();
    for part in &word.parts {
        let WordPart::Literal(text) = part else {
            parts.push(part.clone());
            continue;
        };
        let mut pieces = text.split("{}").peekable();
        while let Some(piece) = pieces.next() {
            if !piece.is_empty() {
                parts.push(WordPart::Literal(piece.to_owned()));
            }
            if pieces.peek().is_some() {
                parts.extend(target.parts.iter().cloned());
            }
        }
    }
    Word {
        parts,
        span: word.span,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, names: Option<&[&str]>, plain_files: bool) {
        let span = crate::Span { start: 0, end: 0 };
        let words: Vec<Word> = before
            .split_whitespace()
            .map(|word| Word::literal(word, span))
            .collect();
        let names = names.map(|names| names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(bounds(&words), Bounds { names, plain_files }, "{before}");
    }

    #[test]
    fn names_are_known_where_every_way_to_the_action_has_one() {
        check("-name a", Some(&["a"]), false);
        check("-type f -name a -size +1k", Some(&["a"]), true);
        check("( -name a -o -iname b )", Some(&["a", "b"]), false);
        check("-name x -prune -o -name a", Some(&["a"]), false);
        check(
            "-path x -prune -o ( -name a -o -name b ) -type f",
            Some(&["a", "b"]),
            true,
        );
        check("-type f ( -name a -o -size +1k )", None, true);
        check("-name a -exec cat {} + -print", Some(&["a"]), false);
    }

    #[test]
    fn names_are_not_known_where_a_way_has_none() {
        check("", None, false);
        check("! -name a", None, false);
        check("-not ( -name a )", None, false);
        check("-name a -o", None, false);
        check("-name a ,", None, false);
        check("-name a -o -type f", None, true);
        check("( -name a -o -type f )", None, false);
        check("-path -name a", None, false);
        check("( -name a , -size +1k )", None, false);
        check("! ! -name a", Some(&["a"]), false);
    }
}
