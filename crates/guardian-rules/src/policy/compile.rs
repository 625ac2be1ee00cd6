//! From policy texts to compiled rules.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use guardian_facts::{AccessKind, PathProbe};
use toml::Spanned;

use super::error::{
    ConditionError, ErrorPlace, ForbiddenKeyError, MisplacedKeyError, OverrideError, PatternError,
    PolicyError, RuleIdError, SyntaxError, VersionError,
};
use super::file::{AccessName, EffectName, OneOrMany, PolicyFile, RuleEffect, RuleFile, Tail};
use super::glob::{PathGlob, TextGlob};
use super::misplaced::misplaced_keys;
use super::never::never_holds;
use super::rule::{Rule, SubjectKind, Unless, When, effects_named};
use super::words::{CommandPattern, ProgramPattern};
use super::{Layer, Preset, Trust};
use crate::floor::{FloorEffect, floor_rules};
use crate::tools::BUILT_IN_TOOLS;
use crate::{ToolKind, tool_kind};

/// Where relative globs and `~` lead, and what links make of them.
#[derive(Clone, Copy)]
pub struct CompileContext<'a> {
    /// The session's workspace, canonical; relative globs are anchored there.
    pub workspace: Option<&'a Path>,
    /// The user's home directory, canonical.
    pub home: &'a Path,
    /// Resolves the directories that rules name, so that a rule written with a link still matches
    /// the resolved path; `None` where there is no file system.
    pub probe: Option<&'a dyn PathProbe>,
}

/// One policy text with where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyText {
    /// Its layer; several texts of one layer are united.
    pub layer: Layer,
    /// Name for messages, usually the path.
    pub name: String,
    /// The text.
    pub text: String,
    /// May it loosen? Only looked at for the workspace layer.
    pub trust: Trust,
}

/// What one text compiles to.
#[derive(Debug, Default)]
pub(super) struct Compiled {
    pub(super) rules: Vec<Rule>,
    pub(super) ignored_allows: Vec<String>,
    pub(super) preset: Option<Preset>,
    pub(super) overrides: BTreeSet<String>,
    pub(super) accepted: Vec<super::file::AcceptedFile>,
    /// `(rule index, entry, span of the rule, expected)`
    pub(super) examples: Vec<Example>,
}

/// A `match` or `not_match` entry of a rule.
#[derive(Debug, Clone)]
pub(super) struct Example {
    pub(super) rule: Arc<Rule>,
    pub(super) text: String,
    pub(super) expected: bool,
    within: Arc<RulePlace>,
}

impl Example {
    /// Where the entry stands.
    pub(super) fn place(&self) -> ErrorPlace {
        self.within.of(&self.text)
    }
}

/// Where a rule stands in its file. What stands where within it is looked for only when it is to be
/// shown: a file may have tens of thousands of entries, and to find each takes a look at the rule.
#[derive(Debug)]
struct RulePlace {
    file: String,
    source: Arc<str>,
    rule: Range<usize>,
    id: String,
}

impl RulePlace {
    /// The first place of a text in the rule; the rule's id where it is not there.
    fn of(&self, needle: &str) -> ErrorPlace {
        let found = find_span(&self.source, &self.rule, needle)
            .or_else(|| find_span(&self.source, &self.rule, &self.id));
        ErrorPlace {
            file: self.file.clone(),
            source: Arc::clone(&self.source),
            span: found.unwrap_or_else(|| self.rule.clone()),
        }
    }
}

