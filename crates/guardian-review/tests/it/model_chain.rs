//! Queue, grants and breaker together against a naive model: random interleavings of requests,
//! answers, late answers, aborts, revocations, passing time and restarts. Each request ends exactly
//! once, by the right answer, within its deadline, and nothing is allowed that the model does not
//! allow.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use guardian_review::{
    AbortReason, Allowance, Answer, Attendance, Breaker, BreakerLimits, BreakerState, Chain,
    ChainLink, Decider, HumanAnswer, HumanReviewer, OnFailure, PendingQueue, ReEvaluation, Review,
    ReviewEffect, ReviewError, ReviewOutcome, ReviewRequest, Reviewer, ReviewerKind,
};
use guardian_rules::{Decision, Grant, GrantScope};
use proptest::prelude::*;
use tokio::task::JoinHandle;

use crate::support::{RecordingClients, TIMEOUT, queue, request, settle_down, verdict};

/// What the automatic reviewer says of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Allow,
    Deny,
    Abstain,
    Fail,
}

#[derive(Debug, Clone)]
enum Step {
    Ask {
        session: u8,
        tool: u8,
        says: Says,
        human_only: bool,
    },
    Answer {
        request: usize,
        word: &'static str,
    },
    AbortCall {
        request: usize,
    },
    AbortSession {
        session: u8,
    },
    Revoke {
        session: u8,
        tool: u8,
    },
    Pass {
        seconds: u64,
    },
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let says = prop::sample::select(vec![
        Says::Allow,
        Says::Deny,
        Says::Deny,
        Says::Abstain,
        Says::Fail,
    ]);
    let words = prop::sample::select(vec![
        "allow-once",
        "allow-session",
        "deny",
        "ALLOW-ONCE",
        "allow",
    ]);
    prop_oneof![
        8 => (0..2_u8, 0..2_u8, says, any::<bool>()).prop_map(|(session, tool, says, human_only)| {
            Step::Ask { session, tool, says, human_only }
        }),
        6 => (0..40_usize, words).prop_map(|(request, word)| Step::Answer { request, word }),
        1 => (0..40_usize).prop_map(|request| Step::AbortCall { request }),
        1 => (0..2_u8).prop_map(|session| Step::AbortSession { session }),
        1 => (0..2_u8, 0..2_u8).prop_map(|(session, tool)| Step::Revoke { session, tool }),
        2 => (1..90_u64).prop_map(|seconds| Step::Pass { seconds }),
        1 => Just(Step::Restart),
    ]
}

/// How a request ended, without what does not matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// By a grant, without a question.
    Granted,
    AllowedByHuman,
    AllowedByReviewer,
    /// A grant that came while it waited.
    AllowedByPolicy,
    DeniedByHuman,
    DeniedByReviewer,
    TimedOut,
    Aborted,
}

fn end_of(outcome: &ReviewOutcome) -> End {
    match outcome {
        ReviewOutcome::Allowed { by, .. } => match by {
            Decider::Human => End::AllowedByHuman,
            Decider::Reviewer(_) => End::AllowedByReviewer,
            Decider::Policy(_) => End::AllowedByPolicy,
        },
        ReviewOutcome::Denied {
            by: Decider::Human, ..
        } => End::DeniedByHuman,
        ReviewOutcome::Denied {
            by: Decider::Reviewer(_),
            ..
        } => End::DeniedByReviewer,
        ReviewOutcome::TimedOut { .. } => End::TimedOut,
        ReviewOutcome::Aborted(_) => End::Aborted,
        other => panic!("no request ends as {other:?} here"),
    }
}

fn tool_name(tool: u8) -> String {
    if tool == 0 { "Write" } else { "Edit" }.to_owned()
}

/// The model: everything in plain lists, the breaker worked out anew from its whole history.
#[derive(Default)]
struct Model {
    now: u64,
    grants: BTreeSet<(u8, u8)>,
    /// `F`ailures, `S`uccesses and answers of a `H`uman, of each session.
    history: BTreeMap<u8, Vec<char>>,
    requests: Vec<Asked>,
}

#[derive(Debug, Clone)]
struct Asked {
    session: u8,
    tool: u8,
    deadline: u64,
    end: Option<End>,
}

impl Model {
    fn breaker(&self, session: u8) -> BreakerState {
        let mut state = BreakerState::Closed;
        let mut since: Vec<char> = Vec::new();
        for event in self.history.get(&session).into_iter().flatten() {
            match (state, event) {
                (BreakerState::HalfOpen, 'S') => {
                    state = BreakerState::Closed;
                    since.clear();
                }
                (BreakerState::HalfOpen, 'F') => state = BreakerState::Open,
                (BreakerState::Open, 'H') => state = BreakerState::HalfOpen,
                (BreakerState::Closed, 'F' | 'S') => {
                    since.push(*event);
                    let last: Vec<char> = since.iter().rev().take(50).copied().collect();
                    let three = last.len() >= 3 && last[..3].iter().all(|one| *one == 'F');
                    let ten = last.iter().filter(|one| **one == 'F').count() >= 10;
                    if three || ten {
                        state = BreakerState::Open;
                    }
                }
                _ => {}
            }
        }
        state
    }

