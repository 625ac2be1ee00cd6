//! Confinement of a command: what is asked for, and what was in force.

use serde_json::{Value, json};

/// Which confinement was in force for a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxReport {
    /// None: the command ran with the user's rights.
    Off,
}

impl SandboxReport {
    /// The `sandbox` field of a result.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Off => json!({"mechanism": "none"}),
        }
    }
}
