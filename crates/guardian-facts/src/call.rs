//! A tool call as the harness sent it.

use serde_json::{Map, Value};

/// The arguments of a call: a JSON object, not yet looked at.
///
/// Parsed exactly once, by the extractor of the tool, into a [`crate::ToolInput`].
#[derive(Debug, Clone, PartialEq)]
pub struct RawArgs(Map<String, Value>);

impl RawArgs {
    /// Wraps an object that a wire layer has already decoded.
    #[must_use]
    pub fn new(object: Map<String, Value>) -> Self {
        Self(object)
    }

    /// The object, for the one extractor that parses it.
    #[must_use]
    pub fn as_object(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The arguments as a JSON value (for hashing and for redacted previews).
    #[must_use]
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }
}

/// One tool call of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool's name as the model wrote it, e.g. `Read`.
    pub tool: String,
    /// Its arguments.
    pub args: RawArgs,
}
