//! The index of the embedded data: names to slices of TOML, each compiled on first use.
//!
//! A process that judges one command must not pay for a thousand entries: the index is made when
//! guardian is built (`build.rs`). Tests compile everything, so a fault in the data fails there and
//! not in front of a user; at run time a broken entry is opaque.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::schema::{Entry, EntryData, EntryError, Flag};

include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// An entry as it was compiled. Boxed: most entries never are.
type Compiled = OnceLock<Box<Result<Entry, EntryError>>>;

/// All entries by full name.
pub(crate) struct Registry {
    /// Of the embedded tables, by their number.
    embedded: Vec<Compiled>,
    /// Entries that a user added.
    added: Vec<Added>,
    /// Their names; they come before the embedded ones.
    added_names: HashMap<String, usize>,
}

/// An entry that a user added, already read.
struct Added {
    name: String,
    data: EntryData,
    compiled: Compiled,
}

/// Where the data of an entry is.
#[derive(Clone, Copy)]
enum Place {
    /// A table of an embedded file, by its number.
    Embedded(usize),
    /// One that a user added.
    Added(usize),
}

impl Registry {
    /// The embedded families. Their index is made when guardian is built.
    pub(crate) fn builtin() -> Self {
        let mut embedded = Vec::new();
        embedded.resize_with(TABLES.len(), OnceLock::new);
        Self {
            embedded,
            added: Vec::new(),
            added_names: HashMap::new(),
        }
    }

    /// Adds a user's entries; one of the same name replaces the embedded one.
    pub(crate) fn add(&mut self, entries: Vec<(String, EntryData)>) -> Result<(), EntryError> {
        let mut added = Vec::new();
        for (header, data) in entries {
            let names: Vec<String> = spellings(&header)
                .map(|(stem, last)| full_name(stem, last))
                .collect();
            for name in &names {
                self.added_names.insert(name.clone(), self.added.len());
            }
            self.added.push(Added {
                name: names.first().cloned().unwrap_or_default(),
                data,
                compiled: OnceLock::new(),
            });
            added.extend(names);
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
        let place = self.find(name)?;
        let (slot, name) = match place {
            Place::Embedded(table) => {
                let (_, _, _, stem, first) = TABLES.get(table)?;
                (self.embedded.get(table)?, full_name(stem, first))
            }
            Place::Added(index) => {
                let added = self.added.get(index)?;
                (&added.compiled, added.name.clone())
            }
        };
        let compiled = slot.get_or_init(|| {
            Box::new(self.data(place).and_then(|data| {
                let included = self.included(&data, 0)?;
                data.compile(&name, included)
            }))
        });
        Some(compiled.as_ref().as_ref())
    }

    fn find(&self, name: &str) -> Option<Place> {
        if let Some(index) = self.added_names.get(name) {
            return Some(Place::Added(*index));
        }
        let wanted = name.rsplit_once(' ').unwrap_or(("", name));
        let at = NAMES
            .binary_search_by(|(stem, last, _)| (*stem, *last).cmp(&wanted))
            .ok()?;
        NAMES.get(at).map(|(_, _, table)| Place::Embedded(*table))
    }

    fn data(&self, place: Place) -> Result<EntryData, EntryError> {
        match place {
            Place::Embedded(table) => {
                let text = TABLES.get(table).and_then(|(family, start, end, _, _)| {
                    FAMILIES.get(*family)?.1.get(*start..*end)
                });
                // Without its header line the slice is a document of its own.
                let body = text
                    .and_then(|text| text.split_once('\n'))
                    .map_or("", |(_, body)| body);
                toml::from_str(body).map_err(|error| EntryError(error.message().to_owned()))
            }
            Place::Added(index) => self
                .added
                .get(index)
                .map(|added| added.data.clone())
                .ok_or_else(|| EntryError("there is no such entry".to_owned())),
        }
    }

    /// Flags of the entries that `data` includes.
    fn included(&self, data: &EntryData, depth: usize) -> Result<Vec<Flag>, EntryError> {
        // An entry that includes itself, or in a circle, would wait for itself forever.
        if depth > 4 {
            return Err(EntryError("includes nest too deeply".to_owned()));
        }
        let mut flags = Vec::new();
        for name in &data.include {
            let place = self
                .find(name)
                .ok_or_else(|| EntryError(format!("includes unlisted `{name}`")))?;
            let other = self.data(place)?;
            let more = self.included(&other, depth + 1)?;
            flags.extend(other.compile(name, more)?.flags);
        }
        Ok(flags)
    }

    /// Names with their family, sorted by family, then name. Names that begin with `@` are shared
    /// sets of flags, not commands.
    pub(crate) fn names(&self) -> Vec<(&str, String)> {
        let embedded = NAMES.iter().filter_map(|(stem, last, table)| {
            let (family, ..) = TABLES.get(*table)?;
            Some((FAMILIES.get(*family)?.0, full_name(stem, last)))
        });
        let mut names: Vec<(&str, String)> = embedded
            .filter(|(_, name)| !self.added_names.contains_key(name))
            .collect();
        names.extend(self.added_names.keys().map(|name| ("user", name.clone())));
        names.sort_unstable();
        names
    }
}

fn full_name(stem: &str, last: &str) -> String {
    if stem.is_empty() {
        last.to_owned()
    } else {
        format!("{stem} {last}")
    }
}

/// The tables of an embedded file: header text and slice.
#[cfg(test)]
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
