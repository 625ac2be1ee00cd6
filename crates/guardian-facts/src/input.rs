//! Typed inputs of the built-in tools: what the JSON arguments mean, parsed once and strictly.
//!
//! Canonical names are those of SPEC §2; the camelCase or snake_case twin of a name and
//! `file_path` for `path` are accepted, everything else is an [`ArgumentError`] that says where,
//! what was expected, and shows a correct example.

mod arguments;
mod asktool;
mod bash;
mod catalog;
mod control;
mod edit;
mod error;
mod glob;
mod grep;
mod read;
mod write;

pub(crate) use arguments::{nearest_names, shorten};
pub use asktool::{AskInput, MAX_QUESTIONS, Question};
pub use bash::{
    BashInput, DEFAULT_TIMEOUT_SECONDS, JobInput, MAX_COMMAND_BYTES, MAX_TIMEOUT_SECONDS,
};
pub use catalog::{ToolDescription, tool_catalogue};
pub(crate) use control::parse_nothing;
pub use control::{MAX_PLAN_BYTES, PreviewInput, SearchInput, SubmitInput, TaskInput};
pub use edit::{EditInput, Replacement};
pub use error::ArgumentError;
pub use glob::{GlobInput, MAX_GLOB_MATCHES};
pub use grep::{GrepInput, MAX_GREP_CONTEXT, MAX_GREP_RESULTS, OutputMode};
pub use read::{MAX_READ_LINES, ReadInput};
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
    /// `BashOutput`
    BashOutput(JobInput),
    /// `BashKill`
    BashKill(JobInput),
    /// `BrowserPreview`
    BrowserPreview(PreviewInput),
    /// `asktool`
    AskTool(AskInput),
    /// `new_context`
    NewContext,
    /// `ToolSearch`
    ToolSearch(SearchInput),
    /// `EnterPlanMode`
    EnterPlanMode,
    /// `EnterGoalMode`
    EnterGoalMode,
    /// `SubmitPlan`
    SubmitPlan(SubmitInput),
    /// `SubmitGoal`
    SubmitGoal(SubmitInput),
    /// `Task`
    Task(TaskInput),
    /// A tool whose body is elsewhere (harness, plugin, MCP).
    Other(RawArgs),
}

fn refuse_empty_path(
    arguments: &arguments::Arguments<'_>,
    path: &str,
) -> Result<(), ArgumentError> {
    let message = match path {
        "" => "`path` is empty",
        path if path.contains('\0') => "`path` holds a NUL character",
        _ => return Ok(()),
    };
    Err(arguments.error(
        "path",
        message,
        "a path relative to the workspace, or an absolute one",
    ))
}
