//! Read, Glob, Grep, Write, Edit and rollback, through [`guardian_tools::bind`] and the bodies.

mod basics;
mod cases;
mod changes;
mod claims;
mod containment;
mod documents;
mod encodings;
mod foreign;
mod kill;
mod races;
mod support;
mod walks;
