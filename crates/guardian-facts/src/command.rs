//! Commands: what a shell text would run, word by word.
//!
//! The shell reading (`shell/`) produces [`CommandFact`]s; the catalogue (`catalogue/`) judges one
//! [`Invocation`] at a time and says what it does ([`Judgement`]).

use std::path::PathBuf;

use crate::{AccessDetail, AccessKind, Span};

/// A piece of a shell word after expansion of everything that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordPart {
    /// Known text, after quote removal and expansion.
    Literal(String),
    /// Unquoted pattern text (`*`, `?`, `[…]`, extglob), expanded by the shell at run time.
    Glob(String),
    /// Something that is not known before it runs.
    Unknown {
        /// The source text, e.g. `$X` or `$(date)`.
        written: String,
        /// It may expand to nothing.
        may_be_empty: bool,
        /// It is not quoted, so it may split into several words or none.
        may_split: bool,
        /// It is a decimal integer, whatever its value (a loop counter, `$#`, `$(wc -l <f)`).
        integer: bool,
    },
    /// The fresh path that a `mktemp` in the same call printed.
    TemporaryPath,
}

/// One word of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Its parts, in order. Neighbouring literals are merged; an empty word has none.
    pub parts: Vec<WordPart>,
    /// Where it stands; words made by an expansion share the span of their source.
    pub span: Span,
}

impl Word {
    /// A word of known text.
    #[must_use]
    pub fn literal(text: impl Into<String>, span: Span) -> Self {
        let text = text.into();
        let parts = if text.is_empty() {
            Vec::new()
        } else {
            vec![WordPart::Literal(text)]
        };
        Self { parts, span }
    }

    /// The text when it is wholly known.
    #[must_use]
    pub fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [WordPart::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The known text in front of the first part that is not known.
    #[must_use]
    pub fn literal_prefix(&self) -> &str {
        match self.parts.first() {
            Some(WordPart::Literal(text)) => text,
            _ => "",
        }
    }

    /// The word may become several words, or vanish, when the shell expands it.
    #[must_use]
    pub fn may_split(&self) -> bool {
        self.parts.iter().any(|part| match part {
            WordPart::Literal(_) | WordPart::TemporaryPath => false,
            WordPart::Glob(_) => true,
            WordPart::Unknown { may_split, .. } => *may_split,
        })
    }

    /// The word's first character is not known, so it could turn out to be a `-`. A fresh temporary
    /// path never begins with one.
    #[must_use]
    pub fn may_begin_with_dash(&self) -> bool {
        match self.parts.first() {
            Some(WordPart::Literal(text)) => text.starts_with('-'),
            Some(WordPart::TemporaryPath) | None => false,
            Some(WordPart::Glob(_) | WordPart::Unknown { .. }) => true,
        }
    }

    /// The word for people: unknown parts as they were written.
    #[must_use]
    pub fn display(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                WordPart::Literal(text) | WordPart::Glob(text) => text.as_str(),
                WordPart::Unknown { written, .. } => written.as_str(),
                WordPart::TemporaryPath => "<temporary path>",
            })
            .collect()
    }
}

/// How the program was written. A basename is never trusted when a path was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProgramForm {
    /// `ls`: looked up on PATH, or a builtin.
    Bare,
    /// `./x.sh`, `sub/tool`.
    Relative,
    /// `/usr/bin/ls`.
    Absolute,
    /// Not known before it runs (`$X`, a glob, a substitution).
    Unknown,
    /// A function defined earlier in the same text; its body's commands are facts of their own.
    Function,
}

/// The program of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// As written, after expansion of what is known.
    pub written: String,
    /// How it was written.
    pub form: ProgramForm,
    /// The name rules match on: the bare name, or the file name of a path. Deny and ask rules
    /// compare it whatever the form; allow rules need [`ProgramForm::Bare`] or a path in a
    /// system program directory.
    pub name: Option<String>,
    /// The resolved path for a written path.
    pub path: Option<crate::PathFact>,
}

/// `NAME=value` in front of a command, or on its own, or exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Variable name.
    pub name: String,
    /// Its value.
    pub value: Word,
    /// It changes what later commands execute (`PATH`, `LD_PRELOAD`, `GIT_SSH_COMMAND`, …) and is
    /// not on the list of harmless values.
    pub changes_execution: bool,
    /// Where.
    pub span: Span,
}

