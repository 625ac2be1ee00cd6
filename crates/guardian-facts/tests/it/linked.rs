//! Links under well-known names: what they lead to is what they name.

use guardian_facts::{AccessKind, MemoryProbe, Sensitivity, Target};
use serde_json::json;

use crate::world::{WORKSPACE, World};

const PROTECTED: Sensitivity = Sensitivity {
    secret: false,
    sensitive: false,
    protected: true,
    guardian: false,
};

/// A workspace with these links (name, target), on top of some ordinary files.
fn with_links(links: &[(&str, &str)]) -> World {
    let w = |path: &str| format!("{WORKSPACE}/{path}");
    let mut probe = MemoryProbe::new()
        .file(w("e.txt"), "TOKEN=x\n")
        .file(w("vs/tasks.json"), "{}\n")
        .file(w("cfg/settings.json"), "{}\n")
        .file(w("src/main.rs"), "fn main() {}\n")
        .directory(w(".git/hooks"))
        .file(w(".git/config"), "[core]\n");
    for (name, target) in links {
        probe = probe.link(w(name), *target);
    }
    World {
        probe,
        ..World::new()
    }
}

#[track_caller]
fn is_protected(world: &World, path: &str) -> bool {
    let sensitivity = world.place(path).sensitivity;
    assert!(!sensitivity.secret, "{path}");
    sensitivity == PROTECTED
}

#[test]
fn what_a_protected_link_leads_to_is_protected() {
    for (name, target, path) in [
        (".claude", "cl", "cl/settings.json"),
        (".vscode", "vs", "vs/tasks.json"),
        (".vscode", "./vs/", "src/../vs/tasks.json"),
        (".husky", "tools/hk", "tools/hk/pre-commit"),
        (".mcp.json", "m.json", "m.json"),
        (".envrc", "plain", "plain"),
        (
            ".claude/settings.json",
            "../cfg/settings.json",
            "cfg/settings.json",
        ),
        (".yarn/plugins", "../pl", "pl/x.cjs"),
        (
            ".git/hooks/pre-commit",
            "../../scripts/check",
            "scripts/check",
        ),
        ("src/.vscode", "conf", "src/conf/tasks.json"),
        // A link to a link.
        (".cargo", "cg", "cg/config.toml"),
    ] {
        let world = with_links(&[(name, target)]);
        assert!(is_protected(&world, path), "{name} -> {target}: {path}");
        assert!(!is_protected(&world, "src/main.rs"), "{name} -> {target}");
    }
    let chain = with_links(&[(".vscode", "one"), ("one", "vs")]);
    assert!(is_protected(&chain, "vs/tasks.json"));
}

#[test]
fn links_that_name_nothing_well_known_change_nothing() {
    let world = with_links(&[("docs", "src"), ("latest", "vs"), ("self", ".")]);
    for path in ["src/main.rs", "vs/tasks.json", "e.txt", "new.txt"] {
        assert!(world.place(path).sensitivity.is_ordinary(), "{path}");
    }
}

#[test]
fn a_secret_link_makes_its_target_a_secret() {
    let world = with_links(&[(".env", "e.txt")]);
    assert!(world.place("e.txt").sensitivity.secret);
    let harmless = with_links(&[("f.txt", "e.txt")]);
    for command in [
        "cat e.txt",
        "cat e.*",
        "cat e.t?t",
        "rg TOKEN",
        "find . -name '*.txt' | xargs cat",
        "cat $(find . -name e.txt)",
    ] {
        assert!(may_read_secret(&world, command), "{command}");
        assert!(!may_read_secret(&harmless, command), "{command}");
    }
}

/// The command reads a secret file, or what it reads is not known.
fn may_read_secret(world: &World, command: &str) -> bool {
    let facts = world
        .extract("Bash", json!({ "command": command }))
        .unwrap()
        .facts;
    let walks = facts.commands.iter().any(|command| command.walks);
    let reads = facts.accesses.iter().any(|access| {
        access.kind == AccessKind::Read
            && match &access.target {
                Target::Exact(path) => path.sensitivity.secret,
                Target::Pattern { may_match, .. } => may_match.secret,
                Target::Unknown { .. } => true,
            }
    });
    walks || reads
}

#[test]
fn what_git_is_told_to_run_is_protected_wherever_it_lies() {
    let w = |path: &str| format!("{WORKSPACE}/{path}");
    let hooks = World {
        probe: MemoryProbe::new()
            .directory(w("myhooks"))
            .file(w(".git/config"), "[core]\n\thooksPath = myhooks\n"),
        ..World::new()
    };
    assert!(is_protected(&hooks, "myhooks/pre-commit"));
    assert!(!is_protected(&hooks, "other/pre-commit"));
    let elsewhere = World {
        probe: MemoryProbe::new()
            .file(w(".git"), "gitdir: ./x\n")
            .file(w("x/config"), "[core]\n\thooksPath = h\n"),
        ..World::new()
    };
    assert!(is_protected(&elsewhere, "x/config"));
    assert!(is_protected(&elsewhere, "x/hooks/pre-commit"));
    assert!(is_protected(&elsewhere, "h/pre-commit"));
}

#[test]
fn where_links_cannot_be_seen_nothing_is_ordinary() {
    let w = |path: &str| format!("{WORKSPACE}/{path}");
    let many = (0..1_100).fold(MemoryProbe::new(), |probe, number| {
        probe.directory(w(&format!(".claude/{number}")))
    });
    let world = World {
        probe: many.file(w("a.txt"), "x"),
        ..World::new()
    };
    let sensitivity = world.place("a.txt").sensitivity;
    assert!(sensitivity.protected && sensitivity.secret);
}

#[test]
fn one_extraction_looks_at_each_directory_once() {
    let world = with_links(&[(".vscode", "vs")]);
    let log = world
        .extract(
            "Bash",
            json!({ "command": "cat src/a src/b src/c; cat src/d" }),
        )
        .unwrap()
        .probe_log;
    let mut looks: Vec<_> = log
        .0
        .iter()
        .filter(|entry| entry.question == "links")
        .map(|entry| &entry.path)
        .collect();
    let all = looks.len();
    looks.sort();
    looks.dedup();
    assert_eq!(looks.len(), all);
    assert!(all > 0);
}
