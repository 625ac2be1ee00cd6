//! The form of a policy file (SPEC §7.1), as serde sees it. Unknown keys are errors; those that
//! people look for here and that are set elsewhere are in `misplaced.rs`.

use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::value::{SeqAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::Spanned;

use crate::{OperatingMode, PermissionMode, Preset};

/// A whole policy file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "guardian policy", deny_unknown_fields)]
pub(crate) struct PolicyFile {
    /// Version of the file format: 1.
    #[schemars(with = "u32")]
    pub(crate) version: Spanned<u32>,
    /// Built-in defaults. Not in a workspace file.
    #[serde(default)]
    #[schemars(with = "Option<Preset>")]
    pub(crate) preset: Option<Spanned<Preset>>,
    /// Ids of floor rules that ask, to be lifted. Not in a workspace file.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(crate) overrides: Vec<Spanned<String>>,
    /// Rules; their order does not matter.
    #[serde(default)]
    #[schemars(with = "Vec<RuleFile>")]
    pub(crate) rule: Vec<Spanned<RuleFile>>,
    /// Project commands the user accepted, written by guardian. Not in a workspace file.
    #[serde(default)]
    #[schemars(with = "Vec<AcceptedFile>")]
    pub(crate) accepted: Vec<Spanned<AcceptedFile>>,
}

/// What a rule decides.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum RuleEffect {
    /// Covers the facts that the rule names.
    Allow,
    /// Asks, in every mode and over grants.
    Ask,
    /// Denies; nothing lifts it.
    Deny,
}

impl RuleEffect {
    /// The name used in policy files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// One `[[rule]]`. All conditions must hold of the same fact.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(deny_unknown_fields)]
pub(crate) struct RuleFile {
    /// Name of the rule: letters, digits, `-`, `_`, `.`; unique within the file.
    pub(crate) id: String,
    /// What the rule decides.
    pub(crate) effect: RuleEffect,
    /// Tool names; `*` matches any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<OneOrMany<String>>,
    /// Beginning of a command line, word by word; a list in a place is alternatives, `*` matches
    /// any text within a word, `**` any number of words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<Vec<OneOrMany<String>>>,
    /// What may follow the words of `command`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tail: Option<Tail>,
    /// Program names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) program: Option<OneOrMany<String>>,
    /// The command has at least one of these flags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) flags: Option<OneOrMany<String>>,
    /// What the command does. Deny and ask: at least one of these; allow: nothing but these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) does: Option<OneOrMany<EffectName>>,
    /// Kind of access.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) access: Option<OneOrMany<AccessName>>,
    /// Paths, as globs: relative to the workspace, `~/…`, absolute, or `**/…` anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) paths: Option<OneOrMany<String>>,
    /// Where the path lies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<OneOrMany<ScopeName>>,
    /// The class of the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sensitivity: Option<OneOrMany<ClassName>>,
    /// Network hosts; `*` matches any text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<OneOrMany<String>>,
    /// The call is made by one of these delegates; `*` is any delegate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delegate: Option<OneOrMany<String>>,
    /// Operating mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<OneOrMany<OperatingMode>>,
    /// Effective permission mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) permission_mode: Option<OneOrMany<PermissionMode>>,
    /// Conditions on the call as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) when: Option<WhenFile>,
    /// The rule does not apply where any of these holds of the fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unless: Option<UnlessFile>,
    /// Shown to people, and to the model where the rule denies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// Calls that the rule must match: commands for Bash, else paths. Checked on load.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub(crate) matches: Vec<String>,
    /// Calls that the rule must not match. Checked on load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_match: Vec<String>,
}

/// `when`: all must hold somewhere in the call.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(deny_unknown_fields)]
pub(crate) struct WhenFile {
    /// Something of this class or place is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reads: Option<OneOrMany<TouchName>>,
    /// Something of this class or place is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) writes: Option<OneOrMany<TouchName>>,
    /// Something of this class or place is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deletes: Option<OneOrMany<TouchName>>,
    /// The network is (not) reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<bool>,
    /// At least one command has one of these effects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) does: Option<OneOrMany<EffectName>>,
    /// At least one command's effects are (all are) unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) opaque: Option<bool>,
}

/// `unless`.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(deny_unknown_fields)]
pub(crate) struct UnlessFile {
    /// The command has one of these flags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) flags: Option<OneOrMany<String>>,
    /// The path matches one of these globs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) paths: Option<OneOrMany<String>>,
    /// The command has one of these effects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) does: Option<OneOrMany<EffectName>>,
    /// The host matches one of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) host: Option<OneOrMany<String>>,
}

/// One `[[accepted]]`: a project command that runs without a card while the sandbox is in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(deny_unknown_fields)]
pub(crate) struct AcceptedFile {
    /// Absolute path of the project.
    pub(crate) project: String,
    /// The command, for people.
    pub(crate) command: String,
    /// Key of the command with the definition it was accepted with.
    pub(crate) key: String,
    /// What it ran then, for people: the next card shows what changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) definition: Option<String>,
}

/// What may follow the words of `command`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tail {
    /// Anything (the default).
    Any,
    /// Known words that are not flags.
    Operands,
    /// Nothing.
    None,
}

