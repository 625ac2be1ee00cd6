//! The versions that hold for a session, as the store keeps them.

use std::path::PathBuf;
use std::sync::Arc;

use guardian_rules::{Layer, Preset, Trust};
use serde::{Deserialize, Serialize};

use super::hash_of;
use super::layers::{Inputs, LayerState, PolicyLayer};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct VersionsV1 {
    version: u32,
    current: InputsV1,
    kept: Vec<InputsV1>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct InputsV1 {
    preset: String,
    layers: Vec<LayerV1>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LayerV1 {
    layer: String,
    file: String,
    state: String,
    text: Option<String>,
    trusted: bool,
}

/// What holds, and earlier versions that hold as well.
pub(super) fn to_text<'i>(
    current: &Inputs,
    kept: impl Iterator<Item = &'i Inputs>,
) -> Result<String, serde_json::Error> {
    serde_json::to_string(&VersionsV1 {
        version: 1,
        current: InputsV1::of(current),
        kept: kept.map(InputsV1::of).collect(),
    })
}

/// As [`to_text`] wrote it.
///
/// # Errors
/// When it cannot be read: then it is not known what holds.
pub(super) fn from_text(text: &str) -> Result<(Inputs, Vec<Inputs>), String> {
    let versions: VersionsV1 = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if versions.version != 1 {
        return Err(format!("version {} is not known", versions.version));
    }
    let kept = versions.kept.into_iter().map(InputsV1::inputs);
    Ok((versions.current.inputs()?, kept.collect::<Result<_, _>>()?))
}

impl InputsV1 {
    fn of(inputs: &Inputs) -> Self {
        Self {
            preset: inputs.default_preset.name().to_owned(),
            layers: inputs.layers.iter().map(LayerV1::of).collect(),
        }
    }

    fn inputs(self) -> Result<Inputs, String> {
        let layers = self.layers.into_iter().map(LayerV1::layer);
        Ok(Inputs {
            default_preset: preset_named(&self.preset)?,
            forced_preset: None,
            layers: layers.collect::<Result<_, _>>()?,
        })
    }
}

impl LayerV1 {
    fn of(layer: &PolicyLayer) -> Self {
        Self {
            layer: layer.layer.name().to_owned(),
            file: layer.file.to_string_lossy().into_owned(),
            state: layer.state.name().to_owned(),
            text: layer.text.as_deref().map(str::to_owned),
            trusted: layer.trust == Trust::Trusted,
        }
    }

    fn layer(self) -> Result<PolicyLayer, String> {
        let named = |layer: &Layer| layer.name() == self.layer;
        let layer = [
            Layer::Managed,
            Layer::User,
            Layer::Workspace,
            Layer::Session,
        ]
        .into_iter()
        .find(named)
        .ok_or_else(|| format!("the layer `{}` is not known", self.layer))?;
        let states = [
            LayerState::Absent,
            LayerState::InForce,
            LayerState::LastGood,
            LayerState::Unreadable,
        ];
        let state = states
            .into_iter()
            .find(|state| state.name() == self.state)
            .ok_or_else(|| format!("the state `{}` is not known", self.state))?;
        Ok(PolicyLayer {
            layer,
            file: PathBuf::from(self.file),
            state,
            hash: self.text.as_deref().map(hash_of),
            text: self.text.map(Arc::from),
            trust: if self.trusted {
                Trust::Trusted
            } else {
                Trust::Untrusted
            },
            problems: Vec::new(),
        })
    }
}

fn preset_named(name: &str) -> Result<Preset, String> {
    crate::settings::preset_named(name).ok_or_else(|| format!("the preset `{name}` is not known"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_what_is_not_understood_does_not() {
        let inputs = Inputs {
            default_preset: Preset::Balanced,
            forced_preset: None,
            layers: vec![PolicyLayer {
                layer: Layer::Workspace,
                file: "/p/.guardian/policy.toml".into(),
                state: LayerState::InForce,
                text: Some("version = 1\n".into()),
                hash: Some(hash_of("version = 1\n")),
                trust: Trust::Untrusted,
                problems: Vec::new(),
            }],
        };
        let text = to_text(&inputs, std::iter::once(&inputs)).unwrap();
        assert_eq!(from_text(&text).unwrap(), (inputs.clone(), vec![inputs]));
        for (from, to) in [
            ("\"version\":1", "\"version\":2"),
            ("workspace", "elsewhere"),
            ("inForce", "gone"),
            ("balanced", "lax"),
            ("\"kept\"", "\"more\""),
        ] {
            assert!(from_text(&text.replacen(from, to, 1)).is_err(), "{to}");
        }
    }
}
