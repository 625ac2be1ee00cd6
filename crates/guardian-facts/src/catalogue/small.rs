//! Grammars of a few lines each: `test`, `dd`, `kill`, `ps`, `date`, and builtins that take the
//! name of a variable.

use super::Catalogue;
use super::scan::{Scanned, behind};
use super::schema::Entry;
use crate::command::{Invocation, Judgement, Word, WordPart};
use crate::opacity;
use crate::{AccessDetail, AccessKind, Effect};

/// `test` and `[`: metadata of files, and `-v NAME[subscript]`, which evaluates the subscript.
pub(crate) fn test(
    _catalogue: &Catalogue,
    _entry: &Entry,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    judgement.add(Effect::Inert);
    let args = invocation.args;
    for (index, word) in args.iter().enumerate() {
        let Some(operator) = word.as_literal() else {
            continue;
        };
        let next = args.get(index + 1);
        match operator {
            "-a" | "-b" | "-c" | "-d" | "-e" | "-f" | "-g" | "-h" | "-k" | "-p" | "-r" | "-s"
            | "-u" | "-w" | "-x" | "-G" | "-L" | "-N" | "-O" | "-S" => {
                if let Some(file) = next.filter(|file| file.as_literal() != Some("]")) {
                    judgement.touch(file, AccessKind::List, AccessDetail::Plain);
                }
            }
            "-nt" | "-ot" | "-ef" => {
                for file in index
                    .checked_sub(1)
                    .and_then(|at| args.get(at))
                    .into_iter()
                    .chain(next)
                {
                    judgement.touch(file, AccessKind::List, AccessDetail::Plain);
                }
            }
            "-v" | "-R" if next.is_some_and(|name| !is_plain_name(name)) => {
                judgement.make_opaque("subscript", "a subscript is evaluated as arithmetic");
            }
            _ => {}
        }
    }
    // `[ "$a" "$b" ]`: the first may be `-v` and the second a subscript.
    let adjacent = args
        .windows(2)
        .any(|pair| pair.iter().all(|word| word.as_literal().is_none()));
    if adjacent {
        judgement.make_opaque("unknown-operator", "an unknown word may be an operator");
    }
    let first_unknown = args.iter().any(|word| {
        word.as_literal().is_none() && word.literal_prefix().is_empty() && word.may_split()
    });
    if first_unknown && args.len() > 1 {
        // `[ $x ]`: the unknown words may be an operator; at worst `-v a[$(…)]` with the rest.
        let splits_into_operator = args
            .iter()
            .filter(|word| word.as_literal().is_none() && !is_number(word))
            .any(|word| word.parts.len() == 1 && word.may_split() && !is_glob(word));
        if splits_into_operator {
            judgement.make_opaque("unknown-operator", "an unquoted word may bring an operator");
        }
    }
}

/// A number, or nothing.
fn is_number(word: &Word) -> bool {
    let mut parts = word.parts.iter();
    parts.all(|part| matches!(part, WordPart::Unknown { integer: true, .. }))
}

fn is_glob(word: &Word) -> bool {
    word.parts
        .iter()
        .any(|part| matches!(part, crate::WordPart::Glob(_)))
}

/// A variable name without a subscript.
fn is_plain_name(word: &Word) -> bool {
    word.as_literal()
        .is_some_and(|text| text == "]" || !text.contains('['))
}

/// `printf -v`, `read`, `mapfile`, `unset`, `let` and the like: a name with a subscript is
/// evaluated as arithmetic, which may run commands.
pub(crate) fn variable_name(
    entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let is_print = entry.name == "printf";
    let names: Vec<&Word> = if is_print {
        scanned.values("-v").collect()
    } else {
        scanned.operands.iter().collect()
    };
    for name in names {
        let text = name.literal_prefix();
        let subscript = text
            .split('=')
            .next()
            .is_some_and(|text| text.contains('['));
        if subscript || (name.as_literal().is_none() && !text.contains('=')) {
            judgement.make_opaque(
                "subscript",
                format!("`{}` may be evaluated as arithmetic", name.display()),
            );
        }
    }
    // `printf "$format" …`: the unknown word may be `-v`, and the next one the name.
    if is_print
        && scanned.operands.len() > 1
        && scanned
            .operands
            .first()
            .is_some_and(|word| word.as_literal().is_none() && word.literal_prefix().is_empty())
    {
        judgement.make_opaque("word-may-be-flag", "the format may turn into `-v`");
    }
    if is_print && scanned.has("-v") {
        judgement.add(Effect::ShellState);
    }
}

/// `man` and `info`: an operand with a slash is a file, which is a program for the formatter: it can
/// run commands and take in other files (`.so`). A dot makes a file of it for `info`.
pub(crate) fn man(
    entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let is_name = |text: &str| {
        !text.contains('/')
            && !text.starts_with('.')
            && (entry.name == "man" || !text.contains('.'))
    };
    for word in &scanned.operands {
        if !word.as_literal().is_some_and(is_name) {
            judgement.read(word);
            judgement.make_opaque(
                "page-from-file",
                format!(
                    "`{}` may be a page of its own, which is code",
                    word.display()
                ),
            );
        }
    }
}

