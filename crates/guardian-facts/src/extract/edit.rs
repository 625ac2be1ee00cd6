use super::{access, file_extraction, path_argument, sentence};
use crate::input::EditInput;
use crate::{
    AccessKind, AccessSource, ExtractError, Extraction, FactContext, RawArgs, ToolInput,
    ToolPathExtractor, ToolPattern,
};

/// `Edit`: reads and replaces the file that its `path` names.
pub(super) struct EditExtractor;

impl ToolPathExtractor for EditExtractor {
    fn tool(&self) -> ToolPattern {
        ToolPattern::Exact("Edit".to_owned())
    }

    fn extract(&self, args: &RawArgs, cx: &FactContext<'_>) -> Result<Extraction, ExtractError> {
        let input = EditInput::parse(args)?;
        let target = path_argument(&input.path, cx)?;
        let summary = format!("edits {}", sentence::place(&target, cx));
        let accesses = vec![
            access(AccessKind::Read, target.clone(), AccessSource::PathArgument),
            access(AccessKind::Write, target, AccessSource::PathArgument),
        ];
        Ok(file_extraction(
            ToolInput::Edit(input),
            "Edit",
            accesses,
            summary,
        ))
    }
}
