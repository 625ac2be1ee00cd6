//! The command catalogue: what programs do, by name, subcommand and flag, as data
//! (`config/commands/*.toml`) plus a small real grammar where data is not enough.
//!
//! A [`Catalogue`] is asked once per simple command ([`Catalogue::judge`]). Everything that the
//! tables do not list is opaque: an unlisted program, an unlisted flag, a word that could turn
//! into a flag that does more than read. A table entry is a claim that the listed flags do nothing
//! beyond what is written there.

mod apply;
mod awk;
mod builtins;
mod curl;
mod find;
#[cfg(test)]
mod fuzz;
mod git;
mod git_files;
mod interpreters;
mod jq;
mod page;
mod registry;
mod same;
mod scan;
mod schema;
mod search;
mod sed;
mod small;
mod spellings;
mod sql;
mod system;
mod tar;
mod values;
mod wrappers;

#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use crate::command::{Invocation, Judgement};
use crate::{Effect, Effects};

pub use page::catalogue_page;
use registry::Registry;
use schema::{Entry, EntryData, Grammar};

/// The compiled catalogue.
pub struct Catalogue {
    registry: Registry,
}

/// A user's entries could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("command catalogue: {message}")]
pub struct CatalogueError {
    message: String,
}

impl Catalogue {
    /// The embedded catalogue. Indexed once per process; entries are compiled on first use.
    #[must_use]
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Catalogue> = OnceLock::new();
        BUILTIN.get_or_init(|| Self {
            registry: Registry::builtin(),
        })
    }

    /// The embedded catalogue plus a user's entries, in the format of `config/commands/*.toml`.
    /// An entry with the name of an embedded one replaces it.
    ///
    /// The text must come from the user's or a managed configuration: an entry can make a command
    /// look harmless (SPEC §7.2 forbids the key in a workspace file).
    ///
    /// # Errors
    /// When the text is not TOML or an entry does not fit the schema.
    pub fn with_user_entries(text: &str) -> Result<Self, CatalogueError> {
        Self::with_user_files([("", text)])
    }

    /// [`Self::with_user_entries`] for several files, by name; a later one replaces the entries of
    /// one before. Nobody replaces what is known of guardian itself.
    ///
    /// # Errors
    /// As there, with the name of the file.
    pub fn with_user_files<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, CatalogueError> {
        let mut registry = Registry::builtin();
        for (name, text) in files {
            let fault = |message: String| CatalogueError {
                message: if name.is_empty() {
                    message
                } else {
                    format!("`{name}`: {message}")
                },
            };
            let table: std::collections::BTreeMap<String, EntryData> =
                toml::from_str(text).map_err(|error| fault(error.to_string()))?;
            if let Some(own) = table.keys().find(|header| header.starts_with("guardian")) {
                return Err(fault(format!(
                    "`{own}`: guardian's own programs are not listed anew"
                )));
            }
            registry
                .add(table.into_iter().collect())
                .map_err(|error| fault(error.to_string()))?;
        }
        Ok(Self { registry })
    }

    /// Names of all listed commands and subcommands with their family, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<(&str, String)> {
        self.registry
            .names()
            .into_iter()
            .filter(|(_, name)| !name.starts_with('@'))
            .collect()
    }

    /// The program is listed.
    #[must_use]
    pub fn lists(&self, name: &str) -> bool {
        self.registry.get(name).is_some()
    }

    /// Judges one command line. An unlisted program is opaque.
    ///
    /// Words that a wrapper adds at run time (`xargs`) must be among the arguments as unknown
    /// words; [`crate::command::Nested::Command`] from this function has them.
    #[must_use]
    pub fn judge(&self, invocation: &Invocation<'_>) -> Judgement {
        let mut judgement = match self.registry.get(invocation.name) {
            Some(Ok(entry)) if !invocation.name.starts_with('@') => {
                self.judge_entry(entry, invocation, 0)
            }
            Some(Err(error)) => Judgement::opaque(
                "broken-entry",
                format!(
                    "the catalogue entry of `{}` is broken: {error}",
                    invocation.name
                ),
            ),
            _ => Judgement::opaque(
                "unlisted-program",
                format!("`{}` is not a known program", invocation.name),
            ),
        };
        if judgement.effects_known == Effects::Opaque {
            self.add_other_effects(invocation, &mut judgement);
        }
        judgement.finish();
        judgement
    }

    /// What an opaque command does by its words and under another spelling (`cargo +nightly publish`).
    fn add_other_effects(&self, invocation: &Invocation<'_>, judgement: &mut Judgement) {
        let span = crate::Span { start: 0, end: 0 };
        let mut argv = vec![crate::Word::literal(invocation.name, span)];
        argv.extend(invocation.args.iter().cloned());
        if same::publishes(&argv) {
            judgement.add(Effect::Publishes);
            judgement.add(Effect::Network);
        }
        for form in self.other_forms(&argv) {
            let name = form.first().and_then(crate::Word::as_literal);
            if let Some(Some(Ok(entry))) = name.map(|name| self.registry.get(name)) {
                let other = Invocation {
                    name: &entry.name,
                    args: form.get(1..).unwrap_or_default(),
                    stdin: invocation.stdin,
                };
                judgement
                    .effects
                    .extend(self.judge_entry(entry, &other, 0).effects);
            }
        }
    }

    fn judge_entry(&self, entry: &Entry, invocation: &Invocation<'_>, depth: usize) -> Judgement {
        let mut judgement = Judgement::known();
        if entry.is_probe(invocation) {
            judgement.add(Effect::SystemQuery);
            judgement
                .conditions
                .extend(entry.conditions.iter().copied());
            return judgement;
        }
        if entry.response_files
            && let Some(word) = invocation.args.iter().find(|word| may_begin_with_at(word))
        {
            judgement.make_opaque(
                "response-file",
                format!("`{}` may bring more words from a file", word.display()),
            );
            return judgement;
        }
        if let Some(grammar) = entry.grammar.and_then(raw_grammar) {
            grammar(self, entry, invocation, &mut judgement);
            return judgement;
        }
        if let Some(reason) = &entry.opaque {
            judgement.effects.extend(entry.effects.iter().copied());
            judgement.make_opaque(
                if entry.effects.contains(&Effect::RunsProjectCode) {
                    "project-code"
                } else {
                    "opaque-program"
                },
                reason.clone(),
            );
            return judgement;
        }
        let stops = entry.subcommands || entry.operands.has_command();
        let scanned = scan::scan(entry, invocation.args, stops);
        if entry.subcommands && depth < 4 {
            self.judge_subcommand(entry, &scanned, invocation, depth, &mut judgement);
            return judgement;
        }
        apply::apply(entry, &scanned, invocation, &mut judgement);
        if let Some(grammar) = entry.grammar.and_then(scanned_grammar) {
            grammar(entry, &scanned, invocation, &mut judgement);
        }
        judgement
    }

    fn judge_subcommand(
        &self,
        entry: &Entry,
        scanned: &scan::Scanned<'_>,
        invocation: &Invocation<'_>,
        depth: usize,
        judgement: &mut Judgement,
    ) {
        apply::apply(entry, scanned, invocation, judgement);
        let Some(first) = scanned.first_operand else {
            // Without a subcommand these programs print their usage or a listing, unless the
            // grammar says more (`git stash`).
            if let Some(grammar) = entry.grammar.and_then(scanned_grammar) {
                grammar(entry, scanned, invocation, judgement);
            }
            return;
        };
        let sub = invocation
            .args
            .get(first)
            .and_then(|word| word.as_literal());
        let found = sub
            .map(|sub| format!("{} {sub}", entry.name))
            .and_then(|name| self.registry.get(&name));
        match found {
            Some(Ok(sub_entry)) => {
                let inner = Invocation {
                    name: &sub_entry.name,
                    args: invocation.args.get(first + 1..).unwrap_or_default(),
                    stdin: invocation.stdin,
                };
                let below = self.judge_entry(sub_entry, &inner, depth + 1);
                merge(judgement, below);
                if entry.name == "git" {
                    git::after_subcommand(scanned, sub_entry, judgement);
                }
            }
            Some(Err(error)) => judgement.make_opaque("broken-entry", error.to_string()),
            None => {
                if entry.name == "git" {
                    git::unlisted_subcommand(judgement);
                }
                judgement.make_opaque(
                    "unlisted-subcommand",
                    format!(
                        "`{} {}` is not listed",
                        entry.name,
                        invocation
                            .args
                            .get(first)
                            .map(|word| word.display())
                            .unwrap_or_default()
                    ),
                );
            }
        }
    }
}

