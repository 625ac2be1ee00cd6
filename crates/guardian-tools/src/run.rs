//! The dispatch table of the file tools.

use crate::bind::{BoundInput, Permitted};
use crate::context::ToolContext;
use crate::output::ToolOutput;
use crate::{FailureCode, ToolFailure};

/// Runs the body of a permitted file tool call. Blocking: call it off the async threads.
///
/// # Errors
/// A [`ToolFailure`] is the tool's own answer, not a fault of the host. Nothing is changed when
/// one is returned, except where its message says so.
pub fn run_file_tool(
    permitted: Permitted<BoundInput>,
    cx: &ToolContext<'_>,
) -> Result<ToolOutput, ToolFailure> {
    match permitted.into_inner() {
        BoundInput::Read(bound) => crate::read::read(&bound, cx),
        BoundInput::Glob(bound) => crate::glob::glob(&bound, cx),
        BoundInput::Grep(bound) => crate::grep::grep(&bound, cx),
        BoundInput::Write(bound) => crate::write::write(bound, cx),
        BoundInput::Edit(bound) => crate::edit::edit(bound, cx),
        BoundInput::BrowserPreview(bound) => crate::browser_preview::browser_preview(&bound),
        BoundInput::Bash(_) => Err(ToolFailure::new(
            FailureCode::Internal,
            "Bash is not a file tool",
        )),
    }
}
