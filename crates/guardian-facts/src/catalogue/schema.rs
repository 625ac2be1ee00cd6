//! The data schema of the catalogue: one [`Entry`] per command or subcommand.
//!
//! An entry is a TOML table whose key is the command (`sort`) or the command with its subcommand
//! (`git log`). Flags are written one per line, the way manuals list them:
//!
//! ```text
//! -u --unique                        no value
//! -k --key = value                   one value, attached or the next word
//! --color =? value                   a value that can only be attached
//! --arg = value value                two values, each a word of its own
//! -o --output = write                the value is a path that is written
//! -D --delete ! destructive          an effect (or a mark, see `Mark`) of the flag
//! -# ! …                             a number as flag (`head -5`)
//! ```

use serde::Deserialize;

use crate::Effect;
use crate::command::{Condition, Invocation};

/// How a program reads its command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Style {
    /// `getopt_long`: clusters, `--long=value`, unique prefixes of long options, operands anywhere.
    Gnu,
    /// As [`Style::Gnu`], but long options are never abbreviated (clap, argparse without prefixes).
    Exact,
    /// Options end at the first operand; long options as in [`Style::Gnu`].
    Posix,
    /// Long options with one dash and no clusters (`java -version`, Go's `flag`); `--name` too.
    SingleDash,
    /// No options at all: every word is an operand (`echo`, `[`).
    Words,
}

/// What a flag value or an operand is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Text without any effect.
    Value,
    /// A file whose content is read.
    Read,
    /// A file or directory of which names or metadata are read.
    List,
    /// A file that is written.
    Write,
    /// A file that is appended to.
    Append,
    /// A file whose content is cut away.
    Truncate,
    /// A device node or a file written raw.
    Device,
    /// A name that is removed.
    Delete,
    /// A name that moves elsewhere.
    Rename,
    /// A file whose mode or owner changes.
    Permissions,
    /// A file that is read, then replaced by another name (`gzip`).
    Replace,
    /// A file that is read and written in place.
    Edit,
    /// A file whose content is run.
    Code,
    /// The first word of another command; all that follows belongs to it.
    Command,
    /// Text that a shell runs.
    Shell,
    /// Text in another language that is run.
    Inline(&'static str),
    /// A program or a setting that makes the command run something.
    Runs,
    /// A host, URL or `user@host:path`.
    Host,
    /// A path, or a remote `host:path`, that is read.
    RemoteRead,
    /// A path, or a remote `host:path`, that is written.
    RemoteWrite,
    /// A directory that the command changes to first.
    Directory,
    /// `NAME=value`, set for the nested command.
    Assignment,
}

impl Role {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "value" | "pattern" => Self::Value,
            "read" => Self::Read,
            "list" => Self::List,
            "write" => Self::Write,
            "append" => Self::Append,
            "truncate" => Self::Truncate,
            "device" => Self::Device,
            "delete" => Self::Delete,
            "rename" => Self::Rename,
            "permissions" => Self::Permissions,
            "replace" => Self::Replace,
            "edit" => Self::Edit,
            "code" => Self::Code,
            "command" => Self::Command,
            "shell" => Self::Shell,
            "python" => Self::Inline("python"),
            "javascript" => Self::Inline("javascript"),
            "perl" => Self::Inline("perl"),
            "ruby" => Self::Inline("ruby"),
            "php" => Self::Inline("php"),
            "lua" => Self::Inline("lua"),
            "r" => Self::Inline("r"),
            "elixir" => Self::Inline("elixir"),
            "applescript" => Self::Inline("applescript"),
            "runs" => Self::Runs,
            "host" => Self::Host,
            "remote-read" => Self::RemoteRead,
            "remote-write" => Self::RemoteWrite,
            "directory" => Self::Directory,
            "assignment" => Self::Assignment,
            _ => return None,
        })
    }

    /// The role cannot do more than read or list what the word names.
    pub(crate) fn only_reads(self) -> bool {
        matches!(self, Self::Value | Self::Read | Self::List)
    }
}

/// What a flag does besides taking values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// An effect of the command.
    Effect(Effect),
    /// Operands stand for everything beneath them too.
    Recursive,
    /// The first operand is no longer there (`grep -e`).
    NoFirst,
    /// The last operand is no longer there (`cp -t DIR`).
    NoLast,
    /// Operands that are read are written too (`sed -i`).
    Edits,
    /// Operands are only read (`gzip -c`).
    Reads,
    /// Operands are only read, unless a flag with [`Mark::Acts`] is given, too (`xz -t`).
    Tests,
    /// Takes back what [`Mark::Tests`] says (`xz -t -d`, where the last one counts).
    Acts,
    /// The entry's own effects do not happen (`--dry-run`).
    Cancels,
    /// The flag may do anything.
    Opaque,
    /// The flag makes the command read files whose names are not on the command line. It is opaque
    /// when given; a word of which it is not known whether it is this flag is a path that is not
    /// known anyway.
    ReadsUnknown,
}

