//! The one thread that writes.
//!
//! Requests that wait together are committed together. Each runs in its own savepoint, so one
//! that fails takes nothing of the others with it; none is answered before the commit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use crate::StoreError;
use crate::audit::Head;
use crate::store::PublishHead;

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

/// Handle to the thread. Dropping it lets the thread finish what was asked and joins it.
pub(crate) struct Writer {
    sender: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Most requests in one transaction: bounds how long others wait for the lock.
    const BATCH: usize = 128;

    pub(crate) fn start(
        connection: Connection,
        on_commit: PublishHead,
    ) -> Result<Self, StoreError> {
        let (sender, receiver) = channel::<Request>();
        let thread = std::thread::Builder::new()
            .name("guardian-store".to_owned())
            .spawn(move || serve(connection, &receiver, &on_commit))
            .map_err(|error| StoreError::io("starting the writer thread", &error))?;
        Ok(Self {
            sender: Some(sender),
            thread: Some(thread),
        })
    }

    pub(crate) fn submit<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&mut WriteContext<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Pending<T> {
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
        let sent = self
            .sender
            .as_ref()
            .is_some_and(|sender| sender.send(Request { durability, work }).is_ok());
        if sent {
            Pending(receiver)
        } else {
            Pending::failed(StoreError::Closed)
        }
    }
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

fn serve(connection: Connection, requests: &Receiver<Request>, on_commit: &dyn Fn(&Head)) {
    let mut in_force = None;
    while let Ok(first) = requests.recv() {
        let mut batch = vec![first];
        while batch.len() < Writer::BATCH
            && let Ok(next) = requests.try_recv()
        {
            batch.push(next);
        }
        let wanted = batch
            .iter()
            .map(|request| request.durability)
            .max()
            .unwrap_or(Durability::Machine);
        run_batch(&connection, batch, wanted, &mut in_force, on_commit);
    }
}

fn run_batch(
    connection: &Connection,
    batch: Vec<Request>,
    durability: Durability,
    in_force: &mut Option<Durability>,
    on_commit: &dyn Fn(&Head),
) {
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
        return;
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
    for (outcome, finish) in finishes {
        finish(outcome.and(committed.clone()));
    }
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
