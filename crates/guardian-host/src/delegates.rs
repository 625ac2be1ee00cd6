//! Delegates at work (SPEC §13.6): started by `Task`, held to their definition's tools on every
//! call, closed by `task.finish` or with their turn.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use guardian_facts::input::TaskInput;
use guardian_review::AbortReason;
use guardian_store::{Conflict, Delegate, DelegateEnd, NewDelegate, SessionId, StoreError};
use serde_json::json;
use tokio::sync::Notify;

use crate::agents::ListedAgent;
use crate::error::{ErrorCode, HostError};
use crate::gate::{Passage, aborted};
use crate::host::Host;
use crate::outcome::{Stop, ToolOutcome};
use crate::sessions::{SessionInfo, SessionRuntime, random_id};

/// What this process keeps of a session's delegates.
#[derive(Default)]
pub(crate) struct DelegateRuntime {
    /// One was closed.
    changed: Notify,
    /// Who waits for a free place, in order of arrival.
    line: tokio::sync::Mutex<()>,
    /// Calls in flight by delegate.
    calls: Mutex<HashMap<String, BTreeSet<String>>>,
}

/// A call that a delegate makes; taken off the list on drop.
pub(crate) struct DelegateCall {
    pub(crate) delegate: Delegate,
    runtime: Arc<SessionRuntime>,
    tool_call: String,
}

impl Drop for DelegateCall {
    fn drop(&mut self) {
        let id = &self.delegate.id;
        let mut calls = self.runtime.control.delegates.lock();
        if let Some(of) = calls.get_mut(id) {
            of.remove(&self.tool_call);
            if of.is_empty() {
                calls.remove(id);
            }
        }
    }
}

impl DelegateRuntime {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, BTreeSet<String>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a delegate's call is refused; a sentence for the model.
pub(crate) struct DelegateRefusal(pub(crate) String);

impl DelegateRefusal {
    /// `content.cause` of the denial.
    pub(crate) const CAUSE: &'static str = "delegate";
}

/// The tool is one of the delegate's. Whoever has Bash has the tools of its background jobs.
fn may_use(delegate: &Delegate, tool: &str) -> bool {
    let tool = match tool {
        "BashOutput" | "BashKill" => "Bash",
        other => other,
    };
    delegate.tools.iter().any(|one| one == tool)
}

impl Host {
    /// The delegate that a request names, if it is at work in this session and has the tool.
    ///
    /// # Errors
    /// `INTERNAL` when that cannot be looked up.
    pub(crate) async fn delegate_of(
        &self,
        session: &SessionInfo,
        id: &str,
        tool: &str,
    ) -> Result<Result<Delegate, DelegateRefusal>, HostError> {
        let of = SessionId::new(session.session_id.clone()).map_err(HostError::internal)?;
        let wanted = id.to_owned();
        let found = self
            .with_store(move |store| match store.delegate(&of, &wanted) {
                Ok(delegate) => Ok(Some(delegate)),
                Err(StoreError::NotFound { .. }) => Ok(None),
                Err(error) => Err(error),
            })
            .await?;
        let refuse = |message: String| Ok(Err(DelegateRefusal(message)));
        match found {
            None => refuse("this session has no such delegate".to_owned()),
            Some(delegate) if delegate.closed_at.is_some() => {
                refuse(format!("the delegate `{}` has finished", delegate.name))
            }
            Some(delegate) if !may_use(&delegate, tool) => refuse(format!(
                "the delegate `{}` has no {tool}; it has {}",
                delegate.name,
                listed(&delegate.tools)
            )),
            Some(delegate) => Ok(Ok(delegate)),
        }
    }

    /// Holds a delegate's call to its definition, and puts it on the list of its calls.
    pub(crate) async fn check_delegate(&self, passage: &mut Passage) -> Result<(), Stop> {
        let Some(id) = passage.request.delegate_id.clone() else {
            return Ok(());
        };
        let tool_call = passage.request.tool_call_id.clone();
        // On the list first: whoever closes the delegate after this finds the call.
        passage
            .runtime
            .control
            .delegates
            .lock()
            .entry(id.clone())
            .or_default()
            .insert(tool_call.clone());
        let tool = &passage.request.tool_name;
        let looked_up = self.delegate_of(&passage.session, &id, tool).await;
        match looked_up {
            Ok(Ok(delegate)) => {
                passage.record.by_delegate(&delegate.name);
                passage.delegate = Some(DelegateCall {
                    delegate,
                    runtime: Arc::clone(&passage.runtime),
                    tool_call,
                });
                Ok(())
            }
            other => {
                let mut calls = passage.runtime.control.delegates.lock();
                if let Some(of) = calls.get_mut(&id) {
                    of.remove(&tool_call);
                    if of.is_empty() {
                        calls.remove(&id);
                    }
                }
                drop(calls);
                match other {
                    Err(error) => Err(error.into()),
                    Ok(Err(refusal)) => Err(refused(passage, &refusal).into()),
                    Ok(Ok(_)) => Ok(()),
                }
            }
        }
    }

    /// The same after a wait.
    pub(crate) async fn check_delegate_again(&self, passage: &Passage) -> Result<(), Stop> {
        let Some(call) = &passage.delegate else {
            return Ok(());
        };
        let tool = &passage.request.tool_name;
        match self
            .delegate_of(&passage.session, &call.delegate.id, tool)
            .await?
        {
            Ok(_) => Ok(()),
            Err(refusal) => Err(refused(passage, &refusal).into()),
        }
    }

