//! Targets that the floor treats specially: the root, home, the workspace, system directories,
//! devices.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use guardian_facts::defaults::{FactsConfig, SystemPaths};
use guardian_facts::{Access, Facts, RootPaths, Target};

use crate::policy::{Case, PathGlob};

static RAW_DEVICE_GLOBS: LazyLock<Vec<PathGlob>> = LazyLock::new(|| {
    let devices = &FactsConfig::embedded().system.block_devices;
    devices
        .iter()
        .filter_map(|device| PathGlob::shell(&device.replace("/**", "/*")))
        .collect()
});

/// What makes a path one that must not be deleted, renamed or re-permissioned as a whole.
pub(super) fn vital_path(path: &Path, roots: &RootPaths) -> Option<&'static str> {
    if path == Path::new("/") {
        return Some("the root of the file system");
    }
    if path == roots.home {
        return Some("the home directory");
    }
    if let Some(workspace) = &roots.workspace
        && workspace.starts_with(path)
    {
        return Some(if workspace == path {
            "the workspace root"
        } else {
            "a directory above the workspace"
        });
    }
    if roots.home.starts_with(path) {
        return Some("a directory above the home directory");
    }
    SystemPaths::embedded()
        .is_system_directory(path)
        .then_some("a system directory")
}

/// What makes the target of an access vital, patterns included: `/*` is all of the root.
pub(super) fn vital_target(access: &Access, roots: &RootPaths) -> Option<&'static str> {
    match &access.target {
        Target::Exact(path) => vital_path(&path.path, roots),
        Target::Pattern { pattern, base, .. } => {
            let glob = PathGlob::shell(pattern)?;
            let reaches = |path: &Path| {
                path.to_str()
                    .is_some_and(|path| glob.matches(path, Case::Fold).is_some())
            };
            let system = &FactsConfig::embedded().system;
            let known = system.directories.iter().map(|path| PathBuf::from(&**path));
            let own = roots
                .workspace
                .iter()
                .flat_map(|workspace| workspace.ancestors())
                .chain(roots.home.ancestors())
                .map(Path::to_path_buf);
            if let Some(path) = known.chain(own).find(|path| reaches(path)) {
                return vital_path(&path, roots);
            }
            // `~/*` and `/var/*`: everything in it is as good as the directory
            let everything = takes_everything(pattern, &base.path);
            let is_workspace = roots
                .workspace
                .as_ref()
                .is_some_and(|workspace| *workspace == base.path);
            if everything && !is_workspace {
                vital_path(&base.path, roots)
            } else {
                None
            }
        }
        Target::Unknown { .. } => None,
    }
}

/// The first wildcard component behind `base` matches every name (or every hidden one).
fn takes_everything(pattern: &str, base: &Path) -> bool {
    let Some(rest) = base.to_str().and_then(|base| pattern.strip_prefix(base)) else {
        return false;
    };
    let first = rest.trim_start_matches('/').split('/').next().unwrap_or("");
    matches!(first, "*" | "**" | ".*" | ".[!.]*" | ".??*" | "?*" | "*.*")
}

/// The access writes a block device or kernel interface.
pub(super) fn is_raw_device(access: &Access) -> bool {
    match &access.target {
        Target::Exact(path) => SystemPaths::embedded().is_block_device(&path.path),
        Target::Pattern { pattern, .. } => {
            pattern.starts_with("/sys/")
                || PathGlob::shell(pattern).is_some_and(|glob| {
                    RAW_DEVICE_GLOBS
                        .iter()
                        .any(|device| device.meets(&glob, Case::Exact))
                })
        }
        Target::Unknown { .. } => false,
    }
}

/// A directory of the workspace that a build or install makes again.
pub(super) fn is_regenerable(access: &Access, facts: &Facts) -> bool {
    let Some(path) = access.exact() else {
        return false;
    };
    if path.scope != guardian_facts::Scope::Workspace {
        return false;
    }
    let known = &FactsConfig::embedded().regenerable;
    known.is_regenerable_by_name(&path.path)
        || known.is_regenerable(&path.path) && facts.git_ignored.contains(&path.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots() -> RootPaths {
        RootPaths {
            workspace: Some("/home/dev/work/proj".into()),
            scratch: "/data/scratch/s1".into(),
            home: "/home/dev".into(),
            guardian_data: "/data".into(),
            guardian_config: Vec::new(),
            guardian_executables: Vec::new(),
        }
    }

    #[track_caller]
    fn check(path: &str, expected: bool) {
        assert_eq!(
            vital_path(Path::new(path), &roots()).is_some(),
            expected,
            "{path}"
        );
    }

    #[test]
    fn vital_are_roots_ancestors_and_system_directories() {
        for path in [
            "/",
            "/home",
            "/home/dev",
            "/home/dev/work",
            "/home/dev/work/proj",
            "/etc",
            "/etc/ssh",
            "/usr",
            "/usr/lib",
            "/var",
            "/dev",
            "/proc",
        ] {
            check(path, true);
        }
        for path in [
            "/home/dev/work/proj/src",
            "/home/dev/other",
            "/tmp/x",
            "/var/tmp/x",
            "/usr/share/x/y",
        ] {
            check(path, false);
        }
    }
}
