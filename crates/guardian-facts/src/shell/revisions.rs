//! Words of `git` that stand for revisions which another `git` prints: `git diff $(git merge-base
//! HEAD main)`, `git show $(git rev-parse HEAD):README.md`.
//!
//! A name of a commit as git prints it is made of hexadecimal digits. It cannot turn into a flag or
//! a path elsewhere, so the command does what it would do with `HEAD` in its place; it is judged so,
//! and once more without the word where nothing may be printed.

use super::git_names::Items;
use super::outputs::{Bound, Revisions};
use super::reader::Reader;
use crate::AccessKind;
use crate::command::{Invocation, Judgement, Word, WordPart};

/// What a printed name is judged as.
const STAND_IN: &str = "HEAD";
/// Patterns that may vanish one by one.
const MAX_GLOBS: usize = 3;
/// Commands of git to which the name of a branch is a revision and nothing else.
const LOOKING: [&str; 6] = ["log", "diff", "show", "rev-list", "shortlog", "diff-tree"];
/// Ways to read a command line that are judged.
const MAX_WAYS: usize = 27;

/// Flags of `git log` and `git rev-list` that choose commits and leave what is printed alone.
const CHOOSING: [&str; 13] = [
    "--all",
    "--branches",
    "--tags",
    "--remotes",
    "--reverse",
    "--merges",
    "--no-merges",
    "--first-parent",
    "--date-order",
    "--topo-order",
    "--full-history",
    "--no-walk",
    "--abbrev-commit",
];
/// Those that take a value, which must stand behind an `=`: the next word would be the value else.
const CHOOSING_BY: [&str; 8] = [
    "--since",
    "--until",
    "--after",
    "--before",
    "--author",
    "--grep",
    "--max-count",
    "--skip",
];

/// The words behind `git` make it print names of commits and nothing else.
pub(super) fn printed(words: &[&str]) -> Option<Revisions> {
    let (command, rest) = words.split_first()?;
    let only = Some(Revisions { otherwise: None });
    match *command {
        "merge-base" => {
            let flags = ["-a", "--all", "--octopus", "--fork-point", "--independent"];
            (!rest.is_empty()
                && rest
                    .iter()
                    .all(|word| is_name(word) || flags.contains(word)))
            .then_some(only)?
        }
        "rev-parse" => {
            let strict = |word: &str| {
                matches!(word, "--verify" | "-q" | "--quiet" | "--short")
                    || word.strip_prefix("--short=").is_some_and(is_number)
            };
            let flags = rest.iter().take_while(|word| strict(word)).count();
            let (flags, names) = rest.split_at(flags);
            let [name] = names else { return None };
            // What is no name of a commit is printed as it is, except when told to verify.
            let verifies = flags
                .iter()
                .any(|flag| *flag == "--verify" || flag.starts_with("--short"));
            is_single(name).then(|| Revisions {
                otherwise: (!verifies).then(|| (*name).to_owned()),
            })
        }
        "rev-list" => {
            let chosen = chosen(rest)?;
            (chosen.starts && !chosen.formats).then_some(only)?
        }
        // A signature that is checked is told of, too.
        "log" => chosen(rest)?.formats.then_some(only)?,
        _ => None,
    }
}

/// How a walk over commits was told what to do.
struct Chosen {
    /// It has somewhere to start.
    starts: bool,
    /// It prints the names and nothing else.
    formats: bool,
}

/// `None` where a word may make it print something else.
fn chosen(words: &[&str]) -> Option<Chosen> {
    let mut chosen = Chosen {
        starts: false,
        formats: false,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (head, value) = match word.split_once('=') {
            Some((head, value)) => (head, Some(value)),
            None => (*word, None),
        };
        match (head, value) {
            // Paths: they choose, too.
            ("--", None) => break,
            ("-n", None) => is_number(words.next()?).then_some(())?,
            ("--format" | "--pretty", Some("%h" | "%H" | "format:%h" | "format:%H"))
                if !chosen.formats =>
            {
                chosen.formats = true;
            }
            ("--pretty", Some("tformat:%h" | "tformat:%H")) if !chosen.formats => {
                chosen.formats = true;
            }
            _ if CHOOSING.contains(&head) => chosen.starts |= is_set(head),
            (_, Some(_)) if CHOOSING_BY.contains(&head) => {}
            _ if word.strip_prefix("-n").is_some_and(is_number)
                || word.strip_prefix('-').is_some_and(is_number) => {}
            _ if word.starts_with('-') => return None,
            _ => chosen.starts = true,
        }
    }
    Some(chosen)
}

