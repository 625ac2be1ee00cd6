//! Settings, the selected workspace, and which shell commands run in.

use guardian_rules::{PermissionMode, Preset};
use guardian_store::{SandboxSetting, Settings, SettingsChange};
use guardian_tools::bash::Shell;
use serde_json::{Map, Value};

use crate::blocking::blocking;
use crate::error::{ErrorCode, HostError};
use crate::gate::Passage;
use crate::host::Host;
use crate::outcome::{Stop, ToolOutcome};
use crate::policies::stored_preset;

/// The store's key of the selected workspace.
const SELECTED_WORKSPACE: &str = "selectedWorkspace";

/// The preset with this name.
pub(crate) fn preset_named(name: &str) -> Option<Preset> {
    [Preset::Standard, Preset::Balanced, Preset::Strict]
        .into_iter()
        .find(|one| one.name() == name)
}

impl Host {
    /// All settings as the wire shows them.
    ///
    /// # Errors
    /// `INTERNAL` when the store cannot be read.
    pub async fn settings(&self) -> Result<Map<String, Value>, HostError> {
        Ok(view(&self.with_store(|store| store.settings()).await?))
    }

    /// Changes settings; all or none. What waits for an answer is decided anew.
    ///
    /// # Errors
    /// `INVALID_PARAMS` for an unknown key or value, `COMMAND_SHELL_INVALID`.
    pub async fn set_settings(
        &self,
        settings: &Map<String, Value>,
    ) -> Result<Map<String, Value>, HostError> {
        let change = self.parse_settings(settings)?;
        let (settings, preset) = self
            .with_store(move |store| {
                let settings = store.set_settings(change)?;
                Ok((settings, stored_preset(store)))
            })
            .await?;
        let (policies, preset) = (std::sync::Arc::clone(&self.policies), preset?);
        blocking(move || policies.set_default_preset(preset))
            .await
            .map_err(|_| HostError::internal("the policy could not be compiled"))?;
        self.re_evaluate(None).await;
        Ok(view(&settings))
    }

    fn parse_settings(&self, settings: &Map<String, Value>) -> Result<SettingsChange, HostError> {
        let mut change = SettingsChange::default();
        for (key, value) in settings {
            let wrong = |expected: &str| {
                HostError::invalid_params(format!("the setting `{key}` must be {expected} or null"))
                    .with("pointer", format!("/settings/{key}"))
            };
            let word = match value {
                Value::Null => None,
                Value::String(word) => Some(word.as_str()),
                _ => return Err(wrong("a string")),
            };
            match key.as_str() {
                "defaultPermissionMode" => {
                    let modes = "`ask`, `accept-edits`, `auto`";
                    let mode = word.map(|word| permission_mode(word).ok_or_else(|| wrong(modes)));
                    change.default_permission_mode = Some(mode.transpose()?);
                }
                "defaultCommandShell" => {
                    if let Some(id) = word {
                        self.shells.get(id).map_err(|error| {
                            HostError::new(ErrorCode::CommandShellInvalid, error.to_string())
                        })?;
                    }
                    change.default_command_shell = Some(word.map(str::to_owned));
                }
                "sandbox" => {
                    let sandbox = word.map(|word| {
                        sandbox_setting(word).ok_or_else(|| wrong("`off`, `auto`, `required`"))
                    });
                    change.sandbox = Some(sandbox.transpose()?);
                }
                "preset" => {
                    if word.is_some_and(|word| preset_named(word).is_none()) {
                        return Err(wrong("`standard`, `balanced`, `strict`"));
                    }
                    change.preset = Some(word.map(str::to_owned));
                }
                _ => {
                    return Err(HostError::invalid_params(format!(
                        "there is no setting `{key}`; there are `defaultPermissionMode`, \
                         `defaultCommandShell`, `sandbox`, `preset`"
                    )));
                }
            }
        }
        Ok(change)
    }

    /// The directory that a user interface shows as selected. No session follows it.
    ///
    /// # Errors
    /// `INTERNAL` when the store cannot be read.
    pub async fn selected_workspace(&self) -> Result<Option<String>, HostError> {
        let value = self
            .with_store(|store| store.other_setting(SELECTED_WORKSPACE))
            .await?;
        Ok(value.and_then(|value| value.as_str().map(str::to_owned)))
    }

    /// Selects a directory, or none.
    ///
    /// # Errors
    /// `INTERNAL` when the store cannot be written.
    pub async fn select_workspace(&self, path: Option<String>) -> Result<(), HostError> {
        let value = path.map(Value::String);
        self.with_store(move |store| store.set_other_setting(SELECTED_WORKSPACE, value))
            .await
    }