/// What a redirect does with its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RedirectKind {
    /// `<`
    Read,
    /// `>`, `>|`, `&>`
    Truncate,
    /// `>>`, `&>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `2>&1`, `<&3`, `>&-`
    Duplicate,
    /// `<<EOF`
    Heredoc,
    /// `<<<`
    HereString,
}

/// One redirect of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// What it does.
    pub kind: RedirectKind,
    /// The target word; the body for a heredoc or here-string.
    pub target: Word,
    /// The target is known to have no effect (`/dev/null`, a duplicated descriptor, a heredoc).
    pub inert: bool,
    /// Where.
    pub span: Span,
}

/// Where a command stands in the text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// Position in its pipeline, 0 = first.
    pub pipe_stage: usize,
    /// Number of stages of its pipeline.
    pub pipe_stages: usize,
    /// Index of the command that feeds this one's standard input through a pipe.
    pub piped_from: Option<usize>,
    /// Runs only when something else succeeded, failed or matched.
    pub conditional: bool,
    /// Runs in the background (`&`).
    pub background: bool,
    /// Index of the wrapper, function call or substitution consumer that runs it.
    pub inside: Option<usize>,
    /// It runs on another machine or in a container (`ssh`, `docker exec`): the paths of its
    /// accesses are not paths of this machine. Floor denies about it become asks (SPEC §7.3).
    pub elsewhere: bool,
}

/// Is it known what this command does?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effects {
    /// Every effect is among the facts.
    Known,
    /// It may do anything.
    Opaque,
}

/// Something a command does beyond the paths it touches. Policy and presets decide by these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Prints, computes or waits; touches nothing.
    Inert,
    /// Reports local system state only (`ps`, `df`, `uname`).
    SystemQuery,
    /// Prints environment variables.
    ReadsEnvironment,
    /// Changes only the shell's own state (`cd`, `set`, an assignment).
    ShellState,
    /// Reaches the network.
    Network,
    /// Acts on another machine or in a container (`ssh`, `docker exec`, `kubectl`).
    RemoteHost,
    /// Throws away something that cannot be had back (`git reset --hard`, `DROP`, destroy).
    Destructive,
    /// Rewrites an undecidable set of files (whole-tree checkout, `tar x`, `npm install`).
    BulkWrite,
    /// Makes something public (`npm publish`, `git push`, release).
    Publishes,
    /// Installs or removes packages.
    Installs,
    /// Rewrites version-control history (`rebase`, `commit --amend`, `filter-branch`).
    HistoryRewrite,
    /// Records in the local repository (`git add`, plain `git commit`).
    GitRecord,
    /// Any other change of repository state (`branch`, `merge`, `config`).
    GitChange,
    /// Gains privilege (`sudo`, `su`, `doas`).
    Privilege,
    /// Makes code run later (`crontab`, `systemctl enable`, `at`).
    Persistence,
    /// Signals or changes other processes or the system (`kill`, `shutdown`, `mount`).
    SystemChange,
    /// Runs code of the project: build, test and lint commands.
    RunsProjectCode,
    /// Runs code that was given inline or in a file.
    RunsCode,
    /// Runs code that comes from the network (`curl … | sh`, `npx pkg`). A package runner (`npx`,
    /// `uvx`) carries [`Self::Installs`] too; the floor asks about the ones without it.
    RunsRemoteCode,
    /// Multiplies itself without end.
    ForkBomb,
    /// Runs guardian itself with anything but its read-only subcommands.
    RunsGuardian,
}

/// One command that would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandFact {
    /// What is run.
    pub program: Program,
    /// All words, the program's first.
    pub argv: Vec<Word>,
    /// Assignments in front of it.
    pub assignments: Vec<Assignment>,
    /// Its redirects.
    pub redirects: Vec<Redirect>,
    /// Working directory; `None` when unknown.
    pub cwd: Option<PathBuf>,
    /// Where it stands.
    pub place: Place,
    /// Is it known what it does?
    pub effects_known: Effects,
    /// What it does beyond accesses; sorted, without duplicates. Accesses and endpoints are in
    /// [`crate::Facts`] with this command's index.
    pub effects: Vec<Effect>,
    /// The program only runs another command that is a fact of its own (`env`, `timeout`).
    pub wrapper: bool,
    /// It reads, lists or searches recursively beneath a directory where secret files could be.
    pub walks: bool,
    /// Why the environment that a command which runs code of the project gets is not the session's
    /// own (`export TOOL=./x; make`, `env -i make`); `None` when it is, or for other commands.
    pub environment: Option<String>,
    /// Where.
    pub span: Span,
}

