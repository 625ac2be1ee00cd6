//! The walker's own state: what it has found, where it stands, what it may still spend.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use super::bounds;
use super::parser::Problem;
use super::syntax::Command;
use super::values::{Kind, Part, State, Text, Value};
use crate::command::{Stdin, WalkFilter};
use crate::{Effect, FactContext, Facts, Opacity, Reading, Span};

/// What feeds standard input.
#[derive(Debug, Clone)]
pub(super) struct Input {
    pub(super) stdin: Stdin,
    /// It came over the network.
    pub(super) remote: bool,
    /// The command that feeds it through a pipe, the last one where there are several.
    pub(super) feeder: Option<usize>,
    /// The command whose output, and nothing else, it is.
    pub(super) lines_of: Option<usize>,
    /// It is the rest of the script that the shell reads (`bash <<EOF`): what a command takes from
    /// it, the shell does not read.
    pub(super) own_script: bool,
}

impl Input {
    pub(super) fn empty() -> Self {
        Self {
            stdin: Stdin::Empty,
            remote: false,
            feeder: None,
            lines_of: None,
            own_script: false,
        }
    }

    /// It may bring anything.
    pub(super) fn unknown() -> Self {
        Self {
            stdin: Stdin::Pipe,
            remote: true,
            feeder: None,
            lines_of: None,
            own_script: false,
        }
    }
}

/// Where the walker stands.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) input: Input,
    pub(super) pipe_stage: usize,
    pub(super) pipe_stages: usize,
    pub(super) conditional: bool,
    pub(super) background: bool,
    pub(super) inside: Option<usize>,
    pub(super) elsewhere: bool,
    /// What is run stands for everything beneath its paths (`find -exec rm {} +`) that this leaves.
    pub(super) beneath: Option<WalkFilter>,
    /// Words that are not known are added to what is run (`xargs`, `find -exec`).
    pub(super) appended: bool,
    /// Only programs run, no builtins and functions (`env`, `xargs`).
    pub(super) programs_only: bool,
    /// Functions are skipped (`command`, `builtin`).
    pub(super) no_functions: bool,
    /// The shell is `sh`, which may be any POSIX shell.
    pub(super) posix: bool,
}

/// A function call in progress.
pub(super) struct Frame {
    pub(super) body: Rc<Command>,
    /// Read with unknown values because it calls itself.
    pub(super) generic: bool,
    pub(super) returns: Option<State>,
    /// Name, value before, declared under a condition.
    pub(super) locals: Vec<(String, Option<Value>, bool)>,
    pub(super) was_conditional: bool,
}

/// A loop in progress.
#[derive(Default)]
pub(super) struct LoopFrame {
    pub(super) exits: Option<State>,
    pub(super) continues: Option<State>,
}

/// Where facts stood, to take back a tentative walk.
pub(super) struct Checkpoint {
    commands: usize,
    accesses: usize,
    endpoints: usize,
    code_files: usize,
    opacity: usize,
    findings: usize,
    reading: Reading,
}

