//! The words of a program of which nothing is known: those that name what no tool may touch.
//!
//! What such a program does with its words is not known, so no access follows from an ordinary one.
//! A key, or guardian's own files, are not for any program (SPEC §3).

use super::reader::Reader;
use super::simple::Call;
use super::values::{self, Part, State, Text};
use crate::command::Nested;
use crate::{AccessDetail, AccessKind, AccessSource, Effects, Target};

impl Reader<'_> {
    /// Adds an access for each word of an opaque command that names a sensitive path, guardian's
    /// own files, or a directory that holds some.
    pub(super) fn operands_of_unknown(
        &mut self,
        index: usize,
        call: &Call,
        nested: &[Nested],
        state: &State,
    ) {
        let opaque = self
            .facts
            .commands
            .get(index)
            .is_some_and(|fact| fact.effects_known == Effects::Opaque && !fact.place.elsewhere);
        if !opaque {
            return;
        }
        // code given inline is read as code
        let is_code = |word: &Text| {
            let shown = values::to_word(word, call.span).display();
            nested.iter().any(|nested| match nested {
                Nested::Shell { text, .. } | Nested::Inline { text, .. } => text.display() == shown,
                Nested::Command { .. }
                | Nested::CodeFile { .. }
                | Nested::StdinShell
                | Nested::StdinCode { .. } => false,
            })
        };
        self.paths_named(index, call, &is_code, state);
        for word in call.argv.iter().skip(1).filter(|word| !is_code(word)) {
            let mut values = vec![(word.clone(), true)];
            if let Some(value) = behind_equals(word) {
                values.push((value, false));
            }
            for (text, whole) in values {
                let Some(target) = self.place(&text, state) else {
                    continue;
                };
                if !self.is_forbidden(&target, whole) || self.names_already(index, &target) {
                    continue;
                }
                self.add_access(index, target, AccessKind::Read, AccessDetail::Plain, whole);
            }
        }
    }

    fn is_forbidden(&self, target: &Target, whole: bool) -> bool {
        match target {
            Target::Exact(path) => {
                let named = path.sensitivity.sensitive || path.sensitivity.guardian;
                let holds = || {
                    let cx = self.cx;
                    let beneath = cx.classes_beneath(&path.path);
                    // `~/.ssh` is no key, but all in it is
                    let inside = cx.classes.classify(&path.path.join("x"), &cx.roots.home);
                    path.kind == Some(crate::FileKind::Directory)
                        && (beneath.sensitive || beneath.guardian || inside.sensitive)
                };
                named || (whole && holds())
            }
            Target::Pattern {
                base, may_match, ..
            } => {
                base.sensitivity.sensitive
                    || base.sensitivity.guardian
                    || may_match.sensitive
                    || may_match.guardian
            }
            Target::Unknown { .. } => false,
        }
    }

    pub(super) fn names_already(&self, index: usize, target: &Target) -> bool {
        self.facts.accesses.iter().any(|access| {
            access.source == AccessSource::Command(index)
                && match (&access.target, target) {
                    (Target::Exact(known), Target::Exact(new)) => known.path == new.path,
                    (known, new) => known == new,
                }
        })
    }
}

/// `x` of `--key=x` and `NAME=x`.
pub(super) fn behind_equals(word: &Text) -> Option<Text> {
    let at = word
        .iter()
        .position(|part| matches!(part, Part::Literal(text) if text.contains('=')))?;
    let Some(Part::Literal(text)) = word.get(at) else {
        return None;
    };
    let (_, value) = text.split_once('=')?;
    let mut rest = values::literal(value);
    rest.extend(word.iter().skip(at + 1).cloned());
    Some(rest)
}
