use super::{access, file_extraction, path_argument, sentence, workspace_root};
use crate::input::GlobInput;
use crate::{
    Access, AccessKind, AccessSource, ExtractError, Extraction, FactContext, RawArgs, ToolInput,
    ToolPathExtractor, ToolPattern,
};

/// `Glob`: lists the names beneath a directory. A `path` that was given is an access of its own
/// ([`AccessSource::PathArgument`]); the walk beneath it ([`AccessSource::Walk`]) has the same
/// target, never leaves it, and is covered by whatever covers the argument.
pub(super) struct GlobExtractor;

impl ToolPathExtractor for GlobExtractor {
    fn tool(&self) -> ToolPattern {
        ToolPattern::Exact("Glob".to_owned())
    }

    fn extract(&self, args: &RawArgs, cx: &FactContext<'_>) -> Result<Extraction, ExtractError> {
        let input = GlobInput::parse(args)?;
        let mut accesses = Vec::new();
        let target = match &input.path {
            Some(path) => {
                let target = path_argument(path, cx)?;
                accesses.push(access(
                    AccessKind::List,
                    target.clone(),
                    AccessSource::PathArgument,
                ));
                target
            }
            None => workspace_root(cx)?,
        };
        let summary = format!(
            "lists {} matching {}",
            sentence::place(&target, cx),
            sentence::quoted(&input.pattern)
        );
        let walk = access(AccessKind::List, target, AccessSource::Walk);
        accesses.push(Access {
            recursive: true,
            ..walk
        });
        Ok(file_extraction(
            ToolInput::Glob(input),
            "Glob",
            accesses,
            summary,
        ))
    }
}
