//! Every promise of the confinement, attacked from inside.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use guardian_tools::bash::sandbox::{
    Confinement, NetworkAccess, SandboxLists, SandboxMechanism, SandboxRequest, SandboxSetting,
};
use guardian_tools::bash::{BashResult, Ownership, run_bash_blocking};

use super::world::{World, request, supervisor};

/// Every mechanism that works here. Those that do not are said, not skipped in silence.
fn mechanisms() -> Vec<Arc<SandboxMechanism>> {
    static PROBED: std::sync::OnceLock<Vec<Arc<SandboxMechanism>>> = std::sync::OnceLock::new();
    PROBED
        .get_or_init(|| {
            let supervisor = supervisor();
            let best = SandboxMechanism::probe(Some(&supervisor));
            let mut found = Vec::new();
            match best {
                SandboxMechanism::Bubblewrap { .. } => found.push(Arc::new(best)),
                other => eprintln!("no bubblewrap here: {other:?}; it is not tested"),
            }
            match supervisor.landlock() {
                0 => eprintln!("no Landlock here; it is not tested"),
                kernel => found.push(Arc::new(SandboxMechanism::Landlock { kernel })),
            }
            found
        })
        .clone()
}

fn is_landlock(world: &World) -> bool {
    matches!(
        *world.context.sandbox.mechanism,
        SandboxMechanism::Landlock { .. }
    )
}

/// For each mechanism a world with a repository, secrets and a confined context.
fn confined() -> Vec<World> {
    mechanisms().into_iter().map(confined_by).collect()
}

