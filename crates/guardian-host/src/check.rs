//! Deciding without running: `permissions.evaluate` and `guardian check`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use guardian_facts::{Effects, Extraction, Facts, RawArgs, Reading, RootPaths, ToolCall};
use guardian_review::answer::word;
use guardian_rules::{
    Decision, OperatingMode, PermissionMode, Preset, SandboxState, ToolKind, Verdict, mode_refusal,
    tool_kind,
};
use guardian_store::{AuditEntry, AuditEvent, Durability, Store, StoreOptions};
use guardian_tools::{RealProbe, ToolFailure};
use serde_json::{Value, json};

use crate::blocking::blocking;
use crate::config::HostConfig;
use crate::confinement::SandboxHere;
use crate::control::{AGENT_RULE, AgentStanding, ControlCall};
use crate::delegates::DelegateRefusal;
use crate::error::{ErrorCode, HostError};
use crate::host::{Host, store_error};
use crate::judge::{Caller, Judge, OverwriteState, Refused};
use crate::outcome::ToolRequest;
use crate::policies::{CheckPolicy, CheckedPolicy, Policies, PolicyInForce, PolicyLayer};
use crate::sessions::SessionRuntime;
use crate::{scratch, words};

/// What would be decided about a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckReport {
    /// `allow`, `ask` or `deny`.
    pub decision: String,
    /// The most telling cause.
    pub cause: String,
    /// Ids of the rules that decided.
    pub decided_by: Vec<String>,
    /// Sentences for people.
    pub reasons: Vec<String>,
    /// What a human could answer.
    pub allowed_decisions: Vec<String>,
    /// What the call would do, in one line.
    pub summary: String,
    /// `complete` or `partial`.
    pub reading: &'static str,
    /// `known` or `opaque`.
    pub effects: &'static str,
    /// Code of SPEC §17, when the call would end with one before anybody is asked: before any
    /// decision (then the decision here is `deny`), or because its target cannot be worked on.
    pub error_code: Option<String>,
    /// The facts in their versioned form, where they were asked for.
    pub facts: Option<Value>,
}

impl CheckReport {
    fn decided(facts: &Facts, verdict: &Verdict) -> Self {
        let opaque = facts.reading == Reading::Partial
            || facts
                .commands
                .iter()
                .any(|command| command.effects_known == Effects::Opaque);
        Self {
            decision: words::decision(verdict.decision).to_owned(),
            cause: verdict.cause.wire_name(),
            decided_by: verdict.decided_by.clone(),
            reasons: verdict.reasons.clone(),
            allowed_decisions: verdict
                .allowed_decisions
                .iter()
                .map(|one| word(*one).to_owned())
                .collect(),
            summary: facts.summary.clone(),
            reading: match facts.reading {
                Reading::Complete => "complete",
                Reading::Partial => "partial",
            },
            effects: if opaque { "opaque" } else { "known" },
            error_code: None,
            facts: None,
        }
    }

    /// The same, asked about for one more reason.
    fn asked_by(self, rule: &str, reason: String) -> Self {
        if self.decision != words::decision(Decision::Allow) {
            return self;
        }
        Self {
            decision: words::decision(Decision::Ask).to_owned(),
            cause: format!("rule:{rule}"),
            decided_by: vec![rule.to_owned()],
            reasons: vec![reason],
            allowed_decisions: vec!["allow-once".to_owned(), "deny".to_owned()],
            ..self
        }
    }

    /// A call that ends with an error code before anything is decided: it would not run.
    fn refused(code: ErrorCode, cause: &str, message: String) -> Self {
        Self {
            decision: "deny".to_owned(),
            cause: cause.to_owned(),
            decided_by: Vec::new(),
            summary: message.clone(),
            reasons: vec![message],
            allowed_decisions: Vec::new(),
            reading: "partial",
            effects: "opaque",
            error_code: Some(code.as_str().to_owned()),
            facts: None,
        }
    }

