//! Whether make would write the files that it reads afresh before it obeys them.
//!
//! GNU make takes every file that it read as a goal of its own, by explicit rules, by pattern rules
//! and by those that are built in (`%: %.sh`, RCS, SCCS), and starts again with what was written.
//! What such a file will say cannot be told.

use std::path::Path;

use super::Look;
use super::makefile::rule_head;

/// Most names of a directory that are looked at.
const MAX_NAMES: usize = 10_000;

/// Endings from which the rules that are built into make produce the file without them.
const BUILT_IN: &[&str] = &[
    "a", "ln", "o", "c", "cc", "C", "cpp", "p", "f", "F", "m", "r", "y", "l", "ym", "yl", "s", "S",
    "mod", "sym", "def", "h", "info", "dvi", "tex", "texinfo", "texi", "txinfo", "w", "ch", "web",
    "sh", "elc", "el", "out",
];

impl Look<'_> {
    /// `text` is all that make reads; `always` that nothing counts as up to date.
    pub(super) fn is_remade(
        &self,
        file: &Path,
        directory: &Path,
        text: &str,
        always: bool,
    ) -> bool {
        let Some(name) = file.file_name().and_then(|name| name.to_str()) else {
            return true;
        };
        let within = file.strip_prefix(directory).unwrap_or(file);
        let Some(target) = within.to_str() else {
            return true;
        };
        let exists = self.cx.probe.resolve(file).kind.is_some();
        let rules = rules_for(text, target);
        if rules == Remade::ByRule || (rules == Remade::WhenMissing && (!exists || always)) {
            return true;
        }
        let Some(place) = file.parent() else {
            return true;
        };
        let any_ending = rules == Remade::ByPattern;
        self.has_source(place, name, any_ending)
    }

    /// Something beside the file from which a rule that needs no mention makes it.
    fn has_source(&self, place: &Path, name: &str, any_ending: bool) -> bool {
        let is_source = |entry: &str| {
            let plain = entry.strip_prefix("s.").unwrap_or(entry);
            let from_history =
                plain != entry && (plain == name || plain.starts_with(&format!("{name}.")));
            let Some(rest) = entry.strip_prefix(name) else {
                return from_history;
            };
            let ending = rest.strip_prefix('.').unwrap_or_default();
            let ending = ending.strip_suffix(",v").unwrap_or(ending);
            from_history
                || rest.ends_with(",v")
                || BUILT_IN.contains(&ending)
                || (any_ending && !rest.is_empty())
        };
        let of = |directory: &Path| self.cx.probe.list(directory, MAX_NAMES);
        let here = match of(place) {
            Some(names) => names.len() >= MAX_NAMES || names.iter().any(|entry| is_source(entry)),
            // It cannot be told, unless there is no such directory.
            None => self.cx.probe.resolve(place).kind.is_some(),
        };
        here || ["RCS", "SCCS"].iter().any(|history| {
            let history = place.join(history);
            self.cx.probe.resolve(&history).kind.is_some()
                && of(&history).is_none_or(|names| {
                    names.len() >= MAX_NAMES || names.iter().any(|entry| entry.contains(name))
                })
        })
    }
}

/// What the rules of a text say about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Remade {
    /// Nothing.
    No,
    /// A pattern makes any file from one whose name only goes on.
    ByPattern,
    /// A rule without prerequisites: only when it is not there.
    WhenMissing,
    /// It may be written.
    ByRule,
}

