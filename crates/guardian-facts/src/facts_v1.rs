//! The versioned, serialised form of [`Facts`]: what embedders snapshot, what cards and
//! `guardian check` show.
//!
//! Version 1 only grows: fields may be added, none is renamed or removed, and no value changes its
//! meaning. The inner types are free to change; they do not derive `Serialize`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::command::RedirectKind;
use crate::{
    Access, AccessDetail, AccessKind, AccessSource, CodeFile, CommandFact, Definition, Effect,
    Effects, Endpoint, Facts, FileKind, LooseFinding, Opacity, PathFact, ProgramForm, Reading,
    Redirect, Scope, Sensitivity, Span, Target, Word, WordPart,
};

macro_rules! mirror {
    ($(#[$doc:meta])* $name:ident mirrors $inner:ident { $($variant:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $(#[doc = concat!("See `", stringify!($inner), "::", stringify!($variant), "`.")] $variant,)*
        }

        impl From<$inner> for $name {
            fn from(inner: $inner) -> Self {
                match inner {
                    $($inner::$variant => Self::$variant,)*
                }
            }
        }
    };
}

mirror!(
    /// Kind of an access.
    AccessKindV1 mirrors AccessKind { Read, List, Write, Delete, Execute }
);
mirror!(
    /// The finer operation of an access.
    AccessDetailV1 mirrors AccessDetail { Plain, Rename, Permissions, Truncate, Append, Device }
);
mirror!(
    /// Where a path lies.
    ScopeV1 mirrors Scope { Workspace, Scratch, Outside, ScratchEscape }
);
mirror!(
    /// What is at a path.
    FileKindV1 mirrors FileKind { File, Directory, Special }
);
mirror!(
    /// Is every command known?
    ReadingV1 mirrors Reading { Complete, Partial }
);
mirror!(
    /// Is it known what a command does?
    EffectsV1 mirrors Effects { Known, Opaque }
);
mirror!(
    /// How a program was written.
    ProgramFormV1 mirrors ProgramForm { Bare, Relative, Absolute, Unknown, Function }
);
mirror!(
    /// What a redirect does.
    RedirectKindV1 mirrors RedirectKind {
        Read, Truncate, Append, ReadWrite, Duplicate, Heredoc, HereString,
    }
);
mirror!(
    /// What a command does beyond the paths it touches.
    EffectV1 mirrors Effect {
        Inert, SystemQuery, ReadsEnvironment, ShellState, Network, RemoteHost, Destructive, BulkWrite,
        Publishes, Installs, HistoryRewrite, GitRecord, GitChange, Privilege, Persistence,
        SystemChange, RunsProjectCode, RunsCode, RunsRemoteCode, ForkBomb, RunsGuardian,
    }
);

/// A byte range `[start, end)` in the command text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SpanV1 {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl From<Span> for SpanV1 {
    fn from(span: Span) -> Self {
        Self {
            start: span.start,
            end: span.end,
        }
    }
}

/// A class that a path belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClassV1 {
    /// Holds a credential.
    Secret,
    /// Denied to every tool.
    Sensitive,
    /// Makes code run later.
    Protected,
    /// guardian's own.
    Guardian,
}

fn classes(sensitivity: Sensitivity) -> Vec<ClassV1> {
    [
        (sensitivity.secret, ClassV1::Secret),
        (sensitivity.sensitive, ClassV1::Sensitive),
        (sensitivity.protected, ClassV1::Protected),
        (sensitivity.guardian, ClassV1::Guardian),
    ]
    .into_iter()
    .filter_map(|(is_member, class)| is_member.then_some(class))
    .collect()
}

/// One path. Device and inode are left out: they differ between machines and runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PathV1 {
    /// As written.
    pub written: String,
    /// Absolute, every link resolved. Bytes that are no UTF-8 are replaced.
    pub path: String,
    /// Where it lies.
    pub scope: ScopeV1,
    /// Classes it belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassV1>,
    /// What is there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<FileKindV1>,
    /// Hard links, when there is more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<u64>,
}

