//! What is kept of a session's policy: one writer at a time is believed, and it ends with the
//! session.

use guardian_store::{Store, StoreError, StoreOptions};

use crate::support::{Fixture, id, session};

#[test]
fn what_holds_for_a_session_is_kept_until_the_session_is_deleted() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    assert_eq!(fixture.store.session_policy(&a).unwrap(), None);
    let keep = |store: &Store, seen, text: &str, rules: Option<&str>| {
        store.keep_session_policy(&a, seen, text.to_owned(), rules.map(str::to_owned))
    };
    assert_eq!(keep(&fixture.store, None, "one", None).unwrap(), Some(1));
    let other = fixture.reopen();
    assert_eq!(keep(&other, Some(1), "two", Some("r")).unwrap(), Some(2));
    assert_eq!(
        keep(&fixture.store, Some(1), "late", None).unwrap(),
        None,
        "another process was first"
    );
    let kept = fixture.store.session_policy(&a).unwrap().unwrap();
    assert_eq!(
        (kept.versions.as_str(), kept.rules.as_deref()),
        ("two", Some("r"))
    );
    assert_eq!(fixture.store.session_policy_revision(&a).unwrap(), Some(2));
    fixture.store.delete_session(&a).unwrap();
    assert_eq!(fixture.store.session_policy_revision(&a).unwrap(), None);
}

#[test]
fn a_session_that_is_not_there_keeps_nothing() {
    let fixture = Fixture::new();
    let kept = fixture
        .store
        .keep_session_policy(&id("nobody"), None, "x".to_owned(), None);
    assert!(kept.is_err());
}

#[test]
fn a_database_is_opened_to_look_without_being_written() {
    let fixture = Fixture::new();
    session(&fixture.store, "a");
    let options = || StoreOptions::new(fixture.directory.path().join("data"));
    let looking = Store::open_to_look(options()).unwrap();
    assert!(!looking.is_writable());
    assert_eq!(looking.sessions().unwrap().len(), 1);
    assert!(matches!(
        looking.trust_policy("/p".as_ref(), "h"),
        Err(StoreError::ReadOnly)
    ));
    drop(looking);
    // Tables of another version are brought up to date, as at any opening.
    fixture
        .database()
        .pragma_update(None, "user_version", 1000)
        .unwrap();
    assert!(matches!(
        Store::open_to_look(options()),
        Err(StoreError::TooNew { .. })
    ));
}
