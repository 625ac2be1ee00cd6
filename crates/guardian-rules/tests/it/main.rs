//! Integration tests of guardian-rules.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod build;
mod docs;
mod errors;
mod everyday;
mod examples;
mod floor;
mod laws;
mod laws_of_suggestions;
mod naive;
mod named;
mod reach;
mod rules;
mod suggest;
mod table;
mod world;
