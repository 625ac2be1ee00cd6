//! Who answers an ask.
//!
//! Policy said [`Ask`](guardian_rules::Decision::Ask); this crate finds somebody to answer. A
//! [`ReviewRequest`] goes through a [`Chain`] of [`Reviewer`]s (a cache, a command, a model, a
//! human) and comes back as a [`Review`]: one [`ReviewOutcome`], and the [`ReviewEffect`]s that
//! follow from it as data ("remember this grant", "count this denial"). The crate writes nothing
//! itself: the host carries effects to the store.
//!
//! The human reviewer is a [`PendingQueue`] with [`HumanClients`] to tell. Every request is settled
//! exactly once: by an answer with its id, by its deadline, by an abort, or by a policy that has
//! changed meanwhile. Whatever goes wrong (no client, no answer, an unknown word, a crashed
//! command, a dropped future) ends as a denial; only the exact words that a request offered allow.
//!
//! Main types, in the order in which data flows: [`ReviewRequest`] → [`Chain`] → [`Reviewer`] →
//! [`Answer`] or [`ReviewError`] → [`ReviewOutcome`] with [`ReviewEffect`]s. [`Card`] is what
//! people see of a request.

pub mod answer;
pub mod bounds;
pub mod breaker;
pub mod cache;
pub mod card;
pub mod chain;
pub mod command;
pub mod config;
pub mod human;
pub mod model;
pub mod outcome;
pub mod queue;
pub mod request;
pub mod reviewer;
pub mod shown;
pub mod wire;

pub use answer::{Answer, HumanAnswer};
pub use bounds::Omitted;
pub use breaker::{Breaker, BreakerLimits, BreakerState, BreakerV1};
pub use cache::{AnswerMemory, CacheReviewer, RememberedAnswer};
pub use card::{Card, Choice};
pub use chain::{Chain, ChainLink, ChainStep, Review, StepResult};
pub use command::{CommandReviewer, ReviewCommand, ReviewCommandError, ReviewCommandOutput};
pub use config::{OnFailure, ReviewConfig, ReviewConfigError, ReviewerSpec};
pub use human::{Attendance, HumanClients, HumanReviewer};
pub use model::{ModelApi, ModelConfig, ModelReviewer};
pub use outcome::{Allowance, Decider, ReviewEffect, ReviewOutcome};
pub use queue::{
    AbortReason, AdmitError, PendingQueue, Posted, ReEvaluation, RequestKey, Resolution,
    Settlement, Waiting,
};
pub use request::{ArgsPreview, RequestIds, ReviewRequest, ShownCode, ShownPath};
pub use reviewer::{ReviewError, Reviewer, ReviewerKind};