/// A flag of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flag {
    /// Spellings with their dashes; `-#` stands for a number.
    pub(crate) names: Vec<String>,
    /// Roles of its values.
    pub(crate) values: Vec<Role>,
    /// The one value can only be attached (`--color=auto`).
    pub(crate) optional: bool,
    /// What else it does.
    pub(crate) marks: Vec<Mark>,
}

impl Flag {
    /// True for a flag whose presence could make the command do more than read.
    fn can_harm(&self) -> bool {
        self.values.iter().any(|role| !role.only_reads())
            || self.marks.iter().any(|mark| match mark {
                Mark::Effect(effect) => !is_harmless(*effect),
                Mark::Recursive | Mark::NoLast | Mark::Edits | Mark::Opaque => true,
                Mark::NoFirst
                | Mark::Reads
                | Mark::Tests
                | Mark::Acts
                | Mark::Cancels
                | Mark::ReadsUnknown => false,
            })
    }

    /// The flag has this mark.
    pub(crate) fn has(&self, mark: Mark) -> bool {
        self.marks.contains(&mark)
    }
}

/// Effects that touch nothing.
pub(crate) fn is_harmless(effect: Effect) -> bool {
    matches!(
        effect,
        Effect::Inert | Effect::SystemQuery | Effect::ShellState
    )
}

/// How often an operand may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    /// Exactly once.
    One,
    /// Once or not at all.
    Optional,
    /// Any number of times (`*` and `+`).
    Many,
}

/// The list of operands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OperandPattern(pub(crate) Vec<(Role, Times)>);

impl OperandPattern {
    fn parse(text: &str) -> Result<Self, EntryError> {
        let mut items = Vec::new();
        for item in text.split_whitespace() {
            let (name, times) = match item.strip_suffix(['*', '+', '?']) {
                Some(name) if item.ends_with('?') => (name, Times::Optional),
                Some(name) => (name, Times::Many),
                None => (item, Times::One),
            };
            let role =
                Role::parse(name).ok_or_else(|| EntryError(format!("unknown role `{name}`")))?;
            items.push((role, times));
        }
        if items
            .iter()
            .filter(|(_, times)| *times == Times::Many)
            .count()
            > 1
        {
            return Err(EntryError(format!(
                "`{text}` repeats more than one operand"
            )));
        }
        Ok(Self(items))
    }

    /// The operands hold a nested command: options end where it begins.
    pub(crate) fn has_command(&self) -> bool {
        self.0.iter().any(|(role, _)| *role == Role::Command)
    }
}

/// The small grammars that take over where a table does not suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Grammar {
    /// `awk` programs.
    Awk,
    /// `curl` URLs and uploads.
    Curl,
    /// `date` operands.
    Date,
    /// `dd` operands.
    Dd,
    /// `env` operands and `-S`.
    Env,
    /// `find` expressions.
    Find,
    /// `git` subcommands whose meaning depends on more than single flags.
    Git,
    /// `jq` programs.
    Jq,
    /// Interpreters that take a script, inline code or standard input.
    Interpreter,
    /// `kill`, whose signals begin with a dash.
    Kill,
    /// `ps`, whose BSD options have no dash.
    Ps,
    /// `sed` scripts.
    Sed,
    /// `sh`, `bash` and their kin.
    Shell,
    /// SQL given on the command line.
    Sql,
    /// `tar` with its old-style bundles.
    Tar,
    /// `test` and `[`.
    Test,
    /// `xargs`.
    Xargs,
    /// `printf` and `read`: builtins that evaluate a variable name.
    VariableName,
    /// `eval`.
    Eval,
    /// `source` and `.`.
    Source,
    /// `trap`.
    Trap,
    /// `alias`.
    Alias,
    /// `set`.
    ShellSet,
    /// `shopt`.
    ShellOptions,
    /// `declare`, `export`, `local`, `readonly`.
    Declare,
    /// `command`.
    Command,
    /// `compgen`.
    Compgen,
    /// `let`.
    Let,
    /// `ln`, and the links that `cp` makes.
    Links,
    /// `man`, whose operand may be a file.
    Man,
    /// `yq`, in its Go and its Python form.
    Yq,
    /// Operands that are joined by blanks and run by a shell (`ssh`, `watch`).
    Joined,
    /// `ip`.
    Ip,
    /// Reporting programs that also have verbs which change something (`timedatectl`).
    Reports,
    /// Reporting programs of which only a few command lines are known.
    ReportList,
    /// `sysctl`: an operand with `=` changes a setting.
    Assigns,
    /// `script`, which runs a shell when it is given no command.
    ScriptSession,
    /// `tmux` formats, which can run a command (`#(…)`).
    TmuxFormat,
    /// `grep -r`, which `--include` narrows down.
    Grep,
    /// `rg`, which leaves hidden files out and knows file types.
    Rg,
    /// `rpm`, where `-i` means two things.
    Rpm,
    /// `getent`: which database it asks.
    Databases,
    /// `printenv`: which variables it prints.
    Printenv,
    /// `split`: what its pieces are called.
    Split,
    /// `stty`, which shows settings or changes them.
    TerminalSettings,
}