pub(super) fn compile_text(
    text: &PolicyText,
    cx: &CompileContext<'_>,
    errors: &mut Vec<PolicyError>,
) -> Compiled {
    let source: Arc<str> = text.text.as_str().into();
    let place = |span: Range<usize>| ErrorPlace {
        file: text.name.clone(),
        source: source.clone(),
        span,
    };
    let file: PolicyFile = match toml::from_str(&text.text) {
        Ok(file) => file,
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            let mut is_told = false;
            for found in misplaced_keys(&text.text) {
                is_told |= found.span.start == span.start || found.span.contains(&span.start);
                errors.push(PolicyError::MisplacedKey(MisplacedKeyError {
                    place: place(found.span),
                    key: found.key,
                    instead: found.instead,
                }));
            }
            if !is_told {
                errors.push(PolicyError::Syntax(SyntaxError {
                    place: place(span),
                    message: error.message().to_owned(),
                }));
            }
            return Compiled::default();
        }
    };
    if *file.version.get_ref() != 1 {
        errors.push(PolicyError::Version(VersionError {
            place: place(file.version.span()),
            found: *file.version.get_ref(),
        }));
    }
    for (key, span) in forbidden_keys(text.layer, &file) {
        errors.push(PolicyError::ForbiddenKey(ForbiddenKeyError {
            place: place(span),
            key,
        }));
    }

    let mut compiled = Compiled {
        preset: file.preset.as_ref().map(|preset| *preset.get_ref()),
        ..Compiled::default()
    };
    for id in &file.overrides {
        match floor_rules().iter().find(|rule| rule.id == id.get_ref()) {
            Some(rule) if rule.effect != FloorEffect::Deny => {
                compiled.overrides.insert(id.get_ref().clone());
            }
            found => errors.push(PolicyError::Override(OverrideError {
                place: place(id.span()),
                id: id.get_ref().clone(),
                denies: found.is_some(),
            })),
        }
    }
    compiled.accepted = file
        .accepted
        .iter()
        .map(|accepted| accepted.get_ref().clone())
        .collect();

    let mut seen = BTreeSet::new();
    for spanned in &file.rule {
        let id = &spanned.get_ref().id;
        let within = RulePlace {
            file: text.name.clone(),
            source: Arc::clone(&source),
            rule: spanned.span(),
            id: id.clone(),
        };
        if let Some(fault) = id_fault(id, !seen.insert(id.clone())) {
            errors.push(PolicyError::RuleId(RuleIdError {
                place: within.of(id),
                id: id.clone(),
                fault,
            }));
            continue;
        }
        match compile_rule(spanned.get_ref(), text.layer, cx) {
            Ok(rule) => {
                let mut examples = examples_of(spanned.get_ref()).peekable();
                if examples.peek().is_some() {
                    let (shared, within) = (Arc::new(rule.clone()), Arc::new(within));
                    compiled
                        .examples
                        .extend(examples.map(|(text, expected)| Example {
                            rule: Arc::clone(&shared),
                            within: Arc::clone(&within),
                            text,
                            expected,
                        }));
                }
                let loosens = rule.effect == RuleEffect::Allow;
                if loosens && text.layer == Layer::Workspace && text.trust == Trust::Untrusted {
                    compiled.ignored_allows.push(rule.id);
                } else {
                    compiled.rules.push(rule);
                }
            }
            Err(Fault::Condition { fault, hint, at }) => {
                errors.push(PolicyError::Condition(ConditionError {
                    place: within.of(at.unwrap_or(id)),
                    id: id.clone(),
                    fault,
                    hint,
                }));
            }
            Err(Fault::Pattern { pattern, fault }) => {
                errors.push(PolicyError::Pattern(PatternError {
                    place: within.of(&pattern),
                    id: id.clone(),
                    pattern,
                    fault,
                }));
            }
        }
    }
    compiled
}

/// Compiles one rule of the user layer; `None` when it has a fault.
pub(super) fn compile_user_rule(rule: &RuleFile, cx: &CompileContext<'_>) -> Option<Rule> {
    compile_rule(rule, Layer::User, cx).ok()
}

fn examples_of(rule: &RuleFile) -> impl Iterator<Item = (String, bool)> {
    let positive = rule.matches.iter().map(|text| (text.clone(), true));
    positive.chain(rule.not_match.iter().map(|text| (text.clone(), false)))
}

fn forbidden_keys(layer: Layer, file: &PolicyFile) -> Vec<(&'static str, Range<usize>)> {
    if matches!(layer, Layer::Managed | Layer::User) {
        return Vec::new();
    }
    [
        ("preset", file.preset.as_ref().map(Spanned::span)),
        ("overrides", file.overrides.first().map(Spanned::span)),
        ("accepted", file.accepted.first().map(Spanned::span)),
    ]
    .into_iter()
    .filter_map(|(key, span)| span.map(|span| (key, span)))
    .collect()
}