impl CommandFact {
    /// argv as text for people and for rules that match a literal prefix.
    #[must_use]
    pub fn display(&self) -> String {
        self.argv
            .iter()
            .map(Word::display)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// True when the command has this effect.
    #[must_use]
    pub fn has(&self, effect: Effect) -> bool {
        self.effects.contains(&effect)
    }
}

/// What feeds a command's standard input, as far as the reading knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing, or the inherited empty input.
    Empty,
    /// Known text (heredoc, here-string, `echo` of literals).
    Text(Word),
    /// A file.
    File(Word),
    /// The output of another command.
    Pipe,
}

/// One command line for the catalogue to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation<'a> {
    /// The name to look up: the bare program name, or the file name of a program in a system
    /// program directory.
    pub name: &'a str,
    /// All words after the program.
    pub args: &'a [Word],
    /// What feeds its input.
    pub stdin: &'a Stdin,
}

/// Use of an operand or flag value as a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathUse {
    /// The word (or the part of it behind `--flag=`).
    pub word: Word,
    /// What is done to it.
    pub kind: AccessKind,
    /// The finer operation.
    pub detail: AccessDetail,
    /// Everything beneath it too.
    pub recursive: bool,
}

/// Code that a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nested {
    /// Another command, given as words (`env`, `timeout`, `xargs`, `find -exec`). `appended` says
    /// that unknown words are added at the end (`xargs`) or substituted for `{}`.
    Command {
        /// Its words, the program's first.
        argv: Vec<Word>,
        /// Unknown words are added.
        appended: bool,
        /// It runs on another machine or in a container.
        elsewhere: bool,
        /// Assignments that the wrapper makes (`env A=b`).
        assignments: Vec<Assignment>,
        /// Directory that the wrapper changes to (`env -C`, `git -C`).
        cwd: Option<Word>,
    },
    /// Text that a POSIX shell reads (`bash -c`, `eval`, `ssh host 'text'`).
    Shell {
        /// The text.
        text: Word,
        /// It runs on another machine or in a container.
        elsewhere: bool,
    },
    /// Text in another language (`python -c`, `node -e`): opaque, scanned loosely.
    Inline {
        /// Language, e.g. `python`.
        language: &'static str,
        /// The text.
        text: Word,
    },
    /// A file whose content is run.
    CodeFile {
        /// Which.
        word: Word,
    },
    /// Standard input is run as shell text (`bash`, `sh -s`).
    StdinShell,
    /// Standard input is run as code of another language (`python -`).
    StdinCode {
        /// Language.
        language: &'static str,
    },
}

/// What must hold of the machine for a [`Judgement`] to be true. The catalogue asks nothing of the
/// machine itself: whoever has the probe checks these and makes the command opaque otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Condition {
    /// The repository's effective config and attributes run nothing (SPEC §6.1 "Git runs what a
    /// repository's config says").
    CleanGitConfig,
    /// The repository's hooks are unchanged since the session began.
    UnchangedGitHooks,
    /// No file of the project makes a version manager run a program of the project's choice.
    PlainToolVersions,
    /// As [`Self::PlainToolVersions`], and a toolchain file names an installed Rust toolchain.
    InstalledRustToolchain,
}

/// Which files a recursive read opens: `rg` leaves hidden names out, `grep --include='*.rs'` opens
/// nothing else. The default opens everything, and follows no links that it meets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WalkFilter {
    /// Names with a leading dot are left out, with all beneath them.
    pub skips_hidden: bool,
    /// Only files whose last component matches one of these patterns (`*` and `?`) are opened;
    /// empty means all.
    pub only_names: Vec<String>,
    /// Files whose last component matches one of these patterns are not opened.
    pub skips_names: Vec<String>,
    /// Directories whose name matches one of these patterns are not entered.
    pub skips_directories: Vec<String>,
    /// Links that are met are opened, and walked when they lead to a directory (`grep -R`, `rg -L`,
    /// `find -exec cat`).
    pub follows_links: bool,
}

