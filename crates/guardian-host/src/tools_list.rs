//! The tools that the host has a body for: `tools.list` and `guardian tools`.

use guardian_facts::input::tool_catalogue;
use guardian_rules::{BUILT_IN_TOOLS, OperatingMode, mode_refusal, tool_kind};
use serde::Serialize;
use serde_json::Value;

use crate::error::ErrorCode;

/// One tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolInfo {
    /// Name.
    pub name: String,
    /// What it does, with its limits and the arguments that narrow it.
    pub description: String,
    /// `low`, `medium` or `high`.
    pub risk: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
    /// `core` or `on-demand` (SPEC §13.5).
    pub activation: String,
}

impl ToolInfo {
    /// The operating mode has the tool.
    #[must_use]
    pub fn is_in(&self, mode: OperatingMode) -> bool {
        mode_refusal(mode, &self.name, tool_kind(&self.name)).is_none()
    }
}

/// Built-in tools that have no body here.
const WITHOUT_BODY: &[&str] = &["Skill", "PluginCheck", "PluginPack", "PluginScaffold"];
/// Those that a prompt does not start with.
const ON_DEMAND: &[&str] = &["Glob", "Grep", "BrowserPreview"];

/// All tools with a body.
#[must_use]
pub fn tool_list() -> Vec<ToolInfo> {
    tool_catalogue()
        .into_iter()
        .filter(|tool| has_body(tool.name))
        .map(|tool| ToolInfo {
            name: tool.name.to_owned(),
            description: tool.description.to_owned(),
            risk: tool.risk.to_owned(),
            parameters: tool.schema,
            activation: if ON_DEMAND.contains(&tool.name) {
                "on-demand"
            } else {
                "core"
            }
            .to_owned(),
        })
        .collect()
}

/// The code of a call whose arguments do not fit.
pub(crate) fn argument_code(name: &str) -> ErrorCode {
    match name {
        "asktool" => ErrorCode::AsktoolInvalidArgument,
        _ => ErrorCode::InvalidArgument,
    }
}

/// A tool of this name runs here.
pub(crate) fn has_body(name: &str) -> bool {
    bodies().any(|body| body == name)
}

/// The tools that run here.
fn bodies() -> impl Iterator<Item = &'static str> {
    let names = BUILT_IN_TOOLS.iter().copied();
    names.filter(|name| !WITHOUT_BODY.contains(name))
}

/// The names nearest to one that does not exist, at most three.
pub(crate) fn nearest(name: &str) -> Vec<String> {
    let mut scored: Vec<_> = bodies()
        .map(|tool| {
            (
                strsim::jaro_winkler(&name.to_lowercase(), &tool.to_lowercase()),
                tool,
            )
        })
        .filter(|(score, _)| *score > 0.7)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored
        .into_iter()
        .take(3)
        .map(|(_, tool)| tool.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_body_is_described() {
        let names: Vec<_> = tool_list().into_iter().map(|tool| tool.name).collect();
        let mut expected: Vec<_> = bodies().map(str::to_owned).collect();
        let mut got = names.clone();
        expected.sort();
        got.sort();
        assert_eq!(got, expected);
    }

    #[test]
    fn a_misspelt_name_finds_its_tool() {
        assert_eq!(nearest("read"), ["Read"]);
        assert_eq!(nearest("bash")[0], "Bash");
        assert!(nearest("zzzz").is_empty());
    }
}
