//! Reading shell text: from the text of a `Bash` call to its [`Facts`] (SPEC §6.1).
//!
//! Two readings of the same text. The *strict* one may prove a command harmless: a parser that
//! refuses whatever it does not understand exactly as bash does (`parser`), a census of the
//! bytes that checks the parser (`census`), a second parser that must not see more commands
//! (`second_opinion`), and a walk over the tree that follows values, the working directory and
//! functions (`control`, `simple`, `builtins`). The *loose* one (`loose`) scans what the
//! strict one did not cover, and can only find danger.
//!
//! The promise, tested against bash itself with stub commands: where [`Facts::reading`] is
//! Complete, no command runs that is not among the facts.

mod arithmetic;
mod assignments;
mod bounds;
mod braces;
mod builtins;
mod census;
mod child_shell;
mod control;
mod environment;
mod expand;
mod fork_bomb;
mod functions;
#[cfg(test)]
mod fuzz;
mod git_config;
mod git_files;
mod git_ignored;
mod git_index;
mod git_names;
mod git_untracked;
mod give_up;
mod hosts;
mod inline_paths;
mod limits;
mod loose;
mod named;
mod nested;
mod new_names;
mod operands;
mod outputs;
mod parameters;
mod parser;
mod place;
mod posix;
mod printed;
mod read_builtins;
mod reader;
mod redirects;
mod revisions;
mod running;
mod second_opinion;
mod simple;
mod summary;
mod syntax;
mod tool_versions;
mod values;
mod work;
mod wrappers;

use std::path::Path;
use std::rc::Rc;

use crate::{FactContext, Facts, Span};
pub use hosts::hosts_in;
use parser::Origin;
use reader::Reader;
use values::State;

/// The language of a shell text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// GNU bash 5; POSIX `sh` text is read as bash.
    Bash,
    /// PowerShell: never Complete.
    PowerShell,
    /// Windows `cmd`: never Complete.
    Cmd,
}

/// Reads the text of a `Bash` call that starts in `cwd` (absolute).
///
/// Total: never fails. What could not be read makes [`Facts::reading`] Partial.
#[must_use]
pub fn read(command: &str, cwd: &Path, cx: &FactContext<'_>) -> Facts {
    read_dialect(Dialect::Bash, command, cwd, cx)
}

/// [`read`] for a shell of another dialect (SPEC §10: the shell that the turn has pinned).
#[must_use]
pub fn read_dialect(dialect: Dialect, command: &str, cwd: &Path, cx: &FactContext<'_>) -> Facts {
    let mut reader = Reader::new(cx);
    let state = State::new(Some(cwd));
    match dialect {
        Dialect::Bash => {
            reader.text(command, Origin::Offset(0), state);
            reader.uncalled_functions();
            reader.scan_renamed();
            reader.scan_for_unknown_code(command);
            reader.listing_accesses();
        }
        Dialect::PowerShell | Dialect::Cmd => {
            let span = Span {
                start: 0,
                end: command.len(),
            };
            let name = if dialect == Dialect::Cmd {
                "cmd"
            } else {
                "PowerShell"
            };
            reader.partial_at(span, "dialect", format!("{name} text is scanned, not read"));
            reader.scan_unread(command, Origin::Offset(0), &state);
        }
    }
    let mut facts = reader.facts;
    new_names::follow(&mut facts, cx);
    git_ignored::fill(&mut facts, cx);
    facts.definitions = crate::definitions::of(&facts, cx);
    facts.summary = summary::summary(&facts, cx);
    facts
}

impl Reader<'_> {
    /// Reads the bodies of functions that nothing is seen to call, with values unknown: something
    /// that was not followed may call them.
    fn uncalled_functions(&mut self) {
        let mut at = 0;
        while let Some((name, body)) = self.defined.get(at).cloned() {
            at += 1;
            // What the shell itself calls has been seen with other words than it will get.
            let defined_later = self
                .trapped_anytime
                .get(&name)
                .is_some_and(|defined| at > *defined);
            if defined_later {
                self.partial_at(
                    Span { start: 0, end: 0 },
                    "trap",
                    "a trap may call a function between two commands",
                );
            }
            let implicit = self.trapped.contains(&name) || name.starts_with("command_not_found");
            if !implicit && self.called.contains(&(Rc::as_ptr(&body) as usize)) {
                continue;
            }
            self.called.insert(Rc::as_ptr(&body) as usize);
            let mut state = State::new(None);
            state.forget();
            self.scoped(
                |scope| scope.conditional = true,
                |reader| reader.command(&body, state),
            );
        }
    }
}