    /// The same, for a call that ends with a failure before anybody is asked.
    fn ended_by(mut self, failure: &ToolFailure) -> Self {
        self.reasons.push(failure.message.clone());
        self.error_code = Some(failure.code.as_str().to_owned());
        self
    }

    /// The report as `guardian check --json` prints it.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "decision": self.decision,
            "cause": self.cause,
            "decidedBy": self.decided_by,
            "allowedDecisions": self.allowed_decisions,
            "summary": self.summary,
            "reading": self.reading,
            "effects": self.effects,
            "reasons": self.reasons,
        });
        if let Some(code) = &self.error_code {
            value["errorCode"] = code.clone().into();
        }
        value
    }
}

impl Host {
    /// Exactly what [`Host::execute`] would decide about this call now, without side effects.
    ///
    /// # Errors
    /// `SESSION_NOT_FOUND`, `INTERNAL`.
    pub async fn evaluate(
        self: &Arc<Self>,
        request: ToolRequest,
    ) -> Result<CheckReport, HostError> {
        let session = self.session(&request.session_id).await?;
        let caller = self.caller(&session, &request.tool_name).await;
        let policy = self.policy_of(&session).await?;
        let tool = request.tool_name.clone();
        if let Some(report) = refused_by_mode(caller.mode, &tool) {
            return Ok(report);
        }
        let mut caller = caller;
        if let Some(id) = &request.delegate_id {
            match self.delegate_of(&session, id, &tool).await? {
                Ok(delegate) => caller.delegate = Some(delegate.name),
                Err(refusal) => {
                    return Ok(CheckReport::refused(
                        ErrorCode::ToolDenied,
                        DelegateRefusal::CAUSE,
                        refusal.0,
                    ));
                }
            }
        }
        let needs_workspace = crate::gate::needs_workspace(&tool);
        if needs_workspace && session.roots.workspace.is_none() {
            let message = format!("{tool} needs a project directory, and this session has none");
            return Ok(CheckReport::refused(
                ErrorCode::WorkspaceRequired,
                "workspace_required",
                message,
            ));
        }
        if !crate::tools_list::has_body(&tool) {
            let message = format!("there is no tool `{tool}`");
            return Ok(CheckReport::refused(
                ErrorCode::ToolNotFound,
                "tool",
                message,
            ));
        }
        if !crate::control::is_alone(&request) {
            return Ok(CheckReport::refused(
                ErrorCode::ControlToolNotAlone,
                "batch",
                crate::control::not_alone(&tool),
            ));
        }
        let agent = (tool == "Task")
            .then(|| request.args.get("agent").and_then(Value::as_str))
            .flatten();
        let unseen = match agent {
            Some(agent) => match self.agent_standing(&session, agent).await? {
                AgentStanding::Unknown(message) => {
                    let code = ErrorCode::InvalidArgument;
                    return Ok(CheckReport::refused(code, "arguments", message));
                }
                AgentStanding::Unseen(reason) => Some(reason),
                AgentStanding::Known => None,
            },
            None => None,
        };
        let (host, runtime) = (Arc::clone(self), self.runtime(&request.session_id));
        let report = blocking(move || {
            let overwrite = |facts: &Facts| crate::gate::overwrite_state(&runtime, facts, None);
            let by = By {
                judge: &host.judge,
                probe: &host.probe,
                policy: &policy,
                caller: &caller,
                here: None,
                facts: FactsShown::Yes,
            };
            let looked = match by.look(&tool, &request.args, &overwrite) {
                Ok(looked) => looked,
                Err(refused) => return *refused,
            };
            let report = by.report(&looked);
            if looked.verdict.decision != Decision::Ask {
                return report;
            }
            // Nobody is asked about a call that cannot run.
            match host.ends_before_asking(&runtime, &by, &policy, looked) {
                Some(failure) => report.ended_by(&failure),
                None => report,
            }
        })
        .await
        .map_err(|_| HostError::internal("the call could not be analysed"))?;
        Ok(match unseen {
            Some(reason) => report.asked_by(AGENT_RULE, reason),
            None => report,
        })
    }
}

