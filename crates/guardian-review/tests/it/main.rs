//! Integration tests of guardian-review.
//!
//! `cfg(test)` is always true here; it tells clippy that helpers may unwrap too.

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod card;
#[cfg(test)]
mod chain;
#[cfg(test)]
mod endpoint;
#[cfg(test)]
mod human;
#[cfg(test)]
mod model;
#[cfg(test)]
mod model_chain;
#[cfg(test)]
mod model_reviewer;
#[cfg(test)]
mod offered;
#[cfg(test)]
mod queue;
#[cfg(test)]
mod support;
