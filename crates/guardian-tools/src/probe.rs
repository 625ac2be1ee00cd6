//! The real [`PathProbe`]: answers about this machine's paths, without changing anything and
//! without opening anything but regular files and directories.

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use guardian_facts::probe::{FileContent, LinkOrDirectory, SecretLook};
use guardian_facts::{FileId, FileKind, PathProbe, Resolved};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::contained::identity;
use crate::open::{is_pseudo_file_system, reopen};

/// Links followed in one resolution, as the kernel counts them.
const MAX_LINKS: usize = 40;
/// Longest path that is looked at, in bytes.
const MAX_PATH: usize = 8192;
/// Files up to this many bytes are hashed.
const MAX_HASHED: u64 = 64 * 1024 * 1024;

/// Answers from the file system. Blocking (system calls); run it off the async threads.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealProbe;

impl RealProbe {
    /// A probe.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl PathProbe for RealProbe {
    fn resolve(&self, path: &Path) -> Resolved {
        match Walk::resolve(path) {
            Ok(walk) => walk.into_resolved(),
            Err(reason) => Resolved {
                path: path.to_owned(),
                kind: None,
                identity: None,
                links: 1,
                followed_link: false,
                error: Some(reason),
            },
        }
    }

    fn read_file(&self, path: &Path, max: usize) -> Option<FileContent> {
        let file = open_regular(path)?;
        let size = u64::try_from(rustix::fs::fstat(&file).ok()?.st_size).ok()?;
        let head = read_head(file.as_fd(), max).ok()?;
        let hash = if size > MAX_HASHED {
            String::new()
        } else if (head.len() as u64) < size || head.len() == max {
            crate::tag::content_hash(file.as_fd()).ok()?
        } else {
            crate::tag::tag_of_bytes(&head)
        };
        Some(FileContent { head, size, hash })
    }

    fn list(&self, directory: &Path, max: usize) -> Option<Vec<String>> {
        let handle = open_for_listing(directory)?;
        let mut names = Vec::new();
        each_entry(&handle, |name, _| {
            names.push(name.to_string_lossy().into_owned());
            names.len() < max
        })
        .ok()?;
        names.sort();
        Some(names)
    }

    fn links_and_directories(&self, directory: &Path, max: usize) -> Option<Vec<LinkOrDirectory>> {
        let handle = open_for_listing(directory)?;
        let mut entries = Vec::new();
        let mut seen = 0;
        each_entry(&handle, |name, kind| {
            seen += 1;
            if matches!(kind, FileType::Symlink | FileType::Directory) {
                entries.push(LinkOrDirectory {
                    name: name.to_string_lossy().into_owned(),
                    is_link: kind == FileType::Symlink,
                });
            }
            seen <= max
        })
        .ok()?;
        if seen > max {
            return None;
        }
        entries.sort();
        Some(entries)
    }

    fn look_for_secrets(
        &self,
        directory: &Path,
        max: usize,
        is_secret: &dyn Fn(&Path) -> bool,
    ) -> SecretLook {
        let Some(handle) = open_for_listing(directory) else {
            return SecretLook::Unknown;
        };
        let mut seen = 0_usize;
        let mut incomplete = false;
        let mut open = vec![(handle, directory.to_owned())];
        while let Some((handle, path)) = open.pop() {
            let mut below: Vec<OsString> = Vec::new();
            let mut found = false;
            let listed = each_entry(&handle, |name, kind| {
                seen += 1;
                if is_secret(&path.join(name)) {
                    found = true;
                    return false;
                }
                match kind {
                    FileType::Directory => below.push(name.to_owned()),
                    // The file system does not say: it may be a directory.
                    FileType::Unknown => incomplete = true,
                    _ => {}
                }
                seen < max
            });
            if found {
                return SecretLook::Found;
            }
            if seen >= max {
                return SecretLook::Unknown;
            }
            incomplete |= listed.is_err();
            for name in below {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                match rustix::fs::openat(&handle, &name, flags, Mode::empty()) {
                    Ok(child) => open.push((child, path.join(&name))),
                    Err(_) => incomplete = true,
                }
            }
            // Every open directory costs a descriptor.
            if open.len() > 256 {
                return SecretLook::Unknown;
            }
        }
        if incomplete {
            SecretLook::Unknown
        } else {
            SecretLook::Clean
        }
    }
}

