//! Rules that a card may offer: the narrowest one that covers the call.
//!
//! Law: a suggestion covers the call that it was made for, and no call that differs from it by
//! another flag, another command or a redirect.

use guardian_facts::{AccessKind, AccessSource, Effect, Effects, Facts, Reading, Scope};
use serde::Serialize;

use crate::evaluate::cover::{Uncovered, coverage, is_covered, scope_of};
use crate::evaluate::{Item, View, accepted_key, definition_text};
use crate::policy::{
    AcceptedFile, AccessName, OneOrMany, RuleEffect, RuleFile, Tail, is_known_by_name,
};
use crate::verdict::{AllowedDecision, Decision};
use crate::{Policy, SandboxState, Situation, ToolKind, evaluate};

/// A rule that would cover the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The answer that it belongs to.
    pub answer: AllowedDecision,
    /// What it allows, as the sentence that a card shows.
    pub sentence: String,
    /// The text to add to the user's policy file: one `[[rule]]` or `[[accepted]]` table.
    pub toml: String,
}

/// Rules that would cover this call, narrowest first. Empty where the call is not asked about, or
/// where an answer must not be remembered: whatever the ask set holds, interpreters, wrappers,
/// opaque commands, files in a writable root.
#[must_use]
pub fn suggest(facts: &Facts, situation: &Situation, policy: &Policy) -> Vec<Suggestion> {
    let verdict = evaluate(facts, situation, policy);
    if verdict.decision != Decision::Ask
        || !verdict.allowed_decisions.iter().any(|answer| {
            matches!(
                answer,
                AllowedDecision::AllowAlwaysForTool | AllowedDecision::AllowAlwaysForCommandPattern
            )
        })
    {
        return Vec::new();
    }
    drafts(facts, situation, policy)
        .into_iter()
        .filter_map(Draft::finish)
        .collect()
}

/// Wider rules for a command, for people who look at many calls before they take one: its leading
/// words with any operands, still without another flag, command or redirect. Widest first.
///
/// Never offered on a card, whose rule covers its own call only.
#[must_use]
pub fn suggest_wider(facts: &Facts, situation: &Situation, policy: &Policy) -> Vec<Suggestion> {
    if suggest(facts, situation, policy)
        .iter()
        .all(|known| known.answer != AllowedDecision::AllowAlwaysForCommandPattern)
    {
        return Vec::new();
    }
    let view = View {
        facts,
        tool: &facts.tool,
        situation,
        policy,
    };
    let uncovered = coverage(&view).uncovered;
    let Some(index) = only_command(facts, &uncovered) else {
        return Vec::new();
    };
    let Some(words) = rule_words(&facts.commands[index]) else {
        return Vec::new();
    };
    let is_name = |word: &&String| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    let leading = words.iter().take_while(is_name).count();
    (2..=leading.min(3))
        .filter_map(|length| {
            let leading = words.get(..length)?;
            let text = leading.join(" ");
            let rule = RuleFile {
                id: rule_id(&[text.clone(), "operands".to_owned()]),
                tool: Some(one("Bash")),
                command: Some(leading.iter().map(|word| one(word)).collect()),
                tail: Some(Tail::Operands),
                ..allow_rule()
            };
            covers(&view, &rule, &uncovered).then_some(Draft {
                answer: AllowedDecision::AllowAlwaysForCommandPattern,
                sentence: format!(
                    "always allow `{text}` with any operands and no flags, in every project"
                ),
                body: Body::Rule(Box::new(rule)),
            })
        })
        .filter_map(Draft::finish)
        .collect()
}

