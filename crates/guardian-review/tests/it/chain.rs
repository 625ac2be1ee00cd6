//! The chain: order, failures, who may allow what, and the effects that come out.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use guardian_facts::Sensitivity;
use guardian_review::model::OutputMode;
use guardian_review::{
    AbortReason, Allowance, Answer, BreakerState, Chain, ChainLink, CommandReviewer, Decider,
    ModelApi, ModelConfig, OnFailure, ReEvaluation, Review, ReviewCommand, ReviewCommandError,
    ReviewCommandOutput, ReviewConfig, ReviewConfigError, ReviewEffect, ReviewError, ReviewOutcome,
    ReviewRequest, Reviewer, ReviewerKind, ReviewerSpec, StepResult,
};
use guardian_rules::{AllowedDecision, Cause, Decision, Verdict};

use crate::support::{request, suggestion, verdict};

/// Says what it was told to say.
struct Scripted {
    name: &'static str,
    kind: ReviewerKind,
    says: Result<Answer, ReviewError>,
    seen: Mutex<Vec<ReviewRequest>>,
}

#[async_trait]
impl Reviewer for Scripted {
    fn name(&self) -> &str {
        self.name
    }

    fn kind(&self) -> ReviewerKind {
        self.kind
    }

    async fn review(&self, request: &ReviewRequest) -> Result<Answer, ReviewError> {
        self.seen.lock().unwrap().push(request.clone());
        self.says.clone()
    }
}

fn scripted(
    name: &'static str,
    kind: ReviewerKind,
    says: Result<Answer, ReviewError>,
) -> Arc<Scripted> {
    Arc::new(Scripted {
        name,
        kind,
        says,
        seen: Mutex::new(Vec::new()),
    })
}

fn model(says: Result<Answer, ReviewError>) -> Arc<Scripted> {
    scripted("model", ReviewerKind::Automatic, says)
}

fn human(says: Result<Answer, ReviewError>) -> Arc<Scripted> {
    scripted("human", ReviewerKind::Human, says)
}

fn failed() -> Result<Answer, ReviewError> {
    Err(ReviewError::Failed("no connection".to_owned()))
}

fn link(reviewer: &Arc<Scripted>, on_failure: OnFailure) -> ChainLink {
    let reviewer: Arc<dyn Reviewer> = reviewer.clone();
    ChainLink {
        reviewer,
        on_failure,
    }
}

async fn run(
    reviewers: &[&Arc<Scripted>],
    request: &ReviewRequest,
    breaker: BreakerState,
) -> Review {
    let links = reviewers
        .iter()
        .map(|one| link(one, OnFailure::Next))
        .collect();
    Chain::new(links).review(request, breaker).await
}

fn by_human(allowance: Allowance) -> ReviewOutcome {
    ReviewOutcome::Allowed {
        by: Decider::Human,
        allowance,
    }
}

#[tokio::test]
async fn an_empty_chain_denies() {
    let review = Chain::new(Vec::new())
        .review(&request("s", "r"), BreakerState::Closed)
        .await;
    assert_eq!(review.outcome, ReviewOutcome::ReviewerRequired);
    assert_eq!(review.outcome.cause().as_deref(), Some("reviewer_required"));
}

#[tokio::test]
async fn an_abstention_goes_to_the_next_and_a_human_answer_ends_it() {
    let (model, human) = (model(Ok(Answer::Abstain)), human(Ok(Answer::AllowOnce)));
    let review = run(&[&model, &human], &request("s", "r"), BreakerState::Closed).await;
    assert_eq!(review.outcome, by_human(Allowance::Once));
    assert_eq!(review.effects, [ReviewEffect::HumanAnswered]);
    assert!(review.prompted);
}

#[tokio::test]
async fn an_automatic_denial_ends_it_and_is_counted() {
    let model = model(Ok(Answer::Deny {
        feedback: Some("it deletes data".to_owned()),
    }));
    let human = human(Ok(Answer::AllowOnce));
    let review = run(&[&model, &human], &request("s", "r"), BreakerState::Closed).await;
    assert_eq!(review.outcome.cause().as_deref(), Some("reviewer"));
    let message = "the reviewer `model` denied permission: it deletes data";
    assert_eq!(review.outcome.message().as_deref(), Some(message));
    assert_eq!(
        review.effects,
        [ReviewEffect::CountDenial {
            reviewer: "model".to_owned()
        }]
    );
    assert!(human.seen.lock().unwrap().is_empty());
    assert!(!review.prompted);
}

