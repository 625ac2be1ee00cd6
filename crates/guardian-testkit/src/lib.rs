//! Development only: what the tests of several crates need.
//!
//! - [`ProjectFixture`]: the project of the case files in a temporary directory, with a home, a
//!   data directory and a scratch directory beside it.
//! - [`FakeClock`]: a wall clock that moves when it is told to.
//! - [`Redactions`]: paths, ids and times out of snapshots.
//! - [`cases`]: the case files beside the repository, where they are.
//! - [`scrubbed_command`]: a program in an environment that does not depend on who runs the tests.
//! - [`measure`]: ratios to a floor, for the benches.
//!
//! Depends on facts and tools only, so that every other crate may use it in its tests.

pub mod cases;
pub mod clock;
pub mod environment;
pub mod fixture;
pub mod measure;
pub mod redactions;

pub use cases::{CommandCase, CommandFile, Expectation, ReportCase, ReportInput};
pub use clock::FakeClock;
pub use environment::scrubbed_command;
pub use fixture::ProjectFixture;
pub use redactions::Redactions;