    fn note(&mut self, session: u8, event: char) {
        self.history.entry(session).or_default().push(event);
    }

    fn ask(&mut self, session: u8, tool: u8, says: Says, human_only: bool) {
        let skipped = self.breaker(session) == BreakerState::Open;
        let end = if self.grants.contains(&(session, tool)) {
            Some(End::Granted)
        } else if skipped || matches!(says, Says::Abstain | Says::Fail) {
            None
        } else if says == Says::Deny {
            self.note(session, 'F');
            Some(End::DeniedByReviewer)
        } else if human_only {
            None
        } else {
            self.note(session, 'S');
            Some(End::AllowedByReviewer)
        };
        self.requests.push(Asked {
            session,
            tool,
            deadline: self.now + TIMEOUT.as_secs(),
            end,
        });
    }

    fn answer(&mut self, index: usize, word: &str) {
        let Some(one) = self.requests.get_mut(index).filter(|one| one.end.is_none()) else {
            return;
        };
        let (session, tool) = (one.session, one.tool);
        let allowed = matches!(word, "allow-once" | "allow-session");
        one.end = Some(if allowed {
            End::AllowedByHuman
        } else {
            End::DeniedByHuman
        });
        self.note(session, 'H');
        if word == "allow-session" {
            self.grants.insert((session, tool));
            self.end_where(End::AllowedByPolicy, |one| {
                (one.session, one.tool) == (session, tool)
            });
        }
    }

    fn end_where(&mut self, end: End, select: impl Fn(&Asked) -> bool) {
        for one in &mut self.requests {
            if one.end.is_none() && select(one) {
                one.end = Some(end);
            }
        }
    }

    fn pass(&mut self, seconds: u64) {
        self.now += seconds;
        let now = self.now;
        self.end_where(End::TimedOut, |one| one.deadline <= now);
    }
}

/// Says what the request's summary tells it to.
struct Scripted;

#[async_trait]
impl Reviewer for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn kind(&self) -> ReviewerKind {
        ReviewerKind::Automatic
    }

    async fn review(&self, request: &ReviewRequest) -> Result<Answer, ReviewError> {
        match request.summary.as_str() {
            "Allow" => Ok(Answer::AllowOnce),
            "Deny" => Ok(Answer::deny()),
            "Abstain" => Ok(Answer::Abstain),
            _ => Err(ReviewError::Failed("on purpose".to_owned())),
        }
    }
}

/// What a host does around the chain, in little.
struct World {
    queue: Arc<PendingQueue>,
    chain: Chain,
    kept: Arc<Mutex<Kept>>,
    running: Vec<Running>,
}

/// What survives a restart.
#[derive(Default)]
struct Kept {
    grants: BTreeSet<(String, String)>,
    breakers: BTreeMap<String, Breaker>,
}

enum Running {
    Done(End),
    Task(JoinHandle<Review>),
}

impl World {
    fn new() -> Self {
        let queue = queue();
        Self {
            chain: chain(&queue),
            queue,
            kept: Arc::default(),
            running: Vec::new(),
        }
    }

    fn ask(&mut self, session: u8, tool: u8, says: Says, human_only: bool) {
        let number = self.running.len();
        let mut request = request(&session.to_string(), &format!("r{number}"));
        request.tool_name = tool_name(tool);
        request.summary = format!("{says:?}");
        request.human_only = human_only;
        request.grant = Some(Grant {
            tool_name: request.tool_name.clone(),
            scope: GrantScope::Roots,
        });
        let mut kept = self.kept.lock().unwrap();
        let granted = (request.session_id.clone(), request.tool_name.clone());
        if kept.grants.contains(&granted) {
            self.running.push(Running::Done(End::Granted));
            return;
        }
        let breaker = breaker_of(&mut kept, &request.session_id).state();
        let (chain, kept) = (self.chain.clone(), Arc::clone(&self.kept));
        let queue = Arc::clone(&self.queue);
        self.running.push(Running::Task(tokio::spawn(async move {
            let review = chain.review(&request, breaker).await;
            carry(&kept, &request, &review);
            if let ReviewOutcome::Allowed {
                allowance: Allowance::Session(_),
                ..
            } = review.outcome
            {
                re_evaluate(&queue, &kept, &request.session_id);
            }
            review
        })));
    }

