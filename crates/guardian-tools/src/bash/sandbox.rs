//! Confinement of a command: what is asked for, what the machine can do, what was in force.
//!
//! Confined means (SPEC §10): the workspace, scratch, a private `/tmp` and tool caches can be
//! written, everything else is read-only; secret and sensitive paths look empty; protected files
//! cannot be written, also when they do not exist yet; the network is off unless it is needed.

mod bubblewrap;
mod landlock;
mod lists;
mod macos;
mod placeholder;
mod places;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guardian_supervisor::protocol::Confine;
use serde_json::{Value, json};

use super::{BashContext, BashError, SupervisorProgram};
pub use lists::{SandboxLists, SandboxListsError};
pub use macos::profile as macos_profile;
pub(super) use placeholder::Placeholders;
pub use places::{PlaceClass, WorkspacePlaces, look_at_workspace};

/// The user's setting `sandbox`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxSetting {
    /// Never.
    Off,
    /// Calls that nobody looked at (a proof, a preset, an accepted build command) are confined.
    Auto,
    /// Every call is confined, or it does not run.
    Required,
}

/// What the decision about this call says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// Nobody would have let it run unconfined: without a mechanism it does not run.
    Needed,
    /// It runs because of a proof or a preset.
    Wanted,
    /// A human, a grant or the permission mode allowed it: confined only under `required`.
    OnlyIfRequired,
}

/// May a confined command use the network?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkAccess {
    /// No.
    Off,
    /// The approved facts need it.
    On,
}

/// The confinement that a call is to run under.
#[derive(Debug, Clone)]
pub struct SandboxRequest {
    /// The user's setting.
    pub setting: SandboxSetting,
    /// The decision's wish.
    pub confinement: Confinement,
    /// Network.
    pub network: NetworkAccess,
    /// Directories and files that can be written besides workspace, scratch and `/tmp`. Missing
    /// ones are skipped.
    pub writable: Vec<PathBuf>,
    /// Paths that look empty. Missing ones are skipped.
    pub masked: Vec<PathBuf>,
    /// Paths that the approved facts name: they can be read although they are, or lie beneath,
    /// something masked.
    pub named: Vec<PathBuf>,
    /// Paths beneath the workspace that cannot be written, also when they do not exist.
    pub read_only: Vec<PathBuf>,
    /// What the lists above lack, in words for people. Counts like what the mechanism cannot
    /// express.
    pub gaps: Vec<String>,
    /// What this machine can do.
    pub mechanism: Arc<SandboxMechanism>,
}

impl SandboxRequest {
    /// No confinement.
    #[must_use]
    pub fn off() -> Self {
        Self {
            setting: SandboxSetting::Off,
            confinement: Confinement::OnlyIfRequired,
            network: NetworkAccess::On,
            writable: Vec::new(),
            masked: Vec::new(),
            named: Vec::new(),
            read_only: Vec::new(),
            gaps: Vec::new(),
            mechanism: Arc::new(SandboxMechanism::None {
                reason: "not looked for".to_owned(),
            }),
        }
    }

    fn is_confined(&self) -> bool {
        match (self.setting, self.confinement) {
            (SandboxSetting::Off, _) => false,
            (SandboxSetting::Auto, confinement) => confinement != Confinement::OnlyIfRequired,
            (SandboxSetting::Required, _) => true,
        }
    }
}

/// How this machine can confine a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxMechanism {
    /// bubblewrap, seen to work.
    Bubblewrap {
        /// The executable.
        executable: PathBuf,
    },
    /// Landlock and seccomp, put in force by the supervisor. Holds less, see
    /// [`SandboxMechanism::weaknesses`].
    Landlock {
        /// Version of Landlock that the kernel has.
        kernel: u32,
    },
    /// Not at all.
    None {
        /// Why, for `doctor` and results.
        reason: String,
    },
}

