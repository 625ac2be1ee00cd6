//! Nothing of a finished call is alive: every way to hide, under every way to end, for every
//! mechanism that owns the processes.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use guardian_tools::bash::{BashContext, BashResult, Ownership, run_bash_blocking};

use super::world::{World, example, request, supervisor, supervisor_path};

/// A way to outlive the shell. `LOOP` is a program text that writes to the watched file for ever.
#[derive(Debug, Clone, Copy)]
struct Hiding {
    name: &'static str,
    command: &'static str,
    /// The group and the marker of the environment are enough to find it.
    by_group: bool,
}

const HIDINGS: &[Hiding] = &[
    Hiding {
        name: "background job",
        command: "bash -c 'LOOP' &",
        by_group: true,
    },
    Hiding {
        name: "setsid daemon",
        command: "setsid bash -c 'LOOP' &",
        by_group: true,
    },
    Hiding {
        name: "double fork",
        command: "( (setsid bash -c 'LOOP' > /dev/null 2>&1 < /dev/null &) & )",
        by_group: true,
    },
    Hiding {
        name: "ignores signals",
        command: "bash -c 'trap \"\" TERM HUP INT QUIT; LOOP' &",
        by_group: true,
    },
    Hiding {
        name: "daemon without its environment",
        command: "(setsid env -i PATH=$PATH bash -c 'trap \"\" TERM; LOOP' &)",
        by_group: false,
    },
    Hiding {
        name: "holds the pipe",
        command: "bash -c 'LOOP' & for i in 1 2 3; do sleep 1000 & done",
        by_group: true,
    },
    Hiding {
        name: "stopped",
        command: "bash -c 'LOOP' & for i in 1 2 3; do bash -c 'kill -STOP $$; sleep 1000' & done",
        by_group: true,
    },
    Hiding {
        name: "storm of 500",
        command: "bash -c 'LOOP' & for i in {1..500}; do sleep 1000 & done",
        by_group: true,
    },
    Hiding {
        name: "fork storm",
        command: "bash -c 'trap \"\" TERM; f() { (f) & (f) & wait; }; LOOP & \
                  for i in {1..40}; do (while :; do (:); done) & done; wait' &",
        by_group: true,
    },
];

/// What the mechanism must withstand on top.
const AGAINST_SUPERVISOR: &[Hiding] = &[
    Hiding {
        name: "kills its supervisor",
        command: "setsid bash -c 'LOOP' & sleep 0.05; kill -9 $PPID; sleep 1000",
        by_group: false,
    },
    Hiding {
        name: "sends TERM to its supervisor",
        command: "setsid bash -c 'LOOP' & kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID",
        by_group: false,
    },
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Normally,
    ByTimeout,
    ByAbort,
}

struct Scene {
    world: World,
    watched: std::path::PathBuf,
    mark: String,
}

impl Scene {
    fn new() -> Self {
        let mut world = World::new();
        let watched = world.path().canonicalize().unwrap().join("watched");
        let mark = watched.display().to_string();
        let mut environment = (*world.context.environment).clone();
        environment.insert("TEST_MARK".into(), mark.clone().into());
        world.context.environment = Arc::new(environment);
        Self {
            world,
            watched,
            mark,
        }
    }

    /// The command: hide, wait until the hidden one writes, then end as asked.
    fn command(&self, hiding: &Hiding, ends: Ends) -> String {
        let file = self.watched.display();
        let writes = format!("while :; do echo x >> {file}; sleep 0.02; done");
        let hide = hiding.command.replace("LOOP", &writes);
        let wait = format!("until [ -s {file} ]; do sleep 0.01; done; echo started");
        match ends {
            Ends::Normally => format!("{hide}\n{wait}; exit 7"),
            Ends::ByTimeout | Ends::ByAbort => format!("{hide}\n{wait}; sleep 1000"),
        }
    }

    fn run(&self, hiding: &Hiding, ends: Ends) -> BashResult {
        let timeout = match ends {
            Ends::ByTimeout => Duration::from_millis(1500),
            Ends::Normally | Ends::ByAbort => Duration::from_secs(60),
        };
        let request = request(&self.command(hiding, ends), timeout);
        if ends == Ends::ByAbort {
            let (abort, watched) = (self.world.context.abort.clone(), self.watched.clone());
            std::thread::spawn(move || {
                let give_up = Instant::now() + Duration::from_secs(20);
                while !watched.exists() && Instant::now() < give_up {
                    std::thread::yield_now();
                }
                abort.abort();
            });
        }
        run_bash_blocking(&request, &self.world.context).unwrap()
    }

    #[track_caller]
    fn assert_nobody_left(&self, what: &str) {
        let left = alive(&self.mark);
        assert_eq!(left, Vec::<String>::new(), "{what}");
        let size = |path: &Path| path.metadata().map_or(0, |metadata| metadata.len());
        let before = size(&self.watched);
        std::thread::sleep(Duration::from_millis(60));
        assert_eq!(
            size(&self.watched),
            before,
            "{what}: written to after the end"
        );
    }
}

