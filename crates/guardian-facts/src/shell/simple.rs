//! Simple commands: assignments, the program that a name stands for, and the facts.

use std::rc::Rc;

use super::control::Flow;
use super::reader::{Input, Reader};
use super::redirects::Redirects;
use super::syntax::{ArgumentNode, AssignedNode, AssignmentNode, Command, Piece};
use super::values::{self, Kind, Part, State, Text, Value, to_word};
use crate::command::{Invocation, Stdin};
use crate::opacity;
use crate::{
    AccessDetail, AccessKind, Assignment, CommandFact, Effect, Effects, Place, Program,
    ProgramForm, Span, Word,
};

/// Directories whose programs are what their names say.
const PROGRAM_DIRECTORIES: [&str; 6] = [
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/sbin",
    "/usr/sbin",
    "/usr/local/sbin",
];

/// Commands that leave their standard input alone, whatever their words.
const NEVER_READ: [&str; 36] = [
    "ls", "cp", "mv", "rm", "mkdir", "rmdir", "touch", "ln", "chmod", "date", "stat", "basename",
    "dirname", "realpath", "readlink", "du", "df", "which", "id", "whoami", "uname", "hostname",
    "sleep", "seq", "ps", "free", "uptime", "echo", "printf", "pwd", "test", "[", "type", "kill",
    "history", "nproc",
];

/// Builtins that may make the assignments in front of them last, or run something that does.
const KEEPERS: [&str; 13] = [
    "declare", "typeset", "local", "export", "readonly", "eval", "source", ".", "command",
    "builtin", "exec", "trap", "unset",
];

/// Names of a directory that are looked at.
const MAX_NAMES: usize = 2_000;

