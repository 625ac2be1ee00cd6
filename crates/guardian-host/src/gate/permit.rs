//! Calls whose body runs in the client: judged and asked about like any other, run by nobody here.

use std::sync::Arc;

use guardian_rules::{Decision, ToolKind, tool_kind};
use serde_json::json;

use super::effect::same_effect;
use super::{Passage, check_workspace, denied_by_policy, overwrite_state, raw_call, stale};
use crate::blocking::on_own_thread;
use crate::error::HostError;
use crate::host::Host;
use crate::outcome::{Stop, ToolOutcome, ToolRequest};
use crate::review_host::Asked;

impl Host {
    /// Judges a call whose body runs in the client (`tools.permit`), asking where policy asks. A
    /// success says that the client may run exactly these arguments now, and "about to run" is on
    /// record; how the call ended is the client's to say.
    ///
    /// # Errors
    /// `INVALID_PARAMS` for a tool of guardian's own, which has to come by [`Host::execute`];
    /// session and protocol failures. A call that may not run is an outcome.
    pub async fn permit(self: &Arc<Self>, request: ToolRequest) -> Result<ToolOutcome, HostError> {
        check_foreign(&request.tool_name)?;
        let host = Arc::clone(self);
        on_own_thread(async move { host.pass_to_client(request).await }).await
    }

    async fn pass_to_client(
        self: &Arc<Self>,
        request: ToolRequest,
    ) -> Result<ToolOutcome, HostError> {
        let mut passage = self.open_passage(request).await?;
        match self.permit_steps(&mut passage).await {
            // Its row is the one that says "about to run".
            Ok(outcome) => Ok(outcome),
            Err(Stop::Outcome(mut outcome)) => {
                self.record_end(&mut passage, &mut outcome).await?;
                Ok(outcome)
            }
            Err(Stop::Error(error)) => {
                self.record_refusal(&passage, &error).await;
                Err(error)
            }
        }
    }

    async fn permit_steps(self: &Arc<Self>, passage: &mut Passage) -> Result<ToolOutcome, Stop> {
        self.check_mode(passage, &passage.session.clone())?;
        self.check_turn(passage)?;
        self.check_delegate(passage).await?;
        check_workspace(passage)?;
        let call = raw_call(passage)?;
        let facts = Arc::new(self.extract(passage, &call).await?.facts);
        let overwrite = overwrite_state(&passage.runtime, &facts, None);
        let verdict = self.decide(passage, &facts, overwrite).await?;
        match verdict.decision {
            Decision::Deny => return Err(denied_by_policy(passage, &verdict).into()),
            Decision::Ask => {
                let asked = Asked {
                    call: &call,
                    facts: &facts,
                    verdict: &verdict,
                    overwrite,
                    binding: None,
                };
                let approval = self.ask(passage, asked).await?;
                passage.record.approve(&approval);
                let now = self.extract(passage, &call).await?.facts;
                self.check_again(passage, &now, overwrite).await?;
                if !same_effect(&facts, &now) {
                    return Err(stale(passage).into());
                }
            }
            Decision::Allow => self.check_again(passage, &facts, overwrite).await?,
        }
        self.record_start(passage).await?;
        let id = &passage.request.tool_call_id;
        Ok(ToolOutcome::success(id, json!({ "permitted": true })))
    }
}

/// A tool of guardian's own runs here or not at all: permitting its name, in whatever case, would
/// let a client's body run under facts that are not its own.
fn check_foreign(tool: &str) -> Result<(), HostError> {
    let own = guardian_facts::is_reserved_tool_name(tool)
        || !matches!(tool_kind(tool), ToolKind::Foreign | ToolKind::Plugin);
    if !own {
        return Ok(());
    }
    let message = format!("`{tool}` is a tool of guardian; call it with `tools.execute`");
    Err(HostError::invalid_params(message).with("pointer", "/toolName"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guardians_own_names_are_not_the_clients() {
        for own in ["Bash", "bash", "READ", "Task", "skill", "SubmitPlan"] {
            assert!(check_foreign(own).is_err(), "{own}");
        }
        for foreign in ["web_search", "mcp__files__read", "pi:Task", "powershell"] {
            assert!(check_foreign(foreign).is_ok(), "{foreign}");
        }
    }
}
