//! The loose reading: a literal scan for danger in text that the strict reading does not cover.
//!
//! It proves nothing. In unread shell text a hit in command position may deny; in opaque text
//! (code in another language, a script file) a hit only raises to ask.

use super::parser::{Origin, Parser};
use super::reader::Reader;
use super::values::State;
use crate::opacity;
use crate::{AccessDetail, Effect, FactContext, Facts, LooseFinding, Span, Target};

/// Findings of one call.
pub(super) const MAX_FINDINGS: usize = 16;
/// Candidates that are looked at in one text.
pub(super) const MAX_CANDIDATES: usize = 256;
/// Longest candidate, in bytes.
const MAX_CANDIDATE: usize = 2048;

/// Programs whose appearance in a text is worth a look.
const DANGEROUS: [&str; 36] = [
    "guardian",
    "guardian-supervisor",
    "rm",
    "rmdir",
    "dd",
    "mkfs",
    "shred",
    "wipefs",
    "blkdiscard",
    "chmod",
    "chown",
    "chgrp",
    "mv",
    "truncate",
    "find",
    "git",
    "sudo",
    "doas",
    "su",
    "curl",
    "wget",
    "nc",
    "ncat",
    "ssh",
    "scp",
    "tee",
    "kill",
    "pkill",
    "killall",
    "shutdown",
    "reboot",
    "crontab",
    "systemctl",
    "bash",
    "sh",
    "eval",
];

/// Words in front of a command that do not change what it is.
const SKIPPED: [&str; 14] = [
    "then", "do", "else", "elif", "if", "while", "until", "!", "{", "time", "exec", "command",
    "builtin", "in",
];

/// What cannot be told in a call where code runs that was not read; any text of the call may be it.
const UNKNOWN_CODE: [&str; 6] = [
    opacity::UNKNOWN_PROGRAM,
    opacity::UNKNOWN_SHELL_TEXT,
    opacity::STDIN_CODE,
    opacity::ALIAS,
    opacity::HASH,
    opacity::UNLISTED_SUBCOMMAND,
];

/// Words in front of a text that is printed, for whoever runs it.
const PRINTS: [&str; 4] = ["echo", "printf", "-e", "-n"];