    /// The body of `Task`: waits for one of four places, then opens the delegate.
    pub(crate) async fn start_delegate(
        self: &Arc<Self>,
        passage: &Passage,
        input: &TaskInput,
        agent: &ListedAgent,
    ) -> Result<ToolOutcome, Stop> {
        let runtime = Arc::clone(&passage.runtime);
        let opened = tokio::select! {
            opened = self.open_delegate(passage, &runtime, agent) => opened?,
            () = passage.in_flight.cancel.cancelled() => return Err(aborted(passage).into()),
        };
        let definition = &agent.definition;
        let mut content = json!({
            "delegateId": opened.id,
            "agent": definition.name,
            "task": input.task,
            "tools": definition.tools,
            "maxTurns": definition.max_turns,
            "instructions": definition.instructions,
        });
        if let Some(model) = &definition.model {
            content["model"] = model.clone().into();
        }
        if let Some(level) = &definition.thinking_level {
            content["thinkingLevel"] = level.clone().into();
        }
        let id = &passage.request.tool_call_id;
        let runtime = json!({ "delegateId": opened.id });
        Ok(ToolOutcome::success(id, content).with_runtime(runtime))
    }

    async fn open_delegate(
        self: &Arc<Self>,
        passage: &Passage,
        runtime: &SessionRuntime,
        agent: &ListedAgent,
    ) -> Result<Delegate, Stop> {
        let delegates = &runtime.control.delegates;
        let _line = delegates.line.lock().await;
        loop {
            let changed = delegates.changed.notified();
            tokio::pin!(changed);
            // From here on no closing is missed.
            changed.as_mut().enable();
            let new = NewDelegate {
                id: random_id("d")?,
                name: agent.definition.name.clone(),
                tools: agent.definition.tools.clone(),
                turn: passage.request.turn_id.clone(),
                tool_call: passage.request.tool_call_id.clone(),
            };
            let session = passage.session_id()?;
            let opened = self
                .with_store(move |store| match store.open_delegate(&session, new) {
                    Ok(delegate) => Ok(Some(delegate)),
                    Err(StoreError::Conflict(Conflict::DelegatesFull(_))) => Ok(None),
                    Err(error) => Err(error),
                })
                .await?;
            if let Some(delegate) = opened {
                return Ok(delegate);
            }
            changed.await;
        }
    }

    /// Closes a delegate: its waiting calls are aborted, and its id is refused from now on. False
    /// when it was closed already.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`; `NOT_FOUND` when the session never had it.
    pub async fn finish_task(&self, session_id: &str, id: &str) -> Result<bool, HostError> {
        self.session(session_id).await?;
        let session = SessionId::new(session_id).map_err(HostError::internal)?;
        let (of, wanted) = (session.clone(), id.to_owned());
        self.with_store(move |store| store.delegate(&of, &wanted))
            .await?;
        let closed = self
            .close_delegates(session_id, Some(id), DelegateEnd::Finished)
            .await?;
        Ok(closed > 0)
    }

    /// Closes one or all delegates of a session; says how many were open.
    pub(crate) async fn close_delegates(
        &self,
        session_id: &str,
        only: Option<&str>,
        end: DelegateEnd,
    ) -> Result<usize, HostError> {
        let session = SessionId::new(session_id).map_err(HostError::internal)?;
        let one = only.map(str::to_owned);
        let closed = self
            .with_store(move |store| store.close_delegates(&session, one.as_deref(), end))
            .await?;
        let runtime = self.runtime(session_id);
        for delegate in &closed {
            let calls = runtime.control.delegates.lock().get(&delegate.id).cloned();
            for call in calls.into_iter().flatten() {
                self.queue.abort_call(session_id, &call, AbortReason::Call);
                self.calls.abort(session_id, &call);
            }
        }
        if !closed.is_empty() {
            runtime.control.delegates.changed.notify_waiters();
        }
        Ok(closed.len())
    }
}

fn refused(passage: &Passage, refusal: &DelegateRefusal) -> ToolOutcome {
    let id = &passage.request.tool_call_id;
    ToolOutcome::denied(id, DelegateRefusal::CAUSE, &refusal.0)
}

/// `Read, Grep`, or `no tools`.
pub(crate) fn listed(tools: &[String]) -> String {
    if tools.is_empty() {
        return "no tools".to_owned();
    }
    tools.join(", ")
}

/// What to say about a name that no definition has.
pub(crate) fn unknown_agent(name: &str, names: &[String]) -> String {
    let shown: String = name.chars().take(80).collect();
    format!(
        "there is no delegate `{shown}`; there are {}",
        names.join(", ")
    )
}

/// The tool does not exist in a session without definitions, or not under this name.
pub(crate) fn no_such_agent(passage: &Passage, input: &TaskInput, names: &[String]) -> ToolOutcome {
    let message = unknown_agent(&input.agent, names);
    let mut outcome = ToolOutcome::failure(
        &passage.request.tool_call_id,
        ErrorCode::InvalidArgument,
        &message,
    );
    outcome.content["pointer"] = "/agent".into();
    outcome.content["accepted"] = names.to_vec().into();
    outcome
}
