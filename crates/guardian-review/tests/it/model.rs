//! The queue against a naive model: any interleaving of requests, answers, late answers, aborts,
//! policy changes, dropped callers and passing time settles each request exactly once, by the
//! right id, and allows nothing that the model does not allow.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use guardian_review::{
    AbortReason, Answer, Attendance, HumanAnswer, HumanReviewer, ReEvaluation, RequestKey,
    ReviewError, Reviewer, Settlement,
};
use guardian_rules::Decision;
use proptest::prelude::*;

use crate::support::{RecordingClients, TIMEOUT, Told, queue, request, settle_down, verdict};

#[derive(Debug, Clone)]
enum Step {
    Ask {
        session: u8,
        id: u8,
    },
    Answer {
        session: Option<u8>,
        id: u8,
        word: &'static str,
    },
    AbortCall {
        session: u8,
        id: u8,
    },
    AbortSession {
        session: u8,
    },
    Policy {
        session: u8,
        id: u8,
        allow: bool,
    },
    Drop {
        session: u8,
        id: u8,
    },
    Pass {
        seconds: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let words = prop::sample::select(vec![
        "allow-once",
        "allow-session",
        "deny",
        "allow-always-for-tool",
        "yes",
        "Allow-Once",
        "",
    ]);
    let (session, id) = (0..2_u8, 0..4_u8);
    prop_oneof![
        4 => (session.clone(), id.clone()).prop_map(|(session, id)| Step::Ask { session, id }),
        4 => (prop::option::of(session.clone()), id.clone(), words)
            .prop_map(|(session, id, word)| Step::Answer { session, id, word }),
        1 => (session.clone(), id.clone()).prop_map(|(session, id)| Step::AbortCall { session, id }),
        1 => session.clone().prop_map(|session| Step::AbortSession { session }),
        1 => (session.clone(), id.clone(), any::<bool>())
            .prop_map(|(session, id, allow)| Step::Policy { session, id, allow }),
        1 => (session, id).prop_map(|(session, id)| Step::Drop { session, id }),
        3 => (1..90_u64).prop_map(|seconds| Step::Pass { seconds }),
    ]
}

type Result = std::result::Result<Answer, ReviewError>;

/// What should have happened to one request; `None` while it waits.
#[derive(Debug, Clone)]
struct Expected {
    session: u8,
    id: u8,
    deadline: u64,
    end: Option<Settlement>,
}

/// The naive model: a list, gone through from the front.
#[derive(Default)]
struct Model {
    now: u64,
    requests: Vec<Expected>,
}

impl Model {
    fn settle(&mut self, select: impl Fn(&Expected) -> bool, end: &Settlement) {
        for one in &mut self.requests {
            if one.end.is_none() && select(one) {
                one.end = Some(end.clone());
            }
        }
    }

