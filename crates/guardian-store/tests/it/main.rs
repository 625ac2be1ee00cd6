//! Integration tests of guardian-store: real SQLite in temporary directories.

#[cfg(test)]
mod audit;
#[cfg(test)]
mod grants;
#[cfg(test)]
mod opening;
#[cfg(test)]
mod plans;
#[cfg(test)]
mod processes;
#[cfg(test)]
mod reviewers;
#[cfg(test)]
mod session_policies;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod snapshots;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tampering;
