//! What an unknown text may stand for, where that has a bound: the files that `find src` or
//! `git ls-files` names, a name without a slash, the matches of a pattern.
//!
//! A path that depends on something unknown may lead anywhere and is asked about. These bounds are
//! what keeps `git ls-files '*.rs' | xargs wc -l` from being such a path.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::git_names::{Items, NamesFrom, part_splits};
use super::reader::Reader;
use super::simple::Call;
use super::values::{self, Kind, Part, State, Text, Value};
use crate::opacity;
use crate::path::{Listed, wider};
use crate::{PathFact, ProgramForm, RedirectKind, Target, Word};

/// What the unknown part stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Bound {
    /// Text that fits this pattern.
    Glob(String),
    /// One name: no slash, not `..`.
    Name,
    /// A relative path without `..`: the name of a branch.
    Branch,
    /// Files beneath a directory.
    Files(Files),
    /// Names of commits.
    Revisions(Revisions),
}

/// Names of commits in hexadecimal digits, any number of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Revisions {
    /// What may be printed in their place.
    pub(super) otherwise: Option<String>,
}

impl Revisions {
    /// All of them are names without a slash.
    fn are_names(&self) -> bool {
        let other = self.otherwise.as_deref().unwrap_or_default();
        !other.contains('/') && !other.starts_with('.')
    }
}

/// Files that a command names, one a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Files {
    /// Where they lie.
    pub(super) base: PathBuf,
    /// What their last component fits.
    pub(super) name: String,
    /// They are named relative to this directory, and have no `..`.
    pub(super) relative_to: Option<PathBuf>,
    pub(super) listed: Listed,
    pub(super) from: NamesFrom,
    /// Each is printed behind the directory that the search began with (`./a`, `src/a`).
    pub(super) is_prefixed: bool,
}

/// Commands that hand on some of the lines they get.
const FILTERS: [&str; 6] = ["grep", "head", "tail", "sort", "uniq", "cat"];
/// How often lines are handed on.
const MAX_FILTERS: usize = 8;

