//! Builtins that change the shell's own state, or run something in it.
//!
//! Others (`echo`, `test`, `printf` …) are looked up in the catalogue like programs; this module
//! only sees to what their words make the shell evaluate.

mod options;

use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::control::Flow;
use super::parser::Origin;
use super::reader::Reader;
use super::simple::Call;
use super::values::{self, Kind, Part, State, Text, Value, join_ways};
use crate::command::Stdin;
use crate::opacity::{self, UNKNOWN_PROGRAM, UNKNOWN_SHELL_TEXT};
use crate::{Effect, FileKind, Span, Target};

/// What a builtin does here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Builtin {
    Cd,
    Pushd,
    Popd,
    Declare,
    Read,
    Mapfile,
    Printf,
    Test,
    Let,
    Eval,
    Source,
    Trap,
    Set,
    Shopt,
    Alias,
    Unset,
    Command,
    Exec,
    Exit,
    Return,
    Break,
    Continue,
    Shift,
    Getopts,
    Wait,
    Enable,
    Hash,
    /// `jobs`, whose `-x` runs a command.
    Jobs,
    /// `ulimit`
    Limit,
    /// Changes nothing that is followed.
    Plain,
    /// May evaluate its words or run commands (`compgen -C`, `fc`).
    Evaluating,
    /// Like [`Self::Plain`], and judged by the catalogue.
    Listed,
}

/// The builtin of this name, if it needs treatment here.
pub(super) fn find(name: &str) -> Option<Builtin> {
    Some(match name {
        "cd" => Builtin::Cd,
        "pushd" => Builtin::Pushd,
        "popd" => Builtin::Popd,
        "declare" | "typeset" | "local" | "export" | "readonly" => Builtin::Declare,
        "read" => Builtin::Read,
        "mapfile" | "readarray" => Builtin::Mapfile,
        "printf" => Builtin::Printf,
        "test" | "[" => Builtin::Test,
        "let" => Builtin::Let,
        "eval" => Builtin::Eval,
        "source" | "." => Builtin::Source,
        "trap" => Builtin::Trap,
        "set" => Builtin::Set,
        "shopt" => Builtin::Shopt,
        "alias" | "unalias" => Builtin::Alias,
        "unset" => Builtin::Unset,
        "command" | "builtin" => Builtin::Command,
        "exec" => Builtin::Exec,
        "exit" | "logout" => Builtin::Exit,
        "return" => Builtin::Return,
        "break" => Builtin::Break,
        "continue" => Builtin::Continue,
        "shift" => Builtin::Shift,
        "getopts" => Builtin::Getopts,
        "wait" => Builtin::Wait,
        "enable" => Builtin::Enable,
        "hash" => Builtin::Hash,
        "jobs" => Builtin::Jobs,
        ":" | "true" | "false" | "disown" | "dirs" | "times" | "umask" | "suspend" | "bg"
        | "fg" | "help" | "caller" => Builtin::Plain,
        "ulimit" => Builtin::Limit,
        "bind" | "complete" | "compgen" | "compopt" | "fc" => Builtin::Evaluating,
        "history" | "kill" | "echo" | "pwd" | "type" => Builtin::Listed,
        _ => return None,
    })
}

/// `.` and `..` taken out as `cd` does it: without looking at links.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut result = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::Normal(name) => result.push(name),
            Component::ParentDir => {
                result.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    result
}

/// Operands after options; `None` when a word that is not known could be either.
fn operands(argv: &[Text]) -> Option<Vec<&Text>> {
    let mut rest = argv.iter().skip(1).peekable();
    while let Some(word) = rest.peek() {
        match values::as_literal(word) {
            Some("--") => {
                rest.next();
                break;
            }
            Some(text) if text.starts_with('-') && text.len() > 1 => {
                rest.next();
            }
            Some(_) => break,
            None if matches!(word.first(), Some(Part::Literal(text)) if !text.starts_with('-')) => {
                break;
            }
            // what `mktemp` prints begins with a slash or with its template
            None if matches!(word.first(), Some(Part::Temporary)) => break,
            None => return None,
        }
    }
    Some(rest.collect())
}

