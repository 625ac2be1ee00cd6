//! 64 sessions with 4 calls in flight each, cards answered at random (issue F): no answer lost or
//! counted twice, reads that wait for no command, memory that stays flat.
//!
//! `cargo xtask bench load [-- SECONDS]`, 60 seconds without a number.

#[path = "../tests/it/load.rs"]
mod load;

use std::time::Duration;

use load::{Plan, run};

#[expect(clippy::print_stdout, reason = "a measurement shows its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = match std::env::args().nth(1) {
        Some(text) => text.parse()?,
        None => 60,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let plan = |sessions, calls_in_flight, seconds| Plan {
        sessions,
        calls_in_flight,
        time: Duration::from_secs(seconds),
    };
    let measure = |plan| -> Result<load::Figures, Box<dyn std::error::Error>> {
        let directory = tempfile::tempdir()?;
        Ok(runtime.block_on(run(&directory.path().canonicalize()?, plan))?)
    };
    let alone = measure(plan(1, 1, 3))?;
    let own = alone.read_percentile(50);
    let figures = measure(plan(64, 4, seconds))?;
    let p99 = figures.read_percentile(99);
    println!(
        "calls {:?}, fewest of a session {}",
        figures.calls, figures.fewest
    );
    println!(
        "cards {}, answered {}, answered twice {}, wrong {}, turned away {}",
        figures.cards,
        figures.answered,
        figures.answered_twice,
        figures.wrong.len(),
        figures.overloaded,
    );
    println!(
        "Read: alone p50 {own:?}; under load p50 {:?}, p99 {p99:?} (goal: own time + 50 ms: {})",
        figures.read_percentile(50),
        if p99 <= own + Duration::from_millis(50) {
            "met"
        } else {
            "MISSED"
        },
    );
    println!(
        "memory {} KiB after a quarter, {} KiB at the end",
        figures.memory.0, figures.memory.1
    );
    if figures.wrong.is_empty() && figures.answered_twice == 0 && figures.cards == figures.answered
    {
        return Ok(());
    }
    for wrong in figures.wrong.iter().take(20) {
        println!("{wrong}");
    }
    Err("an answer was lost, counted twice or not heeded".into())
}
