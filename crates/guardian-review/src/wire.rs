//! The serialised forms: what a command reviewer reads, and what the host puts into
//! `permissions.request` (SPEC §8, §15). Own types, versioned, so that the inner ones may move.

use std::time::{SystemTime, UNIX_EPOCH};

use guardian_facts::{AccessKind, Scope};
use guardian_rules::ToolRisk;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::answer::word;
use crate::queue::Posted;
use crate::{ReviewRequest, ShownPath};

/// A request without times.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestV1 {
    /// Version of this form.
    pub version: u32,
    /// Id of this request.
    pub request_id: String,
    /// The session whose call it is.
    pub session_id: String,
    /// The running turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The call.
    pub tool_call_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// `low`, `medium` or `high`.
    pub risk: String,
    /// Why it is asked about.
    pub reason: String,
    /// What it would do, in one line.
    pub summary: String,
    /// Redacted, cut arguments.
    pub args_preview: Value,
    /// Nothing of the arguments, the code or what is known was left out.
    pub whole: bool,
    /// What it would touch.
    pub paths: Vec<PathV1>,
    /// What could not be determined.
    pub unknowns: Vec<String>,
    /// Code files that it runs.
    pub code: Vec<CodeV1>,
    /// Further sentences for people.
    pub notes: Vec<String>,
    /// The facts in their own stable form.
    pub facts: Value,
    /// The words that count as an answer.
    pub allowed_decisions: Vec<String>,
    /// Rules to choose from with an always-answer.
    pub suggestions: Vec<SuggestionV1>,
    /// What `allow-session` would leave behind, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant_sentence: Option<String>,
    /// Name of the delegate that asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegate: Option<String>,
    /// Only a person may allow it.
    pub human_only: bool,
    /// Numbers of what was left out because there was too much of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted: Option<OmittedV1>,
}

/// What was left out of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OmittedV1 {
    /// Paths.
    pub paths: usize,
    /// Sentences about what is not known.
    pub unknowns: usize,
    /// Code files.
    pub code: usize,
    /// The facts are too long and `null`.
    pub facts: bool,
}

/// A path of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PathV1 {
    /// `read`, `list`, `write`, `delete` or `execute`.
    pub access: String,
    /// The resolved path, or the text where it is not exactly known.
    pub path: String,
    /// `workspace`, `scratch`, `outside`, `scratch-escape` or `unknown`.
    pub scope: String,
    /// `secret`, `sensitive`, `protected`, `guardian`.
    pub classes: Vec<String>,
    /// Everything beneath it too.
    pub recursive: bool,
    /// Exactly this path.
    pub exact: bool,
    /// Number of hard links.
    pub links: u64,
    /// What the path is when its unknown parts are empty, where that is dangerous.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_empty: Option<String>,
}

/// A code file of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodeV1 {
    /// Which file.
    pub path: String,
    /// Its first 16 KiB, redacted.
    pub text: String,
    /// The text is all of it.
    pub whole: bool,
    /// This session wrote or edited it.
    pub changed_by_session: bool,
}

/// A rule that a request suggests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuggestionV1 {
    /// The word that it belongs to.
    pub decision: String,
    /// What it would allow.
    pub sentence: String,
    /// The rule in policy notation.
    pub rule: String,
}

/// The parameters of `permissions.request`, and an element of `permissions.pending`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PostedV1 {
    /// The request.
    #[serde(flatten)]
    pub request: RequestV1,
    /// Older requests of the session were waiting.
    pub queued: bool,
    /// Unix time in milliseconds.
    pub created_at: u64,
    /// Unix time in milliseconds at which it is denied.
    pub deadline: u64,
    /// Milliseconds from posting to the deadline.
    pub timeout_ms: u64,
}

impl RequestV1 {
    /// The serialised form of a request.
    #[must_use]
    pub fn of(request: &ReviewRequest) -> Self {
        Self {
            version: 1,
            request_id: request.request_id.clone(),
            session_id: request.session_id.clone(),
            turn_id: request.turn_id.clone(),
            tool_call_id: request.tool_call_id.clone(),
            tool_name: request.tool_name.clone(),
            risk: risk(request.risk).to_owned(),
            reason: request.reason.clone(),
            summary: request.summary.clone(),
            args_preview: request.args_preview.value.clone(),
            whole: request.is_shown_whole(),
            paths: request.paths.iter().map(PathV1::of).collect(),
            unknowns: request.unknowns.clone(),
            code: request
                .code
                .iter()
                .map(|code| CodeV1 {
                    path: code.path.clone(),
                    text: code.text.clone(),
                    whole: code.whole,
                    changed_by_session: code.changed_by_session,
                })
                .collect(),
            notes: request.notes.clone(),
            facts: request.facts.clone(),
            allowed_decisions: request
                .offered()
                .into_iter()
                .map(|one| word(one).to_owned())
                .collect(),
            suggestions: request
                .suggestions
                .iter()
                .map(|one| SuggestionV1 {
                    decision: word(one.answer).to_owned(),
                    sentence: one.sentence.clone(),
                    rule: one.toml.clone(),
                })
                .collect(),
            grant_sentence: request.grant.as_ref().map(guardian_rules::Grant::sentence),
            delegate: request.delegate.clone(),
            human_only: request.human_only,
            omitted: (!request.omitted.is_nothing()).then_some(OmittedV1 {
                paths: request.omitted.paths,
                unknowns: request.omitted.unknowns,
                code: request.omitted.code,
                facts: request.omitted.facts,
            }),
        }
    }
}

impl PostedV1 {
    /// The serialised form of a posted request.
    #[must_use]
    pub fn of(posted: &Posted) -> Self {
        Self {
            request: RequestV1::of(&posted.request),
            queued: posted.ahead > 0,
            created_at: unix_millis(posted.created_at),
            deadline: unix_millis(posted.deadline),
            timeout_ms: u64::try_from(posted.timeout.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl PathV1 {
    fn of(path: &ShownPath) -> Self {
        let classes = [
            (path.sensitivity.secret, "secret"),
            (path.sensitivity.sensitive, "sensitive"),
            (path.sensitivity.protected, "protected"),
            (path.sensitivity.guardian, "guardian"),
        ];
        Self {
            access: access(path.access).to_owned(),
            path: path.path.clone(),
            scope: path.scope.map_or("unknown", scope).to_owned(),
            classes: classes
                .iter()
                .filter(|(is, _)| *is)
                .map(|(_, name)| (*name).to_owned())
                .collect(),
            recursive: path.recursive,
            exact: path.exact,
            links: path.links,
            when_empty: path.when_empty.clone(),
        }
    }
}

/// The word for a risk.
pub(crate) fn risk(risk: ToolRisk) -> &'static str {
    match risk {
        ToolRisk::Low => "low",
        ToolRisk::Medium => "medium",
        ToolRisk::High => "high",
    }
}

fn access(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "read",
        AccessKind::List => "list",
        AccessKind::Write => "write",
        AccessKind::Delete => "delete",
        AccessKind::Execute => "execute",
    }
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Workspace => "workspace",
        Scope::Scratch => "scratch",
        Scope::Outside => "outside",
        Scope::ScratchEscape => "scratch-escape",
    }
}

fn unix_millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
