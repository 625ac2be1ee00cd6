//! Is the host still there while it searches?

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::host::Host;
use crate::verdict;

const SAMPLES: usize = 500;

pub(crate) fn measure(host: &mut Host, work: &Path) {
    let idle = p99((0..SAMPLES).map(|_| ask(host, &mut Vec::new())).collect());
    for session in ["h1", "h2"] {
        host.create_session(session, work);
    }
    let args = json!({"pattern": "no (such|other) line[0-9]{9}"});
    let mut times = Vec::new();
    let mut running: Vec<u64> = Vec::new();
    while times.len() < SAMPLES {
        while running.len() < 8 {
            // At most four calls of one session run at once.
            let session = if running.len().is_multiple_of(2) {
                "h1"
            } else {
                "h2"
            };
            running.push(host.send_tool(session, "Grep", &args));
        }
        times.push(ask(host, &mut running));
    }
    while !running.is_empty() {
        let (id, ok) = host.next_answer();
        assert!(ok);
        running.retain(|call| *call != id);
    }
    println!("app.health, p99 of {SAMPLES}");
    println!("  {:<44} {idle:>12.2?}", "idle");
    verdict(
        "  while 8 Greps run",
        p99(times),
        Duration::from_millis(20).max(idle * 5),
    );
}

/// Asks once; answers of running calls that come meanwhile are taken off the list.
fn ask(host: &mut Host, running: &mut Vec<u64>) -> Duration {
    let start = Instant::now();
    let asked = host.send("app.health", &json!({}));
    loop {
        let (id, ok) = host.next_answer();
        assert!(ok);
        if id == asked {
            return start.elapsed();
        }
        running.retain(|call| *call != id);
    }
}

fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() * 99 / 100]
}
