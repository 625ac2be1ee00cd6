//! Integration tests of guardian-facts, through its public interface only.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

mod classes;
mod control;
mod extract;
mod input;
mod laws;
mod linked;
mod new_names;
mod place;
mod repository;
mod shell_oracle;
mod shell_reading;
mod snapshots;
mod support;
mod world;
