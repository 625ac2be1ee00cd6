//! `git`: what the flag tables cannot say. Global options, revisions with paths in them, and
//! subcommands that read or change depending on how many operands they have.

use super::git_files;
use super::scan::{Scanned, behind};
use super::schema::Entry;
use crate::command::{Condition, Invocation, Judgement, PathUse, Word, WordPart};
use crate::{AccessDetail, AccessKind, Effect};

/// Configuration keys that only change what is printed or who is named, for `-c key=value`.
const HARMLESS_KEYS: &[&str] = &[
    "user.name",
    "user.email",
    "core.quotepath",
    "core.autocrlf",
    "core.safecrlf",
    "core.abbrev",
    "core.precomposeunicode",
    "core.ignorecase",
    "core.preloadindex",
    "core.longpaths",
    "core.optionallocks",
    "log.date",
    "log.decorate",
    "log.showsignature",
    "log.follow",
    "diff.renames",
    "diff.renamelimit",
    "diff.context",
    "diff.algorithm",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.colormoved",
    "diff.wserrorhighlight",
    "commit.gpgsign",
    "tag.gpgsign",
    "merge.conflictstyle",
    "status.short",
    "status.branch",
    "status.showuntrackedfiles",
    "status.relativepaths",
    "column.ui",
    "init.defaultbranch",
    "gc.auto",
    "grep.linenumber",
    "push.default",
    "pull.rebase",
    "pull.ff",
    "fetch.prune",
    "rebase.autostash",
    "submodule.recurse",
    "feature.manyfiles",
    "versionsort.suffix",
    "blame.showroot",
    "blame.showemail",
    "blame.date",
    "blame.blankboundary",
    "blame.coloring",
    "blame.markunblamablelines",
    "blame.markignoredlines",
    "http.postbuffer",
];

fn is_harmless_setting(setting: &Word) -> bool {
    let Some(text) = setting.as_literal() else {
        return false;
    };
    let (key, value) = text.split_once('=').unwrap_or((text, "true"));
    let key = key.to_ascii_lowercase();
    if key == "core.pager" || key.starts_with("pager.") {
        return matches!(value, "cat" | "false" | "");
    }
    if matches!(key.as_str(), "core.fsmonitor" | "core.hookspath") {
        return matches!(value, "false" | "/dev/null") && key == "core.fsmonitor"
            || value == "/dev/null";
    }
    HARMLESS_KEYS.contains(&key.as_str()) || key.starts_with("color.") || key.starts_with("advice.")
}

/// Adds what the global options mean for the subcommand.
pub(crate) fn after_subcommand(
    global: &Scanned<'_>,
    subcommand: &Entry,
    judgement: &mut Judgement,
) {
    for setting in global.values("-c") {
        if !is_harmless_setting(setting) {
            judgement.make_opaque(
                "git-config-override",
                format!("`-c {}` can make git run something", setting.display()),
            );
        }
    }
    // `git help` and `git log --help` run what `man.*.cmd` or `browser.*.cmd` name.
    if subcommand.name != "git version" {
        judgement.conditions.push(Condition::CleanGitConfig);
    }
}

/// A word that is no subcommand may be an alias from the configuration.
pub(crate) fn unlisted_subcommand(judgement: &mut Judgement) {
    judgement.conditions.push(Condition::CleanGitConfig);
}