fn id_fault(id: &str, twice: bool) -> Option<&'static str> {
    if id.is_empty() {
        Some("is empty")
    } else if id.len() > 100
        || !id
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    {
        Some("has a character that ids do not have, or is longer than 100")
    } else if id.starts_with("floor.") || id.starts_with("preset.") {
        Some("begins like a built-in one")
    } else if twice {
        Some("is used twice")
    } else {
        None
    }
}

/// The first place of `needle` within a rule's text: as a string, else as a key or a part of one.
fn find_span(source: &str, rule: &Range<usize>, needle: &str) -> Option<Range<usize>> {
    let start = rule.start.min(source.len());
    let text = source.get(start..)?;
    // The span of `[[rule]]` is the header alone; the rule goes on to the next one.
    let header = rule.end.saturating_sub(start).min(text.len());
    let next = text.get(header..)?.find("\n[[");
    let text = text.get(..next.map_or(text.len(), |next| header + next))?;
    let quoted = ['"', '\'']
        .iter()
        .filter_map(|quote| text.find(&format!("{quote}{needle}{quote}")))
        .min()
        .map(|at| at + 1);
    let offset = quoted.or_else(|| text.find(needle))?;
    Some(start + offset..start + offset + needle.len())
}

enum Fault {
    Condition {
        fault: String,
        hint: String,
        at: Option<&'static str>,
    },
    Pattern {
        pattern: String,
        fault: String,
    },
}

fn fault(at: &'static str, fault: impl Into<String>, hint: impl Into<String>) -> Fault {
    Fault::Condition {
        fault: fault.into(),
        hint: hint.into(),
        at: Some(at),
    }
}

