//! What people see of a request, as plain lines. The terminal of `guardian exec` and the bridges
//! print exactly these, so that there is one place where a card can lie, and it is tested.

use std::collections::BTreeSet;
use std::fmt;

use guardian_facts::{AccessKind, Scope, Sensitivity};
use guardian_redact::one_line;
use guardian_rules::AllowedDecision;
use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::answer::word;
use crate::shown::lines;
use crate::wire::risk;
use crate::{ReviewRequest, ShownPath};

/// Columns of quoted text. Longer lines are folded here, each with the quoting mark in front, so
/// that text can never be taken for a line of the card.
const QUOTED_COLUMNS: usize = 96;
/// Paths that are listed before the rest is counted.
const PATHS: usize = 20;
/// Warnings that are listed before the rest is counted.
const WARNINGS: usize = 30;

/// A request as people see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// The question: tool, risk, who asks.
    pub title: String,
    /// What it would do.
    pub body: Vec<String>,
    /// What deserves a second look; empty when nothing does.
    pub warnings: Vec<String>,
    /// The possible answers with what they mean.
    pub choices: Vec<Choice>,
    /// "2 more waiting", if any.
    pub footer: Option<String>,
}

/// One possible answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The exact word to answer with.
    pub word: &'static str,
    /// Index of the suggestion, for the always-answers that choose one.
    pub rule: Option<usize>,
    /// What it means.
    pub meaning: String,
}

impl Card {
    /// The card of a request, with `others_waiting` further requests of the session behind it.
    #[must_use]
    pub fn of(request: &ReviewRequest, others_waiting: usize) -> Self {
        let tool = one_line(&request.tool_name);
        let who = match &request.delegate {
            Some(delegate) => format!("{tool} (delegate `{}`)", one_line(delegate)),
            None => tool,
        };
        Self {
            title: format!("Allow {who}? Risk: {}.", risk(request.risk)),
            body: body(request),
            warnings: warnings(request),
            choices: choices(request),
            footer: (others_waiting > 0).then(|| format!("{others_waiting} more waiting")),
        }
    }

    /// All lines, without colour and without a line break in any of them.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.title.clone()];
        lines.extend(self.body.iter().map(|line| format!("  {line}")));
        lines.extend(self.warnings.iter().map(|line| format!("! {line}")));
        for choice in &self.choices {
            let rule = choice
                .rule
                .map(|index| format!(" {index}"))
                .unwrap_or_default();
            lines.push(format!("  [{}{rule}] {}", choice.word, choice.meaning));
        }
        lines.extend(self.footer.iter().cloned());
        lines
    }
}

impl fmt::Display for Card {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines()
            .iter()
            .try_for_each(|line| writeln!(formatter, "{line}"))
    }
}

fn body(request: &ReviewRequest) -> Vec<String> {
    let mut body = Vec::new();
    if !request.summary.is_empty() {
        body.push(format!("It {}.", one_line(&request.summary)));
    }
    if !request.reason.is_empty() {
        body.push(format!(
            "Asked because: {}.",
            one_line(request.reason.trim_end_matches('.'))
        ));
    }
    arguments(&request.args_preview.value, &mut body);
    let paths: Vec<String> = request.paths.iter().map(path_line).collect();
    body.extend(paths.iter().take(PATHS).cloned());
    let more = paths.len().saturating_sub(PATHS) + request.omitted.paths;
    if more > 0 {
        body.push(format!("and {more} more paths"));
    }
    for code in &request.code {
        let part = if code.whole { "" } else { ", first part" };
        body.push(format!("runs {}{part}:", one_line(&code.path)));
        quote(&code.text, &mut body);
    }
    if request.omitted.code > 0 {
        body.push(format!("runs {} more code files", request.omitted.code));
    }
    body.extend(request.notes.iter().map(|note| one_line(note)));
    body
}

/// The arguments, one per line; text of several lines is quoted below its name.
fn arguments(preview: &Value, body: &mut Vec<String>) {
    let Some(object) = preview.as_object() else {
        body.push(format!("arguments: {}", one_line(&preview.to_string())));
        return;
    };
    for (name, value) in object {
        let name = one_line(name);
        match value {
            Value::String(text) if is_short(text) => {
                body.push(format!("{name}: {}", one_line(text)))
            }
            Value::String(text) => {
                body.push(format!("{name}:"));
                quote(text, body);
            }
            other => {
                let text = other.to_string();
                if is_short(&text) {
                    body.push(format!("{name}: {}", one_line(&text)));
                } else {
                    body.push(format!("{name}:"));
                    quote(&text, body);
                }
            }
        }
    }
}

/// Fits on the line of its name.
fn is_short(text: &str) -> bool {
    !text.contains(['\n', '\r']) && one_line(text).width() <= QUOTED_COLUMNS
}

