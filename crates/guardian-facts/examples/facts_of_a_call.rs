//! Prints the facts of a few tool calls as JSON, on a machine that exists in memory only.
//!
//! `cargo run -p guardian-facts --example facts_of_a_call`
#![expect(clippy::print_stdout, reason = "an example prints what it shows")]

use guardian_facts::catalogue::Catalogue;
use guardian_facts::{
    ExtractorRegistry, FactContext, FactsV1, LinkedNames, MemoryProbe, PathClasses, RawArgs,
    RootPaths, ToolCall,
};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // What guardian-tools answers from the real machine.
    let probe = MemoryProbe::new()
        .file("/home/dev/proj/README.md", "# proj\n")
        .file("/home/dev/proj/.env", "TOKEN=x\n")
        .link("/home/dev/proj/out", "/srv/out");
    let roots = RootPaths {
        workspace: Some("/home/dev/proj".into()),
        scratch: "/home/dev/.local/share/guardian/scratch/example".into(),
        home: "/home/dev".into(),
        guardian_data: "/home/dev/.local/share/guardian".into(),
        guardian_config: vec!["/home/dev/.config/guardian".into()],
        guardian_executables: Vec::new(),
    };
    let classes = PathClasses::from_default();
    let context = FactContext {
        roots: &roots,
        probe: &probe,
        classes: &classes,
        catalogue: Catalogue::builtin(),
        linked: LinkedNames::new(),
    };
    let registry = ExtractorRegistry::builtin();

    for (tool, args) in [
        ("Read", json!({"path": "README.md"})),
        ("Read", json!({"file_path": "./docs/../.env"})),
        ("Write", json!({"path": "out/report.txt", "content": "x"})),
        ("Bash", json!({"command": "cat README.md | wc -l"})),
        ("Teleport", json!({"to": "mars"})),
    ] {
        let Value::Object(args) = args else { continue };
        let call = ToolCall {
            tool: tool.to_owned(),
            args: RawArgs::new(args),
        };
        let extraction = registry.extract(&call, &context)?;
        println!(
            "{}",
            serde_json::to_string_pretty(&FactsV1::from(&extraction.facts))?
        );
    }
    Ok(())
}
