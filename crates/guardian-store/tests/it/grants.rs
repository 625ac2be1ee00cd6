//! Grants: one session's, for a day, and gone when they are gone.

use std::collections::BTreeMap;

use guardian_rules::{Grant, GrantScope};
use guardian_store::{GRANT_UNUSED_LIFETIME_MS, Store, StoreError};
use proptest::prelude::*;

use crate::support::{Fixture, id, session};

fn grant(tool: &str, scope: GrantScope) -> Grant {
    Grant {
        tool_name: tool.to_owned(),
        scope,
    }
}

fn in_force(store: &Store, name: &str) -> Vec<Grant> {
    let mut grants: Vec<Grant> = store
        .grants(&id(name))
        .unwrap()
        .into_iter()
        .map(|stored| stored.grant)
        .collect();
    grants.sort();
    grants
}

#[test]
fn a_grant_survives_a_restart_and_is_another_sessions_no_grant() {
    let fixture = Fixture::new();
    let (a, b) = (session(&fixture.store, "a"), session(&fixture.store, "b"));
    let write = grant("Write", GrantScope::Roots);
    let stored = fixture.store.add_grant(&a, write.clone(), "human").unwrap();
    assert_eq!(fixture.reopen().grants(&a).unwrap(), [stored]);
    assert!(fixture.store.grants(&b).unwrap().is_empty());
}

#[test]
fn a_grant_needs_its_session() {
    let fixture = Fixture::new();
    let result = fixture
        .store
        .add_grant(&id("nobody"), grant("Write", GrantScope::Roots), "human");
    assert!(matches!(result, Err(StoreError::NotFound { .. })));
}

#[test]
fn a_grant_ends_a_day_after_its_last_use_and_use_cannot_revive_it() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    let write = grant("Write", GrantScope::Roots);
    fixture.store.add_grant(&a, write.clone(), "human").unwrap();
    fixture.clock.advance(GRANT_UNUSED_LIFETIME_MS - 1);
    assert_eq!(in_force(&fixture.store, "a"), std::slice::from_ref(&write));
    fixture.store.touch_grant(&a, &write).unwrap();
    fixture.clock.advance(GRANT_UNUSED_LIFETIME_MS - 1);
    assert_eq!(in_force(&fixture.store, "a"), std::slice::from_ref(&write));
    fixture.clock.advance(1);
    assert!(in_force(&fixture.store, "a").is_empty());
    fixture.store.touch_grant(&a, &write).unwrap();
    assert!(in_force(&fixture.store, "a").is_empty());
    assert_eq!(fixture.store.sweep_grants().unwrap(), 1);
}

#[test]
fn deleting_a_session_ends_its_grants_for_good() {
    let fixture = Fixture::new();
    let a = session(&fixture.store, "a");
    fixture
        .store
        .add_grant(&a, grant("Bash", GrantScope::Outside), "human")
        .unwrap();
    fixture.store.delete_session(&a).unwrap();
    session(&fixture.store, "a");
    assert!(in_force(&fixture.store, "a").is_empty());
}

#[derive(Debug, Clone)]
enum Step {
    Add(usize, usize),
    Clear(usize, Option<usize>),
    Touch(usize, usize),
    Delete(usize),
    Wait(i64),
    Sweep,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_usize..3, 0_usize..4).prop_map(|(session, grant)| Step::Add(session, grant)),
        1 => (0_usize..3, prop::option::of(0_usize..4)).prop_map(|(session, grant)| Step::Clear(session, grant)),
        2 => (0_usize..3, 0_usize..4).prop_map(|(session, grant)| Step::Touch(session, grant)),
        1 => (0_usize..3).prop_map(Step::Delete),
        2 => (0_i64..GRANT_UNUSED_LIFETIME_MS).prop_map(Step::Wait),
        1 => Just(Step::Sweep),
        1 => Just(Step::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Against a model of (session, grant) → last use.
    #[test]
    fn grants_never_leak_across_sessions_restarts_or_time(steps in prop::collection::vec(step(), 1..40)) {
        let names = ["a", "b", "c"];
        let kinds = [
            grant("Write", GrantScope::Roots),
            grant("Write", GrantScope::Outside),
            grant("Bash", GrantScope::Roots),
            grant("mcp_x_y", GrantScope::Outside),
        ];
        let fixture = Fixture::new();
        let mut store = fixture.store.clone();
        for name in names {
            session(&store, name);
        }
        let mut model: BTreeMap<(usize, usize), i64> = BTreeMap::new();
        let mut now = 0;
        for step in steps {
            match step {
                Step::Add(at, kind) => {
                    store.add_grant(&id(names[at]), kinds[kind].clone(), "human").unwrap();
                    model.insert((at, kind), now);
                }
                Step::Clear(at, kind) => {
                    store.clear_grants(&id(names[at]), kind.map(|kind| kinds[kind].clone())).unwrap();
                    model.retain(|key, _| key.0 != at || kind.is_some_and(|kind| key.1 != kind));
                }
                Step::Touch(at, kind) => {
                    store.touch_grant(&id(names[at]), &kinds[kind]).unwrap();
                    if let Some(last) = model.get_mut(&(at, kind)) {
                        *last = now;
                    }
                }
                Step::Delete(at) => {
                    store.delete_session(&id(names[at])).unwrap();
                    session(&store, names[at]);
                    model.retain(|key, _| key.0 != at);
                }
                Step::Wait(milliseconds) => {
                    fixture.clock.advance(milliseconds);
                    now += milliseconds;
                }
                Step::Sweep => {
                    store.sweep_grants().unwrap();
                }
                Step::Restart => store = fixture.reopen(),
            }
            model.retain(|_, last| now - *last < GRANT_UNUSED_LIFETIME_MS);
            for (at, name) in names.iter().enumerate() {
                let mut expect: Vec<Grant> =
                    model.keys().filter(|key| key.0 == at).map(|key| kinds[key.1].clone()).collect();
                expect.sort();
                prop_assert_eq!(in_force(&store, name), expect);
            }
        }
    }
}