/// The walker over the syntax tree of one call.
pub(super) struct Reader<'a> {
    pub(super) cx: &'a FactContext<'a>,
    pub(super) facts: Facts,
    pub(super) scope: Scope,
    pub(super) frames: Vec<Frame>,
    pub(super) loops: Vec<LoopFrame>,
    /// Texts inside texts.
    pub(super) texts: usize,
    /// Commands run by commands, around the one in progress.
    pub(super) runs: usize,
    /// Function bodies that were called, by address.
    pub(super) called: BTreeSet<usize>,
    pub(super) defined: Vec<(String, Rc<Command>)>,
    /// Files that a command wrote from the network.
    pub(super) downloaded: BTreeSet<PathBuf>,
    /// Repositories that were looked at, by working directory.
    pub(super) repositories: BTreeMap<PathBuf, Result<Rc<super::git_config::Repository>, String>>,
    /// Whether the project chooses versions of tools, by working directory; also of Rust's.
    pub(super) tool_versions: BTreeMap<(PathBuf, bool), Result<(), String>>,
    /// Kinds of unknown parts by their written text, for words that come back from the catalogue.
    pub(super) kinds: BTreeMap<String, Kind>,
    /// What unknown parts stand for, by their written text; `None` where that has no bound.
    pub(super) bounds: BTreeMap<String, Option<super::outputs::Bound>>,
    /// What process substitutions print, by their written text; `None` where it is not known.
    pub(super) processes: BTreeMap<String, Option<String>>,
    /// The commands whose output process substitutions are, by their written text.
    pub(super) feeders: BTreeMap<String, usize>,
    /// `shopt -s nullglob` may be on: a pattern without a match vanishes.
    pub(super) nullglob: bool,
    /// `shopt -s globstar` may be on.
    pub(super) globstar: bool,
    /// Directories outside the roots that patterns made the shell list, by pattern, with the number
    /// of commands in front of it.
    pub(super) listings: BTreeMap<String, (usize, crate::Target)>,
    /// What a redirect feeds to a command, by index.
    pub(super) own_input: BTreeMap<usize, Stdin>,
    /// Commands at the end of a stage of a pipe in which others print, too.
    pub(super) mixed: BTreeSet<usize>,
    /// Other names for commands, with the words that they stand for (aliases, `hash -p`).
    pub(super) renames: Vec<(String, String)>,
    /// Names of which an outer value may show again: unset by a callee, or assigned past a local.
    pub(super) revealed: BTreeSet<String>,
    /// Names that stand as assignments in front of a command in progress.
    pub(super) prefixed: Vec<String>,
    /// What traps call, which functions may be defined for later.
    pub(super) trapped: BTreeSet<String>,
    /// Those that may be called between any two commands, with the number of functions that were
    /// defined when the trap was set.
    pub(super) trapped_anytime: BTreeMap<String, usize>,
    /// The states in which the line in progress may have been given up.
    pub(super) given_up: Option<State>,
    /// Every exit that `break`, `continue` and `return` may take is followed, `exit` too.
    steps: usize,
    exhausted: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(cx: &'a FactContext<'a>) -> Self {
        Self {
            cx,
            facts: Facts::empty("Bash"),
            scope: Scope {
                input: Input::empty(),
                pipe_stage: 0,
                pipe_stages: 1,
                conditional: false,
                background: false,
                inside: None,
                elsewhere: false,
                beneath: None,
                appended: false,
                programs_only: false,
                no_functions: false,
                posix: false,
            },
            frames: Vec::new(),
            loops: Vec::new(),
            texts: 0,
            called: BTreeSet::new(),
            defined: Vec::new(),
            downloaded: BTreeSet::new(),
            repositories: BTreeMap::new(),
            tool_versions: BTreeMap::new(),
            kinds: BTreeMap::new(),
            bounds: BTreeMap::new(),
            processes: BTreeMap::new(),
            feeders: BTreeMap::new(),
            mixed: BTreeSet::new(),
            nullglob: false,
            globstar: false,
            listings: BTreeMap::new(),
            own_input: BTreeMap::new(),
            renames: Vec::new(),
            revealed: BTreeSet::new(),
            prefixed: Vec::new(),
            trapped: BTreeSet::new(),
            trapped_anytime: BTreeMap::new(),
            given_up: None,
            runs: 0,
            steps: 0,
            exhausted: false,
        }
    }

    /// What a command reads that no redirect of its own feeds.
    pub(super) fn inherited_input(&self, state: &State) -> Input {
        if state.stdin_replaced {
            Input::unknown()
        } else {
            self.scope.input.clone()
        }
    }

    /// The name stands as an assignment in front of a command in progress.
    pub(super) fn is_prefixed(&self, name: &str) -> bool {
        self.prefixed.iter().any(|prefixed| prefixed == name)
    }

    /// Spends a step. False when nothing is left: the reading is Partial then.
    pub(super) fn step(&mut self) -> bool {
        super::work::count();
        self.steps += 1;
        if self.steps <= bounds::MAX_STEPS {
            return true;
        }
        if !self.exhausted {
            self.exhausted = true;
            self.partial_at(
                Span { start: 0, end: 0 },
                "too-much-work",
                "the text makes more steps than are followed",
            );
        }
        false
    }

    /// More than half of the work is spent: loops are no longer read round by round.
    pub(super) fn is_tired(&self) -> bool {
        self.steps > bounds::MAX_STEPS / 2
    }

    pub(super) fn partial(&mut self, problem: &Problem) {
        self.partial_at(problem.span, problem.code, problem.reason.clone());
    }

    /// Something may run that is not among the facts.
    pub(super) fn partial_at(&mut self, span: Span, code: &'static str, reason: impl Into<String>) {
        self.facts.reading = Reading::Partial;
        let known = self.facts.opacity.iter().any(|opacity| {
            opacity.code == code && opacity.span == Some(span) && opacity.command.is_none()
        });
        if !known {
            self.facts.opacity.push(Opacity {
                span: Some(span),
                code,
                reason: reason.into(),
                command: None,
            });
        }
    }

    /// The command may do anything.
    pub(super) fn opaque(&mut self, index: usize, code: &'static str, reason: impl Into<String>) {
        let Some(command) = self.facts.commands.get_mut(index) else {
            return;
        };
        command.effects_known = crate::Effects::Opaque;
        let span = Some(command.span);
        self.facts.opacity.push(Opacity {
            span,
            code,
            reason: reason.into(),
            command: Some(index),
        });
    }

    pub(super) fn add_effect(&mut self, index: usize, effect: Effect) {
        if let Some(command) = self.facts.commands.get_mut(index)
            && let Err(at) = command.effects.binary_search(&effect)
        {
            command.effects.insert(at, effect);
        }
    }

    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            commands: self.facts.commands.len(),
            accesses: self.facts.accesses.len(),
            endpoints: self.facts.endpoints.len(),
            code_files: self.facts.code_files.len(),
            opacity: self.facts.opacity.len(),
            findings: self.facts.findings.len(),
            reading: self.facts.reading,
        }
    }

    /// Takes back everything since the checkpoint, except that an exhausted reading stays Partial.
    pub(super) fn roll_back(&mut self, to: &Checkpoint) {
        if self.exhausted {
            return;
        }
        self.facts.commands.truncate(to.commands);
        self.own_input.split_off(&to.commands);
        self.mixed.split_off(&to.commands);
        self.facts.accesses.truncate(to.accesses);
        self.facts.endpoints.truncate(to.endpoints);
        self.facts.code_files.truncate(to.code_files);
        self.facts.opacity.truncate(to.opacity);
        self.facts.findings.truncate(to.findings);
        self.facts.reading = to.reading;
    }

    /// Runs a part of the walk in a scope of its own.
    pub(super) fn scoped<T>(
        &mut self,
        change: impl FnOnce(&mut Scope),
        run: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let saved = self.scope.clone();
        change(&mut self.scope);
        let result = run(self);
        self.scope = saved;
        result
    }

    /// [`Self::scoped`] for what runs in a subshell: loops and functions outside are out of reach.
    pub(super) fn in_subshell<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let loops = std::mem::take(&mut self.loops);
        let given_up = self.given_up.take();
        let result = run(self);
        self.loops = loops;
        self.given_up = given_up;
        result
    }

    /// Remembers the kinds of unknown parts, for [`Self::recall`].
    pub(super) fn remember(&mut self, text: &[Part]) {
        for part in text {
            if let Part::Unknown { written, kind, .. } = part {
                let known = self.kinds.entry(written.clone()).or_insert(*kind);
                *known = (*known).max(*kind);
            }
        }
    }

    /// What the process substitution that a field names prints, where it is known.
    pub(super) fn process_output(&self, text: &[Part]) -> Option<String> {
        let [Part::Literal(_), Part::Unknown { written, .. }] = text else {
            return None;
        };
        self.processes.get(written)?.clone()
    }

    /// The command whose output the process substitution that a field names is.
    pub(super) fn process_feeder(&self, text: &[Part]) -> Option<usize> {
        let [Part::Literal(_), Part::Unknown { written, .. }] = text else {
            return None;
        };
        self.feeders.get(written).copied()
    }

    /// A word of facts as a field again.
    pub(super) fn recall(&self, word: &crate::Word) -> Text {
        word.parts
            .iter()
            .map(|part| match part {
                crate::WordPart::Literal(text) => Part::Literal(text.clone()),
                crate::WordPart::Glob(text) => Part::Glob(text.clone()),
                crate::WordPart::TemporaryPath => Part::Temporary,
                crate::WordPart::Unknown {
                    written,
                    may_be_empty,
                    may_split,
                    ..
                } => Part::Unknown {
                    written: written.clone(),
                    kind: self.kinds.get(written).copied().unwrap_or(Kind::Any),
                    may_be_empty: *may_be_empty,
                    may_split: *may_split,
                },
            })
            .collect()
    }
}
