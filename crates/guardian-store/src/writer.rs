//! The one connection that writes, and its thread.
//!
//! Requests that wait together are committed together, by the thread. Each runs in its own
//! savepoint, so one that fails takes nothing of the others with it; none is answered before the
//! commit. A caller that waits for its write while nobody else writes or waits runs it where it is:
//! handing it over and waking up again takes longer than a small write.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::StoreError;
use crate::audit::Head;
use crate::store::{PublishHead, mark_suspect};

/// When a write counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The commit survives a crash of the process (`synchronous = NORMAL`).
    Process,
    /// It survives a crash of the machine (`synchronous = FULL`): grants, approvals and
    /// "about to run".
    Machine,
}

/// The answer to a write, once it is committed.
#[derive(Debug)]
pub struct Pending<T>(Receiver<Result<T, StoreError>>);

impl<T> Pending<T> {
    /// Blocks until the write is committed or has failed.
    ///
    /// # Errors
    /// As the operation says; [`StoreError::Closed`] when the store was closed first.
    pub fn wait(self) -> Result<T, StoreError> {
        self.0.recv().unwrap_or(Err(StoreError::Closed))
    }

    pub(crate) fn failed(error: StoreError) -> Self {
        let (sender, receiver) = sync_channel(1);
        // The channel has room for one.
        let _ = sender.send(Err(error));
        Self(receiver)
    }
}

/// What a write works with.
pub(crate) struct WriteContext<'c> {
    pub(crate) connection: &'c Connection,
    /// End of the audit chain as this transaction sees it; read at its first use.
    pub(crate) head: Option<Head>,
}

type Finish = Box<dyn FnOnce(Result<(), StoreError>)>;
/// Given an error instead of a transaction, the work does not run and passes the error on.
type Work = Box<
    dyn FnOnce(Result<&mut WriteContext<'_>, StoreError>) -> (Result<(), StoreError>, Finish)
        + Send,
>;

struct Request {
    durability: Durability,
    work: Work,
}

/// What transactions run on.
struct Desk {
    connection: Connection,
    /// The durability that the connection is set to.
    in_force: Option<Durability>,
    on_commit: PublishHead,
    database: PathBuf,
}

struct Shared {
    desk: Mutex<Desk>,
    /// Requests that the thread was handed and has not finished. While there are any, nobody
    /// overtakes them.
    queued: AtomicUsize,
}

impl Shared {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The desk, when nobody uses it and nobody waits for it.
    fn idle_desk(&self) -> Option<MutexGuard<'_, Desk>> {
        if self.queued.load(Ordering::Acquire) > 0 {
            return None;
        }
        match self.desk.try_lock() {
            Ok(desk) => Some(desk),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// Handle to the connection and its thread. Dropping it lets the thread finish what was asked and
/// joins it.
pub(crate) struct Writer {
    shared: Arc<Shared>,
    sender: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Most requests in one transaction: bounds how long others wait for the lock.
    const BATCH: usize = 128;

    pub(crate) fn start(
        connection: Connection,
        on_commit: PublishHead,
        database: PathBuf,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = channel::<Request>();
        let shared = Arc::new(Shared {
            desk: Mutex::new(Desk {
                connection,
                in_force: None,
                on_commit,
                database,
            }),
            queued: AtomicUsize::new(0),
        });
        let served = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("guardian-store".to_owned())
            .spawn(move || serve(&served, &receiver))
            .map_err(|error| StoreError::io("starting the writer thread", &error))?;
        Ok(Self {
            shared,
            sender: Some(sender),
            thread: Some(thread),
        })
    }

    /// Hands a write to the thread.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&mut WriteContext<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<T> {
        let (request, pending) = request(durability, work);
        self.shared.queued.fetch_add(1, Ordering::AcqRel);
        let sent = self
            .sender
            .as_ref()
            .is_some_and(|sender| sender.send(request).is_ok());
        if sent {
            pending
        } else {
            self.shared.queued.fetch_sub(1, Ordering::AcqRel);
            Pending::failed(StoreError::Closed)
        }
    }

    /// Writes and returns once it is committed: here, or together with those that wait already.
    ///
    /// # Errors
    /// As the operation says.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&mut WriteContext<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Some(mut desk) = self.shared.idle_desk() else {
            return self.submit(durability, work).wait();
        };
        let (request, pending) = request(durability, work);
        desk.run(vec![request]);
        drop(desk);
        pending.wait()
    }
}

