//! What of a workspace a confinement has to know by name: its secret files, and what makes code
//! run later. Looked for before every confined command, since the one before it may have made more.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Mounts cost time, and a workspace of test certificates may hold thousands.
const MOST_PLACES: usize = 400;

/// What a confined command may do with a place of the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceClass {
    /// Anything.
    Ordinary,
    /// Not read it.
    Secret,
    /// Not change it.
    Protected,
}

/// What [`look_at_workspace`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspacePlaces {
    /// Secret files and directories.
    pub secret: Vec<PathBuf>,
    /// Protected files and directories that exist.
    pub protected: Vec<PathBuf>,
    /// Repositories beneath the workspace: the directories that hold a `.git`.
    pub repositories: Vec<PathBuf>,
    /// What may be missing above, in words for people; `None` when everything was seen.
    pub gap: Option<String>,
}

/// Looks at all that lies beneath `workspace`, level by level, at most `entries` of it. Does not
/// look into `.git`, into what is secret or protected as a whole, or through links.
pub fn look_at_workspace(
    workspace: &Path,
    entries: usize,
    mut class_of: impl FnMut(&Path) -> PlaceClass,
) -> WorkspacePlaces {
    let mut found = WorkspacePlaces::default();
    let mut left = entries;
    let mut directories = VecDeque::from([workspace.to_path_buf()]);
    while let Some(directory) = directories.pop_front() {
        // Unreadable for us is unreadable for the command.
        let Ok(listing) = std::fs::read_dir(&directory) else {
            continue;
        };
        for entry in listing.flatten() {
            if left == 0 {
                found.gap = Some(format!(
                    "the workspace has more than {entries} entries: secret and protected files \
                     beneath `{}` and beyond are not looked for",
                    directory.display()
                ));
                return found;
            }
            left -= 1;
            let path = entry.path();
            if entry.file_name() == ".git" {
                found.repositories.push(directory.clone());
                continue;
            }
            let list = match class_of(&path) {
                PlaceClass::Secret => &mut found.secret,
                PlaceClass::Protected => &mut found.protected,
                PlaceClass::Ordinary => {
                    if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                        directories.push_back(path);
                    }
                    continue;
                }
            };
            list.push(path);
            if found.secret.len() + found.protected.len() > MOST_PLACES {
                found.gap = Some(format!(
                    "the workspace has more than {MOST_PLACES} secret and protected files: not \
                     all of them are masked"
                ));
                return found;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(workspace: &Path, entries: usize) -> WorkspacePlaces {
        look_at_workspace(workspace, entries, |path| {
            match path.file_name().and_then(|name| name.to_str()) {
                Some(".env") => PlaceClass::Secret,
                Some(".envrc" | ".husky") => PlaceClass::Protected,
                _ => PlaceClass::Ordinary,
            }
        })
    }

    #[test]
    fn places_are_found_at_any_depth_and_repositories_are_not_entered() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in [
            "a/b/.env",
            ".husky/pre-commit",
            "sub/.git/.env",
            ".git/x",
            "c/.envrc",
        ] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "").unwrap();
        }
        std::os::unix::fs::symlink(root, root.join("loop")).unwrap();
        let found = look(root, 1000);
        assert_eq!(found.secret, [root.join("a/b/.env")]);
        let mut protected = found.protected;
        protected.sort();
        assert_eq!(protected, [root.join(".husky"), root.join("c/.envrc")]);
        let mut repositories = found.repositories;
        repositories.sort();
        assert_eq!(repositories, [root.to_path_buf(), root.join("sub")]);
        assert_eq!(found.gap, None);
    }

    #[test]
    fn what_was_not_seen_is_said() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..5 {
            std::fs::write(directory.path().join(format!("f{number}")), "").unwrap();
        }
        assert_eq!(look(directory.path(), 5).gap, None);
        assert!(
            look(directory.path(), 4)
                .gap
                .unwrap()
                .contains("more than 4")
        );
    }
}
