//! The index of a list of patterns, as the text of a static value (`classes/prepared.rs`).

use std::collections::BTreeSet;

use crate::Failure;
use crate::pattern::{
    Letter, directories_of, fixed_letter, hash, is_anchored, last_literal, parse,
};

/// The index of the patterns in the static list `name`.
pub(crate) fn prepared(name: &str, patterns: &[String]) -> Result<String, Failure> {
    u16::try_from(patterns.len())?;
    let buckets = (patterns.len() * 2).next_power_of_two();
    let mut by_bucket = vec![Vec::new(); buckets];
    let (mut letters, mut others) = (Vec::new(), Vec::new());
    let (mut rooted, mut in_home) = (Vec::new(), Vec::new());
    for (number, pattern) in patterns.iter().enumerate() {
        parse(pattern).map_err(|reason| format!("config/default.toml: `{pattern}`: {reason}"))?;
        match (last_literal(pattern), fixed_letter(pattern)) {
            (Some(literal), _) => {
                let hash = hash(literal.to_lowercase().as_bytes());
                by_bucket[usize::try_from(hash % buckets as u64)?].push(number);
            }
            (None, Some(Letter::First(byte))) => letters.push((true, byte, number)),
            (None, Some(Letter::Last(byte))) => letters.push((false, byte, number)),
            (None, None) => others.push(number),
        }
        if pattern.starts_with('~') && is_anchored(pattern) {
            in_home.push(number);
        } else if is_anchored(pattern) {
            rooted.push(number);
        }
    }
    let mut starts = vec![0];
    let mut numbers = Vec::new();
    for bucket in by_bucket {
        numbers.extend(bucket);
        starts.push(numbers.len());
    }
    Ok(format!(
        "Prepared {{ texts: &{name}, starts: &{starts:?}, numbers: &{numbers:?}, \
         letters: &{letters:?}, others: &{others:?}, rooted: &{rooted:?}, in_home: &{in_home:?} }}"
    ))
}

/// The directories that the patterns name.
pub(crate) fn directories(patterns: &[String]) -> String {
    let (mut on_the_way, mut trees) = (BTreeSet::new(), BTreeSet::new());
    for pattern in patterns {
        let found = directories_of(pattern);
        on_the_way.extend(found.on_the_way);
        trees.extend(found.tree);
    }
    let on_the_way: Vec<String> = on_the_way.into_iter().collect();
    let trees: Vec<String> = trees.into_iter().collect();
    format!("EmbeddedDirectories {{ on_the_way: &{on_the_way:?}, trees: &{trees:?} }}")
}
