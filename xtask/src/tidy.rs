//! `cargo xtask tidy`: the rules of the house that rustc and clippy cannot hold.
//!
//! It is a test too (`the_workspace_is_tidy`), so `cargo test` holds them as well. Each rule is
//! tried on a small workspace that breaks it.

mod edges;
mod files;
mod source;
mod text;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::bail;

use crate::workspace::{self, root};

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// Relative to the workspace's root.
    pub(crate) path: PathBuf,
    /// 1-based; 0 for the file as a whole.
    pub(crate) line: usize,
    /// Id of the rule.
    pub(crate) rule: &'static str,
    /// What is wrong, and what to do.
    pub(crate) message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            line,
            rule,
            message,
        } = self;
        write!(formatter, "{}:{line}: {message} [{rule}]", path.display())
    }
}

/// Checks the workspace.
pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    if !arguments.is_empty() {
        bail!("usage: cargo xtask tidy");
    }
    let problems = check(&root())?;
    for problem in &problems {
        println!("{problem}");
    }
    if !problems.is_empty() {
        bail!("{} problems", problems.len());
    }
    Ok(())
}

/// All problems of the workspace in `root`, sorted.
pub(crate) fn check(root: &Path) -> anyhow::Result<Vec<Problem>> {
    let mut problems = edges::check(&workspace::members(root)?);
    for path in workspace::files(root)? {
        files::check_name(&path, &mut problems);
        let Ok(content) = std::fs::read_to_string(root.join(&path)) else {
            continue;
        };
        files::check_text(&path, &content, &mut problems);
        if path.extension().is_some_and(|extension| extension == "rs") {
            source::check(&path, &content, &mut problems);
        }
    }
    problems.sort();
    Ok(problems)
}
