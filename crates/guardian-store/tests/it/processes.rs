//! Several processes, processes that are killed, and processes that may not write. A test that
//! finds [`ROLE`] in its environment is the other process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use guardian_store::{AuditEntry, AuditEvent, Durability, Store, StoreError, StoreOptions};

use crate::support::{id, session};

const ROLE: &str = "GUARDIAN_STORE_TEST_DIRECTORY";
const NUMBER: &str = "GUARDIAN_STORE_TEST_NUMBER";
const ROWS: u64 = 40;

fn role() -> Option<std::path::PathBuf> {
    std::env::var_os(ROLE).map(Into::into)
}

fn command(test: &str, directory: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            &format!("processes::{test}"),
            "--nocapture",
            "--test-threads=1",
        ])
        .env(ROLE, directory)
        .stdout(Stdio::piped());
    command
}

fn spawn(test: &str, directory: &Path, number: usize) -> Child {
    command(test, directory)
        .env(NUMBER, number.to_string())
        .spawn()
        .unwrap()
}

fn entry(call: &str) -> AuditEntry {
    AuditEntry {
        tool_call: Some(call.to_owned()),
        ..AuditEntry::new(AuditEvent::Call)
    }
}

#[test]
fn eight_processes_write_one_chain_and_no_row_is_lost() {
    if let Some(directory) = role() {
        let store = Store::open(StoreOptions::new(directory)).unwrap();
        let number = std::env::var(NUMBER).unwrap();
        for row in 0..ROWS {
            let durability = if row % 10 == 0 {
                Durability::Machine
            } else {
                Durability::Process
            };
            store
                .append_audit(entry(&format!("{number}-{row}")), durability)
                .unwrap();
        }
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let children: Vec<Child> = (0..8)
        .map(|number| {
            spawn(
                "eight_processes_write_one_chain_and_no_row_is_lost",
                directory.path(),
                number,
            )
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
    }
    let store = Store::open(StoreOptions::new(directory.path())).unwrap();
    let verification = store.verify_audit(None).unwrap();
    assert!(verification.is_ok(), "{verification:?}");
    assert_eq!(verification.rows, 8 * ROWS);
    let database = rusqlite::Connection::open(directory.path().join("guardian.db")).unwrap();
    let distinct: u64 = database
        .query_row(
            "SELECT count(DISTINCT body ->> '$.toolCallId') FROM audit",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(distinct, 8 * ROWS);
}

#[test]
fn a_killed_writer_leaves_an_unbroken_chain_with_every_acknowledged_row() {
    if let Some(directory) = role() {
        let store = Store::open(StoreOptions::new(directory)).unwrap();
        let mut out = std::io::stdout();
        loop {
            let seq = store.append_audit(entry("x"), Durability::Process).unwrap();
            writeln!(out, "ack {seq}").unwrap();
            out.flush().unwrap();
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let mut last_acknowledged = 0;
    for round in 0..4 {
        let mut child = spawn(
            "a_killed_writer_leaves_an_unbroken_chain_with_every_acknowledged_row",
            directory.path(),
            0,
        );
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // libtest prints "test name ... " in front of the first line.
        let acknowledged = lines.map_while(Result::ok).filter_map(|line| {
            line.rsplit_once("ack ")
                .and_then(|(_, number)| number.trim().parse::<u64>().ok())
        });
        last_acknowledged = acknowledged.take(30 + round * 7).last().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let store = Store::open(StoreOptions::new(directory.path())).unwrap();
        assert_eq!(store.recovery(), None);
        let verification = store.verify_audit(None).unwrap();
        assert!(verification.is_ok(), "{verification:?}");
        assert!(
            verification.rows >= last_acknowledged,
            "{} of {last_acknowledged}",
            verification.rows
        );
    }
    assert!(last_acknowledged >= 30);
}

#[test]
fn a_lease_ends_with_its_process() {
    if let Some(directory) = role() {
        let store = Store::open(StoreOptions::new(directory)).unwrap();
        let _lease = store.lease(&id("a")).unwrap();
        let mut out = std::io::stdout();
        writeln!(out, "ack held").unwrap();
        out.flush().unwrap();
        // Until it is killed.
        loop {
            std::thread::park();
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(StoreOptions::new(directory.path())).unwrap();
    let mut child = spawn("a_lease_ends_with_its_process", directory.path(), 0);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("ack held")));
    let refused = store.lease(&id("a"));
    child.kill().unwrap();
    child.wait().unwrap();
    match refused {
        Err(StoreError::Conflict(guardian_store::Conflict::Leased { holder, .. })) => {
            assert_eq!(holder, Some(child.id()));
        }
        other => panic!("{other:?}"),
    }
    store.lease(&id("a")).unwrap();
}

/// As another user where this one is root, whom permissions do not stop.
#[cfg(unix)]
#[test]
fn what_cannot_be_written_can_be_read_and_refuses_high_risk_records() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::CommandExt as _;

    if let Some(directory) = role() {
        let store = Store::open(StoreOptions::new(directory)).unwrap();
        assert!(!store.is_writable());
        assert_eq!(
            store.session(&id("a")).unwrap().project_path,
            Some("/work/project".into())
        );
        assert!(matches!(
            store.record_about_to_run(entry("x")),
            Err(StoreError::ReadOnly)
        ));
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = Store::open(StoreOptions::new(&data)).unwrap();
    session(&store, "a");
    drop(store);
    let chmod = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap()
    };
    chmod(directory.path(), 0o755);
    chmod(&data.join("guardian.db"), 0o444);
    chmod(&data, 0o555);
    // A copy that any user may run, wherever the build directory is.
    let program = directory.path().join("test-program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    chmod(&program, 0o755);
    let mut child = Command::new(&program);
    child
        .args([
            "--exact",
            "processes::what_cannot_be_written_can_be_read_and_refuses_high_risk_records",
            "--nocapture",
        ])
        .env(ROLE, &data)
        .current_dir("/");
    if directory
        .path()
        .metadata()
        .is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0)
    {
        child.uid(65_534).gid(65_534);
    }
    let output = child.output().unwrap();
    chmod(&data, 0o755);
    assert!(
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed"),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
