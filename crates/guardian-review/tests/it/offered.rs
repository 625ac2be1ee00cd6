//! Which answers count.

use guardian_review::{Answer, HumanAnswer, ReviewRequest};
use guardian_rules::AllowedDecision;

use crate::support::{request, suggestion};

#[track_caller]
fn check(request: &ReviewRequest, word: &str, rule: Option<usize>, expect: Answer) {
    let answer = HumanAnswer {
        decision: word.to_owned(),
        feedback: None,
        rule,
    };
    assert_eq!(answer.interpret(request), expect, "answer `{word}`");
}

/// A request that offers everything.
fn open() -> ReviewRequest {
    let mut request = request("s1", "r1");
    request.allowed_decisions = vec![
        AllowedDecision::AllowOnce,
        AllowedDecision::AllowSession,
        AllowedDecision::AllowAlwaysForTool,
        AllowedDecision::AllowAlwaysForCommandPattern,
        AllowedDecision::Deny,
    ];
    request.suggestions = vec![
        suggestion(AllowedDecision::AllowAlwaysForTool, "every Bash command"),
        suggestion(
            AllowedDecision::AllowAlwaysForCommandPattern,
            "`cargo test …`",
        ),
        suggestion(AllowedDecision::AllowAlwaysForCommandPattern, "`cargo …`"),
    ];
    request
}

#[test]
fn the_exact_words_count() {
    let request = open();
    check(&request, "allow-once", None, Answer::AllowOnce);
    check(&request, "allow-session", None, Answer::AllowSession);
    check(
        &request,
        "allow-always-for-tool",
        None,
        Answer::AllowAlwaysForTool { suggestion: 0 },
    );
    let pattern = Answer::AllowAlwaysForCommandPattern { suggestion: 2 };
    check(
        &request,
        "allow-always-for-command-pattern",
        Some(2),
        pattern,
    );
    check(&request, "deny", None, Answer::deny());
}

#[test]
fn anything_else_is_a_denial() {
    let request = open();
    for word in [
        "",
        "allow",
        "yes",
        "y",
        "true",
        "Allow-Once",
        "ALLOW-ONCE",
        "allow_once",
        "allow-once ",
        " allow-once",
        "allow-once\n",
        "allow‐once",
        "abstain",
        "deny allow-once",
        "allow-always",
    ] {
        check(&request, word, None, Answer::deny());
    }
}

#[test]
fn a_word_that_the_request_did_not_offer_is_a_denial() {
    let mut request = open();
    request.allowed_decisions = vec![AllowedDecision::AllowOnce, AllowedDecision::Deny];
    check(&request, "allow-session", None, Answer::deny());
    check(&request, "allow-always-for-tool", None, Answer::deny());
    check(&request, "allow-once", None, Answer::AllowOnce);
    request.allowed_decisions = Vec::new();
    check(&request, "allow-once", None, Answer::deny());
}

#[test]
fn an_always_answer_needs_a_suggestion_of_its_own() {
    let mut request = open();
    let pattern = "allow-always-for-command-pattern";
    check(&request, pattern, Some(3), Answer::deny());
    // Two fit, none is named.
    check(&request, pattern, None, Answer::deny());
    // The suggestion of the other answer.
    check(&request, pattern, Some(0), Answer::deny());
    check(&request, "allow-always-for-tool", Some(1), Answer::deny());
    request.suggestions.truncate(2);
    let only = Answer::AllowAlwaysForCommandPattern { suggestion: 1 };
    check(&request, pattern, None, only);
    request.suggestions.truncate(1);
    check(&request, pattern, Some(0), Answer::deny());
}

#[test]
fn what_is_not_shown_whole_can_be_allowed_once_only() {
    let mut request = open();
    request.args_preview.whole = false;
    assert_eq!(
        request.offered(),
        [AllowedDecision::AllowOnce, AllowedDecision::Deny]
    );
    check(&request, "allow-session", None, Answer::deny());
    check(
        &request,
        "allow-always-for-command-pattern",
        Some(0),
        Answer::deny(),
    );
}

#[test]
fn a_session_answer_needs_a_grant_to_state() {
    let mut request = open();
    request.grant = None;
    check(&request, "allow-session", None, Answer::deny());
}

#[test]
fn denying_is_always_possible() {
    let mut request = open();
    request.allowed_decisions = Vec::new();
    assert_eq!(request.offered(), [AllowedDecision::Deny]);
}

#[test]
fn feedback_of_a_denial_is_kept_and_blank_feedback_is_none() {
    let answer = |text: &str| HumanAnswer {
        decision: "deny".to_owned(),
        feedback: Some(text.to_owned()),
        rule: None,
    };
    let kept = Answer::Deny {
        feedback: Some("use make".to_owned()),
    };
    assert_eq!(answer("use make").interpret(&open()), kept);
    assert_eq!(answer("  \n").interpret(&open()), Answer::deny());
}
