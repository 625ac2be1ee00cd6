use super::{access, file_extraction, path_argument, sentence};
use crate::input::WriteInput;
use crate::{
    AccessKind, AccessSource, ExtractError, Extraction, FactContext, RawArgs, ToolInput,
    ToolPathExtractor, ToolPattern,
};

/// `Write`: creates or replaces the file that its `path` names.
pub(super) struct WriteExtractor;

impl ToolPathExtractor for WriteExtractor {
    fn tool(&self) -> ToolPattern {
        ToolPattern::Exact("Write".to_owned())
    }

    fn extract(&self, args: &RawArgs, cx: &FactContext<'_>) -> Result<Extraction, ExtractError> {
        let input = WriteInput::parse(args)?;
        let target = path_argument(&input.path, cx)?;
        let summary = format!("writes {}", sentence::place(&target, cx));
        let accesses = vec![access(
            AccessKind::Write,
            target,
            AccessSource::PathArgument,
        )];
        Ok(file_extraction(
            ToolInput::Write(input),
            "Write",
            accesses,
            summary,
        ))
    }
}