#[tokio::test]
async fn an_automatic_reviewer_never_allows_what_only_a_person_may() {
    let mut request = request("s", "r");
    request.human_only = true;
    let (model, human) = (
        model(Ok(Answer::AllowOnce)),
        human(Err(ReviewError::Headless)),
    );
    let review = run(&[&model, &human], &request, BreakerState::Closed).await;
    assert_eq!(review.outcome, ReviewOutcome::ReviewerRequired);
    assert_eq!(review.steps[0].result, StepResult::AllowNotItsToGive);
    assert!(review.effects.is_empty());
}

#[tokio::test]
async fn an_automatic_reviewer_never_allows_what_it_cannot_see_whole() {
    let cut = |request: &mut ReviewRequest| request.args_preview.whole = false;
    let masked_and_sent = |request: &mut ReviewRequest| {
        request.args_preview.masked = true;
        request.network = true;
    };
    for change in [cut as fn(&mut ReviewRequest), masked_and_sent] {
        let mut request = request("s", "r");
        change(&mut request);
        let review = run(
            &[&model(Ok(Answer::AllowOnce))],
            &request,
            BreakerState::Closed,
        )
        .await;
        assert_eq!(review.outcome, ReviewOutcome::ReviewerRequired);
        assert_eq!(review.steps[0].result, StepResult::AllowNotItsToGive);
    }
}

#[tokio::test]
async fn an_automatic_reviewer_may_still_deny_what_only_a_person_may_allow() {
    let mut request = request("s", "r");
    request.human_only = true;
    let review = run(
        &[&model(Ok(Answer::deny()))],
        &request,
        BreakerState::Closed,
    )
    .await;
    assert_eq!(review.outcome.cause().as_deref(), Some("reviewer"));
}

#[tokio::test]
async fn an_automatic_reviewer_cannot_make_anything_last() {
    for answer in [
        Answer::AllowSession,
        Answer::AllowAlwaysForTool { suggestion: 0 },
        Answer::AllowAlwaysForCommandPattern { suggestion: 0 },
    ] {
        let review = run(
            &[&model(Ok(answer))],
            &request("s", "r"),
            BreakerState::Closed,
        )
        .await;
        assert_eq!(review.outcome, ReviewOutcome::ReviewerRequired);
        assert!(review.effects.is_empty());
    }
}

#[tokio::test]
async fn failure_and_timeout_of_an_automatic_reviewer_are_no_denials() {
    let timed_out = Err(ReviewError::TimedOut {
        after: Duration::from_secs(30),
    });
    for says in [failed(), timed_out] {
        let (model, human) = (model(says), human(Ok(Answer::AllowOnce)));
        let review = run(&[&model, &human], &request("s", "r"), BreakerState::Closed).await;
        assert_eq!(review.outcome, by_human(Allowance::Once));
        assert_eq!(
            human.seen.lock().unwrap()[0].notes,
            ["the reviewer `model` failed"]
        );
    }
}

#[tokio::test]
async fn failure_denies_where_it_is_configured_so() {
    let links = vec![
        link(&model(failed()), OnFailure::Deny),
        link(&human(Ok(Answer::AllowOnce)), OnFailure::Next),
    ];
    let review = Chain::new(links)
        .review(&request("s", "r"), BreakerState::Closed)
        .await;
    assert!(
        matches!(&review.outcome, ReviewOutcome::Failed { reviewer, .. } if reviewer == "model")
    );
    assert!(
        review.effects.is_empty(),
        "a failure is not counted as a denial"
    );
    // Inner errors are not for the model.
    assert!(!review.outcome.message().unwrap().contains("no connection"));
}

#[tokio::test]
async fn a_person_who_does_not_answer_ends_the_review_whatever_on_failure_says() {
    let human = human(Err(ReviewError::TimedOut {
        after: Duration::from_secs(120),
    }));
    let second = model(Ok(Answer::AllowOnce));
    let review = run(&[&human, &second], &request("s", "r"), BreakerState::Closed).await;
    assert_eq!(review.outcome.cause().as_deref(), Some("timeout"));
    assert!(
        review
            .outcome
            .message()
            .unwrap()
            .contains("nobody answered")
    );
}

