//! guardian
fn main() {}
