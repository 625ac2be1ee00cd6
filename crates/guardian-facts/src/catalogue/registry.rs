//! The index of the embedded data: names to slices of TOML, each compiled on first use.
//!
//! A process that judges one command must not pay for a thousand entries: start-up only looks for
//! the lines that open a table. Tests compile everything, so a fault in the data fails there and
//! not in front of a user; at run time a broken entry is opaque.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use super::schema::{Entry, EntryData, EntryError, Flag};

/// The embedded families.
pub(crate) const FAMILIES: &[(&str, &str)] = &[
    (
        "builtins",
        include_str!("../../../../config/commands/builtins.toml"),
    ),
    (
        "coreutils",
        include_str!("../../../../config/commands/coreutils.toml"),
    ),
    (
        "search",
        include_str!("../../../../config/commands/search.toml"),
    ),
    (
        "text",
        include_str!("../../../../config/commands/text.toml"),
    ),
    ("git", include_str!("../../../../config/commands/git.toml")),
    (
        "javascript",
        include_str!("../../../../config/commands/javascript.toml"),
    ),
    (
        "python",
        include_str!("../../../../config/commands/python.toml"),
    ),
    (
        "build",
        include_str!("../../../../config/commands/build.toml"),
    ),
    (
        "local",
        include_str!("../../../../config/commands/local.toml"),
    ),
    (
        "containers",
        include_str!("../../../../config/commands/containers.toml"),
    ),
    (
        "cloud",
        include_str!("../../../../config/commands/cloud.toml"),
    ),
    (
        "database",
        include_str!("../../../../config/commands/database.toml"),
    ),
    (
        "network",
        include_str!("../../../../config/commands/network.toml"),
    ),
    (
        "system",
        include_str!("../../../../config/commands/system.toml"),
    ),
];

/// Where the data of an entry is.
enum Source {
    /// A table of an embedded file: from its opening line to the next one.
    Slice(&'static str),
    /// A table that a user added, already read.
    Data(Box<EntryData>),
}

struct Slot {
    family: &'static str,
    /// Name of the first of its spellings: what subcommands are looked up with, whatever alias
    /// was used.
    name: Name,
    source: Source,
    entry: OnceLock<Result<Entry, EntryError>>,
}

/// A name in two parts: the words in front of the last one, and the last one. Both are borrowed
/// from the data, so that indexing copies nothing.
type Name = (Cow<'static, str>, Cow<'static, str>);

/// All entries by full name.
pub(crate) struct Registry {
    slots: Vec<Slot>,
    by_name: HashMap<Name, usize>,
}

impl Registry {
    /// Indexes the embedded families.
    pub(crate) fn builtin() -> Self {
        let mut registry = Self {
            slots: Vec::with_capacity(1024),
            by_name: HashMap::with_capacity(4096),
        };
        for (family, text) in FAMILIES {
            for (header, slice) in tables(text) {
                let names = spellings(header)
                    .map(|(stem, last)| (Cow::Borrowed(stem), Cow::Borrowed(last)));
                registry.slot(family, Source::Slice(slice), names);
            }
        }
        registry
    }

    fn slot(&mut self, family: &'static str, source: Source, names: impl Iterator<Item = Name>) {
        let slot = self.slots.len();
        let mut first = None;
        for name in names {
            first.get_or_insert_with(|| name.clone());
            self.by_name.insert(name, slot);
        }
        self.slots.push(Slot {
            family,
            name: first.unwrap_or_default(),
            source,
            entry: OnceLock::new(),
        });
    }

    /// Adds a user's entries; one of the same name replaces the embedded one.
    pub(crate) fn add(&mut self, entries: Vec<(String, EntryData)>) -> Result<(), EntryError> {
        let mut added = Vec::new();
        for (header, data) in entries {
            let names: Vec<Name> = spellings(&header)
                .map(|(stem, last)| (Cow::Owned(stem.to_owned()), Cow::Owned(last.to_owned())))
                .collect();
            added.extend(names.iter().map(full_name));
            self.slot("user", Source::Data(Box::new(data)), names.into_iter());
        }
        for name in added {
            if let Some(Err(error)) = self.get(&name) {
                return Err(EntryError(format!("`{name}`: {error}")));
            }
        }
        Ok(())
    }

