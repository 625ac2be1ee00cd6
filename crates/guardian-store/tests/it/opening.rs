//! Opening: modes of files, damage, other versions, read-only directories.

use guardian_store::{AuditEvent, AuditFilter, Store, StoreError, StoreOptions};

use crate::support::{Fixture, id, session};

#[cfg(unix)]
#[test]
fn only_the_user_may_enter() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    fixture
        .store
        .args_hash("x", &serde_json::json!({}))
        .unwrap();
    let _lease = fixture.store.lease(&a).unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let data = fixture.directory.path().join("data");
    let mut directories = vec![data];
    let mut files = 0;
    while let Some(directory) = directories.pop() {
        assert_eq!(mode(&directory), 0o700, "{}", directory.display());
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files >= 5, "{files}");
}

#[test]
fn a_damaged_database_is_moved_aside_and_nothing_of_it_is_in_force() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    let grant = guardian_rules::Grant {
        tool_name: "Bash".to_owned(),
        scope: guardian_rules::GrantScope::Outside,
    };
    fixture.store.add_grant(&a, grant, "human").unwrap();
    let Fixture {
        directory,
        clock,
        store,
    } = fixture;
    drop(store);
    let database = directory.path().join("data/guardian.db");
    std::fs::write(&database, b"this is no database, and it is longer than the header of one would be: 0123456789 0123456789").unwrap();
    let store = Store::open(StoreOptions::new(directory.path().join("data")).clock(clock)).unwrap();
    let recovery = store.recovery().unwrap();
    assert!(recovery.moved_to.is_file());
    assert!(matches!(
        store.session(&id("a")),
        Err(StoreError::NotFound { .. })
    ));
    let rows = store.query_audit(&AuditFilter::newest()).unwrap().rows;
    assert_eq!(rows[0].entry.event, AuditEvent::StoreRecovered);
}

#[test]
fn a_newer_database_is_left_alone() {
    let fixture = Fixture::new();
    fixture
        .database()
        .pragma_update(None, "user_version", 1000)
        .unwrap();
    let result = Store::open(StoreOptions::new(fixture.directory.path().join("data")));
    assert!(
        matches!(result, Err(StoreError::TooNew { .. })),
        "{result:?}"
    );
}

#[test]
fn many_open_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let threads: Vec<_> = (0..8)
        .map(|at| {
            let path = directory.path().join("data");
            std::thread::spawn(move || {
                let store = Store::open(StoreOptions::new(path)).unwrap();
                session(&store, &format!("s{at}"));
                store.args_hash("x", &serde_json::json!({})).unwrap()
            })
        })
        .collect();
    let hashes: Vec<String> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert!(hashes.iter().all(|hash| *hash == hashes[0]), "one key");
    let store = Store::open(StoreOptions::new(directory.path().join("data"))).unwrap();
    assert_eq!(store.sessions().unwrap().len(), 8);
}

#[test]
fn damage_met_in_use_is_looked_for_at_the_next_opening() {
    let fixture = Fixture::new();
    for number in 0..200 {
        let mut new = guardian_store::NewSession::new(id(&format!("s{number}")), None);
        new.title = Some("a title of some length ".repeat(20));
        fixture.store.create_session(new).unwrap();
    }
    let Fixture {
        directory,
        clock,
        store,
    } = fixture;
    drop(store);
    let database = directory.path().join("data/guardian.db");
    let mut bytes = std::fs::read(&database).unwrap();
    // The last pages hold sessions; the first ones, with the schema, stay.
    let length = bytes.len();
    bytes[length - 16 * 4096..].fill(0xa5);
    std::fs::write(&database, bytes).unwrap();
    let open = || {
        Store::open(StoreOptions::new(directory.path().join("data")).clock(clock.clone())).unwrap()
    };
    let store = open();
    if store.recovery().is_none() {
        assert!(matches!(store.sessions(), Err(StoreError::Corrupt(_))));
        drop(store);
        assert!(open().recovery().is_some());
    }
    assert!(open().recovery().is_none());
    assert!(open().sessions().unwrap().is_empty());
}

/// Version 1 of the tables, as it was landed, with a row in each.
const VERSION_1: &str = include_str!("../fixtures/version-1.sql");

#[test]
fn a_database_of_version_1_is_brought_up_to_date_with_its_rows() {
    let directory = tempfile::tempdir().unwrap();
    let database = rusqlite::Connection::open(directory.path().join("guardian.db")).unwrap();
    database.execute_batch(VERSION_1).unwrap();
    drop(database);
    let store = Store::open(StoreOptions::new(directory.path())).unwrap();
    let old = store.session(&id("old")).unwrap();
    assert_eq!(old.project_path, Some("/p".into()));
    assert_eq!(store.settings().unwrap().preset.as_deref(), Some("strict"));
    assert!(store.verify_audit(None).unwrap().is_ok());
    assert!(store.snapshots(&old.id).unwrap().is_empty());
    store
        .append_audit(
            guardian_store::AuditEntry::new(AuditEvent::Session),
            guardian_store::Durability::Process,
        )
        .unwrap();
    assert_eq!(store.verify_audit(None).unwrap().rows, 3);
}
