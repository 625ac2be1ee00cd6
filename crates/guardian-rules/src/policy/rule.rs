//! One compiled rule, and whether it applies to a fact.

use std::collections::BTreeSet;

use guardian_facts::command::{Effect, Effects};
use guardian_facts::{
    Access, AccessKind, AccessSource, CommandFact, Endpoint, Facts, Scope, Sensitivity, Target,
};

use super::file::{ClassName, EffectName, RuleEffect, ScopeName, TouchName};
use super::flags::{gives_flag, has_flag};
use super::glob::{Case, PathGlob, TextGlob};
use super::words::{Certainty, CommandPattern, ProgramPattern};
use crate::evaluate::{View, tails};
use crate::{Layer, OperatingMode, PermissionMode};

/// What kind of fact a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SubjectKind {
    /// The call as a whole.
    Call,
    /// A command.
    Command,
    /// An access.
    Access,
    /// A network endpoint.
    Endpoint,
}

/// A fact that a rule is tried on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject<'a> {
    Call,
    Command(&'a CommandFact),
    Access(&'a Access),
    Endpoint(&'a Endpoint),
}

/// A compiled rule.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) id: String,
    pub(crate) layer: Layer,
    pub(crate) effect: RuleEffect,
    pub(crate) reason: Option<String>,
    pub(crate) subject: SubjectKind,
    pub(crate) tools: Option<Vec<TextGlob>>,
    /// Access kinds that file tools named in `tool` stand for, when the rule has paths.
    pub(crate) tool_kinds: Vec<AccessKind>,
    pub(crate) command: Option<CommandPattern>,
    pub(crate) programs: Option<ProgramPattern>,
    pub(crate) flags: Option<Vec<String>>,
    pub(crate) does: Option<Vec<Effect>>,
    pub(crate) access: Option<Vec<AccessKind>>,
    pub(crate) paths: Option<Vec<PathGlob>>,
    pub(crate) scope: Option<Vec<ScopeName>>,
    pub(crate) sensitivity: Option<Vec<ClassName>>,
    pub(crate) hosts: Option<Vec<TextGlob>>,
    pub(crate) delegates: Option<Vec<TextGlob>>,
    pub(crate) modes: Option<Vec<OperatingMode>>,
    pub(crate) permission_modes: Option<Vec<PermissionMode>>,
    pub(crate) when: Option<When>,
    pub(crate) unless: Option<Unless>,
    /// Canonical text of the rule: equal texts decide equally.
    pub(crate) fingerprint: String,
}

/// Compiled `when`.
#[derive(Debug, Clone)]
pub(crate) struct When {
    pub(crate) reads: Option<Vec<TouchName>>,
    pub(crate) writes: Option<Vec<TouchName>>,
    pub(crate) deletes: Option<Vec<TouchName>>,
    pub(crate) network: Option<bool>,
    pub(crate) does: Option<Vec<Effect>>,
    pub(crate) opaque: Option<bool>,
}

/// Compiled `unless`.
#[derive(Debug, Clone)]
pub(crate) struct Unless {
    pub(crate) flags: Option<Vec<String>>,
    pub(crate) paths: Option<Vec<PathGlob>>,
    pub(crate) does: Option<Vec<Effect>>,
    pub(crate) hosts: Option<Vec<TextGlob>>,
}

impl Rule {
    /// Does the rule apply to this fact? Allow rules answer `Yes` or `No` only.
    pub(crate) fn applies(&self, view: &View<'_>, subject: Subject<'_>) -> Certainty {
        let strict = self.effect == RuleEffect::Allow;
        let mut certainty = self.applies_to_call(view, subject);
        if certainty == Certainty::No {
            return Certainty::No;
        }
        certainty = certainty.min(match (self.subject, subject) {
            (SubjectKind::Call, Subject::Call) => Certainty::Yes,
            (SubjectKind::Command, Subject::Command(command)) => {
                self.applies_to_command(view, command)
            }
            (SubjectKind::Access, Subject::Access(access)) => self.applies_to_access(view, access),
            (SubjectKind::Endpoint, Subject::Endpoint(endpoint)) => {
                self.applies_to_endpoint(view, endpoint)
            }
            _ => Certainty::No,
        });
        if certainty == Certainty::Possible && strict {
            Certainty::No
        } else {
            certainty
        }
    }

    /// The conditions that the call as a whole must meet.
    fn applies_to_call(&self, view: &View<'_>, subject: Subject<'_>) -> Certainty {
        let situation = view.situation;
        let case = match self.effect {
            RuleEffect::Allow => Case::Exact,
            RuleEffect::Ask | RuleEffect::Deny => Case::Fold,
        };
        let tool = self.tools.as_ref().is_none_or(|tools| {
            tools.iter().any(|tool| tool.matches(view.tool, case))
                || matches!(subject, Subject::Access(access) if self.tool_kinds.contains(&access.kind))
        });
        let mode = self
            .modes
            .as_ref()
            .is_none_or(|modes| modes.contains(&situation.mode));
        let permission_mode = self
            .permission_modes
            .as_ref()
            .is_none_or(|modes| modes.contains(&situation.permission_mode));
        let delegate = self.delegates.as_ref().is_none_or(|names| {
            situation.delegate.as_ref().is_some_and(|delegate| {
                names.iter().any(|name| name.matches(delegate, Case::Exact))
            })
        });
        if !(tool && mode && permission_mode && delegate) {
            return Certainty::No;
        }
        self.when
            .as_ref()
            .map_or(Certainty::Yes, |when| when.holds(view.facts, self.effect))
    }

    fn applies_to_command(&self, view: &View<'_>, command: &CommandFact) -> Certainty {
        let strict = self.effect == RuleEffect::Allow;
        let roots = &view.situation.roots;
        let mut certainty = Certainty::Yes;
        if let Some(pattern) = &self.command {
            certainty = certainty.min(if strict {
                pattern.covers(command, roots).into()
            } else {
                pattern.threatens(command)
            });
        }
        if let Some(programs) = &self.programs {
            certainty = certainty.min(if strict {
                programs.covers(&command.program, roots).into()
            } else {
                programs.threatens(&command.program)
            });
        }
        if let Some(flags) = &self.flags {
            certainty = certainty.min(if strict {
                gives_flag(command, flags)
            } else {
                has_flag(command, flags)
            });
        }
        if let Some(does) = &self.does {
            certainty = certainty.min(if strict {
                (command.effects_known == Effects::Known
                    && command.effects.iter().all(|effect| does.contains(effect)))
                .into()
            } else {
                command
                    .effects
                    .iter()
                    .any(|effect| does.contains(effect))
                    .into()
            });
        }
        let Some(unless) = self.unless.as_ref().filter(|_| certainty != Certainty::No) else {
            return certainty;
        };
        match (unless.holds_of_command(command, strict), strict) {
            (Certainty::Yes, _) | (Certainty::Possible, true) => Certainty::No,
            (Certainty::Possible, false) => certainty.min(Certainty::Possible),
            (Certainty::No, _) => certainty,
        }
    }

    /// As [`Self::applies_to_command`]; deny and ask rules that name a command see it in its other
    /// spellings too.
    fn applies_to_spellings(&self, view: &View<'_>, command: &CommandFact) -> Certainty {
        let own = self.applies_to_command(view, command);
        if self.effect == RuleEffect::Allow
            || !self.names_command()
            || self.words_threaten(command) != Certainty::No
        {
            return own;
        }
        tails::same(command)
            .iter()
            .map(|same| self.applies_to_command(view, same))
            .max()
            .map_or(own, |other| own.max(other))
    }

    /// For deny and ask rules: how sure it is that the words of the command are those of the rule.
    pub(crate) fn words_threaten(&self, command: &CommandFact) -> Certainty {
        let words = self
            .command
            .as_ref()
            .map_or(Certainty::Yes, |pattern| pattern.threatens(command));
        let program = self.programs.as_ref().map_or(Certainty::Yes, |programs| {
            programs.threatens(&command.program)
        });
        words.min(program)
    }

    fn applies_to_access(&self, view: &View<'_>, access: &Access) -> Certainty {
        let strict = self.effect == RuleEffect::Allow;
        let mut certainty = Certainty::Yes;
        if self.needs_command() {
            certainty = match command_of(view.facts, access.source) {
                Some(command) => self.applies_to_spellings(view, command),
                None => Certainty::No,
            };
        }
        if self
            .access
            .as_ref()
            .is_some_and(|kinds| !kinds.contains(&access.kind))
        {
            return Certainty::No;
        }
        if let Some(paths) = &self.paths {
            certainty = certainty.min(if strict {
                covered_by(paths, access).into()
            } else {
                threatened_by(paths, access, view.facts)
            });
        }
        if let Some(scopes) = &self.scope {
            certainty = certainty.min(match target_scope(access) {
                Some(scope) => scopes.iter().any(|name| is_scope(*name, scope)).into(),
                None => Certainty::Possible,
            });
        }
        if let Some(classes) = &self.sensitivity {
            certainty = certainty.min(has_class(access, |sensitivity| {
                classes.iter().any(|class| is_class(*class, sensitivity))
            }));
        }
        if certainty != Certainty::No
            && let Some(unless) = &self.unless
        {
            let excepted = unless.paths.as_ref().is_some_and(|paths| {
                if strict {
                    threatened_by(paths, access, view.facts) != Certainty::No
                } else {
                    covered_by(paths, access)
                }
            });
            if excepted {
                return Certainty::No;
            }
        }
        certainty
    }

    fn applies_to_endpoint(&self, view: &View<'_>, endpoint: &Endpoint) -> Certainty {
        let mut certainty = Certainty::Yes;
        if self.needs_command() {
            certainty = match endpoint
                .command
                .and_then(|index| view.facts.commands.get(index))
            {
                Some(command) => self.applies_to_spellings(view, command),
                None => Certainty::No,
            };
        }
        let matches_host = |hosts: &[TextGlob]| match &endpoint.host {
            Some(host) => hosts
                .iter()
                .any(|glob| glob.matches(host, Case::Fold))
                .into(),
            None => Certainty::Possible,
        };
        if let Some(hosts) = &self.hosts {
            certainty = certainty.min(matches_host(hosts));
        }
        let excepted = self
            .unless
            .as_ref()
            .and_then(|unless| unless.hosts.as_ref())
            .is_some_and(|hosts| {
                let matched = matches_host(hosts);
                if self.effect == RuleEffect::Allow {
                    matched != Certainty::No
                } else {
                    matched == Certainty::Yes
                }
            });
        if excepted { Certainty::No } else { certainty }
    }

    /// It names a program, with or without words.
    pub(crate) fn names_command(&self) -> bool {
        self.command.is_some() || self.programs.is_some()
    }

    /// It names a program and no word of its command line.
    pub(crate) fn names_only_program(&self) -> bool {
        self.flags.is_none()
            && self
                .command
                .as_ref()
                .is_none_or(CommandPattern::is_only_program)
    }

    /// It has conditions on a command.
    pub(crate) fn needs_command(&self) -> bool {
        self.command.is_some()
            || self.programs.is_some()
            || self.flags.is_some()
            || self.does.is_some()
            || self
                .unless
                .as_ref()
                .is_some_and(|unless| unless.flags.is_some() || unless.does.is_some())
    }

    /// The tools it names, when none of them has a wildcard.
    pub(crate) fn tool_names(&self) -> Option<Vec<String>> {
        self.tools
            .as_ref()?
            .iter()
            .map(|tool| tool.as_literal().map(str::to_owned))
            .collect()
    }

    /// The first tool it names without a wildcard.
    pub(crate) fn first_tool(&self) -> Option<String> {
        self.tools
            .as_ref()?
            .iter()
            .find_map(|tool| tool.as_literal().map(str::to_owned))
    }
}

impl Unless {
    /// The exception of an allow rule is feared, that of a deny rule must be certain.
    fn holds_of_command(&self, command: &CommandFact, strict: bool) -> Certainty {
        let flags = self.flags.as_ref().map_or(Certainty::No, |flags| {
            if strict {
                has_flag(command, flags)
            } else {
                gives_flag(command, flags)
            }
        });
        let does = self.does.as_ref().is_some_and(|does| {
            strict && command.effects_known == Effects::Opaque
                || command.effects.iter().any(|effect| does.contains(effect))
        });
        flags.max(does.into())
    }
}

impl When {
    fn holds(&self, facts: &Facts, effect: RuleEffect) -> Certainty {
        let touches = |kind: AccessKind, names: &Option<Vec<TouchName>>| match names {
            None => Certainty::Yes,
            Some(names) => facts
                .accesses
                .iter()
                .enumerate()
                .filter(|(_, access)| access.kind == kind)
                .map(|(at, access)| match is_touched(names, access) {
                    Certainty::No if facts.maybe_linked.binary_search(&at).is_ok() => {
                        Certainty::Possible
                    }
                    certainty => certainty,
                })
                .max()
                .unwrap_or(Certainty::No),
        };
        let network = match self.network {
            None => Certainty::Yes,
            Some(true) => reaches_network(facts).into(),
            Some(false) => {
                let known = facts
                    .commands
                    .iter()
                    .all(|command| command.effects_known == Effects::Known);
                (!reaches_network(facts) && (known || effect != RuleEffect::Allow)).into()
            }
        };
        let does = self.does.as_ref().map_or(Certainty::Yes, |does| {
            facts
                .commands
                .iter()
                .any(|command| command.effects.iter().any(|effect| does.contains(effect)))
                .into()
        });
        let opaque = self.opaque.map_or(Certainty::Yes, |wanted| {
            let opaque = facts.reading == guardian_facts::Reading::Partial
                || facts
                    .commands
                    .iter()
                    .any(|command| command.effects_known == Effects::Opaque);
            (opaque == wanted).into()
        });
        touches(AccessKind::Read, &self.reads)
            .min(touches(AccessKind::Write, &self.writes))
            .min(touches(AccessKind::Delete, &self.deletes))
            .min(network)
            .min(does)
            .min(opaque)
    }
}

/// The call reaches the network, as far as the facts know.
pub(crate) fn reaches_network(facts: &Facts) -> bool {
    !facts.endpoints.is_empty()
        || facts.commands.iter().any(|command| {
            command.has(Effect::Network)
                || command.has(Effect::RemoteHost)
                || command.has(Effect::RunsRemoteCode)
                || command.has(Effect::Publishes)
        })
}

fn is_touched(names: &[TouchName], access: &Access) -> Certainty {
    names
        .iter()
        .map(|name| match name {
            TouchName::Secret => has_class(access, |classes| classes.secret),
            TouchName::Sensitive => {
                has_class(access, |classes| classes.sensitive || classes.guardian)
            }
            TouchName::Protected => has_class(access, |classes| classes.protected),
            TouchName::Outside => match target_scope(access) {
                Some(scope) => matches!(scope, Scope::Outside | Scope::ScratchEscape).into(),
                None => Certainty::Possible,
            },
            TouchName::Workspace => match target_scope(access) {
                Some(scope) => (scope == Scope::Workspace).into(),
                None => Certainty::Possible,
            },
            TouchName::Any => Certainty::Yes,
        })
        .max()
        .unwrap_or(Certainty::No)
}

fn has_class(access: &Access, test: impl Fn(Sensitivity) -> bool) -> Certainty {
    match &access.target {
        Target::Exact(path) => test(path.sensitivity).into(),
        Target::Pattern {
            base, may_match, ..
        } => {
            if test(base.sensitivity) {
                Certainty::Yes
            } else if test(*may_match) {
                Certainty::Possible
            } else {
                Certainty::No
            }
        }
        Target::Unknown { .. } => Certainty::Possible,
    }
}

/// The command that an access comes from.
pub(crate) fn command_of(facts: &Facts, source: AccessSource) -> Option<&CommandFact> {
    match source {
        AccessSource::Command(index) | AccessSource::Redirect(index) => facts.commands.get(index),
        AccessSource::PathArgument | AccessSource::Walk | AccessSource::Declared => None,
    }
}

fn target_scope(access: &Access) -> Option<Scope> {
    crate::evaluate::cover::scope_of(access)
}

fn is_scope(name: ScopeName, scope: Scope) -> bool {
    match name {
        ScopeName::Workspace => scope == Scope::Workspace,
        ScopeName::Scratch => scope == Scope::Scratch,
        ScopeName::Outside => matches!(scope, Scope::Outside | Scope::ScratchEscape),
    }
}

fn is_class(name: ClassName, sensitivity: Sensitivity) -> bool {
    match name {
        ClassName::Secret => sensitivity.secret,
        ClassName::Sensitive => sensitivity.sensitive || sensitivity.guardian,
        ClassName::Protected => sensitivity.protected,
    }
}

/// For allow rules: the resolved path is known and matches. A change of the directory itself is
/// not covered by its `dir/**`.
pub(crate) fn covered_by(paths: &[PathGlob], access: &Access) -> bool {
    let Target::Exact(path) = &access.target else {
        return false;
    };
    let Some(text) = path.path.to_str() else {
        return false;
    };
    paths
        .iter()
        .any(|glob| match glob.matches(text, Case::Exact) {
            Some(itself) => {
                let reaches_all = !access.recursive
                    || glob.written.ends_with("**")
                    || !access.is_change() && glob.written == "**";
                reaches_all && !(itself && access.is_change())
            }
            None => false,
        })
}

/// For deny and ask rules: the path matches, or something beneath it or fitting its pattern may.
pub(crate) fn threatened_by(paths: &[PathGlob], access: &Access, facts: &Facts) -> Certainty {
    match &access.target {
        Target::Exact(path) => {
            let resolved = path.path.to_string_lossy();
            let matched = paths.iter().any(|glob| {
                glob.matches(&resolved, Case::Fold).is_some()
                    || path.written.starts_with('/')
                        && glob.matches(&path.written, Case::Fold).is_some()
            });
            if matched {
                return Certainty::Yes;
            }
            // a listing shows names, not contents; walks of file tools leave denied files out
            let reaches_in = access.recursive
                && access.kind != AccessKind::List
                && access.source != AccessSource::Walk;
            if !reaches_in {
                return Certainty::No;
            }
            let beneath = PathGlob::beneath(&resolved);
            if !paths.iter().any(|glob| glob.meets(&beneath, Case::Fold)) {
                return Certainty::No;
            }
            // a walk over contents that no look has cleared reaches the file for sure
            if command_of(facts, access.source).is_some_and(|command| command.walks) {
                Certainty::Yes
            } else {
                Certainty::Possible
            }
        }
        Target::Pattern { pattern, .. } => {
            let Some(shell) = PathGlob::shell(pattern) else {
                return Certainty::Possible;
            };
            if paths.iter().any(|glob| glob.meets(&shell, Case::Fold)) {
                Certainty::Possible
            } else {
                Certainty::No
            }
        }
        Target::Unknown { .. } => Certainty::Possible,
    }
}

/// The effects that names stand for, sorted.
pub(crate) fn effects_named(names: &[EffectName]) -> Vec<Effect> {
    names
        .iter()
        .map(|name| effect_named(*name))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

/// The name of an effect in a policy file.
pub(crate) fn effect_name(effect: Effect) -> &'static str {
    match effect {
        Effect::Inert => "inert",
        Effect::SystemQuery => "system-query",
        Effect::ReadsEnvironment => "reads-environment",
        Effect::ShellState => "shell-state",
        Effect::Network => "network",
        Effect::RemoteHost => "remote-host",
        Effect::Destructive => "destructive",
        Effect::BulkWrite => "bulk-write",
        Effect::Publishes => "publishes",
        Effect::Installs => "installs",
        Effect::HistoryRewrite => "history-rewrite",
        Effect::GitRecord => "git-record",
        Effect::GitChange => "git-change",
        Effect::Privilege => "privilege",
        Effect::Persistence => "persistence",
        Effect::SystemChange => "system-change",
        Effect::RunsProjectCode => "runs-project-code",
        Effect::RunsCode => "runs-code",
        Effect::RunsRemoteCode => "runs-remote-code",
        Effect::ForkBomb => "fork-bomb",
        Effect::RunsGuardian => "runs-guardian",
    }
}

fn effect_named(name: EffectName) -> Effect {
    match name {
        EffectName::Inert => Effect::Inert,
        EffectName::SystemQuery => Effect::SystemQuery,
        EffectName::ReadsEnvironment => Effect::ReadsEnvironment,
        EffectName::ShellState => Effect::ShellState,
        EffectName::Network => Effect::Network,
        EffectName::RemoteHost => Effect::RemoteHost,
        EffectName::Destructive => Effect::Destructive,
        EffectName::BulkWrite => Effect::BulkWrite,
        EffectName::Publishes => Effect::Publishes,
        EffectName::Installs => Effect::Installs,
        EffectName::HistoryRewrite => Effect::HistoryRewrite,
        EffectName::GitRecord => Effect::GitRecord,
        EffectName::GitChange => Effect::GitChange,
        EffectName::Privilege => Effect::Privilege,
        EffectName::Persistence => Effect::Persistence,
        EffectName::SystemChange => Effect::SystemChange,
        EffectName::RunsProjectCode => Effect::RunsProjectCode,
        EffectName::RunsCode => Effect::RunsCode,
        EffectName::RunsRemoteCode => Effect::RunsRemoteCode,
        EffectName::ForkBomb => Effect::ForkBomb,
        EffectName::RunsGuardian => Effect::RunsGuardian,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_called_what_a_policy_file_calls_it() {
        let schema = crate::policy_schema();
        let names = schema["$defs"]["EffectName"]["oneOf"].as_array().unwrap();
        assert!(names.len() > 20);
        for name in names {
            let read: EffectName = serde_json::from_value(name["const"].clone()).unwrap();
            assert_eq!(effect_name(effect_named(read)), name["const"]);
        }
    }
}
