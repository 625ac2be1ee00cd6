//! Random command lines of every listed program: no panic, the same answer twice, and the law that
//! a word of which nothing is known is judged no milder than any word that it may turn out to be.
//! `cargo xtask fuzz catalogue` runs many more rounds with fresh seeds.

use super::registry::Registry;
use super::tests::{harm, judge_words};
use super::*;
use crate::Span;
use crate::command::{Word, WordPart};

/// Words that are no flags of anything.
const PLAIN: &[&str] = &[
    "a",
    "b/c",
    ".",
    "..",
    "/",
    "~",
    "x=y",
    "1",
    "0",
    "-1",
    "HEAD",
    "a:b",
    "https://h/x",
    "*.rs",
    "",
    "{}",
    ";",
    "+",
    "-",
    "--",
    "@f",
    "s/a/b/",
    "{ print }",
    ".env",
    "list",
    "show",
    "get",
    "set",
    "-5",
    "+5",
    "exec",
    "/dev/null",
    "select 1",
    "a b",
];

/// Reasons to be opaque that say no more than that something is in no table, or that the names of
/// files are somewhere else: a word that is not known is a path that is not known anyway.
const UNLISTED: &[&str] = &["unknown-flag", "unknown-operand", "names-from-file"];

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

fn literal(text: &str) -> Word {
    Word::literal(text, Span { start: 0, end: 0 })
}

fn unknown(may_split: bool) -> Word {
    Word {
        parts: vec![WordPart::Unknown {
            written: "$x".to_owned(),
            may_be_empty: true,
            may_split,
            integer: false,
        }],
        span: Span { start: 0, end: 0 },
    }
}

#[test]
fn fuzz_catalogue() {
    let catalogue = Catalogue::builtin();
    let registry = Registry::builtin();
    let names: Vec<String> = registry
        .names()
        .into_iter()
        .map(|(_, name)| name)
        .filter(|name| !name.starts_with('@'))
        .collect();
    let mut random =
        Random(number("GUARDIAN_FUZZ_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let (mut judged, mut compared) = (0, 0);
    for _ in 0..number("GUARDIAN_FUZZ_ROUNDS", 4_000) {
        let name = &names[random.below(names.len())];
        let Some(Ok(entry)) = registry.get(name) else {
            continue;
        };
        let mut words: Vec<Word> = name.split(' ').map(literal).collect();
        let first = words.len();
        for _ in 0..1 + random.below(4) {
            let flags = &entry.flags;
            let word = if flags.is_empty() || random.below(2) == 0 {
                PLAIN[random.below(PLAIN.len())].to_owned()
            } else {
                let flag = &flags[random.below(flags.len())];
                let spelling = flag.names[random.below(flag.names.len())].clone();
                match random.below(4) {
                    0 if spelling.starts_with("--") => format!("{spelling}=v"),
                    _ => spelling.replace('#', "3"),
                }
            };
            words.push(literal(&word));
        }
        let mut known = judge_words(catalogue, &words);
        assert_eq!(known, judge_words(catalogue, &words), "{words:?}");
        judged += 1;
        // What no table lists is asked about where it is written out. That a word which is not
        // known may be such a thing counts for nothing: the tables list what does harm.
        known.opaque.retain(|(code, _)| !UNLISTED.contains(code));
        if known.opaque.is_empty() {
            known.effects_known = Effects::Known;
        }
        let Some(why) = harm(catalogue, &known) else {
            continue;
        };
        let at = first + random.below(words.len() - first);
        for may_split in [false, true] {
            let mut open = words.clone();
            open[at] = unknown(may_split);
            let mild = harm(catalogue, &judge_words(catalogue, &open)).is_none();
            assert!(
                !mild,
                "`{}` is {why}, and harmless with `$x` ({may_split}) for `{}`",
                words
                    .iter()
                    .map(Word::display)
                    .collect::<Vec<_>>()
                    .join(" "),
                words[at].display()
            );
            compared += 1;
        }
    }
    assert!(compared * 2 > judged, "{compared} of {judged}");
}
