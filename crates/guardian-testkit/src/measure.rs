//! Measurements as ratios to a floor, for the `bench_*` examples behind `cargo xtask bench`.
//!
//! This machine is shared and noisy, so a figure by itself says little. A [`Contest`] runs its
//! contestants in turn, round by round, and reports the median of the ratios *within* each round:
//! what slows a round down slows both of its sides (SPEC §18).

use std::time::{Duration, Instant};

/// What a run does. Returns the time that counts, so that its own set-up can be left out.
pub type Run<'run> = Box<dyn FnMut() -> Duration + 'run>;

/// Contestants that are measured in turn. The first one is the floor of all others.
pub struct Contest<'run> {
    what: String,
    contestants: Vec<Contestant<'run>>,
}

struct Contestant<'run> {
    name: String,
    goal: Option<f64>,
    run: Run<'run>,
}

/// The figures of one contestant.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// The contestant.
    pub name: String,
    /// The median time of a run.
    pub median: Duration,
    /// The median of the ratios to the floor of the same round; 1 for the floor itself.
    pub ratio: f64,
    /// The ratio that SPEC §18 allows, where it names one.
    pub goal: Option<f64>,
}

impl Figures {
    /// True when the ratio is above its goal by more than 5 %, the tolerance of the issues.
    #[must_use]
    pub fn misses_goal(&self) -> bool {
        self.goal.is_some_and(|goal| self.ratio > goal * 1.05)
    }
}

/// Times one run of `work`.
pub fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

impl<'run> Contest<'run> {
    /// A contest about `what`, with its floor.
    pub fn new(
        what: &str,
        floor_name: &str,
        floor: impl FnMut() -> Duration + 'run,
    ) -> Contest<'run> {
        Contest {
            what: what.to_owned(),
            contestants: vec![Contestant {
                name: floor_name.to_owned(),
                goal: None,
                run: Box::new(floor),
            }],
        }
    }

    /// Adds a contestant; `goal` is the largest ratio to the floor that SPEC allows.
    #[must_use]
    pub fn against(
        mut self,
        name: &str,
        goal: Option<f64>,
        run: impl FnMut() -> Duration + 'run,
    ) -> Contest<'run> {
        self.contestants.push(Contestant {
            name: name.to_owned(),
            goal,
            run: Box::new(run),
        });
        self
    }

    /// Runs one round that is not counted, then `rounds`, and returns the figures, floor first.
    ///
    /// # Panics
    ///
    /// When `rounds` is 0.
    #[must_use]
    pub fn run(mut self, rounds: usize) -> Report {
        assert!(rounds > 0, "a contest needs a round");
        let mut times: Vec<Vec<Duration>> = vec![Vec::new(); self.contestants.len()];
        for round in 0..=rounds {
            for (contestant, times) in self.contestants.iter_mut().zip(&mut times) {
                let time = (contestant.run)();
                if round > 0 {
                    times.push(time);
                }
            }
        }
        let floor = times[0].clone();
        let figures = self
            .contestants
            .into_iter()
            .zip(times)
            .map(|(contestant, times)| Figures {
                name: contestant.name,
                ratio: median(
                    times
                        .iter()
                        .zip(&floor)
                        .map(|(time, floor)| time.as_secs_f64() / floor.as_secs_f64().max(1e-9))
                        .collect(),
                ),
                median: Duration::from_secs_f64(median(
                    times.iter().map(Duration::as_secs_f64).collect(),
                )),
                goal: contestant.goal,
            })
            .collect();
        Report {
            what: self.what,
            figures,
        }
    }
}

/// The outcome of a contest; its `Display` is the table that `cargo xtask bench` prints.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What was measured.
    pub what: String,
    /// Floor first.
    pub figures: Vec<Figures>,
}

impl std::fmt::Display for Report {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(out, "{}", self.what)?;
        for figures in &self.figures {
            write!(
                out,
                "  {:<44} {:>12}  {:>6.2} x",
                figures.name,
                readable(figures.median),
                figures.ratio
            )?;
            match figures.goal {
                Some(goal) if figures.misses_goal() => writeln!(out, "  goal {goal} x  MISSED")?,
                Some(goal) => writeln!(out, "  goal {goal} x  met")?,
                None => writeln!(out)?,
            }
        }
        Ok(())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        (values[middle - 1] + values[middle]) / 2.0
    }
}

fn readable(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    if micros < 1000.0 {
        format!("{micros:.1} µs")
    } else if micros < 1e6 {
        format!("{:.2} ms", micros / 1e3)
    } else {
        format!("{:.3} s", micros / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_a_round_and_the_first_round_does_not_count() {
        // A slow second round slows both sides: the ratio stays 2.
        let mut floor = [900, 10, 100, 10].into_iter().map(Duration::from_millis);
        let mut ours = [1, 20, 200, 20].into_iter().map(Duration::from_millis);
        let report = Contest::new("w", "floor", || floor.next().unwrap())
            .against("ours", Some(1.5), || ours.next().unwrap())
            .run(3);
        assert!((report.figures[1].ratio - 2.0).abs() < 1e-9);
        assert!(report.figures[1].misses_goal());
        assert_eq!(report.figures[0].median, Duration::from_millis(10));
        assert!(report.to_string().contains("MISSED"));
    }
}
