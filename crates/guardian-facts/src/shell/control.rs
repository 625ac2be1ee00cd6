//! Lists, pipelines and compound commands: which state reaches which command.

use std::rc::Rc;

use super::bounds;
use super::reader::{Input, LoopFrame, Reader};
use super::syntax::{
    AssignedNode, Command, CommandKind, Connector, List, Piece, Pipeline, Statement, TestItem,
    WordNode,
};
use super::values::{self, Kind, Part, State, Text, Value, join_ways, unknown};
use crate::Effect;
use crate::command::Stdin;

/// The states after a command: when it succeeded, when it failed. `None`: it never does.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    pub(super) ok: Option<State>,
    pub(super) fail: Option<State>,
}

impl Flow {
    pub(super) fn both(state: State) -> Self {
        Self {
            ok: Some(state.clone()),
            fail: Some(state),
        }
    }

    /// Nothing follows.
    pub(super) fn dead() -> Self {
        Self {
            ok: None,
            fail: None,
        }
    }

    pub(super) fn after(self) -> Option<State> {
        join_ways(self.ok, self.fail)
    }
}

impl Reader<'_> {
    pub(super) fn list(&mut self, list: &List, state: State) -> Flow {
        let mut flow = Flow::both(state.clone());
        let mut current = state;
        let mut dead = false;
        for statement in &list.statements {
            flow = self.statement(statement, current.clone());
            match flow.clone().after() {
                Some(next) => current = next,
                // What follows `exit` is read all the same, with the last state.
                None => dead = true,
            }
        }
        if dead { Flow::dead() } else { flow }
    }

    pub(super) fn statement(&mut self, statement: &Statement, state: State) -> Flow {
        if !statement.background {
            return self.and_or(statement, state);
        }
        let inner = state.clone();
        self.scoped(
            |scope| {
                scope.background = true;
                scope.input = Input::empty();
            },
            |reader| reader.in_subshell(|reader| reader.and_or(statement, inner)),
        );
        Flow::both(state)
    }

    fn and_or(&mut self, statement: &Statement, state: State) -> Flow {
        let mut last = state.clone();
        let mut flow = self.pipeline(&statement.first, state);
        for (connector, pipeline) in &statement.rest {
            let (enter, skip) = match connector {
                Connector::And => (flow.ok, flow.fail),
                Connector::Or => (flow.fail, flow.ok),
            };
            let reachable = enter.is_some();
            let entered = enter
                .or_else(|| skip.clone())
                .unwrap_or_else(|| last.clone());
            last = entered.clone();
            let mut next = self.scoped(
                |scope| scope.conditional = true,
                |reader| reader.pipeline(pipeline, entered),
            );
            if !reachable {
                next = Flow::dead();
            }
            flow = match connector {
                Connector::And => Flow {
                    ok: next.ok,
                    fail: join_ways(skip, next.fail),
                },
                Connector::Or => Flow {
                    ok: join_ways(skip, next.ok),
                    fail: next.fail,
                },
            };
        }
        flow
    }

    fn pipeline(&mut self, pipeline: &Pipeline, state: State) -> Flow {
        let flow = match pipeline.stages.as_slice() {
            [only] => self.command(only, state),
            stages => self.stages(stages, state),
        };
        if pipeline.negated {
            Flow {
                ok: flow.fail,
                fail: flow.ok,
            }
        } else {
            flow
        }
    }

    fn stages(&mut self, stages: &[Command], state: State) -> Flow {
        let count = stages.len();
        let mut input = self.inherited_input(&state);
        let mut last = None;
        for (stage, command) in stages.iter().enumerate() {
            let first = self.facts.commands.len();
            let inner = state.clone();
            let fed = input.clone();
            last = self.scoped(
                |scope| {
                    scope.pipe_stage = stage;
                    scope.pipe_stages = count;
                    scope.input = fed;
                },
                |reader| {
                    reader
                        .in_subshell(|reader| reader.command(command, inner))
                        .after()
                },
            );
            input = self.piped(command, first, &input);
        }
        match last {
            Some(last) if state.lastpipe => Flow::both(state.join(last)),
            _ => Flow::both(state),
        }
    }

    /// What a stage hands to the next one.
    fn piped(&mut self, command: &Command, first: usize, fed: &Input) -> Input {
        let inside = self.scope.inside;
        let mut remote = fed.remote;
        let mut feeder = None;
        let mut count = 0;
        for (index, fact) in self.facts.commands.iter().enumerate().skip(first) {
            remote |= fact.has(Effect::Network) || fact.has(Effect::RemoteHost);
            if fact.place.inside == inside {
                feeder = Some(index);
                count += 1;
            }
        }
        if let Some(index) = feeder.filter(|_| count != 1) {
            self.mixed.insert(index);
        }
        let mut stdin = Stdin::Pipe;
        if matches!(command.kind, CommandKind::Simple { .. })
            && let Some(index) = feeder
            && let Some(fact) = self.facts.commands.get(index)
            && fact.redirects.iter().all(|redirect| redirect.inert)
        {
            let words: Option<Vec<&str>> = fact.argv.iter().map(crate::Word::as_literal).collect();
            let text = match words.as_deref() {
                Some(["echo", rest @ ..])
                    if fact.program.form == crate::ProgramForm::Bare
                        && !rest
                            .iter()
                            .any(|word| word.starts_with('-') || word.contains('\\')) =>
                {
                    Some(crate::Word::literal(rest.join(" ") + "\n", fact.span))
                }
                Some(["printf", "%s" | "%s\\n", text]) | Some(["printf", text])
                    if fact.program.form == crate::ProgramForm::Bare
                        && (fact.argv.len() == 3 || !text.contains(['%', '\\']))
                        && !text.starts_with('-') =>
                {
                    Some(crate::Word::literal(*text, fact.span))
                }
                // What goes through `tee` reaches the next one as well.
                Some(["cat"] | ["cat", "-"] | ["tee", ..])
                    if fact.program.form == crate::ProgramForm::Bare =>
                {
                    match (self.own_input.get(&index), &fed.stdin) {
                        (Some(Stdin::Text(text)), _) => Some(text.clone()),
                        (None, Stdin::Text(text)) => Some(text.clone()),
                        _ => None,
                    }
                }
                _ => None,
            };
            if let Some(text) = text {
                stdin = Stdin::Text(text);
            }
        }
        Input {
            stdin,
            remote,
            feeder,
            lines_of: feeder.filter(|index| !self.mixed.contains(index)),
            own_script: false,
        }
    }

    /// One command in the current shell.
    pub(super) fn command(&mut self, command: &Command, mut state: State) -> Flow {
        if !self.step() {
            return Flow::both(state);
        }
        if let CommandKind::Simple { assignments, words } = &command.kind {
            return self.simple(command, assignments, words, state);
        }
        let first = self.facts.commands.len();
        let mut input = None;
        let mut not_run = None;
        if !command.redirects.is_empty() {
            let redirects = self.redirects_of_one(&command.redirects, &mut state);
            input = redirects.input.clone();
            if redirects.may_fail() {
                not_run = Some(state.clone());
            }
            self.emit_bare(Vec::new(), redirects, command.span, &state, first);
        }
        self.scoped(
            |scope| {
                if let Some(input) = input {
                    scope.input = input;
                }
            },
            |reader| {
                let flow = reader.compound(command, state);
                Flow {
                    ok: flow.ok,
                    fail: join_ways(flow.fail, not_run),
                }
            },
        )
    }

    fn compound(&mut self, command: &Command, mut state: State) -> Flow {
        match &command.kind {
            CommandKind::Simple { .. } => Flow::both(state),
            CommandKind::Group(list) => self.list(list, state),
            CommandKind::Subshell(list) => {
                let inner = state.clone();
                self.in_subshell(|reader| reader.list(list, inner));
                Flow::both(state)
            }
            CommandKind::If { clauses, otherwise } => {
                self.conditional(clauses, otherwise.as_ref(), state)
            }
            CommandKind::Loop {
                until,
                condition,
                body,
            } => {
                self.repeated(state, |reader, entry| {
                    let flow = reader.list(condition, entry);
                    let (enter, leave) = if *until {
                        (flow.fail, flow.ok)
                    } else {
                        (flow.ok, flow.fail)
                    };
                    let after = match enter {
                        Some(enter) => reader.conditional_list(body, enter).after(),
                        None => {
                            // Never entered: read for its facts only.
                            if let Some(leave) = leave.clone() {
                                reader.conditional_list(body, leave);
                            }
                            None
                        }
                    };
                    (after, leave)
                })
            }
            CommandKind::For {
                variable,
                words,
                body,
                select,
            } => self.for_each(variable, words.as_deref(), body, *select, state),
            CommandKind::ArithmeticFor { parts, body } => {
                let [first, second, third] = parts;
                self.arithmetic(first, command.span, &mut state);
                self.repeated(state, |reader, mut entry| {
                    reader.arithmetic(second, command.span, &mut entry);
                    let leave = entry.clone();
                    let mut after = reader.conditional_list(body, entry).after();
                    let continues = reader
                        .loops
                        .last_mut()
                        .and_then(|frame| frame.continues.take());
                    after = join_ways(after, continues);
                    if let Some(after) = &mut after {
                        reader.arithmetic(third, command.span, after);
                    }
                    (after, Some(leave))
                })
            }
            CommandKind::Case { word, arms } => {
                self.value(&word.pieces, &mut state);
                let mut result = Some(state.clone());
                // `;&` falls through: each body may also start from the end of the one before.
                let mut before = None;
                for arm in arms {
                    for pattern in &arm.patterns {
                        self.value(&pattern.pieces, &mut state);
                    }
                    result = join_ways(result, Some(state.clone()));
                    let entry =
                        join_ways(Some(state.clone()), before).unwrap_or_else(|| state.clone());
                    before = self.conditional_list(&arm.body, entry).after();
                    result = join_ways(result, before.clone());
                }
                match result {
                    Some(state) => Flow::both(state),
                    None => Flow::dead(),
                }
            }
            CommandKind::Function { name, body } => {
                self.define(name, body, &mut state);
                Flow::both(state)
            }
            CommandKind::Arithmetic(pieces) => {
                self.arithmetic(pieces, command.span, &mut state);
                self.emit_inert("((", command.span, &state);
                Flow::both(state)
            }
            CommandKind::Test(items) => {
                self.test(items, command, &mut state);
                Flow::both(state)
            }
            CommandKind::Coproc { name, body } => {
                let mut inner = state.clone();
                inner.stdin_replaced = true;
                self.scoped(
                    |scope| {
                        scope.background = true;
                        scope.input = Input::unknown();
                    },
                    |reader| reader.in_subshell(|reader| reader.command(body, inner)),
                );
                let ends = Value::Scalar(Rc::new(vec![unknown(&format!("${name}"), Kind::Any)]));
                self.assign(name, ends, command.span, &mut state);
                state.set_unknown(&format!("{name}_PID"), Kind::Integer);
                Flow::both(state)
            }
        }
    }

    pub(super) fn conditional_list(&mut self, list: &List, state: State) -> Flow {
        self.scoped(
            |scope| scope.conditional = true,
            |reader| reader.list(list, state),
        )
    }

    fn conditional(
        &mut self,
        clauses: &[(List, List)],
        otherwise: Option<&List>,
        state: State,
    ) -> Flow {
        let mut results = Flow::dead();
        let mut current = Some(state.clone());
        let mut last = state;
        for (index, (condition, body)) in clauses.iter().enumerate() {
            let reachable = current.is_some();
            let entry = current.unwrap_or_else(|| last.clone());
            let flow = if index == 0 {
                self.list(condition, entry.clone())
            } else {
                self.conditional_list(condition, entry.clone())
            };
            let enter = flow.ok.clone().unwrap_or(entry);
            let taken = self.conditional_list(body, enter.clone());
            if reachable && flow.ok.is_some() {
                results = Flow {
                    ok: join_ways(results.ok, taken.ok),
                    fail: join_ways(results.fail, taken.fail),
                };
            }
            last = enter;
            current = if reachable { flow.fail } else { None };
        }
        match otherwise {
            Some(body) => {
                let reachable = current.is_some();
                let taken = self.conditional_list(body, current.unwrap_or(last));
                if reachable {
                    results = Flow {
                        ok: join_ways(results.ok, taken.ok),
                        fail: join_ways(results.fail, taken.fail),
                    };
                }
            }
            None => results.ok = join_ways(results.ok, current),
        }
        results
    }

    /// A loop whose number of rounds is not known: `round` maps the state at its start to the
    /// state after the body and the state in which the loop ends.
    fn repeated(
        &mut self,
        state: State,
        mut round: impl FnMut(&mut Self, State) -> (Option<State>, Option<State>),
    ) -> Flow {
        let mut entry = state;
        let mut attempts = 0;
        loop {
            let checkpoint = self.checkpoint();
            self.loops.push(LoopFrame::default());
            let (after, leave) = round(self, entry.clone());
            let frame = self.loops.pop().unwrap_or_default();
            let after = join_ways(after, frame.continues);
            let next = match after {
                Some(after) => entry.clone().join(after),
                None => entry.clone(),
            };
            if next == entry || !self.step() {
                let end = join_ways(leave, frame.exits);
                return match end {
                    Some(state) => Flow::both(state),
                    // An endless loop; what follows is read all the same.
                    None => Flow::dead(),
                };
            }
            self.roll_back(&checkpoint);
            attempts += 1;
            entry = next;
            if attempts > 3 {
                entry.forget();
            }
            if attempts > 6 {
                self.partial_at(
                    crate::Span { start: 0, end: 0 },
                    "loop",
                    "a loop is not followed",
                );
                return Flow::both(entry);
            }
        }
    }

    fn for_each(
        &mut self,
        variable: &str,
        words: Option<&[WordNode]>,
        body: &List,
        select: bool,
        mut state: State,
    ) -> Flow {
        let fields: Option<Vec<Text>> = match words {
            Some(words) => {
                let mut fields = Vec::new();
                for word in words {
                    fields.extend(self.fields(word, &mut state));
                }
                Some(fields)
            }
            None => state.positional.as_ref().map(|list| list.to_vec()),
        };
        let span = crate::Span { start: 0, end: 0 };
        let literal = fields.as_ref().filter(|fields| {
            !select
                && fields.len() <= bounds::MAX_UNROLLED
                && fields.iter().all(|field| values::worst(field).is_none())
        });
        if let Some(fields) = literal
            && !self.is_tired()
        {
            if fields.is_empty() {
                // Never entered; read for its facts all the same.
                state.set_unknown(variable, Kind::Benign);
            }
            let mut current = Some(state.clone());
            let mut exits = None;
            let mut last = state;
            for field in fields {
                let reachable = current.is_some();
                let mut entry = current.unwrap_or_else(|| last.clone());
                self.assign(
                    variable,
                    Value::Scalar(Rc::new(field.clone())),
                    span,
                    &mut entry,
                );
                last = entry.clone();
                self.loops.push(LoopFrame::default());
                let flow = self.conditional_list(body, entry);
                let frame = self.loops.pop().unwrap_or_default();
                current = if reachable {
                    join_ways(flow.after(), frame.continues)
                } else {
                    None
                };
                if reachable {
                    exits = join_ways(exits, frame.exits);
                }
            }
            return match join_ways(current, exits) {
                Some(state) => Flow::both(state),
                None => Flow::dead(),
            };
        }
        let values: Vec<Text> = match fields {
            Some(fields)
                if !select
                    && fields.len() <= 8
                    && !self.is_tired()
                    && !fields.iter().any(|field| values::may_split(field)) =>
            {
                fields
            }
            // Lines of a command whose output has a bound: each is one of them.
            Some(fields) if !select && fields.len() == 1 && self.is_bound(&fields[0]) => fields
                .into_iter()
                .map(|field| field.into_iter().map(values::whole).collect())
                .collect(),
            Some(fields) if !select => {
                let kind = fields.iter().filter_map(|field| values::worst(field)).max();
                let code = fields.iter().any(|field| {
                    values::as_literal(field).is_some_and(|text| text.contains(['$', '`', '[']))
                });
                let kind = if code {
                    Kind::Any
                } else {
                    kind.unwrap_or(Kind::Benign)
                };
                let kind = if kind == Kind::Integer && fields.len() > 1 {
                    Kind::Benign
                } else {
                    kind
                };
                vec![vec![unknown(&format!("${variable}"), kind)]]
            }
            _ => vec![vec![unknown(&format!("${variable}"), Kind::Any)]],
        };
        if select {
            state.set_unknown("REPLY", Kind::Any);
            if self.inherited_input(&state).own_script {
                self.partial_at(
                    span,
                    "stdin-script",
                    "`select` reads the script it stands in",
                );
            }
        }
        self.repeated(state, |reader, entry| {
            let leave = entry.clone();
            let mut after = None;
            for value in &values {
                let mut entry =
                    join_ways(Some(leave.clone()), after.clone()).unwrap_or_else(|| leave.clone());
                reader.assign(
                    variable,
                    Value::Scalar(Rc::new(value.clone())),
                    span,
                    &mut entry,
                );
                after = join_ways(after, reader.conditional_list(body, entry).after());
            }
            (after, Some(leave))
        })
    }

    fn test(&mut self, items: &[TestItem], command: &Command, state: &mut State) {
        let mut previous = String::new();
        let mut expanded: Vec<(Text, bool)> = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let TestItem::Word(word) = item else {
                previous.clear();
                continue;
            };
            let value = self.value(&word.pieces, state);
            let next = match items.get(index + 1) {
                Some(TestItem::Word(next)) => next.plain().unwrap_or(""),
                _ => "",
            };
            let arithmetic = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
            if arithmetic.contains(&next) || arithmetic.contains(&previous.as_str()) {
                self.evaluate(&value, word.span, state);
            }
            if matches!(previous.as_str(), "-v" | "-R") {
                self.variable_name(&value, word.span, state);
            }
            let file = previous.len() == 2
                && previous.starts_with('-')
                && !matches!(previous.as_str(), "-z" | "-n" | "-v" | "-R" | "-o" | "-t");
            expanded.push((value, file));
            previous = word.plain().unwrap_or("").to_owned();
        }
        state.set_unknown("BASH_REMATCH", Kind::Any);
        let index = self.emit_inert("[[", command.span, state);
        for (value, file) in expanded {
            if file {
                self.access(
                    index,
                    &value,
                    crate::AccessKind::List,
                    crate::AccessDetail::Plain,
                    false,
                    state,
                );
            }
        }
    }

    /// Assignments of a scalar or array, in the current shell.
    pub(super) fn assigned_value(&mut self, value: &AssignedNode, state: &mut State) -> Value {
        match value {
            AssignedNode::Scalar(word) => Value::Scalar(Rc::new(self.value(&word.pieces, state))),
            AssignedNode::Array(elements) => {
                let mut fields = Vec::new();
                let mut subscripted = false;
                for element in elements {
                    if let Some(subscript) = &element.subscript {
                        subscripted = true;
                        self.subscript(subscript, element.value.span, state);
                        let value = self.value(&element.value.pieces, state);
                        fields.push(value);
                    } else {
                        let value = self.fields(&element.value, state);
                        fields.extend(match tilde_of_assignment(&element.value.pieces) {
                            Some(written) => vec![vec![Part::Unknown {
                                written: written.to_owned(),
                                kind: Kind::Any,
                                may_be_empty: false,
                                may_split: true,
                            }]],
                            None => value,
                        });
                    }
                }
                if subscripted {
                    fields = vec![vec![Part::Unknown {
                        written: "(…)".to_owned(),
                        kind: Kind::Any,
                        may_be_empty: true,
                        may_split: true,
                    }]];
                }
                Value::Array(Rc::new(fields))
            }
        }
    }

    /// A subscript of a variable whose kind is not known: evaluated as arithmetic, or a string.
    pub(super) fn subscript(&mut self, pieces: &[Piece], span: crate::Span, state: &mut State) {
        self.arithmetic(pieces, span, state);
    }
}

/// `name=~/x` as an element of an array, where bash leaves the tilde alone that it expands in any
/// other word.
fn tilde_of_assignment(pieces: &[Piece]) -> Option<&str> {
    let Some(Piece::Text(text)) = pieces.first() else {
        return None;
    };
    let (name, value) = text.split_once('=')?;
    (super::expand::is_name(name) && value.contains('~')).then_some(text)
}
