//! Which commands run confined, and what their confinement leaves them (SPEC §10).
//!
//! A verdict never depends on the moment: what the machine can do is found out once, before the
//! first command is judged, and stays so for the life of the host.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use guardian_facts::command::Effect;
use guardian_facts::{Access, FactContext, Facts};
use guardian_rules::{Decision, SandboxState, Verdict};
use guardian_store::{SandboxSetting as StoredSetting, Store};
use guardian_tools::bash::SupervisorProgram;
use guardian_tools::bash::sandbox::{
    Confinement, NetworkAccess, PlaceClass, SandboxLists, SandboxMechanism, SandboxRequest,
    SandboxSetting, look_at_workspace,
};

use crate::blocking::blocking;
use crate::config::CommandsConfig;
use crate::error::HostError;
use crate::gate::Passage;
use crate::host::{Host, store_error};
use crate::policies::PolicyInForce;

/// Entries of the workspace that are looked at for secret files before a confined command.
const LOOKED_AT: usize = 20_000;
/// The same where the user's setting refuses a confinement with gaps.
const LOOKED_AT_IF_REQUIRED: usize = 1_000_000;
/// Of a repository beneath the workspace: what makes code run later.
const OF_A_REPOSITORY: &[&str] = &[".git/config", ".git/hooks", ".git/info/attributes"];

/// What this process knows of confinement.
pub(crate) struct Confinements {
    lists: SandboxLists,
    mechanism: OnceLock<Arc<SandboxMechanism>>,
}

impl Confinements {
    pub(crate) fn new() -> Result<Self, HostError> {
        Ok(Self {
            lists: SandboxLists::builtin().map_err(HostError::internal)?,
            mechanism: OnceLock::new(),
        })
    }

    /// What this machine can do. Blocking, some 10 ms the first time.
    pub(crate) fn mechanism(
        &self,
        supervisor: Option<&SupervisorProgram>,
    ) -> Arc<SandboxMechanism> {
        let probed = self
            .mechanism
            .get_or_init(|| Arc::new(SandboxMechanism::probe(supervisor)));
        Arc::clone(probed)
    }
}

/// The setting in force; one that cannot be read is the strictest.
pub(crate) fn setting_of(stored: Option<StoredSetting>) -> SandboxSetting {
    match stored {
        None | Some(StoredSetting::Auto) => SandboxSetting::Auto,
        Some(StoredSetting::Off) => SandboxSetting::Off,
        Some(StoredSetting::Required) => SandboxSetting::Required,
    }
}

/// May a verdict rely on the confinement? Only where it can express all of it.
pub(crate) fn state(setting: SandboxSetting, mechanism: &SandboxMechanism) -> SandboxState {
    if setting != SandboxSetting::Off && mechanism.is_complete() {
        SandboxState::Available
    } else {
        SandboxState::Unavailable
    }
}

/// What the verdict with which a call runs says about its confinement.
pub(crate) fn confinement_of(verdict: &Verdict, approval: Option<ApprovalKind>) -> Confinement {
    let relies = verdict.decision == Decision::Allow && verdict.relies_on_sandbox;
    let proven = verdict.decision == Decision::Allow && verdict.proven_only;
    match approval {
        // A person said yes to this very call.
        Some(ApprovalKind::ThisCall) => Confinement::OnlyIfRequired,
        // What was remembered says "in the sandbox", or a rule by now allows what was waiting.
        Some(ApprovalKind::ByRule) | None if relies => Confinement::Needed,
        Some(ApprovalKind::ByRule) | None if proven => Confinement::Wanted,
        Some(ApprovalKind::ByRule) | None => Confinement::OnlyIfRequired,
    }
}

/// What an approval was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApprovalKind {
    /// This call, or all calls of its tool in the session.
    ThisCall,
    /// A rule that was written down, or that came into force while the card waited.
    ByRule,
}

