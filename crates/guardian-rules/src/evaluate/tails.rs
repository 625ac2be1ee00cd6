//! Commands that a program may run from its words: the tail of an unknown wrapper (SPEC §6.1
//! "Unknown wrapper: its tail counts for deny and ask, never for allow"), text that it may hand to
//! a shell, and other spellings of the same command.
//!
//! Only deny and ask rules hear of it, and they answer "might" at most.

use guardian_facts::catalogue::Catalogue;
use guardian_facts::command::{Effect, Effects};
use guardian_facts::opacity;
use guardian_facts::{CommandFact, Facts, ProgramForm, Span, Word, WordPart};

/// Suffixes of one call that are looked at; what stands behind them is one unknown command.
const MAX_TAILS: usize = 512;

/// Causes for which a command is opaque although its words were read by a table: none of them says
/// that a word may be run. Every other cause does.
const WORDS_ARE_KNOWN: &[&str] = &[
    "absolute-names",
    "backup-path",
    opacity::CODE_FILE,
    "default-protocol",
    opacity::EXECUTION_VARIABLE,
    "file-url",
    "git-config",
    "git-hooks",
    "git-untracked",
    "jq-module",
    opacity::LINK,
    "names-from-file",
    "page-from-file",
    "runs-found-files",
    "runs-found-names",
    "sql-from-input",
    "sql-function",
    "sql-into",
    "sql-view",
    opacity::STDIN_CODE,
    "tool-version",
    "unknown-operand",
    "unknown-sql",
    "word-may-be-flag",
    "write-out",
    "yq-load",
];

/// Programs whose words are names of targets, scripts and tests, so that one word alone (`make
/// docker`) says nothing of a program.
const NAMES_TARGETS: &[&str] = &[
    "make",
    "gmake",
    "ninja",
    "just",
    "task",
    "rake",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "deno",
    "cargo",
    "go",
    "mvn",
    "gradle",
    "gradlew",
    "pytest",
    "jest",
    "vitest",
    "mocha",
    "cmake",
    "ctest",
    "docker",
    "podman",
    "kubectl",
    "terraform",
    "git",
    "bazel",
    "tox",
    "nox",
    "turbo",
    "nx",
];

/// Words behind which a command stands.
const STARTS_COMMAND: &[&str] = &["--", "exec", "-c", "-e", "-x", ":::", "--exec", "--run"];

/// Flags of git whose value is prose.
pub(super) const GIT_PROSE: &[&str] = &[
    "-m",
    "--message",
    "--grep",
    "--author",
    "--date",
    "--trailer",
    "-S",
    "-G",
];

/// A command that may run.
#[derive(Debug, Clone)]
pub(crate) struct Tail {
    /// As if it ran by itself.
    pub(crate) command: CommandFact,
    /// Only a rule that names more than a program may take it for a command.
    pub(crate) needs_words: bool,
}

/// The commands that the words of these commands may be.
pub(crate) fn commands(facts: &Facts) -> Vec<Tail> {
    let mut found = Vec::new();
    for (index, command) in facts.commands.iter().enumerate() {
        other_spellings(command, &mut found);
        super::hidden_tails::add(facts, index, command, &mut found);
        if may_run_words(facts, index, command) {
            tails(command, &mut found);
        }
        if found.len() > MAX_TAILS {
            found.truncate(MAX_TAILS);
            found.push(Tail {
                command: made(command, vec![unknown(command.span)]),
                needs_words: false,
            });
            break;
        }
    }
    found
}

/// The same command in the other spellings that the catalogue knows (`npm i` for `npm install`).
pub(crate) fn same(command: &CommandFact) -> Vec<CommandFact> {
    if command.program.form == ProgramForm::Function {
        return Vec::new();
    }
    let Some(name) = command.program.name.as_deref() else {
        return Vec::new();
    };
    let mut argv = command.argv.clone();
    if let Some(first) = argv.first_mut() {
        *first = Word::literal(name, first.span);
    }
    Catalogue::builtin()
        .other_forms(&argv)
        .into_iter()
        .map(|argv| CommandFact {
            effects: command.effects.clone(),
            ..made(command, argv)
        })
        .collect()
}

pub(super) fn may_run_words(facts: &Facts, index: usize, command: &CommandFact) -> bool {
    let name = command.program.name.as_deref().unwrap_or_default();
    if command.effects_known == Effects::Known
        || command.program.form == ProgramForm::Function
        || opacity::TAKES_PROSE.contains(&name)
    {
        return false;
    }
    let runs = [
        Effect::RunsCode,
        Effect::RunsProjectCode,
        Effect::RunsRemoteCode,
    ];
    let says_run = || {
        let mut words = command.argv.iter().skip(1).filter_map(Word::as_literal);
        words.any(|word| matches!(word, "run" | "exec" | "x"))
    };
    if command.has(Effect::Installs)
        && !runs.iter().any(|effect| command.has(*effect))
        && !says_run()
    {
        return false;
    }
    let mut causes = facts
        .opacity
        .iter()
        .filter(|opacity| opacity.command == Some(index))
        .peekable();
    causes.peek().is_none() || causes.any(|cause| !WORDS_ARE_KNOWN.contains(&cause.code))
}