/// A resolution in progress: the directory reached so far and the names still to go.
struct Walk {
    /// Canonical path of `here`.
    path: PathBuf,
    /// `O_PATH` handle of what the path leads to.
    here: OwnedFd,
    stat: Stat,
    /// Names beneath `here` that do not exist.
    missing: Vec<OsString>,
    followed: bool,
    /// The last component is a magic link of /proc to something that is not a file.
    magic: bool,
}

/// What is left to walk, next component last.
enum Next {
    Name(OsString),
    Up,
}

impl Walk {
    fn resolve(path: &Path) -> Result<Self, String> {
        if !path.is_absolute() {
            return Err("the path is not absolute".to_owned());
        }
        let bytes = path.as_os_str().as_bytes();
        if bytes.len() > MAX_PATH {
            return Err("the path is too long".to_owned());
        }
        if bytes.contains(&0) {
            return Err("the path holds a NUL byte".to_owned());
        }
        if let Some(walk) = Self::without_links(path) {
            return Ok(walk);
        }
        Self::step_by_step(path)
    }

    /// Two or three system calls for the ordinary cases: no link is in it, and it exists, or all
    /// but its last name does.
    fn without_links(path: &Path) -> Option<Self> {
        let (path, missing) = match Self::open_without_links(path) {
            Ok(here) => return Self::at(path, here, Vec::new()),
            Err(Errno::NOENT) => match path.components().next_back()? {
                Component::Normal(name) => (path.parent()?, name),
                _ => return None,
            },
            Err(_) => return None,
        };
        let here = Self::open_without_links(path).ok()?;
        let walk = Self::at(path, here, vec![missing.to_owned()])?;
        // A link there that leads nowhere is no missing name.
        let found = rustix::fs::statat(&walk.here, missing, AtFlags::SYMLINK_NOFOLLOW);
        (is_directory(&walk.stat) && found.err() == Some(Errno::NOENT)).then_some(walk)
    }

