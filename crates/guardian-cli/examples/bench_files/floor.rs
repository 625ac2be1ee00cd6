//! What nobody can do without: the floors that the tools are measured against.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::json;

use crate::host::read_answer;

/// The argument with which this program is started as the other end of a pipe.
pub(crate) const ANSWER: &str = "--answer";

/// A process that answers each path with its content, hashed and encoded, and does nothing else.
pub(crate) struct Answerer {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    line: String,
}

impl Answerer {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(ANSWER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            stdin: child.stdin.take(),
            stdout: BufReader::with_capacity(256 * 1024, child.stdout.take().unwrap()),
            child,
            line: String::new(),
        }
    }

    pub(crate) fn ask(&mut self, path: &Path) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin
            .write_all(format!("{}\n", path.display()).as_bytes())
            .unwrap();
        self.line.clear();
        self.stdout.read_line(&mut self.line).unwrap();
        assert!(read_answer(&self.line).1);
    }
}

impl Drop for Answerer {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.child.wait();
    }
}

/// The other end.
pub(crate) fn answer() {
    let mut out = std::io::stdout().lock();
    for (id, path) in std::io::stdin().lock().lines().enumerate() {
        let bytes = std::fs::read(path.unwrap()).unwrap();
        let tag = blake3::hash(&bytes).to_hex();
        let text = String::from_utf8(bytes).unwrap();
        let answer = json!({"id": id, "result": {"content": text, "tag": tag.as_str()}});
        out.write_all(format!("{answer}\n").as_bytes()).unwrap();
        out.flush().unwrap();
    }
}

/// Reads the first `bytes` of a file.
pub(crate) fn read_pieces(path: &Path, mut bytes: usize) {
    let mut file = std::fs::File::open(path).unwrap();
    let mut buffer = vec![0; 256 * 1024];
    while bytes > 0 {
        bytes = bytes.saturating_sub(file.read(&mut buffer).unwrap());
    }
    std::hint::black_box(&buffer);
}

/// A copy of the old bytes, the new ones in a synced temporary file that is renamed, and a commit:
/// one page appended to a log and synced.
pub(crate) fn write_like_an_edit(directory: &Path, bytes: &[u8]) {
    std::fs::write(directory.join("copy"), bytes).unwrap();
    let temporary = directory.join("temporary");
    let mut file = std::fs::File::create(&temporary).unwrap();
    file.write_all(bytes).unwrap();
    file.sync_data().unwrap();
    std::fs::rename(temporary, directory.join("file")).unwrap();
    let mut log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(directory.join("log"))
        .unwrap();
    log.write_all(&[0; 4096]).unwrap();
    log.sync_data().unwrap();
}
