//! Confirming from outside of a running host what waits there: `guardian policy accept`.

use std::path::PathBuf;
use std::sync::Arc;

use guardian_rules::{Layer, Trust};
use guardian_store::{
    AuditEntry, AuditEvent, Conflict, Durability, SessionId, Store, StoreError, StoreOptions,
};
use serde_json::json;

use super::held::{Compiled, Held};
use super::layers::Inputs;
use super::session::Recalled;
use super::{Policies, stored_preset, write};
use crate::config::HostConfig;
use crate::error::HostError;
use crate::host::store_error;
use crate::judge::Judge;

/// A change of a policy file that waits in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingChange {
    /// `managed`, `user`, `workspace` or `session`.
    pub layer: &'static str,
    /// The file.
    pub file: PathBuf,
    /// Its text as it holds; `None` when there was no file.
    pub before: Option<Arc<str>>,
    /// Its text as it is; `None` when there is no file.
    pub now: Option<Arc<str>>,
    /// What changed besides the text, for people.
    pub notes: Vec<String>,
}

/// A session in which a loosening change waits for its operator.
pub struct WaitingPolicy {
    /// The session.
    pub session_id: String,
    /// Its project.
    pub workspace: Option<PathBuf>,
    /// What differs, by file.
    pub changes: Vec<WaitingChange>,
    held: Held,
}

/// The sessions of a store whose policy waits for the operator.
pub struct PolicyAcceptance {
    policies: Policies,
    store: Store,
}

impl PolicyAcceptance {
    /// Opens the store of a configuration.
    ///
    /// # Errors
    /// When the store or the managed policy cannot be used.
    pub fn open(config: &HostConfig) -> Result<Self, HostError> {
        let places = &config.places;
        let store = Store::open(StoreOptions::new(&places.data_dir)).map_err(store_error)?;
        let judge = Arc::new(Judge::of_user(&config.user)?);
        let policies = Policies::new(places, judge, Some(store.clone()), true);
        policies.check_managed()?;
        *write(&policies.default_preset) = stored_preset(&store)?;
        Ok(Self { policies, store })
    }

    /// What waits, by session. A session that no process serves waits only for what already waited
    /// when it was served last: the user's files count as they are when a host starts.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn waiting(&self) -> Result<Vec<WaitingPolicy>, HostError> {
        let mut found = Vec::new();
        for session in self.store.sessions().map_err(store_error)? {
            let id = session.id.clone();
            let is_kept = self
                .store
                .session_policy_revision(&id)
                .map_err(store_error)?
                .is_some();
            if !is_kept {
                continue;
            }
            let workspace = session.project_path.as_ref().map(|path| {
                crate::check::canonical_directory(path).unwrap_or_else(|_| path.clone())
            });
            let mut held = Held {
                // As it is held where it is served.
                recalled: self.is_served(&id),
                ..Held::default()
            };
            let recalled = self
                .policies
                .recall(id.as_str(), workspace.as_deref(), &mut held);
            if recalled == Recalled::Nothing {
                continue;
            }
            let inputs = self
                .policies
                .inputs(workspace.as_deref(), held.rules.as_ref());
            let policy = inputs.compile(workspace.as_deref(), &self.policies.reader.places.home);
            held.take(Compiled {
                inputs,
                policy: Arc::new(policy),
            });
            if let Some(changes) = waiting_changes(&held) {
                found.push(WaitingPolicy {
                    session_id: id.to_string(),
                    workspace,
                    changes,
                    held,
                });
            }
        }
        Ok(found)
    }

    fn is_served(&self, session: &SessionId) -> bool {
        let lease = self.store.lease(session);
        matches!(lease, Err(StoreError::Conflict(Conflict::Leased { .. })))
    }

    /// Takes what was shown, and nothing newer: the host that serves the session uses it from its
    /// next decision on.
    ///
    /// # Errors
    /// `CONFLICT` when it changed meanwhile; `INTERNAL` when it cannot be kept or put on record.
    pub fn accept(&self, waiting: &WaitingPolicy) -> Result<(), HostError> {
        let id = SessionId::new(waiting.session_id.clone()).map_err(HostError::internal)?;
        let changes: Vec<_> = waiting
            .changes
            .iter()
            .map(|change| {
                json!({
                    "layer": change.layer,
                    "file": change.file.display().to_string(),
                    "hash": change.now.as_deref().map(super::hash_of),
                })
            })
            .collect();
        let entry = AuditEntry {
            session: Some(id),
            decided_by: Some("operator".to_owned()),
            detail: Some(json!({ "change": "confirmed", "files": changes })),
            ..AuditEntry::new(AuditEvent::Policy)
        };
        self.store
            .append_audit(entry, Durability::Machine)
            .map_err(store_error)?;
        let mut held = Held {
            current: waiting.held.current.clone(),
            rules: waiting.held.rules.clone(),
            revision: waiting.held.revision,
            recalled: true,
            ..Held::default()
        };
        self.policies.keep_confirmed(&waiting.session_id, &mut held)
    }
}

/// What differs between what holds and what is; `None` when nothing waits.
fn waiting_changes(held: &Held) -> Option<Vec<WaitingChange>> {
    let now = &held.current.as_ref()?.inputs;
    if !held.waits() {
        return None;
    }
    let mut changes: Vec<WaitingChange> = Vec::new();
    for old in &held.kept {
        for change in differences(&old.inputs, now) {
            if !changes.contains(&change) {
                changes.push(change);
            }
        }
    }
    Some(changes)
}

fn differences(old: &Inputs, now: &Inputs) -> Vec<WaitingChange> {
    let mut changes = Vec::new();
    for layer in [
        Layer::Managed,
        Layer::User,
        Layer::Workspace,
        Layer::Session,
    ] {
        let of = |inputs: &Inputs| inputs.layers.iter().find(|one| one.layer == layer).cloned();
        let (before, after) = (of(old), of(now));
        let mut notes = Vec::new();
        let trusted = |layer: &Option<super::PolicyLayer>| {
            layer
                .as_ref()
                .is_some_and(|one| one.trust == Trust::Trusted)
        };
        if layer == Layer::Workspace && !trusted(&before) && trusted(&after) {
            notes.push("its rules may allow calls now: its bytes are trusted".to_owned());
        }
        let state = |layer: &Option<super::PolicyLayer>| layer.as_ref().map(|one| one.state);
        if state(&before) == Some(super::LayerState::Unreadable) && state(&after) != state(&before)
        {
            notes.push("it could not be read before, and everything was asked about".to_owned());
        }
        let text =
            |layer: &Option<super::PolicyLayer>| layer.as_ref().and_then(|one| one.text.clone());
        let change = WaitingChange {
            layer: layer.name(),
            file: after
                .as_ref()
                .or(before.as_ref())
                .map(|one| one.file.clone())
                .unwrap_or_default(),
            before: text(&before),
            now: text(&after),
            notes,
        };
        if change.before != change.now || !change.notes.is_empty() {
            changes.push(change);
        }
    }
    if old.default_preset != now.default_preset {
        changes.push(WaitingChange {
            layer: Layer::User.name(),
            file: PathBuf::from("settings"),
            before: None,
            now: None,
            notes: vec![format!(
                "the preset `{}` instead of `{}`",
                now.default_preset.name(),
                old.default_preset.name()
            )],
        });
    }
    changes
}
