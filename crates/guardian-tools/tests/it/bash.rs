//! `Bash` against real shells.

mod environment;
mod ownership;
mod plain;
mod sandbox;
mod world;