    fn waiting(&self, session: Option<u8>, id: u8) -> Vec<u8> {
        let fits = |one: &&Expected| {
            one.end.is_none()
                && one.id == id
                && session.is_none_or(|session| one.session == session)
        };
        self.requests
            .iter()
            .filter(fits)
            .map(|one| one.session)
            .collect()
    }
}

/// What the words mean for the requests of this test, written down once more.
fn meaning(word: &str) -> Answer {
    match word {
        "allow-once" => Answer::AllowOnce,
        "allow-session" => Answer::AllowSession,
        _ => Answer::Deny { feedback: None },
    }
}

fn names(session: u8, id: u8) -> (String, String) {
    (format!("s{session}"), format!("r{id}"))
}

async fn run(steps: Vec<Step>) {
    let queue = queue();
    let clients = RecordingClients::new(Attendance::Attended);
    let reviewer = Arc::new(HumanReviewer::new(Arc::clone(&queue), clients.clone()));
    let results: Arc<Mutex<BTreeMap<usize, Result>>> = Arc::default();
    let mut tasks = Vec::new();
    let mut model = Model::default();

    for step in steps {
        match step {
            Step::Ask { session, id } => {
                if !model.waiting(Some(session), id).is_empty() {
                    continue;
                }
                let number = model.requests.len();
                let deadline = model.now + TIMEOUT.as_secs();
                model.requests.push(Expected {
                    session,
                    id,
                    deadline,
                    end: None,
                });
                let (session, id) = names(session, id);
                let (reviewer, results) = (Arc::clone(&reviewer), Arc::clone(&results));
                tasks.push(tokio::spawn(async move {
                    let result = reviewer.review(&request(&session, &id)).await;
                    let earlier = results.lock().unwrap().insert(number, result);
                    assert_eq!(earlier, None, "settled twice");
                }));
            }
            Step::Answer { session, id, word } => {
                if let [only] = model.waiting(session, id)[..] {
                    let end = Settlement::Answered(meaning(word));
                    model.settle(|one| one.session == only && one.id == id, &end);
                }
                let session = session.map(|session| format!("s{session}"));
                queue.resolve(
                    session.as_deref(),
                    &format!("r{id}"),
                    &HumanAnswer::word(word),
                );
            }
            Step::AbortCall { session, id } => {
                let end = Settlement::Aborted(AbortReason::Call);
                model.settle(|one| one.session == session && one.id == id, &end);
                let (session, id) = names(session, id);
                queue.abort_call(&session, &format!("call-{id}"), AbortReason::Call);
            }
            Step::AbortSession { session } => {
                model.settle(
                    |one| one.session == session,
                    &Settlement::Aborted(AbortReason::Turn),
                );
                queue.abort_session(&format!("s{session}"), AbortReason::Turn);
            }
            Step::Policy { session, id, allow } => {
                let end = if allow {
                    ReEvaluation::Allow(verdict(Decision::Allow))
                } else {
                    ReEvaluation::Deny(verdict(Decision::Deny))
                };
                let superseded = Settlement::Superseded(end.clone());
                model.settle(|one| one.session == session && one.id == id, &superseded);
                let (session_id, request_id) = names(session, id);
                let key = RequestKey {
                    session_id,
                    request_id,
                };
                queue.supersede(&key, end);
            }
            Step::Drop { session, id } => {
                let fits =
                    |one: &Expected| one.end.is_none() && one.session == session && one.id == id;
                if let Some(number) = model.requests.iter().position(fits) {
                    tasks[number].abort();
                    let end = Settlement::Aborted(AbortReason::Abandoned);
                    model.requests[number].end = Some(end);
                }
            }
            Step::Pass { seconds } => {
                model.now += seconds;
                let now = model.now;
                model.settle(|one| one.deadline <= now, &Settlement::TimedOut);
                tokio::time::advance(Duration::from_secs(seconds)).await;
            }
        }
        settle_down().await;
        let waiting = model
            .requests
            .iter()
            .filter(|one| one.end.is_none())
            .count();
        assert_eq!(queue.pending(None).len(), waiting);
    }
    // Whoever still waits is denied by the deadline.
    tokio::time::advance(TIMEOUT).await;
    settle_down().await;
    model.settle(|_| true, &Settlement::TimedOut);
    check(&model, &results.lock().unwrap(), &clients.told());
    assert!(queue.pending(None).is_empty());
}

fn check(model: &Model, results: &BTreeMap<usize, Result>, told: &[Told]) {
    for (number, expected) in model.requests.iter().enumerate() {
        let end = expected.end.clone().unwrap();
        let wanted = match end {
            Settlement::Answered(answer) => Some(Ok(answer)),
            Settlement::TimedOut => Some(Err(ReviewError::TimedOut { after: TIMEOUT })),
            Settlement::Aborted(AbortReason::Abandoned) => None,
            Settlement::Aborted(reason) => Some(Err(ReviewError::Aborted(reason))),
            Settlement::Superseded(verdict) => {
                Some(Err(ReviewError::Superseded(Box::new(verdict))))
            }
        };
        assert_eq!(
            results.get(&number),
            wanted.as_ref(),
            "request {number}: {expected:?}"
        );
    }
    // Clients saw each card come and go once, with the right end.
    for session in 0..2 {
        for id in 0..4 {
            let (session_id, request_id) = names(session, id);
            let seen: Vec<&Told> = told
                .iter()
                .filter(|one| match one {
                    Told::Posted(session, id) | Told::Settled(session, id, _) => {
                        *session == session_id && *id == request_id
                    }
                })
                .collect();
            let wanted: Vec<Told> = model
                .requests
                .iter()
                .filter(|one| one.session == session && one.id == id)
                .flat_map(|one| {
                    let (session, id) = names(one.session, one.id);
                    let end = one.end.clone().unwrap();
                    [
                        Told::Posted(session.clone(), id.clone()),
                        Told::Settled(session, id, end),
                    ]
                })
                .collect();
            assert_eq!(seen, wanted.iter().collect::<Vec<_>>());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_settled_once_as_the_model_says(steps in prop::collection::vec(step(), 1..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(run(steps));
    }
}