/// Adds what a subcommand does beyond its table.
pub(crate) fn judge(
    entry: &Entry,
    scanned: &Scanned<'_>,
    invocation: &Invocation<'_>,
    judgement: &mut Judgement,
) {
    let name = entry.name.strip_prefix("git ").unwrap_or(&entry.name);
    match name {
        "branch" => {
            if !scanned.operands.is_empty()
                && !any(
                    scanned,
                    &[
                        "--list",
                        "--show-current",
                        "--contains",
                        "--no-contains",
                        "--merged",
                        "--no-merged",
                        "--points-at",
                    ],
                )
            {
                judgement.add(Effect::GitChange);
            }
            if any(scanned, &["--set-upstream-to", "--unset-upstream"]) {
                writes_config(invocation, judgement);
            }
        }
        "tag" => {
            let lists = any(
                scanned,
                &[
                    "--list",
                    "-n",
                    "--contains",
                    "--no-contains",
                    "--merged",
                    "--no-merged",
                    "--points-at",
                    "-v",
                ],
            );
            if !scanned.operands.is_empty() && !lists {
                judgement.add(Effect::GitChange);
            }
        }
        "stash" => {
            judgement.add(Effect::BulkWrite);
            judgement.add(Effect::GitChange);
        }
        "config" => config(scanned, judgement),
        "checkout" => checkout(scanned, judgement),
        "restore" => restore(scanned, judgement),
        "push" => push(scanned, judgement),
        "symbolic-ref" => {
            if scanned.operands.len() > 1 {
                judgement.add(Effect::GitChange);
            }
        }
        "clone" => {
            if let Some(source) = scanned.operands.first() {
                remote(source, judgement);
            }
            let span = invocation
                .args
                .first()
                .map_or(crate::Span { start: 0, end: 0 }, |w| w.span);
            let target = scanned
                .operands
                .get(1)
                .cloned()
                .unwrap_or_else(|| Word::literal(".", span));
            judgement.write(&target);
        }
        "fetch" | "pull" | "ls-remote" | "remote add" | "remote set-url" => {
            for word in &scanned.operands {
                if word.literal_prefix().contains(':') || word.literal_prefix().contains('/') {
                    remote(word, judgement);
                }
            }
        }
        "grep" => {
            if any(scanned, &["--no-index", "--untracked"]) {
                judgement.walks = true;
            }
            revisions(
                scanned.operands.get(usize::from(!scanned.has("-e"))..),
                judgement,
            );
        }
        "diff" if scanned.has("--no-index") => {
            for path in &mut judgement.paths {
                path.recursive = true;
            }
            judgement.walks = true;
        }
        "reflog" => {
            let first = scanned.operands.first();
            if first.is_some_and(|word| {
                !matches!(word.as_literal(), Some("show" | "exists" | "list"))
                    && (word
                        .as_literal()
                        .is_none_or(|text| matches!(text, "expire" | "delete" | "drop" | "write")))
            }) {
                judgement.add(Effect::Destructive);
            }
        }
        "add" => {}
        _ => revisions(Some(&scanned.operands), judgement),
    }
    for range in scanned.values("-L") {
        // `-L 1,5:file`
        let text = range.literal_prefix();
        if let Some(colon) = text.rfind(':') {
            judgement.read(&behind(range, colon + 1));
        }
    }
    if CHANGES_REMOTES.contains(&name) {
        writes_config(invocation, judgement);
    }
    if matches!(name, "diff" | "blame") {
        revisions(Some(&scanned.operands), judgement);
    }
    git_files::judge(name, scanned, judgement);
}

fn any(scanned: &Scanned<'_>, names: &[&str]) -> bool {
    names.iter().any(|name| scanned.has(name))
}

/// `HEAD:path` reads `path` as it is in a commit: the same secrets as in the file.
///
/// So does `:path`, `:0:path` and `HEAD^{/a: b}:path`: what stands behind any colon counts.
fn revisions(operands: Option<&[Word]>, judgement: &mut Judgement) {
    for word in operands.unwrap_or_default() {
        let prefix = word.literal_prefix();
        for (colon, _) in prefix.match_indices(':') {
            let path = behind(word, colon + 1);
            if !path.parts.is_empty() {
                judgement.read(&path);
            }
        }
    }
}

/// A URL, `host:path`, or the name of a configured remote.
fn remote(word: &Word, judgement: &mut Judgement) {
    let prefix = word.literal_prefix();
    if prefix.starts_with("ext::") || prefix.starts_with("fd::") {
        judgement.make_opaque(
            "remote-helper",
            format!("`{}` runs a program", word.display()),
        );
    }
    let colon = prefix.find(':');
    let slash = prefix.find('/');
    let local = match (colon, slash) {
        (None, Some(_)) => true,
        (Some(colon), Some(slash)) => slash < colon,
        _ => false,
    };
    if local || prefix.starts_with("file://") {
        judgement.read(word);
    } else {
        judgement.hosts.push(word.clone());
    }
}

/// Subcommands that write what is known of remotes into the repository's configuration.
const CHANGES_REMOTES: &[&str] = &[
    "remote add",
    "remote set-url",
    "remote rename",
    "remote set-branches",
    "remote remove",
    "remote rm",
];

/// The command writes `.git/config`, a protected file, as `git config` does.
fn writes_config(invocation: &Invocation<'_>, judgement: &mut Judgement) {
    let span = invocation
        .args
        .first()
        .map_or(crate::Span { start: 0, end: 0 }, |word| word.span);
    judgement.write(&Word::literal(".git/config", span));
}

/// Flags and subcommands of `git config` that only read.
const CONFIG_READS: &[&str] = &[
    "--get",
    "--get-all",
    "--get-regexp",
    "--get-urlmatch",
    "--list",
    "--get-color",
    "--get-colorbool",
];