fn quote(text: &str, body: &mut Vec<String>) {
    // Nothing is left out here: the preview is bounded, and says itself what it leaves out.
    body.extend(
        lines(text)
            .flat_map(|line| fold(&line))
            .map(|line| format!("| {line}")),
    );
}

/// Cuts a line into pieces of at most [`QUOTED_COLUMNS`].
fn fold(line: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut columns = 0;
    for character in line.chars() {
        let width = character.width().unwrap_or(0);
        if columns + width > QUOTED_COLUMNS {
            pieces.push(String::new());
            columns = 0;
        }
        columns += width;
        if let Some(piece) = pieces.last_mut() {
            piece.push(character);
        }
    }
    pieces
}

fn path_line(path: &ShownPath) -> String {
    let verb = match path.access {
        AccessKind::Read => "reads",
        AccessKind::List => "lists",
        AccessKind::Write => "writes",
        AccessKind::Delete => "deletes",
        AccessKind::Execute => "executes",
    };
    let beneath = if path.recursive {
        " and everything beneath it"
    } else {
        ""
    };
    let scope = match path.scope {
        Some(Scope::Workspace) => "workspace",
        Some(Scope::Scratch) => "scratch",
        Some(Scope::Outside) => "OUTSIDE the workspace",
        Some(Scope::ScratchEscape) => "leaves scratch",
        None => "where it leads is not known",
    };
    format!("{verb} {}{beneath} ({scope})", one_line(&path.path))
}

/// Warnings, gravest first: a flood of small ones must not hide a great one.
fn warnings(request: &ReviewRequest) -> Vec<String> {
    let mut warnings = Vec::new();
    for path in &request.paths {
        if let Some(when_empty) = &path.when_empty {
            let (shown, when_empty) = (one_line(&path.path), one_line(when_empty));
            warnings.push(format!(
                "{shown} is {when_empty} if its unknown part is empty"
            ));
        }
    }
    type IsOfClass = fn(Sensitivity) -> bool;
    let classes: [(IsOfClass, &str); 4] = [
        (|classes| classes.guardian, "belongs to guardian itself"),
        (|classes| classes.sensitive, "is private to you"),
        (|classes| classes.protected, "can make code run later"),
        (|classes| classes.secret, "may hold credentials"),
    ];
    for (is, text) in classes {
        let paths = request.paths.iter().filter(|path| is(path.sensitivity));
        warnings.extend(paths.map(|path| format!("{} {text}", one_line(&path.path))));
    }
    for code in request.code.iter().filter(|code| code.changed_by_session) {
        warnings.push(format!(
            "{} was written in this session",
            one_line(&code.path)
        ));
    }
    if request.args_preview.masked {
        warnings.push("values that look like secrets are masked".to_owned());
    }
    if !request.is_shown_whole() {
        warnings.push("too long to be shown whole; it can be allowed once only".to_owned());
    }
    warnings.extend(request.paths.iter().filter_map(hard_links));
    warnings.extend(
        request
            .unknowns
            .iter()
            .map(|reason| format!("not known: {}", one_line(reason))),
    );
    if request.omitted.unknowns > 0 {
        let more = request.omitted.unknowns;
        warnings.push(format!("not known: {more} more things"));
    }
    let mut seen = BTreeSet::new();
    warnings.retain(|warning| seen.insert(warning.clone()));
    if warnings.len() > WARNINGS {
        let rest = warnings.len() - WARNINGS;
        warnings.truncate(WARNINGS);
        warnings.push(format!("and {rest} more warnings"));
    }
    warnings
}

/// A change of a file with several names changes all of them.
fn hard_links(path: &ShownPath) -> Option<String> {
    let changes = matches!(path.access, AccessKind::Write | AccessKind::Delete);
    let others = path
        .links
        .checked_sub(1)
        .filter(|others| changes && *others > 0)?;
    let names = if others == 1 { "name" } else { "names" };
    let shown = one_line(&path.path);
    Some(format!(
        "{shown} has {others} other {names} (hard links): they change too"
    ))
}

fn choices(request: &ReviewRequest) -> Vec<Choice> {
    let mut choices = Vec::new();
    for decision in request.offered() {
        let word = word(decision);
        let mut add = |rule, meaning: String| {
            choices.push(Choice {
                word,
                rule,
                meaning,
            })
        };
        match decision {
            AllowedDecision::AllowOnce => add(None, "this call only".to_owned()),
            AllowedDecision::AllowSession => {
                let sentence = request.grant.as_ref().map(guardian_rules::Grant::sentence);
                add(None, one_line(&sentence.unwrap_or_default()));
            }
            AllowedDecision::AllowAlwaysForTool | AllowedDecision::AllowAlwaysForCommandPattern => {
                for (index, suggestion) in request.suggestions.iter().enumerate() {
                    if suggestion.answer == decision {
                        add(Some(index), one_line(&suggestion.sentence));
                    }
                }
            }
            AllowedDecision::Deny => add(None, "the call does not run".to_owned()),
        }
    }
    choices
}