impl Reader<'_> {
    /// Notes what `written` stands for. Two bounds for one text are none.
    pub(super) fn bound(&mut self, written: &str, bound: Bound) {
        self.bounds
            .entry(written.to_owned())
            .and_modify(|known| {
                if known.as_ref() != Some(&bound) {
                    *known = None;
                }
            })
            .or_insert(Some(bound));
    }

    pub(super) fn bound_of(&self, written: &str) -> Option<&Bound> {
        self.bounds.get(written)?.as_ref()
    }

    /// It stands for lines of a command whose output has a bound.
    pub(super) fn is_bound(&self, text: &Text) -> bool {
        matches!(text.as_slice(), [Part::Unknown { written, .. }] if self.bound_of(written).is_some())
    }

    /// Notes the bound of a command substitution that the walk has just left.
    pub(super) fn bound_substitution(&mut self, written: &str, first: usize, state: &State) {
        let last = self
            .only_pipeline(first)
            .filter(|_| state.environment.tainted.is_none());
        match last.and_then(|index| self.printed_by(index)) {
            Some(bound) => self.bound(written, bound),
            None => {
                self.bounds.insert(written.to_owned(), None);
            }
        }
    }

    /// The last stage of the one pipeline that the commands from `first` on are.
    pub(super) fn only_pipeline(&self, first: usize) -> Option<usize> {
        let inside = self.scope.inside;
        let commands = self.facts.commands.iter().enumerate().skip(first);
        let own = commands.filter(|(_, command)| command.place.inside == inside);
        let mut last = None;
        for (stage, (index, command)) in own.enumerate() {
            // Two commands in one stage print one after the other.
            if command.place.pipe_stage != stage {
                return None;
            }
            last = Some(index);
        }
        last
    }

    /// The text for lines of the command at `feeder`, where they have a bound.
    pub(super) fn lines_of(&mut self, feeder: Option<usize>, items: Items) -> Option<String> {
        let index = feeder?;
        let bound = self.printed_by(index)?;
        let written = format!(
            "{}{}`>",
            items.begins(),
            self.facts.commands.get(index)?.display()
        );
        self.bound(&written, bound);
        self.bound_of(&written).is_some().then_some(written)
    }

    /// `read name`: the variable holds a line of what the command before prints, when that has a
    /// bound.
    pub(super) fn read_line(
        &mut self,
        call: &Call,
        kind: Kind,
        feeder: Option<usize>,
        state: &mut State,
    ) {
        if let [_, words @ ..] = call.argv.as_slice()
            && let Some((name, flags)) = words.split_last()
            && let Some(name) = values::as_literal(name)
            && flags
                .iter()
                .all(|flag| matches!(values::as_literal(flag), Some("-r" | "-d" | "")))
            && super::expand::is_name(name)
            && state.get(name)
                == Some(Value::Scalar(Rc::new(vec![values::unknown(
                    &format!("${name}"),
                    kind,
                )])))
            && let Some(lines) = self.lines_of(feeder, Items::Lines)
        {
            // a whole line, without the blanks around it
            state.set(
                name,
                Value::Scalar(Rc::new(vec![values::unknown(&lines, kind)])),
            );
        }
    }

    /// What the command prints, line by line.
    pub(super) fn printed_by(&self, index: usize) -> Option<Bound> {
        let mut index = index;
        for _ in 0..MAX_FILTERS {
            let fact = self.facts.commands.get(index)?;
            let quiet = fact.redirects.iter().all(|redirect| redirect.inert);
            let plain = fact.program.form == ProgramForm::Bare && quiet;
            let name = fact.program.name.as_deref()?;
            let other_program = self.facts.opacity.iter().any(|opacity| {
                opacity.command == Some(index)
                    && matches!(
                        opacity.code,
                        opacity::EXECUTION_VARIABLE | opacity::CODE_IN_THIS_SHELL
                    )
            });
            if other_program || !plain || fact.place.elsewhere || !fact.assignments.is_empty() {
                return None;
            }
            let words: Vec<Word> = fact.argv.iter().skip(1).cloned().collect();
            if FILTERS.contains(&name)
                && let Some(before) = fact.place.piped_from
                && !self.own_input.contains_key(&index)
                && !self.mixed.contains(&before)
                && hands_on(name, &words)
            {
                index = before;
                continue;
            }
            let cwd = fact.cwd.as_deref();
            return match name {
                "find" => find(&words, cwd?).map(Bound::Files),
                "rg" | "grep" => searched(name, &words, cwd?).map(Bound::Files),
                "git" => self.git(&words, cwd).filter(|bound| {
                    // errors are text of any kind
                    let tells_errors = fact
                        .redirects
                        .iter()
                        .any(|redirect| redirect.kind == RedirectKind::Duplicate);
                    let tells_more = || {
                        tells_errors || (words_begin_with(&words, "log") && self.tells_signatures())
                    };
                    !matches!(bound, Bound::Revisions(_) | Bound::Branch) || !tells_more()
                }),
                "which" | "command" | "type" => self.program(&words),
                "ls" => listed(&words),
                "date" => literals(&words)?
                    .iter()
                    .all(|word| !word.contains('/') && (!word.starts_with('-') || *word == "-u"))
                    .then_some(Bound::Name)
                    .filter(|_| !literals(&words).is_some_and(|words| words.contains(&"+%D"))),
                "basename" | "whoami" | "hostname" | "uname" | "nproc" => Some(Bound::Name),
                _ => None,
            };
        }
        None
    }

    /// `which node`: a program of that name in one of the directories of `PATH`.
    fn program(&self, words: &[Word]) -> Option<Bound> {
        let name = match literals(words)?.as_slice() {
            [name] | ["-v" | "-P" | "-p", name] => (*name).to_owned(),
            _ => return None,
        };
        let plain = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_+.".contains(&byte));
        let cx = self.cx;
        let is_own = name.starts_with("guardian")
            || cx
                .roots
                .guardian_executables
                .iter()
                .any(|own| own.file_name().is_some_and(|own| *own == *name));
        (plain && !is_own && !name.starts_with('.')).then(|| Bound::Glob(format!("/usr/*/{name}")))
    }

    /// Where a field with unknown parts lies, when all of them have a bound.
    pub(super) fn place_bound(&self, text: &Text, written: &str, state: &State) -> Option<Target> {
        let mut pattern = String::new();
        // Where a name begins a component: unlike the matches of `*`, it may begin with a dot.
        let mut hidden = None;
        for (at, part) in text.iter().enumerate() {
            match part {
                Part::Literal(text) | Part::Glob(text) => pattern.push_str(text),
                Part::Temporary => return None,
                Part::Unknown {
                    kind: Kind::Integer,
                    may_be_empty,
                    ..
                } => {
                    // `$(wc -l < none)/etc` is `/etc`.
                    let vanishes = matches!(text.get(at + 1), Some(Part::Literal(next))
                        if *may_be_empty && next.starts_with('/'));
                    if vanishes {
                        return None;
                    }
                    pattern.push('*');
                }
                Part::Unknown { written: own, .. } => match self.bound_of(own)? {
                    Bound::Glob(text) => {
                        pattern.push_str(text);
                    }
                    Bound::Revisions(revisions) if !revisions.are_names() => return None,
                    Bound::Name | Bound::Revisions(_) => {
                        // `..` is a name too: it must not stand before a slash.
                        let ends = !text.iter().skip(at + 1).any(|later| match later {
                            Part::Literal(text) | Part::Glob(text) => text.starts_with('/'),
                            _ => true,
                        });
                        if !ends {
                            return None;
                        }
                        if pattern.is_empty() || pattern.ends_with('/') {
                            hidden = Some(pattern.len());
                        }
                        pattern.push('*');
                    }
                    Bound::Branch if pattern.is_empty() => return None,
                    Bound::Branch => pattern.push_str("**/*"),
                    Bound::Files(found) => {
                        if !pattern.is_empty() && !pattern.ends_with('/') {
                            return None;
                        }
                        if part_splits(part, text) && self.has_split_tracked_names(found) {
                            return None;
                        }
                        return self.place_files(found, &pattern, text.get(at + 1..)?, own, state);
                    }
                },
            }
        }
        let cwd = state.cwd.as_deref();
        let base = match cwd {
            Some(cwd) => cwd,
            None if pattern.starts_with('/') => Path::new("/"),
            None => return None,
        };
        if self.has_split_names(text, &pattern, base) {
            return None;
        }
        let mut target = self.cx.shell_pattern(&pattern, base);
        if let Some(dot) = hidden {
            pattern.insert(dot, '.');
            target = either(target, self.cx.shell_pattern(&pattern, base))?;
        }
        Some(renamed(target, written))
    }

    fn place_files(
        &self,
        found: &Files,
        before: &str,
        after: &[Part],
        written: &str,
        state: &State,
    ) -> Option<Target> {
        let mut behind = String::new();
        for part in after {
            match part {
                Part::Literal(text) => behind.push_str(text),
                _ => return None,
            }
        }
        if behind.split('/').any(|component| component == "..") {
            return None;
        }
        let name = match behind.rsplit_once('/') {
            Some((_, "")) => "*".to_owned(),
            Some((_, last)) => last.to_owned(),
            None => format!("{}{behind}", found.name),
        };
        // `./` in front of a name changes nothing.
        let base = if before.is_empty() || before == "./" {
            match &found.relative_to {
                // A relative name means the directory that the command is in now.
                Some(from) if state.cwd.as_deref() != Some(from.as_path()) => {
                    let rest = found.base.strip_prefix(from).ok()?;
                    state.cwd.as_deref()?.join(rest)
                }
                _ => found.base.clone(),
            }
        } else {
            found.relative_to.as_ref()?;
            let joined = Path::new(before);
            match &state.cwd {
                Some(cwd) => cwd.join(joined),
                None if before.starts_with('/') => joined.to_path_buf(),
                None => return None,
            }
        };
        self.cx.files_beneath(written, &base, &name, found.listed)
    }

    /// A match of the pattern has a blank at the end of a component, so that a shell which splits
    /// it makes another path of the rest.
    fn has_split_names(&self, text: &Text, pattern: &str, base: &Path) -> bool {
        if !values::may_split(text) {
            return false;
        }
        let literal = pattern
            .find(['*', '?', '['])
            .and_then(|at| pattern.get(..at))
            .unwrap_or(pattern);
        let directory = literal.rsplit_once('/').map_or("", |(head, _)| head);
        let start = if literal.starts_with('/') && directory.is_empty() {
            PathBuf::from("/")
        } else {
            base.join(directory)
        };
        self.cx.has_split_names(&start)
    }
}

