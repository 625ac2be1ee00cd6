//! The policy file of a repository whose subdirectory is the workspace (ADR 28).

use std::path::{Path, PathBuf};

use super::file::{FileState, Owner, WatchedFile};
use super::layers::WORKSPACE_FILE;

/// A policy file that stands above `workspace` in the same repository, nearest first. It does not
/// count for this workspace, which people who wrote it may not expect: whoever shows what is in
/// force says so. Blocking.
#[must_use]
pub fn passed_over(workspace: &Path) -> Option<PathBuf> {
    let is_top = |directory: &Path| directory.join(".git").symlink_metadata().is_ok();
    if is_top(workspace) {
        return None;
    }
    let mut nearest = None;
    for directory in workspace.ancestors().skip(1) {
        if nearest.is_none() {
            let file = directory.join(WORKSPACE_FILE);
            let watched = WatchedFile::new(file.clone(), Owner::Repository);
            nearest = (watched.look() != FileState::Missing).then_some(file);
        }
        if is_top(directory) {
            return nearest;
        }
    }
    None
}

/// The same as a sentence.
#[must_use]
pub fn passed_over_sentence(file: &Path, workspace: &Path) -> String {
    format!(
        "the repository's policy `{}` does not count here: the workspace is `{}`",
        file.display(),
        workspace.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_of_the_same_repository_is_passed_over() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        let inner = top.join("repo/packages/a");
        std::fs::create_dir_all(&inner).unwrap();
        let write = |directory: &Path| {
            std::fs::create_dir_all(directory.join(".guardian")).unwrap();
            std::fs::write(directory.join(WORKSPACE_FILE), "version = 1").unwrap();
            directory.join(WORKSPACE_FILE)
        };
        // Nothing says that what lies above belongs to it.
        let above = write(&top);
        assert_eq!(passed_over(&inner), None);
        std::fs::create_dir(top.join("repo/.git")).unwrap();
        assert_eq!(passed_over(&inner), None, "another repository's");
        let own = write(&top.join("repo"));
        assert_eq!(passed_over(&inner), Some(own.clone()));
        assert_eq!(passed_over(&top.join("repo")), None, "it is its own");
        // A worktree has a file for a `.git`.
        std::fs::write(top.join("repo/packages/.git"), "gitdir: x").unwrap();
        assert_eq!(passed_over(&inner), None);
        std::fs::remove_file(top.join("repo/packages/.git")).unwrap();
        std::fs::remove_file(&own).unwrap();
        std::os::unix::fs::symlink(&above, &own).unwrap();
        assert_eq!(
            passed_over(&inner),
            Some(own),
            "what does not load is told, too"
        );
    }
}
