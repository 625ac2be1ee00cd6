//! Saves by somebody else, at any moment of a change or a rollback, are never lost.
//!
//! The other side saves like an editor does: a new file, renamed over the old one. Each save has a
//! number, and the number in the file must come back to the last one saved. (For the blink of an
//! eye between a swap and its undoing, the file can show what the agent wrote.)

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use guardian_tools::{Capabilities, FailureCode, Feature, RollbackOutcome};

use super::support::{Session, race_time};

/// How long a save may take to be what the file shows. Far above what it takes.
const SETTLES_WITHIN: Duration = Duration::from_secs(10);

/// Every so many saves, the saving side keeps still until two tries have ended: the second one began
/// when nobody saved any more, so it gets through however the machine shares out its time.
const SAVES_BETWEEN_PAUSES: u64 = 16;

/// After so many tries, one of them was alone.
const TRIES_AT_LEAST: u64 = 1_000;

/// Saves numbered content until told to stop, and checks that each save stays. `ended` counts the
/// tries of the other side.
fn keep_saving(path: &Path, ended: &AtomicU64, stop: &AtomicBool) -> u64 {
    let aside = path.with_extension("saved");
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        std::fs::write(&aside, format!("user={number}\nagent=\n")).unwrap();
        std::fs::rename(&aside, path).unwrap();
        let saved = Instant::now();
        loop {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            if text.starts_with(&format!("user={number}\n")) {
                break;
            }
            assert!(
                saved.elapsed() < SETTLES_WITHIN,
                "save {number} is lost: {text:?}"
            );
            std::thread::yield_now();
        }
        if number % SAVES_BETWEEN_PAUSES == 0 {
            let before = ended.load(Ordering::Relaxed);
            while ended.load(Ordering::Relaxed) < before + 2 && !stop.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        }
        // The next save comes at ever other moments.
        for _ in 0..number % 97 {
            std::thread::yield_now();
        }
    }
    number
}

#[track_caller]
fn race(name: &str, unnamed_temporary: Feature, mut act: impl FnMut(&Session, u64) -> bool) {
    let mut capabilities = Capabilities::all();
    capabilities.unnamed_temporary = unnamed_temporary;
    let session = Session::with(capabilities);
    let path = session.file(name, "user=0\nagent=\n");
    let (ended, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let (mut tries, mut won) = (0_u64, 0_u64);
    let saves = std::thread::scope(|scope| {
        let saving = scope.spawn(|| keep_saving(&path, &ended, &stop));
        let end = Instant::now() + race_time();
        // On a busy machine the time may hold but a few tries, and none of them a quiet one.
        while (Instant::now() < end || (won == 0 && tries < TRIES_AT_LEAST))
            && !saving.is_finished()
        {
            tries += 1;
            won += u64::from(act(&session, tries));
            ended.store(tries, Ordering::Relaxed);
        }
        stop.store(true, Ordering::Relaxed);
        saving.join().unwrap()
    });
    assert!(saves > 1, "nobody raced");
    assert!(won > 0, "none of {tries} tries got through");
    assert!(session.leftovers().is_empty(), "{:?}", session.leftovers());
}

#[test]
fn an_edit_never_takes_a_save_back() {
    for unnamed_temporary in [Feature::Use, Feature::Avoid] {
        race("a.txt", unnamed_temporary, |session, _| {
            match session.edit("a.txt", "agent=", "agent=+") {
                Ok(_) => true,
                Err(failure) => {
                    assert_ne!(failure.code, FailureCode::Internal, "{failure}");
                    false
                }
            }
        });
    }
}

#[test]
fn a_write_never_takes_a_save_back() {
    race("a.txt", Feature::Use, |session, number| {
        let Ok(seen) = session.read("a.txt") else {
            return false;
        };
        let seen = seen["content"].as_str().unwrap();
        let user = seen.lines().next().unwrap_or_default();
        session
            .write("a.txt", &format!("{user}\nagent={number}\n"))
            .is_ok()
    });
}

#[test]
fn a_rollback_never_takes_a_save_back() {
    race("a.txt", Feature::Use, |session, _| {
        let Ok(output) = session.edit("a.txt", "agent=", "agent=+") else {
            return false;
        };
        let change = output.changed.unwrap();
        session.rollback(&change) == RollbackOutcome::RolledBack
    });
}

#[test]
fn rolling_a_creation_back_never_takes_a_save_away() {
    let session = Session::new();
    let path = session.workspace.join("new.txt");
    let end = Instant::now() + race_time();
    let (mut conflicts, mut removed, mut number) = (0_u64, 0_u64, 0_u64);
    while Instant::now() < end {
        number += 1;
        let change = session.write("new.txt", "agent").unwrap().changed.unwrap();
        let aside = session.workspace.join("aside");
        std::fs::write(&aside, format!("user {number}")).unwrap();
        let outcome = std::thread::scope(|scope| {
            let saving = scope.spawn(|| {
                for _ in 0..number % 29 {
                    std::hint::spin_loop();
                }
                std::fs::rename(&aside, &path).unwrap();
            });
            let outcome = session.rollback(&change);
            saving.join().unwrap();
            outcome
        });
        match outcome {
            RollbackOutcome::RolledBack => removed += 1,
            RollbackOutcome::Conflict => conflicts += 1,
            RollbackOutcome::AlreadyRolledBack => {}
        }
        // Whatever the order was: the save came, and is there.
        assert_eq!(
            session.bytes("new.txt"),
            format!("user {number}").as_bytes()
        );
        std::fs::remove_file(&path).unwrap();
    }
    assert!(conflicts + removed > 0);
    assert!(session.leftovers().is_empty(), "{:?}", session.leftovers());
}
