//! Which words of a command line are values of flags.

use super::{Catalogue, raw_grammar, scan};
use crate::Word;

/// Subcommands of subcommands that are followed.
const MAX_DEPTH: usize = 5;

impl Catalogue {
    /// Indices of the arguments that are values of the flag in front of them; `None` where the
    /// tables do not say for certain what each word is.
    #[must_use]
    pub fn flag_values(&self, program: &str, args: &[Word]) -> Option<Vec<usize>> {
        let mut name = program.to_owned();
        let mut start = 0;
        let mut values = Vec::new();
        for _ in 0..MAX_DEPTH {
            let Some(Ok(entry)) = self.registry.get(&name) else {
                return None;
            };
            if entry.response_files || entry.grammar.and_then(raw_grammar).is_some() {
                return None;
            }
            let stops = entry.subcommands || entry.operands.has_command();
            let scanned = scan::scan(entry, args.get(start..)?, stops);
            if !scanned.problems.is_empty() {
                return None;
            }
            values.extend(scanned.taken.iter().map(|at| start + at));
            let first = match scanned.first_operand {
                Some(first) if entry.subcommands => start + first,
                _ => return Some(values),
            };
            let word = args.get(first)?.as_literal()?;
            name = format!("{} {word}", entry.name);
            start = first + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    #[track_caller]
    fn check(line: &str, expected: Option<&[usize]>) {
        let words: Vec<Word> = line
            .split(' ')
            .map(|word| Word::literal(word, Span { start: 0, end: 0 }))
            .collect();
        let program = words[0].as_literal().unwrap();
        let values = Catalogue::builtin().flag_values(program, &words[1..]);
        assert_eq!(values.as_deref(), expected, "{line}");
    }

    #[test]
    fn a_value_is_told_from_a_flag() {
        check("git push --dry-run", Some(&[]));
        check("git push -o --dry-run origin", Some(&[2]));
        check("git -C x push --repo=a -o b", Some(&[1, 5]));
        check("git push --nosuch --dry-run", None);
        check("nosuch --dry-run", None);
    }
}
