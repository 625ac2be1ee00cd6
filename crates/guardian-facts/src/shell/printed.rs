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
        Some(["seq", bounds @ ..]) if !piped && quiet => match sequence(bounds) {
            Some(lines) => Part::Literal(lines),
            None => general(kind),
        },
        Some(words) if prints_integer(words, fact, piped) => general(Kind::Integer),
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
