//! The user's settings.

use std::collections::BTreeMap;

use guardian_rules::PermissionMode;
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::row;
use crate::writer::Durability;
use crate::{Store, StoreError};

/// The setting `sandbox` (SPEC §10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxSetting {
    /// Never confine.
    Off,
    /// Confine what runs without a card because of a proof.
    Auto,
    /// Confine everything, or refuse.
    Required,
}

/// Settings with a meaning to guardian; `None` = not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// `defaultPermissionMode`.
    pub default_permission_mode: Option<PermissionMode>,
    /// `defaultCommandShell`: a shell id.
    pub default_command_shell: Option<String>,
    /// `sandbox`.
    pub sandbox: Option<SandboxSetting>,
    /// `preset`: `standard`, `balanced`, `strict`.
    pub preset: Option<String>,
}

/// What to change; `None` leaves, `Some(None)` removes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SettingsChange {
    /// `defaultPermissionMode`.
    pub default_permission_mode: Option<Option<PermissionMode>>,
    /// `defaultCommandShell`.
    pub default_command_shell: Option<Option<String>>,
    /// `sandbox`.
    pub sandbox: Option<Option<SandboxSetting>>,
    /// `preset`.
    pub preset: Option<Option<String>>,
}

const DEFAULT_PERMISSION_MODE: &str = "defaultPermissionMode";
const DEFAULT_COMMAND_SHELL: &str = "defaultCommandShell";
const SANDBOX: &str = "sandbox";
const PRESET: &str = "preset";
/// In front of the keys of [`Store::other_setting`].
const OTHER: &str = "other.";

fn sandbox_word(value: SandboxSetting) -> &'static str {
    match value {
        SandboxSetting::Off => "off",
        SandboxSetting::Auto => "auto",
        SandboxSetting::Required => "required",
    }
}

fn parse_sandbox(word: &str) -> Result<SandboxSetting, StoreError> {
    match word {
        "off" => Ok(SandboxSetting::Off),
        "auto" => Ok(SandboxSetting::Auto),
        "required" => Ok(SandboxSetting::Required),
        other => Err(StoreError::Corrupt(format!(
            "`{other}` is no sandbox setting"
        ))),
    }
}

impl Store {
    /// All settings.
    ///
    /// # Errors
    /// When the store cannot be read, or holds a value that no version wrote: a wrong value is
    /// not taken for an absent one.
    pub fn settings(&self) -> Result<Settings, StoreError> {
        self.read(settings_of)
    }

    /// Changes settings together.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn set_settings(&self, change: SettingsChange) -> Result<Settings, StoreError> {
        let now = self.now();
        self.write(Durability::Machine, move |context| {
            let text = |value: Option<&str>| value.map(Value::from);
            let entries = [
                (
                    DEFAULT_PERMISSION_MODE,
                    change
                        .default_permission_mode
                        .map(|value| text(value.map(row::permission_mode))),
                ),
                (
                    DEFAULT_COMMAND_SHELL,
                    change
                        .default_command_shell
                        .map(|value| value.map(Value::from)),
                ),
                (
                    SANDBOX,
                    change.sandbox.map(|value| text(value.map(sandbox_word))),
                ),
                (PRESET, change.preset.map(|value| value.map(Value::from))),
            ];
            for (key, value) in entries {
                if let Some(value) = value {
                    put(context.connection, key, value.as_ref(), now.0)?;
                }
            }
            settings_of(context.connection)
        })
    }

    /// A setting that the store only keeps for others, by key.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn other_setting(&self, key: &str) -> Result<Option<Value>, StoreError> {
        let key = format!("{OTHER}{key}");
        self.read(|connection| {
            let all = all(connection)?;
            Ok(all.get(&key).cloned())
        })
    }

    /// Sets or (with `None`) removes a setting of [`Self::other_setting`].
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn set_other_setting(&self, key: &str, value: Option<Value>) -> Result<(), StoreError> {
        let (key, now) = (format!("{OTHER}{key}"), self.now());
        self.write(Durability::Machine, move |context| {
            put(context.connection, &key, value.as_ref(), now.0)
        })
    }
}

fn put(
    connection: &Connection,
    key: &str,
    value: Option<&Value>,
    now: i64,
) -> Result<(), StoreError> {
    match value {
        Some(value) => connection
            .prepare_cached(
                "INSERT INTO settings (key, value, updated_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at",
            )?
            .execute(params![key, value.to_string(), now])?,
        None => connection.prepare_cached("DELETE FROM settings WHERE key = ?1")?.execute([key])?,
    };
    Ok(())
}

fn all(connection: &Connection) -> Result<BTreeMap<String, Value>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT key, value FROM settings")?;
    let rows = statement.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })?;
    let mut all = BTreeMap::new();
    for row in rows {
        let (key, text) = row?;
        let value = serde_json::from_str(&text).map_err(|error| {
            StoreError::Corrupt(format!("the setting `{key}` is not JSON: {error}"))
        })?;
        all.insert(key, value);
    }
    Ok(all)
}

pub(crate) fn settings_of(connection: &Connection) -> Result<Settings, StoreError> {
    let all = all(connection)?;
    let text = |key: &str| match all.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(StoreError::Corrupt(format!(
            "the setting `{key}` is not a string"
        ))),
    };
    Ok(Settings {
        default_permission_mode: text(DEFAULT_PERMISSION_MODE)?
            .map(|word| row::parse_permission_mode(&word))
            .transpose()?,
        default_command_shell: text(DEFAULT_COMMAND_SHELL)?,
        sandbox: text(SANDBOX)?
            .map(|word| parse_sandbox(&word))
            .transpose()?,
        preset: text(PRESET)?,
    })
}