#[tokio::test]
async fn an_open_breaker_skips_automatic_reviewers_and_tells_the_person() {
    let (model, human) = (model(Ok(Answer::AllowOnce)), human(Ok(Answer::deny())));
    let review = run(&[&model, &human], &request("s", "r"), BreakerState::Open).await;
    assert_eq!(review.outcome.cause().as_deref(), Some("user"));
    assert!(model.seen.lock().unwrap().is_empty());
    assert!(human.seen.lock().unwrap()[0].notes[0].contains("paused"));
}

#[tokio::test]
async fn an_open_breaker_without_a_person_ends_the_turn() {
    let (model, human) = (
        model(Ok(Answer::AllowOnce)),
        human(Err(ReviewError::Headless)),
    );
    let review = run(&[&model, &human], &request("s", "r"), BreakerState::Open).await;
    assert_eq!(review.outcome, ReviewOutcome::ReviewerRequired);
    assert_eq!(review.effects, [ReviewEffect::EndTurn]);
}

#[tokio::test]
async fn a_session_answer_leaves_exactly_the_grant_of_the_card() {
    let request = request("s", "r");
    let review = run(
        &[&human(Ok(Answer::AllowSession))],
        &request,
        BreakerState::Closed,
    )
    .await;
    let grant = request.grant.clone().unwrap();
    assert_eq!(review.outcome, by_human(Allowance::Session(grant.clone())));
    assert_eq!(
        review.effects,
        [
            ReviewEffect::HumanAnswered,
            ReviewEffect::RememberGrant(grant)
        ]
    );
}

#[tokio::test]
async fn an_answer_that_was_not_offered_is_a_denial_whoever_gives_it() {
    let mut request = request("s", "r");
    request.allowed_decisions = vec![AllowedDecision::AllowOnce, AllowedDecision::Deny];
    for answer in [
        Answer::AllowSession,
        Answer::AllowAlwaysForTool { suggestion: 0 },
        Answer::AllowAlwaysForCommandPattern { suggestion: 0 },
    ] {
        let review = run(&[&human(Ok(answer))], &request, BreakerState::Closed).await;
        assert_eq!(review.outcome.cause().as_deref(), Some("user"));
        assert_eq!(review.effects, [ReviewEffect::HumanAnswered]);
    }
}

#[tokio::test]
async fn an_always_answer_leaves_the_rule_that_was_suggested() {
    let mut request = request("s", "r");
    request
        .allowed_decisions
        .push(AllowedDecision::AllowAlwaysForCommandPattern);
    let suggestion = suggestion(
        AllowedDecision::AllowAlwaysForCommandPattern,
        "`cargo test …`",
    );
    request.suggestions = vec![suggestion.clone()];
    let answer = Answer::AllowAlwaysForCommandPattern { suggestion: 0 };
    let review = run(&[&human(Ok(answer))], &request, BreakerState::Closed).await;
    assert_eq!(
        review.effects,
        [
            ReviewEffect::HumanAnswered,
            ReviewEffect::AddRule(suggestion)
        ]
    );
}

#[tokio::test]
async fn policy_that_changed_decides_in_place_of_the_person() {
    let allow = ReEvaluation::Allow(verdict(Decision::Allow));
    let human_allowed = human(Err(ReviewError::Superseded(Box::new(allow))));
    let review = run(&[&human_allowed], &request("s", "r"), BreakerState::Closed).await;
    let by = Decider::Policy(Box::new(verdict(Decision::Allow)));
    assert_eq!(
        review.outcome,
        ReviewOutcome::Allowed {
            by,
            allowance: Allowance::Once
        }
    );
    assert!(review.effects.is_empty());

    let denying = Verdict {
        cause: Cause::Rule("no-writes".to_owned()),
        ..verdict(Decision::Deny)
    };
    let deny = ReEvaluation::Deny(denying);
    let human_denied = human(Err(ReviewError::Superseded(Box::new(deny))));
    let review = run(&[&human_denied], &request("s", "r"), BreakerState::Closed).await;
    assert_eq!(review.outcome.cause().as_deref(), Some("rule:no-writes"));
}

#[tokio::test]
async fn an_abort_is_told_apart_from_a_denial() {
    let human = human(Err(ReviewError::Aborted(AbortReason::Call)));
    let review = run(&[&human], &request("s", "r"), BreakerState::Closed).await;
    assert_eq!(review.outcome, ReviewOutcome::Aborted(AbortReason::Call));
    assert_eq!(review.outcome.cause().as_deref(), Some("aborted"));
}

/// A runner that never ends by itself.
struct Hangs;