    /// The entry of this full name, compiled; `None` when it is not listed.
    pub(crate) fn get(&self, name: &str) -> Option<Result<&Entry, &EntryError>> {
        let slot = self.find(name)?;
        let compiled = slot.entry.get_or_init(|| {
            let data = slot.source.data()?;
            let included = self.included(&data, 0)?;
            data.compile(&full_name(&slot.name), included)
        });
        Some(compiled.as_ref())
    }

    fn find(&self, name: &str) -> Option<&Slot> {
        let (stem, last) = name.rsplit_once(' ').unwrap_or(("", name));
        let slot = self
            .by_name
            .get(&(Cow::Borrowed(stem), Cow::Borrowed(last)))?;
        self.slots.get(*slot)
    }

    /// Flags of the entries that `data` includes.
    fn included(&self, data: &EntryData, depth: usize) -> Result<Vec<Flag>, EntryError> {
        // An entry that includes itself, or in a circle, would wait for itself forever.
        if depth > 4 {
            return Err(EntryError("includes nest too deeply".to_owned()));
        }
        let mut flags = Vec::new();
        for name in &data.include {
            let slot = self
                .find(name)
                .ok_or_else(|| EntryError(format!("includes unlisted `{name}`")))?;
            let other = slot.source.data()?;
            let more = self.included(&other, depth + 1)?;
            flags.extend(other.compile(name, more)?.flags);
        }
        Ok(flags)
    }

    /// Names with their family, sorted by family, then name. Names that begin with `@` are shared
    /// sets of flags, not commands.
    pub(crate) fn names(&self) -> Vec<(&str, String)> {
        let mut names: Vec<(&str, String)> = self
            .by_name
            .iter()
            .filter_map(|(name, slot)| {
                self.slots
                    .get(*slot)
                    .map(|slot| (slot.family, full_name(name)))
            })
            .collect();
        names.sort_unstable();
        names
    }
}

impl Source {
    fn data(&self) -> Result<EntryData, EntryError> {
        match self {
            Self::Slice(slice) => {
                // Without its header line the slice is a document of its own.
                let body = slice.split_once('\n').map_or("", |(_, body)| body);
                toml::from_str(body).map_err(|error| EntryError(error.message().to_owned()))
            }
            Self::Data(data) => Ok((**data).clone()),
        }
    }
}

fn full_name((stem, last): &Name) -> String {
    if stem.is_empty() {
        last.to_string()
    } else {
        format!("{stem} {last}")
    }
}

/// The tables of an embedded file: header text and slice.
pub(crate) fn tables(text: &'static str) -> Vec<(&'static str, &'static str)> {
    let mut starts: Vec<usize> = Vec::new();
    if text.starts_with('[') {
        starts.push(0);
    }
    starts.extend(memchr::memmem::find_iter(text.as_bytes(), b"\n[").map(|at| at + 1));
    let mut tables = Vec::with_capacity(starts.len());
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(text.len());
        let slice = text.get(*start..end).unwrap_or_default();
        let line = slice.lines().next().unwrap_or_default().trim_end();
        let header = line.strip_prefix('[').unwrap_or(line);
        let header = header.strip_suffix(']').unwrap_or(header);
        tables.push((header.trim_matches(['"', '\'']), slice));
    }
    tables
}

/// The names that a header stands for: `git log|show` is `git log` and `git show`.
pub(crate) fn spellings(header: &str) -> impl Iterator<Item = (&str, &str)> {
    let (stem, last) = header.rsplit_once(' ').unwrap_or(("", header));
    last.split('|').map(move |name| (stem, name))
}
