//! Which policy is in force for a session: the files of all layers (SPEC §7.2), read again before
//! every decision when they changed, compiled only then.
//!
//! A file that does not load keeps its last good version; a change that loosens waits for the
//! operator; both only ever err towards asking.

mod accept;
mod examples;
mod file;
mod held;
mod in_force;
mod layers;
mod passed_over;
mod remember;
mod session;
mod show;
mod stored;
mod text;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use guardian_rules::{ErrorPlace, Layer, PolicyError, PolicyErrors, Preset, SyntaxError};
use guardian_store::{AuditEntry, AuditEvent, Durability, SessionId, Store};
use serde_json::json;

use crate::blocking::blocking;
use crate::config::Places;
use crate::error::{ErrorCode, HostError};
use crate::events::Event;
use crate::host::{Host, store_error};
use crate::judge::Judge;
use crate::sessions::SessionInfo;
use file::Owner;
use held::{Change, Compiled, Held};
use layers::{Inputs, LayerReader, PolicyPlaces};
use session::{Recalled, session_layer};

pub use accept::{PolicyAcceptance, WaitingChange, WaitingPolicy};
pub use in_force::PolicyInForce;
pub use layers::{LayerState, PolicyLayer, PolicyProblem, hash_of};
pub use passed_over::{passed_over, passed_over_sentence};
pub use remember::{append_rule, write_policy_file};
pub use show::PolicyReport;
pub use text::{format_policy, rule_text};

/// What a look at the files found, where somebody should hear of it.
pub(crate) struct Notice {
    change: Change,
    waiting: bool,
    version: String,
    problems: Vec<PolicyProblem>,
    layers: Vec<PolicyLayer>,
}

/// The policies of all sessions. Everything here blocks on the disk.
pub(crate) struct Policies {
    judge: Arc<Judge>,
    reader: LayerReader,
    default_preset: RwLock<Preset>,
    forced_preset: Option<Preset>,
    sessions: Mutex<HashMap<String, Arc<Mutex<Held>>>>,
    /// Where the versions of sessions are kept.
    store: Option<Store>,
}

impl Policies {
    /// The policies of a host.
    ///
    /// # Errors
    /// `POLICY_INVALID` when the managed file could have been written by somebody else than root.
    pub(crate) fn open(
        places: &Places,
        judge: Arc<Judge>,
        store: Store,
    ) -> Result<Self, HostError> {
        let default_preset = stored_preset(&store)?;
        let policies = Self::new(places, judge, Some(store), true);
        policies.check_managed()?;
        *write(&policies.default_preset) = default_preset;
        Ok(policies)
    }

    fn new(places: &Places, judge: Arc<Judge>, store: Option<Store>, keeps: bool) -> Self {
        let places = PolicyPlaces {
            managed: places.managed_policy.clone(),
            user: places.config_dir.join("policy.toml"),
            home: places.home.clone(),
        };
        Self {
            judge,
            store: store.clone(),
            reader: LayerReader::new(places, store, keeps),
            default_preset: RwLock::new(Preset::Standard),
            forced_preset: None,
            sessions: Mutex::default(),
        }
    }

    /// The policy of one check without a session.
    ///
    /// # Errors
    /// `POLICY_INVALID` when the managed file is not root's, or a file that was named does not load.
    pub(crate) fn for_check(
        places: &Places,
        judge: Arc<Judge>,
        store: Option<Store>,
        workspace: Option<&Path>,
        instead: CheckPolicy,
    ) -> Result<CheckedPolicy, HostError> {
        let default_preset = match &store {
            Some(store) if instead.preset.is_none() => stored_preset(store)?,
            _ => Preset::Standard,
        };
        let mut policies = Self::new(places, judge, store, false);
        policies.check_managed()?;
        if let Some(home) = instead.home {
            policies.reader.places.home = home;
        }
        *write(&policies.default_preset) = default_preset;
        policies.forced_preset = instead.preset;
        if let Some(file) = instead.user_file {
            let file = std::path::absolute(&file).unwrap_or(file);
            policies.check_named(&file, workspace)?;
            policies.reader.places.user = file;
        }
        let inputs = policies.inputs(workspace, None);
        let policy = inputs.compile(workspace, &policies.reader.places.home);
        Ok(CheckedPolicy {
            in_force: PolicyInForce::only(Arc::new(policy)),
            layers: inputs.layers,
        })
    }

    fn check_managed(&self) -> Result<(), HostError> {
        check_managed_owner(&self.reader.places.managed)
    }

    /// A file named on the command line must load: it is what is being tried.
    fn check_named(&self, file: &Path, workspace: Option<&Path>) -> Result<(), HostError> {
        let text = file::read_named(file, Owner::User)
            .map_err(|reason| invalid(format!("`{}`: {reason}", file.display())))?;
        let home = &self.reader.places.home;
        layers::check_text(&self.judge, Layer::User, file, &text, workspace, home)
            .map_err(|errors| invalid(errors.to_string()))
    }

