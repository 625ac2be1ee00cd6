//! `ulimit`: limits under which the shell itself may fail.
//!
//! With three descriptors no pipe can be made, and `d=$(echo build)` gives nothing; with the limit
//! raised again, `rm -rf "$d"/*` then removes something else than it was read to.

use super::reader::Reader;
use super::simple::Call;
use super::values;

/// Whoever needs less than this starves itself.
const AMPLE: u64 = 256;
/// Limits that end a process or a file, and leave the shell's own work alone: the size of dumps and
/// files, time, and whether a limit is soft or hard.
const OF_NO_MATTER: &str = "cftSH";

impl Reader<'_> {
    /// Notes a limit that is too low for what is read of the rest.
    pub(super) fn limits(&mut self, call: &Call) {
        let words: Option<Vec<&str>> = call
            .argv
            .iter()
            .skip(1)
            .map(|word| values::as_literal(word))
            .collect();
        let is_ample = words.is_some_and(|words| {
            let (flags, values): (Vec<&str>, Vec<&str>) =
                words.iter().partition(|word| word.starts_with('-'));
            let letters: Vec<char> = flags.iter().flat_map(|flag| flag.chars().skip(1)).collect();
            // `-n3` sets a limit, too.
            if letters.iter().any(|letter| !letter.is_ascii_alphabetic()) {
                return false;
            }
            let of_no_matter = letters.iter().all(|letter| OF_NO_MATTER.contains(*letter));
            (of_no_matter && !flags.is_empty()) || values.iter().all(|value| is_enough(value))
        });
        if !is_ample {
            self.partial_at(
                call.span,
                "limits",
                "under a low limit the shell itself may fail",
            );
        }
    }
}

fn is_enough(value: &str) -> bool {
    matches!(value, "unlimited" | "hard") || value.parse().is_ok_and(|number: u64| number >= AMPLE)
}
