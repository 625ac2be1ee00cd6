//! Secrets of one call in what is said about it: summary, reasons, facts (SPEC §14).

use guardian_facts::{Facts, ToolCall};
use guardian_redact::one_line;
use guardian_redact::{CarriedSecrets, Redactor};
use serde_json::Value;

/// The secrets that stand in a call's arguments and in the words of its commands (where quotes are
/// gone and values are filled in).
pub(crate) fn of_call(redactor: &Redactor, call: &ToolCall, facts: &Facts) -> CarriedSecrets {
    let mut carried = of_facts(redactor, facts);
    carried.learn_members(redactor, call.args.as_object());
    carried
}

/// The secrets in a call's arguments.
pub(crate) fn of_arguments(redactor: &Redactor, arguments: &Value) -> CarriedSecrets {
    let mut carried = CarriedSecrets::default();
    carried.learn_value(redactor, arguments);
    carried
}

/// The secrets in the words of a call's commands.
pub(crate) fn of_facts(redactor: &Redactor, facts: &Facts) -> CarriedSecrets {
    let mut carried = CarriedSecrets::default();
    for command in &facts.commands {
        carried.learn(redactor, &command.display());
        for assignment in &command.assignments {
            let text = format!("{}={}", assignment.name, assignment.value.display());
            carried.learn(redactor, &text);
        }
    }
    carried
}

/// Takes secrets out of what the facts say in sentences, and writes what is invisible or begins a
/// new line as an escape: the sentences stand on cards and in lists. Words and paths stay: rules
/// match them.
pub(crate) fn hide_in_sentences(redactor: &Redactor, carried: &CarriedSecrets, facts: &mut Facts) {
    let sentences = facts.opacity.iter_mut().map(|one| &mut one.reason);
    for sentence in sentences.chain([&mut facts.summary]) {
        hide(redactor, carried, sentence);
        *sentence = one_line(sentence);
    }
}

/// Takes secrets out of one sentence.
pub(crate) fn hide(redactor: &Redactor, carried: &CarriedSecrets, sentence: &mut String) {
    let hidden = carried.hide(sentence);
    let redacted = redactor.redact_text(&hidden).into_owned();
    if redacted != *sentence {
        *sentence = redacted;
    }
}
