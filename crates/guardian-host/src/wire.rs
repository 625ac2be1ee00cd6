//! The wire: NDJSON JSON-RPC 2.0 over stdio (SPEC §15).
//!
//! [`frame`] reads lines, [`dispatch`] holds the table of methods, [`Connection`] serves one
//! client, [`Outbound`] is the only way to the client's ear.

mod connection;
pub mod dispatch;
pub mod events;
pub mod frame;
mod methods;
mod outbound;
pub mod types;

pub use connection::{Connection, Peer, SUPPORTED_VERSIONS, UNREAD_PATIENCE, open_outbound};
pub use outbound::Outbound;
