//! Checks over the whole registry, and of what must never be called harmless.

use super::registry::{FAMILIES, Registry, spellings, tables};
use super::*;
use crate::Span;
use crate::command::{Nested, Stdin, Word, WordPart};

/// Splits an example into words: blanks, single and double quotes, backslash, `$x` and globs. Just
/// enough for the examples in the data.
fn words(text: &str) -> Vec<Word> {
    let span = Span { start: 0, end: 0 };
    let mut words = Vec::new();
    let mut parts: Vec<WordPart> = Vec::new();
    let mut open = false;
    let mut chars = text.chars().peekable();
    let mut quote: Option<char> = None;
    let push = |parts: &mut Vec<WordPart>, letter: char| match parts.last_mut() {
        Some(WordPart::Literal(known)) => known.push(letter),
        _ => parts.push(WordPart::Literal(letter.to_string())),
    };
    while let Some(letter) = chars.next() {
        match (quote, letter) {
            (None, ' ') => {
                if open {
                    words.push(Word {
                        parts: std::mem::take(&mut parts),
                        span,
                    });
                }
                open = false;
            }
            (None, '\'' | '"') => {
                quote = Some(letter);
                open = true;
            }
            (Some(mark), _) if letter == mark => quote = None,
            (None | Some('"'), '\\') => {
                open = true;
                if let Some(next) = chars.next() {
                    push(&mut parts, next);
                }
            }
            (None | Some('"'), '$') => {
                open = true;
                let mut written = String::from("$");
                while let Some(next) = chars.next_if(|c| c.is_alphanumeric() || "(){}".contains(*c))
                {
                    written.push(next);
                }
                parts.push(WordPart::Unknown {
                    written,
                    may_be_empty: true,
                    may_split: quote.is_none(),
                });
            }
            (None, '*') => {
                open = true;
                parts.push(WordPart::Glob("*".to_owned()));
            }
            _ => {
                open = true;
                push(&mut parts, letter);
            }
        }
    }
    if open {
        words.push(Word { parts, span });
    }
    words
}

fn judge(text: &str) -> Judgement {
    judge_in(Catalogue::builtin(), text)
}

fn judge_in(catalogue: &Catalogue, text: &str) -> Judgement {
    judge_words(catalogue, &words(text))
}

fn judge_words(catalogue: &Catalogue, words: &[Word]) -> Judgement {
    let Some((program, args)) = words.split_first() else {
        return Judgement::known();
    };
    let Some(name) = program.as_literal() else {
        return Judgement::opaque("unknown-program", "not known");
    };
    catalogue.judge(&Invocation {
        name,
        args,
        stdin: &Stdin::Empty,
    })
}

/// Why the command line is not harmless; `None` when it is.
fn harm(catalogue: &Catalogue, judgement: &Judgement) -> Option<String> {
    if judgement.effects_known == Effects::Opaque {
        return Some(format!("opaque: {:?}", judgement.opaque));
    }
    let allowed = |effect: &Effect| {
        matches!(
            effect,
            Effect::Inert | Effect::SystemQuery | Effect::ShellState | Effect::GitRecord
        )
    };
    if let Some(effect) = judgement.effects.iter().find(|effect| !allowed(effect)) {
        return Some(format!("effect {effect:?}"));
    }
    if let Some(path) = judgement
        .paths
        .iter()
        .find(|path| !matches!(path.kind, crate::AccessKind::Read | crate::AccessKind::List))
    {
        return Some(format!("{:?} {}", path.kind, path.word.display()));
    }
    if !judgement.hosts.is_empty() {
        return Some("reaches a host".to_owned());
    }
    judgement.nested.iter().find_map(|nested| match nested {
        Nested::Command { argv, .. } => harm(catalogue, &judge_words(catalogue, argv)),
        Nested::Shell { text, .. } => match text.as_literal() {
            Some(text) => harm(catalogue, &judge_in(catalogue, text)),
            None => Some("unknown shell text".to_owned()),
        },
        other => Some(format!("{other:?}")),
    })
}

#[track_caller]
fn harmless(text: &str) {
    assert_eq!(
        harm(Catalogue::builtin(), &judge(text)),
        None,
        "`{text}` should be harmless"
    );
}

#[track_caller]
fn harmful(text: &str) {
    let judgement = judge(text);
    assert!(
        harm(Catalogue::builtin(), &judgement).is_some(),
        "`{text}` must not be harmless: {judgement:?}"
    );
}

/// All entries with the family and every name.
fn entries() -> Vec<(String, String, Result<Entry, String>)> {
    let registry = Registry::builtin();
    registry
        .names()
        .into_iter()
        .map(|(family, name)| {
            let entry = match registry.get(&name) {
                Some(Ok(entry)) => Ok(entry.clone()),
                Some(Err(error)) => Err(error.to_string()),
                None => Err("not listed".to_owned()),
            };
            (family.to_owned(), name, entry)
        })
        .collect()
}