    fn inputs(&self, workspace: Option<&Path>, rules: Option<&Arc<str>>) -> Inputs {
        let mut layers = self.reader.read(&self.judge, workspace);
        layers.extend(rules.map(session_layer));
        Inputs {
            layers,
            default_preset: *self
                .default_preset
                .read()
                .unwrap_or_else(PoisonError::into_inner),
            forced_preset: self.forced_preset,
        }
    }

    fn held(&self, session_id: &str) -> Arc<Mutex<Held>> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(sessions.entry(session_id.to_owned()).or_default())
    }

    /// What holds for the session now, and what is to be told about it.
    fn look(
        &self,
        session_id: &str,
        workspace: Option<&Path>,
    ) -> (Arc<PolicyInForce>, Option<Notice>) {
        let held = self.held(session_id);
        // Held while the files are read: two calls must not see them in different orders.
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        let recalled = self.recall(session_id, workspace, &mut held);
        let inputs = self.inputs(workspace, held.rules.as_ref());
        if recalled == Recalled::Nothing
            && held
                .current
                .as_ref()
                .is_some_and(|current| current.inputs == inputs)
        {
            return (Arc::new(in_force(&held)), None);
        }
        let before: Vec<PolicyProblem> = held
            .current
            .iter()
            .flat_map(|current| current.inputs.problems().cloned())
            .collect();
        let policy = Arc::new(inputs.compile(workspace, &self.reader.places.home));
        let problems: Vec<PolicyProblem> = inputs.problems().cloned().collect();
        let layers = inputs.layers.clone();
        let change = held.take(Compiled { inputs, policy });
        self.keep(session_id, &mut held);
        let in_force = in_force(&held);
        let change = match (recalled, change) {
            (Recalled::AtStart, Change::Same) => Change::Loaded,
            (_, change) => change,
        };
        let is_news =
            change != Change::Same || problems != before || recalled == Recalled::Meanwhile;
        let notice = is_news.then(|| Notice {
            change,
            waiting: held.waits(),
            version: in_force.version().to_owned(),
            problems,
            layers,
        });
        (Arc::new(in_force), notice)
    }

    /// The operator takes the files of a session as they are. True when something had waited.
    fn confirm(&self, session_id: &str, workspace: Option<&Path>) -> bool {
        self.look(session_id, workspace);
        let held = self.held(session_id);
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = held.confirm();
        if waited {
            self.keep(session_id, &mut held);
        }
        waited
    }

    pub(crate) fn forget(&self, session_id: &str) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.remove(session_id);
    }

    /// Another preset where no file names one, by the operator's own setting: it counts at once,
    /// for every version that holds.
    pub(crate) fn set_default_preset(&self, preset: Preset) {
        *write(&self.default_preset) = preset;
        self.amend(|inputs| inputs.default_preset = preset);
    }

    /// Changes what every version that holds is compiled from.
    fn amend(&self, change: impl Fn(&mut Inputs)) {
        let sessions: Vec<(String, Arc<Mutex<Held>>)> = {
            let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            let pairs = sessions.iter();
            pairs
                .map(|(id, held)| (id.clone(), Arc::clone(held)))
                .collect()
        };
        for (session_id, held) in sessions {
            let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
            let Held { current, kept, .. } = &mut *held;
            for compiled in current.iter_mut().chain(kept) {
                change(&mut compiled.inputs);
                let workspace = workspace_of(&compiled.inputs);
                let home = &self.reader.places.home;
                compiled.policy = Arc::new(compiled.inputs.compile(workspace.as_deref(), home));
            }
            self.keep(&session_id, &mut held);
        }
    }
}

/// The workspace that the layers were read for.
fn workspace_of(inputs: &Inputs) -> Option<PathBuf> {
    let layer = inputs
        .layers
        .iter()
        .find(|layer| layer.layer == Layer::Workspace)?;
    layer.file.parent()?.parent().map(Path::to_owned)
}

fn in_force(held: &Held) -> PolicyInForce {
    let current = held.current.as_ref().map_or_else(
        || Arc::new(guardian_rules::Policy::builtin(Preset::Strict)),
        |current| Arc::clone(&current.policy),
    );
    let kept = held.kept.iter().map(|old| Arc::clone(&old.policy));
    PolicyInForce::new(current, kept.collect())
}

fn write<T>(lock: &RwLock<T>) -> std::sync::RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

fn invalid(message: String) -> HostError {
    HostError::new(ErrorCode::PolicyInvalid, message)
}

/// What a check uses in place of the user's files.
#[derive(Debug, Clone, Default)]
pub(crate) struct CheckPolicy {
    pub(crate) user_file: Option<PathBuf>,
    pub(crate) preset: Option<Preset>,
    pub(crate) home: Option<PathBuf>,
}

/// The policy of a check, with the layers that it is made of.
pub(crate) struct CheckedPolicy {
    pub(crate) in_force: PolicyInForce,
    pub(crate) layers: Vec<PolicyLayer>,
}

