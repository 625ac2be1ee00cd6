//! What surely holds no secret: told by a table that is made when guardian is compiled.
//!
//! The search of [`crate::scan`] has to be prepared, which takes a million instructions: more than
//! all the rest of judging one command. Most texts hold no anchor of the embedded data, and this
//! can be told without it.

use crate::keys::KEY_ANCHORS;
use crate::scan::{FILTER, hash};
use crate::shapes::BUILTIN;

/// Where an anchor of the embedded shapes stands in their data file: first byte, and the one behind
/// the last.
type Place = (usize, usize);

/// The data file as bytes.
const SHAPES: &[u8] = BUILTIN.as_bytes();
static SHAPE_ANCHORS: [Place; shape_anchors::<0>().1] = shape_anchors().0;
/// A bit for each hash with which an anchor begins.
static BEGINNINGS: [u64; FILTER] = beginnings();

/// Is there an anchor of the embedded data in these bytes? When not, nothing of them is hidden by
/// the embedded shapes and key names.
pub(crate) fn holds_anchor(bytes: &[u8]) -> bool {
    bytes.windows(3).enumerate().any(|(at, window)| {
        let hash = hash(u32::from_le_bytes([window[0], window[1], window[2], 0]));
        BEGINNINGS[(hash >> 6) as usize % FILTER] >> (hash & 63) & 1 == 1
            && anchors().any(|anchor| {
                let here = bytes[at..].get(..anchor.len());
                here.is_some_and(|here| here.eq_ignore_ascii_case(anchor))
            })
    })
}

fn anchors() -> impl Iterator<Item = &'static [u8]> {
    let of_keys = KEY_ANCHORS.iter().map(|text| text.as_bytes());
    of_keys.chain(
        SHAPE_ANCHORS
            .iter()
            .map(|&(start, end)| &SHAPES[start..end]),
    )
}

/// The first `N` anchors of the data file, and how many it has: the strings of every line that
/// begins with `anchors`. A test holds them against what a real parser finds.
const fn shape_anchors<const N: usize>() -> ([Place; N], usize) {
    let mut places = [(0, 0); N];
    let mut count = 0;
    let mut at = 0;
    while at < SHAPES.len() {
        let is_list = starts_with(SHAPES, at, b"anchors = [");
        let mut start = None;
        while at < SHAPES.len() && SHAPES[at] != b'\n' {
            if is_list && SHAPES[at] == b'"' {
                start = match start {
                    None => Some(at + 1),
                    Some(start) => {
                        if count < N {
                            places[count] = (start, at);
                        }
                        count += 1;
                        None
                    }
                };
            }
            at += 1;
        }
        at += 1;
    }
    (places, count)
}

const fn starts_with(bytes: &[u8], at: usize, start: &[u8]) -> bool {
    if bytes.len() - at < start.len() {
        return false;
    }
    let mut index = 0;
    while index < start.len() {
        if bytes[at + index] != start[index] {
            return false;
        }
        index += 1;
    }
    true
}

const fn beginnings() -> [u64; FILTER] {
    let mut table = [0; FILTER];
    let mut index = 0;
    while index < KEY_ANCHORS.len() {
        add(&mut table, KEY_ANCHORS[index].as_bytes(), 0);
        index += 1;
    }
    let (places, count) = shape_anchors::<{ shape_anchors::<0>().1 }>();
    let mut index = 0;
    while index < count {
        add(&mut table, SHAPES, places[index].0);
        index += 1;
    }
    table
}

const fn add(table: &mut [u64; FILTER], bytes: &[u8], at: usize) {
    let three = [bytes[at], bytes[at + 1], bytes[at + 2], 0];
    let hash = hash(u32::from_le_bytes(three));
    table[(hash >> 6) as usize] |= 1 << (hash & 63);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Redactor;
    use crate::shapes;

    #[test]
    fn the_table_is_the_filter_of_the_search() {
        let redactor = Redactor::builtin();
        let engine = redactor.engine().expect("the embedded shapes");
        assert!(engine.filter() == &BEGINNINGS);
    }

    #[test]
    fn the_anchors_are_those_of_a_real_parser() {
        let shapes = shapes::parse(BUILTIN).expect("the embedded shapes");
        let parsed = shapes.iter().flat_map(|shape| &shape.anchors);
        let parsed: Vec<&[u8]> = parsed.map(|text| text.as_bytes()).collect();
        let read: Vec<&[u8]> = anchors().skip(KEY_ANCHORS.len()).collect();
        assert_eq!(parsed, read);
    }

    #[test]
    fn everyday_commands_hold_no_anchor_and_secrets_do() {
        for plain in ["ls -la", "git status --short", "cargo test -p x", "", "x"] {
            assert!(!holds_anchor(plain.as_bytes()), "{plain}");
        }
        for secret in ["x PASSWORD=1", "AKIA", "://", "xpwd", "a Github_pat_"] {
            assert!(holds_anchor(secret.as_bytes()), "{secret}");
        }
    }
}
