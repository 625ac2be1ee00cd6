//! Programs of the system whose verbs or operands decide whether they report or change.

use super::scan::Scanned;
use super::schema::Entry;
use crate::Effect;
use crate::command::{Invocation, Judgement, Nested};

/// `ip OBJECT [VERB …]`: listing verbs report, `netns exec` runs a command, the rest changes.
pub(crate) fn ip(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let Some(object) = scanned.operands.first() else {
        return;
    };
    let Some(verb) = scanned.operands.get(1) else {
        if object.as_literal().is_none() {
            judgement.add(Effect::SystemChange);
        }
        return;
    };
    let text = verb.as_literal();
    let in_namespace = object
        .as_literal()
        .is_none_or(|object| object.starts_with('n'));
    if in_namespace && text.is_none_or(|text| text.starts_with('e')) {
        judgement.add(Effect::Privilege);
        judgement.nested.push(Nested::Command {
            argv: scanned.operands.get(3..).unwrap_or_default().to_vec(),
            appended: false,
            elsewhere: false,
            assignments: Vec::new(),
            cwd: None,
        });
        return;
    }
    let reports = matches!(
        text,
        Some("show" | "sh" | "s" | "list" | "lst" | "ls" | "l" | "get" | "g" | "help")
    );
    if !reports {
        judgement.add(Effect::SystemChange);
    }
}

/// `timedatectl`, `hostnamectl` and the like: anything but a listing verb changes the system.
pub(crate) fn reports(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    if !matches!(
        invocation.name,
        "timedatectl" | "hostnamectl" | "localectl" | "loginctl"
    ) {
        return;
    }
    let Some(verb) = scanned.operands.first() else {
        return;
    };
    let reads = verb.as_literal().is_some_and(|text| {
        text == "status"
            || text.starts_with("show")
            || text.starts_with("list")
            || text.ends_with("-status")
    });
    if !reads {
        judgement.add(Effect::SystemChange);
    }
}

/// `sysctl name=value` sets.
pub(crate) fn assigns(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    if scanned
        .operands
        .iter()
        .any(|word| word.as_literal().is_none_or(|text| text.contains('=')))
    {
        judgement.add(Effect::SystemChange);
    }
}

/// `script` without `-c` runs the user's shell on its input.
pub(crate) fn script_session(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    if !scanned.has("-c") {
        judgement.add(Effect::RunsCode);
        judgement.nested.push(Nested::StdinShell);
    }
}

/// A format or target with `#(…)` runs shell text.
pub(crate) fn tmux_format(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let values = scanned.flags.iter().flat_map(|used| &used.values);
    if values
        .chain(&scanned.operands)
        .any(|word| word.as_literal().is_none_or(|text| text.contains("#(")))
    {
        judgement.make_opaque("format-runs", "a format may run shell text");
    }
}

/// `rpm -i` without `-q` installs.
pub(crate) fn rpm(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    if !scanned.has("-q") && !scanned.has("-V") {
        judgement.add(Effect::Installs);
    }
}
