//! The built-in presets, as files in `config/presets/` that are embedded at compile time.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Preset;
use super::glob::{Case, PathGlob};

/// What a preset adds to the tables of SPEC §1.
#[derive(Debug, Clone)]
pub(crate) struct PresetData {
    /// Kinds of effects that are allowed where they are proven.
    pub(crate) proofs: Vec<Proof>,
    public_paths: Vec<PathGlob>,
    inert_devices: Vec<String>,
    /// Every call that is not low risk is asked about, whatever covers it.
    pub(crate) asks_for_high_risk: bool,
    /// Calls that reach the network are denied.
    pub(crate) denies_network: bool,
}

/// A kind of effect that a preset allows where it is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Proof {
    /// Commands that touch nothing.
    Inert,
    /// Commands that report local system state.
    SystemQueries,
    /// Reads inside the roots.
    ReadsInRoots,
    /// Reads of public system files.
    PublicSystemReads,
    /// Changes strictly beneath scratch.
    ScratchChanges,
    /// Writes to `/dev/null` and the like.
    InertDevices,
    /// Plain `git add` and `git commit`.
    GitRecord,
    /// Recursive reads that could meet secret files, while the sandbox masks them.
    MaskedWalks,
    /// Project commands that the user accepted, while the sandbox is in force.
    AcceptedCommands,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PresetFile {
    #[serde(rename = "title")]
    _title: String,
    #[serde(rename = "description")]
    _description: String,
    proofs: Vec<Proof>,
    public_system_paths: Vec<String>,
    inert_devices: Vec<String>,
    asks_for_high_risk: bool,
    denies_network: bool,
}

static STANDARD: LazyLock<PresetData> =
    LazyLock::new(|| load(include_str!("../../../../config/presets/standard.toml")));
static BALANCED: LazyLock<PresetData> =
    LazyLock::new(|| load(include_str!("../../../../config/presets/balanced.toml")));
static STRICT: LazyLock<PresetData> =
    LazyLock::new(|| load(include_str!("../../../../config/presets/strict.toml")));

impl Preset {
    /// The preset's data.
    pub(crate) fn data(self) -> &'static PresetData {
        match self {
            Self::Standard => &STANDARD,
            Self::Balanced => &BALANCED,
            Self::Strict => &STRICT,
        }
    }
}

/// An embedded file that does not load makes everything be asked about; a test keeps that from
/// happening.
fn load(text: &str) -> PresetData {
    parse(text).unwrap_or(PresetData {
        proofs: Vec::new(),
        public_paths: Vec::new(),
        inert_devices: Vec::new(),
        asks_for_high_risk: true,
        denies_network: true,
    })
}

fn parse(text: &str) -> Result<PresetData, String> {
    let file: PresetFile = toml::from_str(text).map_err(|error| error.to_string())?;
    let public_paths = file
        .public_system_paths
        .iter()
        .map(|path| PathGlob::new(path, None, "/nonexistent", &|_| None))
        .collect::<Result<_, _>>()?;
    Ok(PresetData {
        proofs: file.proofs,
        public_paths,
        inert_devices: file.inert_devices,
        asks_for_high_risk: file.asks_for_high_risk,
        denies_network: file.denies_network,
    })
}

impl PresetData {
    /// The preset proves this kind of effect harmless.
    pub(crate) fn proves(&self, proof: Proof) -> bool {
        self.proofs.contains(&proof)
    }

    /// A system file that everybody may read.
    pub(crate) fn is_public(&self, path: &str) -> bool {
        self.public_paths
            .iter()
            .any(|glob| glob.matches(path, Case::Exact).is_some())
    }

    /// A device that swallows what is written.
    pub(crate) fn is_inert_device(&self, path: &str) -> bool {
        self.inert_devices.iter().any(|device| device == path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_presets_load() {
        for text in [
            include_str!("../../../../config/presets/standard.toml"),
            include_str!("../../../../config/presets/balanced.toml"),
            include_str!("../../../../config/presets/strict.toml"),
        ] {
            assert_eq!(parse(text).map(|_| ()), Ok(()));
        }
    }
}
