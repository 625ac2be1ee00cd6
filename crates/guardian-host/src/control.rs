//! Control tools: those whose body is the host itself (SPEC §10 jobs, §13). They touch no file of
//! the user's choice and hold no execution slot while they wait.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use guardian_facts::ToolInput;
use guardian_facts::input::{AskInput, SubmitInput, TaskInput};
use guardian_rules::{AllowedDecision, Cause, Decision, Verdict};
use guardian_store::PlanKind;
use serde_json::json;

use crate::agents::{AgentDefinition, AgentSource, ListedAgent};
use crate::delegates::{DelegateRuntime, listed, no_such_agent, unknown_agent};
use crate::error::{ErrorCode, HostError};
use crate::gate::Passage;
use crate::host::Host;
use crate::jobs::{JobAction, job_call};
use crate::outcome::{Stop, ToolOutcome, ToolRequest};
use crate::sessions::SessionInfo;

/// The id under which an ask for a repository's definition is decided.
pub(crate) const AGENT_RULE: &str = "agent.repository";

/// What this process keeps of a session for its control tools: nothing that a decision depends on.
#[derive(Default)]
pub(crate) struct ControlRuntime {
    pub(crate) delegates: DelegateRuntime,
    agents: Mutex<Vec<AgentDefinition>>,
    active_tools: Mutex<BTreeSet<String>>,
}

