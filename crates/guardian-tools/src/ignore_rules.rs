//! The ignore layers of a walk (SPEC §3), highest first: `.guardianignore`, then `.ignore` and
//! `.gitignore` (also outside a git repository), then what an agent never wants to see.
//!
//! Only files at or beneath the start of the walk count: naming a directory lifts the rules above
//! it.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Mode, OFlags};

use crate::file::read_whole;

/// Directories that are made by tools and walked only when they are named.
const DEFAULT_DIRECTORIES: &[&str] = &[
    "node_modules",
    "bower_components",
    "dist",
    "build",
    "target",
    ".venv",
    "venv",
    "__pycache__",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    "coverage",
    ".nyc_output",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".turbo",
    ".parcel-cache",
    ".cache",
    ".gradle",
    ".terraform",
];

/// Files that are made by tools.
const DEFAULT_SUFFIXES: &[&str] = &[".log", ".pyc", ".min.js.map"];

/// Ignore files larger than this are not read.
const MAX_IGNORE_FILE: u64 = 1024 * 1024;

/// Is this one of the directories that are left out by default?
pub(crate) fn is_default_directory(name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| DEFAULT_DIRECTORIES.contains(&name))
}

fn is_default_file(name: &OsStr) -> bool {
    name.to_str()
        .is_some_and(|name| DEFAULT_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)))
}

/// The ignore files of one directory, chained to those above.
pub(crate) struct IgnoreLevel {
    above: Option<Arc<IgnoreLevel>>,
    /// Bytes of a walk-relative path in front of what this level's patterns see.
    prefix: usize,
    guardian: Option<Gitignore>,
    /// `.ignore` first, then `.gitignore`.
    plain: Vec<Gitignore>,
}

impl IgnoreLevel {
    /// Adds the ignore files among a directory's names, if there are any.
    pub(crate) fn below(
        above: Option<Arc<Self>>,
        directory: &OwnedFd,
        relative: &Path,
        names: &IgnoreNames,
    ) -> Option<Arc<Self>> {
        if !names.any() {
            return above;
        }
        let load = |present: bool, name: &str| {
            if present {
                read_rules(directory, name)
            } else {
                None
            }
        };
        let guardian = load(names.guardianignore, ".guardianignore");
        let plain: Vec<Gitignore> = [
            load(names.ignore, ".ignore"),
            load(names.gitignore, ".gitignore"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if guardian.is_none() && plain.is_empty() {
            return above;
        }
        let length = relative.as_os_str().len();
        let prefix = if length == 0 { 0 } else { length + 1 };
        Some(Arc::new(Self {
            above,
            prefix,
            guardian,
            plain,
        }))
    }
}

/// Which ignore files a directory has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct IgnoreNames {
    guardianignore: bool,
    ignore: bool,
    gitignore: bool,
}

impl IgnoreNames {
    pub(crate) fn see(&mut self, name: &[u8]) {
        match name {
            b".gitignore" => self.gitignore = true,
            b".ignore" => self.ignore = true,
            b".guardianignore" => self.guardianignore = true,
            _ => {}
        }
    }

    fn any(self) -> bool {
        self.guardianignore || self.ignore || self.gitignore
    }
}

/// Is an entry left out? `relative` is its path from the start of the walk.
pub(crate) fn is_ignored(
    level: Option<&Arc<IgnoreLevel>>,
    relative: &Path,
    name: &OsStr,
    is_directory: bool,
    defaults: bool,
) -> bool {
    if name == ".git" {
        return true;
    }
    if let Some(level) = level {
        let mut here = Some(level);
        while let Some(rules) = here {
            if let Some(guardian) = &rules.guardian
                && let Some(answer) = decided(guardian, rules, relative, is_directory)
            {
                return answer;
            }
            here = rules.above.as_ref();
        }
        let mut here = Some(level);
        while let Some(rules) = here {
            for plain in &rules.plain {
                if let Some(answer) = decided(plain, rules, relative, is_directory) {
                    return answer;
                }
            }
            here = rules.above.as_ref();
        }
    }
    defaults
        && if is_directory {
            is_default_directory(name)
        } else {
            is_default_file(name)
        }
}

fn decided(
    rules: &Gitignore,
    level: &IgnoreLevel,
    relative: &Path,
    is_directory: bool,
) -> Option<bool> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = relative.as_os_str().as_bytes();
    let seen = Path::new(OsStr::from_bytes(bytes.get(level.prefix..)?));
    match rules.matched(seen, is_directory) {
        Match::None => None,
        Match::Ignore(_) => Some(true),
        Match::Whitelist(_) => Some(false),
    }
}

fn read_rules(directory: &OwnedFd, name: &str) -> Option<Gitignore> {
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, name, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return None;
    }
    let size = u64::try_from(stat.st_size).ok()?;
    let bytes = read_whole(file.as_fd(), size, MAX_IGNORE_FILE).ok()??;
    let mut builder = GitignoreBuilder::new("");
    for line in String::from_utf8_lossy(&bytes).lines() {
        // A malformed line ignores nothing, like in git.
        let _ = builder.add_line(None, line);
    }
    let rules = builder.build().ok()?;
    (!rules.is_empty()).then_some(rules)
}
