//! The names in a directory that are nearest to one that is missing.

use std::ffi::OsStr;
use std::mem::MaybeUninit;

use rustix::fs::RawDir;

use crate::contained::Contained;

/// Looks at this many entries at most.
const LOOKED_AT: usize = 5000;
/// Returns this many names at most.
const RETURNED: usize = 5;

/// At most five names, nearest first. Best effort: an unreadable directory has none.
pub(crate) fn nearest_names(directory: &Contained, missing: &OsStr) -> Vec<String> {
    let Ok(handle) = directory.open_for_listing() else {
        return Vec::new();
    };
    let wanted = folded(&missing.to_string_lossy());
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut entries = RawDir::new(handle, &mut buffer);
    let mut scored: Vec<(f64, String)> = Vec::new();
    let mut seen = 0;
    while let Some(Ok(entry)) = entries.next() {
        seen += 1;
        if seen > LOOKED_AT {
            break;
        }
        let Ok(name) = entry.file_name().to_str() else {
            continue;
        };
        if name == "." || name == ".." {
            continue;
        }
        let score = similarity(&wanted, &folded(name));
        if score >= 0.6 {
            scored.push((score, name.to_owned()));
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored
        .into_iter()
        .take(RETURNED)
        .map(|(_, name)| name)
        .collect()
}

fn similarity(wanted: &str, name: &str) -> f64 {
    let edit = strsim::normalized_damerau_levenshtein(wanted, name);
    let stem = |text: &str| {
        text.rsplit_once('.')
            .map_or(text, |(stem, _)| stem)
            .to_owned()
    };
    // `config.yml` for `config.yaml`, `index.tsx` for `index.ts`.
    if edit < 0.9 && stem(wanted) == stem(name) {
        0.9
    } else {
        edit
    }
}

/// Case, Unicode spaces, curly quotes and combining marks are folded, for suggestions only.
fn folded(name: &str) -> String {
    name.chars()
        .filter(|c| !('\u{300}'..='\u{36f}').contains(c))
        .map(fold_character)
        .flat_map(char::to_lowercase)
        .collect()
}

/// Look-alikes of ASCII characters that models and editors exchange.
pub(crate) fn fold_character(c: char) -> char {
    match c {
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => {
            ' '
        }
        '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{2032}' => '\'',
        '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{2033}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_no_break_space_is_the_same_name_for_suggestions() {
        assert_eq!(folded("Scan 7\u{a0}v 2.png"), folded("Scan 7 v 2.png"));
    }

    #[test]
    fn another_extension_is_near() {
        assert!(similarity("config.yaml", "config.yml") >= 0.9);
        assert!(similarity("main.rs", "zebra.txt") < 0.6);
    }
}
