//! Every promise of the confinement, attacked from inside.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use guardian_tools::bash::sandbox::{
    Confinement, NetworkAccess, SandboxLists, SandboxMechanism, SandboxRequest, SandboxSetting,
};
use guardian_tools::bash::{BashResult, Ownership, run_bash_blocking};

use super::world::{World, request, supervisor};

fn mechanism() -> Arc<SandboxMechanism> {
    static PROBED: std::sync::OnceLock<Arc<SandboxMechanism>> = std::sync::OnceLock::new();
    PROBED
        .get_or_init(|| Arc::new(SandboxMechanism::probe()))
        .clone()
}

/// A world with a repository, secrets and a confined context; `None` (and a word) where there is
/// no bubblewrap.
fn confined() -> Option<World> {
    if !mechanism().is_available() {
        eprintln!(
            "no bubblewrap here: {:?}; the confinement is not tested",
            mechanism()
        );
        return None;
    }
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
        read_only: lists.protected(&workspace),
        mechanism: mechanism(),
    };
    Some(world)
}

fn run(world: &World, command: &str) -> BashResult {
    run_bash_blocking(&request(command, Duration::from_secs(30)), &world.context).unwrap()
}

#[test]
fn the_workspace_scratch_tmp_and_caches_can_be_written() {
    let Some(world) = confined() else { return };
    let home = world.path().canonicalize().unwrap();
    let result = run(
        &world,
        &format!(
            "set -e; echo two > file; mkdir -p src; echo x > src/a; echo x > {s}/note; \
             echo x > {h}/.cache/new; echo x > /tmp/private; git add -A; \
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
    assert_eq!(result.ownership, Ownership::PidNamespace);
    let json = result.to_json();
    assert_eq!(json["sandbox"]["mechanism"], "bubblewrap");
    assert_eq!(json["sandbox"]["network"], false);
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

/// Attacks that must leave `home` as it was. `H` is the home, `W` the workspace.
const ATTACKS: &[(&str, &str)] = &[
    ("write outside", "echo evil > H/elsewhere/file"),
    ("create outside", "echo evil > H/elsewhere/new"),
    ("delete outside", "rm -rf H/elsewhere"),
    ("write a shell rc file", "echo evil >> H/.bashrc"),
    ("write guardian's data", "echo evil > H/data/store.db"),
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
        "remount",
        "mount -o remount,rw / ; mount -o remount,rw,bind H; echo evil > H/elsewhere/file",
    ),
    (
        "remount in namespaces of its own",
        "unshare -Urm bash -c 'mount -o remount,rw,bind /; mount -o remount,rw,bind H/elsewhere; \
         umount -l W/.git/config; echo evil > H/elsewhere/file; echo evil > W/.git/config'",
    ),
    (
        "unmount a mask",
        "umount -l H/.ssh; umount -l W/.git/hooks; echo evil > .git/hooks/x",
    ),
    (
        "the old root",
        "echo evil > /proc/1/root/../H/elsewhere/file; ls /oldroot",
    ),
    (
        "a device",
        "mknod H/elsewhere/dev b 8 0; mknod dev b 8 0 && echo evil > dev",
    ),
    // Only asked, never tried: the test must not change the machine if it gets through.
    (
        "kernel settings",
        "[ -w /proc/sys/kernel/core_pattern ] && echo PATH=written",
    ),
    (
        "a cgroup",
        "mkdir /sys/fs/cgroup/evil /sys/fs/cgroup/unified/evil",
    ),
    ("kill outside", "kill -9 TARGET"),
    (
        "trace outside",
        "cat /proc/TARGET/environ; strace -p TARGET -o W/evil",
    ),
];

#[test]
fn nothing_outside_can_be_changed() {
    let Some(world) = confined() else { return };
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
        let config = std::fs::read_to_string(home.join("proj/.git/config")).unwrap();
        assert!(!config.contains("evil"), "{name}");
    };
    for (name, attack) in ATTACKS {
        let attack = attack
            .replace('H', home.to_str().unwrap())
            .replace('W', world.context.workspace_path.to_str().unwrap())
            .replace("TARGET", &target.id().to_string());
        let result = run(&world, &attack);
        untouched(name);
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
    let Some(world) = confined() else { return };
    let home = world.path().canonicalize().unwrap();
    let result = run(
        &world,
        &format!(
            "cat .env; cat {h}/.ssh/id_ed25519; ls {h}/.ssh; cat {h}/data/store.db; ls {h}/data; \
             cat /etc/shadow | head -1; grep -r SECRET . ; echo end",
            h = home.display()
        ),
    );
    assert_eq!(
        result.stdout.text, "scratch\nend\n",
        "{}",
        result.stderr.text
    );
}

#[test]
fn the_network_and_sockets_of_the_host_are_out_of_reach() {
    use std::os::linux::net::SocketAddrExt;
    let Some(mut world) = confined() else { return };
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let name = format!("guardian-test-{port}");
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let _abstract = UnixListener::bind_addr(&address).unwrap();
    let attempt = format!(
        "(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo tcp; \
         python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); s.connect('\\0{name}'); \
         print('abstract')\" 2>/dev/null; echo end"
    );
    let result = run(&world, &attempt);
    assert_eq!(result.stdout.text, "end\n");
    world.context.sandbox.network = NetworkAccess::On;
    assert!(run(&world, &attempt).stdout.text.starts_with("tcp\n"));
}

#[test]
fn a_failure_that_looks_like_the_confinement_is_said() {
    let Some(world) = confined() else { return };
    let result = run(&world, "echo x > /usr/local/x");
    assert_eq!(result.to_json()["sandboxSuspected"], true, "{result:?}");
    let result = run(&world, "exit 3");
    assert_eq!(result.to_json().get("sandboxSuspected"), None);
    assert_eq!(result.to_json()["exitCode"], 3);
}

#[test]
fn a_confined_command_leaves_nothing_behind_either() {
    let Some(world) = confined() else { return };
    let result = run(&world, "setsid sleep 1234567 & disown; echo up");
    assert_eq!(result.stdout.text, "up\n");
    let alive = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read(entry.path().join("cmdline"))
            .is_ok_and(|line| line == b"sleep\x001234567\x00")
    });
    assert!(!alive);
}

#[test]
fn a_workspace_that_was_replaced_is_not_confined_by_the_old_paths() {
    let Some(world) = confined() else { return };
    let home = world.path().canonicalize().unwrap();
    std::fs::rename(&world.context.workspace_path, home.join("moved")).unwrap();
    std::fs::create_dir(&world.context.workspace_path).unwrap();
    let error = run_bash_blocking(&request("ls", Duration::from_secs(5)), &world.context);
    assert_eq!(error.unwrap_err().code(), "STALE_APPROVAL");
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
