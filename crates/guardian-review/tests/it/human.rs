//! The human reviewer and what its clients are told.

use std::sync::Arc;

use guardian_review::{
    AbortReason, Answer, Attendance, HumanAnswer, HumanReviewer, PendingQueue, ReviewError,
    Reviewer, Settlement,
};

use crate::support::{RecordingClients, TIMEOUT, Told, queue, request, settle_down};

fn reviewer(attendance: Attendance) -> (Arc<PendingQueue>, Arc<RecordingClients>, HumanReviewer) {
    let queue = queue();
    let clients = RecordingClients::new(attendance);
    let reviewer = HumanReviewer::new(Arc::clone(&queue), clients.clone());
    (queue, clients, reviewer)
}

fn posted() -> Told {
    Told::Posted("s1".to_owned(), "r1".to_owned())
}

fn settled(settlement: Settlement) -> Told {
    Told::Settled("s1".to_owned(), "r1".to_owned(), settlement)
}

#[tokio::test(start_paused = true)]
async fn without_a_client_nobody_is_asked_and_nothing_waits() {
    let (queue, clients, reviewer) = reviewer(Attendance::Headless);
    assert_eq!(
        reviewer.review(&request("s1", "r1")).await,
        Err(ReviewError::Headless)
    );
    assert!(clients.told().is_empty());
    assert!(queue.pending(None).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_card_is_posted_and_taken_away_with_its_answer() {
    let (queue, clients, reviewer) = reviewer(Attendance::Attended);
    let review = tokio::spawn(async move { reviewer.review(&request("s1", "r1")).await });
    settle_down().await;
    assert_eq!(clients.told(), [posted()]);
    queue.resolve(None, "r1", &HumanAnswer::word("allow-session"));
    assert_eq!(review.await.unwrap(), Ok(Answer::AllowSession));
    let answered = Settlement::Answered(Answer::AllowSession);
    assert_eq!(clients.told(), [posted(), settled(answered)]);
}

#[tokio::test(start_paused = true)]
async fn a_card_nobody_answers_is_taken_away_after_the_deadline() {
    let (_queue, clients, reviewer) = reviewer(Attendance::Attended);
    let result = reviewer.review(&request("s1", "r1")).await;
    assert_eq!(result, Err(ReviewError::TimedOut { after: TIMEOUT }));
    assert_eq!(clients.told(), [posted(), settled(Settlement::TimedOut)]);
}

#[tokio::test(start_paused = true)]
async fn a_card_is_taken_away_when_the_call_stops_waiting() {
    let (queue, clients, reviewer) = reviewer(Attendance::Attended);
    let review = tokio::spawn(async move { reviewer.review(&request("s1", "r1")).await });
    settle_down().await;
    review.abort();
    settle_down().await;
    assert!(queue.pending(None).is_empty());
    let abandoned = Settlement::Aborted(AbortReason::Abandoned);
    assert_eq!(clients.told(), [posted(), settled(abandoned)]);
}

#[tokio::test(start_paused = true)]
async fn a_card_that_was_settled_unnoticed_is_taken_away_as_it_was_settled() {
    let (queue, clients, reviewer) = reviewer(Attendance::Attended);
    let review = tokio::spawn(async move { reviewer.review(&request("s1", "r1")).await });
    settle_down().await;
    // Both at once: the waiter does not run in between.
    queue.abort_call("s1", &request("s1", "r1").tool_call_id, AbortReason::Call);
    review.abort();
    settle_down().await;
    let aborted = Settlement::Aborted(AbortReason::Call);
    assert_eq!(clients.told(), [posted(), settled(aborted)]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_queue_does_not_take_is_a_failure_not_an_answer() {
    let (queue, clients, reviewer) = reviewer(Attendance::Attended);
    queue.close(AbortReason::Host);
    let result = reviewer.review(&request("s1", "r1")).await;
    assert!(matches!(result, Err(ReviewError::Failed(_))), "{result:?}");
    assert!(clients.told().is_empty());
}
