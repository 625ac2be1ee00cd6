//! What a reader must know of the policy that gave an answer: a file that does not load, in whose
//! place something else answers, and one that does not count here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use guardian_host::check::Checker;
use guardian_host::policies::PolicyLayer;
use serde_json::{Map, Value, json};

use crate::output;

/// The notes of one or several policies, each once.
#[derive(Default)]
pub(crate) struct PolicyNotes {
    /// By file: the sentence and the layer.
    faults: BTreeMap<PathBuf, (String, Value)>,
    passed_over: BTreeMap<PathBuf, String>,
}

impl PolicyNotes {
    /// Those of one policy.
    pub(crate) fn of(checker: &Checker) -> Self {
        let mut notes = Self::default();
        notes.add(checker);
        notes
    }

    pub(crate) fn add(&mut self, checker: &Checker) {
        for layer in checker.policy_layers() {
            if let Some(fault) = layer.fault() {
                let value = fault_value(layer);
                self.faults.insert(layer.file.clone(), (fault, value));
            }
        }
        self.passed_over.extend(checker.policy_passed_over());
    }

    /// Says them on stderr.
    pub(crate) fn tell(&self) {
        for (sentence, _) in self.faults.values() {
            output::notice(sentence);
        }
        for sentence in self.passed_over.values() {
            output::notice(sentence);
        }
    }

    /// Puts them into a JSON object; where there is nothing to say, nothing is put.
    pub(crate) fn put_into(&self, value: &mut Value) {
        let Value::Object(object) = value else { return };
        let faults = self.faults.values().map(|(_, value)| value.clone());
        put(object, "policyFaults", faults.collect());
        let passed_over = self.passed_over.keys().map(|file| json!(file));
        put(object, "policyPassedOver", passed_over.collect());
    }
}

fn put(object: &mut Map<String, Value>, name: &str, values: Vec<Value>) {
    if !values.is_empty() {
        object.insert(name.to_owned(), values.into());
    }
}

fn fault_value(layer: &PolicyLayer) -> Value {
    json!({
        "layer": layer.layer.name(),
        "file": layer.file,
        "state": layer.state.name(),
        "problems": problem_values(layer),
    })
}

/// What is wrong with the file of a layer.
pub(crate) fn problem_values(layer: &PolicyLayer) -> Vec<Value> {
    let value = |problem: &guardian_host::policies::PolicyProblem| {
        json!({
            "line": problem.line,
            "column": problem.column,
            "message": problem.message,
            "hint": problem.hint,
        })
    };
    layer.problems.iter().map(value).collect()
}
