//! What the host is started with: places, and the user's `config.toml`. This file only puts
//! together; each crate owns and checks its own section.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use guardian_facts::PathClasses;
use guardian_facts::catalogue::{Catalogue, CatalogueError};
use guardian_facts::classes::ClassError;
use guardian_facts::defaults::FactsExtension;
use guardian_review::ReviewConfig;
use guardian_store::{Clock, DEFAULT_REVIEW_QUOTA_BYTES, SystemClock};
use guardian_tools::bash::environment::Variables;
use guardian_tools::bash::{BashLimits, SupervisorError, SupervisorProgram};
use serde::Deserialize;

use crate::admission::AdmissionLimits;
use crate::audit_head::AuditConfig;
use crate::error::{ErrorCode, HostError};

/// Where things are. Read from the environment by the command line, never by the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// guardian's data: store, scratch, review snapshots.
    pub data_dir: PathBuf,
    /// The user's configuration directory (`config.toml`, `policy.toml`).
    pub config_dir: PathBuf,
    /// The managed policy file, `/etc/guardian/policy.toml`.
    pub managed_policy: PathBuf,
    /// The user's home directory.
    pub home: PathBuf,
    /// guardian's executables.
    pub executables: Vec<PathBuf>,
}

/// The user's `config.toml`. Unknown keys are errors.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct UserConfig {
    /// Who answers asks.
    pub review: ReviewConfig,
    /// How long the record is kept, and where its head is published.
    pub audit: AuditConfig,
    /// How commands are owned and bounded.
    pub commands: CommandsConfig,
    /// Which of the user's variables commands get.
    pub env: EnvironmentConfig,
    /// More secret, sensitive and protected files, and exceptions (SPEC §3).
    pub facts: FactsExtension,
    /// Entries for programs that guardian does not know (SPEC §6.1), from `commands/*.toml` beside
    /// the file: name and text, sorted. No other directory is looked at; a repository has none.
    #[serde(skip)]
    pub programs: Vec<(String, String)>,
}

/// The directory of entries for programs, beside `config.toml`.
const PROGRAMS: &str = "commands";
/// Largest file of entries, in bytes.
const MAX_PROGRAMS_FILE: u64 = 1024 * 1024;

/// The section `[env]` (SPEC §10). A name, or the beginning of names when it ends in `*`. Nothing
/// here brings back a variable that changes what a command runs (`LD_PRELOAD`, `BASH_ENV`, …).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct EnvironmentConfig {
    /// Variables that look like a secret and that commands get all the same. Their values stay
    /// masked in output, on cards and in the record.
    pub pass: Vec<String>,
    /// Variables that commands do not get.
    pub block: Vec<String>,
}

/// The section `[commands]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct CommandsConfig {
    /// The supervisor executable; the one beside guardian when not set.
    pub supervisor: Option<PathBuf>,
    /// A cgroup for each command, where this machine lets guardian make one: nothing leaves it.
    /// Off by default, because it costs some milliseconds for each command.
    pub cgroups: bool,
    /// Processes that one command may have at the same time; 4096 when not set. More end it.
    pub max_processes: Option<u64>,
    /// MiB of memory that all processes of one command may hold together; without a bound when not
    /// set. Above it the largest process is killed.
    pub max_memory_mib: Option<u64>,
}

impl CommandsConfig {
    /// The bounds of one command.
    pub(crate) fn limits(&self) -> BashLimits {
        let standard = BashLimits::standard();
        BashLimits {
            processes: self.max_processes.or(standard.processes),
            memory_bytes: self
                .max_memory_mib
                .map(|mib| mib.saturating_mul(1024 * 1024))
                .or(standard.memory_bytes),
            ..standard
        }
    }

    /// The supervisor, with cgroups where that is asked for and possible. Blocking.
    ///
    /// # Errors
    /// There is none, or it cannot be used.
    pub fn find_supervisor(&self) -> Result<SupervisorProgram, SupervisorError> {
        let found = SupervisorProgram::find(self.supervisor.as_deref())?;
        Ok(if self.cgroups {
            found.with_cgroups()
        } else {
            found
        })
    }
}

impl UserConfig {
    /// Reads the file; a missing one is the default.
    ///
    /// # Errors
    /// `INVALID_PARAMS` with file and position: a configuration that cannot be read never counts
    /// as an empty one.
    pub fn load(file: &Path) -> Result<Self, HostError> {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(unusable(file, &error)),
        };
        let mut config: Self =
            toml::from_str(&text).map_err(|error| match elsewhere(error.message()) {
                Some(hint) => unusable(file, &format!("{error}{hint}")),
                None => unusable(file, &error),
            })?;
        config
            .review
            .reviewers()
            .map_err(|error| unusable(file, &error))?;
        config
            .audit
            .places()
            .map_err(|error| unusable(file, &error))?;
        config
            .path_classes()
            .map_err(|error| unusable(file, &error))?;
        let programs = file.with_file_name(PROGRAMS);
        config.programs = programs_in(&programs)?;
        config
            .catalogue()
            .map_err(|error| unusable(&programs, &error))?;
        Ok(config)
    }

    /// The built-in path classes with the user's.
    pub(crate) fn path_classes(&self) -> Result<PathClasses, ClassError> {
        if self.facts == FactsExtension::default() {
            Ok(PathClasses::from_default())
        } else {
            PathClasses::with_extension(&self.facts)
        }
    }

    /// The catalogue with the user's entries, where there are any.
    pub(crate) fn catalogue(&self) -> Result<Option<Catalogue>, CatalogueError> {
        if self.programs.is_empty() {
            return Ok(None);
        }
        let files = self
            .programs
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        Catalogue::with_user_files(files).map(Some)
    }
}

