//! Measures the file tools of a real host over stdio against their floors (SPEC §18).
//!
//! `cargo xtask bench files [-- FILES ROUNDS [PART…]]`; parts are `read write walks registry
//! health`. Defaults: 20 000 generated files, 9 rounds, all parts. Needs `rg` and `fd`/`fdfind` for
//! the walks; what is missing is said.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement shows its result, and has nothing to say when it cannot be made"
)]

mod floor;
mod health;
mod host;
mod walks;

use std::path::{Path, PathBuf};
use std::time::Duration;

use guardian_testkit::measure::{Contest, timed};
use serde_json::json;

use floor::{Answerer, write_like_an_edit};
use host::Host;

/// Where the measurement works.
struct World {
    top: PathBuf,
    work: PathBuf,
    files: usize,
    rounds: usize,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == floor::ANSWER) {
        return floor::answer();
    }
    let number = |index: usize, default: usize| {
        arguments
            .get(index)
            .map_or(default, |text| text.parse().unwrap())
    };
    let parts = arguments.get(2..).unwrap_or_default();
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);

    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    let world = World {
        work: top.join("work"),
        files: number(0, 20_000),
        rounds: number(1, 9),
        top,
    };
    std::fs::create_dir_all(&world.work).unwrap();
    let mut host = Host::start(&world.top.join("data"));
    host.create_session("s", &world.work);
    if wanted("read") {
        reads(&world, &mut host);
    }
    if wanted("write") {
        changes(&world, &mut host);
    }
    if wanted("walks") || wanted("health") {
        walks::generate(&world.work, world.files);
    }
    if wanted("walks") {
        let what = format!("{} generated files", world.files);
        walks::greps(
            &mut host,
            "s",
            &world.work,
            &what,
            world.rounds,
            &walks::GENERATED,
        );
        walks::globs(&mut host, "s", &world.work, &what, world.rounds, "*7.ts");
        walks::cancellation(&mut host, "s", world.rounds);
    }
    if wanted("health") {
        health::measure(&mut host, &world.work);
    }
    if wanted("registry") {
        registry(&world, &mut host);
    }
    host.end();
}

/// The sources of the crates that this machine has downloaded.
fn registry(world: &World, host: &mut Host) {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")));
    let Some(sources) = home
        .map(|home| home.join("registry/src"))
        .filter(|at| at.is_dir())
    else {
        println!("NOT MEASURED: there are no sources of the registry here");
        return;
    };
    host.create_session("registry", &sources);
    let what = "the sources of the registry";
    walks::greps(
        host,
        "registry",
        &sources,
        what,
        world.rounds,
        &walks::REGISTRY,
    );
    walks::globs(host, "registry", &sources, what, world.rounds, "*_test.rs");
}

fn reads(world: &World, host: &mut Host) {
    let body = "some text of a source file\n".repeat(32 * 1024 / 27);
    let small = world.work.join("small.txt");
    std::fs::write(&small, &body).unwrap();
    let mut answerer = Answerer::start();
    let report = Contest::new(
        "Read of 32 KiB over stdio",
        "pipe round trip + open + read + hash + JSON",
        || timed(|| answerer.ask(&small)),
    )
    .against("Read", Some(2.0), || {
        timed(|| host.tool("s", "Read", &json!({"path": "small.txt"})))
    })
    .run(world.rounds * 50);
    print!("{report}");
    drop(answerer);

    let big = world.work.join("big.txt");
    let text: String = (0..1_000_000)
        .map(|number| format!("{number:08} {}\n", "y".repeat(90)))
        .collect();
    std::fs::write(&big, text).unwrap();
    let report = Contest::new(
        "Read at line 900 000 of 100 MB",
        "reading 90 MB in pieces",
        || timed(|| floor::read_pieces(&big, 90_000_000)),
    )
    .against("Read", None, || {
        timed(|| host.tool("s", "Read", &json!({"path": "big.txt", "offset": 900_000})))
    })
    .run(world.rounds);
    print!("{report}");
    std::fs::remove_file(big).unwrap();
}

fn changes(world: &World, host: &mut Host) {
    let body = "some text of a source file\n".repeat(32 * 1024 / 27);
    let floor_directory = world.top.join("floor");
    std::fs::create_dir_all(&floor_directory).unwrap();
    std::fs::write(world.work.join("w.txt"), &body).unwrap();
    std::fs::write(world.work.join("e.txt"), format!("count 0\n{body}")).unwrap();
    host.tool("s", "Read", &json!({"path": "w.txt"}));
    let host = std::cell::RefCell::new(host);
    let (mut writes, mut edits) = (0_u64, 0_u64);
    let report = Contest::new(
        "change of 32 KiB over stdio",
        "copy + temp + fdatasync + rename + commit",
        || timed(|| write_like_an_edit(&floor_directory, body.as_bytes())),
    )
    .against("Write", Some(1.5), || {
        writes += 1;
        let content = format!("{writes}\n{body}");
        let args = json!({"path": "w.txt", "content": content});
        timed(|| host.borrow_mut().tool("s", "Write", &args))
    })
    .against("Edit", Some(1.5), || {
        let (old, new) = (format!("count {edits}\n"), format!("count {}\n", edits + 1));
        edits += 1;
        let args = json!({"path": "e.txt", "old_string": old, "new_string": new});
        timed(|| host.borrow_mut().tool("s", "Edit", &args))
    })
    .run(world.rounds * 10);
    print!("{report}");

    let lines: String = (0..100_000)
        .map(|number| format!("line number {number} of the file\n"))
        .collect();
    std::fs::write(world.work.join("lines.txt"), &lines).unwrap();
    let mut count = 0;
    let report = Contest::new(
        "one-line Edit in 100 000 lines, with its hunk",
        "copy + temp + fdatasync + rename + commit",
        || timed(|| write_like_an_edit(&floor_directory, lines.as_bytes())),
    )
    .against("Edit", None, || {
        let marks = |count: usize| format!("number 50000{} of", "x".repeat(count));
        let args = json!({
            "path": "lines.txt", "old_string": marks(count), "new_string": marks(count + 1),
        });
        count += 1;
        timed(|| host.borrow_mut().tool("s", "Edit", &args))
    })
    .run(world.rounds);
    print!("{report}");
    let over = report.figures[1]
        .median
        .saturating_sub(report.figures[0].median);
    verdict("  over the write", over, Duration::from_millis(15));
    std::fs::remove_file(world.work.join("lines.txt")).unwrap();
}

/// Prints a time with its goal.
fn verdict(what: &str, time: Duration, goal: Duration) {
    let word = if time <= goal { "met" } else { "MISSED" };
    println!("{what:<46} {time:>12.2?}  goal {goal:?}  {word}");
}
