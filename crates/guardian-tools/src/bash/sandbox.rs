//! Confinement of a command: what is asked for, what the machine can do, what was in force.
//!
//! Confined means (SPEC §10): the workspace, scratch, a private `/tmp` and tool caches can be
//! written, everything else is read-only; secret and sensitive paths look empty; protected files
//! cannot be written, also when they do not exist yet; the network is off unless it is needed.

mod bubblewrap;
mod lists;
mod placeholder;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::{BashContext, BashError};
pub use lists::{SandboxLists, SandboxListsError};
pub(super) use placeholder::Placeholders;

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
    /// It runs because of a proof, a preset or an accepted command.
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
    /// Paths that look empty. Missing ones are skipped. The host leaves out what the approved
    /// facts name.
    pub masked: Vec<PathBuf>,
    /// Paths beneath the workspace that cannot be written, also when they do not exist.
    pub read_only: Vec<PathBuf>,
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
            read_only: Vec::new(),
            mechanism: Arc::new(SandboxMechanism::None {
                reason: "not looked for".to_owned(),
            }),
        }
    }

    fn is_confined(&self) -> bool {
        match (self.setting, self.confinement) {
            (SandboxSetting::Off, _) => false,
            (SandboxSetting::Auto, confinement) => confinement == Confinement::Wanted,
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
    /// Not at all.
    None {
        /// Why, for `doctor` and results.
        reason: String,
    },
}

impl SandboxMechanism {
    /// Looks for a mechanism and tries it. Blocking, some 10 ms; the host does it once.
    #[must_use]
    pub fn probe() -> Self {
        match bubblewrap::probe() {
            Ok(executable) => Self::Bubblewrap { executable },
            Err(reason) => Self::None { reason },
        }
    }

    /// Its name in results.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bubblewrap { .. } => "bubblewrap",
            Self::None { .. } => "none",
        }
    }

    /// Can it confine at all?
    #[must_use]
    pub fn is_available(&self) -> bool {
        !matches!(self, Self::None { .. })
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
    pub(super) report: SandboxReport,
    /// Held until the command is over.
    pub(super) placeholders: Placeholders,
}

/// Decides how the command of this context is confined.
pub(super) fn plan(context: &BashContext) -> Result<Plan, BashError> {
    let request = &context.sandbox;
    let unconfined = |report| Plan {
        wrapper: None,
        report,
        placeholders: Placeholders::default(),
    };
    if !request.is_confined() {
        return Ok(unconfined(SandboxReport::Off));
    }
    let refuse_or_report = |reason: &str| match request.setting {
        SandboxSetting::Required => Err(BashError::SandboxUnavailable(reason.to_owned())),
        SandboxSetting::Off | SandboxSetting::Auto => Ok(unconfined(SandboxReport::Unavailable {
            reason: reason.to_owned(),
        })),
    };
    let executable = match &*request.mechanism {
        SandboxMechanism::Bubblewrap { executable } => executable,
        SandboxMechanism::None { reason } => return refuse_or_report(reason),
    };
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
    let mut placeholders = Placeholders::default();
    let layout = bubblewrap::Layout::new(context, &mut placeholders);
    if !layout.weaknesses.is_empty() && request.setting == SandboxSetting::Required {
        return Err(BashError::SandboxUnavailable(layout.weaknesses.join("; ")));
    }
    Ok(Plan {
        wrapper: Some((executable.clone(), layout.arguments)),
        report: SandboxReport::InForce {
            mechanism: request.mechanism.name(),
            network: request.network,
            weaknesses: layout.weaknesses,
            suspected: false,
        },
        placeholders,
    })
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
