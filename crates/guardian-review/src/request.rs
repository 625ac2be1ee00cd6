//! What is asked.

use std::borrow::Cow;

use guardian_facts::{
    Access, AccessKind, Effect, Effects, Facts, FileKind, Scope, Sensitivity, Target,
};
pub use guardian_redact::Preview as ArgsPreview;
use guardian_redact::{CarriedSecrets, Redactor};
use guardian_rules::{AllowedDecision, Grant, Suggestion, ToolRisk, Verdict};
use serde_json::Value;

use crate::Omitted;

/// A path that the call would touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPath {
    /// What is done to it.
    pub access: AccessKind,
    /// The resolved path; a pattern or the text as written where it is not exactly known.
    pub path: String,
    /// Where it lies; `None` when the path is not known.
    pub scope: Option<Scope>,
    /// Its classes.
    pub sensitivity: Sensitivity,
    /// Also everything beneath it.
    pub recursive: bool,
    /// Number of hard links of an existing regular file, else 1.
    pub links: u64,
    /// Exactly this path, not a pattern or a guess.
    pub exact: bool,
    /// What the path would be if its unknown parts were empty, where that is dangerous.
    pub when_empty: Option<String>,
}

impl ShownPath {
    /// The path of an access.
    #[must_use]
    pub fn of(access: &Access) -> Self {
        let (path, scope, sensitivity, links, exact, when_empty) = match &access.target {
            Target::Exact(fact) => {
                let links = if fact.kind == Some(FileKind::File) {
                    fact.links
                } else {
                    1
                };
                let path = fact.path.to_string_lossy().into_owned();
                (path, Some(fact.scope), fact.sensitivity, links, true, None)
            }
            Target::Pattern {
                pattern,
                base,
                may_match,
                ..
            } => (
                pattern.clone(),
                Some(base.scope),
                *may_match,
                1,
                false,
                None,
            ),
            Target::Unknown {
                written,
                when_empty,
                ..
            } => {
                let when_empty = when_empty
                    .as_ref()
                    .map(|path| path.to_string_lossy().into_owned());
                (
                    written.clone(),
                    None,
                    Sensitivity::default(),
                    1,
                    false,
                    when_empty,
                )
            }
        };
        Self {
            access: access.kind,
            path,
            scope,
            sensitivity,
            recursive: access.recursive,
            links,
            exact,
            when_empty,
        }
    }
}

/// Text of a code file that the call runs (SPEC §6.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownCode {
    /// Which file.
    pub path: String,
    /// Its first 16 KiB, redacted.
    pub text: String,
    /// The text is all of it.
    pub whole: bool,
    /// This session wrote or edited the file.
    pub changed_by_session: bool,
}

/// A call that policy does not decide alone.
///
/// Built by the host from the call, its facts and its verdict; everything in it is already
/// redacted. Ids are chosen by the host; a request id is never used twice.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewRequest {
    /// Id of this request.
    pub request_id: String,
    /// The session whose call it is.
    pub session_id: String,
    /// The running turn.
    pub turn_id: Option<String>,
    /// The call.
    pub tool_call_id: String,
    /// The tool's name.
    pub tool_name: String,
    /// Its risk.
    pub risk: ToolRisk,
    /// Why it is asked about: the first of the verdict's reasons.
    pub reason: String,
    /// What it would do, in one line.
    pub summary: String,
    /// Its arguments.
    pub args_preview: ArgsPreview,
    /// What it would touch.
    pub paths: Vec<ShownPath>,
    /// What could not be determined, as sentences.
    pub unknowns: Vec<String>,
    /// Code files that it runs.
    pub code: Vec<ShownCode>,
    /// Further sentences for people (plan mode does not make Bash read-only, why automatic
    /// reviewers are paused).
    pub notes: Vec<String>,
    /// The facts in their stable serialised form, for reviewers that read JSON.
    pub facts: Value,
    /// What the verdict lets a human answer; [`Self::offered`] is what counts.
    pub allowed_decisions: Vec<AllowedDecision>,
    /// Rules that an always-answer may choose from ([`guardian_rules::suggest()`]).
    pub suggestions: Vec<Suggestion>,
    /// What `allow-session` would create.
    pub grant: Option<Grant>,
    /// Name of the delegate that asks.
    pub delegate: Option<String>,
    /// Automatic reviewers may deny or abstain, never allow.
    pub human_only: bool,
    /// It reaches the network, or may.
    pub network: bool,
    /// What [`Self::bound`] left out.
    pub omitted: Omitted,
    /// What the user wrote in this session, oldest first: evidence for a model reviewer. Not shown
    /// on cards.
    pub user_messages: Vec<String>,
    /// Key of everything that an automatic reviewer's answer depends on; `None` when none may be
    /// repeated (the reading is partial, or no turn runs).
    pub cache_key: Option<String>,
}

/// Who asks, for [`ReviewRequest::new`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestIds {
    /// See [`ReviewRequest::request_id`].
    pub request_id: String,
    /// See [`ReviewRequest::session_id`].
    pub session_id: String,
    /// See [`ReviewRequest::turn_id`].
    pub turn_id: Option<String>,
    /// See [`ReviewRequest::tool_call_id`].
    pub tool_call_id: String,
}

