//! Integration tests of guardian-rules.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod build;
mod table;
