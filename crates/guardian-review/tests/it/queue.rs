//! The pending queue.

use std::time::Duration;

use guardian_review::{
    AbortReason, AdmitError, Answer, HumanAnswer, ReEvaluation, RequestKey, Resolution, Settlement,
};
use guardian_rules::Decision;

use crate::support::{TIMEOUT, queue, request, verdict};

fn allow_once() -> HumanAnswer {
    HumanAnswer::word("allow-once")
}

#[tokio::test(start_paused = true)]
async fn an_answer_settles_the_request_with_its_id_and_no_other() {
    let queue = queue();
    let mut first = queue.admit(request("s1", "r1")).unwrap();
    let mut second = queue.admit(request("s1", "r2")).unwrap();
    let resolution = queue.resolve(Some("s1"), "r2", &allow_once());
    assert_eq!(resolution, Resolution::Settled(Answer::AllowOnce));
    assert_eq!(
        second.settled().await,
        Settlement::Answered(Answer::AllowOnce)
    );
    assert_eq!(queue.waiting("s1"), 1);
    assert_eq!(
        queue.resolve(None, "r1", &HumanAnswer::word("deny")),
        Resolution::Settled(Answer::deny())
    );
    assert_eq!(first.settled().await, Settlement::Answered(Answer::deny()));
}

#[tokio::test(start_paused = true)]
async fn a_second_answer_resolves_nothing() {
    let queue = queue();
    let mut waiting = queue.admit(request("s1", "r1")).unwrap();
    let other = queue.admit(request("s1", "r2")).unwrap();
    queue.resolve(None, "r1", &HumanAnswer::word("deny"));
    assert_eq!(
        queue.resolve(None, "r1", &allow_once()),
        Resolution::NotPending
    );
    assert_eq!(
        waiting.settled().await,
        Settlement::Answered(Answer::deny())
    );
    assert_eq!(queue.pending(None), [other.posted().clone()]);
}

