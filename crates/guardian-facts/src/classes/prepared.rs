//! An index of embedded patterns that costs nothing at start: the build script makes it.
//!
//! It holds numbers only, so that the loader of the program has nothing to relocate in it, and no
//! page of it is touched that no path asks for. Patterns are taken apart when a path comes near one.

use std::sync::OnceLock;

use super::pattern::{Letter, Pattern, hash, parse};
use crate::defaults::Text;

/// Patterns with their index. Numbers are places in `texts`.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// As written; each was parsed when guardian was built.
    pub(crate) texts: &'static [Text],
    /// A power of two of buckets, and one more: patterns whose last literal component has the hash
    /// `h` are `numbers[starts[h]..starts[h + 1]]`.
    pub(crate) starts: &'static [u16],
    pub(crate) numbers: &'static [u16],
    /// Names at any depth that begin (`true`) or end in a letter.
    pub(crate) letters: &'static [(bool, u8, u16)],
    /// Neither with a literal component nor with such a letter.
    pub(crate) others: &'static [u16],
    /// They begin at `/` or a drive, and so name one place.
    pub(crate) rooted: &'static [u16],
    /// They begin at `~/`.
    pub(crate) in_home: &'static [u16],
}

impl Prepared {
    /// No patterns.
    pub(crate) const NONE: &'static Self = &Self {
        texts: &[],
        starts: &[0, 0],
        numbers: &[],
        letters: &[],
        others: &[],
        rooted: &[],
        in_home: &[],
    };

    /// Numbers of the patterns that may have this (lower-case) component as their last literal one;
    /// some may not.
    pub(crate) fn with_literal(&self, component: &str) -> impl Iterator<Item = usize> {
        let buckets = self.starts.len() - 1;
        let bucket = hash(component.as_bytes()) as usize & (buckets - 1);
        let (start, end) = (self.starts[bucket], self.starts[bucket + 1]);
        self.numbers[usize::from(start)..usize::from(end)]
            .iter()
            .map(|number| usize::from(*number))
    }

    /// Numbers of the patterns for names with this letter.
    pub(crate) fn with_letter(&self, letter: Letter) -> impl Iterator<Item = usize> {
        let (is_first, byte) = match letter {
            Letter::First(byte) => (true, byte),
            Letter::Last(byte) => (false, byte),
        };
        self.letters
            .iter()
            .filter(move |(first, known, _)| *first == is_first && *known == byte)
            .map(|(_, _, number)| usize::from(*number))
    }
}

/// Patterns that are taken apart at first use.
#[derive(Debug, Clone)]
pub(crate) struct Parsed {
    chunks: Box<[OnceLock<Box<Chunk>>]>,
}

/// So many patterns share an allocation: most of a thousand are never asked for.
const CHUNK: usize = 16;
type Chunk = [OnceLock<Result<Pattern, &'static str>>; CHUNK];

impl Parsed {
    /// For the patterns of an index.
    pub(crate) fn of(prepared: &Prepared) -> Self {
        let chunks = prepared.texts.len().div_ceil(CHUNK);
        Self {
            chunks: (0..chunks).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The pattern of this number and text. An error cannot happen with an index that was made by
    /// the build script; callers take it for a match.
    pub(crate) fn get(&self, number: usize, text: &str) -> Result<&Pattern, &'static str> {
        let chunk = self.chunks[number / CHUNK].get_or_init(Box::default);
        match chunk[number % CHUNK].get_or_init(|| parse(text)) {
            Ok(pattern) => Ok(pattern),
            Err(reason) => Err(reason),
        }
    }
}