impl Reader<'_> {
    /// Where code runs that is not known, everything that stands in the call may be it: the words
    /// that `echo` prints, the text of a variable, an alias of git.
    pub(super) fn scan_for_unknown_code(&mut self, text: &str) {
        let runs_unknown = self.facts.opacity.iter().find(|opacity| {
            UNKNOWN_CODE.contains(&opacity.code)
                || (opacity.code == opacity::CODE_FILE && opacity.reason.starts_with("which file"))
        });
        let Some(opacity) = runs_unknown else { return };
        let index = opacity.command.unwrap_or(0);
        let cwd = self
            .facts
            .commands
            .get(index)
            .and_then(|fact| fact.cwd.clone());
        let state = State::new(cwd.as_deref());
        self.scan(text, Some(Origin::Offset(0)), &state, Certain::Strict);
    }

    /// Commands under a name that was given to others: what they are put together.
    pub(super) fn scan_renamed(&mut self) {
        let renames = std::mem::take(&mut self.renames);
        let mut found = Vec::new();
        for (name, words) in &renames {
            for (index, fact) in self.facts.commands.iter().enumerate() {
                if fact.program.written == *name && found.len() < MAX_CANDIDATES {
                    let rest = fact.argv.iter().skip(1).map(crate::Word::display);
                    let text: Vec<String> = [words.clone()].into_iter().chain(rest).collect();
                    found.push((index, text.join(" ")));
                }
            }
        }
        for (index, text) in found {
            self.scan_opaque(&text, index);
        }
    }

    /// Scans shell text that could not be read: hits in command position count.
    pub(super) fn scan_unread(&mut self, text: &str, origin: Origin, state: &State) {
        self.scan(text, Some(origin), state, Certain::CommandPosition);
    }

    /// Scans code in another language, or a file.
    pub(super) fn scan_opaque(&mut self, text: &str, index: usize) {
        let span = self.span_of(index);
        let cwd = self
            .facts
            .commands
            .get(index)
            .and_then(|fact| fact.cwd.clone());
        let state = State::new(cwd.as_deref());
        self.scan(text, Some(Origin::Fixed(span)), &state, Certain::Nothing);
    }

    /// The words of a program of which nothing is known, or of one that runs commands without a flag
    /// table: what of them is dangerous when it runs (SPEC §6.1 "Unknown wrapper").
    pub(super) fn scan_tail(&mut self, index: usize) {
        if self.texts > 4 || !self.words_may_run(index) {
            return;
        }
        let Some(fact) = self.facts.commands.get(index) else {
            return;
        };
        let words: Vec<String> = fact
            .argv
            .iter()
            .skip(1)
            .take(MAX_CANDIDATES)
            .map(crate::Word::display)
            .collect();
        let mut texts = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let name = word.rsplit('/').next().unwrap_or(word);
            if word.contains(' ') {
                texts.push(word.clone());
            } else if DANGEROUS.contains(&name) {
                texts.push(words.get(at..).unwrap_or_default().join(" "));
            }
        }
        for text in texts {
            self.scan_opaque(&text, index);
        }
    }

    fn words_may_run(&self, index: usize) -> bool {
        self.facts.opacity.iter().any(|opacity| {
            opacity.command == Some(index)
                && matches!(
                    opacity.code,
                    opacity::UNLISTED_PROGRAM
                        | opacity::OPAQUE_PROGRAM
                        | opacity::PROJECT_CODE
                        | opacity::AWK_PROGRAM
                )
        }) && self.facts.commands.get(index).is_some_and(|fact| {
            !opacity::TAKES_PROSE.contains(&fact.program.name.as_deref().unwrap_or_default())
                && (!fact.has(Effect::Installs)
                    || fact.has(Effect::RunsCode)
                    || fact.has(Effect::RunsRemoteCode))
        })
    }

    fn scan(&mut self, text: &str, origin: Option<Origin>, state: &State, certain: Certain) {
        if self.texts > 4 {
            return;
        }
        let command_position = certain == Certain::CommandPosition;
        let mut seen = Vec::new();
        for (start, candidate) in candidates(text, command_position) {
            if self.facts.findings.len() >= MAX_FINDINGS {
                return;
            }
            if seen.contains(&candidate) {
                continue;
            }
            seen.push(candidate);
            if certain == Certain::Strict && self.was_read(start, candidate) {
                continue;
            }
            let span = match origin {
                Some(Origin::Offset(offset)) => Span {
                    start: offset + start,
                    end: offset + start + candidate.len(),
                },
                Some(Origin::Fixed(span)) => span,
                None => Span {
                    start,
                    end: start + candidate.len(),
                },
            };
            let facts = read_candidate(self.cx, candidate, span, state);
            if is_dangerous(&facts) {
                let words = candidate
                    .split_ascii_whitespace()
                    .map(str::to_owned)
                    .collect();
                let facts = Box::new(facts);
                self.facts.findings.push(LooseFinding {
                    span,
                    words,
                    facts,
                    command_position,
                });
            }
        }
    }
}

impl Reader<'_> {
    /// The strict reading has this very command, in its own place.
    fn was_read(&self, start: usize, candidate: &str) -> bool {
        let mut words = candidate.split_ascii_whitespace();
        let (Some(program), argument) = (words.next(), words.next()) else {
            return false;
        };
        self.facts.commands.iter().any(|fact| {
            let same = |argument: &str| {
                fact.argv
                    .get(1)
                    .is_some_and(|word| word.display() == argument)
            };
            (fact.span.start..fact.span.end).contains(&start)
                && fact.program.written == program
                && (fact.span.start == start || argument.is_none_or(same))
        })
    }
}

/// What is certain of a text that is scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Certain {
    /// What stands in command position would run.
    CommandPosition,
    /// The strict reading has its commands; what else stands there may run.
    Strict,
    /// Nothing.
    Nothing,
}

