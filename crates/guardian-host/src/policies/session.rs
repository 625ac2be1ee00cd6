//! What the store keeps of a session's policy: recalled before the first decision, and whenever
//! another process has confirmed a change.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use guardian_rules::{Layer, Preset, Trust};
use guardian_store::{AuditEntry, AuditEvent, Durability, SessionId, Store, StoreError};
use serde_json::json;

use super::held::{Compiled, Held};
use super::layers::{self, Inputs};
use super::{LayerState, Policies, PolicyLayer, hash_of, stored};
use crate::blocking::blocking;
use crate::error::{ErrorCode, HostError};
use crate::events::Event;
use crate::host::Host;

/// What stands in place of a file for the rules of a session.
pub(super) const SESSION_RULES: &str = "session rules";

/// Did what holds come from the store just now?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recalled {
    Nothing,
    /// What an earlier process kept.
    AtStart,
    /// What another process changed.
    Meanwhile,
}

impl Policies {
    /// Brings what is held up to what the store has, where that is newer.
    pub(super) fn recall(
        &self,
        session_id: &str,
        workspace: Option<&Path>,
        held: &mut Held,
    ) -> Recalled {
        let Some((store, id)) = self.kept_for(session_id) else {
            return Recalled::Nothing;
        };
        let first = !held.recalled;
        match store.session_policy_revision(&id) {
            Ok(revision) if !first && revision == held.revision => return Recalled::Nothing,
            // The session is being deleted: what is held in memory stays as it is.
            Ok(None) if !first => return Recalled::Nothing,
            Ok(_) => {}
            Err(error) => {
                self.recall_failed(workspace, held, &error.to_string());
                return Recalled::Nothing;
            }
        }
        let row = match store.session_policy(&id) {
            Ok(row) => row,
            Err(error) => {
                self.recall_failed(workspace, held, &error.to_string());
                return Recalled::Nothing;
            }
        };
        let Some(row) = row else {
            held.recalled = true;
            held.kept.clear();
            return Recalled::Nothing;
        };
        held.revision = Some(row.revision);
        held.rules = row.rules.map(Arc::from);
        let (mut current, kept) = match stored::from_text(&row.versions) {
            Ok(versions) => versions,
            Err(reason) => {
                self.recall_failed(workspace, held, &reason);
                held.recalled = true;
                return Recalled::Nothing;
            }
        };
        if first {
            self.as_of_this_start(&mut current, workspace);
        }
        let home = &self.reader.places.home;
        let compiled = |inputs: Inputs| Compiled {
            policy: Arc::new(inputs.compile(workspace, home)),
            inputs,
        };
        held.current = Some(compiled(current));
        held.kept = kept.into_iter().map(compiled).collect();
        held.recalled = true;
        if first {
            Recalled::AtStart
        } else {
            Recalled::Meanwhile
        }
    }

    /// The user's own files count as they are when a host starts: nobody but the user changed them
    /// while none ran. The workspace's file is the repository's, and the session saw it.
    fn as_of_this_start(&self, current: &mut Inputs, workspace: Option<&Path>) {
        let now = self.inputs(workspace, None);
        current.default_preset = now.default_preset;
        let of_the_session =
            |layer: &PolicyLayer| matches!(layer.layer, Layer::Workspace | Layer::Session);
        let kept = current.layers.drain(..).filter(of_the_session);
        let own = now
            .layers
            .into_iter()
            .filter(|layer| !of_the_session(layer));
        current.layers = own.chain(kept.collect::<Vec<_>>()).collect();
    }

    /// It is not known which denials hold: everything is asked about until the operator confirms.
    fn recall_failed(&self, workspace: Option<&Path>, held: &mut Held, reason: &str) {
        tracing::error!(
            reason,
            "what was kept of a session's policy cannot be read: everything is asked about"
        );
        if held.recalled || !held.kept.is_empty() {
            return;
        }
        let inputs = Inputs {
            layers: vec![PolicyLayer {
                layer: Layer::Workspace,
                file: workspace
                    .map_or_else(Default::default, |root| root.join(layers::WORKSPACE_FILE)),
                state: LayerState::Unreadable,
                text: None,
                hash: None,
                trust: Trust::Untrusted,
                problems: Vec::new(),
            }],
            default_preset: Preset::Strict,
            forced_preset: None,
        };
        let policy = inputs.compile(workspace, &self.reader.places.home);
        held.kept.push(Compiled {
            policy: Arc::new(policy),
            inputs,
        });
    }

    /// Puts what is held into the store.
    pub(super) fn keep(&self, session_id: &str, held: &mut Held) {
        if let Err(error) = self.try_keep(session_id, held) {
            tracing::error!(%error, "the policy versions of a session could not be kept");
        }
    }

