//! Compiled policy.

use std::collections::BTreeSet;

use guardian_facts::Access;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evaluate::View;

/// Where a rule comes from, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Built in.
    Floor,
    /// `/etc/guardian/policy.toml`.
    Managed,
    /// The user's file.
    User,
    /// `.guardian/policy.toml` of the workspace.
    Workspace,
    /// Given by the operator for one session.
    Session,
}

/// A built-in set of defaults (SPEC §7.4).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// The tables of SPEC §1 and the floor, nothing else.
    Standard,
    /// Additionally allows calls all of whose effects are proven harmless.
    Balanced,
    /// Asks for every high-risk call in every mode and over grants; denies network.
    Strict,
}

impl Preset {
    /// The name used in policy files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Balanced => "balanced",
            Self::Strict => "strict",
        }
    }
}

/// Compiled rules of all layers.
#[derive(Debug, Clone)]
pub struct Policy {
    preset: Preset,
    lifted: BTreeSet<String>,
    version: String,
}

impl Policy {
    /// The floor and a preset, without any file.
    #[must_use]
    pub fn builtin(preset: Preset) -> Self {
        Self {
            preset,
            lifted: BTreeSet::new(),
            version: format!("builtin-{}", preset.name()),
        }
    }

    /// The preset in force.
    #[must_use]
    pub fn preset(&self) -> Preset {
        self.preset
    }

    /// Identifies the content of the policy: equal versions decide equally.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A managed or user allow rule names the sensitive path of this access.
    pub(crate) fn names_sensitive(&self, view: &View<'_>, access: &Access) -> bool {
        let _ = (view, access);
        false
    }

    /// The floor ask with this id was lifted by a managed or user file.
    pub(crate) fn lifts(&self, floor_rule: &str) -> bool {
        self.lifted.contains(floor_rule)
    }
}
