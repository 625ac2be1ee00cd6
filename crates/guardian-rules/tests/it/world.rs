//! The project of SPEC's cases in memory, read by the real extraction.

use guardian_facts::catalogue::Catalogue;
use guardian_facts::{
    ExtractorRegistry, FactContext, Facts, LinkedNames, MemoryProbe, PathClasses, RawArgs, ToolCall,
};
use serde_json::json;

use crate::build::{SCRATCH, WORKSPACE, roots};

/// A git index without entries, and without a checksum.
const EMPTY_INDEX: [u8; 32] = {
    let mut bytes = [0; 32];
    bytes[0] = b'D';
    bytes[1] = b'I';
    bytes[2] = b'R';
    bytes[3] = b'C';
    bytes[7] = 2;
    bytes
};

fn probe() -> MemoryProbe {
    let w = |path: &str| format!("{WORKSPACE}/{path}");
    MemoryProbe::new()
        .directory(WORKSPACE)
        .directory(SCRATCH)
        .directory(w(".git/hooks"))
        .directory(w(".git/objects"))
        .directory(w(".git/refs"))
        .file(w(".git/HEAD"), "ref: refs/heads/main\n")
        .file(
            w(".git/config"),
            "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
        )
        .file(w(".git/index"), EMPTY_INDEX)
        .file(w(".gitignore"), "node_modules/\ntarget/\n.env\n")
        .file(w("README.md"), "# proj\n")
        .file(w("Cargo.toml"), "[package]\nname = \"proj\"\n")
        .file(
            w("package.json"),
            "{\"scripts\":{\"test\":\"node test.js\",\"build\":\"tsc\",\"lint\":\"eslint .\"}}",
        )
        .file(w("src/main.rs"), "fn main() {}\n")
        .file(w("src/lib.rs"), "pub fn x() {}\n")
        .directory(w("src/legacy"))
        .directory(w("build"))
        .directory(w("tests"))
        .directory(w("docs"))
        .file(w("docs/guide.md"), "guide\n")
        .file(w(".env"), "TOKEN=x\n")
        .file(w(".env.example"), "TOKEN=\n")
        .file(w("data.json"), "{}\n")
        .file(w("scripts/run.sh"), "#!/bin/sh\necho hi\n")
        .directory(w("node_modules"))
        .directory(w("target"))
        .file("/home/dev/.ssh/id_ed25519", "key")
        .file("/home/dev/.bashrc", "")
        .file("/home/dev/.aws/credentials", "")
        .file("/home/dev/.config/guardian/policy.toml", "version = 1\n")
        .directory("/etc")
        .file("/etc/hosts", "")
        .file("/etc/passwd", "")
        .directory("/usr/bin")
        .directory("/tmp")
        .special("/dev/null")
        .special("/dev/sda")
        .special("/dev/sda1")
        .special("/dev/nvme0n1")
        .link(format!("{SCRATCH}/link-to-etc"), "/etc")
}

/// What the real extraction says of a Bash command.
pub(crate) fn facts_of(command: &str) -> Facts {
    facts_in(&probe(), command)
}

/// The same where `sealed/` holds a file, and links lead there and to `/tmp`.
pub(crate) fn facts_of_linked(command: &str) -> Facts {
    let w = |path: &str| format!("{WORKSPACE}/{path}");
    let probe = probe()
        .directory(w("sealed"))
        .file(w("sealed/a.txt"), "hush\n")
        .link(w("to-sealed"), w("sealed"))
        .link(w("to-sealed-file"), w("sealed/a.txt"))
        .link(w("away"), "/tmp");
    facts_in(&probe, command)
}

fn facts_in(probe: &MemoryProbe, command: &str) -> Facts {
    let classes = PathClasses::from_default();
    let mut roots = roots();
    roots.guardian_data = "/home/dev/.local/share/guardian".into();
    let cx = FactContext {
        roots: &roots,
        probe,
        classes: &classes,
        catalogue: Catalogue::builtin(),
        linked: LinkedNames::new(),
    };
    let args = json!({ "command": command });
    let call = ToolCall {
        tool: "Bash".to_owned(),
        args: RawArgs::new(args.as_object().cloned().unwrap_or_default()),
    };
    match ExtractorRegistry::builtin().extract(&call, &cx) {
        Ok(extraction) => extraction.facts,
        Err(error) => Facts::unknown("Bash", error.to_string()),
    }
}