/// `dd if= of= …`.
pub(crate) fn dd(
    _catalogue: &Catalogue,
    _entry: &Entry,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    for word in invocation.args {
        let prefix = word.literal_prefix();
        let Some((name, _)) = prefix.split_once('=') else {
            judgement.make_opaque(
                "unknown-operand",
                format!("`{}` is no operand of `dd` that is listed", word.display()),
            );
            continue;
        };
        match name {
            "if" => judgement.read(&behind(word, 3)),
            "of" => judgement.touch(&behind(word, 3), AccessKind::Write, AccessDetail::Device),
            "bs" | "cbs" | "conv" | "count" | "ibs" | "iflag" | "obs" | "oflag" | "seek"
            | "skip" | "status" | "iseek" | "oseek" => {}
            _ => judgement.make_opaque(
                "unknown-operand",
                format!("`dd` has no listed operand `{name}`"),
            ),
        }
        if word.may_split() {
            judgement.make_opaque("unknown-operand", "an unquoted word may bring an operand");
        }
    }
}

/// `kill`: signal names begin with a dash, `-l` only lists them, `-0` only asks.
pub(crate) fn kill(
    _catalogue: &Catalogue,
    _entry: &Entry,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let first = invocation.args.first().and_then(|word| word.as_literal());
    let second = invocation.args.get(1).and_then(|word| word.as_literal());
    let asks = matches!(first, Some("-l" | "-L" | "--list" | "--table" | "-0"))
        || (matches!(first, Some("-s")) && matches!(second, Some("0" | "EXIT")));
    judgement.add(if asks {
        Effect::SystemQuery
    } else {
        Effect::SystemChange
    });
}

/// `ps`: options of three dialects, none of which changes anything; `e` shows environments.
pub(crate) fn ps(
    _catalogue: &Catalogue,
    _entry: &Entry,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    judgement.add(Effect::SystemQuery);
    let mut takes_value = false;
    let mut takes_format = false;
    for word in invocation.args {
        let text = word.as_literal();
        // The column `environ`, and `-E` of macOS, show the environment of other processes.
        let format = std::mem::take(&mut takes_format);
        let shows_environment = match text {
            Some(text) => {
                text.contains("environ")
                    || text.starts_with('-') && !text.starts_with("--") && text.contains('E')
            }
            None => format,
        };
        if shows_environment {
            judgement.add(Effect::ReadsEnvironment);
        }
        if std::mem::take(&mut takes_value) {
            continue;
        }
        if let Some(text) = text {
            takes_format = text.ends_with(['o', 'O']) || text == "--format";
            let options = text.strip_prefix('-').unwrap_or(text);
            let first = options.chars().last().unwrap_or(' ');
            takes_value = text.starts_with('-')
                && !text.starts_with("--")
                && matches!(
                    first,
                    'C' | 'G' | 'g' | 'O' | 'o' | 'p' | 'q' | 's' | 't' | 'U' | 'u'
                )
                || !text.starts_with('-') && matches!(first, 'O' | 'o' | 'p' | 'q' | 't' | 'U');
            if text.starts_with('-') {
                continue;
            }
        }
        let digits = text.is_some_and(|text| {
            text.bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b',')
        });
        if !digits && text.is_none_or(|text| text.contains('e')) {
            judgement.add(Effect::ReadsEnvironment);
        }
    }
}

/// `date`: an operand without `+` sets the clock.
pub(crate) fn date(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    judgement.add(Effect::SystemQuery);
    for word in &scanned.operands {
        if !word.literal_prefix().starts_with('+') || word.may_split() {
            judgement.add(Effect::SystemChange);
        }
    }
}

/// `ln`, and `cp` where it makes links or copies them. What lies behind a link is reachable under
/// another name from then on, and the rest of the text is judged by the names as they are now: a
/// write through a link in scratch would pass for a write to scratch.
pub(crate) fn links(
    entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let copies = entry.name == "cp";
    if let ([only], false) = (scanned.operands.as_slice(), copies)
        && !scanned.has("-t")
        && let Some(name) = only
            .as_literal()
            .and_then(|text| text.trim_end_matches('/').rsplit('/').next())
    {
        // `ln -s ../a` makes `a` here.
        judgement.paths.retain(|path| path.word != *only);
        judgement.read(only);
        judgement.write(&Word::literal(name, only.span));
    }
    if !copies || scanned.has("-s") || scanned.has("-l") {
        judgement.make_opaque(
            opacity::LINK,
            "a link makes a place reachable under another name",
        );
    }
    // Links in a copied tree are copied, and lead where they led.
    judgement.walk.follows_links = copies;
}

/// `split FILE PREFIX`: the names of its pieces begin with the prefix, and lie where it says.
pub(crate) fn split(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let prefix = match scanned.operands.as_slice() {
        [file, prefix] if !file.may_split() && !prefix.may_split() => prefix,
        _ => {
            // Without a prefix they are called `xaa`, `xab`, …
            judgement.add(Effect::BulkWrite);
            let span = invocation
                .args
                .first()
                .map_or(crate::Span { start: 0, end: 0 }, |word| word.span);
            judgement.write(&Word {
                parts: vec![
                    WordPart::Literal("x".to_owned()),
                    WordPart::Glob("*".to_owned()),
                ],
                span,
            });
            return;
        }
    };
    let mut pieces = prefix.clone();
    pieces.parts.push(WordPart::Glob("*".to_owned()));
    judgement.write(&pieces);
}
