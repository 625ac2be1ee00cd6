//! From a scanned command line to a [`Judgement`]: roles become paths, hosts and nested code,
//! flags become effects.

use super::scan::{Scanned, behind, is_uncertain};
use super::schema::{Entry, Mark, OperandPattern, Role, Times};
use crate::command::{Assignment, Invocation, Judgement, Nested, PathUse, Stdin, Word, WordPart};
use crate::opacity;
use crate::{AccessDetail, AccessKind, Effect, Effects};

impl Judgement {
    /// Makes the judgement opaque, with the reason.
    pub(crate) fn make_opaque(&mut self, code: &'static str, reason: impl Into<String>) {
        self.effects_known = Effects::Opaque;
        self.opaque.push((code, reason.into()));
    }

    /// Adds an effect.
    pub(crate) fn add(&mut self, effect: Effect) {
        if !self.effects.contains(&effect) {
            self.effects.push(effect);
        }
    }

    /// Adds a path.
    pub(crate) fn touch(&mut self, word: &Word, kind: AccessKind, detail: AccessDetail) {
        self.paths.push(PathUse {
            word: word.clone(),
            kind,
            detail,
            recursive: false,
        });
    }

    /// Adds a path that is read.
    pub(crate) fn read(&mut self, word: &Word) {
        self.touch(word, AccessKind::Read, AccessDetail::Plain);
    }

    /// Adds a path that is written.
    pub(crate) fn write(&mut self, word: &Word) {
        self.touch(word, AccessKind::Write, AccessDetail::Plain);
    }

    /// Sorts and adds what follows from the rest; called once, at the end.
    pub(crate) fn finish(&mut self) {
        let runs = [
            (
                Effect::RunsProjectCode,
                opacity::PROJECT_CODE,
                "runs code of the project",
            ),
            (
                Effect::RunsRemoteCode,
                "remote-code",
                "runs code from the network",
            ),
            (Effect::RunsCode, "runs-code", "runs code"),
        ];
        for (effect, code, reason) in runs {
            if self.effects.contains(&effect) && self.opaque.is_empty() {
                self.make_opaque(code, reason);
            }
        }
        if self.effects.is_empty()
            && self.paths.is_empty()
            && self.nested.is_empty()
            && self.opaque.is_empty()
        {
            self.effects.push(Effect::Inert);
        }
        self.effects.sort_unstable();
        self.effects.dedup();
        self.conditions.sort_unstable();
        self.conditions.dedup();
    }
}

/// Applies flags and operands of a scanned command line.
pub(crate) fn apply(
    entry: &Entry,
    scanned: &Scanned<'_>,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    for (code, reason) in &scanned.problems {
        judgement.make_opaque(code, reason.clone());
    }
    let recursive = entry.recursive || marked(scanned, Mark::Recursive);
    judgement.walk.follows_links |= entry.follows_links && !scanned.has("--no-dereference");
    let mut cancelled = false;
    for used in &scanned.flags {
        for mark in &used.flag.marks {
            match mark {
                Mark::Effect(effect) => judgement.add(*effect),
                Mark::Opaque => judgement.make_opaque(
                    "flag-runs-code",
                    format!("`{}` may run anything", used.flag.names.join("`, `")),
                ),
                Mark::ReadsUnknown => judgement.make_opaque(
                    "names-from-file",
                    format!(
                        "`{}` reads files that are named elsewhere",
                        used.flag.names.join("`, `")
                    ),
                ),
                Mark::Cancels => cancelled = true,
                Mark::Recursive
                | Mark::NoFirst
                | Mark::NoLast
                | Mark::Edits
                | Mark::Reads
                | Mark::Tests
                | Mark::Acts => {}
            }
        }
        for (role, value) in used.flag.values.iter().zip(&used.values) {
            use_word(entry, *role, value, false, judgement);
        }
    }
    if !cancelled {
        for effect in &entry.effects {
            judgement.add(*effect);
        }
        if !scanned.operands.is_empty() {
            for effect in &entry.operand_effects {
                judgement.add(*effect);
            }
        }
    }
    judgement
        .conditions
        .extend(entry.conditions.iter().copied());
    operands(entry, scanned, recursive, judgement);
    if COPIES.contains(&entry.name.as_str()) {
        into_directory(scanned, judgement);
    }
    apply_default(entry, scanned, invocation, recursive, judgement);
}

/// Programs whose last operand may be a directory into which the others go by their own names.
const COPIES: &[&str] = &["cp", "mv", "install", "ln"];