/// The files of entries, sorted by name. A missing directory has none.
fn programs_in(directory: &Path) -> Result<Vec<(String, String)>, HostError> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unusable(directory, &error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| unusable(directory, &error))?.path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let metadata = std::fs::metadata(&path).map_err(|error| unusable(&path, &error))?;
        if !metadata.is_file() || metadata.len() > MAX_PROGRAMS_FILE {
            return Err(unusable(&path, &"it is no file, or larger than 1 MiB"));
        }
        let text = std::fs::read_to_string(&path).map_err(|error| unusable(&path, &error))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        found.push((name.into_owned(), text));
    }
    found.sort();
    Ok(found)
}

/// Where a key is set that is not one of this file.
fn elsewhere(message: &str) -> Option<&'static str> {
    let key = message.strip_prefix("unknown field `")?.split('`').next()?;
    match key {
        "version" | "preset" | "overrides" | "rule" | "accepted" => {
            Some("it belongs into policy.toml beside this file")
        }
        "sandbox" | "defaultPermissionMode" | "defaultCommandShell" => {
            Some("it is a setting: the client that operates guardian sets it (`settings.set`)")
        }
        _ => None,
    }
}

fn unusable(file: &Path, error: &dyn std::fmt::Display) -> HostError {
    HostError::new(
        ErrorCode::InvalidParams,
        format!("`{}`: {error}", file.display()),
    )
}

/// Everything a [`crate::Host`] is opened with.
#[derive(Clone)]
pub struct HostConfig {
    /// Where things are.
    pub places: Places,
    /// The user's configuration.
    pub user: UserConfig,
    /// Limits on concurrent execution.
    pub admission: AdmissionLimits,
    /// The time of day.
    pub clock: Arc<dyn Clock>,
    /// Environment that commands start from, before filtering.
    pub environment: Variables,
    /// Bytes that review snapshots of all sessions may take together.
    pub review_quota_bytes: u64,
}

impl HostConfig {
    /// A host at these places, with the user's configuration from there and the limits of SPEC.
    ///
    /// # Errors
    /// When the user's configuration does not load.
    pub fn at(places: Places) -> Result<Self, HostError> {
        let user = UserConfig::load(&places.config_dir.join("config.toml"))?;
        Ok(Self {
            places,
            user,
            admission: AdmissionLimits::SPEC,
            clock: Arc::new(SystemClock),
            environment: std::env::vars_os().collect(),
            review_quota_bytes: DEFAULT_REVIEW_QUOTA_BYTES,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_the_default_and_a_broken_one_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.toml");
        assert_eq!(
            UserConfig::load(&file).unwrap().review,
            ReviewConfig::default()
        );
        for broken in [
            "review = 3",
            "[revew]\n",
            "[review]\nchain = [\"nobody\"]\n",
            "[review",
            "[review]\nchain = [\"model\"]\n",
            "[review.model]\napi = \"anthropic\"\nendpoint = \"http://far.example\"\nmodel = \"m\"\n",
            "[audit]\npublishHead = [\"heads\"]\n",
            "[audit]\nretentionDays = 0\n",
            "[env]\npasss = []\n",
            "[env]\npass = \"TOKEN\"\n",
            "[[facts.secret]]\nname = \"x\"\npath = [\"y\"]\n",
            "[[facts.protected]]\nname = \"x\"\npaths = [\"a[b\"]\n",
            "[facts]\nguardian = []\n",
        ] {
            std::fs::write(&file, broken).unwrap();
            assert!(UserConfig::load(&file).is_err(), "{broken}");
        }
    }

    #[test]
    fn entries_for_programs_come_from_the_directory_beside_the_file_and_a_broken_one_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.toml");
        assert!(
            UserConfig::load(&file)
                .unwrap()
                .catalogue()
                .unwrap()
                .is_none()
        );
        let programs = directory.path().join("commands");
        std::fs::create_dir(&programs).unwrap();
        std::fs::write(programs.join("README"), "not looked at").unwrap();
        std::fs::write(programs.join("ours.toml"), "[ours]\noperands = 'value*'\n").unwrap();
        let config = UserConfig::load(&file).unwrap();
        assert!(config.catalogue().unwrap().unwrap().lists("ours"));
        for broken in [
            "[ours",
            "[ours]\nwrong = 1\n",
            "[ours]\neffects = 'nonsense'\n",
            "['guardian']\n",
        ] {
            std::fs::write(programs.join("z.toml"), broken).unwrap();
            let error = UserConfig::load(&file).unwrap_err().to_string();
            assert!(error.contains("`z.toml`"), "{error}");
        }
        std::fs::remove_file(programs.join("z.toml")).unwrap();
        std::fs::create_dir(programs.join("d.toml")).unwrap();
        assert!(UserConfig::load(&file).is_err());
    }

    #[test]
    fn a_key_of_another_file_or_of_the_settings_says_where_it_belongs() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.toml");
        for (text, hint) in [
            ("sandbox = \"off\"\n", "settings.set"),
            ("preset = \"balanced\"\n", "policy.toml"),
            ("[[rule]]\nid = \"x\"\n", "policy.toml"),
        ] {
            std::fs::write(&file, text).unwrap();
            let error = UserConfig::load(&file).unwrap_err().to_string();
            assert!(error.contains(hint) && error.contains("line 1"), "{error}");
        }
    }
}
