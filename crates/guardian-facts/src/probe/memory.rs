//! A file tree in memory, for tests and for embedders without a file system.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use super::{FileContent, FileId, FileKind, LinkOrDirectory, PathProbe, Resolved, SecretLook};

const MAX_LINKS: usize = 40;

#[derive(Debug, Clone)]
enum Node {
    File { inode: u64 },
    Directory { inode: u64 },
    Link(PathBuf),
    Special { inode: u64 },
}

/// A file tree in memory. Paths are absolute; parents come into being by themselves.
///
/// ```
/// use guardian_facts::probe::{MemoryProbe, PathProbe as _};
///
/// let probe = MemoryProbe::new()
///     .file("/home/dev/proj/a.txt", "hello")
///     .link("/home/dev/proj/out", "/srv/out");
/// let resolved = probe.resolve("/home/dev/proj/out/x".as_ref());
/// assert_eq!(resolved.path.to_str(), Some("/srv/out/x"));
/// assert!(resolved.followed_link);
/// ```
#[derive(Debug, Clone)]
pub struct MemoryProbe {
    nodes: BTreeMap<PathBuf, Node>,
    /// Content and number of links of a regular file, by inode.
    files: BTreeMap<u64, (Vec<u8>, u64)>,
    failing: BTreeMap<PathBuf, String>,
    next_inode: u64,
}

impl Default for MemoryProbe {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryProbe {
    /// A tree with `/` only.
    #[must_use]
    pub fn new() -> Self {
        let root = Node::Directory { inode: 1 };
        Self {
            nodes: BTreeMap::from([(PathBuf::from("/"), root)]),
            files: BTreeMap::new(),
            failing: BTreeMap::new(),
            next_inode: 2,
        }
    }

    /// Adds a directory.
    #[must_use]
    pub fn directory(mut self, path: impl AsRef<Path>) -> Self {
        self.make_directory(path.as_ref());
        self
    }

    /// Adds a regular file.
    #[must_use]
    pub fn file(mut self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> Self {
        let inode = self.inode();
        self.files.insert(inode, (content.as_ref().to_vec(), 1));
        self.put(path.as_ref(), Node::File { inode });
        self
    }

    /// Adds a symbolic link; its target need not exist.
    #[must_use]
    pub fn link(mut self, path: impl AsRef<Path>, target: impl AsRef<Path>) -> Self {
        self.put(path.as_ref(), Node::Link(target.as_ref().to_owned()));
        self
    }

    /// Adds a second name for a file that exists; without effect when `existing` is no file.
    #[must_use]
    pub fn hard_link(mut self, path: impl AsRef<Path>, existing: impl AsRef<Path>) -> Self {
        if let Some(Node::File { inode }) = self.nodes.get(existing.as_ref()).cloned() {
            if let Some((_, links)) = self.files.get_mut(&inode) {
                *links += 1;
            }
            self.put(path.as_ref(), Node::File { inode });
        }
        self
    }

    /// Adds a FIFO, socket or device.
    #[must_use]
    pub fn special(mut self, path: impl AsRef<Path>) -> Self {
        let inode = self.inode();
        self.put(path.as_ref(), Node::Special { inode });
        self
    }

    /// Makes every question about a path, or about something beneath it, fail with this reason.
    #[must_use]
    pub fn failing(mut self, path: impl AsRef<Path>, reason: impl Into<String>) -> Self {
        self.failing.insert(path.as_ref().to_owned(), reason.into());
        self
    }

    fn inode(&mut self) -> u64 {
        self.next_inode += 1;
        self.next_inode - 1
    }

    fn put(&mut self, path: &Path, node: Node) {
        if let Some(parent) = path.parent() {
            self.make_directory(parent);
        }
        self.nodes.insert(path.to_owned(), node);
    }

    fn make_directory(&mut self, path: &Path) {
        if self.nodes.contains_key(path) {
            return;
        }
        if let Some(parent) = path.parent() {
            self.make_directory(parent);
        }
        let inode = self.inode();
        self.nodes
            .insert(path.to_owned(), Node::Directory { inode });
    }

    fn failure(&self, path: &Path) -> Option<&String> {
        path.ancestors()
            .find_map(|ancestor| self.failing.get(ancestor))
    }

    fn failed(path: &Path, followed_link: bool, reason: impl Into<String>) -> Resolved {
        Resolved {
            path: path.to_owned(),
            kind: None,
            identity: None,
            links: 1,
            followed_link,
            error: Some(reason.into()),
        }
    }

    fn id(inode: u64) -> FileId {
        FileId { device: 1, inode }
    }
}

fn push_front(queue: &mut VecDeque<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => queue.push_front(name.to_owned()),
            Component::ParentDir => queue.push_front(OsString::from("..")),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
}

impl PathProbe for MemoryProbe {
    fn resolve(&self, path: &Path) -> Resolved {
        if !path.is_absolute() {
            return Self::failed(path, false, "not an absolute path");
        }
        let mut queue = VecDeque::new();
        push_front(&mut queue, path);
        let mut current = PathBuf::from("/");
        let mut links = 0;
        // Names beneath something that does not exist; `..` takes them away again.
        while let Some(name) = queue.pop_front() {
            if name == OsStr::new("..") {
                if !self.nodes.contains_key(&current) {
                    return Self::failed(
                        path,
                        links > 0,
                        "`..` beneath a directory that does not exist",
                    );
                }
                current.pop();
                continue;
            }
            current.push(&name);
            if let Some(reason) = self.failure(&current) {
                return Self::failed(path, links > 0, reason.clone());
            }
            match self.nodes.get(&current) {
                Some(Node::Link(target)) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Self::failed(path, true, "too many levels of symbolic links");
                    }
                    current.pop();
                    push_front(&mut queue, target);
                    if target.is_absolute() {
                        current = PathBuf::from("/");
                    }
                }
                Some(Node::File { .. } | Node::Special { .. }) if !queue.is_empty() => {
                    return Self::failed(path, links > 0, "not a directory");
                }
                _ => {}
            }
        }
        let (kind, inode, hard_links) =
            match self.nodes.get(&current) {
                Some(Node::File { inode }) => {
                    let hard_links = self.files.get(inode).map_or(1, |(_, links)| *links);
                    (Some(FileKind::File), Some(*inode), hard_links)
                }
                Some(Node::Directory { inode }) => (Some(FileKind::Directory), Some(*inode), 1),
                Some(Node::Special { inode }) => (Some(FileKind::Special), Some(*inode), 1),
                Some(Node::Link(_)) | None => {
                    let parent = current.ancestors().skip(1).find_map(|parent| {
                        match self.nodes.get(parent) {
                            Some(Node::Directory { inode }) => Some(*inode),
                            _ => None,
                        }
                    });
                    (None, parent, 1)
                }
            };
        Resolved {
            path: current,
            kind,
            identity: inode.map(Self::id),
            links: hard_links,
            followed_link: links > 0,
            error: None,
        }
    }

