//! Tools of the client whose arguments it has declared (`extractors.register`, SPEC §6).

use std::sync::atomic::Ordering;

use guardian_store::{AuditEntry, AuditEvent, Durability};
use serde_json::json;

use crate::error::{ErrorCode, HostError};
use crate::host::Host;
use crate::judge::DeclaredTool;

/// Declared tools in one host; far above what a client has.
const MOST_TOOLS: usize = 512;

impl Host {
    /// Registers what the client declares about its own tools: all of them, or none. Returns how
    /// many are registered now. For the operator only, and only before the first turn: a tool must
    /// not be described otherwise once a model has seen what becomes of its calls.
    ///
    /// # Errors
    /// `CONFLICT` once a turn has begun, or for a name that is registered; `INVALID_PARAMS` for a
    /// name that is guardian's own or no tool name, and for too many; `INTERNAL` when it cannot be
    /// recorded, in which case nothing is registered.
    pub async fn register_extractors(&self, tools: Vec<DeclaredTool>) -> Result<usize, HostError> {
        if self.turn_began.load(Ordering::Acquire) {
            let message = "tools are declared before the first turn";
            return Err(HostError::new(ErrorCode::Conflict, message));
        }
        if self.judge.declared() + tools.len() > MOST_TOOLS {
            let message = format!("at most {MOST_TOOLS} tools may be declared");
            return Err(HostError::invalid_params(message).with("pointer", "/tools"));
        }
        let entry = AuditEntry {
            detail: Some(json!({
                "tools": tools.iter().map(|tool| tool.extractor.tool.as_str()).collect::<Vec<_>>(),
            })),
            ..AuditEntry::new(AuditEvent::Other("extractors-registered".to_owned()))
        };
        // On record first: a declaration that nobody can see later must not count.
        self.with_store(move |store| store.append_audit(entry, Durability::Process).map(drop))
            .await?;
        self.judge.declare(tools)
    }
}