    /// The answer of `commandShells.list`.
    ///
    /// # Errors
    /// `INTERNAL` when the store cannot be read.
    pub async fn command_shells(&self) -> Result<Value, HostError> {
        let settings = self.with_store(|store| store.settings()).await?;
        Ok(self
            .shells
            .to_json(settings.default_command_shell.as_deref()))
    }

    /// Id and dialect of the shell in effect; `None` when this machine has none.
    pub(crate) async fn effective_shell(&self) -> Result<Option<(String, String)>, HostError> {
        let settings = self.with_store(|store| store.settings()).await?;
        let configured = settings.default_command_shell;
        Ok(self
            .shells
            .effective(configured.as_deref())
            .ok()
            .map(|effective| {
                let id = effective.shell.id;
                (id.as_str().to_owned(), id.dialect().as_str().to_owned())
            }))
    }

    /// Id and dialect that this call's command runs in: what the turn pinned, or, outside a turn,
    /// what is in effect. A caller that expects another one is refused.
    pub(crate) async fn check_shell(&self, passage: &mut Passage) -> Result<(), Stop> {
        if passage.request.tool_name != "Bash" {
            return Ok(());
        }
        let id = &passage.request.tool_call_id;
        let pinned = match (&passage.request.turn_id, &passage.session.pinned_shell) {
            (Some(_), Some(pinned)) => Some(pinned.clone()),
            _ => self.effective_shell().await?,
        };
        let Some((shell, dialect)) = pinned else {
            let message = match self.shells.effective(None) {
                Err(error) => error.to_string(),
                Ok(_) => "the turn began without a shell".to_owned(),
            };
            return Err(ToolOutcome::failure(id, ErrorCode::ShellNotFound, &message).into());
        };
        let changed = |what: &str| {
            let message = format!("{what}; begin a new turn");
            Stop::from(ToolOutcome::failure(
                id,
                ErrorCode::CommandShellChanged,
                &message,
            ))
        };
        if passage
            .request
            .expected_shell_id
            .as_ref()
            .is_some_and(|expected| *expected != shell)
        {
            return Err(changed(&format!(
                "the shell is `{shell}`, not the expected one"
            )));
        }
        if passage
            .request
            .expected_shell_dialect
            .as_ref()
            .is_some_and(|expected| *expected != dialect)
        {
            return Err(changed(&format!(
                "the dialect is `{dialect}`, not the expected one"
            )));
        }
        passage.shell_id = Some(shell);
        Ok(())
    }

    /// The executable of the shell that was checked, if it is still the same one.
    pub(crate) fn shell_of(&self, passage: &Passage) -> Result<Shell, Stop> {
        let wanted = passage.shell_id.as_deref().unwrap_or_default();
        self.shells.get(wanted).map_err(|error| {
            let id = &passage.request.tool_call_id;
            ToolOutcome::failure(id, ErrorCode::CommandShellChanged, &error.to_string()).into()
        })
    }
}

fn permission_mode(word: &str) -> Option<PermissionMode> {
    [
        PermissionMode::Ask,
        PermissionMode::AcceptEdits,
        PermissionMode::Auto,
    ]
    .into_iter()
    .find(|mode| crate::words::permission_mode(*mode) == word)
}

fn sandbox_setting(word: &str) -> Option<SandboxSetting> {
    match word {
        "off" => Some(SandboxSetting::Off),
        "auto" => Some(SandboxSetting::Auto),
        "required" => Some(SandboxSetting::Required),
        _ => None,
    }
}

fn view(settings: &Settings) -> Map<String, Value> {
    let sandbox = settings.sandbox.map(|sandbox| match sandbox {
        SandboxSetting::Off => "off",
        SandboxSetting::Auto => "auto",
        SandboxSetting::Required => "required",
    });
    let mode = settings
        .default_permission_mode
        .map(crate::words::permission_mode);
    Map::from_iter([
        ("defaultPermissionMode".to_owned(), Value::from(mode)),
        (
            "defaultCommandShell".to_owned(),
            Value::from(settings.default_command_shell.clone()),
        ),
        ("sandbox".to_owned(), Value::from(sandbox)),
        ("preset".to_owned(), Value::from(settings.preset.clone())),
    ])
}

/// The executable that commands run in on this machine when no setting says otherwise.
///
/// # Errors
/// `SHELL_NOT_FOUND` with what to install.
pub fn command_shells_here() -> Result<std::path::PathBuf, HostError> {
    let catalogue = guardian_tools::bash::ShellCatalogue::discover(
        guardian_tools::bash::Platform::current(),
        &guardian_tools::bash::ThisMachine,
    );
    catalogue
        .effective(None)
        .map(|effective| effective.shell.executable)
        .map_err(|error| HostError::new(ErrorCode::ShellNotFound, error.to_string()))
}
