//! Read, Glob, Grep, Write, Edit and rollback, through [`guardian_tools::bind`] and the bodies.

mod basics;
mod changes;
mod containment;
mod kill;
mod support;
mod walks;
