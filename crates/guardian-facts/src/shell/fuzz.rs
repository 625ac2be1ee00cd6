//! Random texts against the parts of the reading: no panic, no hang, no more work than the text is
//! long. `cargo xtask fuzz parse|census|words` runs many more rounds with fresh seeds.
//!
//! These are plain loops and no targets of `cargo fuzz`: they run wherever the tests run, and the
//! same seed makes the same texts.

use super::parser::{Origin, Parser};
use super::{bounds, braces, census};

/// Texts of the case files, one JSON string a line.
const TEXTS: &str = include_str!("../../tests/it/fixtures/case_commands.jsonl");
/// Recorded attacks, one object a line.
const ATTACKS: &str = include_str!("../../tests/it/fixtures/shell_attacks.jsonl");

/// Pieces that open, close or join something.
const PIECES: &[&str] = &[
    "$(",
    ")",
    "`",
    "\\`",
    "\"",
    "'",
    "$'",
    "$\"",
    "${",
    "}",
    "${x:-",
    "${#",
    "${!x[",
    "]}",
    "((",
    "))",
    "$((",
    "[[ ",
    " ]]",
    "<<E\n",
    "\nE\n",
    "<<-'E' ",
    "<<<",
    "<(",
    ">(",
    "\n",
    ";",
    ";;",
    ";&",
    "|",
    "||",
    "&",
    "&&",
    "|&",
    ">&",
    "{fd}>",
    "if ",
    "then ",
    "fi ",
    "for x in ",
    "for ((",
    "do ",
    "done ",
    "case x in ",
    "esac ",
    "select y in ",
    "while ",
    "function f ",
    "f() ",
    "coproc ",
    "time ",
    "! ",
    "{ ",
    " }",
    "(",
    "a=(",
    "a[",
    "]=",
    "x=",
    "x+=",
    "$x ",
    "$@",
    "\\\n",
    "\\",
    "{a,",
    "b}",
    "{1..",
    "3}",
    "*",
    "?(",
    "@(",
    "!(",
    "~",
    "#",
    " # ",
    "=~ ",
    "é",
    "\t",
    "rm ",
    "-rf ",
    "/ ",
    "eval ",
    "trap ",
    "bash -c ",
    "cat ",
    "echo ",
];

/// Xorshift: the same seed, the same texts.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Calls `run` with random texts: of pieces, of case texts and attacks cut and spliced, of bytes.
fn each_text(mut run: impl FnMut(&str)) {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or(otherwise)
    };
    let rounds = number("GUARDIAN_FUZZ_ROUNDS", 150);
    let mut random =
        Random(number("GUARDIAN_FUZZ_SEED", 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut corpus: Vec<String> = TEXTS
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for line in ATTACKS.lines() {
        let attack: serde_json::Value = serde_json::from_str(line).unwrap();
        corpus.push(attack["text"].as_str().unwrap().to_owned());
    }
    for _ in 0..rounds {
        run(&text(&corpus, &mut random));
    }
}

fn text(corpus: &[String], random: &mut Random) -> String {
    let pieces = |random: &mut Random| {
        (0..random.below(60))
            .map(|_| random.pick(PIECES))
            .collect::<String>()
    };
    match random.below(4) {
        0 => pieces(random),
        1 => {
            let (one, other) = (
                &corpus[random.below(corpus.len())],
                &corpus[random.below(corpus.len())],
            );
            let at = boundary(one, random);
            let cut = boundary(other, random);
            format!("{}{}{}", &one[..at], pieces(random), &other[cut..])
        }
        2 => {
            // One opener many times, with something between.
            let (opener, between) = (random.pick(PIECES), random.pick(PIECES));
            let count = 1 + random.below(400);
            format!("{opener}{between}").repeat(count)
        }
        _ => {
            let bytes: Vec<u8> = (0..random.below(200))
                .map(|_| random.pick(b"(){}[]<>|&;$`'\"\\#!*?=~-+@%^:,./ \n\tabx019"))
                .collect();
            String::from_utf8_lossy(&bytes).into_owned()
        }
    }
}

fn boundary(text: &str, random: &mut Random) -> usize {
    let mut at = random.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// What is noted lies in the text.
#[test]
fn fuzz_parse() {
    each_text(|text| {
        if bounds::check(text).is_some() {
            return;
        }
        let before = super::work::spent();
        let script = Parser::new(text, Origin::Offset(0), 0).script();
        let spent = super::work::spent() - before;
        let bytes = u64::try_from(text.len()).unwrap();
        assert!(spent <= bytes * 400 + 2_000, "{spent} steps for {text:?}");
        assert!(text.is_char_boundary(script.unread_from), "{text:?}");
        if let Some(problem) = &script.problem {
            assert!(problem.span.start <= problem.span.end, "{text:?}");
            assert!(problem.span.end <= text.len(), "{text:?}");
        }
        let stretches = script.trace.inert.iter().chain(&script.trace.heredocs);
        for (start, end) in stretches.chain(&script.trace.groups) {
            assert!(start <= end && *end <= text.len(), "{text:?}");
        }
    });
}

/// An opener of which the parser says nothing is found wherever it stands.
#[test]
fn fuzz_census() {
    each_text(|text| {
        if bounds::check(text).is_some() {
            return;
        }
        let mut script = Parser::new(text, Origin::Offset(0), 0).script();
        if script.problem.is_some() {
            return;
        }
        assert_eq!(census::check(text, &script.trace, Origin::Offset(0)), None);
        let Some(forgotten) = script.trace.live.pop() else {
            return;
        };
        let covered = |(start, end): &(usize, usize)| (*start..*end).contains(&forgotten);
        let is_opener = text[forgotten..].starts_with(['`', '$', '<', '>']);
        if script.trace.live.contains(&forgotten)
            || script.trace.inert.iter().any(covered)
            || !is_opener
        {
            return;
        }
        assert!(
            census::check(text, &script.trace, Origin::Offset(0)).is_some(),
            "the opener at {forgotten} is not missed in {text:?}"
        );
    });
}

/// A word that braces make is made of what stood there, and there are not too many.
#[test]
fn fuzz_words() {
    each_text(|text| {
        for word in text.split([' ', '\n']).take(40) {
            if let Ok(Some(words)) = braces::expand(word) {
                assert!(words.len() <= bounds::MAX_BRACE_WORDS, "{word:?}");
            }
            let before = super::work::spent();
            drop(Parser::new(word, Origin::Offset(0), 0).lone_word());
            drop(Parser::new(word, Origin::Offset(0), 0).quoted_text());
            let spent = super::work::spent() - before;
            let bytes = u64::try_from(word.len()).unwrap();
            assert!(spent <= bytes * 800 + 2_000, "{spent} steps for {word:?}");
        }
    });
}

/// Ten times the text takes no more than twelve times the work.
#[test]
fn fuzz_work() {
    each_text(|text| {
        let text = text.replace(['\r', '\0'], "");
        if text.len() > 1_500 || text.is_empty() {
            return;
        }
        // Even numbers of repeats: a quote that one leaves open the next one closes.
        let (once, ten) = (
            format!("{text}\n").repeat(4),
            format!("{text}\n").repeat(40),
        );
        let (small, large) = (
            super::work::tests::work(&once),
            super::work::tests::work(&ten),
        );
        assert!(
            large <= small * 12 + 8_000,
            "{small} steps, and {large} for ten times {text:?}"
        );
    });
}
