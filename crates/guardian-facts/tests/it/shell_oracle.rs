//! The oracle: bash itself runs generated programs with stub commands that log their argv. Every
//! logged command must be in the reading, or the reading must be Partial.
//!
//! `GUARDIAN_ORACLE_PROGRAMS` and `GUARDIAN_ORACLE_SEED` ask for more, and for others
//! (`cargo xtask fuzz shell`).

mod bash;
mod generate;
mod mutate;

use guardian_facts::{CommandFact, Effects, Facts, Reading, Word, WordPart};

use crate::support::Machine;
use bash::{Bash, Logged};

/// Does the logged command line fit the command fact?
fn fits(fact: &CommandFact, logged: &Logged) -> bool {
    let somewhere = fact
        .cwd
        .as_ref()
        .is_none_or(|cwd| cwd.to_str() == Some(logged.cwd.as_str()));
    let Some((program, args)) = logged.argv.split_first() else {
        return true;
    };
    if !somewhere {
        return false;
    }
    let logged = logged.argv.as_slice();
    let Some((first, rest)) = fact.argv.split_first() else {
        return false;
    };
    if first.may_split() {
        return words_fit(&fact.argv, logged);
    }
    let base = first
        .as_literal()
        .map(|text| text.rsplit('/').next().unwrap_or(text).to_owned());
    let program_fits = match base {
        Some(base) => base == *program,
        None => true,
    };
    program_fits && words_fit(rest, args)
}

fn words_fit(words: &[Word], args: &[String]) -> bool {
    let Some((word, rest)) = words.split_first() else {
        return args.is_empty();
    };
    if word.may_split() {
        // A pattern vanishes under `nullglob`.
        let is_glob = |part: &WordPart| matches!(part, WordPart::Glob(_));
        let least =
            usize::from(!word.literal_prefix().is_empty() && !word.parts.iter().any(is_glob));
        return (least..=args.len()).any(|count| {
            let head = args
                .first()
                .is_none_or(|arg| count == 0 || arg.starts_with(word.literal_prefix()));
            head && words_fit(rest, args.get(count..).unwrap_or(&[]))
        });
    }
    match args.split_first() {
        Some((arg, others)) => parts_fit(&word.parts, arg) && words_fit(rest, others),
        None => false,
    }
}

fn parts_fit(parts: &[WordPart], text: &str) -> bool {
    let Some((part, rest)) = parts.split_first() else {
        return text.is_empty();
    };
    match part {
        WordPart::Literal(known) => text
            .strip_prefix(known.as_str())
            .is_some_and(|text| parts_fit(rest, text)),
        _ if rest.is_empty() => part_fits(part, text),
        _ => (0..=text.len())
            .filter(|at| text.is_char_boundary(*at))
            .any(|at| {
                let (head, tail) = text.split_at(at);
                part_fits(part, head) && parts_fit(rest, tail)
            }),
    }
}

/// Does a text keep what is promised of a part that is not known?
fn part_fits(part: &WordPart, text: &str) -> bool {
    match part {
        WordPart::Unknown {
            integer,
            may_be_empty,
            may_split,
            ..
        } => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let may_be_nothing = *may_be_empty || *may_split;
            if text.is_empty() {
                may_be_nothing
            } else {
                !integer || whole
            }
        }
        WordPart::Literal(known) => known == text,
        WordPart::Glob(_) | WordPart::TemporaryPath => true,
    }
}

fn missing(facts: &Facts, log: &[Logged]) -> Option<Logged> {
    // What a shell reads from a file is not in the reading; the shell is opaque then.
    let opaque_wrapper = facts.commands.iter().any(|fact| {
        fact.effects_known == Effects::Opaque
            && match fact.program.name.as_deref() {
                Some("bash" | "sh") => true,
                Some("env" | "xargs") => !fact.wrapper,
                _ => false,
            }
    });
    if facts.reading == Reading::Partial || opaque_wrapper {
        return None;
    }
    log.iter()
        .find(|logged| !facts.commands.iter().any(|fact| fits(fact, logged)))
        .cloned()
}

