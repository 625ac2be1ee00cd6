//! Handlers of the wire's methods, one file an area. They translate; what happens is the host's.

pub(super) mod agents;
pub(super) mod app;
pub(super) mod asktool;
pub(super) mod audit;
pub(super) mod extractors;
pub(super) mod jobs;
pub(super) mod permissions;
pub(super) mod plans;
pub(super) mod policy;
pub(super) mod review;
pub(super) mod session;
pub(super) mod settings;
pub(super) mod tools;
pub(super) mod workspace;