/// The target as it is written elsewhere.
pub(super) fn renamed(target: Target, by: &str) -> Target {
    match target {
        Target::Pattern {
            pattern,
            base,
            may_match,
            ..
        } => Target::Pattern {
            written: by.to_owned(),
            pattern,
            base,
            may_match,
        },
        other => other,
    }
}

/// What `xargs` adds, by the command whose lines it takes.
pub(super) fn from_lines(text: Text, lines: Option<&str>) -> Text {
    let Some(lines) = lines else { return text };
    text.into_iter()
        .map(|part| match part {
            Part::Unknown {
                written,
                kind,
                may_be_empty,
                may_split,
            } if written == "<input>" => Part::Unknown {
                written: lines.to_owned(),
                kind,
                may_be_empty,
                may_split,
            },
            other => other,
        })
        .collect()
}

fn words_begin_with(words: &[Word], first: &str) -> bool {
    words.first().and_then(Word::as_literal) == Some(first)
}

pub(super) fn literals(words: &[Word]) -> Option<Vec<&str>> {
    words.iter().map(Word::as_literal).collect()
}

/// The filter reads what is piped into it and prints some of its lines as they are.
fn hands_on(name: &str, words: &[Word]) -> bool {
    let Some(words) = literals(words) else {
        return false;
    };
    let flags: Vec<&&str> = words.iter().filter(|word| word.starts_with('-')).collect();
    let operands = words.len() - flags.len();
    match name {
        "cat" => words.is_empty(),
        "head" | "tail" => match words.as_slice() {
            [] => true,
            // whole lines: half a name is another name
            [flag] => flag
                .strip_prefix("-n")
                .or_else(|| flag.strip_prefix('-'))
                .is_some_and(is_count),
            ["-n", count] => is_count(count),
            _ => false,
        },
        "sort" => {
            operands == 0
                && flags
                    .iter()
                    .all(|flag| matches!(**flag, "-u" | "-r" | "-n" | "-V" | "-ru" | "-rn" | "-z"))
        }
        "uniq" => words.is_empty(),
        "grep" => {
            operands == 1
                && flags.iter().all(|flag| {
                    matches!(
                        **flag,
                        "-v" | "-E"
                            | "-F"
                            | "-i"
                            | "-vE"
                            | "-Ev"
                            | "-iE"
                            | "-P"
                            | "-w"
                            | "-vi"
                            | "-a"
                            | "-z"
                            | "-vF"
                    )
                })
        }
        _ => false,
    }
}

