//! `Bash` against real shells.

mod environment;
mod jobs;
mod limits;
mod ownership;
mod plain;
mod sandbox;
mod world;
