//! Starts a small storm that ignores `TERM`, and ends all of it.

use std::process::Command;
use std::time::{Duration, Instant};

use guardian_supervisor::{ByMarker, Sweep};

#[expect(
    clippy::print_stdout,
    reason = "showing the result is what the example is for"
)]
fn main() -> std::io::Result<()> {
    let mut shell = Command::new("bash")
        .args([
            "-c",
            "trap '' TERM; for i in {1..50}; do sleep 60 & done; wait",
        ])
        .env("GUARDIAN_EXAMPLE", "storm")
        .spawn()?;
    let census = ByMarker {
        entry: b"GUARDIAN_EXAMPLE=storm".to_vec(),
        group: None,
        session: None,
    };
    let mut sweep = Sweep::new(census);
    sweep.terminate();
    let start = Instant::now();
    let left = sweep.kill_all(start + Duration::from_secs(5), || {
        let _ = shell.try_wait();
    });
    println!("{} left after {:?}", left.len(), start.elapsed());
    shell.wait().map(drop)
}
