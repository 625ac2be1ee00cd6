//! Prints what guardian-facts reads in a shell text: `cargo run --example read_shell -- 'ls; rm x'`.
//!
//! Paths are resolved against an empty machine: workspace `/home/dev/proj`, home `/home/dev`.

use std::path::PathBuf;

use guardian_facts::catalogue::Catalogue;
use guardian_facts::probe::MemoryProbe;
use guardian_facts::{FactContext, LinkedNames, PathClasses, RootPaths, shell};

fn main() {
    let text = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "cd src && rm -rf build".to_owned());
    let roots = RootPaths {
        workspace: Some(PathBuf::from("/home/dev/proj")),
        scratch: PathBuf::from("/data/scratch/s1"),
        home: PathBuf::from("/home/dev"),
        guardian_data: PathBuf::from("/data"),
        guardian_config: Vec::new(),
        guardian_executables: Vec::new(),
    };
    let probe = MemoryProbe::new().directory("/home/dev/proj/src");
    let classes = PathClasses::from_default();
    let cx = FactContext {
        roots: &roots,
        probe: &probe,
        classes: &classes,
        catalogue: Catalogue::builtin(),
        linked: LinkedNames::new(),
    };
    let facts = shell::read(&text, "/home/dev/proj".as_ref(), &cx);
    let mut out = format!("{}\nreading: {:?}\n", facts.summary, facts.reading);
    for (index, command) in facts.commands.iter().enumerate() {
        out += &format!(
            "{index}: {} [{:?}] {:?} inside {:?}\n",
            command.display(),
            command.effects_known,
            command.effects,
            command.place.inside
        );
    }
    for access in &facts.accesses {
        out += &format!(
            "{:?} {:?} {:?}\n",
            access.kind, access.detail, access.target
        );
    }
    for opacity in &facts.opacity {
        out += &format!(
            "opaque: {} ({:?}) {}\n",
            opacity.code, opacity.command, opacity.reason
        );
    }
    for finding in &facts.findings {
        out += &format!("danger: {:?} {}\n", finding.words, finding.facts.summary);
    }
    print(&out);
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn print(text: &str) {
    println!("{text}");
}
