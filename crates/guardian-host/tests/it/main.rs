//! Tests of the host through its public face.

mod cases;
mod faults;
mod policies;
mod support;
