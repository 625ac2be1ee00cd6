//! SPEC §5 once more, as plainly as possible: no index, no compiled rules, no three-valued logic
//! beyond what these facts need. Knows the rules of `laws::RULES` by id; preset `standard`.

use guardian_facts::{
    Access, AccessDetail, AccessKind, AccessSource, CommandFact, Effect, Effects, Facts, FileKind,
    Reading, Scope, Target,
};
use guardian_rules::{
    Decision, GrantScope, OperatingMode, PermissionMode, Situation, ToolKind, ToolRisk,
};

pub(crate) fn decide(facts: &Facts, situation: &Situation, rules: &[&str]) -> Decision {
    let has = |id: &str| {
        rules
            .iter()
            .any(|rule| rule.starts_with(&format!("id = \"{id}\"")))
    };
    if matrix_denies(facts, situation) {
        return Decision::Deny;
    }
    if situation.tool_risk == ToolRisk::High && situation.roots.workspace.is_none() {
        return Decision::Deny;
    }
    let mut strictest = Decision::Allow;
    for decision in stops(facts, situation, &has) {
        strictest = strictest.max(decision);
    }
    if strictest != Decision::Allow {
        return strictest;
    }
    if everything_covered(facts, situation, &has) {
        Decision::Allow
    } else {
        Decision::Ask
    }
}

fn matrix_denies(facts: &Facts, situation: &Situation) -> bool {
    if facts.tool == "SubmitPlan" {
        return situation.mode != OperatingMode::Plan;
    }
    situation.mode != OperatingMode::Agent
        && matches!(
            situation.tool_kind,
            ToolKind::Change | ToolKind::Plugin | ToolKind::Foreign
        )
}

fn written(command: &CommandFact) -> String {
    command.display()
}

fn name(command: &CommandFact) -> Option<&str> {
    command.program.name.as_deref()
}

fn elsewhere(facts: &Facts, access: &Access) -> bool {
    match access.source {
        AccessSource::Command(index) | AccessSource::Redirect(index) => {
            facts.commands[index].place.elsewhere
        }
        _ => false,
    }
}

fn runs(facts: &Facts, access: &Access, names: &[&str]) -> bool {
    match access.source {
        AccessSource::Command(index) | AccessSource::Redirect(index) => facts.commands[index]
            .program
            .name
            .as_deref()
            .is_some_and(|name| names.contains(&name)),
        _ => false,
    }
}

fn scope(access: &Access) -> Option<Scope> {
    access.exact().map(|path| path.scope)
}

fn path(access: &Access) -> String {
    access
        .exact()
        .map(|path| path.path.display().to_string())
        .unwrap_or_default()
}

