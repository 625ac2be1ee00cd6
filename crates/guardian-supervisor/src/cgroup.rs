//! A cgroup of its own for each call, where the system lets us have one: the kernel then ends all
//! its members at once, whoever their parents are and however fast they fork.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The cgroup v2 directory beneath which this process may make its own, found by trying: make one,
/// see that it can be killed as a whole, remove it. `None` where that does not work.
#[must_use]
pub fn probe() -> Option<PathBuf> {
    let own = own_cgroup()?;
    let trial = own.join(format!("guardian-probe-{}", std::process::id()));
    fs::create_dir(&trial).ok()?;
    // Writable for us: the group is empty, so killing it kills nobody.
    let works = fs::write(trial.join("cgroup.kill"), "1").is_ok()
        && fs::OpenOptions::new()
            .write(true)
            .open(trial.join("cgroup.procs"))
            .is_ok()
        && fs::OpenOptions::new()
            .write(true)
            .open(own.join("cgroup.procs"))
            .is_ok();
    let _ = fs::remove_dir(&trial);
    works.then_some(own)
}

/// This process's directory in the v2 hierarchy.
fn own_cgroup() -> Option<PathBuf> {
    let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = membership
        .lines()
        .find_map(|line| line.strip_prefix("0::/"))?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ').skip(3);
        let (root, mount_point) = (fields.next()?, fields.next()?);
        // A mount of a part of the hierarchy shows other paths than the membership.
        (after.starts_with("cgroup2 ") && root == "/").then(|| Path::new(mount_point).join(path))
    })
}

/// The cgroup of one call.
#[derive(Debug)]
pub struct CallGroup {
    directory: PathBuf,
}

impl CallGroup {
    /// Takes the group at `directory`, which [`Self::create`] made (perhaps in another process).
    #[must_use]
    pub fn at(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Makes the group.
    ///
    /// # Errors
    /// What the system said.
    pub fn create(directory: PathBuf) -> io::Result<Self> {
        fs::create_dir(&directory)?;
        Ok(Self { directory })
    }

    /// Moves the calling process in: what it starts from now on is born there.
    ///
    /// # Errors
    /// What the system said.
    pub fn join(&self) -> io::Result<()> {
        fs::write(self.directory.join("cgroup.procs"), "0")
    }

    /// Moves the calling process out again, into the group above.
    ///
    /// # Errors
    /// What the system said.
    pub fn leave(&self) -> io::Result<()> {
        let above = self.directory.parent().unwrap_or(Path::new("/"));
        fs::write(above.join("cgroup.procs"), "0")
    }

    /// Kills every member, those being forked too.
    ///
    /// # Errors
    /// What the system said.
    pub fn kill(&self) -> io::Result<()> {
        fs::write(self.directory.join("cgroup.kill"), "1")
    }

    /// Removes the group; only an empty one can be removed.
    ///
    /// # Errors
    /// What the system said.
    pub fn remove(&self) -> io::Result<()> {
        // A member may have made groups of its own.
        if let Ok(entries) = fs::read_dir(&self.directory) {
            for entry in entries.flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    let _ = Self::at(entry.path()).remove();
                }
            }
        }
        fs::remove_dir(&self.directory)
    }

    /// Has it members (in it or beneath it)?
    #[must_use]
    pub fn is_populated(&self) -> bool {
        fs::read_to_string(self.directory.join("cgroup.events"))
            .is_ok_and(|text| text.lines().any(|line| line == "populated 1"))
    }
}
