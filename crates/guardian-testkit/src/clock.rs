//! A wall clock for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where a new clock stands: 2026-01-02 03:04:05 UTC.
const START_MILLIS: u64 = 1_767_323_045_000;

/// A clock that moves only when it is told to. Clones show the same time.
#[derive(Debug, Clone)]
pub struct FakeClock {
    millis: Arc<AtomicU64>,
}

impl Default for FakeClock {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeClock {
    /// A clock that stands at 2026-01-02 03:04:05 UTC.
    #[must_use]
    pub fn new() -> Self {
        Self {
            millis: Arc::new(AtomicU64::new(START_MILLIS)),
        }
    }

    /// Its time.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.unix_millis())
    }

    /// Its time in milliseconds since 1970.
    #[must_use]
    pub fn unix_millis(&self) -> u64 {
        self.millis.load(Ordering::SeqCst)
    }

    /// Moves it.
    pub fn advance(&self, by: Duration) {
        let by = u64::try_from(by.as_millis()).unwrap_or(u64::MAX);
        self.millis.fetch_add(by, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_show_the_same_time() {
        let clock = FakeClock::new();
        let other = clock.clone();
        clock.advance(Duration::from_secs(2));
        assert_eq!(
            other.now(),
            UNIX_EPOCH + Duration::from_millis(START_MILLIS + 2000)
        );
    }
}