impl SandboxMechanism {
    /// Looks for the best mechanism that works here. Blocking, some 10 ms; the host does it once.
    /// All of them need a supervisor.
    #[must_use]
    pub fn probe(supervisor: Option<&SupervisorProgram>) -> Self {
        let Some(supervisor) = supervisor else {
            let reason = "confinement needs the guardian-supervisor executable".to_owned();
            return Self::None { reason };
        };
        match (bubblewrap::probe(), supervisor.landlock()) {
            (Ok(executable), _) => Self::Bubblewrap { executable },
            (Err(reason), 0) => Self::None {
                reason: format!("{reason}; this kernel has no Landlock"),
            },
            (Err(_), kernel) => Self::Landlock { kernel },
        }
    }

    /// Its name in results.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bubblewrap { .. } => "bubblewrap",
            Self::Landlock { .. } => "landlock",
            Self::None { .. } => "none",
        }
    }

    /// Can it confine at all?
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.unavailable().is_none()
    }

    /// Why it cannot confine; `None` when it can.
    #[must_use]
    pub fn unavailable(&self) -> Option<&str> {
        match self {
            Self::None { reason } => Some(reason),
            Self::Bubblewrap { .. } | Self::Landlock { .. } => None,
        }
    }

    /// Can it hold everything that a confinement promises? Only then may a verdict rely on it.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        matches!(self, Self::Bubblewrap { .. })
    }

    /// What it cannot hold whatever the command is, in words for people.
    #[must_use]
    pub fn weaknesses(&self) -> Vec<String> {
        match self {
            Self::Bubblewrap { .. } | Self::None { .. } => Vec::new(),
            Self::Landlock { kernel } => landlock::weaknesses(*kernel),
        }
    }
}

/// Which confinement was in force for a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxReport {
    /// None: the command ran with the user's rights.
    Off,
    /// It was wanted and there is no mechanism; the command ran with the user's rights.
    Unavailable {
        /// Why.
        reason: String,
    },
    /// The command was confined.
    InForce {
        /// The mechanism's name.
        mechanism: &'static str,
        /// Network.
        network: NetworkAccess,
        /// What of the request the mechanism could not express.
        weaknesses: Vec<String>,
        /// A failure of the command looks like the confinement's doing.
        suspected: bool,
    },
}

impl SandboxReport {
    /// The `sandbox` field of a result.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Off => json!({"mechanism": "none"}),
            Self::Unavailable { reason } => json!({"mechanism": "none", "reason": reason}),
            Self::InForce {
                mechanism,
                network,
                weaknesses,
                ..
            } => {
                let mut value = json!({
                    "mechanism": mechanism,
                    "network": *network == NetworkAccess::On,
                });
                if !weaknesses.is_empty() {
                    value["weaknesses"] = json!(weaknesses);
                }
                value
            }
        }
    }

    /// Does a failure look like the confinement's doing?
    #[must_use]
    pub fn is_suspected(&self) -> bool {
        matches!(
            self,
            Self::InForce {
                suspected: true,
                ..
            }
        )
    }

    /// Looks at how a failed command ended.
    pub(super) fn look_at_failure(&mut self, stderr: &str) {
        const SIGNS: &[&str] = &[
            "Read-only file system",
            "EROFS",
            "Permission denied",
            "EACCES",
            "Operation not permitted",
            "EPERM",
        ];
        const NETWORK_SIGNS: &[&str] = &[
            "Could not resolve host",
            "Temporary failure in name resolution",
            "Network is unreachable",
            "ENETUNREACH",
            "EAI_AGAIN",
            "ENOTFOUND",
            "dns error",
            "Name or service not known",
            "Connection refused",
        ];
        if let Self::InForce {
            network, suspected, ..
        } = self
        {
            *suspected = SIGNS.iter().any(|sign| stderr.contains(sign))
                || (*network == NetworkAccess::Off
                    && NETWORK_SIGNS.iter().any(|sign| stderr.contains(sign)));
        }
    }
}

