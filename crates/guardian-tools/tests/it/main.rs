//! Integration tests of guardian-tools.
#![expect(clippy::unwrap_used, reason = "a test panics with the error")]

mod bash;
mod files;
