//! The newest of many, in bounded memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;

/// Orders by age: newest first, then by path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Age {
    newest_first: Reverse<i128>,
    pub(crate) path: PathBuf,
}

impl Age {
    pub(crate) fn new(mtime_ns: i128, path: PathBuf) -> Self {
        Self {
            newest_first: Reverse(mtime_ns),
            path,
        }
    }
}

/// Something with an age, which takes up some of the room.
#[derive(Debug)]
struct Entry<T> {
    age: Age,
    weight: usize,
    value: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.age == other.age
    }
}
impl<T> Eq for Entry<T> {}
impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.age.cmp(&other.age)
    }
}

/// Keeps the newest entries until their weights fill the room; the oldest go first.
#[derive(Debug)]
pub(crate) struct Newest<T> {
    /// Greatest = oldest on top.
    heap: BinaryHeap<Entry<T>>,
    room: usize,
    weight: usize,
    /// Entries that were put in, kept or not.
    pub(crate) seen: u64,
    /// Something was dropped.
    pub(crate) dropped: bool,
}

impl<T> Newest<T> {
    pub(crate) fn new(room: usize) -> Self {
        Self {
            heap: BinaryHeap::new(),
            room,
            weight: 0,
            seen: 0,
            dropped: false,
        }
    }

    /// Puts one in; without the entries that are now beyond the room.
    pub(crate) fn push(&mut self, age: Age, weight: usize, value: T) {
        self.seen += 1;
        self.insert(Entry { age, weight, value });
    }

    /// Counts one that is too old to be put in.
    pub(crate) fn pass_over(&mut self) {
        self.seen += 1;
    }

    fn insert(&mut self, entry: Entry<T>) {
        self.weight += entry.weight;
        self.heap.push(entry);
        while let Some(oldest) = self.heap.peek() {
            // The room must stay filled: an entry goes only when the others fill it alone.
            if self.weight - oldest.weight < self.room {
                break;
            }
            self.weight -= oldest.weight;
            self.dropped = true;
            self.heap.pop();
        }
    }

    /// Something of this age would be dropped at once.
    pub(crate) fn is_too_old(&self, mtime_ns: i128) -> bool {
        self.dropped
            && self
                .heap
                .peek()
                .is_some_and(|oldest| oldest.age.newest_first < Reverse(mtime_ns))
    }

    /// True once the room is used up: from here on ages are worth asking for.
    pub(crate) fn is_full(&self) -> bool {
        self.dropped
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.seen += other.seen;
        self.dropped |= other.dropped;
        for entry in other.heap {
            self.insert(entry);
        }
    }

    /// Newest first.
    pub(crate) fn into_sorted(self) -> Vec<(Age, T)> {
        self.heap
            .into_sorted_vec()
            .into_iter()
            .map(|entry| (entry.age, entry.value))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_newest_are_those_of_a_full_sort(
            times in prop::collection::vec(0_i128..50, 0..80), room in 1_usize..20,
            split in 0_usize..80,
        ) {
            let named: Vec<(i128, String)> =
                times.iter().enumerate().map(|(n, t)| (*t, format!("f{n:03}"))).collect();
            let mut first = Newest::new(room);
            let mut second = Newest::new(room);
            for (n, (time, name)) in named.iter().enumerate() {
                let half = if n < split { &mut first } else { &mut second };
                half.push(Age::new(*time, name.into()), 1, ());
            }
            first.merge(second);
            let mut sorted = named.clone();
            sorted.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
            sorted.truncate(room);
            prop_assert_eq!(first.seen, named.len() as u64);
            prop_assert_eq!(first.dropped, named.len() > room);
            let found: Vec<String> = first
                .into_sorted()
                .into_iter()
                .map(|(age, ())| age.path.display().to_string())
                .collect();
            let expected: Vec<String> = sorted.into_iter().map(|(_, name)| name).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