impl WalkFilter {
    /// The walk could open this file. `beneath` is its path relative to the directory where the
    /// walk starts.
    #[must_use]
    pub fn may_open(&self, beneath: &std::path::Path) -> bool {
        let hidden = |component: std::path::Component<'_>| {
            component.as_os_str().as_encoded_bytes().first() == Some(&b'.')
        };
        if self.skips_hidden && beneath.components().any(hidden) {
            return false;
        }
        let leaves_out = |patterns: &[String], name: &std::ffi::OsStr| {
            name.to_str().is_some_and(|name| {
                patterns
                    .iter()
                    .any(|pattern| is_plain(pattern) && matches_name(pattern, name))
            })
        };
        let mut parents = beneath
            .parent()
            .into_iter()
            .flat_map(|parent| parent.iter());
        if parents.any(|name| leaves_out(&self.skips_directories, name)) {
            return false;
        }
        let Some(name) = beneath.file_name().and_then(|name| name.to_str()) else {
            return true;
        };
        if leaves_out(&self.skips_names, name.as_ref()) {
            return false;
        }
        self.only_names.is_empty()
            || self
                .only_names
                .iter()
                .any(|pattern| !is_plain(pattern) || matches_name(pattern, name))
    }
}

/// Only `*` and `?` mean something in the pattern. Of any other nothing is claimed: it opens
/// everything and leaves out nothing.
fn is_plain(pattern: &str) -> bool {
    !pattern.contains(['[', '{', '\\'])
}

/// `*` and `?` as in a shell.
fn matches_name(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while seen < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, seen));
                at += 1;
            }
            Some(byte) if *byte == b'?' || name.get(seen) == Some(byte) => {
                at += 1;
                seen += 1;
            }
            _ => match star {
                Some((after, from)) => {
                    at = after;
                    seen = from + 1;
                    star = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern
        .get(at..)
        .unwrap_or_default()
        .iter()
        .all(|byte| *byte == b'*')
}

/// Files of a repository that a git command reaches without naming each of them: whoever has the
/// probe looks which of them are secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitFiles {
    /// What is done with them.
    pub reach: GitReach,
    /// Words in front of a `--`: revisions, or paths when a file of that name is there.
    pub names: Vec<Word>,
    /// Words behind a `--`, or that can only be pathspecs; none means everything.
    pub pathspecs: Vec<Word>,
}

/// What a git command does with files that it does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GitReach {
    /// Prints the contents of tracked files (`git diff`, `git grep`, `git archive`).
    Shows,
    /// Prints an object by its name, which may be that of a tracked file (`git cat-file -p ID`).
    ShowsObject,
    /// Records files that are not tracked yet (`git add .`).
    Stages,
}

/// What the catalogue says of one invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// Is everything it does in this judgement (and in what is nested)?
    pub effects_known: Effects,
    /// What it does beyond paths.
    pub effects: Vec<Effect>,
    /// Paths it touches.
    pub paths: Vec<PathUse>,
    /// Hosts it reaches: words holding a URL, host or `user@host:path`.
    pub hosts: Vec<Word>,
    /// Code it runs.
    pub nested: Vec<Nested>,
    /// It only runs what is nested.
    pub wrapper: bool,
    /// It reads beneath a directory recursively (`grep -r`, `find` contents, `cp -r`).
    pub walks: bool,
    /// Why it is opaque: `(code, sentence)`.
    pub opaque: Vec<(&'static str, String)>,
    /// Directory that the command changes to before it touches any of its paths (`git -C`,
    /// `tar -C`). Several changes follow each other (`git -C a -C b`).
    pub cwd: Vec<Word>,
    /// What must hold for this judgement to be true.
    pub conditions: Vec<Condition>,
    /// What its recursive reads leave out.
    pub walk: WalkFilter,
    /// Paths of what is nested stand for everything beneath them (`find src -exec rm {} +`):
    /// accesses of the nested commands are recursive, and one that reads walks.
    pub nested_beneath: bool,
    /// Files of the repository that it reaches without naming them.
    pub git_files: Vec<GitFiles>,
}

impl Judgement {
    /// A program that may do anything.
    #[must_use]
    pub fn opaque(code: &'static str, reason: impl Into<String>) -> Self {
        Self {
            effects_known: Effects::Opaque,
            opaque: vec![(code, reason.into())],
            ..Self::known()
        }
    }

    /// A program that does nothing yet: effects are added by the caller.
    #[must_use]
    pub fn known() -> Self {
        Self {
            effects_known: Effects::Known,
            effects: Vec::new(),
            paths: Vec::new(),
            hosts: Vec::new(),
            nested: Vec::new(),
            wrapper: false,
            walks: false,
            opaque: Vec::new(),
            cwd: Vec::new(),
            conditions: Vec::new(),
            walk: WalkFilter::default(),
            nested_beneath: false,
            git_files: Vec::new(),
        }
    }
}