/// Reads one candidate by itself, without looking into what it nests.
pub(super) fn read_candidate(cx: &FactContext<'_>, text: &str, span: Span, state: &State) -> Facts {
    let mut reader = Reader::new(cx);
    reader.texts = 5;
    let script = Parser::new(text, Origin::Fixed(span), 0).script();
    let mut state = state.clone();
    state.functions = std::rc::Rc::default();
    reader.list(&script.list, state);
    reader.facts.findings.clear();
    reader.facts.summary = super::summary::summary(&reader.facts, cx);
    reader.facts
}

/// The facts name something that cannot be had back or that the floor knows.
pub(super) fn is_dangerous(facts: &Facts) -> bool {
    let effects = [
        Effect::Destructive,
        Effect::Privilege,
        Effect::ForkBomb,
        Effect::RunsRemoteCode,
        Effect::SystemChange,
        Effect::Persistence,
        Effect::HistoryRewrite,
        Effect::Publishes,
    ];
    let runs_guardian = |command: &crate::CommandFact| {
        let name = command.program.name.as_deref();
        matches!(name, Some("guardian" | "guardian-supervisor"))
    };
    facts
        .commands
        .iter()
        .any(|command| runs_guardian(command) || effects.iter().any(|effect| command.has(*effect)))
        || facts.accesses.iter().any(|access| {
            let sensitive = match &access.target {
                Target::Exact(path) => path.sensitivity.sensitive || path.sensitivity.guardian,
                Target::Pattern { .. } | Target::Unknown { .. } => false,
            };
            sensitive
                || (access.is_change()
                    && (access.recursive
                        || access.kind == crate::AccessKind::Delete
                        || access.detail == AccessDetail::Device))
        })
}

/// Stretches of a text that look like commands of a dangerous program.
fn candidates(text: &str, command_position: bool) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let separators: &[char] = if command_position {
        &['\n', ';', '&', '|', '(', ')', '`', '{', '}']
    } else {
        &[
            '\n', ';', '&', '|', '(', ')', '`', '{', '}', '"', '\'', ',', '[', ']', '!',
        ]
    };
    for piece in text.split(separators) {
        if found.len() >= MAX_CANDIDATES {
            break;
        }
        let offset = piece.as_ptr() as usize - text.as_ptr() as usize;
        if let Some(candidate) = candidate(piece, command_position)
            && candidate.len() <= MAX_CANDIDATE
        {
            let within = candidate.as_ptr() as usize - piece.as_ptr() as usize;
            found.push((offset + within, candidate));
        }
    }
    if command_position {
        // `rm -rf "a;b"`: separators inside quotes cut too much; whole lines count as well.
        for line in text.lines() {
            if found.len() >= MAX_CANDIDATES {
                break;
            }
            if line.contains(['"', '\''])
                && let Some(candidate) = candidate(line, command_position)
                && candidate.len() <= MAX_CANDIDATE
            {
                let offset = candidate.as_ptr() as usize - text.as_ptr() as usize;
                found.push((offset, candidate));
            }
        }
    }
    found
}

/// The command in a stretch: behind keywords and assignments, when its program is on the list.
fn candidate(piece: &str, command_position: bool) -> Option<&str> {
    let mut rest = piece.trim();
    for _ in 0..8 {
        let word = rest.split_ascii_whitespace().next()?;
        let bare = word.trim_matches(|character| matches!(character, '"' | '\'' | '\\'));
        let base = bare.rsplit('/').next().unwrap_or(bare);
        let name = base.split('.').next().unwrap_or(base);
        if DANGEROUS.contains(&name) {
            return Some(rest);
        }
        let skip = SKIPPED.contains(&word)
            || (!command_position && PRINTS.contains(&word))
            || word
                .split_once('=')
                .is_some_and(|(name, _)| super::expand::is_name(name));
        if !skip {
            return None;
        }
        rest = rest.get(word.len()..)?.trim_start();
    }
    None
}