fn miss(command: &Logged, program: &str) -> String {
    format!(
        "--- {:?} in {} is not in the reading of\n{program}\n",
        command.argv, command.cwd
    )
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

struct Count {
    programs: usize,
    complete: usize,
    logged: usize,
}

fn run(programs: impl Iterator<Item = String>) -> Count {
    let bash = Bash::new();
    let machine = Machine::new();
    let mut count = Count {
        programs: 0,
        complete: 0,
        logged: 0,
    };
    let mut misses = Vec::new();
    for program in programs {
        count.programs += 1;
        let facts = machine.read(&program);
        if facts.reading == Reading::Partial {
            continue;
        }
        count.complete += 1;
        let log = bash.run(&program);
        count.logged += log.len();
        if let Some(command) = missing(&facts, &log) {
            misses.push(miss(&command, &program));
            if misses.len() >= 12 {
                break;
            }
        }
    }
    assert!(
        misses.is_empty(),
        "{} misses:\n{}",
        misses.len(),
        misses.join("\n")
    );
    count
}

#[test]
fn no_executed_command_is_missing_from_a_complete_reading_of_generated_programs() {
    let seed = number("GUARDIAN_ORACLE_SEED", 1);
    let programs = number("GUARDIAN_ORACLE_PROGRAMS", 300);
    let count = run((0..programs).map(|index| generate::program(seed * 1_000_003 + index)));
    assert!(
        count.complete * 3 > count.programs,
        "only {} of {} are Complete",
        count.complete,
        count.programs
    );
    assert!(
        count.logged > count.complete,
        "only {} commands ran",
        count.logged
    );
}

#[test]
fn no_executed_command_is_missing_from_a_complete_reading_of_mutated_cases() {
    let seed = number("GUARDIAN_ORACLE_SEED", 1);
    let programs = number("GUARDIAN_ORACLE_PROGRAMS", 300);
    let count = run((0..programs).filter_map(|index| mutate::program(seed * 1_000_003 + index)));
    assert!(
        count.complete * 4 > count.programs,
        "only {} of {} are Complete",
        count.complete,
        count.programs
    );
}

/// An attack, and what bash ran when it was recorded.
#[derive(serde::Serialize, serde::Deserialize)]
struct Attack {
    text: String,
    ran: Vec<Logged>,
}

/// Texts that hide what they run, with what bash ran for them. Nobody may find a miss here,
/// however the command is hidden; most readings are Partial.
///
/// `GUARDIAN_ORACLE_RECORD=FILE` has bash run the texts of FILE (a JSON string a line) and adds
/// them to the fixture.
const ATTACKS: &str = "tests/it/fixtures/shell_attacks.jsonl";

#[test]
fn no_command_that_bash_ran_is_missing_from_a_complete_reading_of_attacks() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(ATTACKS);
    let mut fixture = std::fs::read_to_string(&path).unwrap();
    if let Ok(more) = std::env::var("GUARDIAN_ORACLE_RECORD") {
        let bash = Bash::new();
        for line in std::fs::read_to_string(more).unwrap().lines() {
            let text: String = serde_json::from_str(line).unwrap();
            let ran = bash.run(&text);
            fixture += &serde_json::to_string(&Attack { text, ran }).unwrap();
            fixture.push('\n');
        }
        std::fs::write(&path, &fixture).unwrap();
    }
    let machine = Machine::new();
    let mut misses = Vec::new();
    let (mut attacks, mut ran) = (0, 0);
    for line in fixture.lines() {
        let attack: Attack = serde_json::from_str(line).unwrap();
        attacks += 1;
        ran += attack.ran.len();
        if let Some(command) = missing(&machine.read(&attack.text), &attack.ran) {
            misses.push(miss(&command, &attack.text));
        }
    }
    assert!(
        misses.is_empty(),
        "{} misses:\n{}",
        misses.len(),
        misses.join("\n")
    );
    assert!(
        attacks > 1_000 && ran > attacks,
        "{attacks} attacks ran {ran} commands"
    );
}