impl ControlRuntime {
    /// Definitions that the client gave.
    pub(crate) fn lock_agents(&self) -> MutexGuard<'_, Vec<AgentDefinition>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// On-demand tools that were found since the prompt began.
    pub(crate) fn lock_active_tools(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.active_tools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call of a control tool.
pub(crate) enum ControlCall {
    Job(JobAction, String),
    Ask(AskInput),
    NewContext,
    Search(String),
    Enter(PlanKind),
    Submit(PlanKind, SubmitInput),
    /// With the definition once it was looked up: the one that is shown is the one that starts.
    Task(TaskInput, Option<Box<ListedAgent>>),
}

impl ControlCall {
    /// The control call that this input stands for; `None` for execution tools.
    pub(crate) fn of(input: &ToolInput) -> Option<Self> {
        Some(match input {
            ToolInput::AskTool(input) => Self::Ask(input.clone()),
            ToolInput::NewContext => Self::NewContext,
            ToolInput::ToolSearch(input) => Self::Search(input.query.clone()),
            ToolInput::EnterPlanMode => Self::Enter(PlanKind::Plan),
            ToolInput::EnterGoalMode => Self::Enter(PlanKind::Goal),
            ToolInput::SubmitPlan(input) => Self::Submit(PlanKind::Plan, input.clone()),
            ToolInput::SubmitGoal(input) => Self::Submit(PlanKind::Goal, input.clone()),
            ToolInput::Task(input) => Self::Task(input.clone(), None),
            other => {
                let (action, job) = job_call(other)?;
                Self::Job(action, job.job_id.clone())
            }
        })
    }
}

/// What is known of a definition that a `Task` names.
pub(crate) enum AgentStanding {
    /// There is none; a sentence for the model.
    Unknown(String),
    /// The repository's, and not shown to the user yet; the reason to ask.
    Unseen(String),
    /// It may start.
    Known,
}

/// The mode tools must be the only tool call of their message (SPEC §13.1). A client that does not
/// say how many there are vouches for one.
pub(crate) fn is_alone(request: &ToolRequest) -> bool {
    let must_be = matches!(
        request.tool_name.as_str(),
        "EnterPlanMode" | "EnterGoalMode" | "SubmitPlan" | "SubmitGoal"
    );
    !must_be || request.batch_size.is_none_or(|size| size == 1)
}

/// What to say when it is not.
pub(crate) fn not_alone(tool: &str) -> String {
    format!("{tool} must be the only tool call of its message; send it alone")
}

/// Refuses a mode tool that came with others.
pub(crate) fn check_alone(passage: &Passage) -> Result<(), Stop> {
    if is_alone(&passage.request) {
        return Ok(());
    }
    let message = not_alone(&passage.request.tool_name);
    let id = &passage.request.tool_call_id;
    Err(ToolOutcome::failure(id, ErrorCode::ControlToolNotAlone, &message).into())
}

impl Host {
    /// Looks up what the decision about a control call still needs. A definition of the repository
    /// that the user has not seen is asked about, by a person, once.
    pub(crate) async fn prepare_control(
        &self,
        passage: &Passage,
        control: &mut ControlCall,
        verdict: Verdict,
    ) -> Result<Verdict, Stop> {
        let ControlCall::Task(input, found) = control else {
            return Ok(verdict);
        };
        let list = self.agents_of(&passage.session).await?;
        let Some(agent) = list.find(&input.agent) else {
            return Err(no_such_agent(passage, input, &list.names()).into());
        };
        *found = Some(Box::new(agent.clone()));
        if agent.approved || verdict.decision != Decision::Allow {
            return Ok(verdict);
        }
        Ok(Verdict {
            decision: Decision::Ask,
            cause: Cause::Rule(AGENT_RULE.to_owned()),
            decided_by: vec![AGENT_RULE.to_owned()],
            reasons: vec![shown_once(&agent.definition)],
            allowed_decisions: vec![AllowedDecision::AllowOnce, AllowedDecision::Deny],
            human_only: true,
            session_grant: None,
            ..verdict
        })
    }

    /// What a `Task` with this definition meets besides policy.
    ///
    /// # Errors
    /// `INTERNAL` when the definitions cannot be looked at.
    pub(crate) async fn agent_standing(
        &self,
        session: &SessionInfo,
        agent: &str,
    ) -> Result<AgentStanding, HostError> {
        let list = self.agents_of(session).await?;
        Ok(match list.find(agent) {
            None => AgentStanding::Unknown(unknown_agent(agent, &list.names())),
            Some(one) if !one.approved => AgentStanding::Unseen(shown_once(&one.definition)),
            Some(_) => AgentStanding::Known,
        })
    }

    /// Runs the body of a control call that was permitted.
    pub(crate) async fn run_control(
        self: &Arc<Self>,
        passage: &mut Passage,
        control: ControlCall,
    ) -> Result<ToolOutcome, Stop> {
        let id = passage.request.tool_call_id.clone();
        match control {
            ControlCall::Job(action, job_id) => self.run_job_tool(passage, action, &job_id).await,
            ControlCall::Ask(input) => self.ask_user(passage, &input).await,
            ControlCall::NewContext => {
                let notice = "the conversation is compacted at the next turn";
                let content = json!({ "newContext": true, "notice": notice });
                let runtime = json!({ "newContext": true });
                Ok(ToolOutcome::success(&id, content).with_runtime(runtime))
            }
            ControlCall::Search(query) => Ok(self.search_tools(passage, &query)),
            ControlCall::Enter(kind) => self.enter_mode(passage, kind).await,
            ControlCall::Submit(kind, input) => self.submit(passage, kind, input).await,
            ControlCall::Task(input, Some(agent)) => {
                if agent.definition.source == AgentSource::Repository && !agent.approved {
                    self.remember_agent(&passage.session, &agent.definition)
                        .await?;
                }
                self.start_delegate(passage, &input, &agent).await
            }
            ControlCall::Task(_, None) => {
                Err(HostError::internal("a delegate lost its definition").into())
            }
        }
    }
}

fn shown_once(definition: &AgentDefinition) -> String {
    format!(
        "the repository defines the delegate `{}` ({}) with {}; a repository's definition is shown \
         before it is used for the first time",
        definition.name,
        definition.description,
        listed(&definition.tools)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mode_tools_must_be_alone() {
        let request = |tool: &str, size| ToolRequest {
            batch_size: size,
            ..ToolRequest::new("s", "c", tool, json!({}))
        };
        for tool in ["EnterPlanMode", "EnterGoalMode", "SubmitPlan", "SubmitGoal"] {
            assert!(is_alone(&request(tool, None)));
            assert!(is_alone(&request(tool, Some(1))));
            assert!(!is_alone(&request(tool, Some(0))));
            assert!(!is_alone(&request(tool, Some(2))));
        }
        assert!(is_alone(&request("Read", Some(9))));
    }
}
