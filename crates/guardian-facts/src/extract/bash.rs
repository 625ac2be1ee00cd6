use crate::input::{BashInput, JobInput};
use crate::{
    ExtractError, Extraction, FactContext, Facts, ProbeLog, RawArgs, ToolInput, ToolPathExtractor,
    ToolPattern, shell,
};

/// `Bash`: the facts are what the shell reading says of the command.
pub(super) struct BashExtractor;

impl ToolPathExtractor for BashExtractor {
    fn tool(&self) -> ToolPattern {
        ToolPattern::Exact("Bash".to_owned())
    }

    fn extract(&self, args: &RawArgs, cx: &FactContext<'_>) -> Result<Extraction, ExtractError> {
        let input = BashInput::parse(args)?;
        let workspace = cx
            .roots
            .workspace
            .as_deref()
            .ok_or(ExtractError::WorkspaceRequired)?;
        let facts = shell::read(&input.command, workspace, cx);
        Ok(Extraction {
            input: ToolInput::Bash(input),
            facts,
            probe_log: ProbeLog::default(),
        })
    }
}

/// `BashOutput` and `BashKill`: touch nothing but a job of the session.
pub(super) struct JobExtractor {
    pub(super) tool: &'static str,
    pub(super) verb: &'static str,
    pub(super) input: fn(JobInput) -> ToolInput,
}

impl ToolPathExtractor for JobExtractor {
    fn tool(&self) -> ToolPattern {
        ToolPattern::Exact(self.tool.to_owned())
    }

    fn extract(&self, args: &RawArgs, _cx: &FactContext<'_>) -> Result<Extraction, ExtractError> {
        let input = JobInput::parse(args)?;
        let job = super::sentence::quoted(&input.job_id);
        let facts = Facts {
            summary: format!("{} background job {job}", self.verb),
            ..Facts::empty(self.tool)
        };
        Ok(Extraction {
            input: (self.input)(input),
            facts,
            probe_log: ProbeLog::default(),
        })
    }
}