/// `read`, `list`, …
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AccessName {
    Read,
    List,
    Write,
    Delete,
    Execute,
}

/// `workspace`, `scratch`, `outside`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ScopeName {
    Workspace,
    Scratch,
    Outside,
}

/// `secret`, `sensitive`, `protected`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ClassName {
    Secret,
    Sensitive,
    Protected,
}

/// What `when` looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TouchName {
    Secret,
    Sensitive,
    Protected,
    Outside,
    Workspace,
    Any,
}

/// The effects of commands, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EffectName {
    /// Prints, computes or waits; touches nothing.
    Inert,
    /// Reports the state of this machine only (`ps`, `df`, `uname`).
    SystemQuery,
    /// Prints environment variables.
    ReadsEnvironment,
    /// Changes only the shell's own state (`cd`, `set`).
    ShellState,
    /// Reaches the network.
    Network,
    /// Acts on another machine or in a container (`ssh`, `docker exec`, `kubectl`).
    RemoteHost,
    /// Throws away what cannot be had back (`git reset --hard`, `DROP`).
    Destructive,
    /// Rewrites files that nobody can list before (`git checkout .`, `tar x`, `npm install`).
    BulkWrite,
    /// Makes something public (`npm publish`, `git push`).
    Publishes,
    /// Installs or removes packages.
    Installs,
    /// Rewrites the history of a repository (`git rebase`, `git commit --amend`).
    HistoryRewrite,
    /// Records in the local repository (`git add`, plain `git commit`).
    GitRecord,
    /// Any other change of a repository's state (`git branch`, `git merge`, `git config`).
    GitChange,
    /// Gains privilege (`sudo`, `su`).
    Privilege,
    /// Makes code run later (`crontab`, `systemctl enable`).
    Persistence,
    /// Changes other processes or the system (`kill`, `shutdown`, `mount`).
    SystemChange,
    /// Runs code of the project: build, test and lint commands.
    RunsProjectCode,
    /// Runs code that was given inline or in a file (`python3 -c`, `bash x.sh`).
    RunsCode,
    /// Runs code that comes from the network (`curl … | sh`, `npx`).
    RunsRemoteCode,
    /// Multiplies itself without end.
    ForkBomb,
    /// Runs guardian itself with anything but its read-only subcommands.
    RunsGuardian,
}

/// One value, or a list of alternatives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OneOrMany<T>(pub(crate) Vec<T>);

impl<T: Serialize> Serialize for OneOrMany<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => one.serialize(serializer),
            many => many.serialize(serializer),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct One<T>(PhantomData<T>);

        impl<'de, T: DeserializeOwned> Visitor<'de> for One<T> {
            type Value = OneOrMany<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string or a list of strings")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                T::deserialize(StrDeserializer::new(text)).map(|value| OneOrMany(vec![value]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                let values = Vec::<T>::deserialize(SeqAccessDeserializer::new(list))?;
                if values.is_empty() {
                    return Err(A::Error::custom("an empty list matches nothing"));
                }
                Ok(OneOrMany(values))
            }
        }

        deserializer.deserialize_any(One(PhantomData))
    }
}

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let one = generator.subschema_for::<T>();
        let many = generator.subschema_for::<Vec<T>>();
        schemars::json_schema!({ "anyOf": [one, many] })
    }
}

/// The JSON Schema of a policy file, for editors: the content of `schemas/policy.schema.json`.
#[must_use]
pub fn policy_schema() -> serde_json::Value {
    schemars::schema_for!(PolicyFile).to_value()
}