fn compile_rule(file: &RuleFile, layer: Layer, cx: &CompileContext<'_>) -> Result<Rule, Fault> {
    let mut paths = file
        .paths
        .as_ref()
        .map(|paths| globs(&paths.0, cx))
        .transpose()?;
    if file.effect != RuleEffect::Allow
        && let (Some(paths), Some(written)) = (&mut paths, &file.paths)
    {
        // `secrets` is the file of that name, or the directory with all in it
        let names: Vec<String> = written
            .0
            .iter()
            .filter(|path| !path.contains(['*', '?', '[', '{']))
            .map(|path| format!("{}/**", path.trim_end_matches('/')))
            .collect();
        paths.extend(globs(&names, cx)?);
    }
    let unless = file.unless.as_ref();
    let unless_paths = unless
        .and_then(|unless| unless.paths.as_ref())
        .map(|paths| globs(&paths.0, cx))
        .transpose()?;

    let tools = file
        .tool
        .as_ref()
        .map(|tools| {
            tools
                .0
                .iter()
                .map(|tool| tool_named(tool, file.effect))
                .collect()
        })
        .transpose()?;
    let tools: Option<Vec<String>> = tools;
    if let Some((at, wrong, hint)) = never_holds(file, tools.as_deref()) {
        return Err(fault(at, wrong, hint));
    }
    let exceptions = unless.and_then(|unless| unless.flags.as_ref());
    for flag in file
        .flags
        .iter()
        .chain(exceptions)
        .flat_map(|flags| &flags.0)
    {
        check_flag(flag)?;
    }

    if file.tail.is_some() && file.command.is_none() {
        return Err(fault(
            "tail",
            "`tail` without `command`",
            "`tail` says what may follow the words of `command`",
        ));
    }
    if let Some(command) = &file.command {
        if command.is_empty() {
            return Err(fault(
                "command",
                "`command` is empty",
                "name the program first: `command = [\"git\", \"status\"]`",
            ));
        }
        if command
            .iter()
            .flat_map(|word| &word.0)
            .any(|word| word.split_whitespace().count() > 1)
        {
            return Err(fault(
                "command",
                "a word of `command` has a space in it",
                "write each word on its own: `command = [\"git\", \"status\"]`",
            ));
        }
    }
    let names =
        |one: &Option<OneOrMany<EffectName>>| one.as_ref().map(|names| effects_named(&names.0));

    let about_access = file.access.is_some()
        || paths.is_some()
        || unless_paths.is_some()
        || file.scope.is_some()
        || file.sensitivity.is_some();
    let about_host = file.host.is_some() || unless.is_some_and(|unless| unless.host.is_some());
    let about_command = file.command.is_some()
        || file.program.is_some()
        || file.flags.is_some()
        || file.does.is_some()
        || unless.is_some_and(|unless| unless.flags.is_some() || unless.does.is_some());
    let subject = match (about_access, about_host, about_command) {
        (true, true, _) => {
            return Err(fault(
                "host",
                "`host` and path conditions never hold of the same fact",
                "write two rules, or use `when`",
            ));
        }
        (true, false, _) => SubjectKind::Access,
        (false, true, _) => SubjectKind::Endpoint,
        (false, false, true) => SubjectKind::Command,
        (false, false, false) => SubjectKind::Call,
    };
    check_effect(file, subject)?;

    let tool_kinds = match (&tools, file.effect) {
        (Some(tools), RuleEffect::Deny | RuleEffect::Ask) if paths.is_some() => tools
            .iter()
            .flat_map(|tool| kinds_of_tool(tool))
            .copied()
            .collect(),
        _ => Vec::new(),
    };
    Ok(Rule {
        id: file.id.clone(),
        layer,
        effect: file.effect,
        reason: file.reason.clone(),
        subject,
        tools: tools.map(|tools| tools.iter().map(|tool| TextGlob::new(tool)).collect()),
        tool_kinds,
        command: file.command.as_ref().map(|command| {
            let words: Vec<Vec<String>> = command.iter().map(|word| word.0.clone()).collect();
            CommandPattern::new(&words, file.tail.unwrap_or(Tail::Any))
        }),
        programs: file
            .program
            .as_ref()
            .map(|programs| ProgramPattern::new(&programs.0)),
        flags: file.flags.as_ref().map(|flags| flags.0.clone()),
        does: names(&file.does),
        access: file
            .access
            .as_ref()
            .map(|kinds| kinds.0.iter().map(|kind| access_kind(*kind)).collect()),
        paths,
        scope: file.scope.as_ref().map(|scopes| scopes.0.clone()),
        sensitivity: file.sensitivity.as_ref().map(|classes| classes.0.clone()),
        hosts: file
            .host
            .as_ref()
            .map(|hosts| hosts.0.iter().map(|host| TextGlob::new(host)).collect()),
        delegates: file
            .delegate
            .as_ref()
            .map(|names| names.0.iter().map(|name| TextGlob::new(name)).collect()),
        modes: file.mode.as_ref().map(|modes| modes.0.clone()),
        permission_modes: file.permission_mode.as_ref().map(|modes| modes.0.clone()),
        when: file.when.as_ref().map(|when| When {
            reads: when.reads.as_ref().map(|names| names.0.clone()),
            writes: when.writes.as_ref().map(|names| names.0.clone()),
            deletes: when.deletes.as_ref().map(|names| names.0.clone()),
            network: when.network,
            does: names(&when.does),
            opaque: when.opaque,
        }),
        unless: unless.map(|unless| Unless {
            flags: unless.flags.as_ref().map(|flags| flags.0.clone()),
            paths: unless_paths,
            does: names(&unless.does),
            hosts: unless
                .host
                .as_ref()
                .map(|hosts| hosts.0.iter().map(|host| TextGlob::new(host)).collect()),
        }),
        fingerprint: fingerprint(file, layer),
    })
}

/// The tool that a rule means. Deny and ask rules name it in upper or lower case as they like; a
/// name that is almost a built-in one is a slip, and a rule with it would never hold.
fn tool_named(written: &str, effect: RuleEffect) -> Result<String, Fault> {
    if BUILT_IN_TOOLS.contains(&written) || written.contains('*') {
        return Ok(written.to_owned());
    }
    let same = BUILT_IN_TOOLS
        .iter()
        .find(|tool| tool.eq_ignore_ascii_case(written));
    let meant = match same {
        Some(tool) if effect != RuleEffect::Allow => return Ok((*tool).to_owned()),
        Some(tool) => Some(tool),
        None if written.len() < 4 || tool_kind(written) == ToolKind::Plugin => None,
        None => {
            let written = written.to_ascii_lowercase();
            BUILT_IN_TOOLS
                .iter()
                .find(|tool| strsim::damerau_levenshtein(&tool.to_ascii_lowercase(), &written) == 1)
        }
    };
    match meant {
        None => Ok(written.to_owned()),
        Some(tool) => Err(fault(
            "tool",
            format!("there is no tool `{written}`"),
            format!("did you mean `{tool}`? A tool of a client with such a name is `{written}*`"),
        )),
    }
}

