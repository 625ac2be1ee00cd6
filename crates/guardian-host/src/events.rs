//! What the host tells its clients without being asked.

use std::sync::Arc;

use guardian_review::{Posted, Settlement};

/// Which stream of a command a chunk belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// One event.
#[derive(Debug, Clone)]
pub enum Event {
    /// A card waits for an answer.
    PermissionRequest {
        /// The request.
        posted: Arc<Posted>,
    },
    /// A card is settled, however it ended.
    PermissionResolved {
        /// The request.
        posted: Arc<Posted>,
        /// How.
        settlement: Settlement,
    },
    /// An automatic reviewer denied a call; a person may overrule it.
    ReviewerDenied {
        /// The session.
        session_id: String,
        /// What was denied.
        denial: crate::reviews::ReviewerDenial,
    },
    /// Output of a running command.
    ToolOutput {
        /// Its session.
        session_id: String,
        /// Its call.
        tool_call_id: String,
        /// Which stream.
        stream: Stream,
        /// Number of the chunk within the stream, from 0.
        seq: u64,
        /// Text, never split inside a character.
        chunk: String,
    },
    /// The policy files of a session changed, or do not load.
    PolicyChanged {
        /// Which session.
        session_id: String,
        /// Version in force.
        version: String,
        /// Something would loosen and waits for the operator (`policy.reload`).
        waiting: bool,
        /// What is wrong with the files.
        problems: Vec<crate::policies::PolicyProblem>,
    },
    /// A proposal was submitted, answered, expired, interrupted or withdrawn, or its execution
    /// moved on.
    PlansChanged {
        /// As it is now.
        proposal: Box<guardian_store::Proposal>,
    },
    /// Questions wait for the user.
    AskRequest {
        /// The questions.
        request: Arc<crate::questions::AskRequest>,
    },
    /// A file is to be shown to the user.
    BrowserPreview {
        /// Whose call.
        session_id: String,
        /// The file, relative to the workspace.
        path: String,
        /// Where it lies, as a `file:` URL.
        url: String,
    },
    /// A session was created, configured or deleted, or a turn began or ended.
    SessionChanged {
        /// Which.
        session_id: String,
        /// `created`, `configured`, `modeChanged`, `deleted`, `turnStarted` or `turnEnded`.
        change: &'static str,
    },
}

/// Takes events. Must return at once; must not call back into the host.
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn emit(&self, event: Event);
}

/// Throws every event away (embedders that only look at results).
#[derive(Debug, Clone, Copy)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn emit(&self, _: Event) {}
}