impl Host {
    /// Is a confinement there that the verdict about a command may rely on?
    pub(crate) async fn sandbox_state(&self) -> SandboxState {
        let setting = self.sandbox_setting().await;
        if setting == SandboxSetting::Off {
            return SandboxState::Unavailable;
        }
        let (confinements, supervisor) = (Arc::clone(&self.confinements), self.supervisor.clone());
        blocking(move || state(setting, &confinements.mechanism(supervisor.as_deref())))
            .await
            .unwrap_or(SandboxState::Unavailable)
    }

    /// The setting `sandbox` as it is now.
    pub(crate) async fn sandbox_setting(&self) -> SandboxSetting {
        match self.with_store(|store| store.settings()).await {
            Ok(settings) => setting_of(settings.sandbox),
            Err(error) => {
                tracing::warn!(%error, "the setting `sandbox` could not be read and counts as required");
                SandboxSetting::Required
            }
        }
    }

    /// The confinement of a command that may run.
    pub(crate) async fn sandbox_request(
        self: &Arc<Self>,
        passage: &Passage,
        facts: &Arc<Facts>,
    ) -> Result<SandboxRequest, HostError> {
        let setting = self.sandbox_setting().await;
        let confinement = passage.confinement;
        let confined = setting == SandboxSetting::Required
            || (setting == SandboxSetting::Auto && confinement != Confinement::OnlyIfRequired);
        if !confined {
            return Ok(SandboxRequest {
                setting,
                confinement,
                ..SandboxRequest::off()
            });
        }
        let (host, facts) = (Arc::clone(self), Arc::clone(facts));
        let roots = passage.session.roots.clone();
        let policy = self.policy_of(&passage.session).await?;
        blocking(move || {
            let mut request = SandboxRequest {
                setting,
                confinement,
                network: network_of(&facts),
                named: named(&facts),
                writable: host.confinements.lists.caches(&roots.home),
                masked: host.confinements.lists.masked(&roots.home),
                mechanism: host.confinements.mechanism(host.supervisor.as_deref()),
                ..SandboxRequest::off()
            };
            request.masked.push(roots.guardian_data.clone());
            request.masked.extend(roots.guardian_config.iter().cloned());
            if let Some(workspace) = &roots.workspace {
                let context = host.judge.context(&roots, &host.probe);
                let lists = &host.confinements.lists;
                let of = Workspace {
                    path: workspace,
                    context: &context,
                    policy: &policy,
                };
                add_workspace(&mut request, of, &changed(&facts), lists);
            }
            request
        })
        .await
        .map_err(|_| HostError::internal("the confinement could not be prepared"))
    }
}

/// The workspace, and what says which of its files are which.
#[derive(Clone, Copy)]
struct Workspace<'a> {
    path: &'a Path,
    context: &'a FactContext<'a>,
    policy: &'a PolicyInForce,
}

/// Secret files of the workspace are masked, protected ones read-only; not those that the facts
/// say will be changed, which somebody was asked about.
fn add_workspace(
    request: &mut SandboxRequest,
    of: Workspace<'_>,
    changed: &[PathBuf],
    lists: &SandboxLists,
) {
    let Workspace {
        path: workspace,
        context,
        policy,
    } = of;
    let most = match request.setting {
        SandboxSetting::Required => LOOKED_AT_IF_REQUIRED,
        SandboxSetting::Off | SandboxSetting::Auto => LOOKED_AT,
    };
    let home = &context.roots.home;
    let others = context.other_names(workspace);
    let places = look_at_workspace(workspace, most, |path| {
        if policy.denies_read(path) {
            return PlaceClass::Secret;
        }
        let by_name = context.classes.classify(path, home);
        if by_name.is_ordinary() && others.of(path).next().is_none() {
            return PlaceClass::Ordinary;
        }
        // The name may be worse than the content (`cert.pem`).
        let class = match path.to_str() {
            Some(path) => context.place(path, workspace).sensitivity,
            None => by_name,
        };
        if class.secret || class.sensitive || class.guardian {
            PlaceClass::Secret
        } else if class.protected {
            PlaceClass::Protected
        } else {
            PlaceClass::Ordinary
        }
    });
    request.masked.extend(places.secret);
    request.gaps.extend(places.gap);
    let mut read_only = lists.protected(workspace);
    read_only.extend(places.protected);
    for repository in places.repositories.iter().filter(|one| *one != workspace) {
        read_only.extend(OF_A_REPOSITORY.iter().map(|path| repository.join(path)));
    }
    read_only.retain(|path| !changed.iter().any(|changed| changed.starts_with(path)));
    request.read_only = read_only;
}

