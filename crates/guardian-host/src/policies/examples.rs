//! `match` and `not_match` of rules, read by the real extraction in a place of their own: what a
//! file says of itself does not depend on the disk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use guardian_facts::{Facts, MemoryProbe, RawArgs, RootPaths, ToolCall};
use guardian_rules::{ExampleReader, OperatingMode, PermissionMode, SandboxState, Situation};
use serde_json::{Value, json};

use crate::judge::{Caller, Judge, OverwriteState};

/// Reads examples: a command for `Bash`, a path for file tools, JSON arguments for other tools.
pub(super) struct Examples<'j> {
    judge: &'j Judge,
    probe: MemoryProbe,
    roots: RootPaths,
}

impl<'j> Examples<'j> {
    /// In an empty project that is called like the workspace.
    pub(super) fn new(judge: &'j Judge, workspace: Option<&Path>, home: &Path) -> Self {
        let workspace = workspace.map_or_else(|| PathBuf::from("/workspace"), Path::to_owned);
        let scratch = PathBuf::from("/guardian-examples/scratch");
        let probe = MemoryProbe::new()
            .directory(home)
            .directory(&workspace)
            .directory(&scratch)
            .directory("/tmp")
            .directory("/etc")
            .special("/dev/null");
        let roots = RootPaths {
            workspace: Some(workspace),
            scratch,
            home: home.to_owned(),
            guardian_data: "/guardian-examples".into(),
            guardian_config: Vec::new(),
            guardian_executables: Vec::new(),
        };
        Self {
            judge,
            probe,
            roots,
        }
    }

    /// The project that the examples are read in.
    pub(super) fn workspace(&self) -> &Path {
        self.roots.workspace.as_deref().unwrap_or(&self.roots.home)
    }

    fn arguments(tool: &str, text: &str) -> Result<Value, String> {
        Ok(match tool {
            "Bash" => json!({ "command": text }),
            "Read" | "BrowserPreview" => json!({ "path": text }),
            "Write" => json!({ "path": text, "content": "" }),
            "Edit" => json!({ "path": text, "old_string": "a", "new_string": "b" }),
            "Glob" => json!({ "pattern": "*", "path": text }),
            "Grep" => json!({ "pattern": "x", "path": text }),
            _ => serde_json::from_str(text)
                .map_err(|error| format!("the arguments of {tool} are not JSON: {error}"))?,
        })
    }
}

impl ExampleReader for Examples<'_> {
    fn read(&self, tool: &str, text: &str) -> Result<(Facts, Situation), String> {
        let Value::Object(args) = Self::arguments(tool, text)? else {
            return Err("the arguments are not a JSON object".to_owned());
        };
        let call = ToolCall {
            tool: tool.to_owned(),
            args: RawArgs::new(args),
        };
        let extraction = self
            .judge
            .extract(&call, &self.roots, &self.probe)
            .map_err(|error| error.to_string())?;
        let caller = Caller {
            mode: OperatingMode::Agent,
            permission_mode: PermissionMode::Ask,
            roots: self.roots.clone(),
            grants: Vec::new(),
            delegate: None,
            attended: true,
            sandbox: SandboxState::Unavailable,
            accepted_commands: BTreeSet::new(),
        };
        let situation = self.judge.situation(tool, &caller, OverwriteState::NONE);
        Ok((extraction.facts, situation))
    }
}
