//! Text that a shell of its own reads: `bash -c`, `ssh host 'text'`, a script on standard input.

use std::rc::Rc;

use super::parser::Origin;
use super::reader::{Input, Reader};
use super::values::{self, Kind, Part, State, Text, Value};
use crate::opacity;
use crate::{Effect, Word};

/// What a shell reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    Bash,
    /// `sh`: bash, dash or another one.
    Posix,
    /// Not the language of this reading.
    Other,
}

impl Reader<'_> {
    /// Text that a shell of its own reads.
    pub(super) fn shell_text(
        &mut self,
        index: usize,
        text: &Word,
        elsewhere: bool,
        input: &Input,
        state: &State,
    ) {
        self.note_remote(index, text, input);
        if self.scope.appended {
            // They are its parameters, or take the place of its text.
            self.opaque(
                index,
                "appended-words",
                "words that are not known are handed to a shell",
            );
        }
        let Some(known) = text.as_literal() else {
            self.add_effect(index, Effect::RunsCode);
            let span = self.span_of(index);
            self.partial_at(
                span,
                opacity::UNKNOWN_SHELL_TEXT,
                "a shell runs text that is not known",
            );
            self.opaque(
                index,
                opacity::UNKNOWN_SHELL_TEXT,
                "it runs text that is not known",
            );
            let shown = text.display();
            self.scan_unread(&shown, Origin::Fixed(span), state);
            return;
        };
        let mut inner = State::new(state.cwd.as_deref());
        inner.environment = state.environment.clone();
        inner.environment.exports_all = false;
        inner.positional = None;
        if let Some((zero, operands)) = self.operands_behind(index, text) {
            inner.zero = zero.map(Rc::new);
            inner.positional = Some(Rc::new(operands));
        }
        inner.all_unknown = state.all_unknown;
        for (name, value) in state.all_assigned() {
            // Whether it is exported is not followed.
            let kind = match value {
                Value::Scalar(text)
                    if values::worst(text).is_none() && !values::spells_code(text) =>
                {
                    Kind::Benign
                }
                _ => Kind::Any,
            };
            inner.inherit(name, kind);
        }
        for name in state.environment.withheld() {
            inner.inherit(name, Kind::Benign);
        }
        if elsewhere {
            inner.cwd = None;
        }
        let known = known.to_owned();
        let language = self.language(index, elsewhere);
        let span = self.span_of(index);
        if language == Language::Other {
            self.partial_at(span, "dialect", "this shell's text is scanned, not read");
            self.opaque(index, "dialect", "it runs text of another shell");
            self.scan_unread(&known, Origin::Fixed(span), state);
            return;
        }
        if language == Language::Posix && super::posix::reads_otherwise(&known) {
            self.partial_at(
                span,
                "dialect",
                "`sh` may read this text in another way than bash does",
            );
        }
        self.scoped(
            |scope| {
                scope.posix = language == Language::Posix;
                scope.elsewhere |= elsewhere;
                scope.programs_only = false;
                scope.no_functions = false;
                scope.pipe_stage = 0;
                scope.pipe_stages = 1;
            },
            |reader| {
                let span = reader.span_of(index);
                let frames = std::mem::take(&mut reader.frames);
                reader.in_subshell(|reader| reader.text(&known, Origin::Fixed(span), inner));
                reader.frames = frames;
            },
        );
    }

    /// `$0` and `$1 …` of the text that a shell was given with `-c`: the words behind it.
    fn operands_behind(&self, index: usize, text: &Word) -> Option<(Option<Text>, Vec<Text>)> {
        let fact = self.facts.commands.get(index)?;
        let shells = ["bash", "rbash", "sh", "dash", "ash", "zsh", "ksh"];
        let name = fact.program.name.as_deref()?;
        let is_text = |word: &Word| word.parts == text.parts;
        if !shells.contains(&name)
            || self.scope.appended
            || fact.argv.iter().filter(|word| is_text(word)).count() != 1
        {
            return None;
        }
        let at = fact.argv.iter().position(is_text)?;
        let mut words = fact.argv.iter().skip(at + 1).map(|word| self.recall(word));
        let zero = words.next();
        let operands: Vec<Text> = words.collect();
        let uncertain = |text: &Text| {
            values::may_split(text) || text.iter().any(|part| matches!(part, Part::Glob(_)))
        };
        if zero.iter().chain(&operands).any(uncertain) {
            return None;
        }
        Some((zero, operands))
    }

    /// Which language the shell of the command at `index` reads.
    fn language(&self, index: usize, elsewhere: bool) -> Language {
        let name = self
            .facts
            .commands
            .get(index)
            .and_then(|fact| fact.program.name.as_deref());
        match name {
            Some("bash" | "rbash") => Language::Bash,
            Some(
                "zsh" | "fish" | "csh" | "tcsh" | "ksh" | "ksh93" | "mksh" | "oksh" | "pdksh"
                | "yash" | "nu" | "elvish" | "xonsh" | "osh" | "ion",
            ) => Language::Other,
            // What a login shell on the other side reads is asked about in any case.
            _ if elsewhere => Language::Bash,
            _ => Language::Posix,
        }
    }
}
