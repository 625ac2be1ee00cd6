//! What the operator sees of the policy, and takes as it is.

use std::sync::Arc;

use guardian_rules::{Preset, Trust};
use guardian_store::{AuditEntry, AuditEvent, Durability, SessionId};
use serde_json::json;

use super::{LayerState, Policies, PolicyLayer, PolicyProblem};
use crate::blocking::blocking;
use crate::error::HostError;
use crate::events::Event;
use crate::host::Host;

/// The policy in force for a session, or for none.
#[derive(Debug, Clone)]
pub struct PolicyReport {
    /// Equal versions decide equally.
    pub version: String,
    /// The preset in force.
    pub preset: Preset,
    /// Number of rules in force, the floor not counted.
    pub rules: usize,
    /// A change that loosens waits for [`Host::reload_policy`].
    pub waiting: bool,
    /// Allow rules of an untrusted workspace file, which do not count.
    pub ignored_allow_rules: Vec<String>,
    /// The layers, strongest first.
    pub layers: Vec<PolicyLayer>,
}

/// A session that exists by no name: what holds without a workspace.
const NO_SESSION: &str = "";

impl Policies {
    fn report(&self, session_id: &str, workspace: Option<&std::path::Path>) -> PolicyReport {
        let (in_force, _) = self.look(session_id, workspace);
        let held = self.held(session_id);
        let held = held
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let current = in_force.current();
        PolicyReport {
            version: in_force.version().to_owned(),
            preset: current.preset(),
            rules: current.rule_count(),
            waiting: held.waits(),
            ignored_allow_rules: current.ignored_allow_rules().to_vec(),
            layers: held
                .current
                .as_ref()
                .map(|current| current.inputs.layers.clone())
                .unwrap_or_default(),
        }
    }
}

impl PolicyLayer {
    /// For people: that the file does not load, why, and what answers in its place. `None` where
    /// the file itself does, or where there is none.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        let name = self.layer.name();
        let instead = match self.state {
            LayerState::Absent | LayerState::InForce => return None,
            LayerState::LastGood => "its last good version is in force",
            LayerState::Unreadable => "everything is asked about",
        };
        let why: Vec<String> = self.problems.iter().map(PolicyProblem::sentence).collect();
        let why = match why.is_empty() {
            true => self.file.display().to_string(),
            false => why.join("; "),
        };
        Some(format!("the {name} policy does not load; {instead}: {why}"))
    }

    /// May it loosen?
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.trust == Trust::Trusted
    }
}

impl Host {
    /// The policy of a session, or what holds without a workspace.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `INTERNAL`.
    pub async fn show_policy(&self, session_id: Option<&str>) -> Result<PolicyReport, HostError> {
        let (id, workspace) = match session_id {
            Some(id) => {
                let session = self.session(id).await?;
                // So that what is new is told as it would be by a call.
                self.policy_of(&session).await?;
                (session.session_id, session.roots.workspace)
            }
            None => (NO_SESSION.to_owned(), None),
        };
        let policies = Arc::clone(&self.policies);
        blocking(move || {
            let report = policies.report(&id, workspace.as_deref());
            if id == NO_SESSION {
                policies.forget(NO_SESSION);
            }
            report
        })
        .await
        .map_err(|_| HostError::internal("the policy files could not be read"))
    }

    /// The operator takes the files as they are, for one session or for all: what loosens counts
    /// from now on. What waits for an answer is decided anew.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `INTERNAL` when it cannot be put on record: then nothing is confirmed.
    pub async fn reload_policy(&self, session_id: Option<&str>) -> Result<(), HostError> {
        let sessions = match session_id {
            Some(id) => vec![self.session(id).await?],
            None => self.list_sessions().await?,
        };
        for session in sessions {
            let id = SessionId::new(session.session_id.clone()).map_err(HostError::internal)?;
            let version = self.policy_of(&session).await?.version().to_owned();
            let entry = AuditEntry {
                session: Some(id),
                policy_version: Some(version),
                decided_by: Some("operator".to_owned()),
                detail: Some(json!({ "change": "confirmed" })),
                ..AuditEntry::new(AuditEvent::Policy)
            };
            self.with_store(move |store| store.append_audit(entry, Durability::Machine).map(drop))
                .await?;
            let policies = Arc::clone(&self.policies);
            let (name, workspace) = (session.session_id.clone(), session.roots.workspace.clone());
            let waited = blocking(move || policies.confirm(&name, workspace.as_deref()))
                .await
                .map_err(|_| HostError::internal("the policy files could not be read"))?;
            if waited {
                let policy = self.policy_of(&session).await?;
                self.events.emit(Event::PolicyChanged {
                    session_id: session.session_id.clone(),
                    version: policy.version().to_owned(),
                    waiting: false,
                    problems: Vec::new(),
                });
                self.re_evaluate(Some(&session.session_id)).await;
            }
        }
        Ok(())
    }
}