/// `5`, `+2`
fn is_count(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `find a b -name '*.rs' -type f`.
fn find(words: &[Word], cwd: &Path) -> Option<Files> {
    let words = literals(words)?;
    let starts = words
        .iter()
        .take_while(|word| !word.starts_with(['-', '(', '!']))
        .count();
    let (starts, tests) = words.split_at(starts);
    let mut name = None;
    let mut several = false;
    let mut tests = tests.iter();
    while let Some(test) = tests.next() {
        match *test {
            "-name" => {
                let value = tests.next()?;
                several |= name.is_some();
                name = Some((*value).to_owned());
            }
            "-type" | "-maxdepth" | "-mindepth" | "-mtime" | "-mmin" | "-newer" | "-size"
            | "-path" | "-ipath" | "-wholename" | "-iname" | "-perm" | "-user" | "-atime"
            | "-ctime" => {
                tests.next()?;
            }
            "-o" | "-or" | "-not" | "!" | "-prune" => several = true,
            "-print" | "-print0" | "-empty" | "-a" | "-and" | "(" | ")" | "-xdev" | "-mount"
            | "-executable" | "-readable" => {}
            _ => return None,
        }
    }
    let name = name
        .filter(|name| !several && !name.contains(['/', '\\', '{']))
        .unwrap_or_else(|| "*".to_owned());
    files(starts, name, cwd, Listed::All).map(|found| Files {
        is_prefixed: true,
        ..found
    })
}

/// `rg -l x src`, `rg --files`, `grep -rl x src --include=*.rs`.
fn searched(program: &str, words: &[Word], cwd: &Path) -> Option<Files> {
    let words = literals(words)?;
    let mut names = false;
    let mut only_files = false;
    let mut recursive = program == "rg";
    let mut name = "*".to_owned();
    // ripgrep heeds ignore files
    let mut listed = if program == "rg" {
        Listed::Kept
    } else {
        Listed::All
    };
    let mut operands = Vec::new();
    let mut pattern_given = false;
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word {
            "--files" if program == "rg" => only_files = true,
            "--files-with-matches" | "--files-without-match" => names = true,
            "-e" => {
                words.next()?;
                pattern_given = true;
            }
            "-g" | "-t" | "-T" | "--glob" | "--type" if program == "rg" => {
                words.next()?;
            }
            "--include" => {
                words.next()?;
            }
            "--hidden" | "--no-ignore" => listed = Listed::All,
            "--fixed-strings" | "--null" => {}
            _ if word.starts_with("--include=") => {
                let value = word.trim_start_matches("--include=");
                if name == "*" && !value.contains(['/', '\\', '{']) {
                    value.clone_into(&mut name);
                } else {
                    "*".clone_into(&mut name);
                }
            }
            _ if word.starts_with("--exclude") && word.contains('=') => {}
            _ if word.starts_with("--") => return None,
            _ if word.starts_with('-') && word.len() > 1 => {
                let letters = word.get(1..)?;
                let known = if program == "rg" {
                    "lFiwusSn0"
                } else {
                    "rlLiEFwInhsPZa"
                };
                if !letters.chars().all(|letter| known.contains(letter)) {
                    return None;
                }
                names |= letters.contains(['l', 'L']);
                recursive |= letters.contains('r');
            }
            _ => operands.push(word),
        }
    }
    if !only_files && !pattern_given {
        if operands.is_empty() {
            return None;
        }
        operands.remove(0);
    }
    if !(names || only_files) || !recursive {
        return None;
    }
    files(&operands, name, cwd, listed)
}