impl Host {
    /// The failure with which the gate ends a call of a file tool before it asks anybody. Looks
    /// at the target as [`Host::execute`] does; changes nothing. Blocking.
    fn ends_before_asking(
        self: &Arc<Self>,
        runtime: &Arc<SessionRuntime>,
        by: &By<'_>,
        policy: &Arc<PolicyInForce>,
        looked: Looked,
    ) -> Option<ToolFailure> {
        let Extraction { input, facts, .. } = looked.extraction;
        if ControlCall::of(&input).is_some() {
            return None;
        }
        let roots = &by.caller.roots;
        let tried = runtime
            .roots(roots)
            .and_then(|roots| guardian_tools::bind(input, &facts, &roots))
            .and_then(|mut bound| {
                if let Some(failure) = bound.known_unusable() {
                    return Err(failure.clone());
                }
                if tool_kind(&looked.call.tool) == ToolKind::Change {
                    self.preview_now(runtime, roots, policy, &mut bound)?;
                }
                bound.binding().map(drop)
            });
        tried.err()
    }
}

/// The one path of checking, for a call whose tool exists or belongs to somebody else.
struct By<'a> {
    judge: &'a Judge,
    probe: &'a RealProbe,
    policy: &'a PolicyInForce,
    caller: &'a Caller,
    /// Asked only where the answer would change the decision.
    here: Option<&'a SandboxHere>,
    facts: FactsShown,
}

/// A call that was extracted and decided about.
struct Looked {
    call: ToolCall,
    extraction: Extraction,
    verdict: Verdict,
}

/// Are the facts part of the report? To write them out is more work than to decide.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FactsShown {
    Yes,
    No,
}

impl By<'_> {
    /// Extracts and decides, once.
    ///
    /// # Errors
    /// The report of a call that ends before anything is decided.
    fn look(
        &self,
        tool: &str,
        args: &Value,
        overwrite: &dyn Fn(&Facts) -> OverwriteState,
    ) -> Result<Looked, Box<CheckReport>> {
        let Value::Object(args) = args else {
            let message = "the arguments must be a JSON object".to_owned();
            let code = ErrorCode::InvalidArgument;
            return Err(Box::new(CheckReport::refused(code, "arguments", message)));
        };
        let call = ToolCall {
            tool: tool.to_owned(),
            args: RawArgs::new(args.clone()),
        };
        let extraction = match self.judge.extract(&call, &self.caller.roots, self.probe) {
            Ok(extraction) => extraction,
            Err(error @ Refused::Workspace) => {
                let code = ErrorCode::WorkspaceRequired;
                let message = error.to_string();
                let refused = CheckReport::refused(code, "workspace_required", message);
                return Err(Box::new(refused));
            }
            Err(error @ Refused::Arguments(_)) => {
                let code = crate::tools_list::argument_code(tool);
                let message = error.to_string();
                return Err(Box::new(CheckReport::refused(code, "arguments", message)));
            }
        };
        let verdict = self.decide(&extraction.facts, overwrite(&extraction.facts));
        Ok(Looked {
            call,
            extraction,
            verdict,
        })
    }

    fn report(&self, looked: &Looked) -> CheckReport {
        let facts = &looked.extraction.facts;
        let mut report = CheckReport::decided(facts, &looked.verdict);
        if self.facts == FactsShown::Yes {
            report.facts = self.judge.shown_facts(&looked.call, facts);
        }
        report
    }

    fn check(
        &self,
        tool: &str,
        args: &Value,
        overwrite: &dyn Fn(&Facts) -> OverwriteState,
    ) -> CheckReport {
        match self.look(tool, args, overwrite) {
            Ok(looked) => self.report(&looked),
            Err(refused) => *refused,
        }
    }

    fn decide(&self, facts: &Facts, overwrite: OverwriteState) -> Verdict {
        let verdict = self
            .judge
            .decide(facts, self.caller, overwrite, self.policy);
        let Some(here) = self.here.filter(|_| verdict.decision == Decision::Ask) else {
            return verdict;
        };
        let confined = Caller {
            sandbox: SandboxState::Available,
            ..self.caller.clone()
        };
        let with_sandbox = self.judge.decide(facts, &confined, overwrite, self.policy);
        if with_sandbox.decision == Decision::Allow && here.state() == SandboxState::Available {
            with_sandbox
        } else {
            verdict
        }
    }
}

