//! Compiled policy: the built-in presets and the rule files of all layers (SPEC §7).

mod compile;
mod error;
mod examples;
mod file;
mod flags;
mod glob;
mod index;
mod misplaced;
mod never;
mod preset;
mod rule;
mod sensitive;
mod walks;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use guardian_facts::{Access, AccessKind, AccessSource, Facts, Scope, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evaluate::{Hit, View, implied, implied_hosts, tails};
use crate::verdict::{Cause, Decision};

pub use compile::{CompileContext, PolicyText};
pub use error::{
    ConditionError, ErrorPlace, ExampleError, ForbiddenKeyError, MisplacedKeyError, OverrideError,
    PatternError, PolicyError, PolicyErrors, RuleIdError, SyntaxError, VersionError,
};
pub use examples::{ExampleReader, check_examples};
pub use file::{RuleEffect, policy_schema};
pub use walks::WalkOver;

pub(crate) use file::{AcceptedFile, AccessName, OneOrMany, RuleFile, Tail};
pub(crate) use flags::has_flag;
pub(crate) use glob::{Case, PathGlob};
pub(crate) use preset::{PresetData, Proof};
pub(crate) use rule::{Rule, Subject, command_of, effect_name, reaches_network};
pub(crate) use words::{Certainty, is_known_by_name};

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

impl Layer {
    /// Lower-case name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Managed => "managed",
            Self::User => "user",
            Self::Workspace => "workspace",
            Self::Session => "session",
        }
    }
}

/// May a workspace file loosen? Only when the user trusted exactly its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Trust {
    /// Its allow rules do not count.
    Untrusted,
    /// Its allow rules count.
    Trusted,
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

    /// 0 = loosest.
    fn strictness(self) -> u8 {
        match self {
            Self::Balanced => 0,
            Self::Standard => 1,
            Self::Strict => 2,
        }
    }
}

/// How a newer policy compares with the one in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyChange {
    /// It decides the same.
    Same,
    /// It only tightens: applies before the next decision.
    Tightens,
    /// It loosens something: waits for the operator's confirmation.
    Loosens,
}

/// Compiled rules of all layers.
#[derive(Debug, Clone)]
pub struct Policy {
    preset: Preset,
    lifted: BTreeSet<String>,
    rules: Vec<Rule>,
    pub(crate) index: index::Index,
    ignored_allows: Vec<String>,
    accepted: Vec<AcceptedFile>,
    undecided: Vec<String>,
    version: String,
}

impl Policy {
    /// The floor and a preset, without any file.
    #[must_use]
    pub fn builtin(preset: Preset) -> Self {
        Self::assemble(
            preset,
            BTreeSet::new(),
            Vec::new(),
            Vec::new(),
            Vec::new(),
            Vec::new(),
        )
    }

    /// Compiles the texts of all layers. The preset is the managed file's, else the user's, else
    /// `default_preset`. The order of the texts and of the rules in them does not matter.
    ///
    /// `match` and `not_match` entries are not checked here: they need shell reading; see
    /// [`check_examples`].
    ///
    /// # Errors
    /// Everything that is wrong with any text; nothing is compiled then, so that the caller keeps
    /// the last good version in force (SPEC §7.2).
    pub fn compile(
        texts: &[PolicyText],
        default_preset: Preset,
        cx: &CompileContext<'_>,
    ) -> Result<Self, PolicyErrors> {
        let mut errors = Vec::new();
        let mut preset: BTreeMap<Layer, Preset> = BTreeMap::new();
        let mut lifted = BTreeSet::new();
        let mut rules = Vec::new();
        let mut ignored = Vec::new();
        let mut accepted = Vec::new();
        for text in texts {
            let compiled = compile::compile_text(text, cx, &mut errors);
            if let Some(found) = compiled.preset {
                preset
                    .entry(text.layer)
                    .and_modify(|known| {
                        if found.strictness() > known.strictness() {
                            *known = found;
                        }
                    })
                    .or_insert(found);
            }
            lifted.extend(compiled.overrides);
            rules.extend(compiled.rules);
            ignored.extend(compiled.ignored_allows);
            accepted.extend(compiled.accepted);
        }
        if !errors.is_empty() {
            return Err(PolicyErrors(errors));
        }
        let preset = preset.into_values().next().unwrap_or(default_preset);
        Ok(Self::assemble(
            preset,
            lifted,
            rules,
            ignored,
            accepted,
            Vec::new(),
        ))
    }

    /// The same policy with another preset in place of the files'.
    #[must_use]
    pub fn with_preset(self, preset: Preset) -> Self {
        Self::assemble(
            preset,
            self.lifted,
            self.rules,
            self.ignored_allows,
            self.accepted,
            self.undecided,
        )
    }