fn confined_by(mechanism: Arc<SandboxMechanism>) -> World {
    let mut world = World::new();
    let home = world.path().canonicalize().unwrap();
    let workspace = world.context.workspace_path.clone();
    assert_eq!(
        world
            .run("git init -q . && echo one > file && echo .env > .gitignore")
            .error_code(),
        None
    );
    for (path, text) in [
        ("proj/.env", "SECRET=1"),
        ("proj/.vscode/settings.json", "{}"),
        ("proj/.claude/settings.json", "{}"),
        (".ssh/id_ed25519", "KEY"),
        (".ssh/config", "Host x"),
        ("elsewhere/file", "outside"),
        ("data/store.db", "guardian"),
        (".cache/kept", "x"),
    ] {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    world.context.scratch = home.join("data/scratch/s1");
    let lists = SandboxLists::builtin().unwrap();
    let mut masked = lists.masked(&home);
    masked.push(workspace.join(".env"));
    masked.push(home.join("data"));
    world.context.supervisor = Some(supervisor());
    world.context.sandbox = SandboxRequest {
        setting: SandboxSetting::Auto,
        confinement: Confinement::Wanted,
        network: NetworkAccess::Off,
        writable: lists.caches(&home),
        masked,
        named: Vec::new(),
        gaps: Vec::new(),
        read_only: lists.protected(&workspace),
        mechanism,
    };
    world
}

fn run(world: &World, command: &str) -> BashResult {
    run_bash_blocking(&request(command, Duration::from_secs(30)), &world.context).unwrap()
}

#[test]
fn the_workspace_scratch_tmp_and_caches_can_be_written() {
    for world in confined() {
        let home = world.path().canonicalize().unwrap();
        let result = run(
            &world,
            &format!(
                "set -e; echo two > file; mkdir -p src; echo x > src/a; echo x > {s}/note; \
                 echo x > {h}/.cache/new; echo x > ${{TMPDIR:-/tmp}}/private; git add -A; \
                 git -c user.name=a -c user.email=a@b commit -qm one; git status --short; pwd",
                s = world.context.scratch.display(),
                h = home.display(),
            ),
        );
        assert_eq!(result.error_code(), None, "{result:?}");
        assert_eq!(
            result.stdout.text,
            format!("{}\n", world.context.workspace_path.display())
        );
        let json = result.to_json();
        // The confinement's own helper is nobody's background job.
        assert_eq!(json.get("backgroundKilled"), None, "{json}");
        let expected = if is_landlock(&world) {
            (Ownership::Subreaper, "landlock")
        } else {
            (Ownership::PidNamespace, "bubblewrap")
        };
        assert_eq!(result.ownership, expected.0);
        assert_eq!(json["sandbox"]["mechanism"], expected.1);
        assert_eq!(json["sandbox"]["network"], false);
        assert_eq!(
            json["sandbox"]["weaknesses"].is_array(),
            is_landlock(&world),
            "{json}"
        );
        let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
        assert_eq!(read(world.context.workspace_path.join("file")), "two\n");
        assert_eq!(read(world.context.scratch.join("note")), "x\n");
        assert_eq!(read(home.join(".cache/new")), "x\n");
        assert!(!std::path::Path::new("/tmp/private").exists());
        // What stood in for missing protected files is gone, and was not committed.
        let committed = run(&world, "git ls-tree -r --name-only HEAD").stdout.text;
        assert_eq!(
            committed,
            ".claude/settings.json\n.gitignore\n.vscode/settings.json\nfile\nsrc/a\n"
        );
        let left: Vec<_> = std::fs::read_dir(&world.context.workspace_path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.contains("rc") && name != "src")
            .collect();
        assert_eq!(left, Vec::<String>::new());
    }
}

/// Attacks that must leave `HOME` as it was, `WORK` being the workspace and `TARGET` a process of
/// the host.
const ATTACKS: &[(&str, &str)] = &[
    ("write outside", "echo evil > HOME/elsewhere/file"),
    (
        "truncate outside",
        "truncate -s 0 HOME/elsewhere/file; : > HOME/elsewhere/file",
    ),
    ("create outside", "echo evil > HOME/elsewhere/new"),
    (
        "link outside",
        "ln WORK/file HOME/elsewhere/new; ln -s WORK HOME/elsewhere/new",
    ),
    (
        "rename outside",
        "echo evil > x; mv -f x HOME/elsewhere/file; mv HOME/elsewhere x",
    ),
    ("delete outside", "rm -rf HOME/elsewhere"),
    (
        "write through a link",
        "ln -s HOME/elsewhere/file way; echo evil > way; ln -s HOME/elsewhere d; echo evil > d/new",
    ),
    ("write a shell rc file", "echo evil >> HOME/.bashrc"),
    ("write guardian's data", "echo evil > HOME/data/store.db"),
    (
        "remount",
        "mount -o remount,rw / ; mount -o remount,rw,bind HOME; echo evil > HOME/elsewhere/file",
    ),
    (
        "remount in namespaces of its own",
        "unshare -Urm bash -c 'mount -o remount,rw,bind /; mount -o remount,rw,bind HOME/elsewhere; \
         umount -l WORK/.git/config; mount -t tmpfs none HOME/elsewhere; \
         echo evil > HOME/elsewhere/file'",
    ),
    (
        "a mount of its own",
        "mkdir m; mount --bind HOME/elsewhere m; mount --bind / m; echo evil > m/file; \
         echo evil > mHOME/elsewhere/file",
    ),
    (
        "the old root",
        "echo evil > /proc/1/root/../HOME/elsewhere/file; ls /oldroot; \
         echo evil > /proc/TARGET/root/HOME/elsewhere/file; \
         echo evil > /proc/TARGET/cwd/evil",
    ),
    (
        "a device",
        "mknod HOME/elsewhere/dev b 8 0; mknod dev b 8 0 && echo evil > dev",
    ),
    // Opened to add to, and nothing is added: the machine stays as it is if this gets through.
    (
        "kernel settings",
        "{ : >> /proc/sys/kernel/core_pattern; } 2> /dev/null && echo PATH=written",
    ),
    (
        "a cgroup",
        "mkdir /sys/fs/cgroup/evil /sys/fs/cgroup/unified/evil && echo PATH=made",
    ),
    ("kill outside", "kill -9 TARGET; kill -STOP TARGET"),
    (
        "trace outside",
        "cat /proc/TARGET/environ; cat /proc/TARGET/mem; strace -p TARGET -o WORK/evil",
    ),
];

/// Attacks on what the workspace itself holds: Landlock cannot hold them, because what lies in a
/// writable tree is writable (docs/threat-model.md says so).
const ATTACKS_INSIDE: &[(&str, &str)] = &[
    (
        "write git's configuration",
        "git config core.fsmonitor evil",
    ),
    (
        "replace git's configuration",
        "mv .git/config x; echo evil > .git/config",
    ),
    ("add a hook", "echo evil > .git/hooks/pre-commit"),
    (
        "move the repository's directory",
        "mv .git g; cp -r g .git; echo evil > .git/config",
    ),
    (
        "move the hooks",
        "mv .git/hooks h; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
    ),
    ("create a protected file", "echo evil > .envrc"),
    (
        "create a protected file in a new directory",
        "mkdir -p .cargo; echo evil > .cargo/config.toml",
    ),
    (
        "rename onto a protected file",
        "echo evil > x; mv -f x .npmrc",
    ),
    ("link a protected file", "ln -sf file .mcp.json"),
    ("write an editor's tasks", "echo evil > .vscode/tasks.json"),
    (
        "move an editor's directory",
        "mv .vscode v; mkdir .vscode; echo evil > .vscode/settings.json",
    ),
    (
        "write another agent's settings",
        "echo evil > .claude/settings.json",
    ),
    (
        "unmount a mask",
        "umount -l HOME/.ssh; umount -l WORK/.git/hooks; echo evil > .git/hooks/x",
    ),
];

#[test]
fn nothing_outside_can_be_changed() {
    for world in confined() {
        attack(&world);
    }
}

fn attack(world: &World) {
    let home = world.path().canonicalize().unwrap();
    let mut target = std::process::Command::new("sleep")
        .arg("120")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let untouched = |name: &str| {
        for (path, text) in [
            ("elsewhere/file", "outside"),
            ("data/store.db", "guardian"),
            ("proj/.vscode/settings.json", "{}"),
            ("proj/.claude/settings.json", "{}"),
        ] {
            assert_eq!(
                std::fs::read_to_string(home.join(path)).unwrap(),
                text,
                "{name}: {path}"
            );
        }
        for path in [
            ".bashrc",
            "elsewhere/new",
            "elsewhere/dev",
            "proj/.envrc",
            "proj/.cargo",
            "proj/.npmrc",
            "proj/.mcp.json",
            "proj/.vscode/tasks.json",
            "proj/.git/hooks/pre-commit",
            "proj/.git/hooks/x",
        ] {
            assert!(
                home.join(path).symlink_metadata().is_err(),
                "{name}: {path} exists"
            );
        }
        assert!(
            home.join("elsewhere").is_dir(),
            "{name}: a directory outside is gone"
        );
        let config = std::fs::read_to_string(home.join("proj/.git/config")).unwrap();
        assert!(!config.contains("evil"), "{name}");
    };
    let inside = if is_landlock(world) {
        &[]
    } else {
        ATTACKS_INSIDE
    };
    let mechanism = world.context.sandbox.mechanism.name();
    for (name, attack) in ATTACKS.iter().chain(inside) {
        let name = &format!("{name} / {mechanism}");
        let attack = attack
            .replace("HOME", home.to_str().unwrap())
            .replace("WORK", world.context.workspace_path.to_str().unwrap())
            .replace("TARGET", &target.id().to_string());
        let result = run(world, &attack);
        untouched(name);
        let state = std::fs::read_to_string(format!("/proc/{}/stat", target.id())).unwrap();
        assert!(state.contains(") S "), "{name}: {state}");
        assert!(
            target.try_wait().unwrap().is_none(),
            "{name}: a process outside was killed"
        );
        assert!(
            !result.stdout.text.contains("PATH="),
            "{name}: {}",
            result.stdout.text
        );
    }
    target.kill().unwrap();
    target.wait().unwrap();
}

#[test]
fn secrets_look_empty() {
    for world in confined() {
        let home = world.path().canonicalize().unwrap();
        // Landlock shows names, and what lies in the workspace (docs/threat-model.md).
        let (here, names) = if is_landlock(&world) {
            ("true", "true")
        } else {
            ("cat .env; grep -r SECRET .", "ls H/.ssh; ls H/data")
        };
        let command = format!(
            "{here}; {names}; cat H/.ssh/id_ed25519; cat H/data/store.db; \
             cat /etc/shadow | head -1; cp H/.ssh/id_ed25519 stolen; cat stolen; \
             ln H/.ssh/id_ed25519 stolen; cat stolen; ln -s H/.ssh way; cat way/id_ed25519; \
             mv H/.ssh moved; cat moved/id_ed25519; echo end"
        )
        .replace("H/", &format!("{}/", home.display()));
        let result = run(&world, &command);
        let expected = if is_landlock(&world) {
            "end\n"
        } else {
            "scratch\nend\n"
        };
        assert_eq!(result.stdout.text, expected, "{}", result.stderr.text);
    }
}

#[test]
fn what_the_approved_facts_name_can_be_read_and_nothing_beside_it() {
    for mut world in confined() {
        let home = world.path().canonicalize().unwrap();
        world.context.sandbox.named = vec![home.join(".ssh/config")];
        let command = format!(
            "cat {h}/.ssh/config; echo; cat {h}/.ssh/id_ed25519; echo evil > {h}/.ssh/config",
            h = home.display()
        );
        let result = run(&world, &command);
        assert_eq!(result.stdout.text, "Host x\n", "{}", result.stderr.text);
        assert_eq!(
            std::fs::read_to_string(home.join(".ssh/config")).unwrap(),
            "Host x"
        );
    }
}

#[test]
fn the_network_and_sockets_of_the_host_are_out_of_reach() {
    use std::os::linux::net::SocketAddrExt;
    for mut world in confined() {
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let name = format!("guardian-test-{port}");
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
        let _abstract = UnixListener::bind_addr(&address).unwrap();
        let attempt = format!(
            "(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo tcp; \
             python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); s.connect('\\0{name}'); \
             print('abstract')\" 2>/dev/null; \
             python3 -c \"import socket; s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM); \
             s.sendto(b'x', ('127.0.0.1', {port})); s=socket.socket(socket.AF_PACKET, \
             socket.SOCK_RAW); print('raw')\" 2>/dev/null; echo end"
        );
        let result = run(&world, &attempt);
        assert_eq!(result.stdout.text, "end\n");
        world.context.sandbox.network = NetworkAccess::On;
        let with = run(&world, &attempt).stdout.text;
        assert!(with.starts_with("tcp\n"), "{with}");
        assert!(!with.contains("raw"), "{with}");
    }
}

#[test]
fn a_failure_that_looks_like_the_confinement_is_said() {
    for world in confined() {
        let result = run(&world, "echo x > /usr/local/x");
        assert_eq!(result.to_json()["sandboxSuspected"], true, "{result:?}");
        let result = run(&world, "exit 3");
        assert_eq!(result.to_json().get("sandboxSuspected"), None);
        assert_eq!(result.to_json()["exitCode"], 3);
    }
}

#[test]
fn a_confined_command_leaves_nothing_behind_either() {
    for (number, world) in confined().into_iter().enumerate() {
        // A time that no other test sleeps for, also one of another user's run.
        let time = format!("{}{number}", std::process::id());
        let result = run(&world, &format!("setsid sleep 1{time} & disown; echo up"));
        assert_eq!(result.stdout.text, "up\n");
        let line = format!("sleep\x001{time}\x00");
        let alive = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
            std::fs::read(entry.path().join("cmdline")).is_ok_and(|found| found == line.as_bytes())
        });
        assert!(!alive);
    }
}

