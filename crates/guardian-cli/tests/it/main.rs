//! Tests of the `guardian` executable, as a user meets it.

mod host_process;
mod transcripts;
