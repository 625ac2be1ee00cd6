//! The project of the case files.

use std::io;
use std::path::{Path, PathBuf};

use guardian_facts::RootPaths;
use tempfile::TempDir;

use crate::scrubbed_command;

/// Paths of the case files, and what stands for them. Longest first.
const WORKSPACE: &str = "/home/dev/proj";
const HOME: &str = "/home/dev";
const SCRATCH: &str = "/data/scratch/s1";
const DATA: &str = "/data";

/// Files of the project, all committed.
const FILES: &[(&str, &str)] = &[
    (".gitignore", "node_modules/\ntarget/\n.env\n"),
    ("README.md", "# proj\n\nA small project.\n"),
    (
        "Cargo.toml",
        "[package]\nname = \"proj\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    ),
    (
        "package.json",
        "{\n  \"name\": \"proj\",\n  \"scripts\": {\n    \"test\": \"node tests/run.js\",\n    \"build\": \"node scripts/build.js\",\n    \"lint\": \"eslint src\"\n  }\n}\n",
    ),
    (
        "src/main.rs",
        "fn main() {\n    println!(\"{}\", proj::answer());\n}\n",
    ),
    (
        "src/lib.rs",
        "/// The answer.\npub fn answer() -> u32 {\n    42\n}\n",
    ),
    (
        "tests/answer.rs",
        "#[test]\nfn answers() {\n    assert_eq!(proj::answer(), 42);\n}\n",
    ),
    ("docs/guide.md", "# Guide\n\nHello.\n"),
    (".env.example", "API_KEY=\n"),
    ("data.json", "{\"items\": [1, 2, 3]}\n"),
    ("scripts/run.sh", "#!/bin/sh\necho running\n"),
];

/// Files that git ignores.
const IGNORED: &[(&str, &str)] = &[
    (".env", "API_KEY=not-a-real-key\n"),
    ("node_modules/left/index.js", "module.exports = 1;\n"),
    ("target/debug/out.txt", "built\n"),
];

/// A git repository with a clean configuration and everything committed, in a temporary
/// directory: `/home/dev/proj` of the case files, with home, data and scratch directories.
/// Removed when it is dropped.
#[derive(Debug)]
pub struct ProjectFixture {
    directory: TempDir,
    root: PathBuf,
}

impl ProjectFixture {
    /// Makes one. Needs `git`.
    ///
    /// # Errors
    /// When the temporary directory cannot be written, or git fails.
    pub fn new() -> io::Result<Self> {
        let fixture = Self::without_git()?;
        for arguments in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "--all"],
            &["commit", "--quiet", "--message=start"],
        ] {
            fixture.git(arguments)?;
        }
        Ok(fixture)
    }

    /// The same files without a repository.
    ///
    /// # Errors
    /// When the temporary directory cannot be written.
    pub fn without_git() -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("guardian-").tempdir()?;
        // Tests compare with resolved paths.
        let root = directory.path().canonicalize()?;
        let fixture = Self { directory, root };
        for directory in [fixture.workspace(), fixture.scratch()] {
            std::fs::create_dir_all(directory)?;
        }
        for (path, content) in FILES.iter().chain(IGNORED) {
            fixture.write(path, content)?;
        }
        make_executable(&fixture.workspace().join("scripts/run.sh"))?;
        Ok(fixture)
    }

    /// The directory that holds everything.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The project: `/home/dev/proj`.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.home().join("proj")
    }

    /// The user's home: `/home/dev`.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.root.join("home/dev")
    }

    /// guardian's data directory: `/data`.
    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// Scratch of session `s1`: `/data/scratch/s1`.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        self.data().join("scratch/s1")
    }

    /// The roots, for extraction.
    #[must_use]
    pub fn roots(&self) -> RootPaths {
        RootPaths {
            workspace: Some(self.workspace()),
            scratch: self.scratch(),
            home: self.home(),
            guardian_data: self.data(),
            guardian_config: vec![self.home().join(".config/guardian")],
            guardian_executables: Vec::new(),
        }
    }

    /// Text of a case file with this fixture's paths in place of the written ones.
    #[must_use]
    pub fn substitute(&self, text: &str) -> String {
        let scratch = self.scratch().to_string_lossy().into_owned();
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            let places = [
                ("$SCRATCH", scratch.clone()),
                (WORKSPACE, self.workspace().to_string_lossy().into_owned()),
                (HOME, self.home().to_string_lossy().into_owned()),
                (SCRATCH, scratch.clone()),
                (DATA, self.data().to_string_lossy().into_owned()),
            ];
            let place = places.iter().find(|(written, _)| {
                rest.strip_prefix(written).is_some_and(|after| {
                    !continues_name(after) && (written.starts_with('$') || !in_path(&result))
                })
            });
            if let Some((written, here)) = place {
                result.push_str(here);
                rest = &rest[written.len()..];
            } else {
                result.push(character);
                rest = &rest[character.len_utf8()..];
            }
        }
        result
    }

    /// Writes a file of the workspace, with its directories.
    ///
    /// # Errors
    /// As of the file system.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> io::Result<PathBuf> {
        let path = self.workspace().join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, content)?;
        Ok(path)
    }

    /// Reads a file of the workspace.
    ///
    /// # Errors
    /// As of the file system.
    pub fn read(&self, path: impl AsRef<Path>) -> io::Result<String> {
        std::fs::read_to_string(self.workspace().join(path))
    }

    /// Runs git in the workspace and returns what it printed.
    ///
    /// # Errors
    /// When git is missing or fails, with what it said.
    pub fn git(&self, arguments: &[&str]) -> io::Result<String> {
        let output = scrubbed_command("git", &self.home())
            .current_dir(self.workspace())
            .env("GIT_AUTHOR_NAME", "dev")
            .env("GIT_AUTHOR_EMAIL", "dev@example.com")
            .env("GIT_COMMITTER_NAME", "dev")
            .env("GIT_COMMITTER_EMAIL", "dev@example.com")
            .env("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z")
            .env("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z")
            .args(arguments)
            .output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(io::Error::other(format!("git {arguments:?}: {said}")));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Keeps the directory after the test, to look at it, and says where it is.
    #[must_use]
    pub fn keep(self) -> PathBuf {
        self.directory.keep()
    }
}

