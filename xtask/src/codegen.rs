//! `cargo xtask codegen [--check]`: files that are generated from the code and committed.
//!
//! A generator is a line in [`GENERATORS`]. Generated files say so in themselves where their
//! format has comments; `--check` fails when one differs from what the code says.

use std::path::PathBuf;

use anyhow::{Context, bail};

use crate::workspace::root;

mod rules_reference;
mod schemas;
mod tools;
mod typescript;
mod wire;

/// A file as it should be.
pub(crate) struct Generated {
    /// Relative to the workspace's root.
    pub(crate) path: PathBuf,
    /// All of it.
    pub(crate) content: String,
}

/// One source of generated files.
struct Generator {
    name: &'static str,
    generate: fn() -> anyhow::Result<Vec<Generated>>,
}

/// All generators.
const GENERATORS: &[Generator] = &[
    Generator {
        name: "tool argument schemas",
        generate: schemas::tools,
    },
    Generator {
        name: "docs/tools.md",
        generate: tools::page,
    },
    Generator {
        name: "docs/rules-reference.md",
        generate: rules_reference::page,
    },
    Generator {
        name: "policy schema",
        generate: schemas::policy,
    },
    Generator {
        name: "verdict schema",
        generate: schemas::verdict,
    },
    Generator {
        name: "review wire forms",
        generate: schemas::review,
    },
    Generator {
        name: "review configuration",
        generate: schemas::review_config,
    },
    Generator {
        name: "facts schema",
        generate: schemas::facts,
    },
    Generator {
        name: "docs/commands.md",
        generate: tools::commands,
    },
    Generator {
        name: "wire methods",
        generate: wire::methods,
    },
    Generator {
        name: "TypeScript types",
        generate: typescript::types,
    },
    Generator {
        name: "docs/protocol.md",
        generate: wire::page,
    },
];

/// Writes or checks all generated files.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let check = match arguments {
        [] => false,
        [one] if one == "--check" => true,
        _ => bail!("usage: cargo xtask codegen [--check]"),
    };
    let mut stale = Vec::new();
    for generator in GENERATORS {
        let files = (generator.generate)().with_context(|| generator.name)?;
        for file in files {
            let path = root().join(&file.path);
            let current = std::fs::read_to_string(&path).ok();
            if current.as_deref() == Some(file.content.as_str()) {
                continue;
            }
            if check {
                stale.push(file.path.display().to_string());
                continue;
            }
            if let Some(directory) = path.parent() {
                std::fs::create_dir_all(directory)?;
            }
            std::fs::write(&path, file.content)?;
            println!("wrote {}", file.path.display());
        }
    }
    if !stale.is_empty() {
        bail!(
            "out of date: {}; run `cargo xtask codegen`",
            stale.join(", ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_generators_write_the_same_file() {
        let mut paths: Vec<PathBuf> = GENERATORS
            .iter()
            .flat_map(|generator| (generator.generate)().unwrap())
            .map(|file| file.path)
            .collect();
        let count = paths.len();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), count);
    }
}
