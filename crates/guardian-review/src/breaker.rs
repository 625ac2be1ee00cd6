//! A breaker: too many failures in a row, or among the last few, and it opens.
//!
//! Pure data, without a clock. The same type watches the denials of automatic reviewers (SPEC §8)
//! and repeated failures of the same repair (SPEC §12.3), each with its own limits.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// When a breaker opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerLimits {
    /// This many failures without a success between them.
    pub consecutive: u32,
    /// Or this many failures …
    pub within: u32,
    /// … among this many last results.
    pub window: usize,
}

impl BreakerLimits {
    /// Denials of automatic reviewers in a turn: 3 in a row, or 10 of the last 50.
    pub const AUTOMATIC_REVIEWERS: Self = Self {
        consecutive: 3,
        within: 10,
        window: 50,
    };
}

/// What a breaker says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BreakerState {
    /// Go on.
    Closed,
    /// Stop.
    Open,
    /// One more may be tried: a failure opens it again, a success closes it.
    HalfOpen,
}

/// A breaker as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerV1 {
    /// Version of this form.
    pub version: u32,
    /// `closed`, `open` or `half-open`.
    pub state: String,
    /// Failures since the last success.
    pub consecutive: u32,
    /// The last results, oldest first: `1` is a failure.
    pub recent: String,
}

/// Counts failures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaker {
    limits: BreakerLimits,
    state: BreakerState,
    consecutive: u32,
    /// The last results, newest last; `true` = failure.
    recent: VecDeque<bool>,
}

impl Breaker {
    /// A closed breaker.
    #[must_use]
    pub fn new(limits: BreakerLimits) -> Self {
        Self {
            limits,
            state: BreakerState::Closed,
            consecutive: 0,
            recent: VecDeque::new(),
        }
    }

    /// What it says now.
    #[must_use]
    pub fn state(&self) -> BreakerState {
        self.state
    }

    /// Failures since the last success.
    #[must_use]
    pub fn consecutive(&self) -> u32 {
        self.consecutive
    }

    /// Counts a failure. For automatic reviewers only a denial is one: errors, timeouts and
    /// abstentions are not recorded at all.
    pub fn record_failure(&mut self) {
        self.consecutive = self.consecutive.saturating_add(1);
        self.remember(true);
        let failures = self.recent.iter().filter(|failure| **failure).count();
        let too_many = self.consecutive >= self.limits.consecutive
            || failures >= usize::try_from(self.limits.within).unwrap_or(usize::MAX);
        if too_many || self.state == BreakerState::HalfOpen {
            self.state = BreakerState::Open;
        }
    }

    /// Counts a success. It closes a half-open breaker and does not close an open one: results
    /// that were under way when it opened prove nothing.
    pub fn record_success(&mut self) {
        self.consecutive = 0;
        self.remember(false);
        if self.state == BreakerState::HalfOpen {
            self.close();
        }
    }

    /// A person answered: an open breaker lets one more through.
    pub fn record_human_answer(&mut self) {
        if self.state == BreakerState::Open {
            self.state = BreakerState::HalfOpen;
        }
    }

    /// Its stored form.
    #[must_use]
    pub fn to_v1(&self) -> BreakerV1 {
        BreakerV1 {
            version: 1,
            state: match self.state {
                BreakerState::Closed => "closed",
                BreakerState::Open => "open",
                BreakerState::HalfOpen => "half-open",
            }
            .to_owned(),
            consecutive: self.consecutive,
            recent: self
                .recent
                .iter()
                .map(|failure| if *failure { '1' } else { '0' })
                .collect(),
        }
    }

    /// The breaker of a stored form; an open one where the form is not understood.
    #[must_use]
    pub fn from_v1(form: &BreakerV1, limits: BreakerLimits) -> Self {
        let state = match (form.version, form.state.as_str()) {
            (1, "closed") => BreakerState::Closed,
            (1, "half-open") => BreakerState::HalfOpen,
            _ => BreakerState::Open,
        };
        let mut breaker = Self {
            limits,
            state,
            consecutive: form.consecutive,
            recent: VecDeque::new(),
        };
        form.recent
            .chars()
            .for_each(|result| breaker.remember(result != '0'));
        breaker
    }

