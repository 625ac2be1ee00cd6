//! Sessions, turns, settings, leases.

use guardian_rules::{OperatingMode, PermissionMode, SessionPermissionMode};
use guardian_store::{
    Conflict, NewSession, NewTurn, SandboxSetting, SessionChange, Settings, SettingsChange,
    ShellPin, StoreError, TurnOutcome,
};

use crate::support::{Fixture, id, session};

fn turn(id: &str, new_prompt: bool) -> NewTurn {
    NewTurn {
        id: id.to_owned(),
        shell: Some(ShellPin {
            id: "bash".to_owned(),
            dialect: "posix".to_owned(),
        }),
        user_message: Some("use TOKEN=abcdef please".to_owned()),
        new_prompt,
    }
}

#[test]
fn a_session_is_found_again_by_another_process() {
    let fixture = Fixture::new();
    let made = fixture
        .store
        .create_session(NewSession::new(id("a"), Some("/p".into())))
        .unwrap();
    assert_eq!(made.mode, OperatingMode::Agent);
    assert_eq!(made.permission_mode, SessionPermissionMode::Inherit);
    assert_eq!(fixture.reopen().session(&id("a")).unwrap(), made);
    assert_eq!(fixture.reopen().sessions().unwrap(), [made]);
}

#[test]
fn an_unknown_session_is_not_found_and_a_second_of_the_same_id_refused() {
    let fixture = Fixture::new();
    assert!(matches!(
        fixture.store.session(&id("a")),
        Err(StoreError::NotFound {
            what: "session",
            ..
        })
    ));
    session(&fixture.store, "a");
    let again = fixture.store.create_session(NewSession::new(id("a"), None));
    assert!(matches!(
        again,
        Err(StoreError::Conflict(Conflict::SessionExists(_)))
    ));
}

#[test]
fn a_change_based_on_an_old_reading_is_refused() {
    let fixture = Fixture::new();
    let read = fixture
        .store
        .create_session(NewSession::new(id("a"), None))
        .unwrap();
    fixture.clock.advance(5);
    let plan = SessionChange {
        mode: Some(OperatingMode::Plan),
        ..SessionChange::default()
    };
    let changed = fixture
        .store
        .configure_session(&read.id, Some(read.revision), plan.clone())
        .unwrap();
    assert_eq!(changed.mode, OperatingMode::Plan);
    assert!(changed.updated_at > changed.created_at);
    let stale = fixture
        .store
        .configure_session(&read.id, Some(read.revision), plan);
    assert!(matches!(
        stale,
        Err(StoreError::Conflict(Conflict::SessionChanged(_)))
    ));
}

#[test]
fn a_project_is_bound_once() {
    let fixture = Fixture::new();
    let made = fixture
        .store
        .create_session(NewSession::new(id("a"), None))
        .unwrap();
    assert_eq!(made.project_path, None);
    fixture.store.bind_project(&made.id, "/p".into()).unwrap();
    fixture.store.bind_project(&made.id, "/p".into()).unwrap();
    let other = fixture.store.bind_project(&made.id, "/q".into());
    assert!(matches!(
        other,
        Err(StoreError::Conflict(Conflict::ProjectBound { .. }))
    ));
}

#[cfg(unix)]
#[test]
fn a_path_that_is_no_text_is_kept_byte_for_byte() {
    use std::os::unix::ffi::OsStringExt as _;
    let fixture = Fixture::new();
    let path = std::path::PathBuf::from(std::ffi::OsString::from_vec(b"/p/\xff\xfe".to_vec()));
    fixture
        .store
        .create_session(NewSession::new(id("a"), Some(path.clone())))
        .unwrap();
    assert_eq!(
        fixture.store.session(&id("a")).unwrap().project_path,
        Some(path)
    );
}