/// `cp x/.envrc .` writes `./.envrc`: what the destination becomes when it is a directory. Left
/// out where the destination's name has an extension and so hardly is one.
fn into_directory(scanned: &Scanned<'_>, judgement: &mut Judgement) {
    let named = scanned.values("-t").last();
    let (sources, target) = match (named, scanned.operands.split_last()) {
        (Some(target), _) => (scanned.operands.as_slice(), target),
        (None, Some((target, sources))) => (sources, target),
        (None, None) => return,
    };
    let shown = target.display();
    let last = shown
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    let has_extension = last.trim_start_matches('.').contains('.') && !shown.ends_with('/');
    if has_extension && named.is_none() {
        return;
    }
    for source in sources {
        let Some(name) = source
            .as_literal()
            .and_then(|text| text.trim_end_matches('/').rsplit('/').next())
            .filter(|name| !matches!(*name, "" | "." | ".."))
        else {
            continue;
        };
        let mut word = target.clone();
        let tail = if shown.ends_with('/') {
            name.to_owned()
        } else {
            format!("/{name}")
        };
        match word.parts.last_mut() {
            Some(WordPart::Literal(text)) => text.push_str(&tail),
            _ => word.parts.push(WordPart::Literal(tail)),
        }
        judgement.write(&word);
    }
}

fn marked(scanned: &Scanned<'_>, mark: Mark) -> bool {
    scanned.flags.iter().any(|used| used.flag.has(mark))
}

fn operands(entry: &Entry, scanned: &Scanned<'_>, recursive: bool, judgement: &mut Judgement) {
    let mut pattern = entry.operands.clone();
    if marked(scanned, Mark::NoFirst) && !pattern.0.is_empty() {
        pattern.0.remove(0);
    }
    if marked(scanned, Mark::NoLast) {
        pattern.0.pop();
    }
    if pattern.0.first().map(|(role, _)| *role) == Some(Role::Assignment) {
        nest(entry, &scanned.operands, 0, judgement);
        return;
    }
    let edits = marked(scanned, Mark::Edits);
    let tests = marked(scanned, Mark::Tests) && !marked(scanned, Mark::Acts);
    let reads = tests || marked(scanned, Mark::Reads);
    let roles = assign(&pattern, &scanned.operands);
    for (index, (word, roles)) in scanned.operands.iter().zip(&roles).enumerate() {
        for role in roles {
            let role = match role {
                Role::Command => {
                    nest(entry, &scanned.operands, index, judgement);
                    return;
                }
                Role::Read if edits => Role::Edit,
                Role::Replace | Role::Edit if reads => Role::Read,
                role => *role,
            };
            use_word(entry, role, word, recursive, judgement);
        }
        if roles.is_empty() && !pattern.0.is_empty() {
            // More operands than the program takes: it stops with an error.
            continue;
        }
        if pattern.0.is_empty() && !entry.subcommands && entry.grammar.is_none() {
            judgement.make_opaque(
                "unknown-operand",
                format!("the catalogue lists no operands of `{}`", entry.name),
            );
            return;
        }
    }
}

/// The nested command of a wrapper: what stands at its `command` operand.
fn nest(entry: &Entry, operands: &[Word], at: usize, judgement: &mut Judgement) {
    let (before, mut argv) = operands.split_at(at);
    let mut assignments: Vec<Assignment> = before.iter().filter_map(assignment).collect();
    if entry.operands.0.first().map(|(role, _)| *role) == Some(Role::Assignment) {
        while let [first, rest @ ..] = argv {
            match assignment(first) {
                Some(found) => assignments.push(found),
                None => break,
            }
            argv = rest;
        }
    }
    // `kubectl exec pod -c x -- cmd`: options behind the pod end at `--`.
    if let Some(first) = argv.first()
        && first.literal_prefix().starts_with('-')
    {
        if let Some(dashes) = argv.iter().position(|word| word.as_literal() == Some("--")) {
            argv = argv.get(dashes + 1..).unwrap_or_default();
        } else if first.as_literal() == Some("-c")
            && entry
                .flag("-c")
                .is_some_and(|flag| flag.values == [Role::Shell])
        {
            // `flock file -c text`.
            judgement.wrapper = true;
            if let Some(text) = argv.get(1) {
                judgement.nested.push(Nested::Shell {
                    text: text.clone(),
                    elsewhere: entry.elsewhere,
                });
            }
            return;
        }
    }
    if argv.is_empty() {
        return;
    }
    judgement.wrapper = true;
    judgement.nested.push(Nested::Command {
        argv: argv.to_vec(),
        appended: false,
        elsewhere: entry.elsewhere,
        assignments,
        cwd: None,
    });
}

