//! Background jobs: commands that go on after their call, until they are ended or their session is
//! (SPEC §10). A job keeps its execution slot, so that it counts as one of its session's commands.

use std::sync::Arc;

use guardian_facts::ToolInput;
use guardian_facts::input::JobInput;
use guardian_tools::bash::{BashContext, BashRequest, NoSuchJob};
use serde_json::{Value, json};

use crate::admission::Slot;
use crate::blocking::blocking;
use crate::error::{ErrorCode, HostError};
use crate::gate::Passage;
use crate::host::Host;
use crate::outcome::{Stop, ToolOutcome};

/// What `BashOutput` and `BashKill` do with a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobAction {
    /// Look at its output.
    Output,
    /// End it.
    Kill,
}

/// The job that a call is about, if it is about one.
pub(crate) fn job_call(input: &ToolInput) -> Option<(JobAction, &JobInput)> {
    match input {
        ToolInput::BashOutput(input) => Some((JobAction::Output, input)),
        ToolInput::BashKill(input) => Some((JobAction::Kill, input)),
        _ => None,
    }
}

impl Host {
    /// Starts a permitted command as a job and returns at once.
    pub(crate) fn start_job(
        &self,
        passage: &Passage,
        request: BashRequest,
        context: BashContext,
        slot: Slot,
    ) -> Result<ToolOutcome, Stop> {
        let session = &passage.request.session_id;
        let request = BashRequest {
            timeout: None,
            ..request
        };
        let id = &passage.request.tool_call_id;
        match self
            .jobs
            .start(session, request, context, move || drop(slot))
        {
            Ok(job_id) => {
                let notice = "it runs until it ends, BashKill ends it, or the session ends; \
                              BashOutput shows what it printed";
                let content = json!({ "jobId": job_id, "notice": notice });
                Ok(ToolOutcome::success(id, content))
            }
            Err(error) => {
                let code = ErrorCode::named(error.code()).unwrap_or(ErrorCode::Internal);
                Err(ToolOutcome::failure(id, code, &error.to_string()).into())
            }
        }
    }

    /// The body of `BashOutput` and `BashKill`.
    pub(crate) async fn run_job_tool(
        self: &Arc<Self>,
        passage: &Passage,
        action: JobAction,
        job_id: &str,
    ) -> Result<ToolOutcome, Stop> {
        let id = &passage.request.tool_call_id;
        match self
            .job(&passage.request.session_id, action, job_id)
            .await?
        {
            Ok(view) => Ok(ToolOutcome::success(id, view)),
            Err(error) => {
                Err(ToolOutcome::failure(id, ErrorCode::NotFound, &error.to_string()).into())
            }
        }
    }

    /// Looks at or ends a job of the session, by wire or by tool.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`; the inner error when the session has no such job.
    pub(crate) async fn job(
        self: &Arc<Self>,
        session_id: &str,
        action: JobAction,
        job_id: &str,
    ) -> Result<Result<Value, NoSuchJob>, HostError> {
        self.session(session_id).await?;
        let (host, session, job_id) = (Arc::clone(self), session_id.to_owned(), job_id.to_owned());
        let viewed = blocking(move || match action {
            JobAction::Output => host.jobs.output(&session, &job_id),
            JobAction::Kill => host.jobs.kill(&session, &job_id),
        })
        .await
        .map_err(|_| HostError::internal("the job could not be looked at"))?;
        // As with a command's result: the host's own secrets do not come back through it.
        Ok(viewed.map(|mut view| {
            crate::output::mask_streams(&mut view, &self.own_secrets);
            view
        }))
    }

    /// The session's jobs.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`.
    pub(crate) async fn list_jobs(&self, session_id: &str) -> Result<Value, HostError> {
        self.session(session_id).await?;
        Ok(self.jobs.list(session_id))
    }

    /// Ends the session's jobs, or everybody's; returns when nothing of them is left.
    pub(crate) async fn end_jobs(self: &Arc<Self>, session_id: Option<&str>) {
        let (host, session) = (Arc::clone(self), session_id.map(str::to_owned));
        let ended = blocking(move || match session {
            Some(session) => host.jobs.end_session(&session),
            None => host.jobs.end_all(),
        });
        if ended.await.is_err() {
            tracing::error!("background jobs could not be ended");
        }
    }
}
