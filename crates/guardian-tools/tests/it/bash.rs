//! `Bash` against real shells.

mod plain;
mod world;
