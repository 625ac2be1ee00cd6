//! `Bash` against real shells.

mod environment;
mod plain;
mod world;
