//! Redirects: facts, accesses, and what feeds standard input.

use super::reader::{Input, Reader};
use super::syntax::{RedirectNode, RedirectTarget};
use super::values::{self, Kind, State, Text, to_word};
use crate::command::Stdin;
use crate::{
    Access, AccessDetail, AccessKind, AccessSource, Effect, Endpoint, Redirect, RedirectKind,
    Target, Word,
};

/// The expanded redirects of one command.
#[derive(Debug, Clone, Default)]
pub(super) struct Redirects {
    pub(super) facts: Vec<Redirect>,
    /// What is touched, parallel to nothing: one entry per effect.
    pub(super) touched: Vec<(Text, AccessKind, AccessDetail)>,
    /// What feeds standard input, if a redirect does.
    pub(super) input: Option<Input>,
}

impl Redirects {
    /// Opening one of them may fail, and then the command does not run.
    pub(super) fn may_fail(&self) -> bool {
        self.facts.iter().any(|redirect| {
            let standard = matches!(redirect.target.as_literal(), Some("0" | "1" | "2" | "-"));
            !redirect.inert || (redirect.kind == RedirectKind::Duplicate && !standard)
        })
    }
}

impl Reader<'_> {
    pub(super) fn redirects(&mut self, nodes: &[RedirectNode], state: &mut State) -> Redirects {
        let mut result = Redirects::default();
        for node in nodes {
            self.redirect(node, state, &mut result);
        }
        result
    }

    /// The redirects of one command, which are expanded where it runs: what they change
    /// (`<<< $((x=3))`, `> ${y:=z}`) may be lost with a process of its own.
    pub(super) fn redirects_of_one(
        &mut self,
        nodes: &[RedirectNode],
        state: &mut State,
    ) -> Redirects {
        if nodes.is_empty() {
            return Redirects::default();
        }
        let before = state.clone();
        let result = self.redirects(nodes, state);
        *state = before.join(state.clone());
        result
    }

    fn redirect(&mut self, node: &RedirectNode, state: &mut State, result: &mut Redirects) {
        if let Some(variable) = &node.variable {
            self.assign_integer(variable, node.span, state);
        }
        let target = match &node.target {
            RedirectTarget::Heredoc(slot) => {
                let Some(body) = slot.get() else {
                    self.partial_at(node.span, "heredoc", "a heredoc without a body");
                    return;
                };
                let text = self.quoted(&body.pieces, state);
                self.text_input(node, text, result);
                return;
            }
            RedirectTarget::Word(word) if node.kind == RedirectKind::HereString => {
                let mut text = self.value(&word.pieces, state);
                values::push(&mut text, values::Part::Literal("\n".to_owned()));
                self.text_input(node, text, result);
                return;
            }
            RedirectTarget::Word(word) => {
                let mut fields = self.fields(word, state);
                if fields.len() > 1 {
                    // Bash refuses an ambiguous redirect; whatever it does, each may be meant.
                    for field in fields.drain(1..) {
                        self.touch(node, &field, result);
                    }
                }
                fields.pop().unwrap_or_default()
            }
        };
        let mut kind = node.kind;
        let descriptor =
            values::as_literal(&target).is_some_and(is_descriptor) || values::is_number(&target);
        if node.either {
            kind = if descriptor {
                RedirectKind::Duplicate
            } else {
                RedirectKind::Truncate
            };
        }
        let null = matches!(
            values::as_literal(&target),
            Some(
                "/dev/null"
                    | "/dev/stdout"
                    | "/dev/stderr"
                    | "/dev/stdin"
                    | "/dev/tty"
                    | "/dev/zero"
            )
        ) || values::as_literal(&target).is_some_and(|text| {
            text.strip_prefix("/dev/fd/")
                .is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        });
        // What a process substitution runs are commands of their own.
        let from_process = kind == RedirectKind::Read && values::is_process(&target);
        let inert = kind == RedirectKind::Duplicate || null || from_process;
        if !inert {
            self.touch(
                &RedirectNode {
                    kind,
                    ..node.clone()
                },
                &target,
                result,
            );
        }
        if node.feeds_stdin {
            let network = is_network(&target);
            let process = values::is_process(&target);
            let name = values::as_literal(&target);
            let stdin = match kind {
                _ if process => match self.process_output(&target) {
                    Some(text) => Stdin::Text(Word::literal(text, node.span)),
                    None => Stdin::Pipe,
                },
                _ if name == Some("/dev/null") => Stdin::Empty,
                _ if null => Stdin::Pipe,
                _ => Stdin::File(to_word(&target, node.span)),
            };
            let remote = network || values::worst(&target) == Some(Kind::Remote);
            self.remember(&target);
            let same = matches!(name, Some("/dev/stdin" | "/dev/fd/0"))
                || (kind == RedirectKind::Duplicate && matches!(name, Some("0")));
            if same {
                let inherited = self.inherited_input(state);
                result.input.get_or_insert(inherited);
            } else if kind == RedirectKind::Duplicate {
                // What stands behind another descriptor is not followed.
                result.input = Some(match name {
                    Some("-") => Input::empty(),
                    _ => Input::unknown(),
                });
            } else {
                result.input = Some(Input {
                    stdin,
                    remote,
                    feeder: None,
                    lines_of: self.process_feeder(&target),
                    own_script: false,
                });
            }
        }
        self.remember(&target);
        let target = to_word(&target, node.span);
        result.facts.push(Redirect {
            kind,
            target,
            inert,
            span: node.span,
        });
    }

    fn text_input(&mut self, node: &RedirectNode, text: Text, result: &mut Redirects) {
        self.remember(&text);
        let remote = values::worst(&text) == Some(Kind::Remote);
        let word = to_word(&text, node.span);
        if node.feeds_stdin {
            let stdin = Stdin::Text(word.clone());
            result.input = Some(Input {
                stdin,
                remote,
                feeder: None,
                lines_of: None,
                own_script: false,
            });
        }
        result.facts.push(Redirect {
            kind: node.kind,
            target: word,
            inert: true,
            span: node.span,
        });
    }

    fn touch(&mut self, node: &RedirectNode, target: &Text, result: &mut Redirects) {
        if values::is_process(target) {
            return;
        }
        let (kind, detail) = match node.kind {
            RedirectKind::Truncate => (AccessKind::Write, AccessDetail::Truncate),
            RedirectKind::Append => (AccessKind::Write, AccessDetail::Append),
            RedirectKind::ReadWrite => {
                result
                    .touched
                    .push((target.clone(), AccessKind::Read, AccessDetail::Plain));
                (AccessKind::Write, AccessDetail::Plain)
            }
            RedirectKind::Read => (AccessKind::Read, AccessDetail::Plain),
            RedirectKind::Duplicate | RedirectKind::Heredoc | RedirectKind::HereString => return,
        };
        result.touched.push((target.clone(), kind, detail));
    }

    /// Adds the accesses of redirects to the facts of a command.
    pub(super) fn redirect_accesses(&mut self, index: usize, redirects: &Redirects, state: &State) {
        for (target, kind, detail) in &redirects.touched {
            if is_network(target) {
                let mut parts = values::as_literal(target).unwrap_or("").split('/').skip(3);
                let host = parts.next().and_then(super::hosts::normalised);
                let port = parts.next().and_then(|port| port.parse().ok());
                self.facts.endpoints.push(Endpoint {
                    host,
                    port,
                    command: Some(index),
                });
                self.add_effect(index, Effect::Network);
                continue;
            }
            let Some(placed) = self.place(target, state) else {
                continue;
            };
            if *kind == AccessKind::Write
                && let Target::Exact(path) = &placed
                && self.downloads(index)
            {
                self.downloaded.insert(path.path.clone());
            }
            self.facts.accesses.push(Access {
                kind: *kind,
                detail: *detail,
                target: placed,
                recursive: false,
                source: AccessSource::Redirect(index),
            });
        }
    }

    /// What the command writes comes over the network.
    pub(super) fn downloads(&self, index: usize) -> bool {
        self.scope.input.remote
            || self
                .facts
                .commands
                .get(index)
                .is_some_and(|command| command.has(Effect::Network))
    }
}

/// bash's own network paths.
fn is_network(target: &Text) -> bool {
    match target.first() {
        Some(values::Part::Literal(text)) => {
            text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/")
        }
        _ => false,
    }
}

/// `2`, `2-`, `-`.
fn is_descriptor(text: &str) -> bool {
    let digits = text.strip_suffix('-').unwrap_or(text);
    !text.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
