//! Composition: the gate through which every tool call goes, and everything around it.
//!
//! A [`Host`] owns the store, the judge, the queue of cards and the limits; [`Host::execute`] is
//! the only way by which a tool runs. [`wire`] serves a client over stdio; an embedder calls the
//! [`Host`] directly and takes its [`Event`]s.
//!
//! What the host knows of a call it looks up (session, mode, grants, workspace) at the time of the
//! call; nothing that a request claims about them is believed.

pub mod admission;
pub mod agents;
pub mod audit_head;
pub mod audit_timing;
pub mod audit_view;
mod blocking;
pub mod calls;
mod carried;
pub mod catalog;
mod changes;
pub mod check;
mod config;
mod confinement;
mod control;
mod declared;
mod delegates;
mod error;
mod events;
mod execute;
pub mod explain;
mod gate;
mod grants;
mod host;
mod jobs;
pub mod judge;
mod outcome;
mod output;
pub mod path_order;
pub mod plans;
pub mod policies;
pub mod proposals;
pub mod questions;
mod record;
mod repair;
mod review_host;
mod reviewers;
pub mod reviews;
pub mod scratch;
mod sessions;
mod settings;
mod tools_list;
mod unfinished;
pub mod wire;
pub mod words;

/// The reviewing crate, for clients that show cards.
pub use guardian_review as review;
/// The deciding crate, for modes and presets.
pub use guardian_rules as rules;
/// The store, for reading what happened.
pub use guardian_store as store;

pub use changes::RollbackReport;
pub use check::canonical_directory;
pub use config::{CommandsConfig, EnvironmentConfig, HostConfig, Places, UserConfig};
pub use confinement::CommandSupport;
pub use error::{ErrorCode, HostError};
pub use events::{Event, EventSink, NoEvents, Stream};
pub use host::{Health, Host};
pub use outcome::{ToolOutcome, ToolRequest};
pub use sessions::{CreatedSession, NewSession, SessionChange, SessionInfo, TurnInfo};
pub use settings::command_shells_here;
pub use tools_list::{ToolInfo, tool_list};