fn refused_by_mode(mode: OperatingMode, tool: &str) -> Option<CheckReport> {
    let refusal = mode_refusal(mode, tool, tool_kind(tool))?;
    let code = ErrorCode::named(refusal.code()).unwrap_or(ErrorCode::ToolDisabledInPlan);
    Some(CheckReport::refused(
        code,
        "contract_mode",
        refusal.reason(tool),
    ))
}

/// A directory by its canonical path: how sessions know their workspace.
///
/// # Errors
/// `INVALID_PARAMS` when there is no such directory.
pub fn canonical_directory(path: &std::path::Path) -> Result<PathBuf, HostError> {
    std::fs::canonicalize(path)
        .ok()
        .filter(|path| path.is_dir())
        .ok_or_else(|| {
            HostError::invalid_params(format!("`{}` is not a directory", path.display()))
        })
}

/// Where and how [`Checker`] checks.
#[derive(Debug, Clone)]
pub struct CheckerOptions {
    /// Project directory.
    pub workspace: PathBuf,
    /// Home directory instead of the user's.
    pub home: Option<PathBuf>,
    /// Scratch directory instead of one in the data directory.
    pub scratch: Option<PathBuf>,
    /// Policy file instead of the user's.
    pub policy: Option<PathBuf>,
    /// Preset instead of the policy's.
    pub preset: Option<Preset>,
    /// Operating mode.
    pub mode: OperatingMode,
    /// Permission mode.
    pub permission_mode: PermissionMode,
    /// Is a sandbox in force for calls that are proven harmless? `None`: as the stored setting and
    /// this machine say.
    pub sandbox: Option<SandboxState>,
    /// Nobody is there to ask.
    pub headless: bool,
    /// Write an audit row for every check.
    pub audit: bool,
}

/// Checks calls without a session (`guardian check`): the host's judge and policy, nothing run.
pub struct Checker {
    pub(crate) judge: Arc<Judge>,
    pub(crate) probe: RealProbe,
    pub(crate) policy: CheckedPolicy,
    pub(crate) caller: Caller,
    headless: bool,
    store: Option<Store>,
    /// Where the sandbox was not given: the stored setting, and what was found out.
    here: Option<SandboxHere>,
}

impl Checker {
    /// A checker.
    ///
    /// # Errors
    /// When a directory or policy file cannot be used, or the record cannot be opened.
    pub fn new(config: HostConfig, options: CheckerOptions) -> Result<Self, HostError> {
        let canonical = |path: PathBuf| {
            std::fs::canonicalize(&path).map_err(|error| {
                HostError::invalid_params(format!("`{}`: {error}", path.display()))
            })
        };
        let places = &config.places;
        // What is remembered (the preset, trust, last good versions) counts for a check too; where
        // nothing was ever remembered, none is made just for looking.
        let store = match (options.audit, Store::exists_in(&places.data_dir)) {
            (true, _) => Some(Store::open(StoreOptions::new(&places.data_dir))),
            (false, true) => Some(Store::open_to_look(StoreOptions::new(&places.data_dir))),
            (false, false) => None,
        };
        let store = store.transpose().map_err(store_error)?;
        let data_dir =
            std::fs::canonicalize(&places.data_dir).unwrap_or_else(|_| places.data_dir.clone());
        // A scratch directory that does not exist yet is compared as it is written.
        let scratch = match options.scratch {
            Some(path) => std::fs::canonicalize(&path).unwrap_or(path),
            None => scratch::directory(&data_dir, "check"),
        };
        let roots = RootPaths {
            workspace: Some(canonical(options.workspace)?),
            scratch,
            home: options.home.unwrap_or_else(|| places.home.clone()),
            guardian_data: data_dir,
            guardian_config: vec![places.config_dir.clone(), places.managed_policy.clone()],
            guardian_executables: places.executables.clone(),
        };
        let here = match options.sandbox {
            Some(_) => None,
            None => Some(SandboxHere::new(&config.user.commands, store.as_ref())?),
        };
        let judge = Arc::new(Judge::of_user(&config.user)?);
        let policy = Policies::for_check(
            places,
            Arc::clone(&judge),
            store.clone(),
            roots.workspace.as_deref(),
            CheckPolicy {
                user_file: options.policy,
                preset: options.preset,
                home: Some(roots.home.clone()),
            },
        )?;
        Ok(Self {
            judge,
            probe: RealProbe::new(),
            policy,
            caller: Caller {
                mode: options.mode,
                permission_mode: options.permission_mode,
                roots,
                grants: Vec::new(),
                delegate: None,
                attended: !options.headless,
                sandbox: options.sandbox.unwrap_or(SandboxState::Unavailable),
                accepted_commands: BTreeSet::new(),
            },
            here,
            headless: options.headless,
            store: store.filter(|_| options.audit),
        })
    }

