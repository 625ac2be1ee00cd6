//! From a [`crate::ToolCall`] to an [`Extraction`]: one extractor per tool, in a registry.

mod bash;
mod control;
mod declared;
mod edit;
mod glob;
mod grep;
mod read;
mod registry;
mod sentence;
mod write;

pub use declared::{DeclaredExtractor, DeclaredPath};
pub use registry::{ExtractorRegistry, RegisterError, is_reserved_tool_name};

use crate::catalogue::Catalogue;
use crate::{
    ArgumentError, Facts, LinkedNames, PathClasses, PathProbe, ProbeLog, RawArgs, RootPaths,
    ToolInput,
};

/// What an extractor may look at besides the arguments. All of it is input: nothing here is read
/// from the process's environment.
#[derive(Clone)]
pub struct FactContext<'a> {
    /// The session's roots.
    pub roots: &'a RootPaths,
    /// Answers about the machine.
    pub probe: &'a dyn PathProbe,
    /// Path classes.
    pub classes: &'a PathClasses,
    /// Command catalogue.
    pub catalogue: &'a Catalogue,
    /// Links that were met. A new one for each use of a context; [`crate::ExtractorRegistry`] puts
    /// in its own.
    pub linked: LinkedNames,
}

/// The typed input of a call with what the call would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Extraction {
    /// What the tool body receives.
    pub input: ToolInput,
    /// What policy looks at.
    pub facts: Facts,
    /// The questions asked of the machine, with their answers.
    pub probe_log: ProbeLog,
}

/// Which calls an extractor is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ToolPattern {
    /// Exactly this tool name.
    Exact(String),
}

/// An extractor could not produce facts.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ExtractError {
    /// The arguments are not what the tool takes: the call ends `INVALID_ARGUMENT`.
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    /// The session has no workspace and the call needs one: `WORKSPACE_REQUIRED`.
    #[error("the session has no workspace")]
    WorkspaceRequired,
    /// Anything else: the call is treated as unknown and asked about.
    #[error("the call could not be analysed: {0}")]
    Failed(String),
}

/// Turns the arguments of one tool into typed input and facts.
///
/// Implementations are pure: no I/O except through [`FactContext::probe`].
pub trait ToolPathExtractor: Send + Sync {
    /// Which tool it is for.
    fn tool(&self) -> ToolPattern;

    /// Extracts.
    ///
    /// # Errors
    /// [`ExtractError::Argument`] when the arguments do not fit the tool.
    fn extract(&self, args: &RawArgs, cx: &FactContext<'_>) -> Result<Extraction, ExtractError>;
}

/// The target of a tool's `path` argument.
fn path_argument(written: &str, cx: &FactContext<'_>) -> Result<crate::Target, ExtractError> {
    cx.argument(written).map_err(|error| match error {
        crate::PathError::NoWorkspace => ExtractError::WorkspaceRequired,
        error => ExtractError::Argument(ArgumentError {
            message: error.to_string(),
            pointer: "/path".to_owned(),
            expected: "a path relative to the workspace, or an absolute one".to_owned(),
            example: Box::new(serde_json::json!({"path": "src/main.rs"})),
            accepted: Vec::new(),
        }),
    })
}

/// The workspace as the place where a walk without a `path` starts.
fn workspace_root(cx: &FactContext<'_>) -> Result<crate::Target, ExtractError> {
    let workspace = cx
        .roots
        .workspace
        .as_deref()
        .ok_or(ExtractError::WorkspaceRequired)?;
    let text = workspace.to_str().ok_or_else(|| {
        ExtractError::Failed("the workspace's path is not valid UTF-8".to_owned())
    })?;
    Ok(cx.target(text, workspace))
}

fn access(
    kind: crate::AccessKind,
    target: crate::Target,
    source: crate::AccessSource,
) -> crate::Access {
    crate::Access {
        kind,
        detail: crate::AccessDetail::Plain,
        target,
        recursive: false,
        source,
    }
}

/// An extraction of a file tool: complete, nothing runs.
fn file_extraction(
    input: ToolInput,
    tool: &str,
    accesses: Vec<crate::Access>,
    summary: String,
) -> Extraction {
    Extraction {
        input,
        facts: Facts {
            accesses,
            summary,
            ..Facts::empty(tool)
        },
        probe_log: ProbeLog::default(),
    }
}