/// A write as the desk runs it, and its answer.
fn request<T: Send + 'static>(
    durability: Durability,
    work: impl FnOnce(&mut WriteContext<'_>) -> Result<T, StoreError> + Send + 'static,
) -> (Request, Pending<T>) {
    let (answer, receiver): (SyncSender<Result<T, StoreError>>, _) = sync_channel(1);
    let work: Work = Box::new(move |context| {
        let result = context.and_then(|context| {
            catch_unwind(AssertUnwindSafe(|| work(context))).unwrap_or_else(|_| {
                Err(StoreError::Unavailable {
                    doing: "writing",
                    reason: "a write panicked".to_owned(),
                    source: None,
                })
            })
        });
        let (outcome, value) = match result {
            Ok(value) => (Ok(()), Some(value)),
            Err(error) => (Err(error), None),
        };
        let finish: Finish = Box::new(move |committed| {
            let result = match (committed, value) {
                (Ok(()), Some(value)) => Ok(value),
                (Ok(()), None) => Err(StoreError::Closed),
                (Err(error), _) => Err(error),
            };
            // The caller may have given up; the write stands all the same.
            let _ = answer.send(result);
        });
        (outcome, finish)
    });
    (Request { durability, work }, Pending(receiver))
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.sender = None;
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // A panic there was answered to its caller already.
            let _ = thread.join();
        }
    }
}

/// Did a transaction meet damage?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Sound,
    Damaged,
}

impl Health {
    fn after(error: &StoreError) -> Self {
        if matches!(error, StoreError::Corrupt(_)) {
            Self::Damaged
        } else {
            Self::Sound
        }
    }
}

fn serve(shared: &Shared, requests: &Receiver<Request>) {
    while let Ok(first) = requests.recv() {
        let mut desk = shared.desk();
        let mut batch = vec![first];
        while batch.len() < Writer::BATCH
            && let Ok(next) = requests.try_recv()
        {
            batch.push(next);
        }
        let count = batch.len();
        desk.run(batch);
        drop(desk);
        shared.queued.fetch_sub(count, Ordering::AcqRel);
    }
}

impl Desk {
    /// Runs requests in one transaction, as durable as the one that needs most.
    fn run(&mut self, batch: Vec<Request>) {
        let wanted = batch
            .iter()
            .map(|request| request.durability)
            .max()
            .unwrap_or(Durability::Machine);
        let Self {
            connection,
            in_force,
            on_commit,
            database,
        } = self;
        if run_batch(connection, batch, wanted, in_force, on_commit) == Health::Damaged {
            mark_suspect(database);
        }
    }
}

fn run_batch(
    connection: &Connection,
    batch: Vec<Request>,
    durability: Durability,
    in_force: &mut Option<Durability>,
    on_commit: &dyn Fn(&Head),
) -> Health {
    let begun = set_durability(connection, durability, in_force).and_then(|()| {
        connection
            .execute_batch("BEGIN IMMEDIATE")
            .map_err(StoreError::from)
    });
    if let Err(error) = begun {
        for request in batch {
            let (outcome, finish) = (request.work)(Err(error.clone()));
            finish(outcome);
        }
        return Health::after(&error);
    }
    let mut context = WriteContext {
        connection,
        head: None,
    };
    let mut finishes: Vec<(Result<(), StoreError>, Finish)> = Vec::with_capacity(batch.len());
    let mut broken: Option<StoreError> = None;
    for request in batch {
        if let Some(error) = &broken {
            finishes.push((request.work)(Err(error.clone())));
            continue;
        }
        let head_before = context.head;
        if let Err(error) = connection.execute_batch("SAVEPOINT request") {
            let error = StoreError::from(error);
            finishes.push((request.work)(Err(error.clone())));
            broken = Some(error);
            continue;
        }
        let (outcome, finish) = (request.work)(Ok(&mut context));
        let ended = if connection.is_autocommit() {
            // SQLite gave the whole transaction up (disk full, I/O error).
            Err(outcome.as_ref().err().cloned().unwrap_or(StoreError::Full))
        } else if outcome.is_err() {
            context.head = head_before;
            connection
                .execute_batch("ROLLBACK TO request; RELEASE request")
                .map_err(StoreError::from)
        } else {
            connection
                .execute_batch("RELEASE request")
                .map_err(StoreError::from)
        };
        finishes.push((outcome, finish));
        broken = ended.err();
    }
    let committed = match broken {
        Some(error) => Err(error),
        None => connection.execute_batch("COMMIT").map_err(StoreError::from),
    };
    if committed.is_err() && !connection.is_autocommit() {
        // Failing here leaves the transaction open; the next BEGIN then fails and says so.
        let _ = connection.execute_batch("ROLLBACK");
    }
    if committed.is_ok()
        && let Some(head) = &context.head
    {
        on_commit(head);
    }
    let mut health = committed
        .as_ref()
        .err()
        .map_or(Health::Sound, Health::after);
    for (outcome, finish) in finishes {
        if matches!(outcome, Err(StoreError::Corrupt(_))) {
            health = Health::Damaged;
        }
        finish(outcome.and(committed.clone()));
    }
    health
}

