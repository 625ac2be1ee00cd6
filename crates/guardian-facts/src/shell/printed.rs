//! What a command substitution prints, where that can be told without running it.

use std::path::Path;

use super::reader::Reader;
use super::syntax::{CommandKind, List};
use super::values::{Kind, Part, State};
use crate::{CommandFact, Effect, ProgramForm, Reading, RedirectKind};

/// The longest sequence that is written out.
const MAX_SEQUENCE: u32 = 64;

/// The part that stands for `$(…)` after its commands, from `first` on, were walked.
pub(super) fn printed(
    reader: &Reader<'_>,
    list: &List,
    written: &str,
    first: usize,
    state: &State,
) -> Part {
    let facts = reader.facts.commands.get(first..).unwrap_or(&[]);
    let remote = facts
        .iter()
        .any(|fact| fact.has(Effect::Network) || fact.has(Effect::RemoteHost));
    let kind = if remote { Kind::Remote } else { Kind::Any };
    let general = |kind| Part::Unknown {
        written: written.to_owned(),
        kind,
        may_be_empty: kind != Kind::Integer,
        may_split: false,
    };
    if state.environment.tainted.is_some() || reader.facts.reading == Reading::Partial && remote {
        return general(kind);
    }
    let [statement] = list.statements.as_slice() else {
        return general(kind);
    };
    if !statement.rest.is_empty() || statement.background || statement.first.negated {
        return general(kind);
    }
    let Some(last) = statement.first.stages.last() else {
        return general(kind);
    };
    let CommandKind::Simple { assignments, .. } = &last.kind else {
        return general(kind);
    };
    let Some(fact) = facts.last().filter(|fact| {
        assignments.is_empty()
            && fact.program.form == ProgramForm::Bare
            && fact.place.inside == reader.scope.inside
    }) else {
        return general(kind);
    };
    let quiet = fact
        .redirects
        .iter()
        .all(|redirect| redirect.kind != RedirectKind::Truncate || redirect.inert);
    let words: Option<Vec<&str>> = fact.argv.iter().map(crate::Word::as_literal).collect();
    let piped = statement.first.stages.len() > 1;
    let silent = fact.redirects.is_empty();
    match words.as_deref() {
        Some(words) if !piped && silent && spoken(words).is_some() => {
            let text = spoken(words).unwrap_or_default();
            Part::Literal(text.trim_end_matches('\n').to_owned())
        }
        Some(["pwd"] | ["pwd", "-L"]) if !piped && quiet => {
            match state.cwd.as_ref().and_then(|cwd| cwd.to_str()) {
                Some(cwd) => Part::Literal(cwd.to_owned()),
                None => general(Kind::Any),
            }
        }
        Some(["git", "rev-parse", "--show-toplevel"]) if !piped && quiet => {
            match reader.toplevel(state).as_deref().and_then(Path::to_str) {
                Some(path) => Part::Literal(path.to_owned()),
                None => general(Kind::Any),
            }
        }
        Some(["mktemp", rest @ ..])
            if !piped
                && quiet
                && state.get("TMPDIR").is_none()
                && !rest.iter().any(|word| prints_only(word))
                && !may_begin_with_dash(rest) =>
        {
            Part::Temporary
        }
        Some(["dirname", rest @ ..]) if !piped && quiet && directory_name(rest).is_some() => {
            Part::Literal(directory_name(rest).unwrap_or_default())
        }
        Some(["basename", rest @ ..]) if !piped && quiet && file_name(rest).is_some() => {
            Part::Literal(file_name(rest).unwrap_or_default())
        }
        Some(["seq", bounds @ ..]) if !piped && quiet => match sequence(bounds) {
            Some(lines) => Part::Literal(lines),
            None => general(kind),
        },
        Some(words) if prints_integer(words, fact, piped) => Part::Unknown {
            written: written.to_owned(),
            kind: Kind::Integer,
            // The file may not be there, and then nothing counts.
            may_be_empty: fact.redirects.iter().any(|redirect| !redirect.inert),
            may_split: false,
        },
        _ => general(kind),
    }
}

/// What `echo` and `printf` print of words that mean the same to every shell.
pub(super) fn spoken(words: &[&str]) -> Option<String> {
    let plain = |word: &&str| !word.contains('\\');
    match words {
        ["echo", rest @ ..] if rest.iter().all(plain) => match rest {
            ["-n", rest @ ..] if !begins_with_dash(rest) => Some(rest.join(" ")),
            rest if !begins_with_dash(rest) => Some(rest.join(" ") + "\n"),
            _ => None,
        },
        ["printf", "%s", text] => Some((*text).to_owned()),
        ["printf", "%s\\n", text] => Some(format!("{text}\n")),
        ["printf", text] if !text.contains(['%', '\\']) && !text.starts_with('-') => {
            Some((*text).to_owned())
        }
        _ => None,
    }
}

fn begins_with_dash(words: &[&str]) -> bool {
    words.first().is_some_and(|word| word.starts_with('-'))
}

