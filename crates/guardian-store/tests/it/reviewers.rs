//! Breakers and the decision cache.

use guardian_store::CachedDecision;

use crate::support::{Fixture, id, session};

fn decision(fixture: &Fixture, allowed: bool) -> CachedDecision {
    CachedDecision {
        allowed,
        reviewer: "model".to_owned(),
        rationale: "because".to_owned(),
        at: fixture.store.now(),
    }
}

#[test]
fn an_allow_counts_in_its_turn_and_a_denial_in_all_of_the_session() {
    let fixture = Fixture::new();
    let (a, b) = (session(&fixture.store, "a"), session(&fixture.store, "b"));
    let (yes, no) = (decision(&fixture, true), decision(&fixture, false));
    let store = &fixture.store;
    store.cache_decision(&a, "t1", "yes", yes.clone()).unwrap();
    store.cache_decision(&a, "t1", "no", no.clone()).unwrap();
    assert_eq!(
        store.cached_decision(&a, "t1", "yes").unwrap(),
        Some(yes.clone())
    );
    assert_eq!(store.cached_decision(&a, "t2", "yes").unwrap(), None);
    assert_eq!(
        store.cached_decision(&a, "t2", "no").unwrap(),
        Some(no.clone())
    );
    assert_eq!(store.cached_decision(&b, "t1", "yes").unwrap(), None);
    assert_eq!(store.cached_decision(&b, "t1", "no").unwrap(), None);
    store.cache_decision(&a, "t2", "no", yes).unwrap();
    assert_eq!(store.cached_decision(&a, "t2", "no").unwrap(), Some(no));
    store.forget_decision(&a, "no").unwrap();
    assert_eq!(store.cached_decision(&a, "t2", "no").unwrap(), None);
}

#[test]
fn a_breaker_is_its_sessions() {
    let fixture = Fixture::new();
    let (a, b) = (session(&fixture.store, "a"), session(&fixture.store, "b"));
    fixture
        .store
        .keep_breaker(&a, "reviewers", "open".to_owned())
        .unwrap();
    assert_eq!(
        fixture
            .reopen()
            .breaker(&a, "reviewers")
            .unwrap()
            .as_deref(),
        Some("open")
    );
    assert_eq!(fixture.store.breaker(&b, "reviewers").unwrap(), None);
    assert!(
        fixture
            .store
            .keep_breaker(&id("c"), "reviewers", String::new())
            .is_err()
    );
    fixture.store.delete_session(&a).unwrap();
    session(&fixture.store, "a");
    assert_eq!(fixture.store.breaker(&a, "reviewers").unwrap(), None);
}