impl ReviewRequest {
    /// The request for a verdict. Suggestions, code, notes, delegate and serialised facts are
    /// fields to fill in afterwards.
    #[must_use]
    pub fn new(
        ids: RequestIds,
        facts: &Facts,
        verdict: &Verdict,
        risk: ToolRisk,
        args_preview: ArgsPreview,
    ) -> Self {
        // Any opaque command is a human's to allow (SPEC §8), whatever the verdict thought of it.
        let opaque = facts
            .commands
            .iter()
            .any(|one| one.effects_known == Effects::Opaque);
        let network = !facts.endpoints.is_empty()
            || facts
                .commands
                .iter()
                .any(|one| one.has(Effect::Network) || one.has(Effect::RemoteHost));
        let mut request = Self {
            request_id: ids.request_id,
            session_id: ids.session_id,
            turn_id: ids.turn_id,
            tool_call_id: ids.tool_call_id,
            tool_name: facts.tool.clone(),
            risk,
            reason: verdict.reasons.first().cloned().unwrap_or_default(),
            summary: facts.summary.clone(),
            args_preview,
            paths: facts.accesses.iter().map(ShownPath::of).collect(),
            unknowns: facts.opacity.iter().map(|one| one.reason.clone()).collect(),
            code: Vec::new(),
            notes: Vec::new(),
            facts: Value::Null,
            allowed_decisions: verdict.allowed_decisions.clone(),
            suggestions: Vec::new(),
            grant: verdict.session_grant.clone(),
            delegate: None,
            human_only: verdict.human_only || opaque,
            network,
            omitted: Omitted::default(),
            user_messages: Vec::new(),
            cache_key: None,
        };
        request.redact(&Redactor::builtin(), &CarriedSecrets::default());
        request
    }

    /// Hides secrets in every text that people or reviewers see. [`Self::new`] does it with the
    /// known shapes; a host does it again when all fields are filled in, with the values of its
    /// own secret environment variables and with what the call's whole texts showed to be secret.
    /// A suggestion's `toml` is stored and stays as it is.
    pub fn redact(&mut self, redactor: &Redactor, carried: &CarriedSecrets) {
        let mut masked = false;
        let mut hide = |text: &mut String| {
            let hidden = redactor.redact_text(&carried.hide(text)).into_owned();
            masked |= hidden != *text;
            *text = hidden;
        };
        hide(&mut self.summary);
        hide(&mut self.reason);
        self.unknowns.iter_mut().for_each(&mut hide);
        self.notes.iter_mut().for_each(&mut hide);
        // Not part of the action: what is hidden here says nothing about what it carries.
        for message in &mut self.user_messages {
            if let Cow::Owned(hidden) = redactor.redact_text(message) {
                *message = hidden;
            }
        }
        self.suggestions
            .iter_mut()
            .for_each(|one| hide(&mut one.sentence));
        for path in &mut self.paths {
            hide(&mut path.path);
            path.when_empty.iter_mut().for_each(&mut hide);
        }
        for code in &mut self.code {
            hide(&mut code.path);
            hide(&mut code.text);
        }
        for value in [&mut self.args_preview.value, &mut self.facts] {
            *value = redactor.redact_value(&carried.hide_value(value));
        }
        self.args_preview.masked |= masked;
    }

    /// An automatic reviewer may allow it: no person is needed, all of it is shown, and nothing
    /// hidden could travel (SPEC §8).
    #[must_use]
    pub fn automatic_may_allow(&self) -> bool {
        !self.human_only && self.is_shown_whole() && !(self.args_preview.masked && self.network)
    }

    /// Nothing of the arguments, of what is known, or of the code that it runs is left out.
    #[must_use]
    pub fn is_shown_whole(&self) -> bool {
        self.args_preview.whole
            && self.omitted.is_nothing()
            && self.code.iter().all(|one| one.whole)
    }

    /// What a human may answer to this request, in the order of [`AllowedDecision`].
    ///
    /// The verdict's list, less what cannot be remembered: nothing is remembered of an action that
    /// is not shown whole, `allow-session` needs a grant whose sentence the card can state, an
    /// always-answer needs a suggestion. `deny` is always possible, and `allow-once` whenever
    /// anything is.
    #[must_use]
    pub fn offered(&self) -> Vec<AllowedDecision> {
        let shown_whole = self.is_shown_whole();
        let mut offered: Vec<AllowedDecision> = self
            .allowed_decisions
            .iter()
            .copied()
            .filter(|decision| match decision {
                AllowedDecision::AllowOnce | AllowedDecision::Deny => true,
                AllowedDecision::AllowSession => shown_whole && self.grant.is_some(),
                AllowedDecision::AllowAlwaysForTool
                | AllowedDecision::AllowAlwaysForCommandPattern => {
                    shown_whole && self.suggestions.iter().any(|one| one.answer == *decision)
                }
            })
            .collect();
        offered.push(AllowedDecision::Deny);
        offered.sort_unstable();
        offered.dedup();
        offered
    }
}