/// `NAME=value` as an assignment; `changes_execution` is the shell reading's to decide.
pub(crate) fn assignment(word: &Word) -> Option<Assignment> {
    let prefix = word.literal_prefix();
    let equals = prefix.find('=')?;
    Some(Assignment {
        name: prefix.get(..equals)?.to_owned(),
        value: behind(word, equals + 1),
        changes_execution: false,
        span: word.span,
    })
}

/// The roles that each operand may have, over all numbers of words that the uncertain ones may
/// become.
fn assign(pattern: &OperandPattern, operands: &[Word]) -> Vec<Vec<Role>> {
    let uncertain: Vec<usize> = operands
        .iter()
        .enumerate()
        .filter(|(_, word)| is_uncertain(word))
        .map(|(index, _)| index)
        .collect();
    let homogeneous = pattern
        .0
        .windows(2)
        .all(|pair| pair.first().map(|p| p.0) == pair.get(1).map(|p| p.0));
    let everything = || {
        let mut roles: Vec<Role> = pattern.0.iter().map(|(role, _)| *role).collect();
        roles.sort_unstable();
        roles.dedup();
        roles
    };
    if uncertain.is_empty() {
        return assign_count(pattern, operands.len())
            .into_iter()
            .map(|role| role.into_iter().collect())
            .collect();
    }
    if homogeneous || uncertain.len() > 3 {
        return operands.iter().map(|_| everything()).collect();
    }
    let mut result: Vec<Vec<Role>> = vec![Vec::new(); operands.len()];
    let choices = 3_usize.pow(u32::try_from(uncertain.len()).unwrap_or(3));
    for choice in 0..choices {
        let mut counts = vec![1_usize; operands.len()];
        let mut code = choice;
        for index in &uncertain {
            let may_vanish = operands.get(*index).is_some_and(may_vanish);
            if let Some(count) = counts.get_mut(*index) {
                *count = match code % 3 {
                    0 => 1,
                    1 => 8,
                    _ if may_vanish => 0,
                    _ => 1,
                };
            }
            code /= 3;
        }
        let roles = assign_count(pattern, counts.iter().sum());
        let mut at = 0;
        for (slot, count) in result.iter_mut().zip(&counts) {
            for role in roles.iter().skip(at).take(*count).flatten() {
                if !slot.contains(role) {
                    slot.push(*role);
                }
            }
            at += count;
        }
    }
    result
}

/// A glob without a match stays as it is; an unquoted variable may vanish.
fn may_vanish(word: &Word) -> bool {
    word.parts.iter().all(|part| {
        matches!(
            part,
            WordPart::Unknown {
                may_split: true,
                may_be_empty: true,
                ..
            }
        )
    })
}

/// Roles of `count` operands; `None` for those that the program does not take.
fn assign_count(pattern: &OperandPattern, count: usize) -> Vec<Option<Role>> {
    let items = &pattern.0;
    let Some(many) = items.iter().position(|(_, times)| *times == Times::Many) else {
        let required = items
            .iter()
            .filter(|(_, times)| *times == Times::One)
            .count();
        let mut optional = count.saturating_sub(required);
        let mut roles = Vec::with_capacity(count);
        for (role, times) in items {
            if *times == Times::Optional {
                if optional == 0 {
                    continue;
                }
                optional -= 1;
            }
            roles.push(Some(*role));
        }
        roles.truncate(count);
        roles.resize(count, None);
        return roles;
    };
    let (heads, rest) = items.split_at(many);
    let (repeated, tails) = match rest.split_first() {
        Some(((role, _), tails)) => (*role, tails),
        None => return vec![None; count],
    };
    let tail_count = tails.len().min(count);
    let head_count = heads.len().min(count - tail_count);
    let mut roles: Vec<Option<Role>> = heads
        .iter()
        .take(head_count)
        .map(|(role, _)| Some(*role))
        .collect();
    roles.resize(count - tail_count, Some(repeated));
    roles.extend(
        tails
            .iter()
            .skip(tails.len() - tail_count)
            .map(|(role, _)| Some(*role)),
    );
    roles
}

fn apply_default(
    entry: &Entry,
    scanned: &Scanned<'_>,
    invocation: &Invocation<'_>,
    recursive: bool,
    judgement: &mut Judgement,
) {
    if recursive
        && judgement
            .paths
            .iter()
            .any(|path| path.recursive && path.kind == AccessKind::Read)
    {
        judgement.walks = true;
    }
    let Some((role, path)) = &entry.default else {
        return;
    };
    // Only a program that recurses, or lists, falls back to the directory; it searches what is
    // piped into it otherwise.
    let skipped = usize::from(
        !marked(scanned, Mark::NoFirst)
            && entry
                .operands
                .0
                .first()
                .is_some_and(|(role, times)| *role == Role::Value && *times != Times::Many),
    );
    let has_path =
        scanned.operands.len() > skipped && !scanned.operands.iter().skip(skipped).all(may_vanish);
    let from_input = matches!(role, Role::Read)
        && matches!(
            invocation.stdin,
            Stdin::Pipe | Stdin::Text(_) | Stdin::File(_)
        )
        && entry.recursive;
    if has_path || from_input || (*role == Role::Read && !recursive) {
        return;
    }
    let span = invocation
        .args
        .first()
        .map_or(crate::Span { start: 0, end: 0 }, |word| word.span);
    use_word(
        entry,
        *role,
        &Word::literal(path.clone(), span),
        recursive,
        judgement,
    );
    if recursive && *role == Role::Read {
        judgement.walks = true;
    }
}