/// What `dirname PATH` prints.
fn directory_name(words: &[&str]) -> Option<String> {
    let [path] = behind_dashes(words) else {
        return None;
    };
    let kept = path.trim_end_matches('/');
    let above = match kept.rsplit_once('/') {
        Some((above, _)) => above.trim_end_matches('/'),
        None if kept.is_empty() && !path.is_empty() => "",
        None => return is_one_line(path).then(|| ".".to_owned()),
    };
    let above = if above.is_empty() { "/" } else { above };
    is_one_line(path).then(|| above.to_owned())
}

/// What `basename PATH` and `basename PATH SUFFIX` print.
fn file_name(words: &[&str]) -> Option<String> {
    let (path, suffix) = match behind_dashes(words) {
        [path] => (*path, ""),
        [path, suffix] => (*path, *suffix),
        _ => return None,
    };
    let kept = path.trim_end_matches('/');
    let name = match kept.rsplit('/').next() {
        Some("") | None if !path.is_empty() => "/",
        name => name.unwrap_or_default(),
    };
    let name = match name.strip_suffix(suffix) {
        Some("") | None => name,
        Some(shorter) => shorter,
    };
    is_one_line(path).then(|| name.to_owned())
}

/// The operands where none of the words is a flag.
fn behind_dashes<'w, 's>(words: &'s [&'w str]) -> &'s [&'w str] {
    match words {
        ["--", rest @ ..] => rest,
        words if words.iter().any(|word| word.starts_with('-')) => &[],
        words => words,
    }
}

/// The shell takes line ends off what a command prints.
fn is_one_line(text: &str) -> bool {
    !text.contains('\n')
}

/// `mktemp -u` makes nothing.
fn prints_only(word: &str) -> bool {
    word.starts_with("--dry")
        || (word.starts_with('-') && !word.starts_with("--") && word.contains('u'))
}

/// What `mktemp` prints could begin with a `-`: its template or its directory does.
fn may_begin_with_dash(words: &[&str]) -> bool {
    words
        .iter()
        .any(|word| *word == "--" || word.contains("=-"))
        || words
            .windows(2)
            .any(|pair| matches!(pair, ["-p", directory] if directory.starts_with('-')))
        || words.iter().any(|word| word.starts_with("-p-"))
}

/// What `seq LAST` and `seq FIRST LAST` print, where it is short.
fn sequence(bounds: &[&str]) -> Option<String> {
    let number = |text: &str| {
        let is_plain =
            text.len() <= 9 && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_plain.then(|| text.parse::<u32>().ok()).flatten()
    };
    let (first, last) = match bounds {
        [last] => (1, number(last)?),
        [first, last] => (number(first)?, number(last)?),
        _ => return None,
    };
    if first > last || last - first >= MAX_SEQUENCE {
        return None;
    }
    let lines: Vec<String> = (first..=last).map(|value| value.to_string()).collect();
    Some(lines.join("\n"))
}

fn prints_integer(words: &[&str], fact: &CommandFact, piped: bool) -> bool {
    let from_input = piped
        || fact.redirects.iter().any(|redirect| {
            matches!(
                redirect.kind,
                RedirectKind::Read | RedirectKind::HereString | RedirectKind::Heredoc
            )
        });
    match words {
        ["wc", flag] => from_input && matches!(*flag, "-l" | "-c" | "-w" | "-m"),
        ["grep", flags, _] => {
            from_input && matches!(*flags, "-c" | "-ci" | "-cE" | "-ic" | "-cv" | "-vc")
        }
        ["nproc"] | ["date", "+%s"] | ["id", "-u" | "-g"] | ["getconf", "_NPROCESSORS_ONLN"] => {
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{directory_name, file_name};

    /// As coreutils have it; `cargo xtask fuzz shell` compares with bash.
    #[test]
    fn names_of_paths_are_what_the_programs_print() {
        for (path, directory, name) in [
            ("src/main.rs", "src", "main.rs"),
            ("src", ".", "src"),
            ("/", "/", "/"),
            ("//", "/", "/"),
            ("/a", "/", "a"),
            ("a/", ".", "a"),
            ("a//b//", "a", "b"),
            ("/a/b/", "/a", "b"),
            ("..", ".", ".."),
            ("a/..", "a", ".."),
            ("", ".", ""),
        ] {
            assert_eq!(
                directory_name(&[path]).as_deref(),
                Some(directory),
                "{path}"
            );
            assert_eq!(file_name(&[path]).as_deref(), Some(name), "{path}");
        }
        assert_eq!(file_name(&["a/b.rs", ".rs"]).as_deref(), Some("b"));
        assert_eq!(file_name(&[".rs", ".rs"]).as_deref(), Some(".rs"));
        assert_eq!(file_name(&["--", "-a"]).as_deref(), Some("-a"));
        for words in [&["-a", "b"][..], &["a", "b", "c"], &["-z"], &[], &["a\nb"]] {
            assert_eq!(file_name(words), None, "{words:?}");
            assert_eq!(directory_name(words), None, "{words:?}");
        }
        assert_eq!(directory_name(&["a", "b"]), None);
    }
}