/// Would the call be allowed if the user's policy had this suggestion as well? False for a call
/// that something asks about which no allow rule lifts.
#[must_use]
pub fn would_allow(
    suggestion: &Suggestion,
    facts: &Facts,
    situation: &Situation,
    policy: &Policy,
) -> bool {
    #[derive(serde::Deserialize)]
    struct File {
        #[serde(default)]
        rule: Vec<RuleFile>,
        #[serde(default)]
        accepted: Vec<AcceptedFile>,
    }
    let verdict = evaluate(facts, situation, policy);
    if verdict.decision != Decision::Ask || verdict.decided_by != ["otherwise"] {
        return verdict.decision == Decision::Allow;
    }
    let Ok(file) = toml::from_str::<File>(&suggestion.toml) else {
        return false;
    };
    let mut situation = situation.clone();
    let project = situation.roots.workspace.clone();
    let accepted = file
        .accepted
        .into_iter()
        .filter(|accepted| project.as_deref() == Some(std::path::Path::new(&accepted.project)));
    situation
        .accepted_commands
        .extend(accepted.map(|accepted| accepted.key));
    let view = View {
        facts,
        tool: &facts.tool,
        situation: &situation,
        policy,
    };
    let uncovered = coverage(&view).uncovered;
    uncovered.is_empty() || file.rule.iter().any(|rule| covers(&view, rule, &uncovered))
}

/// A suggestion that is not written out yet.
pub(crate) struct Draft {
    /// The answer that it belongs to.
    pub(crate) answer: AllowedDecision,
    sentence: String,
    body: Body,
}

enum Body {
    Rule(Box<RuleFile>),
    Accepted(AcceptedFile),
}

impl Draft {
    fn finish(self) -> Option<Suggestion> {
        let toml = match self.body {
            Body::Rule(rule) => {
                #[derive(Serialize)]
                struct File {
                    rule: [RuleFile; 1],
                }
                toml::to_string(&File { rule: [*rule] })
            }
            Body::Accepted(accepted) => {
                #[derive(Serialize)]
                struct File {
                    accepted: [AcceptedFile; 1],
                }
                toml::to_string(&File {
                    accepted: [accepted],
                })
            }
        };
        Some(Suggestion {
            answer: self.answer,
            sentence: self.sentence,
            toml: toml.ok()?,
        })
    }
}

/// As [`suggest`], for a call that is known to be asked about because nothing covers it.
pub(crate) fn drafts(facts: &Facts, situation: &Situation, policy: &Policy) -> Vec<Draft> {
    let view = View {
        facts,
        tool: &facts.tool,
        situation,
        policy,
    };
    let uncovered = coverage(&view).uncovered;
    match situation.tool_kind {
        ToolKind::Shell => for_shell(&view, &uncovered),
        ToolKind::Change | ToolKind::Look => for_files(&view, &uncovered),
        ToolKind::Plugin => for_plugin(&view, &uncovered),
        ToolKind::Conversation | ToolKind::Control | ToolKind::Foreign => Vec::new(),
    }
}

fn for_shell(view: &View<'_>, uncovered: &[Uncovered]) -> Vec<Draft> {
    let Some(index) = only_command(view.facts, uncovered) else {
        return Vec::new();
    };
    accepting(view, index, uncovered)
        .or_else(|| for_command(view, index, uncovered))
        .into_iter()
        .collect()
}

/// The command to whose own words everything belongs that is missing.
fn only_command(facts: &Facts, uncovered: &[Uncovered]) -> Option<usize> {
    if facts.reading == Reading::Partial {
        return None;
    }
    let mut missing = None;
    for item in uncovered {
        let command = match item.item {
            Item::Command(index) => Some(index),
            Item::Access(index) => match facts.accesses[index].source {
                AccessSource::Command(command) => Some(command),
                _ => None,
            },
            Item::Endpoint(index) => facts.endpoints[index].command,
            Item::Call | Item::Redirect { .. } | Item::Assignment { .. } => None,
        };
        match (command, missing) {
            (None, _) => return None,
            (Some(command), None) => missing = Some(command),
            (Some(command), Some(known)) if command == known => {}
            _ => return None,
        }
    }
    missing
}

/// Longer commands are not put into a rule: nobody reads it, and comparing each of thousands of
/// accesses with it takes the square of their number.
const MAX_RULE_WORDS: usize = 64;