pub(super) fn files(starts: &[&str], name: String, cwd: &Path, listed: Listed) -> Option<Files> {
    let mut base: Option<PathBuf> = None;
    let mut relative = true;
    for start in starts.iter().chain(starts.is_empty().then_some(&".")) {
        relative &= !start.starts_with('/') && !start.split('/').any(|part| part == "..");
        let path = crate::path::collapse(&cwd.join(start));
        base = Some(match base {
            None => path,
            Some(known) => known
                .ancestors()
                .find(|above| path.starts_with(above))?
                .to_path_buf(),
        });
    }
    Some(Files {
        base: base?,
        name,
        relative_to: relative.then(|| cwd.to_path_buf()),
        listed,
        from: NamesFrom::Disk,
        is_prefixed: !starts.is_empty(),
    })
}

/// What fits one pattern or the other, when both are patterns in one directory.
pub(super) fn either(one: Target, other: Target) -> Option<Target> {
    match (one, other) {
        (
            Target::Pattern {
                written,
                pattern,
                may_match,
                base,
            },
            Target::Pattern {
                may_match: also,
                base: hidden,
                ..
            },
        ) => Some(Target::Pattern {
            written,
            pattern,
            may_match: may_match.union(also),
            base: PathFact {
                scope: wider(base.scope, hidden.scope),
                ..base
            },
        }),
        _ => None,
    }
}

/// `ls src`: names in one directory.
fn listed(words: &[Word]) -> Option<Bound> {
    let words = literals(words)?;
    let (flags, operands): (Vec<&str>, Vec<&str>) =
        words.iter().partition(|word| word.starts_with('-'));
    // not `-a`, which names `..` too
    let plain = flags
        .iter()
        .all(|flag| matches!(*flag, "-1" | "-A" | "-t" | "-r" | "-tr" | "-1t" | "-t1"));
    // a file as operand is printed as it was written
    let directory = operands
        .first()
        .is_none_or(|operand| operand.ends_with('/') || *operand == ".");
    (plain && operands.len() <= 1 && directory).then_some(Bound::Name)
}
