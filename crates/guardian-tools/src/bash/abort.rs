//! The way to end a running command from outside.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

/// Ends one command, from any thread, also before it has started. Idempotent.
///
/// Clones are the same signal.
#[derive(Debug, Clone)]
pub struct Abort(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    raised: AtomicBool,
    wake: OwnedFd,
}

impl Abort {
    /// A signal nobody has raised.
    ///
    /// # Errors
    /// The process has no file descriptor left.
    pub fn new() -> std::io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(Shared {
            raised: AtomicBool::new(false),
            wake,
        })))
    }

    /// Ends the command.
    pub fn abort(&self) {
        self.0.raised.store(true, Ordering::SeqCst);
        // Only a counter at its maximum refuses, and then it is readable already.
        let _ = rustix::io::write(&self.0.wake, &1_u64.to_ne_bytes());
    }

    /// Was it raised?
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.0.raised.load(Ordering::SeqCst)
    }

    /// Readable from the moment it is raised, for poll loops.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.wake.as_fd()
    }
}