impl From<&PathFact> for PathV1 {
    fn from(fact: &PathFact) -> Self {
        Self {
            written: fact.written.clone(),
            path: fact.path.to_string_lossy().into_owned(),
            scope: fact.scope.into(),
            classes: classes(fact.sensitivity),
            kind: fact.kind.map(Into::into),
            links: (fact.links > 1).then_some(fact.links),
        }
    }
}

/// What an access applies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(
    tag = "certainty",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum TargetV1 {
    /// Exactly this path.
    Exact(PathV1),
    /// Everything that matches a shell pattern.
    Pattern {
        /// As written.
        written: String,
        /// With its directory resolved.
        pattern: String,
        /// The directory in front of the first pattern character.
        base: PathV1,
        /// Classes that a match could belong to.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        may_match: Vec<ClassV1>,
    },
    /// Not known.
    Unknown {
        /// As written.
        written: String,
        /// Why.
        reason: String,
        /// What it would be if every unknown part were empty.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when_empty: Option<String>,
        /// A fresh temporary path.
        #[serde(default, skip_serializing_if = "is_false")]
        temporary: bool,
    },
}

impl From<&Target> for TargetV1 {
    fn from(target: &Target) -> Self {
        match target {
            Target::Exact(path) => Self::Exact(path.into()),
            Target::Pattern {
                written,
                pattern,
                base,
                may_match,
            } => Self::Pattern {
                written: written.clone(),
                pattern: pattern.clone(),
                base: base.into(),
                may_match: classes(*may_match),
            },
            Target::Unknown {
                written,
                reason,
                when_empty,
                temporary,
            } => Self::Unknown {
                written: written.clone(),
                reason: reason.clone(),
                when_empty: when_empty
                    .as_ref()
                    .map(|path| path.to_string_lossy().into_owned()),
                temporary: *temporary,
            },
        }
    }
}

/// Where in the call an access comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessSourceV1 {
    /// The `path` argument of a file tool.
    PathArgument,
    /// A walk beneath it.
    Walk,
    /// An operand or flag of `command`.
    Command,
    /// A redirect of `command`.
    Redirect,
    /// Declared by a registered extractor.
    Declared,
}

/// One access.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessV1 {
    /// What is done.
    pub kind: AccessKindV1,
    /// The finer operation, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<AccessDetailV1>,
    /// To what.
    pub target: TargetV1,
    /// Also to everything beneath it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub recursive: bool,
    /// Where it comes from.
    pub source: AccessSourceV1,
    /// Index of the command that does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<usize>,
}

impl From<&Access> for AccessV1 {
    fn from(access: &Access) -> Self {
        let (source, command) = match access.source {
            AccessSource::PathArgument => (AccessSourceV1::PathArgument, None),
            AccessSource::Walk => (AccessSourceV1::Walk, None),
            AccessSource::Command(index) => (AccessSourceV1::Command, Some(index)),
            AccessSource::Redirect(index) => (AccessSourceV1::Redirect, Some(index)),
            AccessSource::Declared => (AccessSourceV1::Declared, None),
        };
        Self {
            kind: access.kind.into(),
            detail: (access.detail != AccessDetail::Plain).then(|| access.detail.into()),
            target: (&access.target).into(),
            recursive: access.recursive,
            source,
            command,
        }
    }
}

/// One word of a command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WordV1 {
    /// Its text, unknown parts as written.
    pub text: String,
    /// It is wholly known; a pattern or an unknown part makes it false.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub known: bool,
}

impl From<&Word> for WordV1 {
    fn from(word: &Word) -> Self {
        let known = word
            .parts
            .iter()
            .all(|part| matches!(part, WordPart::Literal(_)));
        Self {
            text: word.display(),
            known,
        }
    }
}