    /// True when it is kept; false when another process was first, whose versions are recalled at
    /// the next look.
    fn try_keep(&self, session_id: &str, held: &mut Held) -> Result<bool, StoreError> {
        let (Some((store, id)), Some(current)) = (self.kept_for(session_id), &held.current) else {
            return Ok(true);
        };
        let kept = held.kept.iter().map(|compiled| &compiled.inputs);
        let text = match stored::to_text(&current.inputs, kept) {
            Ok(text) => text,
            Err(error) => {
                tracing::error!(%error, "the policy versions of a session have no text");
                return Ok(false);
            }
        };
        let rules = held.rules.as_deref().map(str::to_owned);
        let revision = store.keep_session_policy(&id, held.revision, text, rules)?;
        if revision.is_some() {
            held.revision = revision;
        }
        Ok(revision.is_some())
    }

    /// Puts what the operator confirmed elsewhere into the store.
    pub(super) fn keep_confirmed(
        &self,
        session_id: &str,
        held: &mut Held,
    ) -> Result<(), HostError> {
        match self.try_keep(session_id, held) {
            Ok(true) => Ok(()),
            Ok(false) => {
                let message = "the policy changed again meanwhile; look at it once more";
                Err(HostError::new(ErrorCode::Conflict, message))
            }
            Err(error) => Err(crate::host::store_error(error)),
        }
    }

    fn kept_for(&self, session_id: &str) -> Option<(&Store, SessionId)> {
        let store = self.store.as_ref()?;
        Some((store, SessionId::new(session_id).ok()?))
    }

    /// Replaces the rules of a session. The operator gave them, so nothing waits.
    fn set_rules(
        &self,
        session_id: &str,
        workspace: Option<&Path>,
        rules: Option<Arc<str>>,
    ) -> Result<(), HostError> {
        let home = &self.reader.places.home;
        if let Some(text) = &rules {
            let name = Path::new(SESSION_RULES);
            layers::check_text(&self.judge, Layer::Session, name, text, workspace, home)
                .map_err(|errors| super::invalid(errors.to_string()))?;
        }
        self.look(session_id, workspace);
        let held = self.held(session_id);
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        let layer = rules.as_ref().map(session_layer);
        held.rules = rules;
        let Held { current, kept, .. } = &mut *held;
        for compiled in current.iter_mut().chain(kept) {
            let layers = &mut compiled.inputs.layers;
            layers.retain(|layer| layer.layer != Layer::Session);
            layers.extend(layer.clone());
            compiled.policy = Arc::new(compiled.inputs.compile(workspace, home));
        }
        match self.try_keep(session_id, &mut held) {
            Ok(true) => Ok(()),
            Ok(false) => {
                held.recalled = false;
                let message = "the session's policy was changed at the same time; try again";
                Err(HostError::new(ErrorCode::Conflict, message))
            }
            Err(error) => {
                held.recalled = false;
                Err(crate::host::store_error(error))
            }
        }
    }
}

/// The rules of a session as a layer.
pub(super) fn session_layer(rules: &Arc<str>) -> PolicyLayer {
    PolicyLayer {
        layer: Layer::Session,
        file: SESSION_RULES.into(),
        state: LayerState::InForce,
        hash: Some(hash_of(rules)),
        text: Some(Arc::clone(rules)),
        trust: Trust::Trusted,
        problems: Vec::new(),
    }
}

impl Host {
    /// Replaces the operator's rules of a session, in the form of a policy file; `None` removes
    /// them. They count at once, for calls that wait too, and last as long as the session.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`; `POLICY_INVALID` with all that is wrong with them; `CONFLICT`;
    /// `INTERNAL` when they cannot be kept or put on record.
    pub async fn set_session_rules(
        &self,
        session_id: &str,
        rules: Option<String>,
    ) -> Result<(), HostError> {
        let session = self.session(session_id).await?;
        let id = SessionId::new(session_id).map_err(HostError::internal)?;
        let entry = AuditEntry {
            session: Some(id),
            decided_by: Some("operator".to_owned()),
            detail: Some(json!({
                "change": "session-rules",
                "rules": rules,
                "hash": rules.as_deref().map(hash_of),
            })),
            ..AuditEntry::new(AuditEvent::Policy)
        };
        self.with_store(move |store| store.append_audit(entry, Durability::Machine).map(drop))
            .await?;
        let policies = Arc::clone(&self.policies);
        let (name, workspace) = (session_id.to_owned(), session.roots.workspace.clone());
        blocking(move || policies.set_rules(&name, workspace.as_deref(), rules.map(Arc::from)))
            .await
            .map_err(|_| HostError::internal("the rules could not be taken"))??;
        let policy = self.policy_of(&session).await?;
        self.events.emit(Event::PolicyChanged {
            session_id: session_id.to_owned(),
            version: policy.version().to_owned(),
            waiting: policy.kept().next().is_some(),
            problems: Vec::new(),
        });
        self.re_evaluate(Some(session_id)).await;
        Ok(())
    }
}
