//! The confinement as the trees that Landlock lets a command open. It is an allow list: what is to
//! stay unread is left out by naming everything around it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use guardian_supervisor::protocol::Confine;

use super::super::BashContext;
use super::{NetworkAccess, is_beneath};

/// Directories whose entries are named one by one may be large; each name is a rule.
const MOST_RULES: usize = 2_000;
/// What the supervisor takes in one argument.
const MOST_BYTES: usize = 100 * 1024;

/// Trees that a confined command does not read as they are: other people's files, daemons'
/// sockets, and devices.
const SYSTEM_MASKS: &[&str] = &["/tmp", "/var/tmp", "/run", "/dev"];

/// What of a confinement Landlock is told, and what it cannot express.
pub(super) struct Layout {
    pub(super) confine: Confine,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) weaknesses: Vec<String>,
}

/// What no command is kept from.
pub(super) fn weaknesses(kernel: u32) -> Vec<String> {
    let mut list = vec![
        "names and metadata of masked files can be seen".to_owned(),
        "modes, owners and times of the user's files can be changed".to_owned(),
        "secret files of the workspace can be read and its protected files changed".to_owned(),
        "/tmp is not private: it cannot be used, TMPDIR lies in scratch".to_owned(),
        "with network, daemons can be reached through sockets of the file system".to_owned(),
    ];
    if kernel < 3 {
        list.push("files outside can be truncated".to_owned());
    }
    if kernel < 6 {
        list.push("processes outside can be signalled".to_owned());
    }
    list
}

impl Layout {
    /// # Errors
    /// The layout cannot be expressed in a sane number of rules.
    pub(super) fn new(context: &BashContext, kernel: u32) -> Result<Self, String> {
        let request = &context.sandbox;
        let workspace = &context.workspace_path;
        let real = |path: &Path| path.canonicalize().ok();
        let temporary = context.scratch.join("tmp");
        std::fs::create_dir_all(&temporary)
            .map_err(|error| format!("no directory for temporary files: {error}"))?;
        let mut writable: Vec<PathBuf> = std::iter::once(context.scratch.as_path())
            .chain(request.writable.iter().map(PathBuf::as_path))
            .filter_map(real)
            .collect();
        // A cache could lead anywhere through a link; only what lies where it is named counts.
        writable.dedup();
        let named: Vec<PathBuf> = request.named.iter().filter_map(|path| real(path)).collect();
        let masks: Vec<PathBuf> = request
            .masked
            .iter()
            .map(PathBuf::as_path)
            .chain(SYSTEM_MASKS.iter().map(Path::new))
            .filter_map(real)
            .filter(|mask| !named.contains(mask))
            .collect();
        let mut weaknesses = weaknesses(kernel);
        weaknesses.extend(request.gaps.iter().cloned());
        weaknesses.extend(
            masks
                .iter()
                .filter(|mask| is_beneath(mask, workspace))
                .map(|mask| {
                    let shown = mask.strip_prefix(workspace).unwrap_or(mask);
                    format!("`{}` can be read", shown.display())
                }),
        );
        let mut readable = Vec::new();
        around(Path::new("/"), &masks, &mut readable)?;
        // The workspace and scratch may lie beneath a mask (guardian's data, /tmp).
        readable.extend(named);
        readable.extend(writable.iter().cloned());
        if request.network == NetworkAccess::On {
            readable.push("/run/systemd/resolve".into());
        }
        let confine = Confine {
            readable,
            listable: vec!["/".into()],
            writable,
            network: request.network == NetworkAccess::On,
        };
        let bytes: usize = confine
            .readable
            .iter()
            .chain(&confine.writable)
            .map(|path| path.as_os_str().len() + 4)
            .sum();
        if bytes > MOST_BYTES {
            return Err("too many paths would have to be named".to_owned());
        }
        Ok(Self {
            confine,
            variables: vec![("TMPDIR".into(), temporary.into())],
            weaknesses,
        })
    }
}

/// Names `directory`, or everything in it but the masks. Links are not named: where they lead is
/// decided there.
fn around(directory: &Path, masks: &[PathBuf], into: &mut Vec<PathBuf>) -> Result<(), String> {
    if masks.iter().any(|mask| mask == directory) {
        return Ok(());
    }
    if !masks.iter().any(|mask| is_beneath(mask, directory)) {
        if into.len() >= MOST_RULES {
            return Err("too many files lie around what is masked".to_owned());
        }
        into.push(directory.to_owned());
        return Ok(());
    }
    // Unreadable for us is unreadable for the command.
    let Ok(listing) = std::fs::read_dir(directory) else {
        return Ok(());
    };
    for entry in listing.flatten() {
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            around(&entry.path(), masks, into)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_around_a_mask_is_named_and_no_link_into_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in ["a/x", "b/secret/key", "b/open/y"] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), "").unwrap();
        }
        std::os::unix::fs::symlink(root.join("b/secret"), root.join("b/way")).unwrap();
        let mut named = Vec::new();
        around(root, &[root.join("b/secret")], &mut named).unwrap();
        named.sort();
        assert_eq!(named, [root.join("a"), root.join("b/open")]);
        named.clear();
        around(&root.join("a"), &[root.to_path_buf().join("b")], &mut named).unwrap();
        assert_eq!(named, [root.join("a")]);
    }

    #[test]
    fn an_older_kernel_holds_less() {
        assert!(weaknesses(1).len() > weaknesses(6).len());
        assert!(!weaknesses(6).is_empty());
    }
}
