//! Reviewers one after the other.

use std::sync::Arc;

use guardian_rules::AllowedDecision;

use crate::breaker::BreakerState;
use crate::cache::CACHE;
use crate::config::OnFailure;
use crate::outcome::{Allowance, Decider, ReviewEffect, ReviewOutcome};
use crate::queue::{AbortReason, ReEvaluation};
use crate::{Answer, ReviewError, ReviewRequest, Reviewer, ReviewerKind};

/// One reviewer of a chain.
#[derive(Clone)]
pub struct ChainLink {
    /// Who.
    pub reviewer: Arc<dyn Reviewer>,
    /// What happens when it breaks. A person's deadline is not a failure: it denies.
    pub on_failure: OnFailure,
}

/// Reviewers in the order in which they are asked. An empty chain denies everything.
#[derive(Clone)]
pub struct Chain {
    links: Vec<ChainLink>,
}

/// What one reviewer said, for audit and `explain`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainStep {
    /// Which.
    pub reviewer: String,
    /// What.
    pub result: StepResult,
}

/// See [`ChainStep`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepResult {
    /// It decided.
    Decided(Answer),
    /// It left the decision to others.
    Abstained,
    /// It said allow where only a person may ([`ReviewRequest::automatic_may_allow`]): taken as an
    /// abstention.
    AllowNotItsToGive,
    /// It was not asked: the breaker is open.
    SkippedByBreaker,
    /// Nobody is there.
    Headless,
    /// It broke or was too late; the text is for people and log.
    Failed(String),
    /// The review ended while it was being asked.
    Ended,
}

/// The end of a review.
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    /// How it ended.
    pub outcome: ReviewOutcome,
    /// What to record.
    pub effects: Vec<ReviewEffect>,
    /// Who was asked, in order.
    pub steps: Vec<ChainStep>,
    /// A person saw a card (`prompted` in the audit).
    pub prompted: bool,
}

/// What one link leads to.
enum Next {
    /// Ask the next one.
    Go,
    /// The review is over.
    End(ReviewOutcome),
}

impl Chain {
    /// A chain.
    #[must_use]
    pub fn new(links: Vec<ChainLink>) -> Self {
        Self { links }
    }

    /// Somebody other than a person may answer.
    #[must_use]
    pub fn has_automatic(&self) -> bool {
        self.links
            .iter()
            .any(|link| link.reviewer.kind() == ReviewerKind::Automatic)
    }

    /// What the answers of its reviewers depend on beyond the request: part of the key under which
    /// they are kept.
    #[must_use]
    pub fn version(&self) -> String {
        let versions: Vec<String> = self
            .links
            .iter()
            .map(|link| link.reviewer.version())
            .collect();
        versions.join("\n")
    }

    /// Asks the reviewers in order until one decides. `breaker` is the state of the turn's breaker
    /// over automatic reviewers.
    ///
    /// Nothing but an answer turns into an allow: abstentions, failures and timeouts of automatic
    /// reviewers lead to the next one, and behind the last one is a denial.
    pub async fn review(&self, request: &ReviewRequest, breaker: BreakerState) -> Review {
        let mut review = Review {
            outcome: ReviewOutcome::ReviewerRequired,
            effects: Vec::new(),
            steps: Vec::new(),
            prompted: false,
        };
        for link in &self.links {
            let next = match link.reviewer.kind() {
                ReviewerKind::Human => Self::ask_human(link, request, breaker, &mut review).await,
                ReviewerKind::Automatic if breaker == BreakerState::Open => {
                    review.note(link, StepResult::SkippedByBreaker);
                    Next::Go
                }
                ReviewerKind::Automatic => Self::ask_automatic(link, request, &mut review).await,
            };
            if let Next::End(outcome) = next {
                review.outcome = outcome;
                return review;
            }
        }
        if breaker == BreakerState::Open {
            review.effects.push(ReviewEffect::EndTurn);
        }
        review
    }

    async fn ask_human(
        link: &ChainLink,
        request: &ReviewRequest,
        breaker: BreakerState,
        review: &mut Review,
    ) -> Next {
        let mut shown = request.clone();
        shown.notes.extend(review.notes_for_people(breaker));
        let result = link.reviewer.review(&shown).await;
        review.prompted |= !matches!(result, Err(ReviewError::Headless | ReviewError::Failed(_)));
        match result {
            Ok(Answer::Abstain) => {
                review.note(link, StepResult::Abstained);
                Next::Go
            }
            Ok(answer) => {
                review.note(link, StepResult::Decided(answer.clone()));
                review.effects.push(ReviewEffect::HumanAnswered);
                Next::End(review.human_outcome(answer, request))
            }
            Err(ReviewError::TimedOut { after }) => {
                review.note(link, StepResult::Ended);
                Next::End(ReviewOutcome::TimedOut { after })
            }
            Err(error) => review.error(link, error),
        }
    }