/// One command or subcommand, compiled.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its full name: `sort`, `git log`.
    pub(crate) name: String,
    /// One line for people.
    pub(crate) about: String,
    /// How it reads its command line.
    pub(crate) style: Style,
    /// Its flags, those of `include`d entries among them.
    pub(crate) flags: Vec<Flag>,
    /// Its operands.
    pub(crate) operands: OperandPattern,
    /// What it touches when no path operand is given.
    pub(crate) default: Option<(Role, String)>,
    /// Operands stand for everything beneath them.
    pub(crate) recursive: bool,
    /// A walk follows the links that it meets, unless `--no-dereference` is given.
    pub(crate) follows_links: bool,
    /// What it always does.
    pub(crate) effects: Vec<Effect>,
    /// What it does when it has at least one operand.
    pub(crate) operand_effects: Vec<Effect>,
    /// What must hold of the machine for the judgement to be true.
    pub(crate) conditions: Vec<Condition>,
    /// Why nothing is known of it.
    pub(crate) opaque: Option<String>,
    /// Single words that make it print its version or usage and nothing else.
    pub(crate) probes: Vec<String>,
    /// The first operand names a subcommand with an entry of its own.
    pub(crate) subcommands: bool,
    /// The grammar that takes over.
    pub(crate) grammar: Option<Grammar>,
    /// The nested command runs on another machine or in a container.
    pub(crate) elsewhere: bool,
    /// A word `@file`, wherever it stands, brings more words from that file.
    pub(crate) response_files: bool,
    /// Language of an interpreter.
    pub(crate) language: Option<&'static str>,
    /// Command lines that are effects-Known and harmless.
    pub(crate) harmless: Vec<String>,
    /// Command lines that are not.
    pub(crate) not: Vec<String>,
}

/// A fault in catalogue data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct EntryError(pub(crate) String);

/// An entry as written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct EntryData {
    about: String,
    style: Option<Style>,
    flags: String,
    pub(crate) include: Vec<String>,
    operands: String,
    default: Option<String>,
    recursive: bool,
    follows_links: bool,
    effects: String,
    operand_effects: String,
    conditions: String,
    opaque: Option<String>,
    probes: Option<Vec<String>>,
    subcommands: bool,
    grammar: Option<Grammar>,
    elsewhere: bool,
    response_files: bool,
    language: Option<String>,
    harmless: Vec<String>,
    not: Vec<String>,
}

impl EntryData {
    /// Compiles the entry; `included` are the flags of the entries in `include`.
    pub(crate) fn compile(self, name: &str, included: Vec<Flag>) -> Result<Entry, EntryError> {
        let mut flags = parse_flags(&self.flags)?;
        flags.extend(included);
        let mut probes = self.probes.unwrap_or_else(|| {
            if self.style == Some(Style::Words) {
                Vec::new()
            } else {
                vec!["--version".to_owned(), "--help".to_owned()]
            }
        });
        probes.sort();
        let default = self
            .default
            .map(|text| match text.split_once(' ') {
                Some((role, path)) => Role::parse(role)
                    .map(|role| (role, path.to_owned()))
                    .ok_or_else(|| EntryError(format!("unknown role `{role}`"))),
                None => Err(EntryError(format!(
                    "`default` needs a role and a path, got `{text}`"
                ))),
            })
            .transpose()?;
        let language = self
            .language
            .map(|text| match Role::parse(&text) {
                Some(Role::Inline(language)) => Ok(language),
                _ => Err(EntryError(format!("unknown language `{text}`"))),
            })
            .transpose()?;
        Ok(Entry {
            name: name.to_owned(),
            about: self.about,
            style: self.style.unwrap_or(Style::Gnu),
            flags,
            operands: OperandPattern::parse(&self.operands)?,
            default,
            recursive: self.recursive,
            follows_links: self.follows_links,
            effects: parse_effects(&self.effects)?,
            operand_effects: parse_effects(&self.operand_effects)?,
            conditions: parse_conditions(&self.conditions)?,
            opaque: self.opaque,
            probes,
            subcommands: self.subcommands,
            grammar: self.grammar,
            elsewhere: self.elsewhere,
            response_files: self.response_files,
            language,
            harmless: self.harmless,
            not: self.not,
        })
    }
}