/// How to start a command confined.
pub(super) struct Plan {
    /// Executable and arguments that go before the shell's.
    pub(super) wrapper: Option<(PathBuf, Vec<OsString>)>,
    /// What the supervisor confines the shell to.
    pub(super) confine: Option<Confine>,
    /// Variables that the confinement sets.
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) report: SandboxReport,
    /// Held until the command is over.
    pub(super) placeholders: Placeholders,
}

/// Decides how the command of this context is confined.
pub(super) fn plan(context: &BashContext) -> Result<Plan, BashError> {
    let request = &context.sandbox;
    let unconfined = |report| Plan {
        wrapper: None,
        confine: None,
        variables: Vec::new(),
        report,
        placeholders: Placeholders::default(),
    };
    if !request.is_confined() {
        if request.confinement == Confinement::Needed {
            return Err(BashError::SandboxUnavailable(
                "the setting `sandbox` is `off`".to_owned(),
            ));
        }
        return Ok(unconfined(SandboxReport::Off));
    }
    let refuse_or_report = |reason: &str| {
        let refused = request.setting == SandboxSetting::Required
            || request.confinement == Confinement::Needed;
        if refused {
            return Err(BashError::SandboxUnavailable(reason.to_owned()));
        }
        Ok(unconfined(SandboxReport::Unavailable {
            reason: reason.to_owned(),
        }))
    };
    if let SandboxMechanism::None { reason } = &*request.mechanism {
        return refuse_or_report(reason);
    }
    // Only the supervisor hands the judged directory over by handle and ends the namespace.
    if context.supervisor.is_none() {
        return refuse_or_report("confinement needs the guardian-supervisor executable");
    }
    // Masks and protections go by path: they must mean the directory that was judged.
    if !leads_to(&context.workspace_path, &context.workspace) {
        return Err(BashError::Stale);
    }
    // Mounted by path: it must be there.
    if std::fs::create_dir_all(&context.scratch).is_err() {
        return refuse_or_report("the scratch directory cannot be created");
    }
    let in_force = |weaknesses: Vec<String>| {
        if request.setting == SandboxSetting::Required && !weaknesses.is_empty() {
            return Err(BashError::SandboxUnavailable(weaknesses.join("; ")));
        }
        Ok(SandboxReport::InForce {
            mechanism: request.mechanism.name(),
            network: request.network,
            weaknesses,
            suspected: false,
        })
    };
    match &*request.mechanism {
        SandboxMechanism::None { reason } => refuse_or_report(reason),
        SandboxMechanism::Bubblewrap { executable } => {
            let mut placeholders = Placeholders::default();
            let layout = bubblewrap::Layout::new(context, &mut placeholders);
            Ok(Plan {
                wrapper: Some((executable.clone(), layout.arguments)),
                report: in_force(layout.weaknesses)?,
                placeholders,
                ..unconfined(SandboxReport::Off)
            })
        }
        SandboxMechanism::Landlock { kernel } => {
            let layout = match landlock::Layout::new(context, *kernel) {
                Ok(layout) => layout,
                Err(reason) => return refuse_or_report(&reason),
            };
            Ok(Plan {
                confine: Some(layout.confine),
                variables: layout.variables,
                report: in_force(layout.weaknesses)?,
                ..unconfined(SandboxReport::Off)
            })
        }
    }
}

/// Does the path lead to the directory behind the handle?
fn leads_to(path: &Path, handle: &std::os::fd::OwnedFd) -> bool {
    match (rustix::fs::lstat(path), rustix::fs::fstat(handle)) {
        (Ok(now), Ok(judged)) => (now.st_dev, now.st_ino) == (judged.st_dev, judged.st_ino),
        _ => false,
    }
}

/// Is `path` strictly beneath `directory`?
fn is_beneath(path: &Path, directory: &Path) -> bool {
    path != directory && path.starts_with(directory)
}