#[test]
fn a_workspace_that_was_replaced_is_not_confined_by_the_old_paths() {
    for world in confined() {
        let home = world.path().canonicalize().unwrap();
        std::fs::rename(&world.context.workspace_path, home.join("moved")).unwrap();
        std::fs::create_dir(&world.context.workspace_path).unwrap();
        let error = run_bash_blocking(&request("ls", Duration::from_secs(5)), &world.context);
        assert_eq!(error.unwrap_err().code(), "STALE_APPROVAL");
    }
}

#[test]
fn required_without_a_mechanism_is_refused_and_auto_says_so() {
    let mut world = World::new();
    world.context.sandbox = SandboxRequest {
        setting: SandboxSetting::Required,
        ..SandboxRequest::off()
    };
    let error = run_bash_blocking(&request("true", Duration::from_secs(5)), &world.context);
    assert_eq!(error.unwrap_err().code(), "SANDBOX_UNAVAILABLE");
    world.context.sandbox.setting = SandboxSetting::Auto;
    world.context.sandbox.confinement = Confinement::Wanted;
    let result = run(&world, "true");
    assert!(result.to_json()["sandbox"]["reason"].is_string());
    world.context.sandbox.confinement = Confinement::OnlyIfRequired;
    assert_eq!(
        run(&world, "true").to_json()["sandbox"]["mechanism"],
        "none"
    );
}