fn set_durability(
    connection: &Connection,
    wanted: Durability,
    in_force: &mut Option<Durability>,
) -> Result<(), StoreError> {
    if *in_force == Some(wanted) {
        return Ok(());
    }
    let level = match wanted {
        Durability::Process => "NORMAL",
        Durability::Machine => "FULL",
    };
    connection.pragma_update(None, "synchronous", level)?;
    *in_force = Some(wanted);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t (x UNIQUE)")
            .unwrap();
        connection
    }

    fn writer(connection: Connection) -> Writer {
        Writer::start(
            connection,
            Box::new(|_| ()),
            PathBuf::from("/nonexistent/guardian.db"),
        )
        .unwrap()
    }

    fn insert(writer: &Writer, value: Vec<u8>) -> Pending<()> {
        writer.submit(Durability::Process, move |context| {
            context
                .connection
                .execute("INSERT INTO t VALUES (?1)", [value])?;
            Ok(())
        })
    }

    #[test]
    fn one_that_fails_takes_nothing_of_its_neighbours_along() {
        let writer = writer(connection());
        // Held back until all of them wait, so that they share a transaction.
        let (go, wait) = channel::<()>();
        let first = writer.submit(Durability::Process, move |_| {
            wait.recv().unwrap();
            Ok(())
        });
        let pending = [b"a", b"b", b"a", b"c"].map(|value| insert(&writer, value.to_vec()));
        let panicking = writer.submit(Durability::Machine, |_| -> Result<(), StoreError> {
            panic!("on purpose")
        });
        go.send(()).unwrap();
        first.wait().unwrap();
        let outcomes = pending.map(|pending| pending.wait().is_ok());
        assert_eq!(outcomes, [true, true, false, true]);
        assert!(panicking.wait().is_err());
        let count = writer.submit(Durability::Process, |context| {
            Ok(context
                .connection
                .query_row("SELECT count(*) FROM t", [], |row| row.get::<_, u64>(0))?)
        });
        assert_eq!(count.wait().unwrap(), 3);
    }

    #[test]
    fn nobody_overtakes_what_waits() {
        let writer = writer(connection());
        let (go, wait) = channel::<()>();
        let first = writer.submit(Durability::Process, move |_| {
            wait.recv().unwrap();
            Ok(())
        });
        let queued = insert(&writer, b"a".to_vec());
        std::thread::scope(|scope| {
            let here = scope.spawn(|| {
                writer.write(Durability::Process, |context| {
                    let count = "SELECT count(*) FROM t";
                    Ok(context
                        .connection
                        .query_row(count, [], |row| row.get::<_, u64>(0))?)
                })
            });
            go.send(()).unwrap();
            assert_eq!(here.join().unwrap().unwrap(), 1);
        });
        first.wait().unwrap();
        queued.wait().unwrap();
        writer.shared.queued.fetch_add(1, Ordering::AcqRel);
        assert!(writer.shared.idle_desk().is_none());
    }

    #[test]
    fn a_write_that_nobody_waits_for_runs_where_it_is() {
        let writer = writer(connection());
        let here = std::thread::current().id();
        let ran = writer.write(Durability::Process, |_| Ok(std::thread::current().id()));
        assert_eq!(ran.unwrap(), here);
        let failed = writer.write(Durability::Machine, |context| {
            context.connection.execute("INSERT INTO t VALUES (1)", [])?;
            Err::<(), _>(StoreError::Full)
        });
        assert!(matches!(failed, Err(StoreError::Full)));
        let panicked = writer.write(Durability::Process, |_| -> Result<(), StoreError> {
            panic!("on purpose")
        });
        assert!(panicked.is_err());
        let count = writer.write(Durability::Process, |context| {
            Ok(context
                .connection
                .query_row("SELECT count(*) FROM t", [], |row| row.get::<_, u64>(0))?)
        });
        assert_eq!(count.unwrap(), 0);
    }

    #[test]
    fn no_space_left_is_said_and_nothing_half_is_kept() {
        let connection = connection();
        connection.pragma_update(None, "max_page_count", 8).unwrap();
        let writer = writer(connection);
        assert!(matches!(
            insert(&writer, vec![1; 1 << 20]).wait(),
            Err(StoreError::Full)
        ));
        insert(&writer, vec![2]).wait().unwrap();
        let count = writer.submit(Durability::Process, |context| {
            Ok(context
                .connection
                .query_row("SELECT count(*) FROM t", [], |row| row.get::<_, u64>(0))?)
        });
        assert_eq!(count.wait().unwrap(), 1);
    }

    #[test]
    fn what_was_asked_is_finished_before_the_end() {
        let writer = writer(connection());
        let pending = insert(&writer, vec![1]);
        drop(writer);
        pending.wait().unwrap();
    }
}