/// The words of a command as a rule writes them; `None` where one cannot be written (unknown,
/// wildcards, words with blanks) and where they are too many.
fn rule_words(command: &guardian_facts::CommandFact) -> Option<Vec<String>> {
    if command.argv.len() > MAX_RULE_WORDS {
        return None;
    }
    let mut words: Vec<String> = command
        .argv
        .iter()
        .map(|word| word.as_literal().map(str::to_owned))
        .collect::<Option<_>>()?;
    if words
        .iter()
        .any(|word| word.is_empty() || word.contains('*') || word.contains(char::is_whitespace))
    {
        return None;
    }
    // the program by its name, however it was written
    words
        .first_mut()?
        .clone_from(command.program.name.as_ref()?);
    Some(words)
}

/// A rule of exactly these words.
fn for_command(view: &View<'_>, index: usize, uncovered: &[Uncovered]) -> Option<Draft> {
    let facts = view.facts;
    let command = &facts.commands[index];
    let remembers_too_much = [
        Effect::RunsCode,
        Effect::RunsRemoteCode,
        Effect::Privilege,
        Effect::Persistence,
        Effect::Destructive,
        Effect::HistoryRewrite,
        Effect::RunsGuardian,
        Effect::RemoteHost,
    ];
    if command.wrapper
        || command.place.elsewhere
        || command.place.inside.is_some()
        || command.effects_known == Effects::Opaque
        || !command.assignments.is_empty()
        || !is_known_by_name(&command.program)
        || command
            .effects
            .iter()
            .any(|effect| remembers_too_much.contains(effect))
        || facts.code_files.iter().any(|file| file.command == index)
    {
        return None;
    }
    let words = rule_words(command)?;
    let text = words.join(" ");
    let rule = RuleFile {
        id: rule_id(&words),
        tool: Some(one("Bash")),
        command: Some(
            words
                .into_iter()
                .map(|word| OneOrMany(vec![word]))
                .collect(),
        ),
        tail: Some(Tail::None),
        ..allow_rule()
    };
    covers(view, &rule, uncovered).then(|| Draft {
        answer: AllowedDecision::AllowAlwaysForCommandPattern,
        sentence: format!("always allow exactly `{text}`, in every project"),
        body: Body::Rule(Box::new(rule)),
    })
}

/// Accepting a project's build or test command, where that counts.
fn accepting(view: &View<'_>, index: usize, uncovered: &[Uncovered]) -> Option<Draft> {
    let accepts = view
        .policy
        .preset()
        .data()
        .proves(crate::policy::Proof::AcceptedCommands)
        && view.situation.sandbox == SandboxState::Available;
    if !accepts {
        return None;
    }
    let key = accepted_key(view.facts, index)?;
    let project = view
        .situation
        .roots
        .workspace
        .as_ref()?
        .to_str()?
        .to_owned();
    let command = view.facts.commands[index].display();
    let definition = definition_text(view.facts, index, std::path::Path::new(&project));
    let definition = (!definition.is_empty()).then_some(definition);
    let mut accepted = view.situation.accepted_commands.clone();
    accepted.insert(key.clone());
    let situation = Situation {
        accepted_commands: accepted,
        ..view.situation.clone()
    };
    let view = View {
        situation: &situation,
        ..*view
    };
    uncovered.iter().all(|missing| is_covered(missing.item, &view)).then(|| Draft {
        answer: AllowedDecision::AllowAlwaysForCommandPattern,
        sentence: format!(
            "always allow `{command}` in this project, in the sandbox, until what it runs is defined differently"
        ),
        body: Body::Accepted(AcceptedFile { project, command, key, definition }),
    })
}

