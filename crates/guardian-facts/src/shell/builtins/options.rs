//! `set` and `shopt`: options that change how the rest of a text is read.

use std::rc::Rc;

use super::could_be_option;
use crate::Effect;
use crate::opacity;
use crate::shell::reader::Reader;
use crate::shell::simple::Call;
use crate::shell::values::{self, Part, State, Text};

impl Reader<'_> {
    pub(super) fn set_options(&mut self, index: usize, call: &Call, state: &mut State) {
        let mut words = call.argv.iter().skip(1).peekable();
        let mut replaces = false;
        if words.peek().is_none() {
            self.add_effect(index, Effect::ReadsEnvironment);
            return;
        }
        while let Some(word) = words.peek() {
            let Some(text) = values::as_literal(word).map(str::to_owned) else {
                if could_be_option(word) {
                    self.partial_at(
                        call.span,
                        opacity::SHELL_OPTIONS,
                        "shell options that are not known",
                    );
                }
                break;
            };
            if text == "--" {
                words.next();
                replaces = true;
                break;
            }
            if !text.starts_with(['-', '+']) {
                break;
            }
            words.next();
            if text
                .get(1..)
                .is_some_and(|letters| letters.contains(['k', 'B', 'P', 'H', 'r', 'p', 'i']))
            {
                let reason = "a shell option changes how the rest is read";
                if text.contains(['k', 'B', 'H', 'p', 'r', 'i']) {
                    self.partial_at(call.span, opacity::SHELL_OPTIONS, reason);
                }
                if text.contains('P') {
                    state.cwd = None;
                }
            }
            let turned_on = text.starts_with('-');
            if text.contains('a') {
                state.environment.exports_all = turned_on;
            }
            if text.contains('o') {
                let option = words
                    .next()
                    .and_then(|word| values::as_literal(word).map(str::to_owned));
                if option.as_deref() == Some("allexport") {
                    state.environment.exports_all = turned_on;
                }
                match option.as_deref() {
                    Some(
                        "pipefail"
                        | "errexit"
                        | "nounset"
                        | "xtrace"
                        | "verbose"
                        | "noclobber"
                        | "noglob"
                        | "errtrace"
                        | "functrace"
                        | "monitor"
                        | "notify"
                        | "nolog"
                        | "ignoreeof"
                        | "allexport"
                        | "hashall"
                        | "interactive-comments"
                        | "emacs"
                        | "vi"
                        | "onecmd"
                        | "noexec",
                    ) => {}
                    None if call.argv.len() == 2 => {}
                    Some("physical") => state.cwd = None,
                    _ => self.partial_at(
                        call.span,
                        opacity::SHELL_OPTIONS,
                        "a shell option changes how the rest is read",
                    ),
                }
            }
        }
        let rest: Vec<Text> = words.cloned().collect();
        if replaces || !rest.is_empty() {
            let unknown = rest.iter().any(|text| {
                values::may_split(text) || text.iter().any(|part| matches!(part, Part::Glob(_)))
            });
            state.positional = if unknown { None } else { Some(Rc::new(rest)) };
        }
    }

    pub(super) fn shopt(&mut self, _index: usize, call: &Call, state: &mut State) {
        for word in call.argv.iter().skip(1) {
            match values::as_literal(word) {
                Some(
                    "-s" | "-u" | "-q" | "-p" | "extglob" | "nocasematch" | "inherit_errexit"
                    | "globasciiranges" | "huponexit" | "checkwinsize" | "cmdhist" | "histappend"
                    | "login_shell",
                ) => {}
                Some("lastpipe") => state.lastpipe = true,
                Some("globstar") => self.globstar = true,
                Some("nullglob") => self.nullglob = true,
                _ => self.partial_at(
                    call.span,
                    opacity::SHELL_OPTIONS,
                    "a shell option changes how the rest is read",
                ),
            }
        }
    }
}
