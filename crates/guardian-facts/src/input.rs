//! Typed inputs of the built-in tools: what the JSON arguments mean, parsed once.

mod bash;
mod edit;
mod error;
mod glob;
mod grep;
mod read;
mod write;

pub use bash::BashInput;
pub use edit::{EditInput, Replacement};
pub use error::ArgumentError;
pub use glob::GlobInput;
pub use grep::{GrepInput, OutputMode};
pub use read::ReadInput;
pub use write::WriteInput;

use crate::RawArgs;

/// The typed input of a call. The tool body receives exactly this value.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolInput {
    /// `Read`
    Read(ReadInput),
    /// `Glob`
    Glob(GlobInput),
    /// `Grep`
    Grep(GrepInput),
    /// `Write`
    Write(WriteInput),
    /// `Edit`
    Edit(EditInput),
    /// `Bash`
    Bash(BashInput),
    /// A tool whose body is elsewhere (harness, plugin, MCP).
    Other(RawArgs),
}
