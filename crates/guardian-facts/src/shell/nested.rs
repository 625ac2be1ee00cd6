//! What the catalogue says of a command becomes facts; code inside commands is read in turn.

use std::path::Path;
use std::rc::Rc;

use super::bounds;
use super::control::Flow;
use super::git_names::Items;
use super::parser::{Origin, Parser};
use super::reader::{Input, Reader};
use super::redirects::Redirects;
use super::simple::Call;
use super::values::{self, Kind, Part, State, Text, Value};
use crate::command::{Judgement, Nested, Stdin, WalkFilter};
use crate::opacity;
use crate::{AccessKind, AccessSource, Effect, Effects, Endpoint, Span, Target, Word};

/// Environment variables that change how a shell reads its text, or what it runs first.
const CHANGES_SHELLS: [&str; 7] = [
    "POSIXLY_CORRECT",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_COMPAT",
    "BASH_ENV",
    "ENV",
    "PS4",
];

impl Reader<'_> {
    /// Adds what a judgement says of the command at `index`.
    pub(super) fn apply(
        &mut self,
        index: usize,
        judgement: &Judgement,
        input: &Input,
        state: &State,
    ) {
        for effect in &judgement.effects {
            self.add_effect(index, *effect);
        }
        if let Some(command) = self.facts.commands.get_mut(index) {
            command.wrapper |= judgement.wrapper;
        }
        for (code, reason) in &judgement.opaque {
            if *code == opacity::SHELL_OPTIONS {
                let span = self.span_of(index);
                self.partial_at(span, code, reason.clone());
            }
            self.opaque(index, code, reason.clone());
        }
        if judgement.effects_known == Effects::Opaque && judgement.opaque.is_empty() {
            self.opaque(index, "opaque", "it is not known what it does");
        }
        let mut state = state.clone();
        for directory in &judgement.cwd {
            let text = self.recall(directory);
            let directory = self.directory(&text, &state);
            state.lose_cwd();
            state.cwd = directory;
        }
        self.paths(index, judgement, &state);
        if self.downloads(index) {
            self.note_downloads(index);
        }
        for host in &judgement.hosts {
            self.endpoint(index, host);
        }
        for condition in &judgement.conditions {
            self.condition(index, *condition, &state);
        }
        for files in &judgement.git_files {
            self.git_files(index, files, &state);
        }
        if !judgement.nested.is_empty() {
            self.handed_on(index, &mut state);
        }
        let beneath = judgement.nested_beneath.then(|| judgement.walk.clone());
        for nested in &judgement.nested {
            let scope = |scope: &mut super::reader::Scope| {
                scope.inside = Some(index);
                if beneath.is_some() {
                    scope.beneath.clone_from(&beneath);
                }
                scope.input = input.clone();
            };
            self.scoped(scope, |reader| reader.nested(index, nested, input, &state));
        }
    }

    fn paths(&mut self, index: usize, judgement: &Judgement, state: &State) {
        let beneath = self.scope.beneath.clone();
        let filter = match &beneath {
            Some(outer) if judgement.walks => WalkFilter {
                follows_links: outer.follows_links || judgement.walk.follows_links,
                ..WalkFilter::default()
            },
            Some(outer) => outer.clone(),
            None => judgement.walk.clone(),
        };
        let walks = judgement.walks || beneath.is_some();
        let mut meets = false;
        let mut seen = false;
        for path in &judgement.paths {
            let text = self.recall(&path.word);
            if values::worst(&text) == Some(Kind::Remote)
                && super::values::is_process(&text)
                && path.kind == AccessKind::Execute
            {
                self.add_effect(index, Effect::RunsRemoteCode);
            }
            if super::values::is_process(&text) {
                // Nothing lies beneath it.
                seen = true;
                continue;
            }
            let takes_all = path.recursive
                && (path.kind == AccessKind::Delete
                    || path.detail == crate::AccessDetail::Permissions);
            let placed = if takes_all {
                self.place_whole(&text, state)
            } else {
                self.place(&text, state)
            };
            let Some(target) = placed else {
                continue;
            };
            if walks && path.kind == AccessKind::Read {
                seen = true;
                meets |= self.could_meet_secrets(&target, &filter);
            }
            self.add_access(
                index,
                target,
                path.kind,
                path.detail,
                path.recursive || beneath.is_some(),
            );
        }
        // A walk of which no start is known could meet anything.
        if let Some(command) = self.facts.commands.get_mut(index) {
            command.walks |= meets || (judgement.walks && !seen);
        }
    }

    /// What a command that reaches the network writes, its redirects included.
    fn note_downloads(&mut self, index: usize) {
        let sources = [AccessSource::Command(index), AccessSource::Redirect(index)];
        for access in &self.facts.accesses {
            if access.kind == AccessKind::Write
                && sources.contains(&access.source)
                && let Target::Exact(path) = &access.target
            {
                self.downloaded.insert(path.path.clone());
            }
        }
    }

    fn endpoint(&mut self, index: usize, word: &Word) {
        let (host, port) = match word.as_literal() {
            Some(text) => super::hosts::host_and_port(text),
            None => {
                let prefix = word.literal_prefix();
                match prefix.split_once("://") {
                    Some((_, rest)) if rest.contains('/') => super::hosts::host_and_port(prefix),
                    _ => (None, None),
                }
            }
        };
        self.facts.endpoints.push(Endpoint {
            host,
            port,
            command: Some(index),
        });
    }

    fn nested(&mut self, index: usize, nested: &Nested, input: &Input, state: &State) {
        match nested {
            Nested::Command {
                argv,
                elsewhere,
                assignments,
                cwd,
                appended,
            } => {
                let mut inner = state.clone();
                if let Some(cwd) = cwd {
                    let text = self.recall(cwd);
                    inner.lose_cwd();
                    inner.cwd = self.directory(&text, state);
                }
                if *elsewhere {
                    inner.lose_cwd();
                }
                for assignment in assignments {
                    if CHANGES_SHELLS.contains(&assignment.name.as_str()) {
                        let span = self.span_of(index);
                        self.partial_at(
                            span,
                            opacity::SHELL_OPTIONS,
                            format!("`{}` changes how a shell reads its text", assignment.name),
                        );
                    }
                    if assignment.changes_execution
                        || super::environment::changes_execution(
                            &assignment.name,
                            assignment.value.as_literal(),
                        )
                    {
                        let reason = format!("`{}` was changed", assignment.name);
                        self.opaque(index, opacity::EXECUTION_VARIABLE, reason);
                    }
                    let value = self.recall(&assignment.value);
                    inner.set(&assignment.name, Value::Scalar(Rc::new(value)));
                    inner.export(&assignment.name);
                }
                let items = self
                    .facts
                    .commands
                    .get(index)
                    .map_or(Items::Words, |fact| Items::of(&fact.argv));
                let lines = appended
                    .then(|| self.lines_of(input.lines_of, items))
                    .flatten();
                let mut argv = argv.as_slice();
                if self.is_env(index)
                    && let [dash, rest @ ..] = argv
                    && dash.as_literal() == Some("-")
                {
                    // `env - A=b command` is `env -i A=b command`.
                    let assigns = |word: &&Word| word.literal_prefix().contains('=');
                    let assigned: Vec<&Word> = rest.iter().take_while(assigns).collect();
                    for word in &assigned {
                        let name = word.literal_prefix().split('=').next().unwrap_or("");
                        inner.set(
                            name,
                            Value::Scalar(Rc::new(vec![values::unknown(name, Kind::Any)])),
                        );
                        inner.export(name);
                    }
                    argv = rest.get(assigned.len()..).unwrap_or_default();
                }
                let argv: Vec<Text> = argv
                    .iter()
                    .map(|word| self.as_written(index, self.recall(word)))
                    .map(|text| super::outputs::from_lines(text, lines.as_deref()))
                    .collect();
                let span = self.span_of(index);
                let call = Call {
                    argv,
                    assignments: Vec::new(),
                    redirects: Redirects {
                        input: Some(input.clone()),
                        ..Redirects::default()
                    },
                    span,
                    first: self.facts.commands.len(),
                };
                self.scoped(
                    |scope| {
                        scope.programs_only = true;
                        scope.elsewhere |= elsewhere;
                        scope.appended |= appended;
                    },
                    |reader| reader.run(call, inner),
                );
            }
            Nested::Shell { text, elsewhere } => {
                self.shell_text(index, text, *elsewhere, input, state);
            }
            Nested::Inline { text, .. } => {
                self.add_effect(index, Effect::RunsCode);
                self.note_remote(index, text, input);
                let shown = text.display();
                self.scan_opaque(&shown, index);
                self.scan_inline_paths(&shown, index);
                if self
                    .facts
                    .commands
                    .get(index)
                    .is_some_and(|fact| fact.effects_known == Effects::Known)
                {
                    self.opaque(index, "inline-code", "it runs code given inline");
                }
            }
            Nested::CodeFile { word } => self.code_operand(index, word, input, state),
            Nested::StdinShell => match &input.stdin {
                Stdin::Text(text) => {
                    let text = text.clone();
                    let script = Input {
                        own_script: true,
                        ..Input::unknown()
                    };
                    self.scoped(
                        |scope| scope.input = script,
                        |reader| reader.shell_text(index, &text, false, input, state),
                    );
                }
                Stdin::File(word) => {
                    let word = word.clone();
                    self.code_operand(index, &word, input, state);
                }
                Stdin::Empty => {}
                Stdin::Pipe => {
                    self.add_effect(index, Effect::RunsCode);
                    if input.remote {
                        self.add_effect(index, Effect::RunsRemoteCode);
                    }
                    let span = self.span_of(index);
                    self.partial_at(
                        span,
                        opacity::STDIN_CODE,
                        "a shell runs what another command prints",
                    );
                    self.opaque(
                        index,
                        opacity::STDIN_CODE,
                        "it runs what another command prints",
                    );
                }
            },
            Nested::StdinCode { .. } => {
                if matches!(input.stdin, Stdin::Empty) {
                    return;
                }
                self.add_effect(index, Effect::RunsCode);
                if input.remote {
                    self.add_effect(index, Effect::RunsRemoteCode);
                }
                match &input.stdin {
                    Stdin::Text(text) => {
                        let shown = text.display();
                        self.scan_opaque(&shown, index);
                        self.scan_inline_paths(&shown, index);
                    }
                    Stdin::File(word) => {
                        let word = word.clone();
                        let text = self.recall(&word);
                        self.code_file(index, &text, state);
                    }
                    Stdin::Empty | Stdin::Pipe => {}
                }
                self.opaque(index, opacity::STDIN_CODE, "it runs code from its input");
            }
        }
    }

    fn is_env(&self, index: usize) -> bool {
        let fact = self.facts.commands.get(index);
        fact.and_then(|fact| fact.program.name.as_deref()) == Some("env")
    }

    fn code_operand(&mut self, index: usize, word: &Word, input: &Input, state: &State) {
        self.add_effect(index, Effect::RunsCode);
        self.note_remote(index, word, input);
        let text = self.recall(word);
        if let Some(code) = self.process_output(&text) {
            // What it runs is scanned like any text whose reader may be another language.
            self.scan_opaque(&code, index);
            self.scan_inline_paths(&code, index);
        }
        if values::as_literal(&text)
            .is_some_and(|text| matches!(text, "/dev/stdin" | "/dev/fd/0" | "-"))
        {
            let shells = ["bash", "sh", "dash", "zsh", "ksh", "rbash"];
            let is_shell = self
                .facts
                .commands
                .get(index)
                .and_then(|fact| fact.program.name.as_deref())
                .is_some_and(|name| shells.contains(&name));
            match input.stdin.clone() {
                Stdin::Text(text) if !is_shell => {
                    let shown = text.display();
                    self.scan_opaque(&shown, index);
                    self.scan_inline_paths(&shown, index);
                    self.opaque(index, opacity::STDIN_CODE, "it runs code from its input");
                    return;
                }
                Stdin::Text(text) => return self.shell_text(index, &text, false, input, state),
                Stdin::Empty => return,
                Stdin::File(_) | Stdin::Pipe => {
                    if input.remote {
                        self.add_effect(index, Effect::RunsRemoteCode);
                    }
                }
            }
        }
        let known = self.code_file(index, &text, state);
        let reason = if known {
            format!("it runs the file `{}`", word.display())
        } else {
            "which file it runs is not known".to_owned()
        };
        self.opaque(index, opacity::CODE_FILE, reason);
    }

    pub(super) fn note_remote(&mut self, index: usize, word: &Word, input: &Input) {
        let text = self.recall(word);
        let from_input = input.remote && word.as_literal().is_none();
        if values::worst(&text) == Some(Kind::Remote) || from_input {
            self.add_effect(index, Effect::RunsRemoteCode);
        }
    }

    /// A word of a wrapped command as it stands among the wrapper's own: `*.md` was judged as
    /// `./*.md` there.
    fn as_written(&self, index: usize, text: Text) -> Text {
        let [Part::Literal(dot), Part::Glob(_), ..] = text.as_slice() else {
            return text;
        };
        if dot != "./" {
            return text;
        }
        let span = self.span_of(index);
        let rest: Text = text.iter().skip(1).cloned().collect();
        let shown = values::to_word(&rest, span).display();
        let stands = self
            .facts
            .commands
            .get(index)
            .is_some_and(|fact| fact.argv.iter().any(|word| word.display() == shown));
        if stands { rest } else { text }
    }

    /// Reads a text inside the text, in the given state.
    pub(super) fn text(&mut self, text: &str, origin: Origin, state: State) -> Flow {
        let span = match origin {
            Origin::Fixed(span) => span,
            Origin::Offset(offset) => Span {
                start: offset,
                end: offset + text.len(),
            },
        };
        if self.texts >= bounds::MAX_NESTED_TEXTS {
            self.partial_at(span, "too-deep", "texts inside texts too deeply");
            return Flow::both(state);
        }
        if let Some(problem) = bounds::check(text) {
            self.partial_at(span, problem.code, problem.reason);
            self.scan_unread(text, origin, &state);
            return Flow::both(state);
        }
        self.texts += 1;
        let script = Parser::new(text, origin, 0).script();
        let flow = self.lines(&script.list, state.clone());
        if let Some(problem) = &script.problem {
            self.partial(problem);
            let after = flow.clone().after().unwrap_or(state);
            let unread = text.get(script.unread_from..).unwrap_or("");
            let origin = match origin {
                Origin::Offset(offset) => Origin::Offset(offset + script.unread_from),
                fixed @ Origin::Fixed(_) => fixed,
            };
            self.scan_unread(unread, origin, &after);
        } else if let Some(problem) = super::second_opinion::check(text, &script.trace, origin) {
            self.partial(&problem);
        }
        self.texts -= 1;
        flow
    }

    pub(super) fn span_of(&self, index: usize) -> Span {
        self.facts
            .commands
            .get(index)
            .map_or(Span { start: 0, end: 0 }, |command| command.span)
    }

    /// The directory that a field names, for a change of the working directory.
    pub(super) fn directory(&self, text: &Text, state: &State) -> Option<Rc<Path>> {
        let written = values::as_literal(text)?;
        if written.is_empty() {
            return state.cwd.clone();
        }
        let joined = match &state.cwd {
            Some(cwd) => cwd.join(written),
            None if written.starts_with('/') => Path::new(written).to_path_buf(),
            None => return None,
        };
        Some(Rc::from(super::builtins::lexical(&joined)))
    }

    /// A command substitution: runs in a subshell; what it prints is known for a few commands.
    pub(super) fn substitution(
        &mut self,
        list: &Rc<super::syntax::List>,
        written: &str,
        _span: Span,
        state: &State,
    ) -> Part {
        let first = self.facts.commands.len();
        let inner = state.clone();
        self.scoped(
            |scope| {
                scope.pipe_stage = 0;
                scope.pipe_stages = 1;
                scope.programs_only = false;
                scope.no_functions = false;
            },
            |reader| reader.in_subshell(|reader| reader.list(list, inner)),
        );
        let part = super::printed::printed(self, list, written, first, state);
        if matches!(part, Part::Unknown { .. }) {
            self.bound_substitution(written, first, state);
        }
        part
    }

    /// A process substitution: a file name, backed by a command.
    pub(super) fn process(
        &mut self,
        list: &Rc<super::syntax::List>,
        written: &str,
        output: bool,
        state: &State,
    ) -> Part {
        let first = self.facts.commands.len();
        let inner = state.clone();
        self.scoped(
            |scope| {
                scope.pipe_stage = 0;
                scope.pipe_stages = 1;
                scope.background = true;
                if output {
                    scope.input = Input {
                        stdin: Stdin::Pipe,
                        remote: scope.input.remote,
                        feeder: None,
                        lines_of: None,
                        own_script: false,
                    };
                }
            },
            |reader| reader.in_subshell(|reader| reader.list(list, inner)),
        );
        let remote = self
            .facts
            .commands
            .iter()
            .skip(first)
            .any(|fact| fact.has(Effect::Network));
        let kind = if remote && !output {
            Kind::Remote
        } else {
            Kind::Benign
        };
        match self.only_pipeline(first).filter(|_| !output) {
            Some(last) => self.feeders.insert(written.to_owned(), last),
            None => self.feeders.remove(written),
        };
        if !output {
            let text = match super::printed::printed(self, list, written, first, state) {
                Part::Literal(text) => Some(text),
                _ => None,
            };
            let known = self
                .processes
                .entry(written.to_owned())
                .or_insert_with(|| text.clone());
            if *known != text {
                // The same words print something else elsewhere.
                *known = None;
            }
        }
        Part::Unknown {
            written: written.to_owned(),
            kind,
            may_be_empty: false,
            may_split: false,
        }
    }
}