/// Every process with the mark in its environment or arguments, except ourselves.
fn alive(mark: &str) -> Vec<String> {
    let holds = |bytes: &[u8]| {
        bytes
            .windows(mark.len())
            .any(|window| window == mark.as_bytes())
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        if pid == std::process::id() {
            continue;
        }
        let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        if holds(&read("environ")) || holds(&read("cmdline")) {
            found.push(String::from_utf8_lossy(&read("cmdline")).replace('\0', " "));
        }
    }
    found
}

/// The whole table takes half a minute: `cargo xtask e2e` sets the variable. Otherwise the normal
/// end is tested, and the other two for the first way to hide.
fn whole_table() -> bool {
    std::env::var_os("GUARDIAN_E2E").is_some()
}

fn check_all(hidings: &[Hiding], prepare: impl Fn(&mut BashContext), expect: Ownership) {
    for (row, hiding) in hidings.iter().enumerate() {
        for ends in [Ends::Normally, Ends::ByTimeout, Ends::ByAbort] {
            if !whole_table() && row > 0 && ends != Ends::Normally {
                continue;
            }
            let what = format!("{} / {ends:?} / {expect:?}", hiding.name);
            let mut scene = Scene::new();
            prepare(&mut scene.world.context);
            let start = Instant::now();
            let result = scene.run(hiding, ends);
            scene.assert_nobody_left(&what);
            assert!(
                scene.watched.exists(),
                "{what}: the hidden process never ran"
            );
            assert_eq!(result.survivors, [], "{what}");
            assert!(
                start.elapsed() < Duration::from_secs(15),
                "{what}: {:?}",
                start.elapsed()
            );
            if hiding.name != "kills its supervisor" {
                assert_eq!(result.ownership, expect, "{what}");
                if ends == Ends::Normally {
                    assert_eq!(result.stdout.text, "started\n", "{what}");
                    assert_eq!(result.to_json()["exitCode"], 7, "{what}");
                    // When its shell ends, the kernel hangs up on a group with stopped members:
                    // perhaps nobody is left to be ended.
                    assert!(
                        result.background_count > 0 || hiding.name == "stopped",
                        "{what}"
                    );
                }
            }
        }
    }
}

#[test]
fn nothing_survives_the_process_group() {
    let hidings: Vec<Hiding> = HIDINGS
        .iter()
        .filter(|hiding| hiding.by_group)
        .copied()
        .collect();
    check_all(&hidings, |_| {}, Ownership::Group);
}

#[test]
fn nothing_survives_the_subreaper() {
    let prepare = |context: &mut BashContext| context.supervisor = Some(supervisor());
    check_all(HIDINGS, prepare, Ownership::Subreaper);
    check_all(AGAINST_SUPERVISOR, prepare, Ownership::Subreaper);
}

#[test]
fn nothing_survives_the_cgroup() {
    let program = guardian_tools::bash::SupervisorProgram::open(&supervisor_path(), None)
        .unwrap()
        .with_cgroups();
    if !program.uses_cgroups() {
        // Said, not skipped in silence: the machine has no cgroup v2 that we may use.
        eprintln!("no usable cgroup v2 here: the cgroup mechanism is not tested");
        return;
    }
    let program = Arc::new(program);
    let prepare = |context: &mut BashContext| context.supervisor = Some(program.clone());
    check_all(HIDINGS, prepare, Ownership::Cgroup);
    check_all(AGAINST_SUPERVISOR, prepare, Ownership::Cgroup);
    let escape = Hiding {
        name: "kills its supervisor",
        command: "setsid env -i PATH=$PATH bash -c 'LOOP' & sleep 0.05; kill -9 $PPID; sleep 1000",
        by_group: false,
    };
    check_all(&[escape], prepare, Ownership::Cgroup);
}

#[test]
fn nothing_survives_a_killed_host() {
    let program = example("guardian-tools", "run_command");
    for hiding in HIDINGS {
        let scene = Scene::new();
        let mut host = Command::new(&program)
            .arg(scene.command(hiding, Ends::ByAbort))
            .env_clear()
            .envs(&*scene.world.context.environment)
            .env_remove("TEST_MARK")
            .env("GUARDIAN_SUPERVISOR", supervisor_path())
            .current_dir(&scene.world.context.workspace_path)
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let give_up = Instant::now() + Duration::from_secs(20);
        while !scene.watched.exists() && Instant::now() < give_up {
            std::thread::sleep(Duration::from_millis(5));
        }
        host.kill().unwrap();
        host.wait().unwrap();
        let give_up = Instant::now() + Duration::from_secs(10);
        while !alive(&scene.mark).is_empty() && Instant::now() < give_up {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(scene.watched.exists(), "{}", hiding.name);
        scene.assert_nobody_left(hiding.name);
    }
}
