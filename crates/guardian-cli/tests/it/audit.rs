//! `guardian audit`: filters, following, timing, and a published head.

use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::host_process::World;

fn guardian(world: &World, arguments: &[&str]) -> Output {
    let mut command = world.guardian();
    command.args(arguments).stdin(Stdio::null());
    command.output().unwrap()
}

fn read(world: &World, name: &str) {
    std::fs::write(world.workspace.join(name), "text\n").unwrap();
    let args = format!(r#"{{"path": "{name}"}}"#);
    let output = guardian(world, &["exec", "Read", &args]);
    assert!(output.status.success(), "{output:?}");
}

fn rows(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn rows_are_filtered_by_call_event_and_time() {
    let world = World::new();
    read(&world, "a.txt");
    let count = |arguments: &[&str]| {
        let mut all = vec!["audit", "--json"];
        all.extend(arguments);
        rows(&guardian(&world, &all)).len()
    };
    assert_eq!(count(&["--event", "call"]), 1);
    assert_eq!(count(&["--event", "grant"]), 0);
    assert_eq!(count(&["--call", "exec-1", "--tool", "Read"]), 1);
    assert_eq!(count(&["--call", "other"]), 0);
    assert_eq!(count(&["--event", "call", "--since", "1h"]), 1);
    assert_eq!(count(&["--until", "2000-01-01"]), 0);
    let wrong = guardian(&world, &["audit", "--since", "yesterday"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
}

#[test]
fn following_shows_a_call_as_it_ends() {
    let world = World::new();
    read(&world, "a.txt");
    // Bounded from outside: a follower that shows nothing must not hold the tests.
    let guardian = world.guardian();
    let mut follower = std::process::Command::new("timeout")
        .arg("120")
        .arg(guardian.get_program())
        .args(["audit", "--follow", "--json", "--event", "call"])
        .env_clear()
        .envs(
            guardian
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert!(
        first["factsSummary"].as_str().unwrap().contains("a.txt"),
        "{first}"
    );
    read(&world, "b.txt");
    let second: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert!(
        second["factsSummary"].as_str().unwrap().contains("b.txt"),
        "{second}"
    );
    // With nobody reading it ends by itself at the next row.
    drop(lines);
    read(&world, "c.txt");
    read(&world, "d.txt");
    assert!(follower.wait().unwrap().success());
}

#[test]
fn timing_says_where_time_went() {
    let world = World::new();
    read(&world, "a.txt");
    let output = guardian(&world, &["audit", "timing", "--json"]);
    let tools: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&tools[0]["tool"], &tools[0]["calls"]),
        (&"Read".into(), &1.into())
    );
    let table = String::from_utf8(guardian(&world, &["audit", "timing"]).stdout).unwrap();
    assert!(
        table.contains("APPROVAL") && table.contains("Read"),
        "{table}"
    );
}

#[test]
fn a_cut_record_does_not_stand_against_the_published_head() {
    let world = World::new();
    let heads = world.outside.join("heads");
    world.write_config(&format!(
        "[audit]\npublishHead = [\"file:{}\"]\n",
        heads.display()
    ));
    read(&world, "a.txt");
    let published = heads.to_str().unwrap();
    let whole = guardian(&world, &["audit", "verify", "--published", published]);
    assert!(whole.status.success(), "{whole:?}");
    let head = String::from_utf8(guardian(&world, &["audit", "head"]).stdout).unwrap();
    let head = head.trim();
    let whole = guardian(&world, &["audit", "verify", "--head", head]);
    assert!(whole.status.success(), "{whole:?}");
    // A record that ends before what was published, as after cutting its tail.
    let (seq, hash) = head.split_once(' ').unwrap();
    let further = format!("{} {hash}", seq.parse::<u64>().unwrap() + 1);
    let cut = guardian(&world, &["audit", "verify", "--head", &further]);
    assert_eq!(cut.status.code(), Some(1), "{cut:?}");
    std::fs::write(&heads, "").unwrap();
    let nothing = guardian(&world, &["audit", "verify", "--published", published]);
    assert_eq!(
        nothing.status.code(),
        Some(2),
        "a file without a head: {nothing:?}"
    );
}