/// Every suffix of the words, and what stands inside single words.
fn tails(command: &CommandFact, found: &mut Vec<Tail>) {
    let name = command.program.name.as_deref().unwrap_or_default();
    let names_targets = NAMES_TARGETS.contains(&name);
    let mut started = false;
    for (at, word) in command.argv.iter().enumerate().skip(1) {
        if found.len() > MAX_TAILS {
            return;
        }
        let before = command
            .argv
            .get(at - 1)
            .and_then(Word::as_literal)
            .unwrap_or_default();
        started |= at > 1 && STARTS_COMMAND.contains(&before);
        if name == "git" && GIT_PROSE.contains(&before) {
            continue;
        }
        let Some(text) = word.as_literal() else {
            continue;
        };
        if text.contains([' ', '\t', '\n', '(', ';', '|', '&', '`', ',']) {
            inside(command, text, found);
            // `-O'git push'`
            if text.starts_with('-') && !text.starts_with("--") {
                inside(command, text.get(2..).unwrap_or_default(), found);
            }
            continue;
        }
        // `parallel git ::: push`: what separates the words of a runner is no word of the command
        let rest = command.argv.get(at..).unwrap_or_default();
        let kept = rest.iter().filter(|word| {
            !word
                .as_literal()
                .is_some_and(|text| text == "--" || text.starts_with(":::"))
        });
        let argv: Vec<Word> = kept.cloned().collect();
        if !text.starts_with('-') {
            found.push(Tail {
                command: made(command, argv),
                needs_words: names_targets && !started,
            });
        }
    }
}

/// Commands inside one word, read loosely: quotes, commas and brackets are blanks, so that
/// `['git', 'push']` is `git push`.
pub(super) fn inside(command: &CommandFact, text: &str, found: &mut Vec<Tail>) {
    let lower = text.to_ascii_lowercase();
    let calls = [
        "system",
        "exec",
        "spawn",
        "popen",
        "subprocess",
        "run(",
        "shell",
        "getline",
    ];
    let runs = calls.iter().any(|call| lower.contains(call));
    let is_code = text.contains(['(', '{', '"']);
    for piece in text.split(['\n', ';', '&', '|', '(', ')', '{', '}', '`']) {
        let words: Vec<&str> = piece
            .split(|character: char| {
                character.is_whitespace()
                    || matches!(
                        character,
                        '\'' | '"' | ',' | '[' | ']' | '!' | '=' | '/' | '\\'
                    )
            })
            .filter(|word| !word.is_empty())
            .collect();
        for at in 0..words.len() {
            if found.len() > MAX_TAILS {
                return;
            }
            let argv = words
                .get(at..)
                .unwrap_or_default()
                .iter()
                .map(|word| Word::literal(*word, command.span))
                .collect();
            found.push(Tail {
                command: made(command, argv),
                // one word of prose or of a program says nothing
                needs_words: at > 0 || (is_code && !runs),
            });
        }
    }
}

/// What may be the same command under another spelling: `kubectl-x`, an alias that is given on the
/// command line.
fn other_spellings(command: &CommandFact, found: &mut Vec<Tail>) {
    let Some(name) = command.program.name.as_deref() else {
        return;
    };
    let rest = command.argv.get(1..).unwrap_or_default();
    let mut add = |argv: Vec<Word>| {
        found.push(Tail {
            command: made(command, argv),
            needs_words: true,
        });
    };
    let literal = |text: &str| Word::literal(text, command.span);
    if let Some((program, sub)) = name.split_once('-')
        && matches!(program, "docker" | "kubectl" | "npm")
    {
        let mut argv = vec![literal(program), literal(sub)];
        argv.extend(rest.iter().cloned());
        add(argv);
    }
    if name == "git" {
        for (at, word) in rest.iter().enumerate() {
            let alias = word.as_literal().and_then(|text| {
                text.trim_start_matches("-c")
                    .strip_prefix("alias.")?
                    .split_once('=')
            });
            if let Some((alias, value)) = alias {
                let mut argv = vec![literal("git")];
                argv.extend(value.split_ascii_whitespace().map(literal));
                let tail = rest.iter().skip(at + 1);
                argv.extend(
                    tail.filter(|word| word.as_literal() != Some(alias))
                        .cloned(),
                );
                add(argv);
            }
        }
    }
}

pub(super) fn unknown(span: Span) -> Word {
    Word {
        parts: vec![WordPart::Unknown {
            written: "…".to_owned(),
            may_be_empty: false,
            may_split: true,
            integer: false,
        }],
        span,
    }
}

/// The command of these words, where the other one stands.
pub(super) fn made(command: &CommandFact, argv: Vec<Word>) -> CommandFact {
    let mut tail = command.clone();
    let written = argv.first().map(Word::display).unwrap_or_default();
    let base = argv
        .first()
        .and_then(Word::as_literal)
        .map(|text| text.rsplit('/').next().unwrap_or(text))
        // `npm@latest`
        .map(|text| {
            text.split('@')
                .next()
                .filter(|name| !name.is_empty())
                .unwrap_or(text)
        })
        .map(str::to_owned);
    tail.program.form = match &base {
        None => ProgramForm::Unknown,
        Some(_) if written.starts_with('/') => ProgramForm::Absolute,
        Some(_) if written.contains('/') => ProgramForm::Relative,
        Some(_) => ProgramForm::Bare,
    };
    tail.program.written = written;
    tail.program.name = base;
    tail.program.path = None;
    tail.argv = argv;
    tail.effects.clear();
    tail
}
