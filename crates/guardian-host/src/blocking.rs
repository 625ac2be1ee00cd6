//! Where what blocks is run.
//!
//! Reading a file, opening a target and asking the store take microseconds; handing each of them to
//! another thread and waking up again takes more than the work itself, and a call does a dozen. So a
//! call is driven by a thread of its own ([`on_own_thread`]), on which [`blocking`] simply runs what
//! it is given. Elsewhere [`blocking`] hands it to a thread for blocking work: nothing blocks a
//! thread that serves others.

use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::error::HostError;

/// Calls that have threads of their own at once. A call may wait for minutes (a card, a command),
/// and the threads for blocking work are bounded: those beyond it are driven like any other task.
const OWN_THREADS: usize = 64;

static TAKEN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// This thread serves one call and nobody else.
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// What was run panicked, or the runtime is at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the work met a fault")]
pub(crate) struct Fault;

/// Runs `work`, which may block.
///
/// # Errors
/// It panicked, or the runtime is at its end.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    if IS_OWN.get() {
        // The same as on a thread for blocking work: a panic ends the work, not the host.
        return catch_unwind(AssertUnwindSafe(work)).map_err(|_| Fault);
    }
    tokio::task::spawn_blocking(work).await.map_err(|_| Fault)
}

/// Drives a call on a thread of its own, if one is free: from now on, not from when the future is
/// first polled, so that nobody has to wake up in between. Dropping the future that this returns
/// drops the call.
///
/// # Errors
/// The call's, or `INTERNAL` when it panicked.
pub(crate) fn on_own_thread<T: Send + 'static>(
    call: impl Future<Output = Result<T, HostError>> + Send + 'static,
) -> impl Future<Output = Result<T, HostError>> + Send + 'static {
    let begun = begin(call);
    async move {
        match begun {
            Begun::Here(call) => call.await,
            Begun::Elsewhere { driven, waiting } => {
                let driven = driven.await;
                drop(waiting);
                match driven {
                    Ok(Some(result)) => result,
                    Ok(None) | Err(_) => Err(HostError::internal("the call met a fault")),
                }
            }
        }
    }
}

/// Where a call is driven.
enum Begun<C, T> {
    /// By whoever polls it.
    Here(C),
    /// By its own thread.
    Elsewhere {
        driven: JoinHandle<Option<Result<T, HostError>>>,
        /// Held until the waiting future ends, or is dropped.
        waiting: oneshot::Sender<()>,
    },
}

fn begin<T: Send + 'static, C>(call: C) -> Begun<C, T>
where
    C: Future<Output = Result<T, HostError>> + Send + 'static,
{
    // A runtime of one thread drives timers and input only from that thread, which would have to
    // wake up for each of them anyway; and a paused clock (in tests) stands while a thread works.
    let runtime = Handle::try_current()
        .ok()
        .filter(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    let Some((runtime, place)) = runtime.and_then(|runtime| Some((runtime, Place::take()?))) else {
        return Begun::Here(call);
    };
    let (waiting, abandoned) = oneshot::channel::<()>();
    let on = runtime.clone();
    let driven = on.spawn_blocking(move || {
        let _place = place;
        let _own = Own::begin();
        runtime.block_on(async move {
            tokio::select! {
                biased;
                result = call => Some(result),
                _ = abandoned => None,
            }
        })
    });
    Begun::Elsewhere { driven, waiting }
}

/// One of the threads.
struct Place;

impl Place {
    fn take() -> Option<Self> {
        let next = |taken: usize| (taken < OWN_THREADS).then(|| taken + 1);
        match TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(_) => Some(Self),
            Err(_) => None,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        TAKEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Marks the thread, which serves others afterwards.
struct Own;

impl Own {
    fn begin() -> Self {
        IS_OWN.set(true);
        Self
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        IS_OWN.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_call_does_its_blocking_work_on_one_thread() {
        let threads = on_own_thread(async {
            let first = blocking(|| thread::current().id()).await;
            tokio::task::yield_now().await;
            let second = blocking(|| thread::current().id()).await;
            Ok((first, second, thread::current().id()))
        })
        .await
        .unwrap();
        assert_eq!(threads.0, Ok(threads.2));
        assert_eq!(threads.1, Ok(threads.2));
    }

    #[tokio::test]
    async fn blocking_work_elsewhere_leaves_the_thread_alone() {
        let other = blocking(|| thread::current().id()).await.unwrap();
        assert_ne!(other, thread::current().id());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_panic_of_the_work_is_a_fault_of_the_call() {
        let result = on_own_thread(async {
            let fault = blocking(|| -> () { panic!("on purpose") }).await;
            Ok(fault)
        })
        .await;
        assert_eq!(result.unwrap(), Err(Fault));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_call_that_nobody_waits_for_any_more_is_dropped() {
        let held = Arc::new(());
        let (begun, has_begun) = oneshot::channel();
        let kept = Arc::clone(&held);
        let call = tokio::spawn(on_own_thread(async move {
            let _kept = kept;
            let _ = begun.send(());
            std::future::pending::<Result<(), HostError>>().await
        }));
        has_begun.await.unwrap();
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        while Arc::strong_count(&held) > 1 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn more_calls_than_threads_all_go_on() {
        let barrier = Arc::new(tokio::sync::Barrier::new(OWN_THREADS * 2));
        let calls: Vec<_> = (0..OWN_THREADS * 2)
            .map(|number| {
                let barrier = Arc::clone(&barrier);
                tokio::spawn(on_own_thread(async move {
                    barrier.wait().await;
                    blocking(move || number)
                        .await
                        .map_err(|_| HostError::internal("fault"))
                }))
            })
            .collect();
        for (number, call) in calls.into_iter().enumerate() {
            assert_eq!(call.await.unwrap().unwrap(), number);
        }
    }
}