#[test]
fn a_call_that_needs_the_confinement_does_not_run_without_one() {
    let mut world = World::new();
    world.context.sandbox.confinement = Confinement::Needed;
    for setting in [SandboxSetting::Off, SandboxSetting::Auto] {
        world.context.sandbox.setting = setting;
        let error = run_bash_blocking(&request("true", Duration::from_secs(5)), &world.context);
        assert_eq!(
            error.unwrap_err().code(),
            "SANDBOX_UNAVAILABLE",
            "{setting:?}"
        );
    }
}

#[test]
fn required_refuses_what_the_mechanism_cannot_hold() {
    for mut world in confined() {
        world.context.sandbox.setting = SandboxSetting::Required;
        world.context.sandbox.confinement = Confinement::OnlyIfRequired;
        let required = |world: &World| {
            run_bash_blocking(&request("true", Duration::from_secs(5)), &world.context)
        };
        if is_landlock(&world) {
            let error = required(&world).unwrap_err();
            assert_eq!(error.code(), "SANDBOX_UNAVAILABLE");
            assert!(error.to_string().contains("protected files"), "{error}");
        } else {
            assert_eq!(required(&world).unwrap().error_code(), None);
            world.context.sandbox.gaps = vec!["something was not looked for".to_owned()];
            assert_eq!(required(&world).unwrap_err().code(), "SANDBOX_UNAVAILABLE");
        }
    }
}