    /// An open breaker: what to take where the stored one cannot be read.
    #[must_use]
    pub fn open(limits: BreakerLimits) -> Self {
        Self {
            state: BreakerState::Open,
            ..Self::new(limits)
        }
    }

    fn close(&mut self) {
        self.state = BreakerState::Closed;
        self.consecutive = 0;
        self.recent.clear();
    }

    fn remember(&mut self, failure: bool) {
        self.recent.push_back(failure);
        while self.recent.len() > self.limits.window {
            self.recent.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaker() -> Breaker {
        Breaker::new(BreakerLimits::AUTOMATIC_REVIEWERS)
    }

    #[test]
    fn three_denials_in_a_row_open_it() {
        let mut breaker = breaker();
        breaker.record_failure();
        breaker.record_failure();
        assert_eq!(breaker.state(), BreakerState::Closed);
        breaker.record_failure();
        assert_eq!(breaker.state(), BreakerState::Open);
    }

    #[test]
    fn an_allow_between_denials_starts_the_row_again() {
        let mut breaker = breaker();
        for _ in 0..4 {
            breaker.record_failure();
            breaker.record_failure();
            breaker.record_success();
        }
        assert_eq!(breaker.state(), BreakerState::Closed);
    }

    #[test]
    fn ten_denials_among_the_last_fifty_open_it() {
        let mut breaker = breaker();
        for _ in 0..9 {
            breaker.record_failure();
            breaker.record_success();
        }
        assert_eq!(breaker.state(), BreakerState::Closed);
        breaker.record_failure();
        assert_eq!(breaker.state(), BreakerState::Open);
    }

    #[test]
    fn denials_older_than_the_window_do_not_count() {
        let mut breaker = breaker();
        for _ in 0..9 {
            breaker.record_failure();
            breaker.record_success();
        }
        for _ in 0..50 {
            breaker.record_success();
        }
        breaker.record_failure();
        assert_eq!(breaker.state(), BreakerState::Closed);
    }

    #[test]
    fn a_success_alone_does_not_close_an_open_breaker() {
        let mut breaker = breaker();
        for _ in 0..3 {
            breaker.record_failure();
        }
        breaker.record_success();
        assert_eq!(breaker.state(), BreakerState::Open);
    }

    #[test]
    fn after_a_human_answer_one_denial_opens_and_one_allow_closes() {
        let mut reopened = breaker();
        for _ in 0..3 {
            reopened.record_failure();
        }
        reopened.record_human_answer();
        assert_eq!(reopened.state(), BreakerState::HalfOpen);
        let mut closed = reopened.clone();
        reopened.record_failure();
        assert_eq!(reopened.state(), BreakerState::Open);
        closed.record_success();
        assert_eq!(closed.state(), BreakerState::Closed);
    }

    #[test]
    fn the_stored_form_loses_nothing_and_what_is_not_understood_is_open() {
        let mut kept = breaker();
        kept.record_failure();
        kept.record_success();
        for _ in 0..4 {
            kept.record_failure();
        }
        kept.record_human_answer();
        let limits = BreakerLimits::AUTOMATIC_REVIEWERS;
        assert_eq!(Breaker::from_v1(&kept.to_v1(), limits), kept);
        let mut unknown = breaker().to_v1();
        unknown.state = "ajar".to_owned();
        assert_eq!(
            Breaker::from_v1(&unknown, limits).state(),
            BreakerState::Open
        );
        unknown = breaker().to_v1();
        unknown.version = 2;
        assert_eq!(
            Breaker::from_v1(&unknown, limits).state(),
            BreakerState::Open
        );
    }

    #[test]
    fn a_human_answer_does_not_touch_a_closed_breaker() {
        let mut breaker = breaker();
        breaker.record_failure();
        breaker.record_human_answer();
        assert_eq!(breaker.state(), BreakerState::Closed);
        assert_eq!(breaker.consecutive(), 1);
    }
}