    /// The same policy where `layer` could not be loaded and has no last good version: everything
    /// that it would decide is asked about.
    #[must_use]
    pub fn with_unreadable_layer(self, layer: Layer) -> Self {
        let mut undecided = self.undecided;
        undecided.push(layer.name().to_owned());
        Self::assemble(
            self.preset,
            self.lifted,
            self.rules,
            self.ignored_allows,
            self.accepted,
            undecided,
        )
    }

    /// A policy of this one's preset and nothing but one user rule; `None` when it does not compile.
    pub(crate) fn with_only(
        &self,
        rule: &RuleFile,
        roots: &guardian_facts::RootPaths,
    ) -> Option<Self> {
        let cx = CompileContext {
            workspace: roots.workspace.as_deref(),
            home: &roots.home,
            probe: None,
        };
        let rule = compile::compile_user_rule(rule, &cx)?;
        let nothing = (BTreeSet::new(), Vec::new(), Vec::new(), Vec::new());
        Some(Self::assemble(
            self.preset,
            nothing.0,
            vec![rule],
            nothing.1,
            nothing.2,
            nothing.3,
        ))
    }

    fn assemble(
        preset: Preset,
        lifted: BTreeSet<String>,
        mut rules: Vec<Rule>,
        mut ignored_allows: Vec<String>,
        accepted: Vec<AcceptedFile>,
        mut undecided: Vec<String>,
    ) -> Self {
        rules.sort_by(|left, right| {
            (left.layer, &left.id, &left.fingerprint).cmp(&(
                right.layer,
                &right.id,
                &right.fingerprint,
            ))
        });
        rules.dedup_by(|left, right| {
            left.layer == right.layer
                && left.fingerprint == right.fingerprint
                && left.reason == right.reason
        });
        ignored_allows.sort();
        undecided.sort();
        undecided.dedup();
        let index = index::Index::new(&rules);
        let mut hasher = blake3::Hasher::new();
        let mut part = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        part("guardian policy 1");
        part(env!("CARGO_PKG_VERSION"));
        part(preset.name());
        lifted.iter().for_each(|id| part(id));
        part("rules");
        rules.iter().for_each(|rule| part(&rule.fingerprint));
        part("accepted");
        let mut keys: Vec<&str> = accepted
            .iter()
            .map(|accepted| accepted.key.as_str())
            .collect();
        keys.sort_unstable();
        keys.into_iter().for_each(&mut part);
        part("unreadable");
        undecided.iter().for_each(|layer| part(layer));
        let version = hasher.finalize().to_hex().to_string();
        Self {
            preset,
            lifted,
            rules,
            index,
            ignored_allows,
            accepted,
            undecided,
            version,
        }
    }

    /// The preset in force.
    #[must_use]
    pub fn preset(&self) -> Preset {
        self.preset
    }

    /// Hash of everything that the policy decides by: equal versions decide equally.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Ids of the allow rules of an untrusted workspace file, which do not count.
    #[must_use]
    pub fn ignored_allow_rules(&self) -> &[String] {
        &self.ignored_allows
    }

    /// Number of rules in force, the floor not counted.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// Keys of the commands that the user accepted for a project: what the host puts into
    /// [`crate::Situation::accepted_commands`].
    #[must_use]
    pub fn accepted_commands(&self, project: &Path) -> BTreeSet<String> {
        self.accepted
            .iter()
            .filter(|accepted| Path::new(&accepted.project) == project)
            .map(|accepted| accepted.key.clone())
            .collect()
    }

    /// A command of this text was accepted for the project: what defined it then, where that was
    /// kept. Of several the last one.
    pub(crate) fn accepted_before(&self, project: &Path, command: &str) -> Option<Option<&str>> {
        self.accepted
            .iter()
            .rev()
            .find(|accepted| Path::new(&accepted.project) == project && accepted.command == command)
            .map(|accepted| accepted.definition.as_deref())
    }

