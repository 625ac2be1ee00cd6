//! The life of scratch directories (SPEC §4): `<data_dir>/scratch/<sessionId>/`, made on first
//! need by guardian-tools, removed with the session, swept at start.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Directories in which nothing was touched for so long are removed at start.
const KEPT_UNTOUCHED: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Entries looked at in one directory before it counts as in use: a sweep must not hold up the
/// start.
const ENTRIES_LOOKED_AT: usize = 50_000;

/// The scratch directory of a session, whether or not it exists. `data_dir` must be canonical.
#[must_use]
pub fn directory(data_dir: &Path, session_id: &str) -> PathBuf {
    data_dir.join("scratch").join(session_id)
}

/// Removes a session's scratch directory. Links in it are removed, not followed.
///
/// # Errors
/// Those of the file system; a missing directory is none.
pub fn remove(data_dir: &Path, session_id: &str) -> io::Result<()> {
    match fs::remove_dir_all(directory(data_dir, session_id)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// What a sweep may know of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionLife {
    /// It has a running turn, here or in another process.
    Running,
    /// It exists and is at rest.
    Resting,
}

/// Removes directories whose session is gone, and those in which nothing was touched for seven
/// days and whose session is not running. Call it only with a complete list of sessions: a failed
/// session query skips the sweep. Returns how many were removed.
/// A directory that cannot be removed is left.
pub fn sweep(
    data_dir: &Path,
    candidates: &[String],
    sessions: &BTreeMap<String, SessionLife>,
    now: SystemTime,
) -> usize {
    let goes = |name: &String| match sessions.get(name) {
        None => true,
        Some(SessionLife::Running) => false,
        Some(SessionLife::Resting) => is_untouched(&directory(data_dir, name), now),
    };
    candidates
        .iter()
        .filter(|name| goes(name) && remove(data_dir, name).is_ok())
        .count()
}

/// Names of the scratch directories there are. To be asked *before* the sessions are, so that a
/// session that is made in between does not look like one that is gone.
///
/// # Errors
/// When the scratch area cannot be listed; a missing one is empty.
pub fn candidates(data_dir: &Path) -> io::Result<Vec<String>> {
    match fs::read_dir(data_dir.join("scratch")) {
        Ok(entries) => Ok(entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Nothing in it, recursively, was touched within the time. Anything unreadable counts as touched.
fn is_untouched(top: &Path, now: SystemTime) -> bool {
    let mut open = vec![top.to_owned()];
    let mut looked_at = 0;
    while let Some(path) = open.pop() {
        looked_at += 1;
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            return false;
        };
        let age = metadata
            .modified()
            .ok()
            .and_then(|at| now.duration_since(at).ok());
        if looked_at > ENTRIES_LOOKED_AT || age.is_none_or(|age| age < KEPT_UNTOUCHED) {
            return false;
        }
        if metadata.is_dir() {
            let Ok(entries) = fs::read_dir(&path) else {
                return false;
            };
            for entry in entries {
                let Ok(entry) = entry else { return false };
                open.push(entry.path());
            }
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(data: &Path, session: &str) -> PathBuf {
        let path = directory(data, session);
        fs::create_dir_all(path.join("sub")).unwrap();
        fs::write(path.join("sub/file"), "x").unwrap();
        path
    }

    #[test]
    fn orphans_go_running_and_touched_ones_stay() {
        let data = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("kept"), "x").unwrap();
        let paths = ["gone", "running", "resting"].map(|name| make(data.path(), name));
        std::os::unix::fs::symlink(outside.path(), paths[0].join("link")).unwrap();
        let sessions = BTreeMap::from([
            ("running".to_owned(), SessionLife::Running),
            ("resting".to_owned(), SessionLife::Resting),
        ]);
        let now = SystemTime::now();
        assert_eq!(
            sweep(
                data.path(),
                &candidates(data.path()).unwrap(),
                &sessions,
                now
            ),
            1
        );
        assert_eq!(
            paths.each_ref().map(|path| path.exists()),
            [false, true, true]
        );
        assert!(outside.path().join("kept").exists());

        let later = now + KEPT_UNTOUCHED + Duration::from_secs(60);
        assert_eq!(
            sweep(
                data.path(),
                &candidates(data.path()).unwrap(),
                &sessions,
                later
            ),
            1
        );
        assert_eq!(
            paths.each_ref().map(|path| path.exists()),
            [false, true, false]
        );
    }

    #[test]
    fn a_missing_area_is_nothing_to_sweep() {
        let data = tempfile::tempdir().unwrap();
        assert!(candidates(data.path()).unwrap().is_empty());
        assert!(remove(data.path(), "none").is_ok());
    }
}
