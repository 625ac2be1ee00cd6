//! The audit log: what was called, what was decided, by whom, and what came of it (SPEC §14).
//!
//! Rows form a chain: each hash covers the hash before it, so an edit, a gap and a reorder show.
//! The end of the chain is read and extended in one `BEGIN IMMEDIATE`, so that several processes
//! write one chain. A cut tail shows against a head that was published elsewhere.

mod append;
mod chain;
mod entry;
mod key;
mod query;
mod stored;

pub use chain::{BrokenChain, Head, Verification};
pub use entry::{AuditEntry, AuditEvent, AuditRow, ExternalPathPermission};
pub use query::{AuditFilter, AuditOrder, AuditPage};

pub(crate) use append::{append, body_of};
pub(crate) use chain::head_of;
pub(crate) use key::{Key, load_or_create as load_or_create_key};
