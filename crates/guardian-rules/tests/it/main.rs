//! Integration tests of guardian-rules.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod build;
mod floor;
mod rules;
mod table;
