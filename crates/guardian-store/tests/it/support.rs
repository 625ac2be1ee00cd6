//! A store in a temporary directory, with a clock that stands still.

use std::sync::Arc;

use guardian_store::{ManualClock, NewSession, SessionId, Store, StoreOptions, Timestamp};
use tempfile::TempDir;

pub(crate) struct Fixture {
    pub(crate) directory: TempDir,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Store,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(Timestamp(1_000_000_000_000)));
        let store = open(&directory, &clock);
        Self {
            directory,
            clock,
            store,
        }
    }

    /// Another handle with connections of its own, as another process would have.
    pub(crate) fn reopen(&self) -> Store {
        open(&self.directory, &self.clock)
    }

    pub(crate) fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.directory.path().join("data/guardian.db")).unwrap()
    }
}

fn open(directory: &TempDir, clock: &Arc<ManualClock>) -> Store {
    Store::open(StoreOptions::new(directory.path().join("data")).clock(clock.clone())).unwrap()
}

pub(crate) fn id(text: &str) -> SessionId {
    SessionId::new(text).unwrap()
}

pub(crate) fn session(store: &Store, name: &str) -> SessionId {
    store
        .create_session(NewSession::new(id(name), Some("/work/project".into())))
        .unwrap()
        .id
}
