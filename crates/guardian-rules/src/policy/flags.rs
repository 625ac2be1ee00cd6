//! Which flags a command line has: as far as a deny rule must fear, and for sure.

use guardian_facts::catalogue::Catalogue;
use guardian_facts::{CommandFact, WordPart};

use super::words::{Certainty, is_known_by_name, may_split};

/// Values by which a flag says that it is off.
const OFF: &[&str] = &["false", "0", "no", "off", "n", "f", ""];

/// May words be passed over when subcommands are looked for?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subcommands {
    /// Only words right behind the program.
    Next,
    /// Any words that are no options.
    Anywhere,
}

/// The command has one of these flags: as it stands, with `=value`, in a cluster of short flags, or
/// abbreviated. Unknown words may be any flag.
pub(crate) fn has_flag(command: &CommandFact, flags: &[String]) -> Certainty {
    let names = names(command, Subcommands::Anywhere);
    let value_letters = Catalogue::builtin().value_letters(&names);
    let flags = &spelled(command, flags, Subcommands::Anywhere);
    let mut best = Certainty::No;
    if command.argv.first().is_some_and(may_split) {
        best = Certainty::Possible;
    }
    for word in command.argv.iter().skip(1) {
        let certainty = match word.as_literal() {
            Some(text) => flags
                .iter()
                .any(|flag| is_flag(text, flag, &value_letters))
                .into(),
            None if matches!(word.parts.first(), Some(WordPart::Literal(text)) if !text.starts_with('-')) => {
                Certainty::No
            }
            None => Certainty::Possible,
        };
        best = best.max(certainty);
    }
    best
}

/// The flags with their other spellings, as the catalogue knows them: `-f` is `--force` of
/// `git push`. Where nothing may be skipped, only words that stand right behind the program are
/// taken for subcommands.
fn spelled(command: &CommandFact, flags: &[String], search: Subcommands) -> Vec<String> {
    let names = names(command, search);
    let catalogue = Catalogue::builtin();
    let others = flags
        .iter()
        .filter(|_| !names.is_empty())
        .flat_map(|flag| catalogue.other_spellings(&names, flag))
        .map(str::to_owned);
    flags.iter().cloned().chain(others).collect()
}

/// The program and the words behind it that may be subcommands.
fn names(command: &CommandFact, search: Subcommands) -> Vec<&str> {
    let mut names: Vec<&str> = command.program.name.as_deref().into_iter().collect();
    if names.is_empty() {
        return names;
    }
    for word in command.argv.iter().skip(1) {
        let text = word.as_literal().filter(|text| !text.starts_with('-'));
        if search == Subcommands::Next {
            let is_listed =
                |text: &str| Catalogue::builtin().lists(&format!("{} {text}", names.join(" ")));
            if !text.is_some_and(is_listed) {
                break;
            }
        }
        names.extend(text);
    }
    names
}

fn is_flag(word: &str, flag: &str, value_letters: &[char]) -> bool {
    if word == flag {
        return true;
    }
    if let Some(long) = flag.strip_prefix("--") {
        let Some(written) = word.strip_prefix("--") else {
            return false;
        };
        let name = written.split('=').next().unwrap_or(written);
        return name.len() >= 2 && long.starts_with(name) || name == long;
    }
    // one-letter flags: `-xf` and `-fVALUE` hold `-f`
    let mut letters = flag.chars().skip(1);
    match (letters.next(), letters.next()) {
        (Some(letter), None) => {
            word.starts_with('-')
                && !word.starts_with("--")
                && word
                    .chars()
                    .skip(1)
                    .scan(false, |ended, c| {
                        let is_flag = !*ended;
                        *ended |= value_letters.contains(&c);
                        is_flag.then_some(c)
                    })
                    .any(|c| c == letter)
        }
        _ => word.split('=').next() == Some(flag),
    }
}

/// One of these flags is in force: it stands there literally before any `--`, is no value of
/// another option, and is not taken back behind (`--dry-run --no-dry-run`).
///
/// What an allow rule or the exception of a deny rule rests on: [`Certainty::Yes`] is a promise,
/// [`Certainty::Possible`] says that something unknown could take the flag back or be what the flag
/// is a value of.
pub(crate) fn gives_flag(command: &CommandFact, flags: &[String]) -> Certainty {
    let flags = spelled(command, flags, Subcommands::Next);
    let args = command.argv.get(1..).unwrap_or(&[]);
    let values = command
        .program
        .name
        .as_deref()
        .filter(|_| is_known_by_name(&command.program))
        .and_then(|name| Catalogue::builtin().flag_values(name, args));
    let mut given = Certainty::No;
    let mut is_uncertain = command.argv.first().is_some_and(may_split);
    let mut may_take_value = false;
    for (at, word) in args.iter().enumerate() {
        let Some(text) = word.as_literal() else {
            is_uncertain |= word.may_begin_with_dash() || may_split(word);
            may_take_value = false;
            continue;
        };
        if text == "--" {
            break;
        }
        let is_value = values
            .as_ref()
            .map_or(may_take_value, |values| values.contains(&at));
        let use_of = flags.iter().find_map(|flag| switched(text, flag));
        may_take_value =
            text.starts_with('-') && text != "-" && !text.contains('=') && use_of.is_none();
        match (use_of, is_value, values.is_some()) {
            (None, _, _) | (_, true, true) => {}
            (Some(true), true, false) => given = given.max(Certainty::Possible),
            (Some(true), false, _) => given = Certainty::Yes,
            (Some(false), true, false) => given = given.min(Certainty::Possible),
            (Some(false), false, _) => given = Certainty::No,
        }
    }
    if is_uncertain {
        given.min(Certainty::Possible)
    } else {
        given
    }
}

/// The word switches the flag on (`--dry-run`) or off (`--no-dry-run`, `--dry-run=false`); `None`
/// when it does neither.
fn switched(word: &str, flag: &str) -> Option<bool> {
    if word == flag {
        return Some(true);
    }
    let behind = word
        .strip_prefix(flag)
        .and_then(|rest| rest.strip_prefix('='));
    if let Some(value) = behind {
        return Some(!OFF.contains(&value.to_ascii_lowercase().as_str()));
    }
    let long = flag.strip_prefix("--")?;
    let written = word.strip_prefix("--")?.split('=').next()?;
    let is_off = match long.strip_prefix("no-") {
        Some(plain) => written.len() >= 2 && plain.starts_with(written),
        None => written
            .strip_prefix("no-")
            .is_some_and(|plain| !plain.is_empty() && long.starts_with(plain)),
    };
    is_off.then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_switched_on_and_off_by_its_spellings() {
        for (word, flag, expected) in [
            ("--dry-run", "--dry-run", Some(true)),
            ("--dry-run=client", "--dry-run", Some(true)),
            ("--dry-run=False", "--dry-run", Some(false)),
            ("--no-dry-run", "--dry-run", Some(false)),
            ("--no-dry", "--dry-run", Some(false)),
            ("--no-verify", "--no-verify", Some(true)),
            ("--verify", "--no-verify", Some(false)),
            ("--dry", "--dry-run", None),
            ("-n", "-n", Some(true)),
            ("-nf", "-n", None),
            ("origin", "--dry-run", None),
        ] {
            assert_eq!(switched(word, flag), expected, "{word} of {flag}");
        }
    }
}