fn is_set(flag: &str) -> bool {
    matches!(flag, "--all" | "--branches" | "--tags" | "--remotes")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A word that is no flag.
fn is_name(word: &&str) -> bool {
    !word.is_empty() && !word.starts_with('-')
}

/// Names one commit, in letters that mean the same to every command.
fn is_single(name: &str) -> bool {
    let several = ["..", "^@", "^!", "^-"];
    is_name(&name)
        && !name.starts_with('^')
        && !several.iter().any(|range| name.contains(range))
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_./@{}~^-".contains(&byte))
}

/// Where the user's own settings of git are, from the home directory.
const USER_SETTINGS: [&str; 2] = [".gitconfig", ".config/git/config"];
/// Largest file of settings that is looked at, in bytes.
const MAX_SETTINGS: usize = 64 * 1024;

impl Reader<'_> {
    /// `git log` may tell of signatures beside what its format says: the user's settings ask for
    /// it, or cannot be read. What a signature says is not git's own text.
    pub(super) fn tells_signatures(&self) -> bool {
        USER_SETTINGS.iter().any(|name| {
            let path = self.cx.roots.home.join(name);
            match self.cx.probe.read_file(&path, MAX_SETTINGS) {
                Some(content) => {
                    let text = String::from_utf8_lossy(&content.head).to_ascii_lowercase();
                    content.size > MAX_SETTINGS as u64
                        || text.contains("showsignature")
                        || text.contains("include")
                }
                None => self.cx.probe.resolve(&path).kind.is_some(),
            }
        })
    }

    /// Asks the catalogue about a command line; of `git` with words that stand for revisions, about
    /// all that it may become.
    pub(super) fn judgement(&self, invocation: &Invocation<'_>) -> Judgement {
        let judgement = self.judgement_of_words(invocation);
        let is_glob = |word: &Word| {
            let mut parts = word.parts.iter();
            parts.any(|part| matches!(part, WordPart::Glob(_)))
        };
        let globs = invocation.args.iter().filter(|word| is_glob(word)).count();
        if !self.nullglob || globs == 0 {
            return judgement;
        }
        // Each pattern may vanish.
        let mut all = judgement;
        if globs > MAX_GLOBS {
            all.make_opaque("nullglob", "which of its words vanish is not known");
        }
        for left_out in 1..1_usize << globs.min(MAX_GLOBS) {
            let mut seen = 0;
            let args: Vec<Word> = invocation
                .args
                .iter()
                .filter(|word| {
                    if !is_glob(word) {
                        return true;
                    }
                    seen += 1;
                    seen > MAX_GLOBS || left_out & (1 << (seen - 1)) == 0
                })
                .cloned()
                .collect();
            all = all.or(self.judgement_of_words(&Invocation {
                args: &args,
                ..invocation.clone()
            }));
        }
        all
    }

    fn judgement_of_words(&self, invocation: &Invocation<'_>) -> Judgement {
        let catalogue = self.cx.catalogue;
        let is_open = |word: &Word| word.as_literal().is_none();
        if !invocation.args.iter().any(is_open) {
            return catalogue.judge(invocation);
        }
        let ways = match invocation.name {
            "git" => self.ways(invocation.args),
            _ => None,
        };
        let Some(ways) = ways else {
            // To git a name may be a revision as well.
            if invocation.name == "git" {
                return catalogue.judge(invocation);
            }
            return self
                .with_files(invocation)
                .unwrap_or_else(|| catalogue.judge(invocation));
        };
        let judged = ways.iter().map(|args| {
            catalogue.judge(&Invocation {
                args,
                ..invocation.clone()
            })
        });
        judged
            .reduce(Judgement::or)
            .unwrap_or_else(|| catalogue.judge(invocation))
    }

    /// The judgement with names of files in the place of a word that stands for any number of them:
    /// none of them can turn into a flag (`find src -name '*.rs' | xargs grep -n x`). `None` where
    /// no word does, and where the program does not take the names for files.
    fn with_files(&self, invocation: &Invocation<'_>) -> Option<Judgement> {
        let names = |word: &Word| match word.parts.as_slice() {
            [
                WordPart::Unknown {
                    written, may_split, ..
                },
            ] => match self.bound_of(written) {
                // A line that the shell splits stays one that is looked at as such.
                Some(Bound::Files(_))
                    if *may_split && written.starts_with(Items::Lines.begins()) =>
                {
                    None
                }
                Some(Bound::Files(found)) if self.begins_no_dash(found) => {
                    let name = WordPart::Unknown {
                        written: written.clone(),
                        may_be_empty: false,
                        may_split: false,
                        integer: false,
                    };
                    let parts = vec![WordPart::Literal("./".to_owned()), name];
                    let span = word.span;
                    Some((Word { parts, span }, *may_split))
                }
                _ => None,
            },
            _ => None,
        };
        let mut found = invocation
            .args
            .iter()
            .enumerate()
            .filter_map(|(at, word)| Some((at, names(word)?)));
        let (at, (name, may_split)) = found.next()?;
        if found.next().is_some() {
            return None;
        }
        let counts = if may_split { 0..=2 } else { 1..=1 };
        let mut all: Option<Judgement> = None;
        for count in counts {
            let mut args = invocation.args.to_vec();
            args.splice(at..=at, std::iter::repeat_n(name.clone(), count));
            let judgement = self.cx.catalogue.judge(&Invocation {
                args: &args,
                ..invocation.clone()
            });
            let mut uses = judgement.paths.iter().filter(|path| path.word == name);
            let is_file = uses.clone().next().is_some();
            if count > 0 && !is_file || uses.any(|path| path.kind == AccessKind::Delete) {
                return None;
            }
            all = Some(match all {
                Some(known) => known.or(judgement),
                None => judgement,
            });
        }
        all
    }

    /// All that the words may become, where some stand for revisions; `None` where none does.
    fn ways(&self, args: &[Word]) -> Option<Vec<Vec<Word>>> {
        let looks = args
            .first()
            .and_then(Word::as_literal)
            .is_some_and(|command| LOOKING.contains(&command));
        let mut ways: Vec<Vec<Word>> = vec![Vec::new()];
        let mut any = false;
        for word in args {
            let choices = match self.choices(word, looks) {
                Some(choices) => {
                    any = true;
                    choices
                }
                None => vec![vec![word.clone()]],
            };
            ways = ways
                .iter()
                .flat_map(|way| {
                    choices.iter().map(|choice| {
                        let mut longer = way.clone();
                        longer.extend(choice.iter().cloned());
                        longer
                    })
                })
                .collect();
            if ways.len() > MAX_WAYS {
                return None;
            }
        }
        any.then_some(ways)
    }

    /// What one word may become: none, one or two words. `None` for a word without a revision, and
    /// for one that is a flag: `-$(…)` may be any.
    fn choices(&self, word: &Word, looks: bool) -> Option<Vec<Vec<Word>>> {
        if word.literal_prefix().starts_with('-') {
            return None;
        }
        let mut found = None;
        for (at, part) in word.parts.iter().enumerate() {
            match part {
                WordPart::Literal(_) => {}
                WordPart::Unknown {
                    written,
                    may_be_empty,
                    may_split,
                    ..
                } => match self.bound_of(written) {
                    Some(Bound::Revisions(revisions)) if found.is_none() => {
                        let otherwise = revisions.otherwise.clone();
                        found = Some((at, otherwise, *may_be_empty, *may_split));
                    }
                    // It may be called `--output=x`, or mean something of its own to who changes refs.
                    Some(Bound::Branch)
                        if found.is_none()
                            && looks
                            && (!word.literal_prefix().is_empty() || !self.has_dashed_refs()) =>
                    {
                        found = Some((at, None, *may_be_empty, *may_split));
                    }
                    _ => return None,
                },
                WordPart::Glob(_) | WordPart::TemporaryPath => return None,
            }
        }
        let (at, otherwise, may_be_empty, may_split) = found?;
        let with = |text: &str| {
            let parts = word.parts.iter().enumerate();
            let text: String = parts
                .map(|(index, part)| match part {
                    WordPart::Literal(known) if index != at => known.as_str(),
                    _ => text,
                })
                .collect();
            Word::literal(text, word.span)
        };
        let stands_alone = word.parts.len() == 1;
        let mut choices = vec![vec![with(STAND_IN)]];
        if let Some(text) = &otherwise {
            choices.push(vec![with(text)]);
        }
        if may_be_empty || may_split {
            choices.push(if stands_alone && may_split {
                Vec::new()
            } else {
                vec![with("")]
            });
        }
        if may_split {
            // The first of several has what stands before, the last what stands behind.
            let (before, behind) = word.parts.split_at(at);
            let side = |parts: &[WordPart], text: &str, first: bool| {
                let known: String = parts
                    .iter()
                    .filter_map(|part| match part {
                        WordPart::Literal(known) => Some(known.as_str()),
                        _ => None,
                    })
                    .collect();
                let text = if first {
                    format!("{known}{text}")
                } else {
                    format!("{text}{known}")
                };
                Word::literal(text, word.span)
            };
            choices.push(vec![
                side(before, STAND_IN, true),
                side(behind, STAND_IN, false),
            ]);
        }
        Some(choices)
    }
}

