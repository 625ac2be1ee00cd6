//! Integration tests of guardian-facts, through its public interface only.

mod classes;
mod extract;
mod input;
mod laws;
mod place;
mod snapshots;
mod world;