    async fn ask_automatic(link: &ChainLink, request: &ReviewRequest, review: &mut Review) -> Next {
        let name = link.reviewer.name().to_owned();
        match link.reviewer.review(request).await {
            Ok(Answer::Abstain) => {
                review.note(link, StepResult::Abstained);
                Next::Go
            }
            Ok(Answer::Deny { feedback }) => {
                review.note(
                    link,
                    StepResult::Decided(Answer::Deny {
                        feedback: feedback.clone(),
                    }),
                );
                review.effects.push(ReviewEffect::CountDenial {
                    reviewer: name.clone(),
                });
                review.keep(request, &name, false, feedback.as_deref());
                Next::End(ReviewOutcome::Denied {
                    by: Decider::Reviewer(name),
                    feedback,
                })
            }
            Ok(Answer::AllowOnce) => {
                let offered = request.offered().contains(&AllowedDecision::AllowOnce);
                if !request.automatic_may_allow() || !offered {
                    review.note(link, StepResult::AllowNotItsToGive);
                    return Next::Go;
                }
                review.note(link, StepResult::Decided(Answer::AllowOnce));
                review.effects.push(ReviewEffect::CountAllow {
                    reviewer: name.clone(),
                });
                review.keep(request, &name, true, None);
                let by = Decider::Reviewer(name);
                Next::End(ReviewOutcome::Allowed {
                    by,
                    allowance: Allowance::Once,
                })
            }
            // What is remembered is a person's to say.
            Ok(
                Answer::AllowSession
                | Answer::AllowAlwaysForTool { .. }
                | Answer::AllowAlwaysForCommandPattern { .. },
            ) => {
                let message = "it answered with more than allow-once".to_owned();
                review.error(link, ReviewError::Failed(message))
            }
            Err(error) => review.error(link, error),
        }
    }
}

impl Review {
    fn note(&mut self, link: &ChainLink, result: StepResult) {
        self.steps.push(ChainStep {
            reviewer: link.reviewer.name().to_owned(),
            result,
        });
    }

    /// Keeps an automatic reviewer's answer, where it may be repeated and is not a repetition.
    fn keep(&mut self, request: &ReviewRequest, reviewer: &str, allowed: bool, why: Option<&str>) {
        if request.cache_key.is_some() && reviewer != CACHE {
            self.effects.push(ReviewEffect::KeepAnswer {
                reviewer: reviewer.to_owned(),
                allowed,
                rationale: why.unwrap_or_default().to_owned(),
            });
        }
    }

    /// A person's answer with what it leaves behind. An answer that the request cannot remember
    /// counts once: a reviewer other than the queue may not have checked it.
    fn human_outcome(&mut self, answer: Answer, request: &ReviewRequest) -> ReviewOutcome {
        let offered = request.offered();
        let denied = |feedback| ReviewOutcome::Denied {
            by: Decider::Human,
            feedback,
        };
        let allowance = match answer {
            Answer::Deny { feedback } => return denied(feedback),
            Answer::AllowOnce if offered.contains(&AllowedDecision::AllowOnce) => Allowance::Once,
            Answer::AllowSession if offered.contains(&AllowedDecision::AllowSession) => {
                let Some(grant) = request.grant.clone() else {
                    return denied(None);
                };
                self.effects
                    .push(ReviewEffect::RememberGrant(grant.clone()));
                Allowance::Session(grant)
            }
            Answer::AllowAlwaysForTool { suggestion }
            | Answer::AllowAlwaysForCommandPattern { suggestion } => {
                // The rule says itself which answer it belongs to.
                let chosen = request.suggestions.get(suggestion);
                let Some(chosen) = chosen.filter(|one| offered.contains(&one.answer)) else {
                    return denied(None);
                };
                self.effects.push(ReviewEffect::AddRule(chosen.clone()));
                Allowance::Always(chosen.clone())
            }
            // Not offered.
            _ => return denied(None),
        };
        ReviewOutcome::Allowed {
            by: Decider::Human,
            allowance,
        }
    }

    fn error(&mut self, link: &ChainLink, error: ReviewError) -> Next {
        let message = error.to_string();
        match error {
            ReviewError::Headless => {
                self.note(link, StepResult::Headless);
                Next::Go
            }
            ReviewError::Aborted(reason) => {
                self.note(link, StepResult::Ended);
                Next::End(ReviewOutcome::Aborted(reason))
            }
            ReviewError::Superseded(verdict) => {
                self.note(link, StepResult::Ended);
                Next::End(match *verdict {
                    ReEvaluation::Allow(verdict) => ReviewOutcome::Allowed {
                        by: Decider::Policy(Box::new(verdict)),
                        allowance: Allowance::Once,
                    },
                    ReEvaluation::Deny(verdict) => ReviewOutcome::Denied {
                        by: Decider::Policy(Box::new(verdict)),
                        feedback: None,
                    },
                    // Never sent; an abandoned request is denied.
                    ReEvaluation::StillAsk => ReviewOutcome::Aborted(AbortReason::Abandoned),
                })
            }
            ReviewError::TimedOut { .. } | ReviewError::Failed(_) => {
                self.note(link, StepResult::Failed(message.clone()));
                match link.on_failure {
                    OnFailure::Next => Next::Go,
                    OnFailure::Deny => Next::End(ReviewOutcome::Failed {
                        reviewer: link.reviewer.name().to_owned(),
                        message,
                    }),
                }
            }
        }
    }

    /// Why a person is asked although reviewers before them exist.
    fn notes_for_people(&self, breaker: BreakerState) -> Vec<String> {
        let mut notes = Vec::new();
        if breaker == BreakerState::Open {
            notes.push(
                "automatic reviewers are paused in this turn: they denied too many calls"
                    .to_owned(),
            );
        }
        for step in &self.steps {
            match &step.result {
                StepResult::Failed(_) => {
                    notes.push(format!("the reviewer `{}` failed", step.reviewer))
                }
                StepResult::AllowNotItsToGive => notes.push(format!(
                    "the reviewer `{}` would allow this, but only a person may",
                    step.reviewer
                )),
                _ => {}
            }
        }
        notes
    }
}
