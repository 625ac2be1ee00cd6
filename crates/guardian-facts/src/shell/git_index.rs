//! The index of a repository: which files are tracked. Read as git writes it (versions 2 to 4);
//! what it does not hold by itself (a split or sparse index) is an error.

/// A tracked path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexEntry {
    /// Relative to the work tree.
    pub(super) path: String,
    /// Name of the object in lower-case hex.
    pub(super) object: String,
    mode: u32,
}

impl IndexEntry {
    /// It stands for a repository inside the repository.
    pub(super) fn is_gitlink(&self) -> bool {
        self.mode & 0o17_0000 == 0o16_0000
    }
}

/// The tracked files, sorted by path as git sorts them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    pub(super) entries: Vec<IndexEntry>,
}

/// Bytes of an object's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectFormat {
    Sha1,
    Sha256,
}

impl ObjectFormat {
    fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

/// A cursor over the bytes; every read may fail.
struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.all.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_be_bytes)
    }

    fn short(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    fn until_nul(&mut self) -> Option<&'a [u8]> {
        let rest = self.all.get(self.at..)?;
        let length = memchr::memchr(0, rest)?;
        self.at += length + 1;
        rest.get(..length)
    }

    /// The offset encoding of packs.
    fn variable(&mut self) -> Option<usize> {
        let mut byte = *self.take(1)?.first()?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = *self.take(1)?.first()?;
            value = value
                .checked_add(1)?
                .checked_mul(128)?
                .checked_add(usize::from(byte & 0x7f))?;
        }
        Some(value)
    }
}

impl Index {
    /// Reads the bytes of an index file.
    pub(super) fn parse(content: &[u8], format: ObjectFormat) -> Result<Self, String> {
        let mut bytes = Bytes {
            all: content,
            at: 0,
        };
        let not_understood = || "the repository's index is not understood".to_owned();
        let index = Self::entries(&mut bytes, format).ok_or_else(not_understood)?;
        let trailer = format.length();
        while bytes.at + trailer < content.len() {
            let (Some(signature), Some(length)) = (bytes.take(4), bytes.number()) else {
                return Err(not_understood());
            };
            // A signature in small letters says that the index means nothing without the extension.
            if !signature.first().is_some_and(u8::is_ascii_uppercase) {
                return Err("the repository's index is split or sparse".to_owned());
            }
            if bytes.take(length as usize).is_none() {
                return Err(not_understood());
            }
        }
        if bytes.at + trailer == content.len() {
            Ok(index)
        } else {
            Err(not_understood())
        }
    }

    fn entries(bytes: &mut Bytes<'_>, format: ObjectFormat) -> Option<Self> {
        if bytes.take(4)? != b"DIRC" {
            return None;
        }
        let version = bytes.number()?;
        if !(2..=4).contains(&version) {
            return None;
        }
        let count = bytes.number()?;
        let mut entries = Vec::new();
        let mut previous: Vec<u8> = Vec::new();
        for _ in 0..count {
            let start = bytes.at;
            bytes.take(24)?;
            let mode = bytes.number()?;
            bytes.take(12)?;
            let object = hex(bytes.take(format.length())?);
            let flags = bytes.short()?;
            if flags & 0x4000 != 0 {
                if version < 3 {
                    return None;
                }
                bytes.short()?;
            }
            if version == 4 {
                let dropped = bytes.variable()?;
                previous.truncate(previous.len().checked_sub(dropped)?);
                previous.extend_from_slice(bytes.until_nul()?);
            } else {
                previous = bytes.until_nul()?.to_vec();
                // Entries are padded with NULs, at least one, to a multiple of eight bytes.
                let length = bytes.at - start;
                bytes.take(length.next_multiple_of(8) - length)?;
            }
            entries.push(IndexEntry {
                path: String::from_utf8_lossy(&previous).into_owned(),
                object,
                mode,
            });
        }
        Some(Self { entries })
    }