/// The directory of the path, and for changes inside the workspace the tool.
fn for_files(view: &View<'_>, uncovered: &[Uncovered]) -> Vec<Draft> {
    let facts = view.facts;
    let [access] = facts
        .accesses
        .iter()
        .filter(|access| access.source == AccessSource::PathArgument)
        .collect::<Vec<_>>()[..]
    else {
        return Vec::new();
    };
    let Some(path) = access.exact() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let is_directory = path.kind == Some(guardian_facts::FileKind::Directory);
    let directory = if is_directory {
        Some(path.path.as_path())
    } else {
        path.path.parent()
    };
    if let Some(directory) = directory
        && directory.parent().is_some()
        && let Some(glob) = escaped(directory)
    {
        let (glob, what) = if is_directory || access.recursive {
            (format!("{glob}/**"), "everything beneath")
        } else {
            (format!("{glob}/*"), "files in")
        };
        let rule = RuleFile {
            id: rule_id(&[facts.tool.to_lowercase(), directory.display().to_string()]),
            tool: Some(one(&facts.tool)),
            paths: Some(one(&glob)),
            access: match access.kind {
                AccessKind::Write => Some(OneOrMany(vec![AccessName::Write])),
                _ => Some(OneOrMany(vec![AccessName::Read, AccessName::List])),
            },
            ..allow_rule()
        };
        if covers(view, &rule, uncovered) {
            found.push(Draft {
                answer: AllowedDecision::AllowAlwaysForTool,
                sentence: format!(
                    "always allow {} for {what} `{}`",
                    facts.tool,
                    directory.display()
                ),
                body: Body::Rule(Box::new(rule)),
            });
        }
    }
    if view.situation.tool_kind == ToolKind::Change && scope_of(access) == Some(Scope::Workspace) {
        found.extend(tool_rule(view, uncovered));
    }
    found
}

fn for_plugin(view: &View<'_>, uncovered: &[Uncovered]) -> Vec<Draft> {
    tool_rule(view, uncovered).into_iter().collect()
}

fn tool_rule(view: &View<'_>, uncovered: &[Uncovered]) -> Option<Draft> {
    let tool = view.tool;
    if tool.contains('*') {
        return None;
    }
    let rule = RuleFile {
        id: rule_id(&[tool.to_lowercase()]),
        tool: Some(one(tool)),
        ..allow_rule()
    };
    covers(view, &rule, uncovered).then(|| Draft {
        answer: AllowedDecision::AllowAlwaysForTool,
        sentence: format!("always allow {tool} inside the workspace, in every project"),
        body: Body::Rule(Box::new(rule)),
    })
}

/// The rule covers everything that nothing else covers.
fn covers(view: &View<'_>, rule: &RuleFile, uncovered: &[Uncovered]) -> bool {
    view.policy
        .with_only(rule, &view.situation.roots)
        .is_some_and(|policy| {
            let view = View {
                policy: &policy,
                ..*view
            };
            uncovered
                .iter()
                .all(|missing| is_covered(missing.item, &view))
        })
}

/// A directory as a glob; `None` where it is not valid Unicode or could not be written as one.
fn escaped(directory: &std::path::Path) -> Option<String> {
    let text = directory.to_str()?;
    (!text.contains(['*', '?', '[', ']', '{', '}', '\\'])).then(|| text.to_owned())
}

fn one(text: &str) -> OneOrMany<String> {
    OneOrMany(vec![text.to_owned()])
}

fn allow_rule() -> RuleFile {
    RuleFile {
        id: String::new(),
        effect: RuleEffect::Allow,
        tool: None,
        command: None,
        tail: None,
        program: None,
        flags: None,
        does: None,
        access: None,
        paths: None,
        scope: None,
        sensitivity: None,
        host: None,
        delegate: None,
        mode: None,
        permission_mode: None,
        when: None,
        unless: None,
        reason: None,
        matches: Vec::new(),
        not_match: Vec::new(),
    }
}

/// A readable id with a hash of the whole, so that two rules do not collide.
fn rule_id(parts: &[String]) -> String {
    let text = parts.join(" ");
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= 40 {
            break;
        }
    }
    let hash = blake3::hash(text.as_bytes()).to_hex();
    format!("always-{}-{}", slug.trim_matches('-'), &hash[..8])
}
