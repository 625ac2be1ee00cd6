//! Read, Glob, Grep, Write, Edit and rollback, through [`guardian_tools::bind`] and the bodies.

mod basics;
mod cases;
mod changes;
mod claims;
mod containment;
mod kill;
mod races;
mod support;
mod walks;