/// Landlock names everything around a mask; with a home outside `/tmp` that is the home's entries.
#[test]
fn a_home_is_readable_around_its_secrets_under_landlock() {
    let Some(directory) = outside_temporary_directories() else {
        eprintln!("this user can write to temporary directories only: not tested here");
        return;
    };
    let home = directory.path().canonicalize().unwrap();
    for (path, text) in [
        (".ssh/id_rsa", "KEY"),
        (".config/gh/hosts.yml", "TOKEN"),
        (".config/tool/settings", "plain"),
        ("notes", "plain"),
    ] {
        std::fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
        std::fs::write(home.join(path), text).unwrap();
    }
    for mut world in confined().into_iter().filter(is_landlock) {
        world.context.sandbox.masked = SandboxLists::builtin().unwrap().masked(&home);
        let command = format!(
            "cd {}; cat notes .config/tool/settings; cat .ssh/id_rsa .config/gh/hosts.yml; \
             echo evil > notes; true",
            home.display()
        );
        let result = run(&world, &command);
        assert_eq!(result.stdout.text, "plainplain", "{}", result.stderr.text);
        assert_eq!(
            std::fs::read_to_string(home.join("notes")).unwrap(),
            "plain"
        );
    }
}

/// A directory that a confinement does not mask as a whole, as it does `/tmp`, where a clone may lie.
fn outside_temporary_directories() -> Option<tempfile::TempDir> {
    [env!("CARGO_TARGET_TMPDIR"), "/var/lib", "/srv"]
        .into_iter()
        .filter(|place| {
            let masked = ["/tmp", "/var/tmp", "/run", "/dev"];
            !masked
                .iter()
                .any(|masked| Path::new(place).starts_with(masked))
        })
        .find_map(|place| tempfile::tempdir_in(place).ok())
}

/// Everything in this module once more as a user without rights, where the tests run as root.
#[test]
fn every_promise_holds_for_an_unprivileged_user() {
    use std::os::unix::fs::PermissionsExt;
    const NOBODY: &str = "65534";
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("not root: the other tests of this module are the unprivileged run");
        return;
    }
    // In a place that everybody can enter, unlike a build directory.
    let place = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(0o755))
        .tempdir()
        .unwrap();
    let copy = |from: &std::path::Path, name: &str| {
        let to = place.path().join(name);
        std::fs::copy(from, &to).unwrap();
        std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o755)).unwrap();
        to
    };
    let tests = copy(&std::env::current_exe().unwrap(), "tests");
    let supervisor = copy(&super::world::supervisor_path(), "supervisor");
    let temporary = place.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    std::fs::set_permissions(&temporary, std::fs::Permissions::from_mode(0o1777)).unwrap();
    let output = std::process::Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .arg(tests)
        .args(["bash::sandbox::", "--skip", "every_promise_holds"])
        .env_clear()
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .env("TMPDIR", &temporary)
        .env("HOME", &temporary)
        .env("GUARDIAN_TEST_SUPERVISOR", supervisor)
        .current_dir(place.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("0 failed") && !text.contains(" 0 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
