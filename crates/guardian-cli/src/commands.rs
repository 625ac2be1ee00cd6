//! One file a command.

pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod plans;
pub(crate) mod policy;
mod policy_accept;
mod policy_suggest;
pub(crate) mod replay;
mod replay_unread;
pub(crate) mod review;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod tools;
pub(crate) mod trust;
