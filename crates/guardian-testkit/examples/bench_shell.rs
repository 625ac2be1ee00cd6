//! What reading a shell command costs, against tree-sitter's bare parse of the same text
//! (SPEC §18): `cargo xtask bench shell`.
//!
//! `cargo run --release -p guardian-testkit --example bench_shell -- --once NAME` only reads the
//! text of that name a few times, for a profiler.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::path::{Path, PathBuf};

use guardian_facts::catalogue::Catalogue;
use guardian_facts::probe::MemoryProbe;
use guardian_facts::{FactContext, Facts, LinkedNames, PathClasses, Reading, RootPaths, shell};
use guardian_testkit::measure::{Contest, timed};

/// A text with its goal.
struct Subject {
    name: &'static str,
    text: String,
    goal: f64,
    /// Readings in one run, so that a run is long enough to be measured.
    repeats: u32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let machine = Machine::new();
    let subjects = subjects();
    if let [once, name] = arguments.as_slice()
        && once == "--once"
    {
        let subject = subjects
            .iter()
            .find(|subject| subject.name == name)
            .ok_or("one of line, pipeline, script")?;
        for _ in 0..3 {
            std::hint::black_box(machine.read(&subject.text));
        }
        return Ok(());
    }
    for subject in &subjects {
        let facts = machine.read(&subject.text);
        assert_eq!(facts.reading, Reading::Complete, "{}", subject.name);
        let mut parser = tree_sitter::Parser::new();
        parser.set_language(&tree_sitter_bash::LANGUAGE.into())?;
        let title = format!(
            "{}: {} bytes, {} commands, in {} readings a run",
            subject.name,
            subject.text.len(),
            facts.commands.len(),
            subject.repeats
        );
        let report = Contest::new(&title, "tree-sitter parse", || {
            timed(|| {
                for _ in 0..subject.repeats {
                    std::hint::black_box(parser.parse(&subject.text, None));
                }
            })
        })
        .against("guardian reading", Some(subject.goal), || {
            timed(|| {
                for _ in 0..subject.repeats {
                    std::hint::black_box(machine.read(&subject.text));
                }
            })
        })
        .run(41);
        println!("{report}");
    }
    Ok(())
}

fn subjects() -> Vec<Subject> {
    let stages: Vec<String> = (0..40)
        .map(|stage| format!("grep -v 'word{stage}'"))
        .collect();
    let mut script = String::from("set -euo pipefail\ncd src\n");
    let mut number = 0;
    while script.len() < 63 * 1024 {
        number += 1;
        script += match number % 6 {
            0 => "if [ -f lib.rs ]; then\n  echo \"found $HOME/lib.rs\" >&2\nfi\n",
            1 => "grep -rn 'fn main' --include='*.rs' . | head -n 20\n",
            2 => "for name in alpha beta gamma; do\n  echo \"$name: ${name%a}\"\ndone\n",
            3 => "git status --short && git diff --stat HEAD~1 -- src || true\n",
            4 => "count=$(wc -l < lib.rs)\necho \"$count lines\" 2>/dev/null\n",
            _ => "cat <<'EOF'\nsome text $(not run) and `neither`\nEOF\n",
        };
    }
    vec![
        Subject {
            name: "line",
            text: "cd src && grep -rn \"fn main\" --include='*.rs' . | head -n 20".to_owned(),
            goal: 8.0,
            repeats: 50,
        },
        Subject {
            name: "pipeline",
            text: format!("cat README.md | {}", stages.join(" | ")),
            goal: 4.0,
            repeats: 10,
        },
        Subject {
            name: "script",
            text: script,
            goal: 4.0,
            repeats: 1,
        },
    ]
}

/// A clean repository in memory.
struct Machine {
    roots: RootPaths,
    probe: MemoryProbe,
    classes: PathClasses,
}

impl Machine {
    fn new() -> Self {
        let config = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";
        let mut probe = MemoryProbe::new()
            .file("/home/dev/proj/.git/config", config)
            .file("/home/dev/proj/.git/HEAD", "ref: refs/heads/main\n");
        for name in ["README.md", "src/lib.rs", "src/main.rs", "Cargo.toml"] {
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

    fn read(&self, text: &str) -> Facts {
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
