//! A file tree in memory, for tests and for embedders without a file system.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::ops::Bound;
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
    nodes: BTreeMap<Key, Entry>,
    /// Content and number of links of a regular file, by inode.
    files: BTreeMap<u64, (Vec<u8>, u64)>,
    failing: BTreeMap<PathBuf, String>,
    next_inode: u64,
}

/// An absolute path as `NUL name NUL name …`: compared as bytes, and in the order of a walk, where
/// a directory stands right before what lies beneath it (`a`, `a/b`, `a-b`). The root is empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Key(Vec<u8>);

impl Key {
    fn of(path: &Path) -> Self {
        let mut key = Self::default();
        for component in path.components() {
            match component {
                Component::Normal(name) => key.push(name),
                // The file system alone knows what `..` means; a key of its own is found nowhere.
                Component::ParentDir => key.push(OsStr::new("..")),
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        key
    }

    fn push(&mut self, name: &OsStr) {
        self.0.push(0);
        self.0.extend_from_slice(name.as_encoded_bytes());
    }

    fn pop(&mut self) {
        let end = self.0.iter().rposition(|byte| *byte == 0).unwrap_or(0);
        self.0.truncate(end);
    }

    fn depth(&self) -> usize {
        self.0.iter().filter(|byte| **byte == 0).count()
    }

    /// What lies beneath, from the first entry on: all keys that begin with these bytes.
    fn beneath(&self) -> Self {
        let mut start = self.clone();
        start.0.push(0);
        start
    }
}

#[derive(Debug, Clone)]
struct Entry {
    path: PathBuf,
    node: Node,
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
        let root = Entry {
            path: PathBuf::from("/"),
            node: Node::Directory { inode: 1 },
        };
        Self {
            nodes: BTreeMap::from([(Key::default(), root)]),
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
        if let Some(Node::File { inode }) = self.node(&Key::of(existing.as_ref())).cloned() {
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
        self.insert(path, node);
    }

    fn insert(&mut self, path: &Path, node: Node) {
        let path = path.to_owned();
        self.nodes.insert(Key::of(&path), Entry { path, node });
    }

    fn node(&self, key: &Key) -> Option<&Node> {
        self.nodes.get(key).map(|entry| &entry.node)
    }

    /// Everything beneath a directory, in the order of a walk.
    fn beneath(&self, directory: &Key) -> impl Iterator<Item = (&Key, &Entry)> {
        let start = directory.beneath();
        self.nodes
            .range((Bound::Excluded(start.clone()), Bound::Unbounded))
            .take_while(move |(key, _)| key.0.starts_with(&start.0))
    }

    /// What lies in a directory itself.
    fn children(&self, directory: &Key) -> impl Iterator<Item = &Entry> {
        let depth = directory.depth() + 1;
        self.beneath(directory)
            .filter(move |(key, _)| key.depth() == depth)
            .map(|(_, entry)| entry)
    }

    fn make_directory(&mut self, path: &Path) {
        if self.nodes.contains_key(&Key::of(path)) {
            return;
        }
        if let Some(parent) = path.parent() {
            self.make_directory(parent);
        }
        let inode = self.inode();
        self.insert(path, Node::Directory { inode });
    }

    fn failure(&self, path: &Path) -> Option<&String> {
        if self.failing.is_empty() {
            return None;
        }
        path.ancestors()
            .find_map(|ancestor| self.failing.get(ancestor))
    }

    /// The nearest directory above that exists.
    fn nearest_directory(&self, mut key: Key) -> Option<u64> {
        while !key.0.is_empty() {
            key.pop();
            if let Some(Node::Directory { inode }) = self.node(&key) {
                return Some(*inode);
            }
        }
        None
    }

    /// The canonical name of a directory that exists.
    fn directory_at(&self, path: &Path) -> Option<Key> {
        let resolved = self.resolve(path);
        (resolved.error.is_none() && resolved.kind == Some(FileKind::Directory))
            .then(|| Key::of(&resolved.path))
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
        let mut key = Key::default();
        let mut links = 0;
        // Names beneath something that does not exist; `..` takes them away again.
        while let Some(name) = queue.pop_front() {
            if name == OsStr::new("..") {
                if !self.nodes.contains_key(&key) {
                    return Self::failed(
                        path,
                        links > 0,
                        "`..` beneath a directory that does not exist",
                    );
                }
                current.pop();
                key.pop();
                continue;
            }
            current.push(&name);
            key.push(&name);
            if let Some(reason) = self.failure(&current) {
                return Self::failed(path, links > 0, reason.clone());
            }
            match self.node(&key) {
                Some(Node::Link(target)) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Self::failed(path, true, "too many levels of symbolic links");
                    }
                    current.pop();
                    key.pop();
                    push_front(&mut queue, target);
                    if target.is_absolute() {
                        current = PathBuf::from("/");
                        key = Key::default();
                    }
                }
                Some(Node::File { .. } | Node::Special { .. }) if !queue.is_empty() => {
                    return Self::failed(path, links > 0, "not a directory");
                }
                _ => {}
            }
        }
        let (kind, inode, hard_links) = match self.node(&key) {
            Some(Node::File { inode }) => {
                let hard_links = self.files.get(inode).map_or(1, |(_, links)| *links);
                (Some(FileKind::File), Some(*inode), hard_links)
            }
            Some(Node::Directory { inode }) => (Some(FileKind::Directory), Some(*inode), 1),
            Some(Node::Special { inode }) => (Some(FileKind::Special), Some(*inode), 1),
            Some(Node::Link(_)) | None => (None, self.nearest_directory(key), 1),
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
        let Some(Node::File { inode }) = self.node(&Key::of(&resolved.path)) else {
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
        let directory = self.directory_at(directory)?;
        let names = self
            .children(&directory)
            .filter_map(|entry| entry.path.file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .take(max)
            .collect();
        Some(names)
    }

    fn links_and_directories(&self, directory: &Path, max: usize) -> Option<Vec<LinkOrDirectory>> {
        let directory = self.directory_at(directory)?;
        let mut leading_on = Vec::new();
        for (seen, entry) in self.children(&directory).enumerate() {
            if seen >= max {
                return None;
            }
            let is_link = match entry.node {
                Node::Link(_) => true,
                Node::Directory { .. } => false,
                Node::File { .. } | Node::Special { .. } => continue,
            };
            let name = entry.path.file_name()?.to_string_lossy().into_owned();
            leading_on.push(LinkOrDirectory { name, is_link });
        }
        Some(leading_on)
    }

    fn look_for_secrets(
        &self,
        directory: &Path,
        max: usize,
        is_secret: &dyn Fn(&Path) -> bool,
    ) -> SecretLook {
        let Some(directory) = self.directory_at(directory) else {
            return SecretLook::Unknown;
        };
        for (seen, (_, entry)) in self.beneath(&directory).enumerate() {
            // The directory itself is the first entry of a look.
            if seen + 1 >= max || self.failure(&entry.path).is_some() {
                return SecretLook::Unknown;
            }
            if is_secret(&entry.path) {
                return SecretLook::Found;
            }
        }
        SecretLook::Clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_and_beneath_a_directory_is_nothing_else() {
        let probe = MemoryProbe::new()
            .file("/w/a/b/c", "")
            .link("/w/a/l", "b")
            .file("/w/a-b/x", "")
            .file("/w/ab", "")
            .directory("/w/a/d");
        assert_eq!(
            probe.list("/w/a".as_ref(), 10),
            Some(vec!["b".to_owned(), "d".to_owned(), "l".to_owned()])
        );
        assert_eq!(probe.list("/w/ab".as_ref(), 10), None);
        let names = probe.links_and_directories("/w/a".as_ref(), 3).unwrap();
        assert_eq!(
            names
                .iter()
                .map(|entry| (entry.name.as_str(), entry.is_link))
                .collect::<Vec<_>>(),
            [("b", false), ("d", false), ("l", true)]
        );
        assert_eq!(probe.links_and_directories("/w/a".as_ref(), 2), None);
        let seen = std::cell::RefCell::new(Vec::new());
        let look = probe.look_for_secrets("/w/a/l/..".as_ref(), 10, &|path| {
            seen.borrow_mut().push(path.to_str().unwrap().to_owned());
            false
        });
        assert_eq!(look, SecretLook::Clean);
        assert_eq!(*seen.borrow(), ["/w/a/b", "/w/a/b/c", "/w/a/d", "/w/a/l"]);
        assert_eq!(
            probe.look_for_secrets("/w/a".as_ref(), 4, &|_| false),
            SecretLook::Unknown
        );
    }
}
