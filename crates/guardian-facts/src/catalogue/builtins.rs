//! Builtins whose operands are shell text, variable names with subscripts, or whole listings of
//! the shell's variables.

use super::scan::Scanned;
use super::schema::Entry;
use crate::Effect;
use crate::command::{Invocation, Judgement, Nested, Word, WordPart};
use crate::opacity;

/// `eval`: its words, joined by blanks, are shell text.
pub(crate) fn eval(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let Some(text) = super::wrappers::join(&scanned.operands) else {
        return;
    };
    judgement.wrapper = true;
    judgement.nested.push(Nested::Shell {
        text,
        elsewhere: false,
    });
}

/// `source` and `.`: the file is code of this shell.
pub(crate) fn source(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let Some(file) = scanned.operands.first() else {
        return;
    };
    judgement.add(Effect::ShellState);
    if matches!(
        file.as_literal(),
        Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
    ) {
        judgement.nested.push(Nested::StdinShell);
        return;
    }
    judgement.read(file);
    judgement
        .nested
        .push(Nested::CodeFile { word: file.clone() });
    judgement.add(Effect::RunsCode);
}

/// `trap ACTION SIGNAL…`; one operand alone, `-` and an empty action only reset.
pub(crate) fn trap(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    if scanned.has("-p") || scanned.has("-l") || scanned.has("-P") {
        return;
    }
    match scanned.operands.as_slice() {
        [] => {}
        [only] if !only.may_split() => {}
        [action, ..] => {
            if !matches!(action.as_literal(), Some("-" | "")) {
                judgement.nested.push(Nested::Shell {
                    text: action.clone(),
                    elsewhere: false,
                });
            }
        }
    }
}

/// `alias`: a definition changes what later words run.
pub(crate) fn alias(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    judgement.add(Effect::ShellState);
    for word in &scanned.operands {
        if word.as_literal().is_none_or(|text| text.contains('=')) {
            judgement.make_opaque(opacity::ALIAS, "an alias changes what later commands run");
        }
    }
}

/// `set`: without arguments it prints every variable.
pub(crate) fn shell_set(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let prints = scanned.operands.iter().all(|word| {
        word.parts.iter().all(|part| {
            matches!(
                part,
                WordPart::Unknown {
                    may_split: true,
                    may_be_empty: true,
                    ..
                }
            )
        }) && !word.parts.is_empty()
    });
    judgement.add(if prints {
        Effect::ReadsEnvironment
    } else {
        Effect::ShellState
    });
}

/// `shopt`: switches that change how the text is read or what a name runs.
pub(crate) fn shell_options(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    for word in &scanned.operands {
        if word
            .as_literal()
            .is_none_or(|name| matches!(name, "expand_aliases" | "restricted_shell"))
        {
            judgement.make_opaque(
                "shell-option",
                format!("`{}` changes what later commands run", word.display()),
            );
        }
    }
}

/// `declare`, `export` and their kin: listings, subscripts, and attributes that make a later
/// assignment run something.
pub(crate) fn declare(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let mut flags = String::new();
    let mut names: Vec<&Word> = Vec::new();
    for word in &scanned.operands {
        let prefix = word.literal_prefix();
        if names.is_empty() && prefix.starts_with(['-', '+']) {
            flags.push_str(prefix);
        } else {
            names.push(word);
        }
    }
    judgement.add(Effect::ShellState);
    let lists_names = flags.contains('F') || flags.contains('f');
    if (names.is_empty() && !lists_names && invocation.name != "local") || flags.contains('p') {
        judgement.add(Effect::ReadsEnvironment);
    }
    if flags.contains('i') || (flags.contains('n') && invocation.name != "export") {
        judgement.make_opaque(
            "evaluating-attribute",
            "values of such a variable are evaluated as arithmetic or as a name",
        );
    }
    for name in names {
        let prefix = name.literal_prefix();
        let head = prefix.split('=').next().unwrap_or_default();
        let open = name.as_literal().is_none() && !prefix.contains('=');
        if head.contains('[') || open {
            judgement.make_opaque(
                "subscript",
                format!("`{}` may be evaluated as arithmetic", name.display()),
            );
        }
    }
}

/// `command -v` only looks a name up.
pub(crate) fn command(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    if scanned.has("-v") || scanned.has("-V") {
        judgement.nested.clear();
        judgement.wrapper = false;
    }
}

/// `compgen -W` expands its word list like shell text.
pub(crate) fn compgen(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    for list in scanned.values("-W") {
        if list
            .as_literal()
            .is_none_or(|text| text.contains(['$', '`', '<', '>']))
        {
            judgement.make_opaque("expanded-list", "`-W` expands its words once more");
        }
    }
}

/// `let`: arithmetic; a subscript in it can run commands.
pub(crate) fn arithmetic(
    _entry: &Entry,
    scanned: &Scanned<'_>,
    _invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    judgement.add(Effect::ShellState);
    for word in &scanned.operands {
        if word
            .as_literal()
            .is_none_or(|text| text.contains(['[', '$', '`']))
        {
            judgement.make_opaque("subscript", "a subscript in arithmetic can run commands");
        }
    }
}
