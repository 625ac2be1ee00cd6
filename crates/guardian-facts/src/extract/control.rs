use super::sentence::quoted;
use super::{access, file_extraction, path_argument, sentence};
use crate::input::{AskInput, PreviewInput, SearchInput, SubmitInput, TaskInput, parse_nothing};
use crate::{
    AccessKind, AccessSource, ExtractError, Extraction, FactContext, RawArgs, ToolInput,
    ToolPathExtractor, ToolPattern,
};

/// `BrowserPreview`: shows the one file that its `path` names, which is reading it.
pub(super) struct PreviewExtractor;

impl ToolPathExtractor for PreviewExtractor {
    fn tool(&self) -> ToolPattern {
        ToolPattern::Exact("BrowserPreview".to_owned())
    }

    fn extract(&self, args: &RawArgs, cx: &FactContext<'_>) -> Result<Extraction, ExtractError> {
        let input = PreviewInput::parse(args)?;
        let target = path_argument(&input.path, cx)?;
        let summary = format!("shows {}", sentence::place(&target, cx));
        let accesses = vec![access(AccessKind::Read, target, AccessSource::PathArgument)];
        let input = ToolInput::BrowserPreview(input);
        Ok(file_extraction(input, "BrowserPreview", accesses, summary))
    }
}

/// A tool of the host that touches no file of the user's choice.
pub(super) struct ControlExtractor {
    pub(super) tool: &'static str,
    /// Typed input and summary.
    pub(super) parse: fn(&RawArgs) -> Result<(ToolInput, String), ExtractError>,
    pub(super) needs: Needs,
}

/// What a session must have for the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing.
    Nothing,
    /// A project directory.
    Workspace,
}

impl ToolPathExtractor for ControlExtractor {
    fn tool(&self) -> ToolPattern {
        ToolPattern::Exact(self.tool.to_owned())
    }

    fn extract(&self, args: &RawArgs, cx: &FactContext<'_>) -> Result<Extraction, ExtractError> {
        let (input, summary) = (self.parse)(args)?;
        if self.needs == Needs::Workspace && cx.roots.workspace.is_none() {
            return Err(ExtractError::WorkspaceRequired);
        }
        Ok(file_extraction(input, self.tool, Vec::new(), summary))
    }
}

pub(super) fn ask(args: &RawArgs) -> Result<(ToolInput, String), ExtractError> {
    let input = AskInput::parse(args)?;
    let summary = match input.questions.as_slice() {
        [one] => format!("asks the user {}", quoted(&one.question)),
        many => format!("asks the user {} questions", many.len()),
    };
    Ok((ToolInput::AskTool(input), summary))
}

pub(super) fn new_context(args: &RawArgs) -> Result<(ToolInput, String), ExtractError> {
    parse_nothing(args)?;
    let summary = "asks for a compacted context at the next turn".to_owned();
    Ok((ToolInput::NewContext, summary))
}

pub(super) fn search(args: &RawArgs) -> Result<(ToolInput, String), ExtractError> {
    let input = SearchInput::parse(args)?;
    let summary = format!("looks for tools: {}", quoted(&input.query));
    Ok((ToolInput::ToolSearch(input), summary))
}

pub(super) fn enter_plan(args: &RawArgs) -> Result<(ToolInput, String), ExtractError> {
    parse_nothing(args)?;
    Ok((ToolInput::EnterPlanMode, "enters plan mode".to_owned()))
}

pub(super) fn enter_goal(args: &RawArgs) -> Result<(ToolInput, String), ExtractError> {
    parse_nothing(args)?;
    Ok((ToolInput::EnterGoalMode, "enters goal mode".to_owned()))
}

pub(super) fn submit_plan(args: &RawArgs) -> Result<(ToolInput, String), ExtractError> {
    let input = SubmitInput::parse(args)?;
    let summary = format!("submits the plan {}", quoted(&input.title));
    Ok((ToolInput::SubmitPlan(input), summary))
}

pub(super) fn submit_goal(args: &RawArgs) -> Result<(ToolInput, String), ExtractError> {
    let input = SubmitInput::parse(args)?;
    let summary = format!("submits the goal {}", quoted(&input.title));
    Ok((ToolInput::SubmitGoal(input), summary))
}

pub(super) fn task(args: &RawArgs) -> Result<(ToolInput, String), ExtractError> {
    let input = TaskInput::parse(args)?;
    let what = input.description.as_deref().unwrap_or(&input.task);
    let summary = format!(
        "starts the delegate {}: {}",
        quoted(&input.agent),
        quoted(what)
    );
    Ok((ToolInput::Task(input), summary))
}