/// The facts say that the network is needed.
fn network_of(facts: &Facts) -> NetworkAccess {
    let needs = |effect: &Effect| {
        matches!(
            effect,
            Effect::Network
                | Effect::RemoteHost
                | Effect::Publishes
                | Effect::Installs
                | Effect::RunsRemoteCode
        )
    };
    let needed = !facts.endpoints.is_empty()
        || facts
            .commands
            .iter()
            .any(|command| command.effects.iter().any(needs));
    if needed {
        NetworkAccess::On
    } else {
        NetworkAccess::Off
    }
}

/// Every path that the facts name exactly.
fn named(facts: &Facts) -> Vec<PathBuf> {
    exact_paths(facts, |_| true)
}

/// Every path that the facts name exactly as one that is changed.
fn changed(facts: &Facts) -> Vec<PathBuf> {
    exact_paths(facts, Access::is_change)
}

fn exact_paths(facts: &Facts, wanted: impl Fn(&Access) -> bool) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = facts
        .accesses
        .iter()
        .filter(|access| wanted(access))
        .filter_map(|access| access.exact().map(|path| path.path.clone()))
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

/// What `guardian doctor` says about running commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandSupport {
    /// The supervisor's hash, or why there is none.
    pub supervisor: Result<String, String>,
    /// The confinement's mechanism, or why there is none.
    pub sandbox: Result<&'static str, String>,
    /// What the mechanism cannot hold.
    pub weaknesses: Vec<String>,
    /// The name of the setting in force: `off`, `auto` or `required`.
    pub setting: &'static str,
}

impl CommandSupport {
    /// Looks at this machine, with the stored setting. Blocking, some 20 ms.
    #[must_use]
    pub fn look(config: &CommandsConfig, stored: Option<StoredSetting>) -> Self {
        let supervisor = config.find_supervisor();
        let mechanism = SandboxMechanism::probe(supervisor.as_ref().ok());
        let sandbox = match mechanism.unavailable() {
            None => Ok(mechanism.name()),
            Some(reason) => Err(reason.to_owned()),
        };
        Self {
            supervisor: supervisor
                .map(|program| program.hash().to_owned())
                .map_err(|error| error.to_string()),
            sandbox,
            weaknesses: mechanism.weaknesses(),
            setting: match setting_of(stored) {
                SandboxSetting::Off => "off",
                SandboxSetting::Auto => "auto",
                SandboxSetting::Required => "required",
            },
        }
    }
}

/// For a check without a host: the stored setting, and this machine once it was asked.
pub(crate) struct SandboxHere {
    config: CommandsConfig,
    setting: SandboxSetting,
    state: OnceLock<SandboxState>,
}

impl SandboxHere {
    /// With the setting of this store, where there is one.
    pub(crate) fn new(config: &CommandsConfig, store: Option<&Store>) -> Result<Self, HostError> {
        let stored = match store {
            Some(store) => store.settings().map_err(store_error)?.sandbox,
            None => None,
        };
        Ok(Self {
            config: config.clone(),
            setting: setting_of(stored),
            state: OnceLock::new(),
        })
    }

    /// May a verdict rely on a confinement? Blocking, some 20 ms the first time.
    pub(crate) fn state(&self) -> SandboxState {
        *self.state.get_or_init(|| {
            if self.setting == SandboxSetting::Off {
                return SandboxState::Unavailable;
            }
            let supervisor = self.config.find_supervisor().ok();
            state(self.setting, &SandboxMechanism::probe(supervisor.as_ref()))
        })
    }
}
