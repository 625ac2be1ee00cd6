//! What expanded words run: a function, a builtin, a program, or something that is not known.

use super::bounds;
use super::control::Flow;
use super::parser::Origin;
use super::reader::Reader;
use super::redirects::Redirects;
use super::simple::Call;
use super::values::{self, Kind, State, may_split};
use crate::opacity;
use crate::{Effect, ProgramForm};

impl Reader<'_> {
    /// Runs expanded words: a function, a builtin or a program. What runs another command comes
    /// here again, which is bounded: sixty thousand bytes of `env` would take the whole stack.
    pub(super) fn run(&mut self, call: Call, state: State) -> Flow {
        if self.runs >= bounds::MAX_RUNS {
            return self.run_unread(call, state);
        }
        self.runs += 1;
        let flow = self.run_once(call, state);
        self.runs -= 1;
        flow
    }

    /// What is run is too deep within other commands to be read: looked at for danger only.
    fn run_unread(&mut self, call: Call, mut state: State) -> Flow {
        self.partial_at(call.span, "too-deep", "commands within commands too deeply");
        let words: Vec<&str> = call
            .argv
            .iter()
            .filter_map(|word| values::as_literal(word))
            .collect();
        self.scan_unread(&words.join(" "), Origin::Fixed(call.span), &state);
        state.forget();
        Flow::both(state)
    }

    fn run_once(&mut self, call: Call, state: State) -> Flow {
        if !self.step() {
            return Flow::both(state);
        }
        let Some(program) = call.argv.first() else {
            return Flow::both(state);
        };
        let Some(name) = values::as_literal(program).map(str::to_owned) else {
            return self.run_unknown(call, state);
        };
        if !self.scope.programs_only {
            if !self.scope.no_functions
                && !name.contains('/')
                && let Some(functions) = state.functions.get(&name).cloned()
            {
                return self.run_functions(call, &name, &functions, state);
            }
            if let Some(builtin) = super::builtins::find(&name) {
                return self.builtin(builtin, call, state);
            }
        }
        let index = self.emit(&call, &name, &state);
        self.judge(index, &name, &call, &state);
        Flow::both(state)
    }

    /// The program is not known before it runs.
    fn run_unknown(&mut self, call: Call, state: State) -> Flow {
        let index = self.emit(&call, "", &state);
        let remote = call
            .argv
            .iter()
            .any(|text| values::worst(text) == Some(Kind::Remote));
        if let Some(command) = self.facts.commands.get_mut(index) {
            command.program.form = ProgramForm::Unknown;
            command.program.name = None;
        }
        if remote {
            self.add_effect(index, Effect::RunsRemoteCode);
        }
        self.opaque(
            index,
            opacity::UNKNOWN_PROGRAM,
            "the program is not known before it runs",
        );
        let vanishes = call.argv.first().is_some_and(|text| may_split(text));
        let mut after = state.clone();
        if vanishes && call.argv.len() > 1 && !self.scope.programs_only {
            // `$SUDO rm x`: it may be empty, or a wrapper of what follows.
            let tail = Call {
                argv: call.argv.iter().skip(1).cloned().collect(),
                assignments: Vec::new(),
                redirects: Redirects {
                    input: call.redirects.input.clone(),
                    ..Redirects::default()
                },
                span: call.span,
                first: self.facts.commands.len(),
            };
            let flow = self.scoped(
                |scope| {
                    scope.inside = Some(index);
                    scope.conditional = true;
                },
                |reader| reader.run(tail, state.clone()),
            );
            if let Some(ended) = flow.after() {
                after = after.join(ended);
            }
        }
        if !self.scope.programs_only {
            // It may be a builtin that changes anything in this shell.
            self.partial_at(
                call.span,
                opacity::UNKNOWN_PROGRAM,
                "an unknown command may be any builtin",
            );
            after.forget();
            after
                .environment
                .taint_by_code("an unknown command ran in this shell");
        }
        Flow::both(after)
    }
}