    /// Compares with a newer policy, by the rules themselves: a rule that is gone, or new, or
    /// changed counts, whether or not another one makes up for it.
    #[must_use]
    pub fn change_to(&self, newer: &Self) -> PolicyChange {
        let of = |policy: &Self, wanted: fn(RuleEffect) -> bool| -> BTreeSet<String> {
            policy
                .rules
                .iter()
                .filter(|rule| wanted(rule.effect))
                .map(|rule| rule.fingerprint.clone())
                .collect()
        };
        let allows = |effect| effect == RuleEffect::Allow;
        let tightens = |effect| effect != RuleEffect::Allow;
        let keys = |policy: &Self| -> BTreeSet<(String, String)> {
            policy
                .accepted
                .iter()
                .map(|accepted| (accepted.project.clone(), accepted.key.clone()))
                .collect()
        };
        let loosens = !of(newer, allows).is_subset(&of(self, allows))
            || !of(self, tightens).is_subset(&of(newer, tightens))
            || !newer.lifted.is_subset(&self.lifted)
            || !keys(newer).is_subset(&keys(self))
            || newer.preset.strictness() < self.preset.strictness()
            || !self
                .undecided
                .iter()
                .all(|layer| newer.undecided.contains(layer));
        if loosens {
            PolicyChange::Loosens
        } else if self.version == newer.version {
            PolicyChange::Same
        } else {
            PolicyChange::Tightens
        }
    }

    /// Rules for tests and `explain`, in the order layer, id.
    pub(crate) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The floor ask with this id was lifted by a managed or user file.
    pub(crate) fn lifts(&self, floor_rule: &str) -> bool {
        self.lifted.contains(floor_rule)
    }

    /// Layers that could not be loaded.
    pub(crate) fn undecided(&self) -> &[String] {
        &self.undecided
    }

    /// A managed or user allow rule names the sensitive path of this access.
    pub(crate) fn names_sensitive(&self, view: &View<'_>, access: &Access) -> bool {
        self.index
            .for_access(access)
            .into_iter()
            .map(|at| &self.rules[at])
            .any(|rule| {
                rule.effect == RuleEffect::Allow
                    && matches!(rule.layer, Layer::Managed | Layer::User)
                    && rule.paths.as_ref().is_some_and(|paths| {
                        sensitive::names_place(paths, access, &view.situation.roots)
                    })
                    && rule.applies(view, Subject::Access(access)) == Certainty::Yes
            })
    }

    /// Deny and ask rules that any fact sets off.
    pub(crate) fn hits(&self, view: &View<'_>) -> Vec<Hit> {
        let mut found: BTreeMap<usize, (Certainty, String)> = BTreeMap::new();
        let mut note_at_most = |at: usize, subject: Subject<'_>, most: Certainty| {
            let rule = &self.rules[at];
            if rule.effect == RuleEffect::Allow {
                return;
            }
            let certainty = rule.applies(view, subject).min(most);
            if certainty == Certainty::No {
                return;
            }
            let about = describe(view.facts, subject);
            let entry = found
                .entry(at)
                .or_insert_with(|| (certainty, about.clone()));
            if (certainty, std::cmp::Reverse(&about)) > (entry.0, std::cmp::Reverse(&entry.1)) {
                *entry = (certainty, about);
            }
        };
        for access in &implied::accesses(view.facts, &view.situation.roots) {
            for at in self.index.for_access(access) {
                note_at_most(at, Subject::Access(access), Certainty::Possible);
            }
        }
        let endpoints = if self.index.for_endpoint().is_empty() {
            Vec::new()
        } else {
            implied_hosts::endpoints(view.facts)
        };
        for endpoint in &endpoints {
            for &at in self.index.for_endpoint() {
                note_at_most(at, Subject::Endpoint(endpoint), Certainty::Possible);
            }
        }
        if self.index.has_command_rules() {
            for tail in &tails::commands(view.facts) {
                for at in self.index.for_command(&tail.command) {
                    let rule = &self.rules[at];
                    if rule.names_command() && !(tail.needs_words && rule.names_only_program()) {
                        note_at_most(at, Subject::Command(&tail.command), Certainty::Possible);
                    }
                }
                for same in &tails::same(&tail.command) {
                    for at in self.index.for_command(same) {
                        let rule = &self.rules[at];
                        if rule.names_command() && !(tail.needs_words && rule.names_only_program())
                        {
                            note_at_most(at, Subject::Command(same), Certainty::Possible);
                        }
                    }
                }
            }
            for command in &view.facts.commands {
                for same in &tails::same(command) {
                    for at in self.index.for_command(same) {
                        // what the rule says of the words as they stand goes first
                        if self.rules[at].words_threaten(command) == Certainty::No {
                            note_at_most(at, Subject::Command(same), Certainty::Yes);
                        }
                    }
                }
            }
        }
        let mut note = |at, subject| note_at_most(at, subject, Certainty::Yes);
        for at in self.index.for_call(view.tool) {
            note(at, Subject::Call);
        }
        for command in &view.facts.commands {
            for at in self.index.for_command(command) {
                note(at, Subject::Command(command));
            }
        }
        for access in &view.facts.accesses {
            for at in self.index.for_access(access) {
                note(at, Subject::Access(access));
            }
        }
        for endpoint in &view.facts.endpoints {
            for &at in self.index.for_endpoint() {
                note(at, Subject::Endpoint(endpoint));
            }
        }
        found
            .into_iter()
            .map(|(at, (certainty, about))| {
                let rule = &self.rules[at];
                let denies = rule.effect == RuleEffect::Deny;
                let decision = if denies && certainty == Certainty::Yes {
                    Decision::Deny
                } else {
                    Decision::Ask
                };
                let verb = match (denies, certainty) {
                    (true, Certainty::Yes) => "denies",
                    (true, _) => "might deny",
                    (false, _) => "asks about",
                };
                let mut reason = format!(
                    "the rule `{}` of the {} policy {verb} {about}",
                    rule.id,
                    rule.layer.name()
                );
                if let Some(text) = &rule.reason {
                    reason.push_str(": ");
                    reason.push_str(text);
                }
                Hit {
                    rule: rule.id.clone(),
                    decision,
                    cause: Cause::Rule(rule.id.clone()),
                    reason,
                    human_only: false,
                }
            })
            .collect()
    }

    /// The allow rule that covers a command's argv.
    pub(crate) fn covers_command(&self, view: &View<'_>, number: usize) -> Option<&Rule> {
        let command = view.facts.commands.get(number)?;
        self.allowing(
            self.index.for_command(command),
            view,
            Subject::Command(command),
        )
    }

    /// The allow rule that names an access.
    pub(crate) fn covers_access(&self, view: &View<'_>, access: &Access) -> Option<&Rule> {
        if let Some(rule) =
            self.allowing(self.index.for_access(access), view, Subject::Access(access))
        {
            return Some(rule);
        }
        match access.source {
            // a command rule covers what its command's own words touch inside the roots
            AccessSource::Command(number)
                if is_ordinary_inside(access) || is_the_program(view.facts, access, number) =>
            {
                self.covers_command(view, number)
            }
            _ => None,
        }
    }

    /// The allow rule that names an endpoint.
    pub(crate) fn covers_endpoint(&self, view: &View<'_>, number: usize) -> Option<&Rule> {
        let endpoint = view.facts.endpoints.get(number)?;
        self.allowing(
            self.index.for_endpoint().to_vec(),
            view,
            Subject::Endpoint(endpoint),
        )
        .or_else(|| {
            endpoint
                .command
                .and_then(|command| self.covers_command(view, command))
        })
    }

    /// The allow rule that names the tool as a whole.
    pub(crate) fn covers_call(&self, view: &View<'_>) -> Option<&Rule> {
        self.allowing(self.index.for_call(view.tool), view, Subject::Call)
    }

    fn allowing(
        &self,
        candidates: Vec<usize>,
        view: &View<'_>,
        subject: Subject<'_>,
    ) -> Option<&Rule> {
        candidates
            .into_iter()
            .map(|at| &self.rules[at])
            .find(|rule| {
                rule.effect == RuleEffect::Allow && rule.applies(view, subject) == Certainty::Yes
            })
    }
}

