//! Grants, and who calls: what a decision needs from the session's row at this moment.

use guardian_review::Decider;
use guardian_rules::{Grant, SandboxState, ToolKind, tool_kind};
use guardian_store::{AuditEntry, AuditEvent, Durability, SessionId, StoredGrant};
use serde_json::json;

use crate::error::HostError;
use crate::gate::Passage;
use crate::host::Host;
use crate::judge::Caller;
use crate::sessions::SessionInfo;
use crate::words;

/// A grant as the host lists it.
#[derive(Debug, Clone, PartialEq)]
pub struct GrantInfo {
    /// What is granted.
    pub grant: Grant,
    /// Who gave it.
    pub granted_by: String,
    /// Milliseconds since the epoch.
    pub at: i64,
}

/// The grants that were looked up; those that could not be read count as none (SPEC §1).
pub(crate) fn readable(grants: Result<Vec<StoredGrant>, HostError>) -> Vec<Grant> {
    match grants {
        Ok(grants) => grants.into_iter().map(|row| row.grant).collect(),
        Err(error) => {
            tracing::warn!(%error, "grants could not be read and count as none");
            Vec::new()
        }
    }
}

impl Host {
    /// Who calls this tool. Grants that cannot be read count as none (SPEC §1).
    pub(crate) async fn caller(&self, session: &SessionInfo, tool: &str) -> Caller {
        let grants = match SessionId::new(session.session_id.clone()) {
            Ok(id) => readable(self.look_up(|store| store.grants(&id))),
            Err(_) => Vec::new(),
        };
        self.caller_with(session, tool, grants).await
    }

    /// The same where the grants were looked up with the session.
    pub(crate) async fn caller_with(
        &self,
        session: &SessionInfo,
        tool: &str,
        grants: Vec<Grant>,
    ) -> Caller {
        let sandbox = if tool_kind(tool) == ToolKind::Shell {
            self.sandbox_state().await
        } else {
            SandboxState::Unavailable
        };
        Caller {
            mode: session.mode,
            permission_mode: session.effective_permission_mode,
            roots: session.roots.clone(),
            grants,
            delegate: None,
            attended: self.clients.is_attended(),
            sandbox,
            accepted_commands: std::collections::BTreeSet::new(),
        }
    }

    /// Keeps what `allow-session` granted, then decides anew about what waits in the session.
    pub(crate) async fn remember_grant(
        &self,
        passage: &Passage,
        grant: &Grant,
        by: &Decider,
    ) -> Result<(), HostError> {
        let id = passage.session_id()?;
        let by = match by {
            Decider::Human => "human".to_owned(),
            Decider::Reviewer(name) => format!("reviewer:{name}"),
            Decider::Policy(_) => return Ok(()),
        };
        let entry = AuditEntry {
            session: Some(id.clone()),
            turn: passage.request.turn_id.clone(),
            tool_call: Some(passage.request.tool_call_id.clone()),
            tool: Some(grant.tool_name.clone()),
            decided_by: Some(by.clone()),
            detail: Some(json!({ "scope": words::grant_scope(grant.scope) })),
            ..AuditEntry::new(AuditEvent::Grant)
        };
        let granted = grant.clone();
        self.with_store(move |store| {
            store.add_grant(&id, granted, &by)?;
            store.append_audit(entry, Durability::Machine)
        })
        .await?;
        self.re_evaluate(Some(&passage.session.session_id)).await;
        Ok(())
    }

    /// The session's grants that are in force.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `INTERNAL`.
    pub async fn list_grants(&self, session_id: &str) -> Result<Vec<GrantInfo>, HostError> {
        self.session(session_id).await?;
        let id = SessionId::new(session_id).map_err(HostError::internal)?;
        let grants = self.with_store(move |store| store.grants(&id)).await?;
        Ok(grants
            .into_iter()
            .map(|row| GrantInfo {
                grant: row.grant,
                granted_by: row.granted_by,
                at: row.at.0,
            })
            .collect())
    }

    /// Revokes the session's grants, of one tool or of all. Returns how many there were.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `INTERNAL`.
    pub async fn clear_grants(
        &self,
        session_id: &str,
        tool: Option<&str>,
    ) -> Result<usize, HostError> {
        self.session(session_id).await?;
        let id = SessionId::new(session_id).map_err(HostError::internal)?;
        let tool = tool.map(str::to_owned);
        let cleared = self
            .with_store(move |store| {
                let cleared = match &tool {
                    None => store.clear_grants(&id, None)?,
                    Some(tool) => {
                        let mut cleared = 0;
                        for row in store.grants(&id)? {
                            if row.grant.tool_name == *tool {
                                cleared += store.clear_grants(&id, Some(row.grant))?;
                            }
                        }
                        cleared
                    }
                };
                let entry = AuditEntry {
                    session: Some(id.clone()),
                    tool,
                    detail: Some(json!({ "cleared": cleared })),
                    ..AuditEntry::new(AuditEvent::Revoke)
                };
                store.append_audit(entry, Durability::Machine)?;
                Ok(cleared)
            })
            .await?;
        self.re_evaluate(Some(session_id)).await;
        Ok(cleared)
    }
}