fn options(argv: &[Text]) -> String {
    argv.iter()
        .skip(1)
        .map_while(|word| {
            values::as_literal(word).filter(|text| text.starts_with('-') && *text != "--")
        })
        .flat_map(|text| text.chars().skip(1))
        .collect()
}

impl Reader<'_> {
    pub(super) fn builtin(&mut self, builtin: Builtin, call: Call, mut state: State) -> Flow {
        let name = values::as_literal(call.argv.first().map_or(&[], Vec::as_slice))
            .unwrap_or("")
            .to_owned();
        let index = self.emit(&call, &name, &state);
        match builtin {
            Builtin::Plain
            | Builtin::Listed
            | Builtin::Printf
            | Builtin::Test
            | Builtin::Read
            | Builtin::Mapfile => {}
            _ => self.add_effect(index, Effect::ShellState),
        }
        let span = call.span;
        match builtin {
            Builtin::Cd => return self.cd(index, &call, state),
            Builtin::Pushd | Builtin::Popd => {
                let target =
                    operands(&call.argv).and_then(|list| list.first().map(|text| (*text).clone()));
                match target.filter(|text| {
                    builtin == Builtin::Pushd
                        && options(&call.argv).is_empty()
                        && values::as_literal(text).is_some_and(|text| !text.starts_with('+'))
                }) {
                    Some(target) => return self.change_directory(&target, state),
                    None => state.lose_cwd(),
                }
            }
            Builtin::Declare => self.declare(index, &name, &call, &mut state),
            Builtin::Read => {
                self.read_names(&call, &mut state);
                self.add_effect(index, Effect::ShellState);
                self.input_access(index, &call, &state);
            }
            Builtin::Mapfile => {
                self.mapfile(index, &call, &mut state);
                self.add_effect(index, Effect::ShellState);
                self.input_access(index, &call, &state);
            }
            Builtin::Printf => {
                if let Some(at) = call.argv.iter().position(|word| {
                    values::as_literal(word).is_some_and(|text| text.starts_with("-v"))
                }) {
                    let joined = call
                        .argv
                        .get(at)
                        .and_then(|word| values::as_literal(word))
                        .and_then(|text| text.strip_prefix("-v"))
                        .filter(|text| !text.is_empty());
                    let target = match joined {
                        Some(text) => Some(values::literal(text)),
                        None => call.argv.get(at + 1).cloned(),
                    };
                    if let Some(target) = target {
                        let words: Option<Vec<&str>> = call
                            .argv
                            .iter()
                            .skip(at + if joined.is_some() { 1 } else { 2 })
                            .map(|word| values::as_literal(word))
                            .collect();
                        let spoken = words.and_then(|words| {
                            let words: Vec<&str> = ["printf"].into_iter().chain(words).collect();
                            super::printed::spoken(&words)
                        });
                        match (spoken, values::as_literal(&target).map(str::to_owned)) {
                            (Some(text), Some(name)) if super::expand::is_name(&name) => {
                                let value = Value::Scalar(Rc::new(values::literal(&text)));
                                self.assign(&name, value, span, &mut state);
                            }
                            _ => self.set_named(&target, Kind::Any, span, &mut state),
                        }
                    }
                } else if call.argv.get(1).is_some_and(could_be_option) {
                    self.partial_at(
                        span,
                        "variable-name",
                        "`printf` may assign a variable that is not known",
                    );
                }
                self.judge(index, &name, &call, &state);
            }
            Builtin::Test => {
                self.test_words(&call, span, &mut state);
                self.judge(index, &name, &call, &state);
            }
            Builtin::Let => {
                for word in call.argv.iter().skip(1) {
                    self.evaluate(word, span, &mut state);
                }
            }
            Builtin::Limit => {
                self.limits(&call);
                self.judge(index, &name, &call, &state);
            }
            Builtin::Eval => return self.eval(index, &call, state),
            Builtin::Source => return self.source(index, &call, state),
            Builtin::Trap => self.trap(index, &call, &mut state),
            Builtin::Set => self.set_options(index, &call, &mut state),
            Builtin::Shopt => self.shopt(index, &call, &mut state),
            Builtin::Alias => {
                let defines = call
                    .argv
                    .iter()
                    .skip(1)
                    .any(|word| values::as_literal(word).is_none_or(|text| text.contains('=')));
                if defines {
                    self.opaque(index, opacity::ALIAS, "it defines an alias");
                    for word in call.argv.iter().skip(1) {
                        if let Some((alias, text)) =
                            values::as_literal(word).and_then(|text| text.split_once('='))
                        {
                            let text = text.to_owned();
                            self.renames.push((alias.to_owned(), text.clone()));
                            self.scan_opaque(&text, index);
                        }
                    }
                }
            }
            Builtin::Unset => {
                for word in call.argv.iter().skip(1) {
                    match values::as_literal(word).map(str::to_owned) {
                        Some(text) if text.starts_with('-') => {}
                        Some(text) if super::expand::is_name(&text) => {
                            let own = self.frames.last().is_none_or(|frame| {
                                frame.locals.iter().any(|(local, ..)| *local == text)
                            });
                            if !own || self.is_prefixed(&text) {
                                self.reveal(&text, &mut state);
                            } else {
                                self.assign(&text, Value::Unset, span, &mut state);
                            }
                            if let Some(functions) =
                                Rc::make_mut(&mut state.functions).get_mut(&text)
                            {
                                functions.or_program = true;
                            }
                        }
                        _ => {
                            self.variable_name(word, span, &mut state);
                            state.forget_named();
                        }
                    }
                }
            }
            Builtin::Command => return self.command_builtin(index, &name, call, state),
            Builtin::Exec => return self.exec(index, call, state),
            Builtin::Exit => {
                let certain = call.argv.len() == 1
                    || (call.argv.len() == 2
                        && call.argv.get(1).is_some_and(|word| {
                            values::as_literal(word).is_some_and(values::is_integer)
                                || values::worst(word) == Some(Kind::Integer)
                        }));
                return if certain {
                    Flow::dead()
                } else {
                    Flow::both(state)
                };
            }
            Builtin::Return => {
                let Some(frame) = self.frames.last_mut() else {
                    return Flow::both(state);
                };
                frame.returns = join_ways(frame.returns.take(), Some(state.clone()));
                // Also what follows is possible, should it fail.
                return if call.argv.len() == 1 {
                    Flow::dead()
                } else {
                    Flow::both(state)
                };
            }
            Builtin::Break | Builtin::Continue => {
                let depth = self.loops.len();
                let levels = if call.argv.len() == 1 { 1 } else { depth };
                for frame in self.loops.iter_mut().rev().take(levels) {
                    let slot = if builtin == Builtin::Break {
                        &mut frame.exits
                    } else {
                        &mut frame.continues
                    };
                    *slot = join_ways(slot.take(), Some(state.clone()));
                    if levels > 1 {
                        frame.exits = join_ways(frame.exits.take(), Some(state.clone()));
                        frame.continues = join_ways(frame.continues.take(), Some(state.clone()));
                    }
                }
                return if depth > 0 && levels == 1 {
                    Flow::dead()
                } else {
                    Flow::both(state)
                };
            }
            Builtin::Shift => {
                state.positional = match (&state.positional, call.argv.get(1)) {
                    (Some(list), None) if !list.iter().any(|text| values::may_split(text)) => {
                        Some(Rc::new(list.iter().skip(1).cloned().collect()))
                    }
                    _ => None,
                };
            }
            Builtin::Getopts => {
                if let Some(name) = call.argv.get(2) {
                    self.set_named(name, Kind::Benign, span, &mut state);
                } else {
                    self.partial_at(
                        span,
                        "variable-name",
                        "`getopts` with words that are not known",
                    );
                }
                state.set_unknown("OPTARG", Kind::Any);
                if call.argv.iter().any(|word| values::may_split(word)) {
                    state.forget_named();
                }
            }
            Builtin::Wait => {
                // `wait -p NAME` assigns: a subscript in the name is evaluated.
                let plain = call.argv.iter().skip(1).all(|word| {
                    let option = values::as_literal(word)
                        .is_some_and(|text| text.starts_with('-') && text.contains('p'));
                    !option && !could_be_option(word)
                });
                if !plain {
                    for word in call.argv.iter().skip(1) {
                        let text = values::as_literal(word).unwrap_or_default();
                        let joined = text.strip_prefix('-').and_then(|rest| rest.split_once('p'));
                        match joined.filter(|(_, name)| !name.is_empty()) {
                            Some((_, name)) => {
                                self.variable_name(&values::literal(name), span, &mut state);
                            }
                            None => self.variable_name(word, span, &mut state),
                        }
                    }
                    state.forget_named();
                }
            }
            Builtin::Enable => {
                let plain = call
                    .argv
                    .iter()
                    .skip(1)
                    .all(|word| matches!(values::as_literal(word), Some("-a" | "-p" | "-s")));
                if !plain {
                    self.opaque(index, "enable", "it changes which commands are builtins");
                    self.partial_at(span, "enable", "`enable` changes what names mean");
                }
            }
            Builtin::Hash => {
                let renames = call.argv.iter().skip(1).any(|word| {
                    could_be_option(word)
                        || values::as_literal(word)
                            .is_some_and(|text| text.starts_with('-') && text.contains('p'))
                });
                if renames {
                    state.environment.taint("`hash` may have renamed programs");
                    let words: Vec<&str> = call
                        .argv
                        .iter()
                        .skip(1)
                        .filter_map(|word| values::as_literal(word))
                        .collect();
                    let joined = words.first().and_then(|word| word.strip_prefix("-p"));
                    let (path, names) = match joined {
                        Some(path) if !path.is_empty() => (Some(path), words.get(1..)),
                        _ => (words.get(1).copied(), words.get(2..)),
                    };
                    for name in names.unwrap_or_default() {
                        let path = path.unwrap_or_default().to_owned();
                        self.renames.push(((*name).to_owned(), path));
                    }
                    self.opaque(index, opacity::HASH, "it changes what names run");
                }
            }
            Builtin::Jobs => {
                let runs = call.argv.iter().skip(1).any(|word| {
                    could_be_option(word)
                        || values::as_literal(word)
                            .is_some_and(|text| text.starts_with('-') && text.contains('x'))
                });
                if runs {
                    self.partial_at(span, "evaluating-builtin", "`jobs -x` runs its words");
                    let words: Vec<_> = call
                        .argv
                        .iter()
                        .skip(2)
                        .filter_map(|word| values::as_literal(word))
                        .collect();
                    self.scan_opaque(&words.join(" "), index);
                }
                self.add_effect(index, Effect::Inert);
            }
            Builtin::Plain => self.add_effect(index, Effect::Inert),
            Builtin::Evaluating => {
                self.partial_at(
                    span,
                    "evaluating-builtin",
                    format!("`{name}` may run its words"),
                );
                self.judge(index, &name, &call, &state);
            }
            Builtin::Listed => self.judge(index, &name, &call, &state),
        }
        match name.as_str() {
            "false" => Flow {
                ok: None,
                fail: Some(state),
            },
            "true" | ":" => Flow {
                ok: Some(state),
                fail: None,
            },
            _ => Flow::both(state),
        }
    }

    fn cd(&mut self, index: usize, call: &Call, mut state: State) -> Flow {
        let options = options(&call.argv);
        let target = match operands(&call.argv).as_deref() {
            Some([]) => Some(self.variable("HOME", &state)),
            Some([target]) => Some((*target).clone()),
            _ => None,
        };
        let physical = options.contains(['P', 'e', '@']);
        let target = target.filter(|target| !physical && !values::may_split(target));
        let Some(target) = target else {
            state.lose_cwd();
            return Flow::both(state);
        };
        let _ = index;
        if values::as_literal(&target) == Some("-") {
            state.lose_cwd();
            return Flow::both(state);
        }
        let plain = values::as_literal(&target).is_some_and(|text| {
            text.starts_with('/')
                || text.starts_with("./")
                || text.starts_with("../")
                || text == "."
                || text == ".."
        });
        if !plain && state.get("CDPATH").is_some() {
            state.lose_cwd();
            return Flow::both(state);
        }
        self.change_directory(&target, state)
    }

    /// The flow of a change of directory, which may fail where the directory is not there.
    fn change_directory(&mut self, target: &Text, state: State) -> Flow {
        let glob = target.iter().any(|part| matches!(part, Part::Glob(_)));
        let new = if glob {
            None
        } else {
            self.directory(target, &state)
        };
        let exists = new.as_ref().is_some_and(|path| {
            path.to_str().is_some_and(|path| {
                matches!(self.cx.target(path, Path::new("/")), Target::Exact(fact)
                    if fact.kind == Some(FileKind::Directory))
            })
        });
        let mut changed = state.clone();
        changed.possible_cwds = match values::as_literal(target) {
            Some(written) if new.is_none() => state
                .possible_cwds
                .iter()
                .map(|cwd| super::builtins::lexical(&cwd.join(written)))
                .collect::<std::collections::BTreeSet<_>>()
                .into(),
            _ => Rc::default(),
        };
        changed.cwd = new;
        changed.cwd_is_temporary = matches!(target.as_slice(), [Part::Temporary]);
        let old = match state.cwd.as_ref().and_then(|cwd| cwd.to_str()) {
            Some(old) => values::literal(old),
            None => vec![values::unknown("$OLDPWD", Kind::Benign)],
        };
        changed.set_directory("OLDPWD", Value::Scalar(Rc::new(old)));
        if state.assigned("PWD").is_some() {
            let new = vec![values::unknown("$PWD", Kind::Benign)];
            changed.set_directory("PWD", Value::Scalar(Rc::new(new)));
        }
        if exists || changed.cwd_is_temporary {
            Flow {
                ok: Some(changed),
                fail: None,
            }
        } else {
            Flow {
                ok: Some(changed),
                fail: Some(state),
            }
        }
    }

    fn eval(&mut self, index: usize, call: &Call, state: State) -> Flow {
        let mut text = Text::new();
        for (at, word) in call.argv.iter().skip(1).enumerate() {
            if at > 0 {
                values::push(&mut text, Part::Literal(" ".to_owned()));
            }
            word.iter()
                .for_each(|part| values::push(&mut text, part.clone()));
        }
        match values::as_literal(&text).map(str::to_owned) {
            Some(text) => {
                let text = text.strip_prefix("-- ").map(str::to_owned).unwrap_or(text);
                if let Some(command) = self.facts.commands.get_mut(index) {
                    command.wrapper = true;
                }
                let input = call.redirects.input.clone();
                self.scoped(
                    |scope| {
                        scope.inside = Some(index);
                        scope.no_functions = false;
                        if let Some(input) = input {
                            scope.input = input;
                        }
                    },
                    |reader| reader.text(&text, Origin::Fixed(call.span), state),
                )
            }
            None => self.unknown_code(index, &text, call.span, state),
        }
    }

    /// Text or a file that is not known runs in this shell.
    fn unknown_code(&mut self, index: usize, text: &Text, span: Span, mut state: State) -> Flow {
        self.add_effect(index, Effect::RunsCode);
        if values::worst(text) == Some(Kind::Remote) {
            self.add_effect(index, Effect::RunsRemoteCode);
        }
        self.opaque(index, UNKNOWN_SHELL_TEXT, "it runs text that is not known");
        self.partial_at(
            span,
            UNKNOWN_SHELL_TEXT,
            "the shell runs text that is not known",
        );
        let shown = values::to_word(text, span).display();
        self.scan_unread(&shown, Origin::Fixed(span), &state);
        state.forget();
        state
            .environment
            .taint("text that is not known ran in this shell");
        Flow::both(state)
    }

    fn source(&mut self, index: usize, call: &Call, mut state: State) -> Flow {
        let target = operands(&call.argv).and_then(|list| list.first().map(|text| (*text).clone()));
        self.add_effect(index, Effect::RunsCode);
        let Some(target) = target else {
            return self.unknown_code(
                index,
                &vec![values::unknown("?", Kind::Any)],
                call.span,
                state,
            );
        };
        let input = self.input_of(call, &state);
        if matches!(
            values::as_literal(&target),
            Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
        ) {
            if input.remote {
                self.add_effect(index, Effect::RunsRemoteCode);
            }
            if let Stdin::Text(word) = &input.stdin
                && let Some(text) = word.as_literal()
            {
                let text = text.to_owned();
                return self.scoped(
                    |scope| scope.inside = Some(index),
                    |reader| reader.text(&text, Origin::Fixed(call.span), state),
                );
            }
            let text = match &input.stdin {
                Stdin::Text(word) => self.recall(word),
                _ => vec![values::unknown("/dev/stdin", Kind::Any)],
            };
            return self.unknown_code(index, &text, call.span, state);
        }
        if values::worst(&target) == Some(Kind::Remote) {
            self.add_effect(index, Effect::RunsRemoteCode);
        }
        if let Some(text) = self.process_output(&target) {
            let text = values::literal(&text);
            return self.unknown_code(index, &text, call.span, state);
        }
        self.access(
            index,
            &target,
            crate::AccessKind::Read,
            crate::AccessDetail::Plain,
            false,
            &state,
        );
        if self.code_file(index, &target, &state) {
            let shown = values::to_word(&target, call.span).display();
            self.opaque(
                index,
                opacity::CODE_FILE,
                format!("it runs the file `{shown}` in this shell"),
            );
            state.forget();
            state.environment.taint_by_code("a file ran in this shell");
            // What it defines may stand behind any name.
            self.partial_at(
                call.span,
                opacity::CODE_FILE,
                "a file that runs in this shell may change what names mean",
            );
            return Flow::both(state);
        }
        self.unknown_code(index, &target, call.span, state)
    }

    fn trap(&mut self, index: usize, call: &Call, state: &mut State) {
        let Some(list) = operands(&call.argv) else {
            self.partial_at(call.span, "trap", "a trap that is not known");
            return;
        };
        if list.len() < 2 || options(&call.argv).contains(['l', 'p']) {
            return;
        }
        let Some(action) = list.first() else { return };
        match values::as_literal(action).map(str::to_owned) {
            Some(text) if text.is_empty() || text == "-" => {}
            Some(text) => {
                let mut later = state.clone();
                later.forget();
                let before = later.clone();
                let first = self.facts.commands.len();
                let flow = self.scoped(
                    |scope| {
                        scope.inside = Some(index);
                        scope.conditional = true;
                    },
                    |reader| reader.text(&text, Origin::Fixed(call.span), later),
                );
                let names: Vec<String> = self
                    .facts
                    .commands
                    .iter()
                    .skip(first)
                    .map(|fact| fact.program.written.clone())
                    .collect();
                let moves = names
                    .iter()
                    .any(|name| matches!(name.as_str(), "cd" | "pushd" | "popd"));
                let at_end_only = list.iter().skip(1).all(|signal| {
                    values::as_literal(signal).is_some_and(|name| {
                        matches!(name.to_ascii_uppercase().as_str(), "EXIT" | "0")
                    })
                });
                // It may run between any two commands, or at the end.
                let unchanged = flow.after().is_none_or(|after| after == before);
                if !at_end_only {
                    let defined = self.defined.len();
                    for name in &names {
                        self.trapped_anytime.entry(name.clone()).or_insert(defined);
                    }
                }
                self.trapped.extend(names);
                if !at_end_only && (moves || !unchanged) {
                    self.partial_at(
                        call.span,
                        "trap",
                        "a trap may change anything between two commands",
                    );
                    state.forget();
                }
            }
            None => {
                let text = (*action).clone();
                self.opaque(index, UNKNOWN_SHELL_TEXT, "the trap's text is not known");
                self.partial_at(call.span, "trap", "a trap runs text that is not known");
                let shown = values::to_word(&text, call.span).display();
                self.scan_unread(&shown, Origin::Fixed(call.span), state);
                state.forget();
            }
        }
    }

    fn command_builtin(&mut self, index: usize, name: &str, call: Call, state: State) -> Flow {
        let shows = name == "command" && options(&call.argv).contains(['v', 'V']);
        if shows {
            self.judge(index, name, &call, &state);
            return Flow::both(state);
        }
        let Some(rest) = operands(&call.argv) else {
            self.partial_at(call.span, UNKNOWN_PROGRAM, "the command is not known");
            return self.unknown_code(index, &call.argv.concat(), call.span, state);
        };
        if rest.is_empty() {
            return Flow::both(state);
        }
        let inner = self.unwrapped(index, &call, rest.into_iter().cloned().collect());
        self.scoped(
            |scope| {
                scope.inside = Some(index);
                scope.no_functions = true;
            },
            |reader| reader.run(inner, state),
        )
    }

    /// The command that a wrapping builtin runs.
    fn unwrapped(&mut self, index: usize, call: &Call, argv: Vec<Text>) -> Call {
        if let Some(command) = self.facts.commands.get_mut(index) {
            command.wrapper = true;
        }
        Call {
            argv,
            assignments: Vec::new(),
            redirects: super::redirects::Redirects {
                input: call.redirects.input.clone(),
                ..Default::default()
            },
            span: call.span,
            first: self.facts.commands.len(),
        }
    }

    fn exec(&mut self, index: usize, call: Call, mut state: State) -> Flow {
        let Some(mut rest) = operands(&call.argv) else {
            self.partial_at(call.span, UNKNOWN_PROGRAM, "the command is not known");
            return Flow::both(state);
        };
        for word in call.argv.iter().skip(1) {
            let Some(flag) = values::as_literal(word).filter(|text| text.starts_with('-')) else {
                break;
            };
            if flag.contains('c') {
                state.environment.clear();
            }
            if flag.ends_with('a') && flag.len() > 1 {
                rest = rest.into_iter().skip(1).collect();
            } else if flag.contains('a') {
                self.partial_at(call.span, UNKNOWN_PROGRAM, "an unusual option of `exec`");
            }
        }
        if rest.is_empty() {
            if call.redirects.input.is_some() {
                if self.inherited_input(&state).own_script {
                    self.partial_at(
                        call.span,
                        "stdin-script",
                        "`exec` changes where the shell reads its script from",
                    );
                }
                state.stdin_replaced = true;
            }
            return Flow::both(state);
        }
        let inner = self.unwrapped(index, &call, rest.into_iter().cloned().collect());
        self.scoped(
            |scope| {
                scope.inside = Some(index);
                scope.programs_only = true;
            },
            |reader| reader.run(inner, state),
        )
    }

    fn input_access(&mut self, index: usize, _call: &Call, _state: &State) {
        self.add_effect(index, Effect::Inert);
    }
}

/// The word may begin with `-` or vanish, and is not known.
pub(super) fn could_be_option(word: &Text) -> bool {
    match word.first() {
        None => false,
        Some(Part::Literal(text)) => text.starts_with('-') && values::as_literal(word).is_none(),
        Some(Part::Unknown {
            kind: Kind::Integer,
            may_split: false,
            ..
        })
        | Some(Part::Temporary) => false,
        Some(Part::Unknown { .. } | Part::Glob(_)) => true,
    }
}
