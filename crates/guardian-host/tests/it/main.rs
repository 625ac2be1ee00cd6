//! Tests of the host through its public face.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test panics with what went wrong"
)]

mod accepted;
mod agreement;
mod cases;
mod changes;
mod decisions;
mod delegates;
mod faults;
mod load;
mod own_entries;
mod permit;
mod plans;
mod policies;
mod reports;
mod retention;
mod reviewers;
mod secrets;
mod sensitive;
mod session_policy;
mod suggestions;
mod support;
mod targets;
mod unknown_words;
mod walks;