impl Entry {
    /// The arguments are exactly one word that makes the program print its version or usage.
    pub(crate) fn is_probe(&self, invocation: &Invocation<'_>) -> bool {
        match invocation.args {
            [word] => word
                .as_literal()
                .is_some_and(|text| self.probes.iter().any(|probe| probe == text)),
            _ => false,
        }
    }

    /// A word that turns out to be a flag could make the command do more than read.
    pub(crate) fn flags_can_harm(&self) -> bool {
        self.flags.iter().any(Flag::can_harm)
    }

    /// The flag with exactly this spelling.
    pub(crate) fn flag(&self, name: &str) -> Option<&Flag> {
        self.flags
            .iter()
            .find(|flag| flag.names.iter().any(|known| known == name))
    }
}

fn parse_flags(text: &str) -> Result<Vec<Flag>, EntryError> {
    let mut flags = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        flags.push(parse_flag(line)?);
    }
    Ok(flags)
}

fn parse_flag(line: &str) -> Result<Flag, EntryError> {
    let (head, marks) = match line.split_once(" ! ") {
        Some((head, marks)) => (head, marks),
        None => (line, ""),
    };
    let (names, values, optional) = match head.split_once(" =") {
        Some((names, values)) => match values.strip_prefix('?') {
            Some(values) => (names, values, true),
            None => (names, values, false),
        },
        None => (head, "", false),
    };
    let takes_value = head.contains(" =");
    let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
    if let Some(bad) = names.iter().find(|name| !name.starts_with(['-', '+'])) {
        return Err(EntryError(format!("`{bad}` in `{line}` is not a flag")));
    }
    let values = values
        .split_whitespace()
        .map(|role| Role::parse(role).ok_or_else(|| EntryError(format!("unknown role `{role}`"))))
        .collect::<Result<Vec<_>, _>>()?;
    if names.is_empty() || takes_value == values.is_empty() || (optional && values.len() != 1) {
        return Err(EntryError(format!("flag without names or arity: `{line}`")));
    }
    let marks = marks
        .split_whitespace()
        .map(parse_mark)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Flag {
        names,
        values,
        optional,
        marks,
    })
}

fn parse_mark(text: &str) -> Result<Mark, EntryError> {
    Ok(match text {
        "recursive" => Mark::Recursive,
        "no-first" => Mark::NoFirst,
        "no-last" => Mark::NoLast,
        "edits" => Mark::Edits,
        "reads" => Mark::Reads,
        "tests" => Mark::Tests,
        "acts" => Mark::Acts,
        "cancels" => Mark::Cancels,
        "opaque" => Mark::Opaque,
        "reads-unknown" => Mark::ReadsUnknown,
        name => Mark::Effect(parse_effect(name)?),
    })
}

fn parse_effects(text: &str) -> Result<Vec<Effect>, EntryError> {
    text.split_whitespace().map(parse_effect).collect()
}

fn parse_conditions(text: &str) -> Result<Vec<Condition>, EntryError> {
    text.split_whitespace()
        .map(|name| match name {
            "clean-git-config" => Ok(Condition::CleanGitConfig),
            "unchanged-git-hooks" => Ok(Condition::UnchangedGitHooks),
            "plain-tool-versions" => Ok(Condition::PlainToolVersions),
            "rust-toolchain" => Ok(Condition::InstalledRustToolchain),
            _ => Err(EntryError(format!("unknown condition `{name}`"))),
        })
        .collect()
}

/// Effects by their name in the data.
pub(crate) const EFFECT_NAMES: &[(&str, Effect)] = &[
    ("inert", Effect::Inert),
    ("system-query", Effect::SystemQuery),
    ("reads-environment", Effect::ReadsEnvironment),
    ("shell-state", Effect::ShellState),
    ("network", Effect::Network),
    ("remote-host", Effect::RemoteHost),
    ("destructive", Effect::Destructive),
    ("bulk-write", Effect::BulkWrite),
    ("publishes", Effect::Publishes),
    ("installs", Effect::Installs),
    ("history-rewrite", Effect::HistoryRewrite),
    ("git-record", Effect::GitRecord),
    ("git-change", Effect::GitChange),
    ("privilege", Effect::Privilege),
    ("persistence", Effect::Persistence),
    ("system-change", Effect::SystemChange),
    ("runs-project-code", Effect::RunsProjectCode),
    ("runs-code", Effect::RunsCode),
    ("runs-remote-code", Effect::RunsRemoteCode),
    ("fork-bomb", Effect::ForkBomb),
    ("runs-guardian", Effect::RunsGuardian),
];

fn parse_effect(name: &str) -> Result<Effect, EntryError> {
    EFFECT_NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, effect)| *effect)
        .ok_or_else(|| EntryError(format!("unknown effect or mark `{name}`")))
}