    /// A file of exactly this path is tracked.
    pub(super) fn has_file(&self, path: &str) -> bool {
        self.entries
            .binary_search_by(|entry| entry.path.as_str().cmp(path))
            .is_ok()
    }

    /// Something beneath this directory is tracked.
    pub(super) fn has_directory(&self, path: &str) -> bool {
        let directory = format!("{path}/");
        let at = self
            .entries
            .partition_point(|entry| entry.path.as_str() < directory.as_str());
        self.entries
            .get(at)
            .is_some_and(|entry| entry.path.starts_with(&directory))
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of an index of version 2 with these entries, for tests.
#[cfg(test)]
pub(super) fn written(entries: &[(&str, u32)]) -> Vec<u8> {
    let mut bytes = b"DIRC\0\0\0\x02".to_vec();
    bytes.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
    for (path, mode) in entries {
        let start = bytes.len();
        bytes.extend([0; 24]);
        bytes.extend(mode.to_be_bytes());
        bytes.extend([0; 12]);
        bytes.extend([0xab; 20]);
        bytes.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
        bytes.extend(path.as_bytes());
        bytes.push(0);
        while !(bytes.len() - start).is_multiple_of(8) {
            bytes.push(0);
        }
    }
    bytes.extend([0; 20]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::{Index, ObjectFormat, written};

    fn paths(bytes: &[u8]) -> Result<Vec<String>, String> {
        Index::parse(bytes, ObjectFormat::Sha1)
            .map(|index| index.entries.into_iter().map(|entry| entry.path).collect())
    }

    #[test]
    fn entries_are_found_by_file_and_by_directory() {
        let bytes = written(&[
            ("a.txt", 0o100_644),
            ("src/a/b.rs", 0o100_644),
            ("sub", 0o160_000),
        ]);
        let index = Index::parse(&bytes, ObjectFormat::Sha1).unwrap();
        assert!(index.has_file("src/a/b.rs") && !index.has_file("src/a"));
        assert!(index.has_directory("src") && index.has_directory("src/a"));
        assert!(!index.has_directory("a.txt") && !index.has_directory("sr"));
        assert_eq!(
            index
                .entries
                .iter()
                .filter(|entry| entry.is_gitlink())
                .count(),
            1
        );
    }

    #[test]
    fn names_of_version_four_are_put_together() {
        let mut bytes = b"DIRC\0\0\0\x04\0\0\0\x02".to_vec();
        for (dropped, suffix) in [(0, "src/one.rs"), (6, "two.rs")] {
            bytes.extend([0; 24]);
            bytes.extend(0o100_644_u32.to_be_bytes());
            bytes.extend([0; 12]);
            bytes.extend([0xab; 20]);
            bytes.extend([0, 10, dropped]);
            bytes.extend(suffix.as_bytes());
            bytes.push(0);
        }
        bytes.extend([0; 20]);
        assert_eq!(
            paths(&bytes),
            Ok(vec!["src/one.rs".to_owned(), "src/two.rs".to_owned()])
        );
    }

    #[test]
    fn what_is_cut_off_split_or_unknown_is_an_error() {
        let bytes = written(&[("a", 0o100_644), ("b", 0o100_644)]);
        for length in 0..bytes.len() {
            assert!(paths(&bytes[..length]).is_err(), "{length}");
        }
        let trailer = bytes.len() - 20;
        let with = |extension: &[u8]| {
            let mut changed = bytes[..trailer].to_vec();
            changed.extend(extension);
            changed.extend([0; 20]);
            paths(&changed)
        };
        assert!(with(b"TREE\0\0\0\x03abc").is_ok());
        assert!(with(b"link\0\0\0\0").is_err());
        assert!(with(b"sdir\0\0\0\0").is_err());
        assert!(with(b"TREE\0\0\0\x09abc").is_err());
        let mut newer = bytes;
        newer[7] = 5;
        assert!(paths(&newer).is_err());
    }
}