impl Judgement {
    /// The command does one or the other.
    fn or(mut self, other: Self) -> Self {
        self.effects_known = self.effects_known.max(other.effects_known);
        self.effects.extend(other.effects);
        self.effects.sort_unstable();
        self.effects.dedup();
        add_new(&mut self.paths, other.paths);
        add_new(&mut self.hosts, other.hosts);
        add_new(&mut self.nested, other.nested);
        self.wrapper |= other.wrapper;
        self.walks |= other.walks;
        add_new(&mut self.opaque, other.opaque);
        if self.cwd != other.cwd {
            self.make_opaque("directory", "in which directory it works is not known");
        }
        self.conditions.extend(other.conditions);
        self.conditions.sort_unstable();
        self.conditions.dedup();
        if self.walk != other.walk {
            self.walk = crate::command::WalkFilter {
                follows_links: self.walk.follows_links || other.walk.follows_links,
                ..crate::command::WalkFilter::default()
            };
        }
        self.nested_beneath |= other.nested_beneath;
        add_new(&mut self.git_files, other.git_files);
        self
    }
}

fn add_new<T: PartialEq>(known: &mut Vec<T>, more: Vec<T>) {
    for item in more {
        if !known.contains(&item) {
            known.push(item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Revisions, printed};

    #[track_caller]
    fn check(command: &str, expected: Option<Option<&str>>) {
        let words: Vec<&str> = command.split(' ').collect();
        let expected = expected.map(|otherwise| Revisions {
            otherwise: otherwise.map(str::to_owned),
        });
        assert_eq!(printed(&words), expected, "{command}");
    }

    #[test]
    fn only_commands_that_print_nothing_but_names_of_commits_count() {
        for command in [
            "merge-base HEAD main",
            "merge-base --all HEAD origin/main",
            "rev-parse --short HEAD",
            "rev-parse --verify main",
            "rev-list -n 1 HEAD",
            "rev-list --tags --max-count=1",
            "log --format=%h -3",
            "log -1 --format=%H -- src/main.rs",
            "log --pretty=format:%h --reverse main..HEAD",
        ] {
            check(command, Some(None));
        }
        // It is printed as it is when there is no such commit.
        check("rev-parse HEAD", Some(Some("HEAD")));
        check("rev-parse .env", Some(Some(".env")));
        for command in [
            "merge-base",
            "merge-base --is-ancestor a b",
            "merge-base -h",
            "rev-parse --show-toplevel",
            "rev-parse HEAD main",
            "rev-parse a..b",
            "rev-parse HEAD^@",
            "rev-parse ^HEAD",
            "rev-parse -x",
            "rev-parse HEAD:a",
            "rev-list --objects HEAD",
            "rev-list --header HEAD",
            "rev-list",
            "log --oneline -3",
            "log --format=%s -3",
            "log --format=%h --stat",
            "log --format=%h -p",
            "log --format=%h --format=%s",
            "log --format=%h --show-signature",
            "log --format=%h -n --output=x",
            "log --author --format=%h",
            "log -- --format=%h",
            "log HEAD",
            "describe --tags",
            "branch --show-current",
        ] {
            check(command, None);
        }
    }
}
