//! A machine in memory for the tests.

use std::path::{Path, PathBuf};

use guardian_facts::catalogue::Catalogue;
use guardian_facts::probe::MemoryProbe;
use guardian_facts::{FactContext, Facts, LinkedNames, PathClasses, RootPaths, shell};

/// The fixture of the case files: a clean repository in `/home/dev/proj`.
pub(crate) struct Machine {
    roots: RootPaths,
    probe: MemoryProbe,
    classes: PathClasses,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let config = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n";
        let mut probe = MemoryProbe::new()
            .file("/home/dev/proj/.git/config", config)
            .file("/home/dev/proj/.git/HEAD", "ref: refs/heads/main\n")
            .directory("/home/dev/proj/node_modules")
            .directory("/home/dev/proj/target")
            .directory("/data/scratch/s1");
        for name in [
            "README.md",
            "src/main.rs",
            "src/lib.rs",
            "Cargo.toml",
            "package.json",
            "tests/a.rs",
            "docs/guide.md",
            ".env",
            ".env.example",
            "data.json",
            "scripts/run.sh",
        ] {
            probe = probe.file(format!("/home/dev/proj/{name}"), "text");
        }
        Self {
            roots: RootPaths {
                workspace: Some(PathBuf::from("/home/dev/proj")),
                scratch: PathBuf::from("/data/scratch/s1"),
                home: PathBuf::from("/home/dev"),
                guardian_data: PathBuf::from("/data"),
                guardian_config: Vec::new(),
                guardian_executables: Vec::new(),
            },
            probe,
            classes: PathClasses::from_default(),
        }
    }

    /// The same machine with one more file, by its path from the project.
    pub(crate) fn with(&self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let path = match path.strip_prefix("../") {
            Some(path) => format!("/home/dev/{path}"),
            None => format!("/home/dev/proj/{path}"),
        };
        Self {
            roots: self.roots.clone(),
            probe: self.probe.clone().file(path, content),
            classes: PathClasses::from_default(),
        }
    }

    /// The same machine with a link, by its path from the project.
    pub(crate) fn with_link(&self, path: &str, target: &str) -> Self {
        Self {
            roots: self.roots.clone(),
            probe: self
                .probe
                .clone()
                .link(format!("/home/dev/proj/{path}"), target),
            classes: PathClasses::from_default(),
        }
    }

    pub(crate) fn read(&self, text: &str) -> Facts {
        let cx = FactContext {
            roots: &self.roots,
            probe: &self.probe,
            classes: &self.classes,
            catalogue: Catalogue::builtin(),
            linked: LinkedNames::new(),
        };
        shell::read(text, Path::new("/home/dev/proj"), &cx)
    }
}
