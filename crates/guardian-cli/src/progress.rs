//! A bar on stderr for work that takes a while; nothing where stderr is no terminal.

use std::time::{Duration, Instant};

use crate::output;

/// Work that is over sooner shows no bar.
const QUIET: Duration = Duration::from_millis(400);
/// Time between two states of the bar.
const STEP: Duration = Duration::from_millis(100);
/// Characters between the brackets.
const WIDTH: u64 = 30;

/// How far a known amount of work is.
pub(crate) struct Progress {
    what: &'static str,
    total: u64,
    done: u64,
    begun: Instant,
    drawn: Option<Instant>,
    visible: bool,
}

impl Progress {
    /// Of `total` units.
    pub(crate) fn new(what: &'static str, total: u64) -> Self {
        Self {
            what,
            total: total.max(1),
            done: 0,
            begun: Instant::now(),
            drawn: None,
            visible: output::stderr_is_terminal(),
        }
    }

    /// So many units more are done.
    pub(crate) fn add(&mut self, units: u64) {
        self.done += units;
        let now = Instant::now();
        let is_due = now.duration_since(self.begun) >= QUIET
            && self
                .drawn
                .is_none_or(|last| now.duration_since(last) >= STEP);
        if self.visible && is_due {
            self.drawn = Some(now);
            output::redraw(&self.bar());
        }
    }

    fn bar(&self) -> String {
        let done = self.done.min(self.total);
        let full = usize::try_from(done * WIDTH / self.total).unwrap_or(0);
        let empty = usize::try_from(WIDTH).unwrap_or(0) - full;
        format!(
            "{} [{}{}] {:3} %",
            self.what,
            "#".repeat(full),
            " ".repeat(empty),
            done * 100 / self.total
        )
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            output::redraw("");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_says_how_far_it_is_and_never_more_than_all() {
        let mut progress = Progress::new("reading", 200);
        progress.visible = false;
        progress.add(100);
        assert_eq!(
            progress.bar(),
            "reading [###############               ]  50 %"
        );
        progress.add(1000);
        assert_eq!(
            progress.bar(),
            "reading [##############################] 100 %"
        );
    }
}