/// Errs towards a rule: conditions are not looked at, and a name that is computed could be any that
/// the text speaks of.
fn rules_for(text: &str, target: &str) -> Remade {
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    if text.contains("VPATH") || text.contains("vpath") || text.contains(".SECONDEXPANSION") {
        return Remade::ByRule;
    }
    let target = target.trim_start_matches("./");
    let base = target.rsplit('/').next().unwrap_or(target);
    let spoken_of = text
        .lines()
        .any(|line| line.contains('=') && line.contains(base));
    let mut found = Remade::No;
    for line in text.lines().filter(|line| !line.starts_with('\t')) {
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        let Some((targets, needs)) = rule_head(line) else {
            continue;
        };
        let here = |word: &&str| {
            let word = word.trim_start_matches("./");
            could_name(word, target, spoken_of)
        };
        if targets.contains(&".PHONY") {
            if needs.iter().any(here) {
                return Remade::ByRule;
            }
            continue;
        }
        if !targets.iter().any(here) {
            continue;
        }
        let double = line.contains("::");
        let only_longer = targets.iter().all(|word| *word == "%")
            && needs.iter().all(|need| {
                need.strip_prefix('%')
                    .is_some_and(|ending| !ending.is_empty() && !ending.contains(['/', '$', '%']))
            });
        found = found.max(match needs.as_slice() {
            [] if !double => Remade::WhenMissing,
            [_, ..] if only_longer && !line.contains(';') => Remade::ByPattern,
            _ => return Remade::ByRule,
        });
    }
    found
}

/// A word of a rule stands for this file, or could.
fn could_name(word: &str, target: &str, spoken_of: bool) -> bool {
    if word == target {
        return true;
    }
    let computed = word.contains('$');
    if computed && !spoken_of && !word.contains("MAKEFILE") {
        return false;
    }
    if !computed && !word.contains(['%', '*', '?', '[']) {
        return false;
    }
    // What is computed or a pattern stands for any text; what is written must be there.
    let mut pieces: Vec<String> = vec![String::new()];
    let mut depth = 0_usize;
    let mut chars = word.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '$' if depth == 0 => {
                pieces.push(String::new());
                match chars.peek() {
                    Some('(' | '{') => {
                        chars.next();
                        depth = 1;
                    }
                    _ => {
                        chars.next();
                    }
                }
            }
            '(' | '{' if depth > 0 => depth += 1,
            ')' | '}' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            '%' | '*' | '?' | '[' | ']' => pieces.push(String::new()),
            _ => {
                if let Some(piece) = pieces.last_mut() {
                    piece.push(c);
                }
            }
        }
    }
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else {
        return true;
    };
    // A head that was cut apart at a blank within `$(…)`.
    depth > 0
        || (target.starts_with(first.as_str())
            && target.ends_with(last.as_str())
            && pieces.iter().all(|piece| target.contains(piece.as_str())))
        || word.contains(')') && !word.contains('(')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Remade) {
        assert_eq!(rules_for(text, "Makefile"), expected, "{text:?}");
    }

    #[test]
    fn a_rule_that_may_write_the_makefile_is_found() {
        for text in [
            "Makefile: x\n\tevil\n",
            "./Makefile: x\n",
            "a Makefile b: x\n",
            "Makefile:: \n\tevil\n",
            "ifdef X\n  Makefile: x\nendif\n",
            "M%: x\n\tevil\n",
            "%: x\n\tevil\n",
            "%: sub/%.in\n\tevil\n",
            "X = Makefile\n$(X): y\n",
            "X = Makefile.in\n$(X:.in=): y\n",
            "$(MAKEFILE_LIST): x\n",
            "Make\\\nfile: x\nMakefile \\\n: x\n",
            ".PHONY: Makefile\n",
            "VPATH = src\n",
            "Make*: x\n",
        ] {
            check(text, Remade::ByRule);
        }
    }

    #[test]
    fn ordinary_rules_leave_it_alone() {
        check(
            "all: x\n\techo Makefile: x\n$(OBJ)/%.o: %.c\n\tcc\n$(BIN): $(OBJS)\n.PHONY: all\n",
            Remade::No,
        );
        check("Makefile: ;\n", Remade::WhenMissing);
        check("%:\n\techo no such target\n", Remade::WhenMissing);
        check("%: %.c\n\tcc\n", Remade::ByPattern);
        check("X := Makefile\nall: $(X)\n", Remade::No);
    }
}