/// Adds what the use of `word` in `role` does.
pub(crate) fn use_word(
    entry: &Entry,
    role: Role,
    word: &Word,
    recursive: bool,
    judgement: &mut Judgement,
) {
    let mut path = |kind, detail| {
        // `-` is standard input or output for nearly every program that takes files; a program
        // for which it is a file named `-` touches an ordinary file of the working directory.
        if word.as_literal() != Some("-") {
            judgement.paths.push(PathUse {
                word: word.clone(),
                kind,
                detail,
                recursive,
            });
        }
    };
    match role {
        Role::Value | Role::Assignment => {}
        Role::Read => path(AccessKind::Read, AccessDetail::Plain),
        Role::List => path(AccessKind::List, AccessDetail::Plain),
        Role::Write => path(AccessKind::Write, AccessDetail::Plain),
        Role::Append => path(AccessKind::Write, AccessDetail::Append),
        Role::Truncate => path(AccessKind::Write, AccessDetail::Truncate),
        Role::Device => path(AccessKind::Write, AccessDetail::Device),
        Role::Delete => path(AccessKind::Delete, AccessDetail::Plain),
        Role::Rename => path(AccessKind::Delete, AccessDetail::Rename),
        Role::Permissions => path(AccessKind::Write, AccessDetail::Permissions),
        Role::Replace => {
            path(AccessKind::Read, AccessDetail::Plain);
            path(AccessKind::Write, AccessDetail::Plain);
            path(AccessKind::Delete, AccessDetail::Plain);
        }
        Role::Edit => {
            path(AccessKind::Read, AccessDetail::Plain);
            path(AccessKind::Write, AccessDetail::Plain);
        }
        Role::Code => {
            path(AccessKind::Read, AccessDetail::Plain);
            judgement
                .nested
                .push(Nested::CodeFile { word: word.clone() });
            judgement.add(Effect::RunsCode);
        }
        Role::Command => {}
        Role::Shell => {
            judgement.nested.push(Nested::Shell {
                text: word.clone(),
                elsewhere: entry.elsewhere,
            });
        }
        Role::Inline(language) => {
            judgement.nested.push(Nested::Inline {
                language,
                text: word.clone(),
            });
            judgement.add(Effect::RunsCode);
            judgement.make_opaque("inline-code", format!("runs inline {language} code"));
        }
        Role::Runs => {
            judgement.make_opaque(
                "flag-runs-code",
                format!(
                    "`{}` names something that `{}` runs",
                    word.display(),
                    entry.name
                ),
            );
        }
        Role::Host => {
            judgement.hosts.push(word.clone());
            judgement.add(Effect::Network);
        }
        Role::RemoteRead | Role::RemoteWrite => remote(role, word, recursive, judgement),
        Role::Directory => {
            judgement.cwd.push(word.clone());
            // Seen from there it is where the command looks, whatever it does.
            let here = Word::literal(".", word.span);
            judgement.touch(&here, AccessKind::List, AccessDetail::Plain);
        }
    }
}

/// `host:path` is remote when a colon comes before the first slash, as `scp` and `rsync` have it.
fn remote(role: Role, word: &Word, recursive: bool, judgement: &mut Judgement) {
    let prefix = word.literal_prefix();
    let local = match (prefix.find(':'), prefix.find('/')) {
        (None, Some(_)) => true,
        (Some(colon), Some(slash)) => slash < colon,
        (Some(_), None) => false,
        (None, None) => word.as_literal().is_some(),
    };
    let kind = if role == Role::RemoteRead {
        AccessKind::Read
    } else {
        AccessKind::Write
    };
    let known_remote = !local && prefix.contains(':');
    if !known_remote {
        judgement.paths.push(PathUse {
            word: word.clone(),
            kind,
            detail: AccessDetail::Plain,
            recursive,
        });
    }
    if !local {
        judgement.hosts.push(word.clone());
        judgement.add(Effect::Network);
        judgement.add(Effect::RemoteHost);
    }
}
