//! What a body touches is what the facts of its call claimed, watched from outside with `strace`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use guardian_facts::catalogue::Catalogue;
use guardian_facts::{
    AccessKind, Extraction, ExtractorRegistry, FactContext, LinkedNames, PathClasses, RawArgs,
    ToolCall,
};
use guardian_tools::{Capabilities, ClassesHidden, Permitted, RealProbe, bind, run_file_tool};
use serde_json::{Value, json};

use super::support::{Session, all_capabilities};

const DIRECTORY: &str = "GUARDIAN_TEST_CLAIMS_DIRECTORY";
const CALL: &str = "GUARDIAN_TEST_CLAIMS_CALL";

fn extract(session: &Session, classes: &PathClasses, tool: &str, args: &Value) -> Extraction {
    let call = ToolCall {
        tool: tool.to_owned(),
        args: RawArgs::new(args.as_object().unwrap().clone()),
    };
    let context = FactContext {
        roots: &session.paths,
        probe: &RealProbe,
        classes,
        catalogue: Catalogue::builtin(),
        linked: LinkedNames::new(),
    };
    ExtractorRegistry::builtin()
        .extract(&call, &context)
        .unwrap()
}

/// Does nothing in an ordinary run: the test below starts it under `strace`.
#[test]
fn child_that_makes_one_call() {
    let (Ok(top), Ok(call)) = (std::env::var(DIRECTORY), std::env::var(CALL)) else {
        return;
    };
    let call: Value = serde_json::from_str(&call).unwrap();
    let which = usize::try_from(call["which"].as_u64().unwrap()).unwrap();
    let session = Session::at(Path::new(&top), all_capabilities().swap_remove(which));
    let classes = PathClasses::from_default();
    let extraction = extract(
        &session,
        &classes,
        call["tool"].as_str().unwrap(),
        &call["args"],
    );
    let hidden = ClassesHidden::new(&classes, &session.paths);
    let mut cx = session.context();
    cx.hidden = &hidden;
    let answer = bind(extraction.input, &extraction.facts, &session.roots)
        .and_then(|bound| run_file_tool(Permitted::assume_checked(bound), &cx));
    // Failures touch things too; whether it succeeds is for other tests.
    drop(answer);
}

fn touched(top: &Path, call: &Value) -> Option<(Vec<PathBuf>, Vec<PathBuf>)> {
    let log = top.join("strace.log");
    let status = Command::new("strace")
        .args(["-f", "-y", "-s", "4096", "-o"])
        .arg(&log)
        .args(["-e", "trace=%file,openat2", "--"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "files::claims::child_that_makes_one_call"])
        .env(DIRECTORY, top)
        .env(CALL, call.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !status.ok()?.success() {
        return None;
    }
    let text = std::fs::read_to_string(log).ok()?;
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let Some((head, result)) = line.rsplit_once(" = ") else {
            continue;
        };
        if result.starts_with('-') {
            continue;
        }
        let changes = ["O_CREAT", "O_WRONLY", "O_RDWR"];
        if ["open(", "openat(", "openat2("]
            .iter()
            .any(|name| head.contains(name))
        {
            let Some(path) = result
                .split_once('<')
                .and_then(|(_, rest)| rest.split_once('>'))
            else {
                continue;
            };
            // An unnamed temporary file has its directory's path and a number.
            if head.contains("O_PATH") || head.contains("O_TMPFILE") || head.contains("O_DIRECTORY")
            {
                continue;
            }
            let to = if changes.iter().any(|word| head.contains(word)) {
                &mut writes
            } else {
                &mut reads
            };
            to.push(PathBuf::from(path.0.trim_end_matches(" (deleted)")));
        } else if is_change(head) {
            // Names beneath directory handles: `5</dir>, "name"`.
            for part in head.split('<').skip(1) {
                let Some((directory, rest)) = part.split_once('>') else {
                    continue;
                };
                let Some(name) = rest
                    .strip_prefix(", \"")
                    .and_then(|rest| rest.split_once('"'))
                else {
                    continue;
                };
                writes.push(Path::new(directory).join(name.0));
            }
        }
    }
    Some((reads, writes))
}