impl Reader<'_> {
    pub(super) fn simple(
        &mut self,
        command: &Command,
        assignments: &[AssignmentNode],
        words: &[ArgumentNode],
        mut state: State,
    ) -> Flow {
        let first = self.facts.commands.len();
        let mut argv: Vec<Text> = Vec::new();
        let declaring = matches!(words.first(), Some(ArgumentNode::Word(word)) if word.plain().is_some_and(
            |name| matches!(name, "declare" | "typeset" | "local" | "export" | "readonly")));
        let mut arrays = Vec::new();
        for word in words {
            match word {
                ArgumentNode::Word(word) => {
                    let value = declaring && is_assignment_word(word);
                    if value && word.braces.is_none() {
                        argv.push(self.declared(&word.pieces, &mut state));
                    } else {
                        argv.extend(self.fields(word, &mut state));
                    }
                }
                ArgumentNode::Array(assignment) => arrays.push(assignment),
            }
        }
        let redirects = self.redirects_of_one(&command.redirects, &mut state);
        let mut facts = Vec::new();
        let mut changes = Vec::new();
        let lasting = argv.is_empty() && arrays.is_empty();
        for assignment in assignments {
            let (fact, value) = self.prefix(assignment, &mut state, lasting);
            facts.push(fact);
            changes.push((assignment.name.clone(), value));
        }
        for assignment in arrays {
            let value = self.assigned_value(&assignment.value, &mut state);
            argv.push(vec![values::unknown(
                &format!("{}=(…)", assignment.name),
                Kind::Any,
            )]);
            self.assign(&assignment.name, value, assignment.span, &mut state);
        }
        if argv.is_empty() {
            self.emit_bare(facts, redirects, command.span, &state, first);
            return Flow::both(state);
        }
        let before = state.clone();
        let mut inner = state;
        for (assignment, (name, value)) in assignments.iter().zip(&changes) {
            self.assign(name, value.clone(), assignment.span, &mut inner);
            inner.export(name);
        }
        let call = Call {
            argv,
            assignments: facts,
            redirects,
            span: command.span,
            first,
        };
        let not_run = call.redirects.may_fail().then(|| before.clone());
        let may_stay = !changes.is_empty() && self.may_keep_assignments(&call, &inner);
        let entered = inner.clone();
        let outer = self.prefixed.len();
        self.prefixed
            .extend(changes.iter().map(|(name, _)| name.clone()));
        let flow = self.run(call, inner);
        self.prefixed.truncate(outer);
        let flow = Flow {
            ok: flow.ok,
            fail: values::join_ways(flow.fail, not_run),
        };
        if changes.is_empty() {
            return flow;
        }
        // Prefix assignments last for this command only, but a function or a builtin that works on
        // variables may keep them, so the name is unknown then.
        let mut restore = |ended: Option<State>| {
            ended.map(|mut ended| {
                if !may_stay {
                    // What the command itself changed stays (`IFS= read PATH`).
                    let (now, entry) = (&mut ended.environment, &entered.environment);
                    if now.tainted == entry.tainted {
                        now.tainted.clone_from(&before.environment.tainted);
                    }
                    if now.unsettled == entry.unsettled {
                        now.unsettled.clone_from(&before.environment.unsettled);
                    }
                    ended.splits_unknown = before.splits_unknown;
                }
                for (name, _) in &changes {
                    let reassigned = ended.assigned(name) != entered.assigned(name);
                    if may_stay || reassigned || self.revealed.contains(name) {
                        self.assign_stubborn(name, &mut ended);
                    } else {
                        ended.restore(name, before.assigned(name), &before.environment);
                    }
                }
                ended
            })
        };
        let (ok, fail) = (flow.ok, flow.fail);
        Flow {
            ok: restore(ok),
            fail: restore(fail),
        }
    }

    /// The command may make the assignments in front of it last (`x=1 export x`, and any special
    /// builtin of a POSIX shell).
    fn may_keep_assignments(&self, call: &Call, state: &State) -> bool {
        let name = call.argv.first().and_then(|word| values::as_literal(word));
        let Some(name) = name else { return true };
        let builtin = super::builtins::find(name).is_some();
        state.functions.contains_key(name)
            || KEEPERS.contains(&name)
            || (builtin && self.scope.posix)
    }

    fn prefix(
        &mut self,
        node: &AssignmentNode,
        state: &mut State,
        lasting: bool,
    ) -> (Assignment, Value) {
        if let Some(subscript) = &node.subscript {
            // It may be negative, or empty.
            self.may_give_up(state);
            if state.get(&node.name) == Some(Value::Associative) {
                self.quoted(subscript, state);
            } else {
                self.subscript(subscript, node.span, state);
            }
        }
        let mut value = self.assigned_value(&node.value, state);
        let shown = match (&value, &node.value) {
            (Value::Scalar(text), _) => text.to_vec(),
            (_, AssignedNode::Array(_)) => vec![values::unknown("(…)", Kind::Any)],
            _ => Text::new(),
        };
        if (node.append || node.subscript.is_some())
            && (state.integers.contains(&node.name) || state.stubborn.contains(&node.name))
        {
            // Each piece is evaluated by itself.
            match &value {
                Value::Scalar(text) => {
                    let text = Rc::clone(text);
                    self.evaluate(&text, node.span, state);
                }
                Value::Array(elements) => {
                    for element in Rc::clone(elements).iter() {
                        self.evaluate(element, node.span, state);
                    }
                }
                Value::Associative | Value::Unset => {}
            }
        }
        if node.append {
            value = self.appended(&node.name, value, state);
        }
        if node.subscript.is_some() {
            if lasting {
                if let (true, Value::Scalar(text), Some([Piece::Text(key)])) = (
                    matches!(node.name.as_str(), "BASH_ALIASES" | "BASH_CMDS"),
                    &value,
                    node.subscript.as_deref(),
                ) && let Some(text) = values::as_literal(text)
                {
                    self.renames.push((key.clone(), text.to_owned()));
                }
                self.set_element(&node.name, state);
            }
        } else if lasting {
            self.assign(&node.name, value.clone(), node.span, state);
        }
        let whole = match &value {
            Value::Scalar(text) => values::as_literal(text).map(str::to_owned),
            _ => None,
        };
        let changes = super::environment::changes_execution(&node.name, whole.as_deref());
        self.remember(&shown);
        let fact = Assignment {
            name: node.name.clone(),
            value: to_word(&shown, node.span),
            changes_execution: changes,
            span: node.span,
        };
        (fact, value)
    }

    fn appended(&mut self, name: &str, value: Value, state: &State) -> Value {
        match (state.get(name), value) {
            (Some(Value::Array(old)), Value::Array(new)) => {
                Value::Array(Rc::new(old.iter().chain(new.iter()).cloned().collect()))
            }
            (Some(Value::Scalar(old)), Value::Scalar(new)) => {
                let mut text = old.to_vec();
                new.iter()
                    .for_each(|part| values::push(&mut text, part.clone()));
                Value::Scalar(Rc::new(text))
            }
            (Some(Value::Unset), new) => new,
            (None, Value::Scalar(new)) => {
                let mut text = self.variable(name, state);
                new.iter()
                    .for_each(|part| values::push(&mut text, part.clone()));
                Value::Scalar(Rc::new(text))
            }
            (Some(Value::Associative), _) => Value::Associative,
            _ => Value::Array(Rc::new(vec![vec![Part::Unknown {
                written: format!("${name}"),
                kind: Kind::Any,
                may_be_empty: true,
                may_split: true,
            }]])),
        }
    }

    /// Adds the fact of a command; its effects are empty and known.
    pub(super) fn emit(&mut self, call: &Call, name: &str, state: &State) -> usize {
        let index = self.facts.commands.len();
        for text in &call.argv {
            self.remember(text);
        }
        let argv: Vec<Word> = call
            .argv
            .iter()
            .map(|text| to_word(text, call.span))
            .collect();
        let written = argv.first().map(Word::display).unwrap_or_default();
        let form = match name {
            "" if call
                .argv
                .first()
                .is_some_and(|text| values::as_literal(text).is_none()) =>
            {
                ProgramForm::Unknown
            }
            name if name.starts_with('/') => ProgramForm::Absolute,
            name if name.contains('/') => ProgramForm::Relative,
            _ => ProgramForm::Bare,
        };
        let base = name
            .rsplit('/')
            .next()
            .filter(|base| !base.is_empty())
            .map(str::to_owned);
        self.facts.commands.push(CommandFact {
            program: Program {
                written,
                form,
                name: base,
                path: None,
            },
            argv,
            assignments: call.assignments.clone(),
            redirects: call.redirects.facts.clone(),
            cwd: state.cwd.as_ref().map(|cwd| cwd.to_path_buf()),
            place: Place {
                pipe_stage: self.scope.pipe_stage,
                pipe_stages: self.scope.pipe_stages,
                piped_from: if self.scope.pipe_stage > 0 {
                    self.scope.input.feeder
                } else {
                    None
                },
                conditional: self.scope.conditional,
                background: self.scope.background,
                inside: self.scope.inside,
                elsewhere: self.scope.elsewhere,
            },
            effects_known: Effects::Known,
            effects: Vec::new(),
            wrapper: false,
            walks: false,
            environment: None,
            span: call.span,
        });
        let inside = self.scope.inside;
        for fact in self.facts.commands.iter_mut().take(index).skip(call.first) {
            if fact.place.inside == inside {
                fact.place.inside = Some(index);
            }
        }
        let changing = call
            .assignments
            .iter()
            .find(|assignment| assignment.changes_execution);
        if let Some(assignment) = changing
            && !call.argv.is_empty()
        {
            let reason = format!("`{}` changes what it runs", assignment.name);
            self.opaque(index, opacity::EXECUTION_VARIABLE, reason);
        }
        self.redirect_accesses(index, &call.redirects, state);
        if let Some(input) = &call.redirects.input {
            self.own_input.insert(index, input.stdin.clone());
        }
        index
    }

    /// Assignments or redirects without a command.
    pub(super) fn emit_bare(
        &mut self,
        assignments: Vec<Assignment>,
        redirects: Redirects,
        span: Span,
        state: &State,
        first: usize,
    ) {
        let call = Call {
            argv: Vec::new(),
            assignments,
            redirects,
            span,
            first,
        };
        let index = self.emit(&call, "", state);
        if let Some(command) = self.facts.commands.get_mut(index) {
            command.program.form = ProgramForm::Bare;
        }
        self.add_effect(index, Effect::ShellState);
    }

    /// A compound that computes (`[[ … ]]`, `(( … ))`).
    pub(super) fn emit_inert(&mut self, word: &str, span: Span, state: &State) -> usize {
        let first = self.facts.commands.len();
        let call = Call {
            argv: vec![values::literal(word)],
            assignments: Vec::new(),
            redirects: Redirects::default(),
            span,
            first,
        };
        let index = self.emit(&call, word, state);
        self.add_effect(index, Effect::Inert);
        index
    }

    /// Asks the catalogue about a command and adds what it says.
    pub(super) fn judge(&mut self, index: usize, name: &str, call: &Call, state: &State) {
        let args: Vec<Word> = call
            .argv
            .iter()
            .skip(1)
            .map(|text| to_word(&self.without_dash(text, state), call.span))
            .collect();
        let input = self.input_of(call, state);
        let base = name.rsplit('/').next().unwrap_or(name);
        let invocation = Invocation {
            name: base,
            args: &args,
            stdin: &input.stdin,
        };
        let judgement = self.judgement(&invocation);
        if name.contains('/') {
            self.written_path(index, name, state);
        }
        if let Some(taint) = &state.environment.tainted {
            let reason = format!("{}, so `{base}` may be another program", taint.reason);
            let code = if taint.by_code {
                opacity::CODE_IN_THIS_SHELL
            } else {
                opacity::EXECUTION_VARIABLE
            };
            self.opaque(index, code, reason);
        } else if let Some(reason) = &state.environment.unsettled {
            let reason = format!("{reason}, so `{base}` may read other settings");
            self.opaque(index, opacity::EXECUTION_VARIABLE, reason);
        }
        self.apply(index, &judgement, &input, state);
        if let Some(fact) = self.facts.commands.get_mut(index)
            && (fact.has(Effect::RunsProjectCode) || fact.has(Effect::RunsCode))
        {
            fact.environment = state.environment_change();
        }
        self.operands_of_unknown(index, call, &judgement.nested, state);
        self.scan_tail(index);
        self.scan_words_for_paths(index, &input.stdin);
        if input.own_script {
            self.takes_from_script(index, base);
        }
    }

    /// What a command reads from standard input.
    pub(super) fn input_of(&self, call: &Call, state: &State) -> Input {
        match &call.redirects.input {
            Some(input) => input.clone(),
            None => {
                let inherited = self.inherited_input(state);
                if self.scope.pipe_stage > 0 || !matches!(inherited.stdin, Stdin::Empty) {
                    inherited
                } else {
                    Input::empty()
                }
            }
        }
    }

    /// A command of a script that a shell reads from its standard input inherits that input: what
    /// it takes from there, the shell does not read, and what stood in quotes may run.
    pub(super) fn takes_from_script(&mut self, index: usize, name: &str) {
        let Some(fact) = self.facts.commands.get(index) else {
            return;
        };
        let written = fact.argv.iter().skip(1).all(|word| {
            word.as_literal().is_some_and(|text| {
                text != "-" && !text.starts_with("/dev/") && !text.contains("=-")
            })
        });
        let source = crate::AccessSource::Command(index);
        let reads_files = written
            && self
                .facts
                .accesses
                .iter()
                .any(|access| access.kind == AccessKind::Read && access.source == source);
        let span = fact.span;
        if !reads_files && !NEVER_READ.contains(&name) {
            self.partial_at(
                span,
                "stdin-script",
                format!("`{name}` may read the script it stands in"),
            );
        }
    }

    /// `*.md` as `./*.md` where no name that begins with a dash matches, so that the word cannot turn
    /// into a flag. Nothing that ran before may have made such a name.
    fn without_dash(&self, text: &Text, state: &State) -> Text {
        let (Some(Part::Glob(glob)), Some(cwd)) = (text.first(), state.cwd.as_deref()) else {
            return text.clone();
        };
        let changed = self.facts.accesses.iter().any(crate::Access::is_change)
            || self
                .facts
                .commands
                .iter()
                .rev()
                .skip(1)
                .any(|command| command.effects_known == Effects::Opaque);
        // A pattern that matches nothing stays as it is, and begins with no dash.
        if changed || glob.starts_with('-') {
            return text.clone();
        }
        let names = self.cx.probe.list(cwd, MAX_NAMES + 1);
        let is_safe = names.is_some_and(|names| {
            names.len() <= MAX_NAMES && !names.iter().any(|name| name.starts_with('-'))
        });
        if !is_safe {
            return text.clone();
        }
        let mut safe = vec![Part::Literal("./".to_owned())];
        safe.extend(text.iter().cloned());
        safe
    }

    /// A program written as a path: its file is run, whatever its name.
    fn written_path(&mut self, index: usize, name: &str, state: &State) {
        let path = self.place(&values::literal(name), state);
        let Some(crate::Target::Exact(path)) = path else {
            self.opaque(
                index,
                "program-path",
                format!("`{name}` is not a known program"),
            );
            return;
        };
        let directory = path
            .path
            .parent()
            .and_then(|parent| parent.to_str())
            .unwrap_or("");
        let trusted = PROGRAM_DIRECTORIES.contains(&directory)
            && name.starts_with('/')
            && !name.contains("/../")
            && !name.contains("/./");
        if let Some(command) = self.facts.commands.get_mut(index) {
            command.program.path = Some(path.clone());
        }
        if trusted {
            return;
        }
        self.opaque(
            index,
            "program-path",
            format!("`{name}` is not a system program"),
        );
        self.add_effect(index, Effect::RunsCode);
        self.access(
            index,
            &values::literal(name),
            AccessKind::Execute,
            AccessDetail::Plain,
            false,
            state,
        );
        self.code_file(index, &values::literal(name), state);
    }
}

/// An expanded command line.
pub(super) struct Call {
    pub(super) argv: Vec<Text>,
    pub(super) assignments: Vec<Assignment>,
    pub(super) redirects: Redirects,
    pub(super) span: Span,
    /// First of the commands that its substitutions ran.
    pub(super) first: usize,
}

/// `name=value` or `name+=value` as an argument of a declaring builtin.
fn is_assignment_word(word: &super::syntax::WordNode) -> bool {
    match word.pieces.first() {
        Some(super::syntax::Piece::Text(text)) => text.split_once('=').is_some_and(|(name, _)| {
            super::expand::is_name(name.strip_suffix('+').unwrap_or(name))
        }),
        _ => false,
    }
}
