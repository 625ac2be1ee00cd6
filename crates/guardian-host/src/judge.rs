//! Extraction and evaluation together: the one code path by which the gate,
//! `permissions.evaluate` and `guardian check` decide.

use std::collections::BTreeSet;

use guardian_facts::catalogue::Catalogue;
use guardian_facts::{
    ArgumentError, ExtractError, Extraction, ExtractorRegistry, FactContext, Facts, PathClasses,
    PathProbe, ProbeLog, RawArgs, RootPaths, ToolCall, ToolInput,
};
use guardian_rules::{
    Grant, OperatingMode, PermissionMode, SandboxState, Situation, Verdict, tool_kind, tool_risk,
};

use crate::policies::PolicyInForce;

/// Everything that turns a call into facts. Built once, shared by all calls.
pub struct Judge {
    registry: ExtractorRegistry,
    classes: PathClasses,
    catalogue: &'static Catalogue,
}

/// Who calls, as the session's row and the host's state say at this moment.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Operating mode.
    pub mode: OperatingMode,
    /// Effective permission mode.
    pub permission_mode: PermissionMode,
    /// The session's roots.
    pub roots: RootPaths,
    /// The session's grants.
    pub grants: Vec<Grant>,
    /// Name of the delegate.
    pub delegate: Option<String>,
    /// A client that shows cards is attached.
    pub attended: bool,
    /// Is a sandbox in force for calls that are proven?
    pub sandbox: SandboxState,
    /// Keys of project commands that the user accepted and whose definition is unchanged.
    pub accepted_commands: BTreeSet<String>,
}

/// What is known of the target of a Write before it is judged (SPEC §9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverwriteState {
    /// The file exists and the session never saw its content.
    pub unread: bool,
    /// A reversible snapshot of it can be taken.
    pub snapshot_possible: bool,
}

impl OverwriteState {
    /// Nothing is overwritten.
    pub const NONE: Self = Self {
        unread: false,
        snapshot_possible: true,
    };
}

/// A call that could not run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refused {
    /// Its arguments do not fit the tool (`INVALID_ARGUMENT`).
    #[error(transparent)]
    Arguments(Box<ArgumentError>),
    /// It needs a workspace (`WORKSPACE_REQUIRED`).
    #[error("the session has no project directory, which this call needs")]
    Workspace,
}

impl Judge {
    /// A judge with the built-in extractors, path classes and commands.
    #[must_use]
    pub fn builtin() -> Self {
        Self {
            registry: ExtractorRegistry::builtin(),
            classes: PathClasses::from_default(),
            catalogue: Catalogue::builtin(),
        }
    }

    /// The path classes, for what walks leave out.
    #[must_use]
    pub fn classes(&self) -> &PathClasses {
        &self.classes
    }

    /// The extractors.
    #[must_use]
    pub fn registry(&self) -> &ExtractorRegistry {
        &self.registry
    }

    /// Typed input and facts of a call. Blocking: the probe looks at the disk.
    ///
    /// A call that cannot be analysed has unknown facts, which nothing covers: it is asked about.
    ///
    /// # Errors
    /// [`Refused`] when the call could not run, whatever anybody decides.
    pub fn extract(
        &self,
        call: &ToolCall,
        roots: &RootPaths,
        probe: &dyn PathProbe,
    ) -> Result<Extraction, Refused> {
        let context = FactContext {
            roots,
            probe,
            classes: &self.classes,
            catalogue: self.catalogue,
        };
        match self.registry.extract(call, &context) {
            Ok(extraction) => Ok(extraction),
            Err(ExtractError::Argument(error)) => Err(Refused::Arguments(Box::new(error))),
            Err(ExtractError::WorkspaceRequired) => Err(Refused::Workspace),
            Err(ExtractError::Failed(reason)) => Ok(unknown(call, reason)),
        }
    }

    /// The situation of a call.
    #[must_use]
    pub fn situation(&self, tool: &str, caller: &Caller, overwrite: OverwriteState) -> Situation {
        Situation {
            mode: caller.mode,
            permission_mode: caller.permission_mode,
            roots: caller.roots.clone(),
            grants: caller.grants.clone(),
            delegate: caller.delegate.clone(),
            tool_kind: tool_kind(tool),
            tool_risk: tool_risk(tool),
            attended: caller.attended,
            sandbox: caller.sandbox,
            accepted_commands: caller.accepted_commands.clone(),
            snapshot_possible: overwrite.snapshot_possible,
            overwrites_unread: overwrite.unread,
        }
    }

    /// Decides about facts.
    #[must_use]
    pub fn decide(
        &self,
        facts: &Facts,
        caller: &Caller,
        overwrite: OverwriteState,
        policy: &PolicyInForce,
    ) -> Verdict {
        policy.evaluate(facts, &self.situation(&facts.tool, caller, overwrite))
    }
}

fn unknown(call: &ToolCall, reason: String) -> Extraction {
    Extraction {
        input: ToolInput::Other(RawArgs::new(call.args.as_object().clone())),
        facts: Facts::unknown(&call.tool, reason),
        probe_log: ProbeLog::default(),
    }
}