/// Inside the roots and of no class.
fn is_ordinary_inside(access: &Access) -> bool {
    match &access.target {
        Target::Exact(path) => {
            matches!(path.scope, Scope::Workspace | Scope::Scratch)
                && path.sensitivity.is_ordinary()
        }
        Target::Pattern {
            base,
            may_match,
            pattern,
            ..
        } => {
            !crate::evaluate::cover::climbs(pattern)
                && matches!(base.scope, Scope::Workspace | Scope::Scratch)
                && base.sensitivity.is_ordinary()
                && may_match.is_ordinary()
        }
        Target::Unknown { .. } => false,
    }
}

/// The access is the execution of the command's own program.
fn is_the_program(facts: &Facts, access: &Access, number: usize) -> bool {
    access.kind == AccessKind::Execute
        && facts
            .commands
            .get(number)
            .and_then(|command| command.program.path.as_ref())
            .is_some_and(|program| access.exact().is_some_and(|path| path.path == program.path))
}

/// A fact in a few words.
pub(crate) fn describe(facts: &Facts, subject: Subject<'_>) -> String {
    match subject {
        Subject::Call => facts.tool.clone(),
        Subject::Command(command) => format!("`{}`", command.display()),
        Subject::Access(access) => {
            let verb = match access.kind {
                AccessKind::Read => "reading",
                AccessKind::List => "listing",
                AccessKind::Write => "changing",
                AccessKind::Delete => "deleting",
                AccessKind::Execute => "running",
            };
            format!("{verb} `{}`", crate::evaluate::cover::target_text(access))
        }
        Subject::Endpoint(endpoint) => match &endpoint.host {
            Some(host) => format!("reaching `{host}`"),
            None => "reaching a host that is not known".to_owned(),
        },
    }
}