/// `NAME=value`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssignmentV1 {
    /// Variable.
    pub name: String,
    /// Value.
    pub value: WordV1,
    /// It changes what later commands execute.
    #[serde(default, skip_serializing_if = "is_false")]
    pub changes_execution: bool,
}

/// One redirect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RedirectV1 {
    /// What it does.
    pub kind: RedirectKindV1,
    /// Target; the body of a heredoc.
    pub target: WordV1,
    /// Without effect on any file.
    #[serde(default, skip_serializing_if = "is_false")]
    pub inert: bool,
}

impl From<&Redirect> for RedirectV1 {
    fn from(redirect: &Redirect) -> Self {
        Self {
            kind: redirect.kind.into(),
            target: (&redirect.target).into(),
            inert: redirect.inert,
        }
    }
}

/// One command that would run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandV1 {
    /// The program as written.
    pub program: String,
    /// How it was written.
    pub program_form: ProgramFormV1,
    /// Where the written path leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_path: Option<PathV1>,
    /// All words, the program's first.
    pub argv: Vec<WordV1>,
    /// Assignments in front of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assignments: Vec<AssignmentV1>,
    /// Its redirects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<RedirectV1>,
    /// Working directory; absent when unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Is it known what it does?
    pub effects_known: EffectsV1,
    /// What it does beyond accesses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectV1>,
    /// Runs on another machine or in a container.
    #[serde(default, skip_serializing_if = "is_false")]
    pub elsewhere: bool,
    /// Only runs another command.
    #[serde(default, skip_serializing_if = "is_false")]
    pub wrapper: bool,
    /// Reads recursively where secret files could be.
    #[serde(default, skip_serializing_if = "is_false")]
    pub walks: bool,
    /// Why a command that runs code of the project gets another environment than the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// Index of the command that feeds it through a pipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub piped_from: Option<usize>,
    /// Index of the command that runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<usize>,
    /// Runs only under a condition.
    #[serde(default, skip_serializing_if = "is_false")]
    pub conditional: bool,
    /// Runs in the background.
    #[serde(default, skip_serializing_if = "is_false")]
    pub background: bool,
    /// Where in the text.
    pub span: SpanV1,
}

impl From<&CommandFact> for CommandV1 {
    fn from(command: &CommandFact) -> Self {
        Self {
            program: command.program.written.clone(),
            program_form: command.program.form.into(),
            program_path: command.program.path.as_ref().map(Into::into),
            argv: command.argv.iter().map(Into::into).collect(),
            assignments: command
                .assignments
                .iter()
                .map(|assignment| AssignmentV1 {
                    name: assignment.name.clone(),
                    value: (&assignment.value).into(),
                    changes_execution: assignment.changes_execution,
                })
                .collect(),
            redirects: command.redirects.iter().map(Into::into).collect(),
            cwd: command
                .cwd
                .as_ref()
                .map(|cwd| cwd.to_string_lossy().into_owned()),
            effects_known: command.effects_known.into(),
            effects: command
                .effects
                .iter()
                .map(|effect| (*effect).into())
                .collect(),
            elsewhere: command.place.elsewhere,
            wrapper: command.wrapper,
            walks: command.walks,
            environment: command.environment.clone(),
            piped_from: command.place.piped_from,
            inside: command.place.inside,
            conditional: command.place.conditional,
            background: command.place.background,
            span: command.span.into(),
        }
    }
}

/// A network address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndpointV1 {
    /// Host; `null` when unknown.
    pub host: Option<String>,
    /// Port, when written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Index of the command that reaches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<usize>,
}

impl From<&Endpoint> for EndpointV1 {
    fn from(endpoint: &Endpoint) -> Self {
        Self {
            host: endpoint.host.clone(),
            port: endpoint.port,
            command: endpoint.command,
        }
    }
}

/// A file run as code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeFileV1 {
    /// Which.
    pub path: PathV1,
    /// BLAKE3 of its content; `null` when it could not be read.
    pub hash: Option<String>,
    /// Index of the command that runs it.
    pub command: usize,
}