    fn restart(&mut self) {
        self.queue.close(AbortReason::Host);
        self.queue = queue();
        self.chain = chain(&self.queue);
        // What a store keeps comes back through its stored form.
        for breaker in self.kept.lock().unwrap().breakers.values_mut() {
            let text = serde_json::to_string(&breaker.to_v1()).unwrap();
            let form = serde_json::from_str(&text).unwrap();
            *breaker = Breaker::from_v1(&form, BreakerLimits::AUTOMATIC_REVIEWERS);
        }
    }

    async fn ends(&mut self) -> Vec<Option<End>> {
        let mut ends = Vec::new();
        for one in &mut self.running {
            if let Running::Task(task) = one
                && task.is_finished()
            {
                *one = Running::Done(end_of(&task.await.unwrap().outcome));
            }
            ends.push(match one {
                Running::Done(end) => Some(*end),
                Running::Task(_) => None,
            });
        }
        ends
    }
}

fn chain(queue: &Arc<PendingQueue>) -> Chain {
    let clients = RecordingClients::new(Attendance::Attended);
    let reviewers: [Arc<dyn Reviewer>; 2] = [
        Arc::new(Scripted),
        Arc::new(HumanReviewer::new(Arc::clone(queue), clients)),
    ];
    let link = |reviewer| ChainLink {
        reviewer,
        on_failure: OnFailure::Next,
    };
    Chain::new(reviewers.into_iter().map(link).collect())
}

fn breaker_of<'k>(kept: &'k mut Kept, session: &str) -> &'k mut Breaker {
    let new = || Breaker::new(BreakerLimits::AUTOMATIC_REVIEWERS);
    kept.breakers.entry(session.to_owned()).or_insert_with(new)
}

fn carry(kept: &Mutex<Kept>, request: &ReviewRequest, review: &Review) {
    let mut kept = kept.lock().unwrap();
    for effect in &review.effects {
        match effect {
            ReviewEffect::CountDenial { .. } => {
                breaker_of(&mut kept, &request.session_id).record_failure()
            }
            ReviewEffect::CountAllow { .. } => {
                breaker_of(&mut kept, &request.session_id).record_success()
            }
            ReviewEffect::HumanAnswered => {
                breaker_of(&mut kept, &request.session_id).record_human_answer()
            }
            ReviewEffect::RememberGrant(grant) => {
                kept.grants
                    .insert((request.session_id.clone(), grant.tool_name.clone()));
            }
            _ => {}
        }
    }
}

fn re_evaluate(queue: &PendingQueue, kept: &Mutex<Kept>, session: &str) {
    queue.re_evaluate(Some(session), |request| {
        let granted = (request.session_id.clone(), request.tool_name.clone());
        if kept.lock().unwrap().grants.contains(&granted) {
            ReEvaluation::Allow(verdict(Decision::Allow))
        } else {
            ReEvaluation::StillAsk
        }
    });
}

async fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let (mut world, mut model) = (World::new(), Model::default());
    for step in steps {
        match &step {
            Step::Ask {
                session,
                tool,
                says,
                human_only,
            } => {
                world.ask(*session, *tool, *says, *human_only);
                model.ask(*session, *tool, *says, *human_only);
            }
            Step::Answer { request, word } => {
                world
                    .queue
                    .resolve(None, &format!("r{request}"), &HumanAnswer::word(*word));
                model.answer(*request, word);
            }
            Step::AbortCall { request } => {
                for session in ["0", "1"] {
                    let call = format!("call-r{request}");
                    world.queue.abort_call(session, &call, AbortReason::Call);
                }
                if let Some(one) = model.requests.get_mut(*request) {
                    one.end.get_or_insert(End::Aborted);
                }
            }
            Step::AbortSession { session } => {
                world
                    .queue
                    .abort_session(&session.to_string(), AbortReason::Turn);
                model.end_where(End::Aborted, |one| one.session == *session);
            }
            Step::Revoke { session, tool } => {
                let grant = (session.to_string(), tool_name(*tool));
                world.kept.lock().unwrap().grants.remove(&grant);
                re_evaluate(&world.queue, &world.kept, &session.to_string());
                model.grants.remove(&(*session, *tool));
            }
            Step::Pass { seconds } => {
                tokio::time::advance(Duration::from_secs(*seconds)).await;
                model.pass(*seconds);
            }
            Step::Restart => {
                world.restart();
                model.end_where(End::Aborted, |_| true);
            }
        }
        settle_down().await;
        settle_down().await;
        let expected: Vec<Option<End>> = model.requests.iter().map(|one| one.end).collect();
        prop_assert_eq!(world.ends().await, expected, "after {:?}", step);
        for session in [0, 1] {
            let state = breaker_of(&mut world.kept.lock().unwrap(), &session.to_string()).state();
            prop_assert_eq!(state, model.breaker(session), "after {:?}", step);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn queue_grants_and_breaker_do_what_the_model_does(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(run(steps))?;
    }
}
