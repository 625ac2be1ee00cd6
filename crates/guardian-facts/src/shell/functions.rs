//! Shell functions: what a definition changes, and what a call runs.

use std::rc::Rc;

use super::bounds;
use super::control::Flow;
use super::reader::{Frame, Reader};
use super::redirects::Redirects;
use super::simple::Call;
use super::syntax::Command;
use super::values::{self, Functions, Kind, Part, State, Text, join_ways};
use crate::{Effect, ProgramForm};

impl Reader<'_> {
    /// From here on the name stands for this body.
    pub(super) fn define(&mut self, name: &str, body: &Rc<Command>, state: &mut State) {
        self.defined.push((name.to_owned(), Rc::clone(body)));
        let functions = Functions {
            bodies: vec![Rc::clone(body)],
            or_program: false,
        };
        Rc::make_mut(&mut state.functions).insert(name.to_owned(), functions);
    }

    /// Runs a function's body in the current shell.
    fn call(
        &mut self,
        name: &str,
        body: &Rc<Command>,
        arguments: Vec<Text>,
        index: usize,
        state: State,
    ) -> Flow {
        self.called.insert(Rc::as_ptr(body) as usize);
        if super::fork_bomb::is_fork_bomb(name, body) {
            self.add_effect(index, Effect::ForkBomb);
        }
        let same: Vec<bool> = self
            .frames
            .iter()
            .filter(|frame| Rc::ptr_eq(&frame.body, body))
            .map(|frame| frame.generic)
            .collect();
        let mut entry = state.clone();
        let generic = !same.is_empty();
        if generic || self.frames.len() >= bounds::MAX_NESTED_TEXTS {
            entry.forget();
            if same.contains(&true) {
                // Its body was read with unknown values: nothing new can come of it.
                return Flow::both(entry);
            }
            if !generic {
                self.partial_at(
                    crate::Span { start: 0, end: 0 },
                    "too-deep",
                    "functions call too deeply",
                );
                return Flow::both(entry);
            }
        } else {
            let unknown = arguments.iter().any(|text| {
                values::may_split(text) || text.iter().any(|part| matches!(part, Part::Glob(_)))
            });
            entry.positional = if unknown {
                None
            } else {
                Some(Rc::new(arguments))
            };
        }
        self.frames.push(Frame {
            body: Rc::clone(body),
            generic,
            returns: None,
            locals: Vec::new(),
            was_conditional: self.scope.conditional,
        });
        let flow = self.scoped(
            |scope| {
                scope.inside = Some(index);
                scope.programs_only = false;
                scope.no_functions = false;
            },
            |reader| {
                let loops = std::mem::take(&mut reader.loops);
                let flow = reader.command(body, entry);
                reader.loops = loops;
                flow
            },
        );
        let Some(frame) = self.frames.pop() else {
            return flow;
        };
        let mut restore = |ended: Option<State>| {
            join_ways(ended, frame.returns.clone()).map(|mut ended| {
                ended.positional = state.positional.clone();
                for (name, value, conditional) in frame.locals.iter().rev() {
                    if self.revealed.contains(name) {
                        self.assign_stubborn(name, &mut ended);
                        continue;
                    }
                    let now = ended.assigned(name).cloned();
                    if *conditional && now != *value {
                        ended.set_unknown(name, Kind::Any);
                        continue;
                    }
                    ended.restore(name, value.as_ref(), &state.environment);
                }
                if generic {
                    ended.forget();
                }
                ended
            })
        };
        Flow {
            ok: restore(flow.ok),
            fail: restore(flow.fail),
        }
    }

    /// Runs the functions that a name may stand for, and the program where it may be one too.
    pub(super) fn run_functions(
        &mut self,
        call: Call,
        name: &str,
        functions: &Functions,
        state: State,
    ) -> Flow {
        let index = self.emit(&call, name, &state);
        if let Some(command) = self.facts.commands.get_mut(index) {
            command.program.form = ProgramForm::Function;
            command.wrapper = true;
        }
        let arguments: Vec<Text> = call.argv.iter().skip(1).cloned().collect();
        let mut result = Flow::dead();
        let fed = call.redirects.input.clone();
        for body in &functions.bodies {
            let flow = self.scoped(
                |scope| {
                    if let Some(input) = fed.clone() {
                        scope.input = input;
                    }
                },
                |reader| reader.call(name, body, arguments.clone(), index, state.clone()),
            );
            result = Flow {
                ok: join_ways(result.ok, flow.ok),
                fail: join_ways(result.fail, flow.fail),
            };
        }
        if functions.or_program {
            let flow = self.scoped(
                |scope| {
                    scope.inside = Some(index);
                    scope.no_functions = true;
                },
                |reader| {
                    let first = reader.facts.commands.len();
                    let call = Call {
                        first,
                        redirects: Redirects::default(),
                        ..call
                    };
                    reader.run(call, state)
                },
            );
            result = Flow {
                ok: join_ways(result.ok, flow.ok),
                fail: join_ways(result.fail, flow.fail),
            };
        }
        result
    }
}