#[tokio::test(start_paused = true)]
async fn nobody_answering_denies_after_the_deadline() {
    let queue = queue();
    let mut waiting = queue.admit(request("s1", "r1")).unwrap();
    let before = tokio::time::Instant::now();
    assert_eq!(waiting.settled().await, Settlement::TimedOut);
    assert_eq!(before.elapsed().as_secs(), TIMEOUT.as_secs());
    assert_eq!(queue.waiting("s1"), 0);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_runs_from_the_requests_own_posting_also_when_queued() {
    let queue = queue();
    let mut first = queue.admit(request("s1", "r1")).unwrap();
    tokio::time::advance(Duration::from_secs(100)).await;
    let mut second = queue.admit(request("s1", "r2")).unwrap();
    assert_eq!(second.posted().ahead, 1);
    assert_eq!(first.settled().await, Settlement::TimedOut);
    let before = tokio::time::Instant::now();
    assert_eq!(second.settled().await, Settlement::TimedOut);
    assert_eq!(before.elapsed().as_secs(), 100);
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_the_deadline_is_no_answer_even_when_the_waiter_has_not_woken() {
    let queue = queue();
    let mut waiting = queue.admit(request("s1", "r1")).unwrap();
    tokio::time::advance(TIMEOUT).await;
    assert_eq!(
        queue.resolve(None, "r1", &allow_once()),
        Resolution::NotPending
    );
    assert_eq!(waiting.settled().await, Settlement::TimedOut);
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_the_last_moment_counts() {
    let queue = queue();
    let mut waiting = queue.admit(request("s1", "r1")).unwrap();
    tokio::time::advance(TIMEOUT - Duration::from_millis(1)).await;
    queue.resolve(None, "r1", &allow_once());
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(
        waiting.settled().await,
        Settlement::Answered(Answer::AllowOnce)
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_another_session_resolves_nothing() {
    let queue = queue();
    let _waiting = queue.admit(request("s1", "r1")).unwrap();
    assert_eq!(
        queue.resolve(Some("s2"), "r1", &allow_once()),
        Resolution::NotPending
    );
    assert_eq!(queue.waiting("s1"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_session_is_refused_when_two_sessions_use_the_id() {
    let queue = queue();
    let _first = queue.admit(request("s1", "r1")).unwrap();
    let mut second = queue.admit(request("s2", "r1")).unwrap();
    assert_eq!(
        queue.resolve(None, "r1", &allow_once()),
        Resolution::Ambiguous
    );
    queue.resolve(Some("s2"), "r1", &allow_once());
    assert_eq!(
        second.settled().await,
        Settlement::Answered(Answer::AllowOnce)
    );
    assert_eq!(queue.waiting("s1"), 1);
}

#[tokio::test(start_paused = true)]
async fn aborting_a_session_denies_its_whole_queue_and_no_other() {
    let queue = queue();
    let mut first = queue.admit(request("s1", "r1")).unwrap();
    let mut second = queue.admit(request("s1", "r2")).unwrap();
    let _other = queue.admit(request("s2", "r3")).unwrap();
    assert_eq!(queue.abort_session("s1", AbortReason::Turn), 2);
    assert_eq!(
        first.settled().await,
        Settlement::Aborted(AbortReason::Turn)
    );
    assert_eq!(
        second.settled().await,
        Settlement::Aborted(AbortReason::Turn)
    );
    assert_eq!(queue.waiting("s2"), 1);
}

#[tokio::test(start_paused = true)]
async fn aborting_a_call_leaves_the_others_waiting() {
    let queue = queue();
    let mut first = queue.admit(request("s1", "r1")).unwrap();
    let _second = queue.admit(request("s1", "r2")).unwrap();
    assert_eq!(queue.abort_call("s1", "call-r1", AbortReason::Call), 1);
    assert_eq!(queue.abort_call("s1", "call-r1", AbortReason::Call), 0);
    assert_eq!(
        first.settled().await,
        Settlement::Aborted(AbortReason::Call)
    );
    assert_eq!(queue.waiting("s1"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_closed_queue_takes_nothing_and_has_withdrawn_all() {
    let queue = queue();
    let mut waiting = queue.admit(request("s1", "r1")).unwrap();
    assert_eq!(queue.close(AbortReason::Host), 1);
    assert_eq!(
        queue.admit(request("s1", "r2")).err(),
        Some(AdmitError::Closed)
    );
    assert_eq!(
        waiting.settled().await,
        Settlement::Aborted(AbortReason::Host)
    );
}

#[tokio::test(start_paused = true)]
async fn an_id_that_waits_cannot_be_used_again_until_it_is_settled() {
    let queue = queue();
    let waiting = queue.admit(request("s1", "r1")).unwrap();
    assert_eq!(
        queue.admit(request("s1", "r1")).err(),
        Some(AdmitError::Duplicate)
    );
    drop(waiting);
    assert!(queue.admit(request("s1", "r1")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_waiter_withdraws_its_request() {
    let queue = queue();
    drop(queue.admit(request("s1", "r1")).unwrap());
    assert_eq!(
        queue.resolve(None, "r1", &allow_once()),
        Resolution::NotPending
    );
    assert!(queue.pending(None).is_empty());
}

#[tokio::test(start_paused = true)]
async fn pending_lists_the_oldest_first() {
    let queue = queue();
    let kept: Vec<_> = ["r9", "r1", "r5"]
        .iter()
        .map(|id| queue.admit(request("s1", id)).unwrap())
        .collect();
    let listed: Vec<String> = queue
        .pending(Some("s1"))
        .iter()
        .map(|one| one.request.request_id.clone())
        .collect();
    assert_eq!(listed, ["r9", "r1", "r5"]);
    drop(kept);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_policy_settles_what_it_now_decides() {
    let queue = queue();
    let mut allowed = queue.admit(request("s1", "r1")).unwrap();
    let mut denied = queue.admit(request("s1", "r2")).unwrap();
    let _asked = queue.admit(request("s1", "r3")).unwrap();
    let other = queue.admit(request("s2", "r1")).unwrap();
    let settled = queue.re_evaluate(Some("s1"), |request| match request.request_id.as_str() {
        "r1" => ReEvaluation::Allow(verdict(Decision::Allow)),
        "r2" => ReEvaluation::Deny(verdict(Decision::Deny)),
        _ => ReEvaluation::StillAsk,
    });
    assert_eq!(settled, 2);
    let superseded = |verdict| Settlement::Superseded(verdict);
    assert_eq!(
        allowed.settled().await,
        superseded(ReEvaluation::Allow(verdict(Decision::Allow)))
    );
    assert_eq!(
        denied.settled().await,
        superseded(ReEvaluation::Deny(verdict(Decision::Deny)))
    );
    assert_eq!(queue.pending(None).len(), 2);
    drop(other);
}

#[tokio::test(start_paused = true)]
async fn an_answer_given_while_policy_is_asked_again_stands() {
    let queue = queue();
    let mut waiting = queue.admit(request("s1", "r1")).unwrap();
    let settled = queue.re_evaluate(None, |_| {
        queue.resolve(None, "r1", &HumanAnswer::word("deny"));
        ReEvaluation::Allow(verdict(Decision::Allow))
    });
    assert_eq!(settled, 0);
    assert_eq!(
        waiting.settled().await,
        Settlement::Answered(Answer::deny())
    );
}

#[tokio::test(start_paused = true)]
async fn policy_does_not_allow_after_the_deadline() {
    let queue = queue();
    let mut waiting = queue.admit(request("s1", "r1")).unwrap();
    tokio::time::advance(TIMEOUT).await;
    let key = RequestKey {
        session_id: "s1".to_owned(),
        request_id: "r1".to_owned(),
    };
    assert!(!queue.supersede(&key, ReEvaluation::Allow(verdict(Decision::Allow))));
    assert_eq!(waiting.settled().await, Settlement::TimedOut);
}