/// Every deny and ask, of the floor and of rules.
fn stops(facts: &Facts, situation: &Situation, has: &dyn Fn(&str) -> bool) -> Vec<Decision> {
    let mut found = Vec::new();
    for access in &facts.accesses {
        let denied = if elsewhere(facts, access) {
            Decision::Ask
        } else {
            Decision::Deny
        };
        let change = matches!(access.kind, AccessKind::Write | AccessKind::Delete);
        if let Some(exact) = access.exact() {
            let classes = exact.sensitivity;
            if classes.sensitive {
                found.push(denied);
            }
            if classes.guardian && access.kind != AccessKind::Execute {
                found.push(denied);
            }
            if classes.protected && change {
                found.push(Decision::Ask);
            }
            // what is put into home may bring start files of shells along
            if access.kind == AccessKind::Write
                && path(access) == "/home/dev"
                && (access.recursive
                    || runs(facts, access, &["cp", "mv", "install", "ln", "rsync"]))
            {
                found.push(Decision::Ask);
            }
            let waved = exact.scope == Scope::Scratch
                || exact.scope == Scope::Workspace
                    && situation.permission_mode == PermissionMode::Auto;
            if classes.secret && access.kind != AccessKind::List && !waved {
                found.push(Decision::Ask);
            }
            if holds_own(&path(access)) && !classes.guardian {
                let rights = access.detail == AccessDetail::Permissions;
                match access.kind {
                    AccessKind::Delete => found.push(denied),
                    AccessKind::Write if rights && access.recursive => found.push(denied),
                    AccessKind::Write
                        if rights
                            || access.recursive
                            || exact.kind != Some(FileKind::Directory) =>
                    {
                        found.push(Decision::Ask);
                    }
                    _ => {}
                }
            }
            let whole = ["/", "/home/dev", "/etc/passwd"].contains(&path(access).as_str());
            if whole
                && (access.detail == AccessDetail::Rename
                    || access.kind == AccessKind::Delete && access.recursive)
            {
                found.push(denied);
            }
            if access.kind == AccessKind::Read
                && access.recursive
                && ["/", "/home/dev"].contains(&path(access).as_str())
            {
                found.push(Decision::Ask);
            }
        } else if !elsewhere(facts, access)
            && matches!(
                access.kind,
                AccessKind::Read | AccessKind::Write | AccessKind::Delete
            )
            || access.kind == AccessKind::Delete && access.recursive
        {
            // a path that is not known might be any
            found.push(Decision::Ask);
        }
        if access.kind == AccessKind::Delete
            && access.recursive
            && access.detail != AccessDetail::Rename
            && scope(access) != Some(Scope::Scratch)
        {
            found.push(Decision::Ask);
        }
        // rules about accesses
        if has("deny-src-writes") && change {
            if matches!(access.target, Target::Unknown { .. }) {
                found.push(Decision::Ask);
            } else if path(access).starts_with("/home/dev/proj/src") {
                found.push(Decision::Deny);
            } else if access.recursive
                && "/home/dev/proj/src"
                    .starts_with(&format!("{}/", path(access).trim_end_matches('/')))
            {
                let walks = match access.source {
                    AccessSource::Command(index) | AccessSource::Redirect(index) => {
                        facts.commands[index].walks
                    }
                    _ => false,
                };
                found.push(if walks { Decision::Deny } else { Decision::Ask });
            }
        }
        if has("ask-outside")
            && access.kind == AccessKind::Read
            && matches!(scope(access), None | Some(Scope::Outside))
        {
            found.push(Decision::Ask);
        }
        let overwrites = facts.tool == "Write"
            && situation.overwrites_unread
            && !situation.snapshot_possible
            && access.kind == AccessKind::Write
            && access.source == AccessSource::PathArgument
            && scope(access) != Some(Scope::Scratch);
        if overwrites {
            found.push(Decision::Ask);
        }
    }
    for command in &facts.commands {
        let asks = [Effect::Destructive, Effect::Privilege, Effect::Publishes];
        let publishes_by_git =
            |effect: &Effect| *effect == Effect::Publishes && name(command) == Some("git");
        if command
            .effects
            .iter()
            .any(|effect| asks.contains(effect) && !publishes_by_git(effect))
        {
            found.push(Decision::Ask);
        }
        if command.has(Effect::RunsRemoteCode) && !command.has(Effect::Installs) {
            found.push(Decision::Ask);
        }
        let words = written(command);
        if has("deny-push") && words.ends_with("push") {
            found.push(if name(command).is_none() {
                Decision::Ask
            } else {
                Decision::Deny
            });
        }
        if has("ask-rm") && matches!(name(command), Some("rm") | None) {
            found.push(Decision::Ask);
        }
        if has("ask-network") && command.has(Effect::Network) {
            found.push(Decision::Ask);
        }
    }
    if has("deny-host") {
        for endpoint in &facts.endpoints {
            match endpoint.host.as_deref() {
                Some("evil.example") => found.push(Decision::Deny),
                Some(_) => {}
                None => found.push(Decision::Ask),
            }
        }
    }
    if has("deny-host") {
        let reaches = [Effect::Network, Effect::RemoteHost, Effect::Publishes];
        for (index, command) in facts.commands.iter().enumerate() {
            let named = facts
                .endpoints
                .iter()
                .any(|endpoint| endpoint.command == Some(index));
            if !named
                && command
                    .effects
                    .iter()
                    .any(|effect| reaches.contains(effect))
            {
                found.push(Decision::Ask);
            }
        }
    }
    // commands of this machine and of others are looked at apart by the floor, together by rules
    for part in [false, true] {
        let commands = || {
            facts
                .commands
                .iter()
                .filter(move |command| command.place.elsewhere == part)
        };
        let network = network(&facts.endpoints, commands());
        let secrets = facts
            .accesses
            .iter()
            .any(|access| elsewhere(facts, access) == part && reads_secret(access))
            || facts.commands.iter().any(|command| command.walks);
        let any_elsewhere = facts.commands.iter().any(|command| command.place.elsewhere);
        if network && secrets && (!part || any_elsewhere) {
            found.push(Decision::Ask);
        }
    }
    if has("deny-exfiltration") && network(&facts.endpoints, facts.commands.iter()) {
        for access in facts
            .accesses
            .iter()
            .filter(|access| access.kind == AccessKind::Read)
        {
            match access.exact() {
                Some(exact) if exact.sensitivity.secret => found.push(Decision::Deny),
                Some(_) => {}
                None => found.push(Decision::Ask),
            }
        }
    }
    found
}

