//! What a reviewer may say.

use guardian_rules::AllowedDecision;

use crate::ReviewRequest;

/// The answer of one reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This call may run.
    AllowOnce,
    /// The tool may run until the session ends, as far as the request's grant sentence says.
    AllowSession,
    /// The tool may always run: a rule in the user's policy.
    AllowAlwaysForTool {
        /// Index into [`ReviewRequest::suggestions`].
        suggestion: usize,
    },
    /// Commands of this pattern may always run: a rule in the user's policy.
    AllowAlwaysForCommandPattern {
        /// Index into [`ReviewRequest::suggestions`].
        suggestion: usize,
    },
    /// The call does not run.
    Deny {
        /// What the reviewer wants the model to know.
        feedback: Option<String>,
    },
    /// Somebody else decides.
    Abstain,
}

impl Answer {
    /// True for the words that let the call run.
    #[must_use]
    pub fn is_allow(&self) -> bool {
        match self {
            Self::AllowOnce
            | Self::AllowSession
            | Self::AllowAlwaysForTool { .. }
            | Self::AllowAlwaysForCommandPattern { .. } => true,
            Self::Deny { .. } | Self::Abstain => false,
        }
    }

    /// A denial without a word.
    #[must_use]
    pub fn deny() -> Self {
        Self::Deny { feedback: None }
    }
}

/// An answer as a person's client sent it (`permissions.resolve`): not yet trusted to mean
/// anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HumanAnswer {
    /// The word.
    pub decision: String,
    /// Free text for the model.
    pub feedback: Option<String>,
    /// Index into the suggestions that the request offered.
    pub rule: Option<usize>,
}

impl HumanAnswer {
    /// An answer of one word.
    #[must_use]
    pub fn word(decision: impl Into<String>) -> Self {
        Self {
            decision: decision.into(),
            ..Self::default()
        }
    }

    /// What it means for this request (SPEC §8). Anything but an exact allow word that the request
    /// offered is a denial: other spellings, words that were not offered, an index that is not
    /// among the suggestions.
    #[must_use]
    pub fn interpret(&self, request: &ReviewRequest) -> Answer {
        let offered = request.offered();
        let Some(decision) = offered
            .iter()
            .copied()
            .find(|one| word(*one) == self.decision)
        else {
            return self.denial();
        };
        match decision {
            AllowedDecision::AllowOnce => Answer::AllowOnce,
            AllowedDecision::AllowSession => Answer::AllowSession,
            AllowedDecision::AllowAlwaysForTool => match self.chosen(request, decision) {
                Some(suggestion) => Answer::AllowAlwaysForTool { suggestion },
                None => self.denial(),
            },
            AllowedDecision::AllowAlwaysForCommandPattern => match self.chosen(request, decision) {
                Some(suggestion) => Answer::AllowAlwaysForCommandPattern { suggestion },
                None => self.denial(),
            },
            AllowedDecision::Deny => self.denial(),
        }
    }

    /// The suggestion meant: the index when it is one of this answer, or the only one there is.
    fn chosen(&self, request: &ReviewRequest, answer: AllowedDecision) -> Option<usize> {
        let mut fitting = (0..request.suggestions.len())
            .filter(|index| request.suggestions[*index].answer == answer);
        match self.rule {
            Some(rule) => fitting.find(|index| *index == rule),
            None => fitting.next().filter(|_| fitting.next().is_none()),
        }
    }

    fn denial(&self) -> Answer {
        Answer::Deny {
            feedback: self.feedback.clone().filter(|text| !text.trim().is_empty()),
        }
    }
}

/// The wire word of a decision.
#[must_use]
pub fn word(decision: AllowedDecision) -> &'static str {
    match decision {
        AllowedDecision::AllowOnce => "allow-once",
        AllowedDecision::AllowSession => "allow-session",
        AllowedDecision::AllowAlwaysForTool => "allow-always-for-tool",
        AllowedDecision::AllowAlwaysForCommandPattern => "allow-always-for-command-pattern",
        AllowedDecision::Deny => "deny",
    }
}