#[test]
fn every_file_tool_touches_only_what_its_facts_claim() {
    let calls = [
        ("Read", json!({"path": "src/a.rs"})),
        ("Read", json!({"path": "missing.rs"})),
        ("Read", json!({"path": "link.txt"})),
        ("Glob", json!({"pattern": "*.rs"})),
        ("Glob", json!({"pattern": "*.rs", "path": "src"})),
        ("Grep", json!({"pattern": "needle"})),
        ("Grep", json!({"pattern": "needle", "path": "src"})),
        ("Grep", json!({"pattern": "needle", "path": "src/a.rs"})),
        ("Write", json!({"path": "src/a.rs", "content": "new"})),
        ("Write", json!({"path": "new/dir/b.rs", "content": "new"})),
        ("Write", json!({"path": "hard.txt", "content": "new"})),
        (
            "Edit",
            json!({"path": "src/a.rs", "old_string": "needle", "new_string": "x"}),
        ),
        (
            "Edit",
            json!({"path": "link.txt", "old_string": "needle", "new_string": "x"}),
        ),
    ];
    let classes = PathClasses::from_default();
    let mut seen_something = false;
    for (tool, args) in &calls {
        for which in [0, 7] {
            let dir = tempfile::tempdir().unwrap();
            let top = dir.path().canonicalize().unwrap();
            let session = Session::at(&top, Capabilities::all());
            session.file("src/a.rs", "needle\n");
            session.file("real.txt", "needle\n");
            session.file(".env", "needle\n");
            session.file(".gitignore", "*.tmp\n");
            let hard = session.file("hard.txt", "needle\n");
            std::fs::hard_link(hard, session.workspace.join("harder.txt")).unwrap();
            std::os::unix::fs::symlink("real.txt", session.workspace.join("link.txt")).unwrap();
            std::os::unix::fs::symlink(&session.outside, session.workspace.join("out")).unwrap();
            std::fs::write(session.outside.join("o.rs"), "needle\n").unwrap();
            let facts = extract(&session, &classes, tool, args).facts;
            let call = json!({"tool": tool, "args": args, "which": which});
            let Some((reads, writes)) = touched(&top, &call) else {
                eprintln!("NOT TESTED: strace does not work here");
                return;
            };
            let claims = |path: &Path, write: bool| {
                facts.accesses.iter().any(|access| {
                    let kind = if write {
                        access.kind == AccessKind::Write
                    } else {
                        access.kind != AccessKind::Delete
                    };
                    kind && access.exact().is_some_and(|claimed| {
                        path == claimed.path
                            || (access.recursive && path.starts_with(&claimed.path))
                            // Directories on the way to a new file; the file's temporary name, which the old
                                // file bears for a moment while it is compared.
                            || (write && claimed.path.starts_with(path))
                            || is_temporary_of(path, &claimed.path)
                    })
                })
            };
            let ours = |path: &&PathBuf| {
                path.starts_with(&session.workspace) || path.starts_with(&session.outside)
            };
            for path in reads.iter().filter(ours) {
                seen_something = true;
                assert!(
                    claims(path, false),
                    "{tool} {args}: read {path:?}, not claimed"
                );
                assert!(
                    !path.ends_with(".env"),
                    "{tool} {args}: opened a secret file"
                );
            }
            for path in writes.iter().filter(ours) {
                seen_something = true;
                assert!(
                    claims(path, true),
                    "{tool} {args}: changed {path:?}, not claimed"
                );
            }
            if matches!(*tool, "Write" | "Edit") {
                assert!(
                    writes.iter().any(|path| ours(&path)),
                    "{tool} {args}: saw no change"
                );
            }
        }
    }
    assert!(seen_something);
}

/// Does the line of the log name a call that changes names?
fn is_change(head: &str) -> bool {
    let call = head.split_once('(').map_or("", |(call, _)| call);
    let call = call.rsplit(' ').next().unwrap_or_default();
    [
        "renameat",
        "renameat2",
        "linkat",
        "unlinkat",
        "mkdirat",
        "symlinkat",
    ]
    .contains(&call)
}

fn is_temporary_of(path: &Path, claimed: &Path) -> bool {
    path.parent() == claimed.parent()
        && path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(".guardian-"))
}