fn check_flag(flag: &str) -> Result<(), Fault> {
    let name = flag.trim_start_matches(['-', '+']);
    if name.len() < flag.len() && (!name.is_empty() || flag == "--") {
        return Ok(());
    }
    let dashes = if name.chars().count() > 1 { "--" } else { "-" };
    Err(fault(
        "flags",
        format!("`{flag}` is not a flag"),
        format!("write it with its dashes: `{dashes}{name}`; a plain word belongs into `command`"),
    ))
}

/// Conditions that would break the law that adding a fact never loosens, or that name nothing.
fn check_effect(file: &RuleFile, subject: SubjectKind) -> Result<(), Fault> {
    let when = file.when.as_ref();
    if file.effect == RuleEffect::Allow {
        if subject == SubjectKind::Call && file.tool.is_none() {
            return Err(fault(
                "allow",
                "an allow rule has to name what it allows",
                "add `tool`, `command`, `paths` or `host`",
            ));
        }
        if when.is_some_and(|when| {
            when.reads.is_some()
                || when.writes.is_some()
                || when.deletes.is_some()
                || when.does.is_some()
                || when.network == Some(true)
                || when.opaque == Some(true)
        }) {
            return Err(fault(
                "when",
                "an allow rule must not depend on the call doing more",
                "an allow rule may say `network = false` or `opaque = false` in `when`; put the rest into its own conditions",
            ));
        }
        if file.sensitivity.is_some() && file.paths.is_none() {
            return Err(fault(
                "sensitivity",
                "an allow rule for a class of files has to name the paths",
                "add `paths`",
            ));
        }
    } else if when.is_some_and(|when| when.network == Some(false) || when.opaque == Some(false)) {
        return Err(fault(
            "when",
            "a deny or ask rule must not depend on the call doing less",
            "leave `network = false` and `opaque = false` out",
        ));
    }
    Ok(())
}

/// What a file tool does, for deny and ask rules that name it with paths: they hold of commands
/// that do the same, too.
fn kinds_of_tool(tool: &str) -> &'static [AccessKind] {
    match tool {
        "Read" | "Grep" => &[AccessKind::Read],
        "Glob" => &[AccessKind::List],
        "Write" | "Edit" => &[AccessKind::Write, AccessKind::Delete],
        _ => &[],
    }
}

fn access_kind(name: AccessName) -> AccessKind {
    match name {
        AccessName::Read => AccessKind::Read,
        AccessName::List => AccessKind::List,
        AccessName::Write => AccessKind::Write,
        AccessName::Delete => AccessKind::Delete,
        AccessName::Execute => AccessKind::Execute,
    }
}

fn globs(written: &[String], cx: &CompileContext<'_>) -> Result<Vec<PathGlob>, Fault> {
    let workspace = cx.workspace.map(|path| path.to_string_lossy().into_owned());
    let home = cx.home.to_string_lossy().into_owned();
    let aliases = |directory: &str| {
        let resolved = cx.probe?.resolve(Path::new(directory));
        resolved
            .error
            .is_none()
            .then(|| resolved.path.to_string_lossy().into_owned())
    };
    written
        .iter()
        .map(|glob| {
            PathGlob::new(glob, workspace.as_deref(), &home, &aliases).map_err(|fault| {
                Fault::Pattern {
                    pattern: glob.clone(),
                    fault,
                }
            })
        })
        .collect()
}

/// What the rule decides by, without what is only for people.
fn fingerprint(file: &RuleFile, layer: Layer) -> String {
    let bare = RuleFile {
        reason: None,
        matches: Vec::new(),
        not_match: Vec::new(),
        ..file.clone()
    };
    let text = serde_json::to_string(&bare).unwrap_or_default();
    format!("{} {text}", layer.name())
}