/// Flags of `git config` that change something.
const CONFIG_CHANGES: &[&str] = &[
    "--add",
    "--replace-all",
    "--unset",
    "--unset-all",
    "--rename-section",
    "--remove-section",
    "--edit",
];

/// `git config` reads when it is told to, or when it is given nothing but a key. Everything else
/// changes a file that says what git runs.
fn config(scanned: &Scanned<'_>, judgement: &mut Judgement) {
    let first = scanned.operands.first().and_then(|word| word.as_literal());
    let told = any(scanned, CONFIG_READS) || matches!(first, Some("get" | "list"));
    let only_key = scanned.operands.len() <= 1
        && !scanned.operands.iter().any(Word::may_split)
        && !matches!(
            first,
            Some("set" | "unset" | "rename-section" | "remove-section" | "edit")
        );
    let changes = any(scanned, CONFIG_CHANGES) || !(told || only_key);
    let files: Vec<Word> = scanned.values("--file").cloned().collect();
    if !changes {
        files.iter().for_each(|file| judgement.read(file));
        let blobs: Vec<Word> = scanned.values("--blob").cloned().collect();
        revisions(Some(&blobs), judgement);
        if scanned.has("--includes") && !files.is_empty() {
            judgement.make_opaque(
                "names-from-file",
                "the file may include others, which are named in it",
            );
        }
        return;
    }
    judgement.add(Effect::GitChange);
    files.iter().for_each(|file| judgement.write(file));
    let key = scanned.operands.iter().find(|word| {
        !matches!(
            word.as_literal(),
            Some("set" | "unset" | "rename-section" | "remove-section")
        )
    });
    let elsewhere = any(scanned, &["--global", "--system"]);
    if elsewhere || !key.is_some_and(is_harmless_setting) {
        // Most other keys can name a program that git runs later, and what is not the
        // repository's own is in force everywhere.
        judgement.add(Effect::Persistence);
    }
    if files.is_empty() && !elsewhere {
        let span = scanned
            .operands
            .first()
            .map_or(crate::Span { start: 0, end: 0 }, |w| w.span);
        let file = if scanned.has("--worktree") {
            ".git/config.worktree"
        } else {
            ".git/config"
        };
        judgement.write(&Word::literal(file, span));
    }
}

fn checkout(scanned: &Scanned<'_>, judgement: &mut Judgement) {
    judgement.add(Effect::GitChange);
    match scanned.before_dashes {
        Some(before) if before < scanned.operands.len() => {
            paths(scanned.operands.get(before..), judgement);
        }
        _ if any(scanned, &["-b", "-B", "--orphan"]) && scanned.operands.is_empty() => {}
        // Without `--` an operand is a branch or a path: either way files change.
        _ => {
            judgement.add(Effect::BulkWrite);
            for word in &scanned.operands {
                judgement.write(word);
            }
        }
    }
}

fn restore(scanned: &Scanned<'_>, judgement: &mut Judgement) {
    judgement.add(Effect::GitChange);
    if any(scanned, &["--staged"]) && !any(scanned, &["--worktree"]) {
        return;
    }
    paths(Some(&scanned.operands), judgement);
}

/// Pathspecs whose files are overwritten.
fn paths(operands: Option<&[Word]>, judgement: &mut Judgement) {
    for word in operands.unwrap_or_default() {
        let text = word.display();
        if text.ends_with('/') || matches!(text.as_str(), "." | ":/" | "") || text.starts_with(':')
        {
            judgement.add(Effect::BulkWrite);
        }
        // Git expands what the shell left alone: `'.env*'`.
        let word = match word.as_literal() {
            Some(text) if text.contains(['*', '?', '[']) => Word {
                parts: vec![WordPart::Glob(text.to_owned())],
                span: word.span,
            },
            _ => word.clone(),
        };
        judgement.paths.push(PathUse {
            word,
            kind: AccessKind::Write,
            detail: AccessDetail::Plain,
            recursive: true,
        });
    }
}

fn push(scanned: &Scanned<'_>, judgement: &mut Judgement) {
    if any(scanned, &["--dry-run"]) {
        judgement.add(Effect::Network);
        return;
    }
    judgement.add(Effect::Publishes);
    if let Some(target) = scanned.operands.first()
        && target.literal_prefix().contains([':', '/'])
    {
        remote(target, judgement);
    }
    for refspec in scanned.operands.iter().skip(1) {
        let prefix = refspec.literal_prefix();
        if prefix.starts_with('+') || prefix.starts_with(':') || refspec.as_literal().is_none() {
            judgement.add(Effect::Destructive);
        }
    }
}