/// The word is `@file`, or could turn into it.
fn may_begin_with_at(word: &crate::Word) -> bool {
    match word.parts.first() {
        Some(crate::WordPart::Literal(text)) => text.starts_with('@'),
        Some(crate::WordPart::Unknown { .. } | crate::WordPart::Glob(_)) => true,
        Some(crate::WordPart::TemporaryPath) | None => false,
    }
}

/// Adds what `below` does to `judgement`.
fn merge(judgement: &mut Judgement, below: Judgement) {
    if below.effects_known == Effects::Opaque {
        judgement.effects_known = Effects::Opaque;
    }
    judgement.effects.extend(below.effects);
    judgement.paths.extend(below.paths);
    judgement.hosts.extend(below.hosts);
    judgement.nested.extend(below.nested);
    judgement.wrapper |= below.wrapper;
    judgement.walks |= below.walks;
    judgement.opaque.extend(below.opaque);
    judgement.cwd.extend(below.cwd);
    judgement.conditions.extend(below.conditions);
    judgement.walk = below.walk;
    judgement.nested_beneath |= below.nested_beneath;
    judgement.git_files.extend(below.git_files);
}

/// A grammar that reads the arguments itself.
type RawGrammar = fn(&Catalogue, &Entry, &Invocation<'_>, &mut Judgement);

/// A grammar that adds to what the flag table gave.
type ScannedGrammar = fn(&Entry, &scan::Scanned<'_>, &Invocation<'_>, &mut Judgement);

fn raw_grammar(grammar: Grammar) -> Option<RawGrammar> {
    Some(match grammar {
        Grammar::Find => find::judge,
        Grammar::Test => small::test,
        Grammar::Dd => small::dd,
        Grammar::Kill => small::kill,
        Grammar::Ps => small::ps,
        Grammar::Tar => tar::judge,
        Grammar::ReportList => system::report_list,
        _ => return None,
    })
}

fn scanned_grammar(grammar: Grammar) -> Option<ScannedGrammar> {
    Some(match grammar {
        Grammar::Awk => awk::judge,
        Grammar::Curl => curl::judge,
        Grammar::Date => small::date,
        Grammar::Env => wrappers::env,
        Grammar::Git => git::judge,
        Grammar::Interpreter => interpreters::interpreter,
        Grammar::Jq => jq::judge,
        Grammar::Sed => sed::judge,
        Grammar::Shell => interpreters::shell,
        Grammar::Eval => builtins::eval,
        Grammar::Source => builtins::source,
        Grammar::Trap => builtins::trap,
        Grammar::Alias => builtins::alias,
        Grammar::ShellSet => builtins::shell_set,
        Grammar::ShellOptions => builtins::shell_options,
        Grammar::Declare => builtins::declare,
        Grammar::Command => builtins::command,
        Grammar::Compgen => builtins::compgen,
        Grammar::Let => builtins::arithmetic,
        Grammar::Links => small::links,
        Grammar::Man => small::man,
        Grammar::Yq => jq::yq,
        Grammar::Joined => wrappers::joined,
        Grammar::Ip => system::ip,
        Grammar::Reports => system::reports,
        Grammar::Assigns => system::assigns,
        Grammar::ScriptSession => system::script_session,
        Grammar::TmuxFormat => system::tmux_format,
        Grammar::Grep => search::grep,
        Grammar::Rg => search::rg,
        Grammar::Rpm => system::rpm,
        Grammar::Databases => system::databases,
        Grammar::Printenv => system::printenv,
        Grammar::Split => small::split,
        Grammar::TerminalSettings => system::terminal_settings,
        Grammar::Sql => sql::judge,
        Grammar::VariableName => small::variable_name,
        Grammar::Xargs => wrappers::xargs,
        Grammar::Find
        | Grammar::Test
        | Grammar::Dd
        | Grammar::Kill
        | Grammar::Ps
        | Grammar::ReportList
        | Grammar::Tar => return None,
    })
}
