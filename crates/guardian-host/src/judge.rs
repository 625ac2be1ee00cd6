//! Extraction and evaluation together: the one code path by which the gate,
//! `permissions.evaluate` and `guardian check` decide.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{PoisonError, RwLock};

use guardian_facts::catalogue::Catalogue;
use guardian_facts::defaults::FactsExtension;
use guardian_facts::{
    ArgumentError, DeclaredExtractor, ExtractError, Extraction, ExtractorRegistry, FactContext,
    Facts, FactsV1, LinkedNames, PathClasses, PathProbe, ProbeLog, RawArgs, RegisterError,
    RootPaths, Scope, ToolCall, ToolInput,
};
use guardian_redact::{CarriedSecrets, Redactor};
use guardian_rules::{
    Cause, Decision, Grant, OperatingMode, PermissionMode, SandboxState, Situation, ToolRisk,
    Verdict, tool_kind, tool_risk,
};

use serde_json::Value;

use crate::carried;
use crate::config::UserConfig;
use crate::error::{ErrorCode, HostError};
use crate::policies::PolicyInForce;

/// Everything that turns a call into facts. Built once, shared by all calls.
pub struct Judge {
    tools: RwLock<Tools>,
    classes: PathClasses,
    catalogue: Commands,
    /// Hash of what the user's configuration adds; part of the policy's version.
    own: Option<String>,
    redactor: Redactor,
}

/// What is known of programs.
enum Commands {
    Builtin,
    /// With entries of the user.
    Extended(Box<Catalogue>),
}

/// The tools that facts are known of.
struct Tools {
    registry: ExtractorRegistry,
    declared: Vec<DeclaredTool>,
    risks: BTreeMap<String, ToolRisk>,
    /// Hash of what was declared; part of the policy's version.
    digest: Option<String>,
}