fn holds_own(path: &str) -> bool {
    let directory = format!("{}/", path.trim_end_matches('/'));
    [
        "/data",
        "/home/dev/.config/guardian",
        "/usr/local/bin/guardian",
    ]
    .iter()
    .any(|own| own.starts_with(&directory) || *own == path)
}

fn reads_secret(access: &Access) -> bool {
    access.kind == AccessKind::Read
        && scope(access) != Some(Scope::Scratch)
        && access
            .exact()
            .is_some_and(|exact| exact.sensitivity.secret || exact.sensitivity.sensitive)
}

fn network<'a>(
    endpoints: &[guardian_facts::Endpoint],
    mut commands: impl Iterator<Item = &'a CommandFact>,
) -> bool {
    let effects = [
        Effect::Network,
        Effect::RemoteHost,
        Effect::RunsRemoteCode,
        Effect::Publishes,
    ];
    !endpoints.is_empty()
        || commands.any(|command| {
            command
                .effects
                .iter()
                .any(|effect| effects.contains(effect))
        })
}

fn everything_covered(facts: &Facts, situation: &Situation, has: &dyn Fn(&str) -> bool) -> bool {
    let kind = situation.tool_kind;
    let low = situation.tool_risk == ToolRisk::Low && kind != ToolKind::Foreign;
    let complete = facts.reading == Reading::Complete;
    let auto = situation.permission_mode == PermissionMode::Auto;
    let granted = |outside: bool| {
        situation
            .grants
            .iter()
            .any(|grant| grant.scope == GrantScope::Outside || !outside)
    };
    let by_tool = has("allow-bash") && facts.tool == "Bash"
        || has("allow-plugin") && facts.tool.starts_with("plugin_");
    let blanket = |outside: bool| auto || granted(outside) || by_tool && !outside;

    let nothing_known =
        facts.accesses.is_empty() && facts.commands.is_empty() && facts.endpoints.is_empty();
    if nothing_known || !complete {
        let by_mode = auto && kind != ToolKind::Foreign;
        if !(by_mode || granted(false) || by_tool || low && complete) {
            return false;
        }
    }
    let by_rule = |command: &CommandFact| {
        let bare = !written(command).contains('/') || written(command).starts_with("curl");
        let words = written(command);
        complete
            && !command.place.elsewhere
            && (has("allow-ls") && words == "ls"
                || has("allow-cargo") && words == "cargo test"
                || has("allow-git") && bare && words.starts_with("git"))
    };
    let commands = facts.commands.iter().all(|command| {
        let transparent = command.wrapper
            && complete
            && !command.place.elsewhere
            && command.effects_known == Effects::Known
            && command.program.form == guardian_facts::ProgramForm::Bare
            && command
                .effects
                .iter()
                .all(|effect| *effect == Effect::Inert);
        blanket(false) || by_rule(command) || transparent
    });
    let assignments = facts
        .commands
        .iter()
        .flat_map(|command| &command.assignments)
        .all(|assignment| !assignment.changes_execution || blanket(false));
    let endpoints = facts.endpoints.iter().all(|endpoint| {
        blanket(false)
            || complete
                && (has("allow-host") && endpoint.host.as_deref() == Some("example.com")
                    || endpoint
                        .command
                        .is_some_and(|index| by_rule(&facts.commands[index])))
    });
    let accesses = facts.accesses.iter().all(|access| {
        let inside = matches!(scope(access), Some(Scope::Workspace | Scope::Scratch));
        let outside = match scope(access) {
            Some(_) => !inside,
            // names of a place that is not known may be listed
            None => access.kind != AccessKind::List,
        };
        let is_scratch = scope(access) == Some(Scope::Scratch)
            && access.kind != AccessKind::Execute
            && kind != ToolKind::Foreign;
        let by_low = low && inside && matches!(access.kind, AccessKind::Read | AccessKind::List);
        let by_edits = situation.permission_mode == PermissionMode::AcceptEdits
            && kind == ToolKind::Change
            && scope(access) == Some(Scope::Workspace);
        let named = (complete || facts.commands.is_empty())
            && has("allow-docs")
            && (path(access).starts_with("/home/dev/proj/docs/")
                || path(access).starts_with("/srv/"));
        let of_command = match access.source {
            AccessSource::Command(index) => {
                inside
                    && access
                        .exact()
                        .is_some_and(|exact| exact.sensitivity.is_ordinary())
                    && by_rule(&facts.commands[index])
            }
            _ => false,
        };
        blanket(outside) || is_scratch || by_low || by_edits || named || of_command
    });
    commands && assignments && endpoints && accesses
}