    /// The layers of the policy that checks are made by, strongest first.
    #[must_use]
    pub fn policy_layers(&self) -> &[PolicyLayer] {
        &self.policy.layers
    }

    /// A policy file of the repository that does not count for this workspace, as a path and as a
    /// sentence.
    #[must_use]
    pub fn policy_passed_over(&self) -> Option<(PathBuf, String)> {
        let workspace = self.caller.roots.workspace.as_deref()?;
        let file = crate::policies::passed_over(workspace)?;
        let sentence = crate::policies::passed_over_sentence(&file, workspace);
        Some((file, sentence))
    }

    /// The policy that checks are made by.
    #[must_use]
    pub fn policy(&self) -> &PolicyInForce {
        &self.policy.in_force
    }

    /// Checks one call. A tool that guardian does not know is asked about: it may be the client's.
    #[must_use]
    pub fn check(&self, tool: &str, args: &Value) -> CheckReport {
        let report = self.decide(tool, args);
        self.record(tool, args, &report);
        report
    }

    pub(crate) fn sandbox_here(&self) -> Option<&SandboxHere> {
        self.here.as_ref()
    }

    pub(crate) fn decide(&self, tool: &str, args: &Value) -> CheckReport {
        let mut report = refused_by_mode(self.caller.mode, tool).unwrap_or_else(|| {
            let by = By {
                judge: &self.judge,
                probe: &self.probe,
                policy: &self.policy.in_force,
                caller: &self.caller,
                here: self.here.as_ref(),
                facts: FactsShown::No,
            };
            // Nothing is known of what a session has read: no claim either way.
            by.check(tool, args, &|_| OverwriteState::NONE)
        });
        if self.headless && report.decision == words::decision(Decision::Ask) {
            report.decision = words::decision(Decision::Deny).to_owned();
            report.cause = "reviewer_required".to_owned();
            report.allowed_decisions.clear();
        }
        report
    }

    fn record(&self, tool: &str, args: &Value, report: &CheckReport) {
        let Some(store) = &self.store else { return };
        let entry = AuditEntry {
            tool: Some(tool.to_owned()),
            args_hash: store.args_hash(tool, args).ok(),
            facts_summary: Some(report.summary.clone()),
            decision: decision_named(&report.decision),
            cause: Some(report.cause.clone()),
            rule_ids: report.decided_by.clone(),
            policy_version: Some(self.policy.in_force.version().to_owned()),
            ..AuditEntry::new(AuditEvent::Other("check".to_owned()))
        };
        if let Err(error) = store.append_audit(entry, Durability::Process) {
            tracing::warn!(%error, "a check could not be recorded");
        }
    }
}

fn decision_named(name: &str) -> Option<Decision> {
    [Decision::Allow, Decision::Ask, Decision::Deny]
        .into_iter()
        .find(|one| words::decision(*one) == name)
}
