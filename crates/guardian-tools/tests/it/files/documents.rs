//! New documents of the host (plans), and the small files that it reads (agent definitions).

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};

use guardian_tools::{
    Capabilities, FailureCode, SMALL_FILE_BYTES, Step, StepWatch, create_document, own_files,
    read_document, sha256_of, workspace_files,
};
use rustix::io::Errno;

use super::support::Session;

const DIRECTORIES: &[&str] = &[".pi", "plan"];

fn names(names: &[&str]) -> impl Iterator<Item = String> + use<> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    names.into_iter()
}

#[test]
fn a_document_is_new_whatever_is_there_and_holds_the_exact_bytes() {
    let session = Session::new();
    let bytes = b"a\r\n\xff\xfe\0 \xf0\x9d\x92\x9c";
    for expected in ["a.md", "b.md"] {
        let wanted = names(&["a.md", "b.md"]);
        let document = create_document(&session.roots, DIRECTORIES, wanted, bytes).unwrap();
        assert_eq!(document.relative_path(), format!(".pi/plan/{expected}"));
        assert_eq!(document.sha256(), sha256_of(bytes));
        assert_eq!(session.bytes(document.relative_path()), bytes);
    }
    let full = create_document(&session.roots, DIRECTORIES, names(&["a.md", "b.md"]), bytes);
    assert_eq!(full.unwrap_err().code, FailureCode::ToolFailed);
    // A dangling link is something that is there.
    symlink(
        session.outside.join("x"),
        session.workspace.join(".pi/plan/c.md"),
    )
    .unwrap();
    let linked = create_document(&session.roots, DIRECTORIES, names(&["c.md"]), bytes);
    assert!(linked.is_err());
    assert!(!session.outside.join("x").exists());
}

#[test]
fn a_discarded_document_is_gone_unless_it_is_another_file_by_now() {
    let session = Session::new();
    let make =
        |name: &str| create_document(&session.roots, DIRECTORIES, names(&[name]), b"mine").unwrap();
    make("a.md").discard();
    assert!(!session.workspace.join(".pi/plan/a.md").exists());
    let document = make("b.md");
    let path = session.workspace.join(".pi/plan/b.md");
    // Kept, so that its inode is not given out again.
    std::fs::rename(&path, session.workspace.join("kept")).unwrap();
    std::fs::write(&path, "somebody else's").unwrap();
    document.discard();
    assert_eq!(session.bytes(".pi/plan/b.md"), b"somebody else's");
}

#[test]
fn a_link_or_file_in_the_way_is_an_error_and_nothing_is_written_behind_it() {
    let session = Session::new();
    let create = || create_document(&session.roots, DIRECTORIES, names(&["a.md"]), b"x");
    let pi = session.workspace.join(".pi");
    std::fs::create_dir(session.workspace.join("inside")).unwrap();
    for target in [session.outside.clone(), session.workspace.join("inside")] {
        symlink(&target, &pi).unwrap();
        assert_eq!(create().unwrap_err().code, FailureCode::ToolFailed);
        std::fs::remove_file(&pi).unwrap();
        std::fs::create_dir(&pi).unwrap();
        symlink(&target, pi.join("plan")).unwrap();
        assert_eq!(create().unwrap_err().code, FailureCode::ToolFailed);
        std::fs::remove_dir_all(&pi).unwrap();
        assert!(std::fs::read_dir(&target).unwrap().next().is_none());
    }
    std::fs::write(&pi, "a file").unwrap();
    assert!(create().is_err());
}

struct FailAt(Mutex<usize>, Errno);

impl StepWatch for FailAt {
    fn before(&self, _step: Step) -> Result<(), Errno> {
        let mut left = self.0.lock().unwrap();
        *left = left.wrapping_sub(1);
        if *left == 0 { Err(self.1) } else { Ok(()) }
    }
}

#[test]
fn a_full_disk_at_any_step_leaves_nothing_not_even_the_directories() {
    for nth in 1..6 {
        let mut capabilities = Capabilities::all();
        capabilities.steps = Arc::new(FailAt(Mutex::new(nth), Errno::NOSPC));
        let session = Session::with(capabilities);
        match create_document(&session.roots, DIRECTORIES, names(&["a.md"]), b"x") {
            Ok(document) => assert_eq!(session.bytes(document.relative_path()), b"x"),
            Err(failure) => {
                assert!(failure.message.contains("no space"), "{failure:?}");
                assert!(!session.workspace.join(".pi").exists(), "step {nth}");
            }
        }
    }
}

#[test]
fn reading_follows_no_link_and_has_a_bound() {
    let session = Session::new();
    session.file(".pi/plan/a.md", "text");
    std::fs::write(session.outside.join("secret"), "secret").unwrap();
    symlink(
        session.outside.join("secret"),
        session.workspace.join(".pi/plan/l.md"),
    )
    .unwrap();
    let read = |path: &str| read_document(&session.roots, Path::new(path), 4);
    assert_eq!(read(".pi/plan/a.md").unwrap(), b"text");
    assert!(read(".pi/plan/l.md").is_err());
    assert!(read(".pi/plan/none.md").is_err());
    assert!(read(".pi/plan").is_err());
    assert!(read("../outside/secret").is_err());
    session.file(".pi/plan/a.md", "longer");
    assert!(read(".pi/plan/a.md").is_err());
}

#[test]
fn small_files_are_those_of_the_directory_itself() {
    let session = Session::new();
    let list = || {
        workspace_files(&session.roots, Path::new(".pi/agents"), ".md")
            .map(|files| files.into_iter().map(|file| file.name).collect::<Vec<_>>())
    };
    assert!(list().unwrap().is_empty());
    session.file(".pi/agents/b.md", "b");
    session.file(".pi/agents/a.md", "a");
    session.file(".pi/agents/a.txt", "a");
    session.file(".pi/agents/deep/c.md", "c");
    session.file(
        ".pi/agents/large.md",
        vec![b'x'; usize::try_from(SMALL_FILE_BYTES).unwrap() + 1],
    );
    std::fs::write(session.outside.join("o.md"), "o").unwrap();
    let agents = session.workspace.join(".pi/agents");
    symlink(session.outside.join("o.md"), agents.join("l.md")).unwrap();
    assert_eq!(list().unwrap(), ["a.md", "b.md"]);
    let own = own_files(&agents, ".md").unwrap();
    let own: Vec<_> = own.into_iter().map(|file| file.name).collect();
    assert_eq!(
        own,
        ["a.md", "b.md", "l.md"],
        "the user's own links are the user's"
    );
    assert!(
        own_files(&session.outside.join("none"), ".md")
            .unwrap()
            .is_empty()
    );
    std::fs::remove_dir_all(&agents).unwrap();
    symlink(&session.outside, &agents).unwrap();
    assert!(list().is_err());
}
