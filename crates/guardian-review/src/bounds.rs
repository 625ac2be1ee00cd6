//! How much a request holds at most: what a person could still look at, and what a client can
//! still take (SPEC §8). What is left out is counted, and an action of which anything is left out
//! may be allowed once by a person, never remembered and never by a machine.

use serde_json::Value;

use crate::{ReviewRequest, ShownPath};

/// Longest single text, in characters: paths, sentences.
const TEXT: usize = 1_000;
/// All paths together, in bytes.
const PATHS: usize = 8 * 1024;
/// All sentences about what is not known, in bytes; the same for notes.
const SENTENCES: usize = 4 * 1024;
/// The text of all code files, in bytes.
const CODE: usize = 16 * 1024;
/// Facts in their serialised form, in bytes.
const FACTS: usize = 32 * 1024;

/// What was left out of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Omitted {
    /// Number of paths.
    pub paths: usize,
    /// Number of sentences about what is not known.
    pub unknowns: usize,
    /// Number of code files.
    pub code: usize,
    /// The facts, which are too long.
    pub facts: bool,
}

impl Omitted {
    /// Nothing was left out.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl ReviewRequest {
    /// Cuts everything to what a card may hold. To be called once, when all fields are filled in
    /// and redacted: a cut secret may no longer look like one.
    pub fn bound(&mut self) {
        let mut cut = false;
        for text in [&mut self.summary, &mut self.reason] {
            cut |= cut_text(text);
        }
        for path in &mut self.paths {
            cut |= cut_text(&mut path.path);
            if let Some(text) = &mut path.when_empty {
                cut |= cut_text(text);
            }
        }
        let size = |path: &ShownPath| path.path.len() + 64;
        if self.paths.iter().map(size).sum::<usize>() > PATHS {
            // Gravest first, so that a flood of harmless paths does not push them out.
            self.paths.sort_by_key(|path| !is_grave(path));
        }
        self.omitted.paths += keep_within(&mut self.paths, PATHS, size);
        for unknown in &mut self.unknowns {
            cut |= cut_text(unknown);
        }
        self.omitted.unknowns += keep_within(&mut self.unknowns, SENTENCES, String::len);
        self.notes.iter_mut().for_each(|note| {
            cut_text(note);
        });
        keep_within(&mut self.notes, SENTENCES, String::len);
        self.bound_code();
        if self.facts.to_string().len() > FACTS {
            self.facts = Value::Null;
            self.omitted.facts = true;
        }
        self.args_preview.whole &= !cut;
    }

    fn bound_code(&mut self) {
        let mut left = CODE;
        for code in &mut self.code {
            cut_text(&mut code.path);
            if code.text.len() > left {
                code.text.truncate(code.text.floor_char_boundary(left));
                code.whole = false;
            }
            left -= code.text.len();
        }
        self.omitted.code += keep_within(&mut self.code, CODE, |code| code.text.len() + 64);
    }
}

/// Deserves to be seen before others.
fn is_grave(path: &ShownPath) -> bool {
    let classes = path.sensitivity;
    path.when_empty.is_some()
        || classes.secret
        || classes.sensitive
        || classes.protected
        || classes.guardian
        || path.scope != Some(guardian_facts::Scope::Workspace)
}

/// Cuts the middle out of a long text: both ends of a path say what it is.
fn cut_text(text: &mut String) -> bool {
    let characters = text.chars().count();
    if characters <= TEXT {
        return false;
    }
    let half = TEXT / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(characters - half).collect();
    *text = format!(
        "{start}… ({} more characters) …{end}",
        characters - 2 * half
    );
    true
}

/// Keeps items from the front while they fit; says how many were dropped.
fn keep_within<T>(items: &mut Vec<T>, bytes: usize, size: impl Fn(&T) -> usize) -> usize {
    let mut left = bytes;
    let fits = items
        .iter()
        .take_while(|item| {
            let size = size(item);
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        })
        .count();
    let dropped = items.len() - fits;
    items.truncate(fits);
    dropped
}
