//! Strings in code that are paths no tool may touch: `python3 -c "open('/etc/shadow')"`, the program
//! of an `awk` that is not proven, `vim -c ':r ~/.ssh/id_rsa'`, a script.
//!
//! Part of the loose reading: a hit only raises to ask (SPEC §6.1). Names that code puts together
//! are not found; only a sandbox binds those.

use super::loose::{MAX_CANDIDATES, MAX_FINDINGS, is_dangerous, read_candidate};
use super::reader::Reader;
use super::values::State;
use crate::command::{Effects, Stdin};
use crate::{LooseFinding, opacity};

/// What stands around a string in the languages that are handed to programs.
const BETWEEN: [char; 22] = [
    '"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', ' ', '\t', '\n', '\r', ',', ';', '=',
    '@', '|', '&', '!',
];

impl Reader<'_> {
    /// Looks through the words and the input of a command that may take them for code.
    pub(super) fn scan_words_for_paths(&mut self, index: usize, stdin: &Stdin) {
        let Some(fact) = self.facts.commands.get(index) else {
            return;
        };
        let takes_code = |code: &str| !opacity::SAYS_NOTHING_OF_WORDS.contains(&code);
        let may_be_code = fact.effects_known == Effects::Opaque
            && self
                .facts
                .opacity
                .iter()
                .any(|opacity| opacity.command == Some(index) && takes_code(opacity.code));
        let name = fact.program.name.as_deref().unwrap_or_default();
        if !may_be_code || opacity::TAKES_PROSE.contains(&name) {
            return;
        }
        let mut texts: Vec<String> = fact
            .argv
            .iter()
            .skip(1)
            .take(MAX_CANDIDATES)
            .map(crate::Word::display)
            // A word that is nothing else is among the accesses.
            .filter(|word| word.contains('/') && (word.contains(BETWEEN) || word.contains(':')))
            .collect();
        if let Stdin::Text(text) = stdin {
            texts.push(text.display());
        }
        for text in texts {
            self.scan_inline_paths(&text, index);
        }
    }

    /// Looks in code for strings that are paths no tool may touch.
    pub(super) fn scan_inline_paths(&mut self, text: &str, index: usize) {
        if !text.contains('/') {
            return;
        }
        let span = self.span_of(index);
        let cwd = self
            .facts
            .commands
            .get(index)
            .and_then(|fact| fact.cwd.clone());
        let state = State::new(cwd.as_deref());
        let mut looked_at = 0;
        for piece in text.split(BETWEEN).flat_map(pieces) {
            if self.facts.findings.len() >= MAX_FINDINGS || looked_at >= MAX_CANDIDATES {
                return;
            }
            let piece = piece.trim_end_matches('.');
            if !self.is_worth_a_look(piece) || self.found_already(piece, index) {
                continue;
            }
            looked_at += 1;
            let facts = read_candidate(self.cx, &format!("cat {piece}"), span, &state);
            if is_dangerous(&facts) {
                self.facts.findings.push(LooseFinding {
                    span,
                    words: vec![piece.to_owned()],
                    facts: Box::new(facts),
                    command_position: false,
                });
            }
        }
    }

    /// A path that stands somewhere by itself, or one that is sensitive wherever it stands
    /// (`home + "/.ssh/id_rsa"`, `join(home, ".aws/credentials")`).
    fn is_worth_a_look(&self, piece: &str) -> bool {
        let is_path = piece.len() > 1
            && piece.contains('/')
            && !piece.contains(['$', '\\', '*', '?', '#', '%', '^']);
        if !is_path {
            return false;
        }
        let leaves = |start: &str| piece.starts_with(start);
        if leaves("/") || leaves("~") || leaves("../") || piece.contains("/../") {
            return true;
        }
        let roots = &self.cx.roots;
        let place = roots.home.join(piece);
        self.cx.classes.classify(&place, &roots.home).sensitive
    }

    fn found_already(&self, piece: &str, index: usize) -> bool {
        let span = self.span_of(index);
        self.facts
            .findings
            .iter()
            .any(|finding| finding.span == span && finding.words == [piece])
    }
}

/// What a colon sets apart (`SOURCE:TARGET`), where it is not part of a URL.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let text = text.strip_prefix("file://").unwrap_or(text);
    let text = if text.contains("://") { "" } else { text };
    text.split(':')
}