    fn read_file(&self, path: &Path, max: usize) -> Option<FileContent> {
        let resolved = self.resolve(path);
        if resolved.error.is_some() {
            return None;
        }
        let Some(Node::File { inode }) = self.nodes.get(&resolved.path) else {
            return None;
        };
        let (content, _) = self.files.get(inode)?;
        Some(FileContent {
            head: content[..content.len().min(max)].to_vec(),
            size: content.len() as u64,
            hash: blake3::hash(content).to_hex().to_string(),
        })
    }

    fn list(&self, directory: &Path, max: usize) -> Option<Vec<String>> {
        let resolved = self.resolve(directory);
        if resolved.error.is_some() {
            return None;
        }
        let Some(Node::Directory { .. }) = self.nodes.get(&resolved.path) else {
            return None;
        };
        let names = self
            .nodes
            .keys()
            .filter(|path| path.parent() == Some(&resolved.path))
            .filter_map(|path| path.file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .take(max)
            .collect();
        Some(names)
    }

    fn links_and_directories(&self, directory: &Path, max: usize) -> Option<Vec<LinkOrDirectory>> {
        let resolved = self.resolve(directory);
        if resolved.error.is_some() {
            return None;
        }
        let Some(Node::Directory { .. }) = self.nodes.get(&resolved.path) else {
            return None;
        };
        let entries: Vec<_> = self
            .nodes
            .range(resolved.path.clone()..)
            .take_while(|(path, _)| path.starts_with(&resolved.path))
            .filter(|(path, _)| path.parent() == Some(&resolved.path))
            .take(max.saturating_add(1))
            .collect();
        if entries.len() > max {
            return None;
        }
        let leading_on = entries.into_iter().filter_map(|(path, node)| {
            let is_link = match node {
                Node::Link(_) => true,
                Node::Directory { .. } => false,
                Node::File { .. } | Node::Special { .. } => return None,
            };
            let name = path.file_name()?.to_string_lossy().into_owned();
            Some(LinkOrDirectory { name, is_link })
        });
        Some(leading_on.collect())
    }

    fn look_for_secrets(
        &self,
        directory: &Path,
        max: usize,
        is_secret: &dyn Fn(&Path) -> bool,
    ) -> SecretLook {
        let resolved = self.resolve(directory);
        if resolved.error.is_some() || resolved.kind != Some(FileKind::Directory) {
            return SecretLook::Unknown;
        }
        let mut seen = 0;
        for path in self
            .nodes
            .keys()
            .filter(|path| path.starts_with(&resolved.path))
        {
            seen += 1;
            if seen > max || self.failure(path).is_some() {
                return SecretLook::Unknown;
            }
            if *path != resolved.path && is_secret(path) {
                return SecretLook::Found;
            }
        }
        SecretLook::Clean
    }
}