/// Everything that is wrong with a policy text, as loading it would find: syntax, conditions,
/// and examples that do not hold. Blocking only as far as it computes.
///
/// # Errors
/// What is wrong; never empty.
pub fn check_policy_text(
    layer: Layer,
    file: &Path,
    text: &str,
    workspace: Option<&Path>,
    home: &Path,
) -> Result<(), PolicyErrors> {
    layers::check_text(&Judge::builtin(), layer, file, text, workspace, home)
}

/// The administrator's file is one that nobody else can write, or there is none: otherwise nothing
/// starts (SPEC §7.2).
///
/// # Errors
/// `POLICY_INVALID` with the reason and what to do.
pub fn check_managed_owner(file: &Path) -> Result<(), HostError> {
    file::check_managed(file).map_err(|reason| {
        invalid(format!(
            "the managed policy `{}` cannot be used: {reason}; `chown root` and `chmod go-w` it",
            file.display()
        ))
    })
}

/// Is there a policy file, or something that should be one or stands in its way?
#[must_use]
pub fn is_policy_file_there(layer: Layer, file: &Path) -> bool {
    let watched = file::WatchedFile::new(file.to_owned(), owner_of(layer));
    watched.look() != file::FileState::Missing
}

/// As which a file is read that is only looked at.
fn owner_of(layer: Layer) -> Owner {
    match layer {
        Layer::Workspace => Owner::Repository,
        // A draft of the administrator's need not be root's yet.
        _ => Owner::User,
    }
}

/// Reads a policy file as the host would: bounded, and never blocking on what is no file.
///
/// # Errors
/// `POLICY_INVALID` with the reason.
pub fn read_policy_file(layer: Layer, file: &Path) -> Result<String, HostError> {
    file::read_named(file, owner_of(layer))
        .map(|text| text.to_string())
        .map_err(|reason| invalid(format!("`{}`: {reason}", file.display())))
}

/// The place where a policy file is not UTF-8; `None` when that is not what is wrong with it.
#[must_use]
pub fn not_utf8(file: &Path) -> Option<PolicyErrors> {
    let bytes = file::read_bytes(file)?;
    let start = std::str::from_utf8(&bytes).err()?.valid_up_to();
    let source = String::from_utf8_lossy(&bytes).into_owned();
    Some(PolicyErrors(vec![PolicyError::Syntax(SyntaxError {
        place: ErrorPlace {
            file: file.display().to_string(),
            span: start..start + char::REPLACEMENT_CHARACTER.len_utf8(),
            source: source.into(),
        },
        message: "it is not UTF-8".to_owned(),
    })]))
}

/// The preset that a store's settings ask for.
pub(crate) fn stored_preset(store: &Store) -> Result<Preset, HostError> {
    match store.settings().map_err(store_error)?.preset.as_deref() {
        None => Ok(Preset::Standard),
        Some(name) => crate::settings::preset_named(name)
            .ok_or_else(|| HostError::internal(format!("the preset `{name}` is not known"))),
    }
}

impl Host {
    /// The policy in force for a session, from the files as they are now.
    pub(crate) async fn policy_of(
        &self,
        session: &SessionInfo,
    ) -> Result<Arc<PolicyInForce>, HostError> {
        let policies = Arc::clone(&self.policies);
        let (id, workspace) = (session.session_id.clone(), session.roots.workspace.clone());
        let (policy, notice) = blocking(move || policies.look(&id, workspace.as_deref()))
            .await
            .map_err(|_| HostError::internal("the policy files could not be read"))?;
        if let Some(notice) = notice {
            self.tell_policy(&session.session_id, &notice).await;
        }
        Ok(policy)
    }

    /// Puts a change of the policy on record and tells the clients.
    async fn tell_policy(&self, session_id: &str, notice: &Notice) {
        let layers: Vec<_> = notice
            .layers
            .iter()
            .map(|layer| {
                json!({
                    "layer": layer.layer.name(),
                    "file": layer.file.display().to_string(),
                    "state": layer.state.name(),
                    "hash": layer.hash,
                    "trusted": layer.trust == guardian_rules::Trust::Trusted,
                })
            })
            .collect();
        let problems: Vec<String> = notice
            .problems
            .iter()
            .map(PolicyProblem::sentence)
            .collect();
        let entry = AuditEntry {
            session: SessionId::new(session_id).ok(),
            policy_version: Some(notice.version.clone()),
            ok: Some(problems.is_empty()),
            detail: Some(json!({
                "change": notice.change.name(),
                "waiting": notice.waiting,
                "layers": layers,
                "problems": problems,
            })),
            ..AuditEntry::new(AuditEvent::Policy)
        };
        let written =
            self.with_store(move |store| store.append_audit(entry, Durability::Process).map(drop));
        if let Err(error) = written.await {
            tracing::warn!(%error, "a change of the policy could not be recorded");
        }
        // The first load is news only when something is wrong.
        if notice.change != Change::Loaded || !notice.problems.is_empty() {
            self.events.emit(Event::PolicyChanged {
                session_id: session_id.to_owned(),
                version: notice.version.clone(),
                waiting: notice.waiting,
                problems: notice.problems.clone(),
            });
        }
    }
}