    fn open_without_links(path: &Path) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        rustix::fs::openat2(rustix::fs::CWD, path, flags, Mode::empty(), resolve)
    }

    /// What a path without links leads to, with the names beneath it that do not exist.
    fn at(path: &Path, here: OwnedFd, missing: Vec<OsString>) -> Option<Self> {
        let stat = rustix::fs::fstat(&here).ok()?;
        let mut canonical = PathBuf::from("/");
        for part in path.components() {
            match part {
                Component::Normal(name) => canonical.push(name),
                // Without links the parent is the lexical one.
                Component::ParentDir => {
                    canonical.pop();
                }
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Some(Self {
            path: canonical,
            here,
            stat,
            missing,
            followed: false,
            magic: false,
        })
    }

    fn step_by_step(path: &Path) -> Result<Self, String> {
        let here = open_top()?;
        let stat = rustix::fs::fstat(&here).map_err(said)?;
        let mut walk = Self {
            path: PathBuf::from("/"),
            here,
            stat,
            missing: Vec::new(),
            followed: false,
            magic: false,
        };
        let mut parents: Vec<OwnedFd> = Vec::new();
        let mut todo = Vec::new();
        push_components(&mut todo, path);
        let mut links = 0;
        while let Some(next) = todo.pop() {
            if walk.magic {
                return Err("the path goes through a link of /proc".to_owned());
            }
            match next {
                Next::Up if !walk.missing.is_empty() => {
                    return Err("`..` follows a directory that does not exist".to_owned());
                }
                Next::Up => {
                    if !is_directory(&walk.stat) {
                        return Err("`..` follows something that is not a directory".to_owned());
                    }
                    walk.path.pop();
                    if let Some(parent) = parents.pop() {
                        walk.here = parent;
                        walk.stat = rustix::fs::fstat(&walk.here).map_err(said)?;
                    }
                }
                Next::Name(name) if !walk.missing.is_empty() || !is_directory(&walk.stat) => {
                    walk.missing.push(name);
                }
                Next::Name(name) => {
                    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let child = match rustix::fs::openat(&walk.here, &name, flags, Mode::empty()) {
                        Ok(child) => child,
                        Err(Errno::NOENT) => {
                            walk.missing.push(name);
                            continue;
                        }
                        Err(errno) => return Err(said(errno)),
                    };
                    let stat = rustix::fs::fstat(&child).map_err(said)?;
                    if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
                        walk.path.push(&name);
                        parents.push(std::mem::replace(&mut walk.here, child));
                        walk.stat = stat;
                        continue;
                    }
                    links += 1;
                    if links > MAX_LINKS {
                        return Err("too many links, or a loop of links".to_owned());
                    }
                    walk.followed = true;
                    let target = rustix::fs::readlinkat(&child, "", Vec::new()).map_err(said)?;
                    let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                    if is_pseudo_file_system(child.as_fd()) && is_magic(&target) {
                        walk.follow_magic(&name, child, stat)?;
                        continue;
                    }
                    if target.as_os_str().is_empty() {
                        return Err("a link leads nowhere".to_owned());
                    }
                    if target.is_absolute() {
                        walk.path = PathBuf::from("/");
                        walk.here = open_top()?;
                        walk.stat = rustix::fs::fstat(&walk.here).map_err(said)?;
                        parents.clear();
                    }
                    push_components(&mut todo, &target);
                }
            }
        }
        if walk.path.as_os_str().len() > MAX_PATH {
            return Err("the path is too long".to_owned());
        }
        Ok(walk)
    }

    /// `/proc/N/fd/M` of a pipe or terminal is something like a device. All other magic links
    /// (`root`, `cwd`, `exe`, descriptors of files) lead to places that their text does not bind.
    fn follow_magic(&mut self, name: &OsStr, link: OwnedFd, stat: Stat) -> Result<(), String> {
        if !self.path.ends_with("fd") {
            return Err("the path goes through a link of /proc".to_owned());
        }
        self.path.push(name);
        self.here = link;
        self.stat = stat;
        self.magic = true;
        Ok(())
    }

    fn into_resolved(self) -> Resolved {
        let id: FileId = identity(&self.stat);
        if self.missing.is_empty() {
            let kind = match FileType::from_raw_mode(self.stat.st_mode) {
                FileType::RegularFile => FileKind::File,
                FileType::Directory => FileKind::Directory,
                _ => FileKind::Special,
            };
            let links = if kind == FileKind::File {
                self.stat.st_nlink
            } else {
                1
            };
            return Resolved {
                path: self.path,
                kind: Some(kind),
                identity: Some(id),
                links,
                followed_link: self.followed,
                error: None,
            };
        }
        let mut path = self.path;
        path.extend(self.missing);
        Resolved {
            path,
            kind: None,
            identity: Some(id),
            links: 1,
            followed_link: self.followed,
            error: None,
        }
    }
}

/// Is this the text of a magic link? The ordinary links of /proc (`self`, `mounts`, `net`) are
/// relative; magic ones are absolute or `pipe:[1]`.
fn is_magic(target: &Path) -> bool {
    target.is_absolute() || target.as_os_str().as_bytes().contains(&b':')
}