/// The name goes on: `/home/dev` is not in `/home/developer`, `/data` not in `/data.json`.
fn continues_name(after: &str) -> bool {
    after.starts_with(|one: char| one.is_alphanumeric() || matches!(one, '_' | '-' | '.'))
}

/// What was written so far goes on into the next `/`: `src/data` is not `/data`.
fn in_path(before: &str) -> bool {
    before.ends_with(|one: char| {
        one.is_alphanumeric() || matches!(one, '_' | '-' | '.' | '/' | '}' | '~')
    })
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_path: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_a_clean_repository_that_ignores_what_it_should() {
        let fixture = ProjectFixture::new().unwrap();
        assert_eq!(fixture.git(&["status", "--porcelain"]).unwrap(), "");
        let ignored = fixture
            .git(&["status", "--porcelain", "--ignored"])
            .unwrap();
        assert_eq!(ignored, "!! .env\n!! node_modules/\n!! target/\n");
        assert!(fixture.read("src/lib.rs").unwrap().contains("42"));
    }

    #[test]
    fn paths_of_the_case_files_become_paths_of_the_fixture() {
        let fixture = ProjectFixture::without_git().unwrap();
        let (workspace, home) = (fixture.workspace(), fixture.home());
        let (workspace, home) = (workspace.display(), home.display());
        let (scratch, data) = (fixture.scratch(), fixture.data());
        let (scratch, data) = (scratch.display(), data.display());
        for (text, expect) in [
            ("cat /home/dev/proj/a", format!("cat {workspace}/a")),
            ("cat /home/dev/.ssh/id", format!("cat {home}/.ssh/id")),
            (
                "cp a $SCRATCH/b; cp a /data/scratch/s1/c",
                format!("cp a {scratch}/b; cp a {scratch}/c"),
            ),
            ("cat '/data/audit.db'", format!("cat '{data}/audit.db'")),
            (
                "cat /home/developer src/data ./data /data.json",
                "cat /home/developer src/data ./data /data.json".to_owned(),
            ),
            ("cat /home/dev/project2", format!("cat {home}/project2")),
            ("echo $SCRATCHES", "echo $SCRATCHES".to_owned()),
        ] {
            assert_eq!(fixture.substitute(text), expect);
        }
    }

    #[test]
    fn a_dropped_fixture_leaves_nothing() {
        let fixture = ProjectFixture::without_git().unwrap();
        let root = fixture.root().to_path_buf();
        drop(fixture);
        assert!(!root.exists());
    }
}