/// What a client declared about one of its tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredTool {
    /// Where in its arguments what it touches stands.
    pub extractor: DeclaredExtractor,
    /// Medium or high.
    pub risk: ToolRisk,
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
            tools: RwLock::new(Tools {
                registry: ExtractorRegistry::builtin(),
                declared: Vec::new(),
                risks: BTreeMap::new(),
                digest: None,
            }),
            classes: PathClasses::from_default(),
            catalogue: Commands::Builtin,
            own: None,
            redactor: Redactor::builtin(),
        }
    }

    /// A judge with what the user's configuration adds: path classes, and entries for programs.
    ///
    /// # Errors
    /// `INVALID_PARAMS` for an entry or a pattern that cannot be used.
    pub fn of_user(config: &UserConfig) -> Result<Self, HostError> {
        let mut judge = Self::builtin();
        let wrong = |error: &dyn std::fmt::Display| HostError::invalid_params(error.to_string());
        if config.facts != FactsExtension::default() {
            judge.classes = config.path_classes().map_err(|error| wrong(&error))?;
        }
        if let Some(catalogue) = config.catalogue().map_err(|error| wrong(&error))? {
            judge.catalogue = Commands::Extended(Box::new(catalogue));
        }
        if config.facts != FactsExtension::default() || !config.programs.is_empty() {
            let added = format!("{:?}\n{:?}", config.facts, config.programs);
            judge.own = Some(blake3::hash(added.as_bytes()).to_hex().to_string());
        }
        Ok(judge)
    }

    /// The same, with a redactor that knows more secrets.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// The path classes, for what walks leave out.
    #[must_use]
    pub fn classes(&self) -> &PathClasses {
        &self.classes
    }

    /// Number of tools that were declared.
    #[must_use]
    pub fn declared(&self) -> usize {
        self.read().declared.len()
    }

    /// Adds declared tools: all of them, or none. Returns how many there are now. Who may do so,
    /// and when, is the host's to check.
    ///
    /// # Errors
    /// `CONFLICT` for a name that is declared already, `INVALID_PARAMS` for one that nobody may
    /// take or that is no tool name.
    pub fn declare(&self, more: Vec<DeclaredTool>) -> Result<usize, HostError> {
        let mut tools = self.tools.write().unwrap_or_else(PoisonError::into_inner);
        let mut declared = tools.declared.clone();
        declared.extend(more);
        let mut registry = ExtractorRegistry::builtin();
        let mut risks = BTreeMap::new();
        let mut hasher = blake3::Hasher::new();
        for (index, tool) in declared.iter().enumerate() {
            registry
                .register(Box::new(tool.extractor.clone()))
                .map_err(|error| {
                    let code = match error {
                        RegisterError::Duplicate(_) => ErrorCode::Conflict,
                        _ => ErrorCode::InvalidParams,
                    };
                    let index = index.saturating_sub(tools.declared.len());
                    HostError::new(code, error.to_string())
                        .with("pointer", format!("/tools/{index}/name"))
                })?;
            risks.insert(tool.extractor.tool.clone(), tool.risk);
            hasher.update(format!("{tool:?}\n").as_bytes());
        }
        let count = declared.len();
        *tools = Tools {
            registry,
            declared,
            risks,
            digest: (count > 0).then(|| hasher.finalize().to_hex().to_string()),
        };
        Ok(count)
    }

    /// Version of a policy together with what was declared about tools and what the user's
    /// configuration adds: equal versions decide equally.
    #[must_use]
    pub fn version(&self, policy: &PolicyInForce) -> String {
        let tools = self.read();
        let more: Vec<&String> = tools.digest.iter().chain(&self.own).collect();
        if more.is_empty() {
            return policy.version().to_owned();
        }
        let mut all = policy.version().to_owned();
        for digest in more {
            all.push('\n');
            all.push_str(digest);
        }
        blake3::hash(all.as_bytes()).to_hex().to_string()
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Tools> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Typed input and facts of a call. Blocking: the probe looks at the disk.
    ///
    /// Sentences of the facts are without secrets; words and paths are as the call has them.
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
        let (extraction, _) = self.extract_call(call, roots, probe)?;
        Ok(extraction)
    }

    /// [`Self::extract`], with the secrets that the call carries: whoever says something about the
    /// call need not look for them again.
    pub(crate) fn extract_call(
        &self,
        call: &ToolCall,
        roots: &RootPaths,
        probe: &dyn PathProbe,
    ) -> Result<(Extraction, CarriedSecrets), Refused> {
        let context = self.context(roots, probe);
        let mut extraction = match self.read().registry.extract(call, &context) {
            Ok(extraction) => extraction,
            Err(ExtractError::Argument(error)) => return Err(Refused::Arguments(Box::new(error))),
            Err(ExtractError::WorkspaceRequired) => return Err(Refused::Workspace),
            Err(ExtractError::Failed(reason)) => unknown(call, reason),
        };
        let carried = carried::of_call(&self.redactor, call, &extraction.facts);
        carried::hide_in_sentences(&self.redactor, &carried, &mut extraction.facts);
        Ok((extraction, carried))
    }

    /// The facts of a call as anybody may see them.
    pub(crate) fn shown_facts(&self, call: &ToolCall, facts: &Facts) -> Option<Value> {
        let value = serde_json::to_value(FactsV1::from(facts)).ok()?;
        let carried = carried::of_call(&self.redactor, call, facts);
        Some(self.redactor.redact_value(&carried.hide_value(&value)))
    }

    /// The context in which paths of these roots are placed.
    pub(crate) fn context<'a>(
        &'a self,
        roots: &'a RootPaths,
        probe: &'a dyn PathProbe,
    ) -> FactContext<'a> {
        FactContext {
            roots,
            probe,
            classes: &self.classes,
            catalogue: match &self.catalogue {
                Commands::Builtin => Catalogue::builtin(),
                Commands::Extended(catalogue) => catalogue,
            },
            linked: LinkedNames::new(),
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
            tool_risk: self.risk(tool),
            attended: caller.attended,
            sandbox: caller.sandbox,
            accepted_commands: caller.accepted_commands.clone(),
            snapshot_possible: overwrite.snapshot_possible,
            overwrites_unread: overwrite.unread,
        }
    }

    /// The risk of a tool: declared, or its own.
    #[must_use]
    pub fn risk(&self, tool: &str) -> ToolRisk {
        let declared = self.read().risks.get(tool).copied();
        declared.map_or_else(|| tool_risk(tool), |risk| risk.max(tool_risk(tool)))
    }

    /// Decides about facts. Reasons are without secrets.
    #[must_use]
    pub fn decide(
        &self,
        facts: &Facts,
        caller: &Caller,
        overwrite: OverwriteState,
        policy: &PolicyInForce,
    ) -> Verdict {
        let mut verdict = policy.evaluate(facts, &self.situation(&facts.tool, caller, overwrite));
        let carried = carried::of_facts(&self.redactor, facts);
        for reason in &mut verdict.reasons {
            carried::hide(&self.redactor, &carried, reason);
        }
        match not_shown(facts) {
            Some((cause, reason)) => Verdict {
                decision: Decision::Deny,
                decided_by: vec!["preview".to_owned()],
                reasons: vec![reason.to_owned()],
                allowed_decisions: Vec::new(),
                session_grant: None,
                cause,
                ..verdict
            },
            None => verdict,
        }
    }
}

/// Why BrowserPreview does not show the file, whatever policy says: it is secret, or none of the
/// workspace (SPEC §13.4).
fn not_shown(facts: &Facts) -> Option<(Cause, &'static str)> {
    if facts.tool != "BrowserPreview" {
        return None;
    }
    let file = facts.accesses.iter().find_map(|access| access.exact());
    match file {
        Some(file) if file.sensitivity.secret => {
            Some((Cause::SecretFile, "a secret file is not shown in a browser"))
        }
        Some(file) if file.scope == Scope::Workspace => None,
        _ => Some((
            Cause::PathOutsideWorkspace,
            "only files of the workspace are shown in a browser",
        )),
    }
}

fn unknown(call: &ToolCall, reason: String) -> Extraction {
    Extraction {
        input: ToolInput::Other(RawArgs::new(call.args.as_object().clone())),
        facts: Facts::unknown(&call.tool, reason),
        probe_log: ProbeLog::default(),
    }
}