fn push_components(todo: &mut Vec<Next>, path: &Path) {
    for part in path.components().rev() {
        match part {
            Component::Normal(name) => todo.push(Next::Name(name.to_owned())),
            Component::ParentDir => todo.push(Next::Up),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
}

fn open_top() -> Result<OwnedFd, String> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open("/", flags, Mode::empty()).map_err(said)
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn said(errno: Errno) -> String {
    crate::failure::words(errno)
}

/// A regular file, opened for reading; nothing else is ever opened.
fn open_regular(path: &Path) -> Option<OwnedFd> {
    let walk = Walk::resolve(path).ok()?;
    let regular = FileType::from_raw_mode(walk.stat.st_mode) == FileType::RegularFile;
    if !walk.missing.is_empty() || !regular || is_pseudo_file_system(walk.here.as_fd()) {
        return None;
    }
    reopen(walk.here.as_fd(), OFlags::RDONLY).ok()
}

fn open_for_listing(path: &Path) -> Option<OwnedFd> {
    let walk = Walk::resolve(path).ok()?;
    if !walk.missing.is_empty() || !is_directory(&walk.stat) {
        return None;
    }
    reopen(walk.here.as_fd(), OFlags::RDONLY | OFlags::DIRECTORY).ok()
}

fn read_head(file: BorrowedFd<'_>, max: usize) -> Result<Vec<u8>, Errno> {
    let mut head = Vec::new();
    let mut buffer = vec![0_u8; max.min(64 * 1024)];
    while head.len() < max {
        let want = buffer.len().min(max - head.len());
        let got = rustix::io::retry_on_intr(|| {
            rustix::io::pread(file, &mut buffer[..want], head.len() as u64)
        })?;
        if got == 0 {
            break;
        }
        head.extend_from_slice(&buffer[..got]);
    }
    Ok(head)
}

/// Calls `each` with every entry but `.` and `..` until it answers false.
fn each_entry(
    directory: &OwnedFd,
    mut each: impl FnMut(&OsStr, FileType) -> bool,
) -> Result<(), Errno> {
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let name = OsStr::from_bytes(name);
        let mut kind = entry.file_type();
        if kind == FileType::Unknown
            && let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        {
            kind = FileType::from_raw_mode(stat.st_mode);
        }
        if !each(name, kind) {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn resolve(path: &Path) -> Resolved {
        RealProbe.resolve(path)
    }

    #[test]
    fn a_dangling_link_resolves_to_the_place_it_points_to() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        symlink("/nowhere/else/x", dir.join("link")).unwrap();
        let found = resolve(&dir.join("link"));
        assert_eq!(found.path, Path::new("/nowhere/else/x"));
        assert_eq!(found.kind, None);
        assert!(found.followed_link);
    }

    #[test]
    fn dot_dot_after_a_link_means_what_the_kernel_means() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(dir.join("a/b")).unwrap();
        std::fs::write(dir.join("a/f"), "").unwrap();
        symlink("a/b", dir.join("link")).unwrap();
        let found = resolve(&dir.join("link/../f"));
        assert_eq!(found.path, dir.join("a/f"));
        assert_eq!(found.kind, Some(FileKind::File));
    }

    #[test]
    fn a_missing_tail_is_kept_as_written() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let found = resolve(&dir.join("no/such/file"));
        assert_eq!(found.path, dir.join("no/such/file"));
        assert_eq!(found.identity, resolve(&dir).identity);
    }

    #[test]
    fn what_cannot_be_known_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        symlink("loop", dir.join("loop")).unwrap();
        assert!(resolve(&dir.join("loop")).error.is_some());
        assert!(resolve(&dir.join("missing/../x")).error.is_some());
        assert!(
            resolve(Path::new("/proc/self/root/etc/passwd"))
                .error
                .is_some()
        );
        assert!(resolve(Path::new("/proc/self/cwd")).error.is_some());
        assert!(resolve(Path::new("relative")).error.is_some());
    }

    #[test]
    fn special_and_pseudo_files_are_never_read() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        assert_eq!(RealProbe.read_file(&fifo, 10), None);
        assert_eq!(
            RealProbe.read_file(Path::new("/proc/self/environ"), 10),
            None
        );
        assert_eq!(RealProbe.read_file(Path::new("/dev/zero"), 10), None);
        assert_eq!(resolve(&fifo).kind, Some(FileKind::Special));
    }

    #[test]
    fn a_read_gives_head_size_and_hash_of_the_whole() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        std::fs::write(&file, "hello world").unwrap();
        let found = RealProbe.read_file(&file, 5).unwrap();
        assert_eq!(found.head, b"hello");
        assert_eq!(found.size, 11);
        assert_eq!(
            found.hash,
            blake3::hash(b"hello world").to_hex().to_string()
        );
    }

    #[test]
    fn the_look_for_secrets_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
        std::fs::write(dir.path().join("a/b/.env"), "").unwrap();
        let is_env = |path: &Path| path.ends_with(".env");
        assert_eq!(
            RealProbe.look_for_secrets(dir.path(), 100, &is_env),
            SecretLook::Found
        );
        assert_eq!(
            RealProbe.look_for_secrets(dir.path(), 1, &is_env),
            SecretLook::Unknown
        );
        assert_eq!(
            RealProbe.look_for_secrets(dir.path(), 100, &|_| false),
            SecretLook::Clean
        );
    }
}