#[test]
fn every_entry_compiles() {
    let faults: Vec<String> = entries()
        .into_iter()
        .filter_map(|(family, name, entry)| {
            entry
                .err()
                .map(|error| format!("{family}: `{name}`: {error}"))
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_name_is_listed_twice() {
    let mut seen = std::collections::BTreeMap::new();
    for (family, text) in FAMILIES {
        for (header, _) in tables(text) {
            for (stem, name) in spellings(header) {
                if let Some(other) = seen.insert((stem, name), family) {
                    panic!("`{stem} {name}` is in {other} and in {family}");
                }
            }
        }
    }
}

#[test]
fn every_family_is_valid_toml_as_a_whole() {
    for (family, text) in FAMILIES {
        let parsed: Result<std::collections::BTreeMap<String, EntryData>, _> = toml::from_str(text);
        if let Err(error) = parsed {
            panic!("{family}: {error}");
        }
    }
}

#[test]
fn every_entry_says_what_it_is_about() {
    for (family, name, entry) in entries() {
        let entry = entry.unwrap();
        assert!(
            !entry.about.is_empty() || name.starts_with('@'),
            "{family}: `{name}`"
        );
    }
}

#[test]
fn examples_in_the_data_hold() {
    let catalogue = Catalogue::builtin();
    let mut faults = Vec::new();
    for (family, name, entry) in entries() {
        let entry = entry.unwrap();
        for example in &entry.harmless {
            if let Some(reason) = harm(catalogue, &judge(example)) {
                faults.push(format!("{family}: `{example}` is not harmless: {reason}"));
            }
        }
        for example in &entry.not {
            if harm(catalogue, &judge(example)).is_none() {
                faults.push(format!("{family}: `{example}` is called harmless"));
            }
        }
        let _ = name;
    }
    faults.sort();
    faults.dedup();
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn every_entry_has_examples_of_both_kinds() {
    let catalogue = Catalogue::builtin();
    let mut faults = Vec::new();
    for (family, name, entry) in entries() {
        let entry = entry.unwrap();
        if name.starts_with('@') {
            continue;
        }
        // Without probes (`yarn`, `mvn`) the program is never harmless. A version probe is the harmless example of a command that is never harmless itself; a
        // word-style command without effects has no other kind.
        let probe = entry
            .probes
            .iter()
            .any(|probe| harm(catalogue, &judge(&format!("{name} {probe}"))).is_none());
        let never = entry.probes.is_empty();
        if entry.harmless.is_empty() && !probe && !never && entry.style != schema::Style::Words {
            faults.push(format!("{family}: `{name}` has no harmless example"));
        }
        if entry.not.is_empty() && entry.style != schema::Style::Words {
            faults.push(format!(
                "{family}: `{name}` has no example that is asked about"
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn an_unlisted_flag_is_opaque_everywhere() {
    for (family, name, entry) in entries() {
        let entry = entry.unwrap();
        let own_grammar = entry
            .grammar
            .is_some_and(|grammar| matches!(grammar, Grammar::Kill | Grammar::Ps | Grammar::Test));
        if name.starts_with('@') || entry.style == schema::Style::Words || own_grammar {
            continue;
        }
        let judgement = judge(&format!("{name} --zz-no-such-flag"));
        assert_eq!(
            judgement.effects_known,
            Effects::Opaque,
            "{family}: `{name}`"
        );
    }
}

#[test]
fn unlisted_programs_are_opaque() {
    assert_eq!(judge("no-such-program").opaque[0].0, "unlisted-program");
    assert_eq!(judge("@git-diff").opaque[0].0, "unlisted-program");
    assert_eq!(
        judge("git no-such-thing").opaque[0].0,
        "unlisted-subcommand"
    );
}

#[test]
fn clusters_values_and_abbreviations_are_read_as_getopt_reads_them() {
    harmful("sort -uo x a");
    harmful("sort -uox a");
    harmful("sort --outp x a");
    harmful("sort --output=x a");
    harmful("sort a -o x");
    harmless("sort -k 2 -t o a");
    harmless("sort -- -o x");
    harmless("grep -e -o a");
    harmful("sort --o x a");
    // Two options begin with `--c`: getopt refuses, and so does the catalogue.
    harmful("sort --c a");
}

#[test]
fn words_that_may_be_flags_matter_only_where_a_flag_matters() {
    harmless("cat \"$x\"");
    harmless("head -5 \"$x\"");
    harmful("sort \"$x\"");
    harmless("sort -- \"$x\"");
    harmless("sort ./\"$x\"");
    harmful("rg -n x \"$x\"");
    harmful("rm *");
    harmful("sort *");
    harmless("sort a*");
    harmless("wc -l *");
}

#[test]
fn uncertain_words_shift_operands() {
    // `$x` may vanish, so `b` may be the destination or the source.
    let judgement = judge("cp $x a b");
    assert!(
        judgement
            .paths
            .iter()
            .any(|p| p.word.as_literal() == Some("b") && p.kind == crate::AccessKind::Write)
    );
    let judgement = judge("cp a* b");
    let kinds: Vec<_> = judgement
        .paths
        .iter()
        .filter(|p| p.word.as_literal() == Some("b"))
        .map(|p| p.kind)
        .collect();
    assert_eq!(kinds, vec![crate::AccessKind::Write]);
    harmful("uniq a*");
}

#[test]
fn users_can_add_and_replace_entries() {
    let catalogue = Catalogue::with_user_entries(
        "[myproj-cli]\nabout = 'ours'\noperands = 'value*'\nflags = '''\n-v --verbose\n'''\n",
    )
    .unwrap();
    assert_eq!(
        harm(&catalogue, &judge_in(&catalogue, "myproj-cli -v status")),
        None
    );
    assert!(harm(&catalogue, &judge_in(&catalogue, "myproj-cli --other")).is_some());
    assert!(Catalogue::with_user_entries("[x]\nflags = '-o ='\n").is_err());
    assert!(Catalogue::with_user_entries("[x]\neffects = 'nonsense'\n").is_err());
    assert!(Catalogue::with_user_entries("[x]\nunknown = 1\n").is_err());
    assert!(Catalogue::with_user_entries("[x]\ninclude = ['x']\n").is_err());
}
