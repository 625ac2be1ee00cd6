//! `Bash` against real shells.

mod environment;
mod jobs;
mod limits;
mod output;
mod ownership;
mod plain;
mod sandbox;
mod world;
