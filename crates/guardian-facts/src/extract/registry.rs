//! All extractors by tool name.

use std::collections::BTreeMap;

use super::bash::{BashExtractor, JobExtractor};
use super::control::{self, ControlExtractor, Needs, PreviewExtractor};
use super::edit::EditExtractor;
use super::glob::GlobExtractor;
use super::grep::GrepExtractor;
use super::read::ReadExtractor;
use super::write::WriteExtractor;
use crate::input::{nearest_names, shorten};
use crate::{
    ExtractError, Extraction, FactContext, Facts, LinkedNames, ProbeLog, RecordingProbe, ToolCall,
    ToolInput, ToolPathExtractor, ToolPattern,
};

/// The built-in extractors, one per tool.
const BUILT_IN: &[&dyn ToolPathExtractor] = &[
    &ReadExtractor,
    &GlobExtractor,
    &GrepExtractor,
    &WriteExtractor,
    &EditExtractor,
    &BashExtractor,
    &JobExtractor {
        tool: "BashOutput",
        verb: "reads the output of",
        input: ToolInput::BashOutput,
    },
    &JobExtractor {
        tool: "BashKill",
        verb: "ends",
        input: ToolInput::BashKill,
    },
    &PreviewExtractor,
    &ControlExtractor {
        tool: "asktool",
        parse: control::ask,
        needs: Needs::Nothing,
    },
    &ControlExtractor {
        tool: "new_context",
        parse: control::new_context,
        needs: Needs::Nothing,
    },
    &ControlExtractor {
        tool: "ToolSearch",
        parse: control::search,
        needs: Needs::Nothing,
    },
    &ControlExtractor {
        tool: "EnterPlanMode",
        parse: control::enter_plan,
        needs: Needs::Nothing,
    },
    &ControlExtractor {
        tool: "EnterGoalMode",
        parse: control::enter_goal,
        needs: Needs::Nothing,
    },
    &ControlExtractor {
        tool: "SubmitPlan",
        parse: control::submit_plan,
        needs: Needs::Workspace,
    },
    &ControlExtractor {
        tool: "SubmitGoal",
        parse: control::submit_goal,
        needs: Needs::Workspace,
    },
    &ControlExtractor {
        tool: "Task",
        parse: control::task,
        needs: Needs::Nothing,
    },
];

/// Names of guardian's own tools that have no extractor here, but which nobody may take.
const RESERVED: &[&str] = &["Skill", "PluginCheck", "PluginPack", "PluginScaffold"];

/// An extractor was not registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// An extractor of this name is already registered.
    #[error("an extractor for `{0}` is already registered")]
    Duplicate(String),
    /// The name belongs to a tool of guardian.
    #[error("`{0}` is a tool of guardian and cannot be replaced")]
    BuiltIn(String),
    /// `plugin_` and `mcp_` names are given by guardian.
    #[error("`{0}`: names that start with `plugin_` or `mcp_` are given by guardian")]
    Prefix(String),
    /// The name is empty, too long, or has characters that no tool name has.
    #[error("`{0}` is not a tool name (1 to 128 letters, digits, `_`, `-`, `.`, `:`, `/`)")]
    Name(String),
}

/// All extractors: the built-in ones and those registered at run time.
pub struct ExtractorRegistry {
    built_in: BTreeMap<String, &'static dyn ToolPathExtractor>,
    registered: BTreeMap<String, Box<dyn ToolPathExtractor>>,
}

impl ExtractorRegistry {
    /// The built-in extractors only.
    #[must_use]
    pub fn builtin() -> Self {
        let built_in = BUILT_IN
            .iter()
            .map(|extractor| (name_of(*extractor), *extractor))
            .collect();
        Self {
            built_in,
            registered: BTreeMap::new(),
        }
    }

    /// Adds an extractor for a tool of the harness. Who may do so, and when, is the host's to
    /// check (operator role, before the first turn).
    ///
    /// # Errors
    /// The name is taken, reserved, or no tool name. Names are compared without regard to case, so
    /// that nobody is taken in by `bash` next to `Bash`.
    pub fn register(&mut self, extractor: Box<dyn ToolPathExtractor>) -> Result<(), RegisterError> {
        let name = name_of(&*extractor);
        let is_name = (1..=128).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte));
        if !is_name {
            return Err(RegisterError::Name(shorten(&name)));
        }
        let lower = name.to_ascii_lowercase();
        if lower.starts_with("plugin_") || lower.starts_with("mcp_") {
            return Err(RegisterError::Prefix(name));
        }
        if is_reserved_tool_name(&name) {
            return Err(RegisterError::BuiltIn(name));
        }
        if self
            .registered
            .keys()
            .any(|known| known.eq_ignore_ascii_case(&name))
        {
            return Err(RegisterError::Duplicate(name));
        }
        self.registered.insert(name, extractor);
        Ok(())
    }

    /// There is an extractor for this tool.
    #[must_use]
    pub fn contains(&self, tool: &str) -> bool {
        self.find(tool).is_some()
    }

    /// Names of all tools with an extractor, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let mut names: Vec<&str> = self
            .built_in
            .keys()
            .chain(self.registered.keys())
            .map(String::as_str)
            .collect();
        names.sort_unstable();
        names.into_iter()
    }

    /// Known names close to one that is not, nearest first.
    #[must_use]
    pub fn nearest(&self, tool: &str) -> Vec<String> {
        nearest_names(tool, self.names())
    }

    /// Extracts. A tool without an extractor gives [`Facts::unknown`], which nothing but an
    /// explicit decision covers. Every question to the probe is kept in the extraction's log.
    ///
    /// # Errors
    /// What the tool's extractor answers. [`ExtractError::Failed`] must be treated as unknown.
    pub fn extract(
        &self,
        call: &ToolCall,
        cx: &FactContext<'_>,
    ) -> Result<Extraction, ExtractError> {
        let Some(extractor) = self.find(&call.tool) else {
            return Ok(Extraction {
                input: ToolInput::Other(call.args.clone()),
                facts: Facts::unknown(&*call.tool, "there is no extractor for this tool"),
                probe_log: ProbeLog::default(),
            });
        };
        let recording = RecordingProbe::new(cx.probe);
        let result = extractor.extract(
            &call.args,
            &FactContext {
                probe: &recording,
                linked: LinkedNames::new(),
                ..cx.clone()
            },
        );
        result.map(|extraction| Extraction {
            probe_log: recording.into_log(),
            ..extraction
        })
    }

    fn find(&self, tool: &str) -> Option<&dyn ToolPathExtractor> {
        self.built_in
            .get(tool)
            .copied()
            .or_else(|| self.registered.get(tool).map(|extractor| &**extractor))
    }
}

/// Is this the name of one of guardian's own tools? Compared without regard to case.
#[must_use]
pub fn is_reserved_tool_name(name: &str) -> bool {
    BUILT_IN
        .iter()
        .map(|extractor| name_of(*extractor))
        .any(|own| own.eq_ignore_ascii_case(name))
        || RESERVED.iter().any(|own| own.eq_ignore_ascii_case(name))
}

fn name_of(extractor: &dyn ToolPathExtractor) -> String {
    let ToolPattern::Exact(name) = extractor.tool();
    name
}
