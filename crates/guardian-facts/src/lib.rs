//! What a tool call of a coding agent *would* do, worked out without doing anything.
//!
//! A [`ToolCall`] goes in, an [`Extraction`] comes out: the typed input that the tool body will
//! receive, and the [`Facts`] that policy looks at (accesses, commands, endpoints, and everything
//! that could not be determined). Nothing downstream parses the JSON arguments or the shell text
//! a second time.
//!
//! The crate does no I/O, reads no clock and no environment. What it needs to know of the machine
//! (where a link leads, what a script contains) it asks through the [`PathProbe`] trait; the
//! answers are part of the input and kept in [`Extraction::probe_log`]. The same input gives the
//! same output.
//!
//! Main types, in the order in which data flows: [`ToolCall`] → [`ExtractorRegistry`] (a slice of
//! built-in [`ToolPathExtractor`]s and those registered at run time) → [`Extraction`] → [`Facts`].

pub mod access;
pub mod call;
pub mod catalogue;
pub mod classes;
pub mod command;
pub mod defaults;
pub mod definitions;
pub mod extract;
pub mod facts;
pub mod facts_v1;
pub mod input;
pub mod opacity;
pub mod path;
pub mod probe;
pub mod shell;

pub use access::{
    Access, AccessDetail, AccessKind, AccessSource, PathFact, Scope, Sensitivity, Target,
};
pub use call::{RawArgs, ToolCall};
pub use classes::PathClasses;
pub use command::{
    Assignment, CommandFact, Effect, Effects, Place, Program, ProgramForm, Redirect, RedirectKind,
    Word, WordPart,
};
pub use definitions::Definition;
pub use extract::{
    DeclaredExtractor, DeclaredPath, ExtractError, Extraction, ExtractorRegistry, FactContext,
    RegisterError, ToolPathExtractor, ToolPattern, is_reserved_tool_name,
};
pub use facts::{CodeFile, Endpoint, Facts, LooseFinding, NamedPath, Opacity, Reading, Span};
pub use facts_v1::FactsV1;
pub use input::{ArgumentError, ToolDescription, ToolInput, tool_catalogue};
pub use path::{LinkedNames, OtherNames, PathError, RootPaths};
pub use probe::{FileId, FileKind, MemoryProbe, PathProbe, ProbeLog, RecordingProbe, Resolved};
