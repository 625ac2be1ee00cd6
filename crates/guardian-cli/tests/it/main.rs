//! Tests of the `guardian` executable, as a user meets it.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test panics with what went wrong"
)]

mod answering;
mod audit;
mod confinement;
mod crash;
mod every_step;
mod exec;
mod host_process;
mod lying_client;
mod order;
mod plans;
mod policy;
mod review;
mod rules_page;
mod transcripts;
mod visible;