impl From<&CodeFile> for CodeFileV1 {
    fn from(file: &CodeFile) -> Self {
        Self {
            path: (&file.path).into(),
            hash: file.hash.clone(),
            command: file.command,
        }
    }
}

/// What a project command runs, as the project defines it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionV1 {
    /// The file that it stands in.
    pub file: String,
    /// Which part of it; empty for the whole file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// Its text, cut at a length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// BLAKE3 of the whole of it; `null` when what runs cannot be told for certain.
    pub hash: Option<String>,
    /// Index of the command.
    pub command: usize,
}

impl From<&Definition> for DefinitionV1 {
    fn from(definition: &Definition) -> Self {
        Self {
            file: definition.file.display().to_string(),
            part: definition.part.clone(),
            text: definition.text.clone(),
            hash: definition.hash.clone(),
            command: definition.command,
        }
    }
}

/// Something that could not be determined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpacityV1 {
    /// Stable id.
    pub code: String,
    /// One sentence.
    pub reason: String,
    /// Where in the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<SpanV1>,
    /// Index of the command it belongs to; absent when it makes the reading partial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<usize>,
}

impl From<&Opacity> for OpacityV1 {
    fn from(opacity: &Opacity) -> Self {
        Self {
            code: opacity.code.to_owned(),
            reason: opacity.reason.clone(),
            span: opacity.span.map(Into::into),
            command: opacity.command,
        }
    }
}

/// Danger seen in text that could not be read strictly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingV1 {
    /// Words of the suspected command.
    pub words: Vec<String>,
    /// It stands where a command would.
    pub command_position: bool,
    /// What it would be if it ran, in one line.
    pub summary: String,
    /// Where in the text.
    pub span: SpanV1,
}

impl From<&LooseFinding> for FindingV1 {
    fn from(finding: &LooseFinding) -> Self {
        Self {
            words: finding.words.clone(),
            command_position: finding.command_position,
            summary: finding.facts.summary.clone(),
            span: finding.span.into(),
        }
    }
}

/// Facts of one call, version 1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactsV1 {
    /// Always 1.
    pub version: u32,
    /// The tool.
    pub tool: String,
    /// One line for people.
    pub summary: String,
    /// Is every command known?
    pub reading: ReadingV1,
    /// Is it known of every command what it does? Opaque also when the reading is partial.
    pub effects: EffectsV1,
    /// What would be touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<AccessV1>,
    /// What would run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandV1>,
    /// What would be reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<EndpointV1>,
    /// Files run as code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code_files: Vec<CodeFileV1>,
    /// What project commands run, as the project defines it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<DefinitionV1>,
    /// What could not be determined.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opacity: Vec<OpacityV1>,
    /// What the loose reading saw.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingV1>,
}

impl From<&Facts> for FactsV1 {
    fn from(facts: &Facts) -> Self {
        let is_known = facts.reading == Reading::Complete
            && facts
                .commands
                .iter()
                .all(|command| command.effects_known == Effects::Known);
        Self {
            version: 1,
            tool: facts.tool.clone(),
            summary: facts.summary.clone(),
            reading: facts.reading.into(),
            effects: if is_known {
                EffectsV1::Known
            } else {
                EffectsV1::Opaque
            },
            accesses: facts.accesses.iter().map(Into::into).collect(),
            commands: facts.commands.iter().map(Into::into).collect(),
            endpoints: facts.endpoints.iter().map(Into::into).collect(),
            code_files: facts.code_files.iter().map(Into::into).collect(),
            definitions: facts.definitions.iter().map(Into::into).collect(),
            opacity: facts.opacity.iter().map(Into::into).collect(),
            findings: facts.findings.iter().map(Into::into).collect(),
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_false(value: &bool) -> bool {
    !*value
}

fn yes() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_true(value: &bool) -> bool {
    *value
}
