//! Background jobs live as long as their session, and no longer.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use guardian_tools::bash::{Abort, BashRequest, Jobs};

use super::world::{World, supervisor};

fn job(command: &str) -> BashRequest {
    BashRequest {
        command: command.to_owned(),
        timeout: None,
        tool_call_id: "job-call".to_owned(),
    }
}

fn world() -> World {
    let mut world = World::new();
    world.context.supervisor = Some(supervisor());
    world
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < give_up, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_job_runs_on_can_be_looked_at_and_killed() {
    let world = world();
    let jobs = Jobs::new();
    let (over, is_over) = mpsc::channel();
    let command = "echo up; (setsid sleep 1000 &); sleep 1000";
    let id = jobs
        .start("s1", job(command), world.context.clone(), move || {
            over.send(()).unwrap()
        })
        .unwrap();
    wait_until("output", || {
        jobs.output("s1", &id).unwrap()["stdout"] == "up\n"
    });
    assert_eq!(jobs.running("s1"), 1);
    assert_eq!(jobs.list("s1")["jobs"][0]["status"], "running");
    assert!(is_over.try_recv().is_err());
    let killed = jobs.kill("s1", &id).unwrap();
    assert_eq!(killed["status"], "ended");
    assert_eq!(killed["stdout"], "up\n");
    is_over.recv_timeout(Duration::from_secs(5)).unwrap();
    assert_eq!(jobs.running("s1"), 0);
    assert_eq!(jobs.kill("s1", &id).unwrap()["status"], "ended");
}

#[test]
fn a_job_that_ends_keeps_its_result() {
    let world = world();
    let jobs = Jobs::new();
    let id = jobs
        .start("s1", job("echo done; exit 4"), world.context.clone(), || {})
        .unwrap();
    wait_until("end", || {
        jobs.output("s1", &id).unwrap()["status"] == "ended"
    });
    let view = jobs.output("s1", &id).unwrap();
    assert_eq!(
        (&view["exitCode"], &view["stdout"]),
        (&4.into(), &"done\n".into())
    );
}

#[test]
fn a_job_belongs_to_its_session_and_ends_with_it() {
    let world = world();
    let jobs = Jobs::new();
    let start = |session: &str| {
        let mut context = world.context.clone();
        context.abort = Abort::new().unwrap();
        jobs.start(session, job("sleep 1000"), context, || {})
            .unwrap()
    };
    let (one, two) = (start("s1"), start("s2"));
    assert!(
        jobs.output("s2", &one)
            .unwrap_err()
            .to_string()
            .contains(&two)
    );
    assert!(jobs.kill("s2", &one).is_err());
    jobs.end_session("s1");
    assert!(jobs.output("s1", &one).is_err());
    assert_eq!((jobs.running("s1"), jobs.running("s2")), (0, 1));
    jobs.end_all();
    assert_eq!(jobs.running("s2"), 0);
}
