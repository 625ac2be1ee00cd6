//! Where the workspace is, its files, and cargo.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use cargo_metadata::{Metadata, MetadataCommand};

/// The workspace's root directory.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// cargo, in the workspace's root.
///
/// What `cargo xtask` set for this program alone is taken away again: build scripts of dependencies
/// (ring's) watch these variables, and half the workspace would be built anew after a plain
/// `cargo build`.
pub(crate) fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root());
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// Members of the workspace in `root` and what they declare; asks no registry.
pub(crate) fn members(root: &Path) -> anyhow::Result<Metadata> {
    MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .context("cargo metadata")
}

/// Runs a command; an unsuccessful end is an error.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command
        .status()
        .with_context(|| format!("{command:?} did not start"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// All files beneath `root`, relative, sorted; without version control, builds and installed
/// packages. Links are not followed.
pub(crate) fn files(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    const NOT_OURS: [&str; 4] = [".git", "target", "node_modules", "corpus"];
    let mut found = Vec::new();
    let mut directories = vec![root.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let name = entry.file_name();
            if kind.is_dir() {
                if !NOT_OURS.iter().any(|not_ours| name == *not_ours) {
                    directories.push(entry.path());
                }
            } else if kind.is_file() && name != ".git" {
                found.push(entry.path().strip_prefix(root)?.to_path_buf());
            }
        }
    }
    found.sort();
    Ok(found)
}
