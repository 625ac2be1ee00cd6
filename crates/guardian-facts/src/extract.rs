//! From a [`ToolCall`] to an [`Extraction`]: one extractor per tool, in a registry.

use crate::catalogue::Catalogue;
use crate::{
    ArgumentError, Facts, PathClasses, PathProbe, ProbeLog, RawArgs, RootPaths, ToolInput,
};

/// What an extractor may look at besides the arguments. All of it is input: nothing here is read
/// from the process's environment.
#[derive(Clone, Copy)]
pub struct FactContext<'a> {
    /// The session's roots.
    pub roots: &'a RootPaths,
    /// Answers about the machine.
    pub probe: &'a dyn PathProbe,
    /// Path classes.
    pub classes: &'a PathClasses,
    /// Command catalogue.
    pub catalogue: &'a Catalogue,
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

/// All extractors: the built-in ones and those registered at run time.
pub struct ExtractorRegistry {
    _private: (),
}
