//! The index of the embedded data: names to slices of TOML, each compiled on first use.
//!
//! A process that judges one command must not pay for a thousand entries: start-up only looks for
//! the lines that open a table. Tests compile everything, so a fault in the data fails there and
//! not in front of a user; at run time a broken entry is opaque.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::schema::{Entry, EntryData, EntryError};

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
];

/// Where the data of an entry is.
enum Source {
    /// A table of an embedded file: from its opening line to the next one.
    Slice(&'static str),
    /// A table that a user added, already read.
    Data(Box<EntryData>),
}

struct Slot {
    family: String,
    source: Source,
    entry: OnceLock<Result<Entry, EntryError>>,
}

/// All entries by full name.
pub(crate) struct Registry {
    slots: Vec<Slot>,
    by_name: HashMap<String, usize>,
}

impl Registry {
    /// Indexes the embedded families.
    pub(crate) fn builtin() -> Self {
        let mut registry = Self {
            slots: Vec::new(),
            by_name: HashMap::with_capacity(2048),
        };
        for (family, text) in FAMILIES {
            for (header, slice) in tables(text) {
                registry.slots.push(Slot {
                    family: (*family).to_owned(),
                    source: Source::Slice(slice),
                    entry: OnceLock::new(),
                });
                let slot = registry.slots.len() - 1;
                for name in spellings(header) {
                    registry.by_name.insert(name, slot);
                }
            }
        }
        registry
    }

    /// Adds a user's entries; one of the same name replaces the embedded one.
    pub(crate) fn add(&mut self, entries: Vec<(String, EntryData)>) -> Result<(), EntryError> {
        let mut added = Vec::new();
        for (header, data) in entries {
            self.slots.push(Slot {
                family: "user".to_owned(),
                source: Source::Data(Box::new(data)),
                entry: OnceLock::new(),
            });
            let slot = self.slots.len() - 1;
            for name in spellings(&header) {
                self.by_name.insert(name.clone(), slot);
                added.push(name);
            }
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
        let slot = self.slots.get(*self.by_name.get(name)?)?;
        let compiled = slot.entry.get_or_init(|| {
            let data = match &slot.source {
                Source::Slice(slice) => parse_slice(slice)?,
                Source::Data(data) => (**data).clone(),
            };
            let mut included = Vec::new();
            for other in &data.include {
                // An entry that includes itself, or in a circle, would wait for itself forever.
                match self.flags_of(other, 0)? {
                    Some(flags) => included.extend(flags),
                    None => return Err(EntryError(format!("includes unlisted `{other}`"))),
                }
            }
            data.compile(name, included)
        });
        Some(compiled.as_ref())
    }

    fn flags_of(
        &self,
        name: &str,
        depth: usize,
    ) -> Result<Option<Vec<super::schema::Flag>>, EntryError> {
        if depth > 4 {
            return Err(EntryError(format!("includes of `{name}` nest too deeply")));
        }
        let Some(slot) = self
            .by_name
            .get(name)
            .and_then(|slot| self.slots.get(*slot))
        else {
            return Ok(None);
        };
        let data = match &slot.source {
            Source::Slice(slice) => parse_slice(slice)?,
            Source::Data(data) => (**data).clone(),
        };
        let mut flags = Vec::new();
        for other in &data.include {
            match self.flags_of(other, depth + 1)? {
                Some(more) => flags.extend(more),
                None => return Err(EntryError(format!("includes unlisted `{other}`"))),
            }
        }
        Ok(Some(data.compile(name, flags)?.flags))
    }

    /// Names with their family, sorted by family, then name. Names that begin with `@` are shared
    /// sets of flags, not commands.
    pub(crate) fn names(&self) -> Vec<(&str, &str)> {
        let mut names: Vec<(&str, &str)> = self
            .by_name
            .iter()
            .filter_map(|(name, slot)| {
                self.slots
                    .get(*slot)
                    .map(|slot| (slot.family.as_str(), name.as_str()))
            })
            .collect();
        names.sort_unstable();
        names
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
        let line = slice.lines().next().unwrap_or_default();
        let header = line.trim_start_matches('[').trim_end();
        let header = header.strip_suffix(']').unwrap_or(header);
        tables.push((header.trim_matches(['"', '\'']), slice));
    }
    tables
}

/// The names that a header stands for: `git log|show` is `git log` and `git show`.
pub(crate) fn spellings(header: &str) -> Vec<String> {
    let (stem, last) = match header.rsplit_once(' ') {
        Some((stem, last)) => (format!("{stem} "), last),
        None => (String::new(), header),
    };
    last.split('|')
        .map(|name| format!("{stem}{name}"))
        .collect()
}

fn parse_slice(slice: &str) -> Result<EntryData, EntryError> {
    // Without its header line the slice is a document of its own.
    let body = slice.split_once('\n').map_or("", |(_, body)| body);
    toml::from_str(body).map_err(|error| EntryError(error.message().to_owned()))
}
