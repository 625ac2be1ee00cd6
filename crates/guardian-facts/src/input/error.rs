/// The arguments of a call do not fit its tool (`INVALID_ARGUMENT`).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ArgumentError {
    /// What is wrong, lower-case, user input in backticks.
    pub message: String,
    /// JSON pointer to the argument, e.g. `/path`; empty for the object itself.
    pub pointer: String,
    /// What was expected there.
    pub expected: String,
    /// A correct example of the whole arguments object.
    pub example: Box<serde_json::Value>,
    /// Arguments that the tool accepts, or the nearest name to a misspelt one.
    pub accepted: Vec<String>,
}
