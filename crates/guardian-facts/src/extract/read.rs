use super::{access, file_extraction, path_argument, sentence};
use crate::input::ReadInput;
use crate::{
    AccessKind, AccessSource, ExtractError, Extraction, FactContext, RawArgs, ToolInput,
    ToolPathExtractor, ToolPattern,
};

/// `Read`: reads the one file that its `path` names.
pub(super) struct ReadExtractor;

impl ToolPathExtractor for ReadExtractor {
    fn tool(&self) -> ToolPattern {
        ToolPattern::Exact("Read".to_owned())
    }

    fn extract(&self, args: &RawArgs, cx: &FactContext<'_>) -> Result<Extraction, ExtractError> {
        let input = ReadInput::parse(args)?;
        let target = path_argument(&input.path, cx)?;
        let summary = format!("reads {}", sentence::place(&target, cx));
        let accesses = vec![access(AccessKind::Read, target, AccessSource::PathArgument)];
        Ok(file_extraction(
            ToolInput::Read(input),
            "Read",
            accesses,
            summary,
        ))
    }
}