#[test]
fn one_turn_runs_at_a_time_and_prompts_are_counted() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    let begun = fixture.store.begin_turn(&a, turn("t1", true)).unwrap();
    assert_eq!(begun.prompt, 1);
    assert_eq!(
        begun.user_message.as_deref(),
        Some("use TOKEN=[REDACTED:key] please")
    );
    let busy = fixture.store.begin_turn(&a, turn("t2", true));
    assert!(
        matches!(busy, Err(StoreError::Conflict(Conflict::TurnRunning { turn, .. })) if turn == "t1")
    );
    assert_eq!(fixture.store.running_turn(&a).unwrap().unwrap(), begun);
    let wrong = fixture.store.end_turn(&a, "t2", TurnOutcome::Ended);
    assert!(matches!(
        wrong,
        Err(StoreError::Conflict(Conflict::TurnNotRunning { .. }))
    ));
    fixture
        .store
        .end_turn(&a, "t1", TurnOutcome::Ended)
        .unwrap();
    assert_eq!(fixture.store.running_turn(&a).unwrap(), None);
    assert_eq!(
        fixture
            .store
            .begin_turn(&a, turn("t2", false))
            .unwrap()
            .prompt,
        1
    );
    fixture
        .store
        .end_turn(&a, "t2", TurnOutcome::Aborted)
        .unwrap();
    assert_eq!(
        fixture
            .store
            .begin_turn(&a, turn("t3", true))
            .unwrap()
            .prompt,
        2
    );
}

#[test]
fn a_turn_id_is_not_used_twice() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    fixture.store.begin_turn(&a, turn("t1", true)).unwrap();
    fixture
        .store
        .end_turn(&a, "t1", TurnOutcome::Ended)
        .unwrap();
    assert!(matches!(
        fixture.store.begin_turn(&a, turn("t1", true)),
        Err(StoreError::Conflict(_))
    ));
    assert!(
        fixture
            .store
            .begin_turn(&id("b"), turn("t1", true))
            .is_err()
    );
}

#[test]
fn deleting_a_session_takes_its_turns_along() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    fixture.store.begin_turn(&a, turn("t1", true)).unwrap();
    fixture.store.delete_session(&a).unwrap();
    assert!(matches!(
        fixture.store.delete_session(&a),
        Err(StoreError::NotFound { .. })
    ));
    session(&fixture.store, "a");
    assert_eq!(fixture.store.running_turn(&a).unwrap(), None);
}

#[test]
fn a_lease_is_exclusive_and_its_next_holder_interrupts_what_was_left() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    let other = fixture.reopen();
    let lease = fixture.store.lease(&a).unwrap();
    fixture.store.begin_turn(&a, turn("t1", true)).unwrap();
    match other.lease(&a) {
        Err(StoreError::Conflict(Conflict::Leased { holder, .. })) => {
            assert_eq!(holder, Some(std::process::id()))
        }
        result => panic!("{result:?}"),
    }
    other.lease(&id("b")).unwrap();
    drop(lease);
    let lease = other.lease(&a).unwrap();
    assert_eq!(other.interrupt_turns(&lease).unwrap(), 1);
    assert_eq!(other.running_turn(&a).unwrap(), None);
}

#[test]
fn settings_change_by_key_and_stay() {
    let fixture = Fixture::new();
    assert_eq!(fixture.store.settings().unwrap(), Settings::default());
    let change = SettingsChange {
        default_permission_mode: Some(Some(PermissionMode::AcceptEdits)),
        sandbox: Some(Some(SandboxSetting::Required)),
        preset: Some(Some("balanced".to_owned())),
        ..SettingsChange::default()
    };
    fixture.store.set_settings(change).unwrap();
    let change = SettingsChange {
        preset: Some(None),
        ..SettingsChange::default()
    };
    fixture.store.set_settings(change).unwrap();
    let expect = Settings {
        default_permission_mode: Some(PermissionMode::AcceptEdits),
        default_command_shell: None,
        sandbox: Some(SandboxSetting::Required),
        preset: None,
    };
    assert_eq!(fixture.reopen().settings().unwrap(), expect);
    fixture
        .store
        .set_other_setting("ui", Some(serde_json::json!({"a": 1})))
        .unwrap();
    assert_eq!(
        fixture.store.other_setting("ui").unwrap(),
        Some(serde_json::json!({"a": 1}))
    );
    assert_eq!(fixture.store.other_setting("preset").unwrap(), None);
}

#[test]
fn a_stored_value_that_nobody_wrote_is_damage_and_no_default() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    let database = fixture.database();
    database
        .execute(
            "INSERT INTO settings VALUES ('defaultPermissionMode', '\"yolo\"', 0)",
            [],
        )
        .unwrap();
    assert!(matches!(
        fixture.store.settings(),
        Err(StoreError::Corrupt(_))
    ));
    database
        .execute("UPDATE sessions SET permission_mode = 'root'", [])
        .unwrap();
    assert!(matches!(
        fixture.store.session(&a),
        Err(StoreError::Corrupt(_))
    ));
}
