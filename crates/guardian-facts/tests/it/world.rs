//! One small machine that the tests look at: home `/home/dev`, workspace `/home/dev/proj`,
//! scratch beneath guardian's data directory.

use std::path::Path;

use guardian_facts::catalogue::Catalogue;
use guardian_facts::{
    ExtractError, Extraction, ExtractorRegistry, FactContext, LinkedNames, MemoryProbe,
    PathClasses, PathFact, RawArgs, RootPaths, ToolCall,
};
use serde_json::Value;

pub(crate) const WORKSPACE: &str = "/home/dev/proj";
pub(crate) const SCRATCH: &str = "/home/dev/.local/share/guardian/scratch/s1";

pub(crate) struct World {
    pub(crate) roots: RootPaths,
    pub(crate) probe: MemoryProbe,
    pub(crate) classes: PathClasses,
}

impl World {
    pub(crate) fn new() -> Self {
        let certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        let private_key = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n";
        let probe = MemoryProbe::new()
            .file("/home/dev/proj/src/main.rs", "fn main() {}\n")
            .file("/home/dev/proj/README.md", "# proj\n")
            .hard_link("/home/dev/proj/twin.md", "/home/dev/proj/README.md")
            .file("/home/dev/proj/.env", "TOKEN=x\n")
            .file("/home/dev/proj/ca.pem", certificate)
            .file("/home/dev/proj/server.pem", private_key)
            .file("/home/dev/proj/.git/config", "[core]\n")
            .directory("/home/dev/proj/venv/.env")
            .special("/home/dev/proj/pipe")
            .link("/home/dev/proj/out", "/srv/out")
            .link("/home/dev/proj/notes.md", "/srv/victim.txt")
            .link("/home/dev/proj/dangling", "/srv/not-there")
            .link("/home/dev/proj/inside", "src")
            .link("/home/dev/proj/loop", "loop")
            .link("/home/dev/proj/env-alias", ".env")
            .link("/home/dev/proj/keys", "/home/dev/.ssh")
            .link("/home/dev/proj/hooks-alias", ".git/hooks")
            .directory("/srv/out")
            .file("/srv/victim.txt", "x")
            .file("/etc/shadow", "x")
            .file("/home/dev/.ssh/id_ed25519", private_key)
            .file("/home/dev/.ssh/id_ed25519.pub", "ssh-ed25519 AAAA dev\n")
            .file("/home/dev/.ssh/config", "Host x\n")
            .file("/home/dev/.local/share/guardian/guardian.db", "x")
            .directory(SCRATCH)
            .file(format!("{SCRATCH}/tmp.txt"), "x")
            .link(format!("{SCRATCH}/way-out"), WORKSPACE)
            .link(format!("{SCRATCH}/secret"), "/home/dev/proj/.env")
            .directory("/locked")
            .failing("/locked", "permission denied");
        Self {
            roots: RootPaths {
                workspace: Some(WORKSPACE.into()),
                scratch: SCRATCH.into(),
                home: "/home/dev".into(),
                guardian_data: "/home/dev/.local/share/guardian".into(),
                guardian_config: vec!["/home/dev/.config/guardian".into(), "/etc/guardian".into()],
                guardian_executables: vec!["/home/dev/.cargo/bin/guardian".into()],
            },
            probe,
            classes: PathClasses::from_default(),
        }
    }

    pub(crate) fn without_workspace() -> Self {
        let mut world = Self::new();
        world.roots.workspace = None;
        world
    }

    pub(crate) fn context(&self) -> FactContext<'_> {
        FactContext {
            roots: &self.roots,
            probe: &self.probe,
            classes: &self.classes,
            catalogue: Catalogue::builtin(),
            linked: LinkedNames::new(),
        }
    }

    pub(crate) fn place(&self, written: &str) -> PathFact {
        self.context().place(written, Path::new(WORKSPACE))
    }

    pub(crate) fn extract(&self, tool: &str, args: Value) -> Result<Extraction, ExtractError> {
        ExtractorRegistry::builtin().extract(&call(tool, args), &self.context())
    }
}

pub(crate) fn call(tool: &str, args: Value) -> ToolCall {
    ToolCall {
        tool: tool.to_owned(),
        args: raw(args),
    }
}

#[track_caller]
pub(crate) fn raw(args: Value) -> RawArgs {
    match args {
        Value::Object(object) => RawArgs::new(object),
        other => panic!("arguments must be an object: {other}"),
    }
}
