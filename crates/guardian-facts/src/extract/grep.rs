use super::{access, file_extraction, path_argument, sentence, workspace_root};
use crate::input::GrepInput;
use crate::{
    Access, AccessKind, AccessSource, ExtractError, Extraction, FactContext, FileKind, RawArgs,
    Target, ToolInput, ToolPathExtractor, ToolPattern,
};

/// `Grep`: reads one file, or walks and reads beneath a directory. The sources are those of
/// `Glob`; a path that is neither file nor directory is claimed as both.
pub(super) struct GrepExtractor;

impl ToolPathExtractor for GrepExtractor {
    fn tool(&self) -> ToolPattern {
        ToolPattern::Exact("Grep".to_owned())
    }

    fn extract(&self, args: &RawArgs, cx: &FactContext<'_>) -> Result<Extraction, ExtractError> {
        let input = GrepInput::parse(args)?;
        let mut accesses = Vec::new();
        let target = match &input.path {
            Some(path) => {
                let target = path_argument(path, cx)?;
                accesses.push(access(
                    AccessKind::Read,
                    target.clone(),
                    AccessSource::PathArgument,
                ));
                target
            }
            None => workspace_root(cx)?,
        };
        let summary = format!(
            "searches {} for {}",
            sentence::place(&target, cx),
            sentence::quoted(&input.pattern)
        );
        let is_file = matches!(&target, Target::Exact(path) if path.kind == Some(FileKind::File));
        if !is_file || input.path.is_none() {
            let walk = access(AccessKind::Read, target, AccessSource::Walk);
            accesses.push(Access {
                recursive: true,
                ..walk
            });
        }
        Ok(file_extraction(
            ToolInput::Grep(input),
            "Grep",
            accesses,
            summary,
        ))
    }
}
