//! `match` and `not_match`: what a rule says of itself, checked when a file is loaded.

use guardian_facts::Facts;

use super::compile::{CompileContext, Example, PolicyText, compile_text};
use super::error::{ConditionError, ExampleError, PolicyError, PolicyErrors};
use super::file::RuleEffect;
use super::rule::{Rule, Subject, SubjectKind};
use super::words::Certainty;
use super::{Layer, Policy, Preset};
use crate::Situation;
use crate::evaluate::View;

/// Turns the text of an example into facts: a command for `Bash`, a path for file tools. Injected,
/// so that this crate need not read shell text.
pub trait ExampleReader {
    /// The facts of a call of `tool` with this text, and the situation to judge it in; an error
    /// says why there are none.
    ///
    /// # Errors
    /// One sentence for people.
    fn read(&self, tool: &str, text: &str) -> Result<(Facts, Situation), String>;
}

/// Checks the examples of all rules of all texts.
///
/// An allow rule matches a call when it covers every command, access or endpoint that it is about;
/// a deny or ask rule when any one sets it off.
///
/// # Errors
/// Each entry that does not hold, and whatever [`Policy::compile`] reports.
pub fn check_examples(
    texts: &[PolicyText],
    cx: &CompileContext<'_>,
    reader: &dyn ExampleReader,
) -> Result<(), PolicyErrors> {
    let mut errors = Vec::new();
    let policy = Policy::builtin(Preset::Standard);
    for text in texts {
        let examples = compile_text(text, cx, &mut errors).examples;
        if let Some(error) = too_many(text.layer, &examples) {
            errors.push(error);
            continue;
        }
        for example in examples {
            let tool = example_tool(&example.rule);
            let fault = match reader.read(&tool, &example.text) {
                Err(reason) => Some(format!("cannot be read: {reason}")),
                Ok((facts, situation)) => {
                    let view = View {
                        facts: &facts,
                        tool: &facts.tool,
                        situation: &situation,
                        policy: &policy,
                    };
                    match (matches_call(&example.rule, &view), example.expected) {
                        (false, true) => {
                            Some("is in `match`, but the rule does not match it".to_owned())
                        }
                        (true, false) => {
                            Some("is in `not_match`, but the rule matches it".to_owned())
                        }
                        _ => None,
                    }
                }
            };
            if let Some(fault) = fault {
                errors.push(PolicyError::Example(ExampleError {
                    place: example.place(),
                    id: example.rule.id.clone(),
                    example: example.text,
                    fault,
                }));
            }
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(PolicyErrors(errors))
    }
}

/// Most examples of a file that the user did not write: each of them is read like a call.
const MAX_FOREIGN_EXAMPLES: usize = 256;

/// Most bytes of all of them.
const MAX_FOREIGN_BYTES: usize = 16 * 1024;

/// A repository must not make each load of its file long.
fn too_many(layer: Layer, examples: &[Example]) -> Option<PolicyError> {
    if matches!(layer, Layer::Managed | Layer::User) {
        return None;
    }
    let mut bytes = 0;
    let over = examples.iter().enumerate().find(|(index, example)| {
        bytes += example.text.len();
        *index >= MAX_FOREIGN_EXAMPLES || bytes > MAX_FOREIGN_BYTES
    });
    over.map(|(_, example)| {
        PolicyError::Condition(ConditionError {
            place: example.place(),
            id: example.rule.id.clone(),
            fault: format!(
                "the examples of the file are more than {MAX_FOREIGN_EXAMPLES}, or longer than \
                 {MAX_FOREIGN_BYTES} bytes"
            ),
            hint: "keep the rest in a file for `guardian policy test --cases`".to_owned(),
        })
    })
}

/// The tool that the text of an example is for.
fn example_tool(rule: &Rule) -> String {
    let about_commands = rule.needs_command() || rule.subject == SubjectKind::Endpoint;
    match rule.first_tool() {
        Some(tool) => tool,
        None if about_commands || rule.subject != SubjectKind::Access => "Bash".to_owned(),
        None => "Read".to_owned(),
    }
}

/// The rule, alone, matches the call.
pub(crate) fn matches_call(rule: &Rule, view: &View<'_>) -> bool {
    let answers: Vec<Certainty> = match rule.subject {
        SubjectKind::Call => vec![rule.applies(view, Subject::Call)],
        SubjectKind::Command => view
            .facts
            .commands
            .iter()
            .map(|command| rule.applies(view, Subject::Command(command)))
            .collect(),
        SubjectKind::Access => view
            .facts
            .accesses
            .iter()
            .map(|access| rule.applies(view, Subject::Access(access)))
            .collect(),
        SubjectKind::Endpoint => view
            .facts
            .endpoints
            .iter()
            .map(|endpoint| rule.applies(view, Subject::Endpoint(endpoint)))
            .collect(),
    };
    if rule.effect == RuleEffect::Allow {
        !answers.is_empty() && answers.iter().all(|answer| *answer == Certainty::Yes)
    } else {
        answers.contains(&Certainty::Yes)
    }
}
