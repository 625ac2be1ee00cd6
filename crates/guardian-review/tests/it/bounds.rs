//! What a request holds at most.

use guardian_facts::{AccessKind, Scope, Sensitivity};
use guardian_review::wire::RequestV1;
use guardian_review::{Card, ShownCode};
use guardian_rules::AllowedDecision;
use serde_json::json;

use crate::support::{path, request};

#[test]
fn however_much_there_is_a_card_and_its_message_stay_small_and_the_gravest_is_on_it() {
    let mut request = request("s", "r");
    let long = |number: usize| format!("/home/dev/proj/{number}/{}", "d\u{202e}".repeat(4_000));
    request.paths = (0..5_000)
        .map(|number| path(AccessKind::Write, &long(number), Scope::Workspace))
        .collect();
    let mut secret = path(AccessKind::Read, "/home/dev/proj/.env", Scope::Workspace);
    secret.sensitivity = Sensitivity {
        secret: true,
        ..Sensitivity::default()
    };
    request.paths.push(secret);
    request.unknowns = (0..5_000)
        .map(|number| format!("{number} is not known"))
        .collect();
    request.notes = vec!["n".repeat(100_000); 10];
    request.code = (0..100)
        .map(|number| ShownCode {
            path: format!("{number}.sh"),
            text: "echo\n".repeat(3_000),
            whole: true,
            changed_by_session: false,
        })
        .collect();
    request.summary = "s".repeat(100_000);
    request.reason = "r".repeat(100_000);
    request.facts = json!({ "commands": vec!["x"; 50_000] });
    request.bound();
    let card = Card::of(&request, 0);
    assert!(
        card.to_string().len() < 96 * 1024,
        "{}",
        card.to_string().len()
    );
    let message = serde_json::to_string(&RequestV1::of(&request)).unwrap();
    assert!(message.len() < 96 * 1024, "{}", message.len());
    assert!(
        card.to_string()
            .contains("/home/dev/proj/.env may hold credentials")
    );
    assert!(request.omitted.paths > 4_900 && request.omitted.code > 90 && request.omitted.facts);
    // It can be allowed once, by a person.
    let offered = request.offered();
    assert_eq!(offered, [AllowedDecision::AllowOnce, AllowedDecision::Deny]);
    assert!(!request.automatic_may_allow());
}

#[test]
fn an_ordinary_request_is_left_as_it_is() {
    let before = request("s", "r");
    let mut after = before.clone();
    after.bound();
    assert_eq!(before, after);
}