#[async_trait]
impl ReviewCommand for Hangs {
    async fn run(
        &self,
        _program: &Path,
        _stdin: Vec<u8>,
        _timeout: Duration,
    ) -> Result<ReviewCommandOutput, ReviewCommandError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_whose_runner_hangs_is_late() {
    let timeout = Duration::from_secs(30);
    let reviewer = CommandReviewer::new(PathBuf::from("/opt/approve"), timeout, Arc::new(Hangs));
    let result = reviewer.review(&request("s", "r")).await;
    assert_eq!(result, Err(ReviewError::TimedOut { after: timeout }));
}

/// Remembers what the program got.
struct Reads(Mutex<Vec<u8>>);

#[async_trait]
impl ReviewCommand for Reads {
    async fn run(
        &self,
        _program: &Path,
        stdin: Vec<u8>,
        _timeout: Duration,
    ) -> Result<ReviewCommandOutput, ReviewCommandError> {
        *self.0.lock().unwrap() = stdin;
        let stdout = br#"{"decision":"allow-once"}"#.to_vec();
        Ok(ReviewCommandOutput {
            exit_code: Some(0),
            stdout,
            stderr: Vec::new(),
        })
    }
}

#[tokio::test]
async fn a_command_reads_the_request_as_json() {
    let runner = Arc::new(Reads(Mutex::new(Vec::new())));
    let program = PathBuf::from("/opt/approve");
    let reviewer = CommandReviewer::new(program, Duration::from_secs(1), runner.clone());
    let mut request = request("s1", "r1");
    request.paths[0].sensitivity = Sensitivity {
        secret: true,
        ..Sensitivity::default()
    };
    assert_eq!(reviewer.review(&request).await, Ok(Answer::AllowOnce));
    let sent: serde_json::Value = serde_json::from_slice(&runner.0.lock().unwrap()).unwrap();
    insta::assert_json_snapshot!(sent);
}

#[track_caller]
fn check_config(chain: &[&str], expect: Result<Vec<ReviewerSpec>, ReviewConfigError>) {
    let chain = chain.iter().map(|one| (*one).to_owned()).collect();
    let config = ReviewConfig {
        chain,
        model: Some(model_config()),
        ..ReviewConfig::default()
    };
    assert_eq!(config.reviewers(), expect);
}

fn model_config() -> ModelConfig {
    ModelConfig {
        api: ModelApi::Anthropic,
        endpoint: "https://models.example/v1/messages".to_owned(),
        model: "small".to_owned(),
        api_key_env: None,
        output: OutputMode::Schema,
        max_input_tokens: 8_000,
        max_output_tokens: 512,
        max_turn_tokens: 100_000,
    }
}

#[test]
fn a_model_in_the_chain_needs_a_usable_configuration() {
    let mut config = ReviewConfig {
        chain: vec!["model".to_owned()],
        ..ReviewConfig::default()
    };
    assert_eq!(config.reviewers(), Err(ReviewConfigError::NoModel));
    config.model = Some(ModelConfig {
        endpoint: "http://models.example".to_owned(),
        ..model_config()
    });
    assert!(matches!(
        config.reviewers(),
        Err(ReviewConfigError::Model {
            key: "endpoint",
            ..
        })
    ));
}

#[test]
fn a_chain_is_checked_when_it_is_read() {
    let command = ReviewerSpec::Command(PathBuf::from("/opt/approve"));
    let full = vec![
        ReviewerSpec::Cache,
        command,
        ReviewerSpec::Model,
        ReviewerSpec::Human,
    ];
    check_config(
        &["cache", "command:/opt/approve", "model", "human"],
        Ok(full),
    );
    check_config(&[], Ok(Vec::new()));
    let relative = ReviewConfigError::RelativeCommand("command:./approve".to_owned());
    check_config(&["command:./approve"], Err(relative));
    let unknown = ReviewConfigError::UnknownReviewer("Human".to_owned());
    check_config(&["Human"], Err(unknown));
    check_config(
        &["model", "model"],
        Err(ReviewConfigError::Twice("model".to_owned())),
    );
    let behind = ReviewConfigError::BehindHuman("model".to_owned());
    check_config(&["human", "model"], Err(behind));
}

#[test]
fn times_outside_their_range_are_refused() {
    for seconds in [0, 3601] {
        let config = ReviewConfig {
            human_timeout_seconds: seconds,
            ..ReviewConfig::default()
        };
        assert!(config.reviewers().is_err());
    }
}
