//! Owning the processes of one command: finding all of them, and ending all of them.
//!
//! A command of an agent may start background jobs, daemons that leave its session, children that
//! ignore `TERM`, stopped children, and storms of short-lived ones. When the call is over none of
//! them may be alive (SPEC §10). This crate has the two halves of that promise: [`procfs`] finds
//! processes, [`sweep`] ends a set of them that keeps growing while it is being ended.
//!
//! [`main`] is the executable `guardian-supervisor`, one process per call, to which every orphan of
//! the call comes back; [`protocol`] is what it and the host say to each other. Where the system
//! allows it, a [`cgroup`] makes the promise hold against everything.
//!
//! Where there are no namespaces to confine a command with, the supervisor confines it by Landlock
//! and seccomp ([`protocol::Confine`]).
//!
//! No tokio, and no thread but the short one that a confined program is started from: the
//! supervisor executable must start in about a millisecond.

pub mod cgroup;
mod confine;
pub mod procfs;
pub mod protocol;
mod supervise;
pub mod sweep;

pub use procfs::ProcessInfo;
pub use supervise::main;
pub use sweep::{ByMarker, Census, Descendants, Sweep};
